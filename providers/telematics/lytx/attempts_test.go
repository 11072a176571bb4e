package lytx

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers/outbound"
)

// hang has calls to paths wait until release is called, and then fail. It reports each.
func (s *service) hang(paths ...string) (arrived <-chan string, release func()) {
	arrivals, released := make(chan string, 10), make(chan struct{})
	s.failing(func(w http.ResponseWriter, r *http.Request) {
		arrivals <- r.URL.Path
		<-released
		w.WriteHeader(http.StatusInternalServerError)
	}, paths...)
	return arrivals, func() { close(released) }
}

// A fetch that hangs is waited for from its own beginning on, however late a request.
func TestLookWhileFetching(t *testing.T) {
	for _, tc := range []struct {
		name    string
		options []string
		kind    kind
		path    string
		timeout time.Duration
	}{
		{"ok/triggers", nil, triggers, pathTriggers, 10 * time.Second},
		{"ok/vehicles", nil, vehicles, pathVehicles, 10 * time.Second},
		{"ok/details", nil, details, pathDetails, 2 * time.Second},
		{"ok/details, impatient", []string{`"catalog_timeout":1000000000`}, details, pathDetails, time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newService(t)
			b := newBench(t, s, tc.options...)
			arrived, release := s.hang(tc.path)
			defer b.work.Wait()
			defer release()
			defer b.lifetime.wait()()

			key := cacheKey{tc.kind, outbound.Digest(b.Identity(), goodKey)}
			expect := func(left time.Duration) {
				t.Helper()
				before := time.Now()
				tb, a := b.look(key, goodKey)
				if tb != nil || a == nil {
					t.Fatalf("table is %v, arrival is %v", tb, a)
				}
				if a.deadline.Before(before.Add(left)) || a.deadline.After(time.Now().Add(left)) {
					t.Errorf("would wait for %v, want %v", a.deadline.Sub(before), left)
				}
			}
			expect(tc.timeout)
			<-arrived
			b.pass(tc.timeout / 4)
			expect(tc.timeout - tc.timeout/4)
			b.pass(tc.timeout)
			if tb, a := b.look(key, goodKey); tb != nil || a != nil {
				t.Errorf("table is %v, arrival is %v, want neither", tb, a)
			}
		})
	}
}

// Catalogs that hang hold up no request but the first ones.
func TestCatalogsHang(t *testing.T) {
	s := newService(t)
	b := newBench(t, s)
	b.catalogs(t)
	for _, k := range []kind{vehicles, details} {
		b.cache.Invalidate(cacheKey{k, outbound.Digest(b.Identity(), goodKey)})
	}
	atOnce := func() {
		t.Helper()
		start := time.Now()
		c := b.Catalogs(t.Context(), good)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("held up for %v by catalogs that are known to hang", took)
		}
		if len(c.Triggers) != 2 || len(c.Statuses) != 2 || c.Vehicles != nil {
			t.Errorf("catalogs are %v", c)
		}
	}

	arrived, release := s.hang(pathVehicles, pathDetails)
	first, leave := context.WithCancel(t.Context())
	go func() {
		<-arrived
		<-arrived
		leave()
	}()
	b.Catalogs(first, good)
	b.pass(10 * time.Second)
	atOnce()
	atOnce()

	// The attempt fails; the next one hangs in the background.
	release()
	b.work.Wait()
	b.pass(failurePause)
	arrived, release = s.hang(pathVehicles, pathDetails)
	atOnce()
	<-arrived
	<-arrived
	atOnce()
	release()
	b.work.Wait()

	s.failing(nil)
	b.pass(2 * failurePause)
	atOnce()
	b.work.Wait()
	if c := b.catalogs(t); len(c.Vehicles) != 3 || c.DetailsMissing {
		t.Errorf("catalogs after the failure are %v", c)
	}
}

func TestCatalogsBackOff(t *testing.T) {
	s := newService(t)
	s.failing(status(http.StatusInternalServerError), pathStatuses)
	b := newBench(t, s)
	b.catalogs(t)
	const sec = time.Second
	for n, pause := range []time.Duration{sec, 2 * sec, 4 * sec, 8 * sec, 16 * sec, 30 * sec, 30 * sec} {
		for _, step := range []time.Duration{pause - time.Millisecond, time.Millisecond} {
			if calls := s.count(pathStatuses); calls != n+1 {
				t.Errorf("%d calls before the pause of %v is over, want %d", calls, pause, n+1)
			}
			b.pass(step)
			b.catalogs(t)
		}
	}

	// Once nobody has asked for long, a request is the first one again.
	s.failing(nil)
	b.pass(failureMemory + retryPause)
	if c := b.catalogs(t); len(c.Statuses) != 2 {
		t.Errorf("statuses are %v", c.Statuses)
	}
}
