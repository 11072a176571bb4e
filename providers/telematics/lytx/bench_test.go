package lytx

import (
	"bytes"
	"maps"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

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
