// Package telematicstest has the conformance suite for providers of video telematics.
// A provider that passes it can be used in the gateway's telematics area.
package telematicstest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers"
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

// patience is the timeout of calls that are expected to succeed.
const patience = 30 * time.Second

// Run checks the provider of h.
func Run(t *testing.T, h Harness) {
	t.Run("ok/display name", func(t *testing.T) {
		p, _ := h.start(t, patience)
		if p.DisplayName() == "" {
			t.Error("the display name is empty")
		}
	})
	t.Run("ok/events", func(t *testing.T) {
		p, _ := h.start(t, patience)
		if n := len(h.must(t, p, h.Full)); n < 3 {
			t.Errorf("%d events, want three or more", n)
		}
	})
	t.Run("ok/no events", func(t *testing.T) {
		p, _ := h.start(t, patience)
		if n := len(h.must(t, p, h.None)); n != 0 {
			t.Errorf("%d events where none match", n)
		}
	})
	t.Run("ok/limit", func(t *testing.T) {
		p, _ := h.start(t, patience)
		q := h.Full
		q.Limit = 2
		if n := len(h.must(t, p, q)); n != 2 {
			t.Errorf("%d events, want the limit of 2", n)
		}
	})
	t.Run("ok/pages", h.testPages)
	t.Run("ok/request id", func(t *testing.T) {
		p, w := h.start(t, patience)
		ctx := providers.WithRequestID(t.Context(), "request-4711")
		if _, err := p.Events(ctx, h.Good, h.Full); err != nil {
			t.Fatal(err)
		}
		if id := w.requestID(); id != "request-4711" {
			t.Errorf("X-Request-Id of the call for events is %q", id)
		}
	})
	t.Run("ok/catalogs", h.testCatalogs)
	t.Run("ok/parallel callers", h.testParallel)
	t.Run("fail/credential refused", h.testRefused)
	t.Run("fail/caller", h.testCaller)
	t.Run("fail/upstream", h.testFaults)
}

// start returns a provider and the wire that it calls its service through.
func (h Harness) start(t *testing.T, timeout time.Duration) (telematics.Provider, *wire) {
	t.Helper()
	w := newWire(t, h.NewService(t), h.IsEvents)
	return h.New(t, Upstream{URL: w.url, Timeout: timeout}), w
}

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
	p, _ := h.start(t, patience)
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
	p, w := h.start(t, patience)
	events := h.must(t, p, h.Full)
	c := p.Catalogs(t.Context(), h.Good)
	checkCatalogs(t, c)
	for _, e := range events {
		if c.Triggers[e.trigger] == nil || c.Statuses[e.status] == nil || c.Vehicles[e.vehicle] == nil {
			t.Errorf("the catalogs do not know trigger %q, status %q or vehicle %q", e.trigger, e.status, e.vehicle)
		}
	}

	// No service, no names; but what is known may stay in use.
	w.close()
	checkCatalogs(t, p.Catalogs(t.Context(), h.Good))

	p, w = h.start(t, patience)
	w.close()
	if c := p.Catalogs(t.Context(), h.Good); c.Triggers != nil || c.Statuses != nil || c.Vehicles != nil {
		t.Errorf("catalogs from nowhere: %v", c)
	}
}

// testParallel has callers with good and bad credentials call at the same time.
func (h Harness) testParallel(t *testing.T) {
	p, _ := h.start(t, patience)
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
			checkError(t, err, providers.ErrAuth, h.Bad)
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
	p, _ := h.start(t, patience)
	for range 2 {
		_, err := p.Events(t.Context(), h.Bad, h.Full)
		checkError(t, err, providers.ErrAuth, h.Bad)
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
	t.Run("gone before", func(t *testing.T) {
		p, _ := h.start(t, patience)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := p.Events(ctx, h.Good, h.Full)
		checkError(t, err, providers.ErrCanceled, h.Good)
		checkCatalogs(t, p.Catalogs(ctx, h.Good))
	})
	t.Run("gone meanwhile", func(t *testing.T) {
		p, w := h.start(t, patience)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.disturb(true, func(rw http.ResponseWriter, r *http.Request) {
			cancel()
			hang(rw, r)
		})
		_, err := p.Events(ctx, h.Good, h.Full)
		checkError(t, err, providers.ErrCanceled, h.Good)
	})
	t.Run("out of time", func(t *testing.T) {
		p, w := h.start(t, patience)
		w.disturb(true, hang)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := p.Events(ctx, h.Good, h.Full)
		checkError(t, err, providers.ErrTimeout, h.Good)
	})
	t.Run("leaves the catalogs", func(t *testing.T) {
		p, w := h.start(t, time.Second)
		w.disturb(false, hang)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		start := time.Now()
		checkCatalogs(t, p.Catalogs(ctx, h.Good))
		if took := time.Since(start); took > 900*time.Millisecond {
			t.Errorf("a caller with 50ms was held for %v", took)
		}
	})
}

// testFaults disturbs either kind of call in every way.
func (h Harness) testFaults(t *testing.T) {
	t.Run("down", func(t *testing.T) {
		p, w := h.start(t, patience)
		w.close()
		_, err := p.Events(t.Context(), h.Good, h.Full)
		checkError(t, err, providers.ErrUnreachable, h.Good)
	})
	for _, f := range faults {
		t.Run("events/"+f.name, func(t *testing.T) {
			t.Parallel()
			p, w := h.start(t, f.timeout)
			w.disturb(true, f.serve)
			answer, err := p.Events(t.Context(), h.Good, h.Full)
			if err != nil || !errors.Is(f.want, providers.ErrInvalidJSON) || len(answer.Body) == 0 {
				pe := checkError(t, err, f.want, h.Good)
				if pe.RetryAfter != f.retryAfter {
					t.Errorf("RetryAfter is %v, want %v", pe.RetryAfter, f.retryAfter)
				}
			} else if _, err := parse(answer); err == nil {
				t.Error("the answer is neither an error nor can the gateway see that it is none")
			}

			w.disturb(true, nil)
			h.must(t, p, h.Full) // and nothing of it is remembered
		})
		t.Run("catalogs/"+f.name, func(t *testing.T) {
			t.Parallel()
			p, w := h.start(t, f.timeout)
			w.disturb(false, f.serve)
			checkCatalogs(t, p.Catalogs(t.Context(), h.Good))
			h.must(t, p, h.Full) // the events are worth more than their names
		})
	}
}

// checkError checks the type and kind of an error and that nothing of it shows the
// credential.
func checkError(t *testing.T, err, want error, cred telematics.Credential) *providers.Error {
	t.Helper()
	pe, ok := err.(*providers.Error) //nolint:errorlint // the contract promises the type itself
	switch {
	case err == nil:
		t.Errorf("no error, want: %v", want)
		return &providers.Error{}
	case !ok:
		t.Errorf("the error is a %T: %v", err, err)
		return &providers.Error{}
	case !errors.Is(err, want):
		t.Errorf("the error is %q, want: %v", err, want)
	}
	texts := []string{pe.Message}
	for e := err; e != nil; e = errors.Unwrap(e) {
		texts = append(texts, e.Error())
	}
	if text := strings.Join(texts, "\n"); strings.Contains(text, cred.APIKey) {
		t.Errorf("the error shows the key: %s", text)
	}
	return pe
}
