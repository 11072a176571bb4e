package fleetgate_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// operations are the sixteen of contract part 4, and the body of a caller without a
// token, by which the area that answers is known.
var operations = []struct{ method, path, body string }{
	{"GET", "/accounting/accounts/", refusal},
	{"GET", "/accounting/accounts/17/", refusal},
	{"GET", "/accounting/purchases/", refusal},
	{"GET", "/accounting/purchases/17/", refusal},
	{"POST", "/accounting/purchases/", refusal},
	{"PUT", "/accounting/purchases/update", refusal},
	{"GET", "/accounting/vendors/", refusal},
	{"GET", "/accounting/vendors/17/", refusal},
	{"POST", "/accounting/vendors/", refusal},
	{"PUT", "/accounting/vendors/update", refusal},
	{"POST", "/maps", refusalMaps},
	{"POST", "/mapsPointers/data-load", refusalMaps},
	{"GET", "/maps/geocoding", refusalMaps},
	{"GET", "/telematics/driver-performance-events/", refusal},
	{"GET", "/fuel/reports/transactions", refusal},
	{"GET", "/maintenance/repair-orders", refusal},
}

const (
	refusal     = `{"status":"Error","message":"Unauthenticated","data":null}`
	refusalMaps = `{"erro":true,"msg":"Unauthenticated"}`
	unknown     = `{"status":"Error","message":"Not Found","data":null}`
)

// shipped adapts the production Caddyfile.
func shipped(t *testing.T) []byte {
	t.Helper()
	const file = "caddyfiles/Caddyfile"
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	config, warnings, err := adapt(source, file)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range warnings {
		t.Errorf("warning: %s", w)
	}
	return config
}

// TestShippedCaddyfile validates the production file with the three settings that it
// cannot do without, and asks each of its sites for all operations.
func TestShippedCaddyfile(t *testing.T) {
	for _, tc := range []struct {
		name  string
		sites [2]string
		set   map[string]string
	}{
		{"ok/local sites", [2]string{"localhost:8443", "localhost:8444"}, nil},
		{"ok/public sites", [2]string{"gateway.example.com", "gateway-env.example.com"}, map[string]string{
			"FLEETGATE_SITE": "gateway.example.com", "FLEETGATE_ENV_SITE": "gateway-env.example.com",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			storage := setEnvironment(t)
			for name, value := range tc.set {
				t.Setenv(name, value)
			}
			data := filepath.Join(t.TempDir(), "data")
			t.Setenv("FLEETGATE_DATA", data)

			config := shipped(t)
			if bytes.Contains(config, []byte(environment["MAPBOX_TOKEN"])) {
				t.Error("the configuration holds a secret in plain text")
			}
			if err := validate(config); err != nil {
				t.Fatalf("validate: %v", err)
			}
			if _, err := os.Stat(data); !os.IsNotExist(err) {
				t.Errorf("validating made %s: %v", data, err)
			}
			if entries, err := os.ReadDir(storage); tc.set != nil && (err != nil || len(entries) > 0) {
				t.Errorf("validating made %v, %v", entries, err)
			}

			withServers(t, config, func(servers []*caddyhttp.Server) {
				for _, site := range tc.sites {
					askAll(t, servers, site)
				}
			})
		})
	}
	t.Run("fail/nothing set", func(t *testing.T) {
		setEnvironment(t)
		t.Setenv("LYTX_URL", "")
		err := validate(shipped(t))
		if err == nil || !strings.Contains(err.Error(), "base_url") || !strings.Contains(err.Error(), "LYTX_URL") {
			t.Errorf("validate: %v", err)
		}
	})
}

// probe is an app that looks at the HTTP servers of a configuration while it is being
// validated, so that Caddy cleans up behind it.
type probe struct{}

// probed is what the next probe does with the servers; they have no sockets.
var probed func([]*caddyhttp.Server)

func init() {
	caddy.RegisterModule(probe{})
}

func (probe) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "probe", New: func() caddy.Module { return new(probe) }}
}

func (probe) Provision(ctx caddy.Context) error {
	app, err := ctx.App("http")
	if err != nil {
		return err
	}
	probed(slices.Collect(maps.Values(app.(*caddyhttp.App).Servers)))
	return nil
}

func (probe) Start() error { return nil }
func (probe) Stop() error  { return nil }

// withServers calls f with the HTTP servers of a configuration.
func withServers(t *testing.T, config []byte, f func([]*caddyhttp.Server)) {
	t.Helper()
	cfg := new(caddy.Config)
	if err := json.Unmarshal(config, cfg); err != nil {
		t.Fatal(err)
	}
	cfg.AppsRaw["probe"] = json.RawMessage("{}")
	called := false
	probed = func(servers []*caddyhttp.Server) {
		called = true
		f(servers)
	}
	if err := caddy.Validate(cfg); err != nil || !called {
		t.Fatalf("validate: %v; probed: %t", err, called)
	}
}

// askAll asks the server of a site for each operation, without a token.
func askAll(t *testing.T, servers []*caddyhttp.Server, site string) {
	t.Helper()
	i := slices.IndexFunc(servers, func(s *caddyhttp.Server) bool { return serves(s, site) })
	if i < 0 {
		t.Fatalf("no server for %s", site)
	}
	ask := func(method, path string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "https://"+site+path, http.NoBody)
		rec := httptest.NewRecorder()
		servers[i].ServeHTTP(rec, r)
		return rec
	}
	for _, op := range operations {
		if rec := ask(op.method, "/api"+op.path); rec.Code != http.StatusUnauthorized || rec.Body.String() != op.body {
			t.Errorf("%s %s %s: %d %s", site, op.method, op.path, rec.Code, rec.Body)
		}
	}
	for _, path := range []string{"/api/unknown", "/api", "/api/", "/telematics/driver-performance-events", "/nope", "/"} {
		if rec := ask("GET", path); rec.Code != http.StatusNotFound || rec.Body.String() != unknown {
			t.Errorf("%s %s: %d %s", site, path, rec.Code, rec.Body)
		} else if code := rec.Header().Get("X-Error-Code"); code != "not_found" {
			t.Errorf("%s %s: X-Error-Code %q", site, path, code)
		}
	}
	if rec := ask("GET", "/healthz"); rec.Code != http.StatusOK {
		t.Errorf("%s /healthz: %d", site, rec.Code)
	}
}

// serves reports whether the server listens on the port of a site.
func serves(s *caddyhttp.Server, site string) bool {
	port := ":443"
	if i := strings.LastIndexByte(site, ':'); i >= 0 {
		port = site[i:]
	}
	return slices.Contains(s.Listen, port)
}
