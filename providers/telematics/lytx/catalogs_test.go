package lytx

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/fleetgate/fleetgate/providers/outbound"
	"github.com/fleetgate/fleetgate/providers/telematics"
)

func TestCatalogs(t *testing.T) {
	s := newService(t)
	s.vehicles = append(s.vehicles,
		fakeVehicle{ID: 1, Name: `say "hi" \ é`, GUID: "9100FFFF-0000-0000-0000-00000000000A"},
		fakeVehicle{ID: 2, Name: "no GUID"},
		fakeVehicle{ID: 3, Name: "a second of this GUID", GUID: vehicleID(1)})
	c := newBench(t, s).catalogs(t)

	expectTable(t, "triggers", c.Triggers, map[string]string{"1": `"Manual"`, "30": `"FLEX \u00e9Smart"`})
	expectTable(t, "statuses", c.Statuses, map[string]string{"1": `"New"`, "2": `"Face-To-Face Coaching"`})
	lettered := `{"dcVehicleId":"9100FFFF-0000-0000-0000-00000000000A","name":"say \"hi\" \\ é"}`
	expectTable(t, "vehicles", c.Vehicles, map[string]string{
		vehicleID(1):                           `{"dcVehicleId":"` + vehicleID(1) + `","name":"UNIT-1","vin":"1FUJGLDR","licensePlate":"AB 12","make":"ISUZU","model":"NPR-HD","year":2016}`,
		vehicleID(2):                           `{"dcVehicleId":"` + vehicleID(2) + `","name":"UNIT-2"}`,
		vehicleID(3):                           `{"dcVehicleId":"` + vehicleID(3) + `","name":"UNIT-3","vin":"54DC","year":"2019"}`,
		"9100FFFF-0000-0000-0000-00000000000A": lettered,
		"9100ffff-0000-0000-0000-00000000000a": lettered,
	})
	if c.DetailsMissing || c.Age != 0 {
		t.Errorf("details missing is %v, age is %v", c.DetailsMissing, c.Age)
	}
}

func TestVehicleMembers(t *testing.T) {
	s := newService(t)
	s.details = `{"vehicles":[{"id":"` + vehicleID(1) + `","vin":true,"licensePlateNumber":{"a":1},"make":"","year":2016.0}],"totalResults":1}`
	s.failing(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("PageNumber") == "1" {
			_, _ = io.WriteString(w, `{"totalCount":"2","vehicles":[{"id":1,"dcVehicleId":"`+vehicleID(1)+`","name":null},{"id":2,"dcVehicleId":77,"name":12.50}, 5]}`)
			return
		}
		_, _ = io.WriteString(w, `{"vehicles":null}`)
	}, pathVehicles)
	c := newBench(t, s).catalogs(t)
	expectTable(t, "vehicles", c.Vehicles, map[string]string{
		vehicleID(1): `{"dcVehicleId":"` + vehicleID(1) + `","name":"","make":"","year":2016.0}`,
		"77":         `{"dcVehicleId":"77","name":"12.50"}`,
	})
}

func TestCatalogsStartTogether(t *testing.T) {
	s := newService(t)
	var arrived sync.WaitGroup
	arrived.Add(len(catalogPaths))
	s.before = func(http.ResponseWriter, *http.Request) bool {
		arrived.Done()
		arrived.Wait() // hangs unless all of them come without waiting for each other
		return false
	}
	if c := newBench(t, s).catalogs(t); c.Triggers == nil || c.Statuses == nil || c.Vehicles == nil || c.DetailsMissing {
		t.Errorf("catalogs are %v", c)
	}
}

func TestCatalogsAreShared(t *testing.T) {
	s := newService(t)
	b := newBench(t, s)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if c := b.Catalogs(t.Context(), good); len(c.Vehicles) != 3 || c.DetailsMissing {
				t.Errorf("vehicles are %v", c.Vehicles)
			}
		})
	}
	wg.Wait()
	b.expectCalls(t, each(1))

	// The cache is of no use to another key.
	if c := b.Catalogs(t.Context(), telematics.Credential{APIKey: goodKey + "x"}); c.Triggers != nil || c.Statuses != nil || c.Vehicles != nil {
		t.Errorf("another key was given %v", c)
	}
	b.expectCalls(t, each(2))
}

func TestCatalogsMissing(t *testing.T) {
	s := newService(t)
	s.failing(status(http.StatusInternalServerError), pathTriggers, pathVehicles)
	b := newBench(t, s)
	c := b.catalogs(t)
	if c.Triggers != nil || c.Vehicles != nil || len(c.Statuses) != 2 || c.DetailsMissing {
		t.Errorf("catalogs are %v", c)
	}
	if logs := b.logs.String(); !strings.Contains(logs, `"catalog":"triggers"`) || strings.Contains(logs, goodKey) {
		t.Errorf("the log is %s", logs)
	}

	// For a moment the failure stands, then the next caller has it tried again, for
	// those after it.
	b.catalogs(t)
	b.expectCalls(t, each(1))
	s.failing(nil)
	b.pass(failurePause)
	if c := b.catalogs(t); c.Triggers != nil || c.Vehicles != nil || len(c.Statuses) != 2 {
		t.Errorf("catalogs are %v", c)
	}
	if c := b.catalogs(t); len(c.Triggers) != 2 || len(c.Vehicles) != 3 {
		t.Errorf("catalogs are %v", c)
	}
	b.expectCalls(t, map[string]int{pathTriggers: 2, pathStatuses: 1, pathVehicles: 2, pathDetails: 1})
}

func TestCatalogsInvalid(t *testing.T) {
	for name, body := range map[string]string{
		"fail/HTML":        "<html>",
		"fail/truncated":   `[{"id":1,"name":"x"}`,
		"fail/not UTF-8":   "[{\"id\":1,\"name\":\"\xff\"}]",
		"fail/deep":        strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"fail/other shape": `{"message":"soon"}`,
		"fail/number":      `7`,
		"fail/empty":       ``,
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			s.failing(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }, catalogPaths...)
			b := newBench(t, s)
			if c := b.catalogs(t); c.Triggers != nil || c.Statuses != nil || c.Vehicles != nil {
				t.Errorf("catalogs are %v", c)
			}
		})
	}
}

func TestCatalogsEmpty(t *testing.T) {
	s := newService(t)
	s.failing(status(http.StatusNoContent), catalogPaths...)
	c := newBench(t, s).catalogs(t)
	if c.Triggers == nil || c.Statuses == nil || c.Vehicles == nil || c.DetailsMissing {
		t.Errorf("empty catalogs are not missing: %v", c)
	}
}

func TestDetails(t *testing.T) {
	for _, tc := range []struct {
		name      string
		answer    http.HandlerFunc
		missing   bool
		callsSoon int // after 31 s
	}{
		{"ok/none", status(http.StatusNoContent), false, 1},
		{"ok/forbidden", status(http.StatusForbidden), false, 1},
		{"ok/not found", status(http.StatusNotFound), false, 1},
		{"ok/unauthorized", status(http.StatusUnauthorized), false, 2},
		{"fail/500", status(http.StatusInternalServerError), true, 2},
		{"fail/400", status(http.StatusBadRequest), true, 2},
		{"fail/429", status(http.StatusTooManyRequests), true, 2},
		{"fail/not JSON", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }, true, 2},
		{"fail/cut off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"vehicles":[`)
		}, true, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newService(t)
			s.failing(tc.answer, pathDetails)
			b := newBench(t, s)
			for range 2 {
				c := b.catalogs(t)
				if c.DetailsMissing != tc.missing {
					t.Errorf("details missing is %v", c.DetailsMissing)
				}
				if v := string(c.Vehicles[vehicleID(1)]); v != `{"dcVehicleId":"`+vehicleID(1)+`","name":"UNIT-1"}` {
					t.Errorf("the vehicle is %s", v)
				}
			}
			if n := s.count(pathDetails); n != 1 {
				t.Errorf("%d calls for details, want 1", n)
			}
			b.pass(31 * time.Second)
			b.catalogs(t)
			if n := s.count(pathDetails); n != tc.callsSoon {
				t.Errorf("%d calls for details after a while, want %d", n, tc.callsSoon)
			}
			if n := s.count(pathVehicles); n != 1 {
				t.Errorf("%d calls for vehicles: they do not depend on the details", n)
			}
		})
	}
}

// What arrived before a refusal are not all of the details.
func TestDetailsRefusedMidway(t *testing.T) {
	for _, code := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound} {
		t.Run("fail/"+http.StatusText(code), func(t *testing.T) {
			s := newService(t)
			s.failing(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("page") != "1" {
					w.WriteHeader(code)
					return
				}
				_, _ = io.WriteString(w, `{"vehicles":[{"id":"`+vehicleID(1)+`","vin":"1FUJGLDR"}],"totalResults":3}`)
			}, pathDetails)
			b := newBench(t, s)
			c := b.catalogs(t)
			if !c.DetailsMissing || strings.Contains(string(c.Vehicles[vehicleID(1)]), "vin") {
				t.Errorf("details missing is %v, the vehicle is %s", c.DetailsMissing, c.Vehicles[vehicleID(1)])
			}

			s.failing(nil)
			b.pass(failurePause)
			b.catalogs(t)
			if c := b.catalogs(t); c.DetailsMissing || !strings.Contains(string(c.Vehicles[vehicleID(3)]), "54DC") {
				t.Errorf("details missing is %v, the vehicle is %s", c.DetailsMissing, c.Vehicles[vehicleID(3)])
			}
		})
	}
}

func TestCatalogsKeyRefused(t *testing.T) {
	s := newService(t)
	b := newBench(t, s)
	s.failing(status(http.StatusUnauthorized), catalogPaths...)
	for range 2 {
		if c := b.catalogs(t); c.Triggers != nil || c.Statuses != nil || c.Vehicles != nil {
			t.Errorf("catalogs are %v", c)
		}
	}
	b.expectCalls(t, map[string]int{pathTriggers: 2, pathStatuses: 2, pathVehicles: 2, pathDetails: 1})
	if strings.Contains(b.logs.String(), `"level":"warn"`) {
		t.Errorf("a bad key is the caller's affair: %s", b.logs)
	}

	s.failing(nil)
	if c := b.catalogs(t); c.Triggers == nil || c.Statuses == nil || c.Vehicles == nil {
		t.Errorf("the refusal was remembered: %v", c)
	}

	// A key that is withdrawn loses what it had fetched.
	s.failing(status(http.StatusUnauthorized), catalogPaths...)
	b.pass(2 * time.Hour)
	b.catalogs(t)
	if c := b.catalogs(t); c.Triggers != nil || c.Statuses != nil || c.Vehicles != nil {
		t.Errorf("a withdrawn key was given %v", c)
	}
}

var _ otter.Loader[cacheKey, *table] = loader{}

// A panic in a background fetch is a failure of that catalog and not of the process.
func TestCatalogsPanic(t *testing.T) {
	b := newBench(t, newService(t))
	l := loader{b.Provider, goodKey}
	defer b.lifetime.wait()()
	b.Client = outbound.Client{} // without Setup, it panics
	for k := range kinds {
		failed, err := l.Load(t.Context(), cacheKey{k, "owner"})
		if err != nil || !failed.failed {
			t.Errorf("%s: table %+v, %v", k, failed, err)
		}
		if want := `"call":"` + k.String() + `"`; !strings.Contains(b.logs.String(), want) {
			t.Errorf("the log lacks %s:\n%s", want, b.logs)
		}
	}
}
