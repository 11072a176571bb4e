package areatest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/gateway"
)

// Fake is a provider that counts how often it was asked.
type Fake interface {
	Calls() int
}

// NoCalls is the fake of an area whose provider is never asked.
type NoCalls struct{}

// Calls returns 0.
func (NoCalls) Calls() int { return 0 }

// Suite runs scenarios against the area handler H with the fake provider F.
type Suite[H caddyhttp.MiddlewareHandler, F Fake] struct {
	// Config is the handler's configuration in JSON. It names the fake provider.
	Config string

	// Module is the ID of the handler's module.
	Module string

	// Open gives the loaded handler a logger and returns its provider.
	Open func(H, *zap.Logger) F

	// Members are the members of an error body in their order, for areas that have a
	// shape of their own. Default: those of the common envelope.
	Members []string
}

// Run runs each scenario on a handler of its own.
func (s *Suite[H, F]) Run(t *testing.T, scenarios []Scenario[F]) {
	t.Helper()
	for _, sc := range scenarios {
		t.Run(sc.Name, func(t *testing.T) {
			h, fake, logs := s.Load(t)
			if sc.Provider != nil {
				sc.Provider(fake)
			}
			rec := s.serve(t, h, sc)
			for _, problem := range s.problems(sc, rec) {
				t.Error(problem)
			}
			if got := fake.Calls(); got != sc.WantCalls {
				t.Errorf("provider was asked %d times, want %d", got, sc.WantCalls)
			}
			if sc.Check != nil {
				if err := sc.Check(fake); err != nil {
					t.Error(err)
				}
			}
			for _, line := range logs() {
				if strings.Contains(line, Secret) {
					t.Errorf("a log line shows a secret: %s", line)
				}
			}
			if t.Failed() {
				t.Logf("answer: %d %v\n%s", rec.Code, rec.Header(), rec.Body)
			}
		})
	}
}

// Load loads the handler with its fake provider as Caddy does. logs returns the lines
// that the handler has logged so far, as JSON.
func (s *Suite[H, F]) Load(tb testing.TB) (h H, fake F, logs func() []string) {
	tb.Helper()
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	tb.Cleanup(cancel)
	mod, err := ctx.LoadModuleByID(s.Module, []byte(s.Config))
	if err != nil {
		tb.Fatalf("loading %s: %v", s.Module, err)
	}
	h, ok := mod.(H)
	if !ok {
		tb.Fatalf("%s is a %T", s.Module, mod)
	}
	core, observed := observer.New(zapcore.DebugLevel)
	return h, s.Open(h, zap.New(core)), func() []string { return lines(observed.All()) }
}

// Serve sends the request of a scenario to a handler that was loaded before, without a
// look at what the scenario wants. broken are the rules of every answer that the answer
// does not keep.
func (s *Suite[H, F]) Serve(tb testing.TB, h H, sc Scenario[F]) (rec *httptest.ResponseRecorder, broken []string) {
	tb.Helper()
	rec = s.serve(tb, h, sc)
	return rec, s.broken(rec)
}

func lines(entries []observer.LoggedEntry) []string {
	enc := zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig())
	out := make([]string, 0, len(entries))
	for _, e := range entries {
		buf, err := enc.EncodeEntry(e.Entry, e.Context)
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		out = append(out, buf.String())
	}
	return out
}

func (s *Suite[H, F]) serve(tb testing.TB, h H, sc Scenario[F]) *httptest.ResponseRecorder {
	tb.Helper()
	rec := httptest.NewRecorder()
	next := caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
		tb.Error("the next handler was called")
		return nil
	})
	if err := h.ServeHTTP(rec, newRequest(tb, sc, rec), next); err != nil {
		tb.Errorf("ServeHTTP returned %v; an area answers by itself", err)
	}
	return rec
}

// newRequest builds the request as the server would hand it to the handler. The target
// is not checked the way [httptest.NewRequest] does, because servers accept more.
func newRequest[F any](tb testing.TB, sc Scenario[F], w http.ResponseWriter) *http.Request {
	tb.Helper()
	method := sc.Method
	if method == "" {
		method = http.MethodGet
	}
	r := httptest.NewRequestWithContext(tb.Context(), method, "/", strings.NewReader(sc.Body))
	target, err := url.ParseRequestURI(sc.Target)
	if err != nil {
		tb.Fatalf("target: %v", err)
	}
	r.URL, r.RequestURI = target, sc.Target
	if sc.Header != nil {
		r.Header = sc.Header.Clone()
	}
	if sc.Verdict != nil {
		r = r.WithContext(gateway.WithVerdict(r.Context(), sc.Verdict))
	}
	return caddyhttp.PrepareRequest(r, caddy.NewReplacer(), w, nil)
}
