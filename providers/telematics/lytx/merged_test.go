package lytx

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/outbound"
	"github.com/fleetgate/fleetgate/providers/telematics"
)

// Page by page, several ids give the same events in the same order as one call for
// all of them would.
func TestMergedPages(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := newService(t)
		start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
		order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range rapid.IntRange(0, 40).Draw(rt, "events") {
				if !yield(i) {
					return
				}
			}
		})).Draw(rt, "order")
		s.events = nil
		for i, at := range order {
			s.events = append(s.events, fakeEvent{
				id:     fmt.Sprintf("5afe51de-0000-0000-0000-%012d", i),
				driver: driverID(rapid.IntRange(1, 4).Draw(rt, "driver")), vehicle: vehicleID(rapid.IntRange(1, 3).Draw(rt, "vehicle")),
				// Fractions of different length, so that text does not sort as time does.
				created:  start.Add(time.Duration(at) * 500 * time.Millisecond),
				recorded: start.Add(time.Duration((at*7)%41) * time.Second),
			})
		}
		url, stop := s.serveFor()
		defer stop()
		p := load(t, `{"base_url":"`+url+`"}`)

		q := plain
		q.SortBy = rapid.SampledFrom([]string{telematics.FieldLastUpdated, telematics.FieldRecorded}).Draw(rt, "by")
		q.SortDirection = rapid.SampledFrom([]string{telematics.Ascending, telematics.Descending}).Draw(rt, "direction")
		all, err := p.Events(t.Context(), good, q)
		if err != nil {
			rt.Fatalf("all events: %v", err)
		}

		var drivers, vehicles []string
		for n := range rapid.IntRange(0, 4).Draw(rt, "drivers") {
			drivers = append(drivers, driverID(n+1))
		}
		for n := range rapid.IntRange(0, 3).Draw(rt, "vehicles") {
			vehicles = append(vehicles, vehicleID(n+1))
		}
		var want []string
		for _, id := range ids(rt, all.Body) {
			i := slices.IndexFunc(s.events, func(e fakeEvent) bool { return e.id == id })
			if (drivers == nil || slices.Contains(drivers, s.events[i].driver)) &&
				(vehicles == nil || slices.Contains(vehicles, s.events[i].vehicle)) {
				want = append(want, id)
			}
		}

		q.DriverIDs, q.VehicleIDs = drivers, vehicles
		q.Limit = rapid.IntRange(3, 50).Draw(rt, "limit")
		var got []string
		for q.Page = 1; ; q.Page++ {
			answer, err := p.Events(t.Context(), good, q)
			if err != nil {
				rt.Fatalf("page %d: %v", q.Page, err)
			}
			list := ids(rt, answer.Body)
			got = append(got, list...)
			if len(list) < q.Limit || len(got) > len(want) {
				break
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("the pages are\n%v, want\n%v", got, want)
		}
	})
}

func TestMergedWithoutPage(t *testing.T) {
	s := newService(t)
	q := plain
	q.DriverIDs, q.Limit = []string{driverID(1), driverID(2)}, 5
	answer, err := open(t, s).Events(t.Context(), good, q)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(t, answer.Body); len(got) != 5 {
		t.Errorf("%d events, want the limit of 5", len(got))
	}
	if n := s.count(pathEvents); n != 2 {
		t.Errorf("%d calls, want one for each driver", n)
	}
}

// Events that move to another page between two calls are seen twice by us, but not by
// the caller.
func TestMergedWithoutDuplicates(t *testing.T) {
	s := newService(t)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		_, _ = io.WriteString(w, `[{"id":"same","revisionDate":"2026-03-01T08:00:00Z"},{"id":"own-`+r.URL.Query().Get("driverId")+`","revisionDate":"2026-03-01T07:00:00Z"}]`)
		return true
	}
	q := plain
	q.DriverIDs = []string{"a", "b"}
	answer, err := open(t, s).Events(t.Context(), good, q)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(t, answer.Body); !slices.Equal(got, []string{"same", "own-a", "own-b"}) {
		t.Errorf("events are %v", got)
	}
}

func TestMergedCallsAtOnce(t *testing.T) {
	s := newService(t)
	var arrived atomic.Int32
	four := make(chan struct{})
	s.before = func(http.ResponseWriter, *http.Request) bool {
		if arrived.Add(1) == callsAtOnce {
			close(four)
		}
		<-four // the first calls wait for each other, so there are that many at once
		return false
	}
	q := plain
	for n := range 12 {
		q.DriverIDs = append(q.DriverIDs, driverID(n))
	}
	if _, err := open(t, s).Events(t.Context(), good, q); err != nil {
		t.Fatal(err)
	}
	if s.most != callsAtOnce {
		t.Errorf("%d calls at once, want %d", s.most, callsAtOnce)
	}
}

func TestMergedTooManyCalls(t *testing.T) {
	full := func(w http.ResponseWriter, r *http.Request) bool {
		_, _ = io.WriteString(w, `[{"id":"`+r.URL.Query().Get("driverId")+r.URL.Query().Get("page")+`"}]`)
		return true
	}
	for _, tc := range []struct {
		name                    string
		drivers, vehicles, page int
		before                  func(http.ResponseWriter, *http.Request) bool
		wantCalls               int // at most
		wantErr                 string
	}{
		{"ok/many ids with few events", 100, 0, 3, nil, 200, ""},
		{"ok/just enough", 100, 0, 2, full, 200, ""},
		{"ok/pairs", 10, 20, 1, full, 200, ""},
		{"fail/pairs", 100, 100, 0, full, 0, "driver_ids is invalid"},
		{"fail/more drivers", 20, 11, 1, full, 0, "driver_ids is invalid"},
		{"fail/more vehicles", 11, 20, 1, full, 0, "vehicle_ids is invalid"},
		{"fail/deep page", 100, 0, 3, full, 200, "page is invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newService(t)
			s.before = tc.before
			q := plain
			q.Limit, q.Page = 1, tc.page
			for n := range tc.drivers {
				q.DriverIDs = append(q.DriverIDs, driverID(n))
			}
			for n := range tc.vehicles {
				q.VehicleIDs = append(q.VehicleIDs, vehicleID(n))
			}
			_, err := open(t, s).Events(t.Context(), good, q)
			if n := s.count(pathEvents); n > tc.wantCalls {
				t.Errorf("%d calls, want at most %d", n, tc.wantCalls)
			}
			switch {
			case tc.wantErr != "":
				wantError(t, err, providers.KindInvalid, tc.wantErr)
			case err != nil:
				t.Fatal(err)
			}
		})
	}
}

func TestMergedTooLarge(t *testing.T) {
	s := newService(t)
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, `[{"id":"`+strings.Repeat("x", 700)+`"}]`)
		return true
	}
	p := open(t, s, `"max_body":1000`)
	q := plain
	if _, err := p.Events(t.Context(), good, q); err != nil {
		t.Fatalf("one answer is small enough: %v", err)
	}
	q.DriverIDs = []string{"a", "b"}
	_, err := p.Events(t.Context(), good, q)
	wantError(t, err, providers.KindTooLarge, "response too large")
}

// The failure of one call ends the others and is the one that is reported.
func TestMergedFailure(t *testing.T) {
	for _, tc := range []struct {
		name    string
		status  int
		body    string
		kind    providers.Kind
		message string
	}{
		{"fail/500", 500, `{"message":"one is broken"}`, providers.KindProvider, "one is broken"},
		{"fail/401", 401, `{"message":"Unauthorized"}`, providers.KindAuth, "Unauthorized"},
		{"fail/not JSON", 200, `<html>`, providers.KindInvalidJSON, ""},
		{"fail/truncated", 200, `[{"id":"a"}`, providers.KindInvalidJSON, ""},
		{"fail/no array", 200, `{"id":"a"}`, providers.KindInvalidJSON, ""},
		{"fail/empty", 200, ``, providers.KindInvalidJSON, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newService(t)
			hanging := make(chan struct{})
			s.before = func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Query().Get("driverId") == "b" {
					<-hanging
					answer(w, tc.status, tc.body)
					return true
				}
				close(hanging)
				<-r.Context().Done()
				return true
			}
			q := plain
			q.DriverIDs = []string{"a", "b"}
			_, err := open(t, s).Events(t.Context(), good, q)
			wantError(t, err, tc.kind, tc.message)
		})
	}
}

// A panic in one of the calls fails the request and not the process.
func TestMergedPanic(t *testing.T) {
	p := open(t, newService(t))
	p.Client = outbound.Client{} // without Setup, it panics
	q := plain
	q.DriverIDs = []string{"a", "b"}
	_, err := p.mergedPage(t.Context(), goodKey, q, targetsOf(q))
	wantError(t, err, providers.KindProvider, "")
}

// An element that is no object shows only when the pages are merged.
func TestMergedElements(t *testing.T) {
	s := newService(t)
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, `[1]`)
		return true
	}
	q := plain
	q.DriverIDs = []string{"a", "b"}
	_, err := open(t, s).Events(t.Context(), good, q)
	wantError(t, err, providers.KindInvalidJSON, "")
}

func TestMergedCanceled(t *testing.T) {
	s := newService(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.before = func(_ http.ResponseWriter, r *http.Request) bool {
		cancel()
		<-r.Context().Done()
		return true
	}
	q := plain
	for n := range 9 {
		q.DriverIDs = append(q.DriverIDs, strconv.Itoa(n))
	}
	_, err := open(t, s).Events(ctx, good, q)
	wantError(t, err, providers.KindCanceled, "request canceled")
}
