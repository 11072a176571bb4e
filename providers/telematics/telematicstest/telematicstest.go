// Package telematicstest has the conformance suite for providers of video telematics.
// A provider that passes it can be used in the gateway's telematics area.
package telematicstest

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/internal/upstreamtest"
	"github.com/fleetgate/fleetgate/providers/telematics"
)

// Harness is what the suite has to know of a provider.
type Harness struct {
	// New returns a provider that is ready for use and calls up. What has to be
	// released after the test is the harness' own affair ([testing.T.Cleanup]).
	New func(t *testing.T, up Upstream) telematics.Provider

	// NewService returns a simulation of the provider's service, safe for concurrent
	// use. It should be strict: what the real service would refuse is an error of t.
	NewService func(t *testing.T) http.Handler

	// IsEvents tells the requests for events from those for catalogs.
	IsEvents func(r *http.Request) bool

	Good telematics.Credential // accepted by the service
	Bad  telematics.Credential // refused by the service
	Full telematics.Query      // matches three events or more, known to all catalogs
	None telematics.Query      // matches no events
}

// Upstream is where a provider under test finds its service.
type Upstream struct {
	URL     string        // the base URL
	Timeout time.Duration // how long one call may take
}

// The classes of the calls to the service.
const (
	classEvents   upstreamtest.Class = "events"
	classCatalogs upstreamtest.Class = "catalogs"
)

// bodies are broken answers to calls of either class.
var bodies = upstreamtest.Bodies{
	Truncated: `[{"id":"1","na`,
	NotUTF8:   "[{\"id\":\"\xff\",\"name\":\"\xff\"}]",
	Other:     `{}`,
}

// Run checks the provider of h.
func Run(t *testing.T, h Harness) {
	t.Run("ok/display name", func(t *testing.T) {
		p, _ := h.start(t, upstreamtest.Patience)
		if p.DisplayName() == "" {
			t.Error("the display name is empty")
		}
	})
	t.Run("ok/events", func(t *testing.T) {
		p, _ := h.start(t, upstreamtest.Patience)
		if n := len(h.must(t, p, h.Full)); n < 3 {
			t.Errorf("%d events, want three or more", n)
		}
	})
	t.Run("ok/no events", func(t *testing.T) {
		p, _ := h.start(t, upstreamtest.Patience)
		if n := len(h.must(t, p, h.None)); n != 0 {
			t.Errorf("%d events where none match", n)
		}
	})
	t.Run("ok/limit", func(t *testing.T) {
		p, _ := h.start(t, upstreamtest.Patience)
		q := h.Full
		q.Limit = 2
		if n := len(h.must(t, p, q)); n != 2 {
			t.Errorf("%d events, want the limit of 2", n)
		}
	})
	t.Run("ok/pages", h.testPages)
	t.Run("ok/request id", h.suite().RunRequestID)
	t.Run("ok/catalogs", h.testCatalogs)
	t.Run("ok/parallel callers", h.testParallel)
	t.Run("fail/credential refused", h.testRefused)
	t.Run("fail/caller", h.testCaller)
	t.Run("fail/upstream", h.testFaults)
}

// start returns a provider and the server of the service that it calls.
func (h Harness) start(t *testing.T, timeout time.Duration) (telematics.Provider, *upstreamtest.Server) {
	t.Helper()
	server := upstreamtest.Serve(t, h.NewService(t), h.classOf)
	return h.New(t, Upstream{URL: server.URL, Timeout: timeout}), server
}

func (h Harness) classOf(r *http.Request) upstreamtest.Class {
	if h.IsEvents(r) {
		return classEvents
	}
	return classCatalogs
}

// suite has the checks of the calls for events that this area shares with others.
func (h Harness) suite() *upstreamtest.Suite[telematics.Credential] {
	return &upstreamtest.Suite[telematics.Credential]{
		Start:   h.stage,
		Class:   classEvents,
		Good:    h.Good,
		Bad:     h.Bad,
		Secrets: secrets,
		Bodies:  bodies,
	}
}

// stage starts a provider of which the suite sees the calls for events.
func (h Harness) stage(t *testing.T, timeout time.Duration) upstreamtest.Stage[telematics.Credential] {
	t.Helper()
	p, server := h.start(t, timeout)
	return upstreamtest.Stage[telematics.Credential]{
		Server: server,
		Call: func(ctx context.Context, cred telematics.Credential) (int, error) {
			answer, err := p.Events(ctx, cred, h.Full)
			if err != nil {
				return 0, err
			}
			events, err := parse(answer)
			if err != nil {
				// A provider need not look into its events; the gateway finds it out.
				return 0, &providers.Error{Kind: providers.KindInvalidJSON, Message: err.Error()}
			}
			return len(events), nil
		},
	}
}

// secrets is what no error may show of a credential.
func secrets(cred telematics.Credential) []string { return []string{cred.APIKey} }

// must returns the events of a call that has to succeed.
func (h Harness) must(t *testing.T, p telematics.Provider, q telematics.Query) []event {
	t.Helper()
	answer, err := p.Events(t.Context(), h.Good, q)
	if err != nil {
		t.Fatalf("the call failed: %v", err)
	}
	events, err := parse(answer)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// testPages reads all events one by one and finds each once.
func (h Harness) testPages(t *testing.T) {
	p, _ := h.start(t, upstreamtest.Patience)
	all := h.must(t, p, h.Full)
	q := h.Full
	q.Limit = 1
	for i, want := range all {
		q.Page = i + 1
		got := h.must(t, p, q)
		if len(got) != 1 || got[0].text != want.text {
			t.Fatalf("page %d is %v, want %v", q.Page, got, want)
		}
	}
	q.Page = len(all) + 1
	if got := h.must(t, p, q); len(got) != 0 {
		t.Errorf("the page after the last is %v", got)
	}
}

// testCatalogs checks what the catalogs hold and that they know the events' ids.
func (h Harness) testCatalogs(t *testing.T) {
	p, server := h.start(t, upstreamtest.Patience)
	events := h.must(t, p, h.Full)
	c := p.Catalogs(t.Context(), h.Good)
	checkCatalogs(t, c)
	for _, e := range events {
		if c.Triggers[e.trigger] == nil || c.Statuses[e.status] == nil || c.Vehicles[e.vehicle] == nil {
			t.Errorf("the catalogs do not know trigger %q, status %q or vehicle %q", e.trigger, e.status, e.vehicle)
		}
	}

	// No service, no names; but what is known may stay in use.
	server.Close()
	checkCatalogs(t, p.Catalogs(t.Context(), h.Good))

	p, server = h.start(t, upstreamtest.Patience)
	server.Close()
	if c := p.Catalogs(t.Context(), h.Good); c.Triggers != nil || c.Statuses != nil || c.Vehicles != nil {
		t.Errorf("catalogs from nowhere: %v", c)
	}
}

// testParallel has callers with good and bad credentials call at the same time.
func (h Harness) testParallel(t *testing.T) {
	p, _ := h.start(t, upstreamtest.Patience)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			answer, err := p.Events(t.Context(), h.Good, h.Full)
			if err != nil {
				t.Errorf("good credential: %v", err)
			} else if events, err := parse(answer); err != nil || len(events) == 0 {
				t.Errorf("good credential: %d events, %v", len(events), err)
			}
		})
		wg.Go(func() {
			_, err := p.Events(t.Context(), h.Bad, h.Full)
			upstreamtest.CheckError(t, err, providers.ErrAuth, secrets(h.Bad)...)
		})
		wg.Go(func() {
			c := p.Catalogs(t.Context(), h.Good)
			checkCatalogs(t, c)
			if c.Triggers == nil || c.Statuses == nil || c.Vehicles == nil {
				t.Error("good credential: a catalog is missing")
			}
		})
		wg.Go(func() { h.checkNoCatalogs(t, p) })
	}
	wg.Wait()
}

// testRefused checks that one caller's credential opens nothing to another.
func (h Harness) testRefused(t *testing.T) {
	p, _ := h.start(t, upstreamtest.Patience)
	for range 2 {
		_, err := p.Events(t.Context(), h.Bad, h.Full)
		upstreamtest.CheckError(t, err, providers.ErrAuth, secrets(h.Bad)...)
		h.checkNoCatalogs(t, p)
		h.must(t, p, h.Full)
		if c := p.Catalogs(t.Context(), h.Good); c.Vehicles == nil {
			t.Error("no vehicles for the good credential")
		}
	}
}

func (h Harness) checkNoCatalogs(t *testing.T, p telematics.Provider) {
	t.Helper()
	if c := p.Catalogs(t.Context(), h.Bad); len(c.Triggers)+len(c.Statuses)+len(c.Vehicles) != 0 {
		t.Error("a refused credential was given catalogs")
	}
}

// testCaller checks what becomes of a call whose caller goes away or is out of time.
func (h Harness) testCaller(t *testing.T) {
	h.suite().RunCaller(t)
	t.Run("leaves the catalogs before", func(t *testing.T) {
		p, _ := h.start(t, upstreamtest.Patience)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		checkCatalogs(t, p.Catalogs(ctx, h.Good))
	})
	t.Run("leaves the catalogs", func(t *testing.T) {
		const timeout = 10 * time.Second
		p, server := h.start(t, timeout)
		server.Disturb(classCatalogs, upstreamtest.Hang)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		checkCatalogs(t, p.Catalogs(ctx, h.Good))
		if took := time.Since(start); took > timeout/2 {
			t.Errorf("a caller with 50ms was held for %v", took)
		}
	})
}

// testFaults disturbs either kind of call in every way.
func (h Harness) testFaults(t *testing.T) {
	h.suite().RunFaults(t)
	for _, f := range upstreamtest.Faults(bodies) {
		t.Run(string(classCatalogs)+"/"+f.Name, func(t *testing.T) {
			t.Parallel()
			p, server := h.start(t, f.Timeout)
			server.Disturb(classCatalogs, f.Serve)
			checkCatalogs(t, p.Catalogs(t.Context(), h.Good))
			h.must(t, p, h.Full) // the events are worth more than their names
		})
	}
}
