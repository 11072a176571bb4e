package lytx

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers"
)

func TestCatalogsAreRenewed(t *testing.T) {
	s := newService(t)
	b := newBench(t, s)
	b.catalogs(t)

	b.pass(9 * time.Minute)
	if c := b.catalogs(t); c.Age != 9*time.Minute {
		t.Errorf("the age is %v, want 9m", c.Age)
	}
	b.expectCalls(t, each(1))

	s.vehicles[0].Name = "RENAMED"
	b.pass(2 * time.Minute)
	if c := b.catalogs(t); !strings.Contains(string(c.Vehicles[vehicleID(1)]), "UNIT-1") {
		t.Errorf("the old vehicles are not in use while they are renewed: %s", c.Vehicles[vehicleID(1)])
	}
	b.expectCalls(t, map[string]int{pathTriggers: 1, pathStatuses: 1, pathVehicles: 2, pathDetails: 2})
	c := b.catalogs(t)
	if v := string(c.Vehicles[vehicleID(1)]); !strings.Contains(v, "RENAMED") || !strings.Contains(v, "1FUJGLDR") {
		t.Errorf("the vehicle is %s, want it renewed", v)
	}
	if c.Age != 11*time.Minute {
		t.Errorf("the age is %v, want that of the oldest catalog, 11m", c.Age)
	}

	b.pass(50 * time.Minute)
	b.catalogs(t)
	b.expectCalls(t, map[string]int{pathTriggers: 2, pathStatuses: 2, pathVehicles: 3, pathDetails: 3})
}

// The join is computed once for the tables that it is of.
func TestCatalogsJoinedOnce(t *testing.T) {
	b := newBench(t, newService(t))
	b.catalogs(t)
	first, second := b.catalogs(t), b.catalogs(t)
	if &first.Vehicles[vehicleID(1)][0] != &second.Vehicles[vehicleID(1)][0] {
		t.Error("the vehicles were joined twice")
	}
}

// Details that are renewed show on vehicles that could not be.
func TestCatalogsJoinedAnew(t *testing.T) {
	s := newService(t)
	b := newBench(t, s)
	b.catalogs(t)
	s.details = strings.Replace(s.details, "AB 12", "CD 34", 1)
	s.failing(status(http.StatusInternalServerError), pathVehicles)
	b.pass(11 * time.Minute)
	b.catalogs(t)
	if v := string(b.catalogs(t).Vehicles[vehicleID(1)]); !strings.Contains(v, `"UNIT-1"`) || !strings.Contains(v, "CD 34") {
		t.Errorf("the vehicle is %s, want the old name with the new plate", v)
	}
}

// Details that were there are kept when access to them is refused later.
func TestDetailsRefusedLater(t *testing.T) {
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound} {
		t.Run("fail/"+http.StatusText(code), func(t *testing.T) {
			s := newService(t)
			b := newBench(t, s)
			b.catalogs(t)
			s.failing(status(code), pathDetails)
			b.pass(11 * time.Minute)
			b.catalogs(t)
			c := b.catalogs(t)
			if v := string(c.Vehicles[vehicleID(1)]); !strings.Contains(v, "AB 12") {
				t.Errorf("the vehicle is %s, want the plate of before", v)
			}
			if c.Age < 11*time.Minute {
				t.Errorf("the age is %v", c.Age)
			}
		})
	}
}

func TestCatalogsStale(t *testing.T) {
	s := newService(t)
	b := newBench(t, s)
	b.catalogs(t)
	s.failing(status(http.StatusInternalServerError), catalogPaths...)

	b.pass(2 * time.Hour)
	for range 5 {
		if c := b.catalogs(t); len(c.Triggers) != 2 || len(c.Vehicles) != 3 || c.DetailsMissing || c.Age != 2*time.Hour {
			t.Errorf("stale catalogs are %v", c)
		}
	}
	b.expectCalls(t, each(2))
	b.pass(29 * time.Second)
	b.catalogs(t)
	b.expectCalls(t, each(2))
	b.pass(2 * time.Second)
	b.catalogs(t)
	b.catalogs(t)
	b.expectCalls(t, each(3))

	// 24 h after they were due: the vehicles go, the names have an hour less behind them.
	b.pass(22*time.Hour + 15*time.Minute)
	if c := b.catalogs(t); c.Vehicles != nil || len(c.Triggers) != 2 {
		t.Errorf("catalogs after a day are %v", c)
	}
	b.pass(time.Hour)
	if c := b.catalogs(t); c.Triggers != nil || c.Statuses != nil {
		t.Errorf("catalogs after a day and an hour are %v", c)
	}

	s.failing(nil)
	b.pass(failurePause)
	b.catalogs(t)
	if c := b.catalogs(t); len(c.Triggers) != 2 || len(c.Vehicles) != 3 || c.Age != 0 {
		t.Errorf("catalogs after the failure are %v", c)
	}
}

func TestCatalogsThrottled(t *testing.T) {
	s := newService(t)
	b := newBench(t, s)
	b.catalogs(t)
	s.failing(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "120")
		w.WriteHeader(http.StatusTooManyRequests)
	}, catalogPaths...)
	b.pass(2 * time.Hour)
	for range 3 {
		b.catalogs(t)
		b.pass(50 * time.Second)
	}
	b.expectCalls(t, each(2))
	b.catalogs(t)
	b.expectCalls(t, each(3))
}

// Events wait for a catalog only so long, but its fetch goes on.
func TestCatalogsTimeout(t *testing.T) {
	s := newService(t)
	release := make(chan struct{})
	s.failing(func(w http.ResponseWriter, r *http.Request) {
		<-release
		_, _ = io.WriteString(w, `[{"id":30,"name":"Late"}]`)
	}, pathTriggers)
	b := newBench(t, s, `"catalog_timeout":1000000000`)
	c := b.Catalogs(t.Context(), good)
	if c.Triggers != nil || len(c.Statuses) != 2 || len(c.Vehicles) != 3 {
		t.Errorf("catalogs are %v", c)
	}
	close(release)
	b.work.Wait()
	if c := b.catalogs(t); string(c.Triggers["30"]) != `"Late"` {
		t.Errorf("the triggers are %v, want those that came late", c.Triggers)
	}
	if n := s.count(pathTriggers); n != 1 {
		t.Errorf("%d calls for triggers, want 1", n)
	}
}

// A caller that leaves does not take the fetch with it, which others wait for.
func TestCatalogsCallerLeaves(t *testing.T) {
	s := newService(t)
	b := newBench(t, s)
	ctx, leave := context.WithCancel(t.Context())
	release := make(chan struct{})
	s.failing(func(w http.ResponseWriter, _ *http.Request) {
		leave()
		<-release
		_, _ = io.WriteString(w, `[{"id":30,"name":"Late"}]`)
	}, pathTriggers)
	if c := b.Catalogs(ctx, good); c.Triggers != nil {
		t.Errorf("the triggers are %v", c.Triggers)
	}
	close(release)
	b.work.Wait()
	if c := b.catalogs(t); string(c.Triggers["30"]) != `"Late"` {
		t.Errorf("the triggers are %v", c.Triggers)
	}
}

// Cleanup ends what runs in the background, but not while a request waits for it.
func TestCleanup(t *testing.T) {
	s := newService(t)
	b := newBench(t, s)
	release := make(chan struct{})
	s.failing(func(w http.ResponseWriter, _ *http.Request) {
		if err := b.Cleanup(); err != nil { // a reload, in the middle of the request
			t.Error(err)
		}
		_, _ = io.WriteString(w, `[{"id":30,"name":"x"}]`)
	}, pathTriggers)
	if c := b.catalogs(t); len(c.Triggers) != 1 || len(c.Vehicles) != 3 {
		t.Errorf("catalogs of a request that outlives its config are %v", c)
	}

	// A late request of the old config still gets its names.
	b.cache.InvalidateAll()
	if c := b.catalogs(t); len(c.Triggers) != 1 || len(c.Vehicles) != 3 {
		t.Errorf("catalogs of a late request are %v", c)
	}

	// And what nobody waits for ends.
	b.cache.InvalidateAll()
	begun := make(chan struct{})
	s.failing(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(release)
	}, pathTriggers)
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-begun
		leave()
	}()
	b.Catalogs(ctx, good)
	<-release
	b.work.Wait()
	if strings.Contains(b.logs.String(), `"level":"warn"`) {
		t.Errorf("the end is no warning: %s", b.logs)
	}
}

func TestTableWeight(t *testing.T) {
	p := &Provider{now: time.Now}
	tb := p.newTable(time.Hour, 0)
	before := tb.weight
	tb.put("id", []byte("value"))
	if grown := tb.weight - before; grown < len("idvalue") {
		t.Errorf("an entry of 7 bytes weighs %d", grown)
	}
	tb.put("id", []byte("another"))
	tb.put("", []byte("x"))
	if len(tb.entries) != 1 || string(tb.entries["id"]) != "value" {
		t.Errorf("entries are %q, want the first of each id", tb.entries)
	}
	if err := tb.check(); err != nil {
		t.Error(err)
	}
	tb.weight = maxWeight + 1
	wantError(t, tb.check(), providers.KindTooLarge, "response too large")
}

// The cache drops catalogs rather than grow without end.
func TestCacheIsBounded(t *testing.T) {
	c := newCache(time.Now, func(f func()) { f() })
	for i := range 64 {
		tb := &table{weight: maxWeight / 8, fresh: time.Hour, keep: time.Hour}
		c.Set(cacheKey{triggers, string(rune('a' + i))}, tb)
	}
	c.CleanUp()
	if w := c.WeightedSize(); w > maxWeight {
		t.Errorf("the cache weighs %d, more than %d", w, maxWeight)
	}
	if c.EstimatedSize() == 0 {
		t.Error("the cache is empty")
	}
}

// A caller that looked before another one's fetch was stored does not fetch again.
func TestReloadOfTheFresh(t *testing.T) {
	s := newService(t)
	b := newBench(t, s)
	b.catalogs(t)
	var old *table
	for k, tb := range b.cache.All() {
		if k.kind == triggers {
			old = tb
		}
	}
	got, err := loader{b.Provider, goodKey}.Reload(t.Context(), cacheKey{kind: triggers}, old)
	if err != nil || got != old {
		t.Errorf("reload returned %v, %v", got, err)
	}
	b.expectCalls(t, each(1))
}
