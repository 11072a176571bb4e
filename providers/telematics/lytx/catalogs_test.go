package lytx

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/maypok86/otter/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/telematics"
)

const (
	pathTriggers = "/video/safety/events/triggers"
	pathStatuses = "/video/safety/events/statuses"
	pathVehicles = "/video/vehicles"
	pathDetails  = "/vehicles/all"
)

var catalogPaths = []string{pathTriggers, pathStatuses, pathVehicles, pathDetails}

// bench is a provider whose time and background work a test controls.
type bench struct {
	*Provider
	service *service
	logs    *bytes.Buffer

	mu   sync.Mutex
	time time.Time
	work sync.WaitGroup
}

func newBench(t *testing.T, s *service, options ...string) *bench {
	t.Helper()
	b := &bench{Provider: open(t, s, options...), service: s, logs: new(bytes.Buffer), time: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)}
	b.now = func() time.Time {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.time
	}
	b.cache = newCache(b.now, func(f func()) { b.work.Go(f) })
	b.logger = zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(zapcore.AddSync(b.logs)), zapcore.DebugLevel))
	return b
}

// pass lets time pass.
func (b *bench) pass(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.time = b.time.Add(d)
}

// catalogs asks for the catalogs and waits for what that begins in the background.
func (b *bench) catalogs(t *testing.T) telematics.Catalogs {
	t.Helper()
	c := b.Catalogs(t.Context(), good)
	b.work.Wait()
	return c
}

// expectCalls checks how many calls went to each catalog so far.
func (b *bench) expectCalls(t *testing.T, want map[string]int) {
	t.Helper()
	got := make(map[string]int)
	for _, path := range catalogPaths {
		if n := b.service.count(path); n > 0 {
			got[path] = n
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("calls are %v, want %v", got, want)
	}
}

func each(n int) map[string]int {
	return map[string]int{pathTriggers: n, pathStatuses: n, pathVehicles: n, pathDetails: n}
}

// failing answers calls to paths in place of the service.
func (s *service) failing(h http.HandlerFunc, paths ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if !slices.Contains(paths, r.URL.Path) {
			return false
		}
		h(w, r)
		return true
	}
}

func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

func expectTable(t *testing.T, name string, got map[string][]byte, want map[string]string) {
	t.Helper()
	texts := make(map[string]string)
	for id, v := range got {
		texts[id] = string(v)
	}
	if !maps.Equal(texts, want) {
		t.Errorf("%s are %v, want %v", name, texts, want)
	}
}

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

	// For a moment the failure stands, then the next caller tries again.
	b.catalogs(t)
	b.expectCalls(t, each(1))
	s.failing(nil)
	b.pass(failurePause)
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

var _ otter.Loader[cacheKey, *table] = loader{}
