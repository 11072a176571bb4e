// Package accountingtest has the conformance suite for providers of online accounting.
// A provider that passes it can be used in the gateway's accounting area.
package accountingtest

import (
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/providers/internal/upstreamtest"
)

// Harness is what the suite has to know of a provider.
type Harness struct {
	// New returns a provider that is ready for use and calls up. What has to be
	// released after the test is the harness' own affair ([testing.T.Cleanup]).
	New func(t *testing.T, up Upstream) accounting.Provider

	// NewService returns a simulation of the provider's service, always with the same
	// entities, safe for concurrent use. It should be strict: what the real service
	// would refuse is an error of t.
	NewService func(t *testing.T) http.Handler

	// IsWrite tells the requests that create or update from those that read.
	IsWrite func(r *http.Request) bool

	Good accounting.Credential // accepted by the service
	Bad  accounting.Credential // refused by the service

	// Lists is how many entities of each kind the service has. One of the lists should
	// take several pages.
	Lists map[accounting.Kind]int

	Some    accounting.Query // matches some vendors, but not all
	None    accounting.Query // matches no vendors
	Refused accounting.Query // a filter that the provider module refuses by itself
	Missing string           // an id that no purchase has

	Purchase, Vendor Input
}

// Input makes the inputs of contract 2.1 for one kind.
type Input struct {
	// Create returns an input that the service accepts. Inputs of different n make
	// entities that do not conflict.
	Create func(n int) []byte

	// Update returns an input that changes the entity.
	Update func(id, syncToken string) []byte
}

// Upstream is where a provider under test finds its service.
type Upstream struct {
	URL     string        // the base URL
	Timeout time.Duration // how long one operation may take
}

// Run checks the provider of h.
func Run(t *testing.T, h Harness) {
	t.Run("ok/display name", func(t *testing.T) {
		b := h.start(t, upstreamtest.Patience)
		if b.DisplayName() == "" {
			t.Error("the display name is empty")
		}
	})
	t.Run("ok/lists", h.testLists)
	t.Run("ok/filters", h.testFilters)
	t.Run("ok/reads", h.testReads)
	for kind, in := range h.inputs() {
		t.Run("ok/"+string(kind)+" created and updated", func(t *testing.T) { h.testWrites(t, kind, in) })
		t.Run("ok/"+string(kind)+" repeated", func(t *testing.T) { h.testRepeats(t, kind, in) })
		t.Run("ok/"+string(kind)+" lost", func(t *testing.T) { h.testLost(t, kind, in) })
		t.Run("ok/"+string(kind)+" without its caller", func(t *testing.T) { h.testGone(t, kind, in) })
	}
	t.Run("ok/request id", func(t *testing.T) {
		b := h.start(t, upstreamtest.Patience)
		ctx := providers.WithRequestID(t.Context(), "request-4711")
		for name, op := range h.operations() {
			if err := op.do(ctx, b, h.Good); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if id := b.RequestID(op.class); id != "request-4711" {
				t.Errorf("%s: X-Request-Id is %q", name, id)
			}
		}
	})
	t.Run("ok/parallel callers", h.testParallel)
	t.Run("fail/filter", func(t *testing.T) {
		b := h.start(t, upstreamtest.Patience)
		_, err := b.List(t.Context(), h.Good, accounting.KindVendor, h.Refused)
		upstreamtest.CheckError(t, err, providers.ErrInvalid, h.Good.AccessToken)
		b.CheckCalls(t, classRead, 0)
		b.CheckCalls(t, classWrite, 0)
	})
	t.Run("fail/not found", func(t *testing.T) {
		b := h.start(t, upstreamtest.Patience)
		_, err := b.Read(t.Context(), h.Good, accounting.KindPurchase, h.Missing, accounting.Query{})
		upstreamtest.CheckError(t, err, providers.ErrNotFound, h.Good.AccessToken)
	})
	t.Run("fail/credential refused", func(t *testing.T) {
		b := h.start(t, upstreamtest.Patience)
		for name, op := range h.operations() {
			t.Run(name, func(t *testing.T) {
				upstreamtest.CheckError(t, op.do(t.Context(), b, h.Bad), providers.ErrAuth, h.Bad.AccessToken)
				if err := op.do(t.Context(), b, h.Good); err != nil {
					t.Errorf("one caller's refusal is another's: %v", err)
				}
			})
		}
	})
	t.Run("fail/caller", h.testCaller)
	t.Run("fail/upstream", h.testFaults)
}

// inputs are the kinds that can be written.
func (h Harness) inputs() map[accounting.Kind]Input {
	return map[accounting.Kind]Input{accounting.KindPurchase: h.Purchase, accounting.KindVendor: h.Vendor}
}

// testLists reads each list whole.
func (h Harness) testLists(t *testing.T) {
	b := h.start(t, upstreamtest.Patience)
	for kind, want := range h.Lists {
		if n := len(h.list(t, b, kind, accounting.Query{})); n != want {
			t.Errorf("%s: %d rows, want %d", kind, n, want)
		}
	}
}

func (h Harness) testFilters(t *testing.T) {
	b := h.start(t, upstreamtest.Patience)
	all := h.list(t, b, accounting.KindVendor, accounting.Query{})
	some := h.list(t, b, accounting.KindVendor, h.Some)
	if len(some) == 0 || len(some) >= len(all) {
		t.Errorf("%d of %d rows match", len(some), len(all))
	}
	for id := range some {
		if _, ok := all[id]; !ok {
			t.Errorf("id %s is in the filtered list alone", id)
		}
	}
	if none := h.list(t, b, accounting.KindVendor, h.None); len(none) != 0 {
		t.Errorf("%d rows where none match", len(none))
	}
}

// testReads reads an entity of each kind that is in its list.
func (h Harness) testReads(t *testing.T) {
	b := h.start(t, upstreamtest.Patience)
	for kind := range h.Lists {
		for id := range h.list(t, b, kind, accounting.Query{}) {
			raw, err := b.Read(t.Context(), h.Good, kind, id, accounting.Query{})
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if e := parse(t, raw); e.ID != id {
				t.Errorf("%s %s is %s", kind, id, raw)
			}
			break
		}
	}
}

// testParallel has callers with good and bad credentials call at the same time.
func (h Harness) testParallel(t *testing.T) {
	b := h.start(t, upstreamtest.Patience)
	var wg sync.WaitGroup
	for name, op := range h.operations() {
		for range 2 {
			wg.Go(func() {
				if err := op.do(t.Context(), b, h.Good); err != nil {
					t.Errorf("%s with the good credential: %v", name, err)
				}
			})
			wg.Go(func() {
				upstreamtest.CheckError(t, op.do(t.Context(), b, h.Bad), providers.ErrAuth, h.Bad.AccessToken)
			})
		}
	}
	wg.Wait()
}
