package health_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	"github.com/fleetgate/fleetgate/modules/gateway"
	"github.com/fleetgate/fleetgate/modules/health"
	_ "github.com/fleetgate/fleetgate/modules/store/sqlite"
)

// newHandler returns a handler, its app, which is not started, and the path of
// the app's store.
func newHandler(t *testing.T) (*health.Handler, *gateway.App, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	ctx, err := caddy.ProvisionContext(&caddy.Config{
		Admin:   &caddy.AdminConfig{Disabled: true},
		Logging: &caddy.Logging{Logs: map[string]*caddy.CustomLog{"default": {BaseLog: caddy.BaseLog{WriterRaw: []byte(`{"output":"discard"}`)}}}},
		AppsRaw: caddy.ModuleMap{"gateway": caddyconfig.JSON(map[string]any{
			"store": map[string]string{"backend": "sqlite", "path": path},
		}, nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	module, err := ctx.AppIfConfigured("gateway")
	if err != nil {
		t.Fatal(err)
	}
	app := module.(*gateway.App)
	t.Cleanup(func() {
		if err := errors.Join(app.Stop(), app.Cleanup()); err != nil {
			t.Error(err)
		}
	})
	h := new(health.Handler)
	if err := h.Provision(ctx); err != nil {
		t.Fatal(err)
	}
	return h, app, path
}

// serve sends a request through h; what h passes on gets 200 "next".
func serve(t *testing.T, h *health.Handler, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	r := caddyhttp.PrepareRequest(httptest.NewRequest(method, target, nil), caddy.NewReplacer(), w, nil)
	err := h.ServeHTTP(w, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		_, err := io.WriteString(w, "next")
		return err
	}))
	if err != nil {
		t.Errorf("%s %s: %v", method, target, err)
	}
	return w
}

func TestHandler(t *testing.T) {
	h, app, path := newHandler(t)
	const (
		ok          = `{"status":"ok"}`
		ready       = `{"status":"ready"}`
		unavailable = `{"status":"unavailable","reason":"store"}`
		wrongMethod = `{"status":"method_not_allowed"}`
	)
	type row struct {
		name, method, target string
		status               int
		body                 string
	}
	run := func(when string, rows ...row) {
		for _, tt := range rows {
			t.Run(tt.name+", "+when, func(t *testing.T) {
				w := serve(t, h, tt.method, tt.target)
				if w.Code != tt.status || w.Body.String() != tt.body {
					t.Errorf("%d %q, want %d %q", w.Code, w.Body, tt.status, tt.body)
				}
				header := w.Header()
				if tt.body == "next" {
					if len(header) != 1 { // the recorder's own Content-Type
						t.Errorf("header of a request passed on: %v", header)
					}
					return
				}
				if header.Get("Content-Type") != "application/json" || header.Get("Cache-Control") != "no-store" {
					t.Errorf("header %v", header)
				}
				if got := header.Get("Retry-After") != ""; got != (tt.status == http.StatusServiceUnavailable) {
					t.Errorf("status %d with Retry-After %q", tt.status, header.Get("Retry-After"))
				}
				if got := header.Get("Allow") == "GET, HEAD"; got != (tt.status == http.StatusMethodNotAllowed) {
					t.Errorf("status %d with Allow %q", tt.status, header.Get("Allow"))
				}
			})
		}
	}

	run("before the start",
		row{"ok/healthz", http.MethodGet, "/healthz", 200, ok},
		row{"fail/readyz", http.MethodGet, "/readyz", 503, unavailable},
	)
	if err := app.Start(); err != nil {
		t.Fatal(err)
	}
	run("started",
		row{"ok/healthz", http.MethodGet, "/healthz", 200, ok},
		row{"ok/readyz", http.MethodGet, "/readyz", 200, ready},
		row{"ok/trailing slash", http.MethodGet, "/readyz/", 200, ready},
		row{"ok/HEAD of healthz", http.MethodHead, "/healthz", 200, ok}, // the server drops the body
		row{"ok/HEAD of readyz", http.MethodHead, "/readyz", 200, ready},
		row{"ok/query", http.MethodGet, "/readyz?verbose=1", 200, ready},
		row{"fail/POST", http.MethodPost, "/healthz", 405, wrongMethod},
		row{"fail/OPTIONS", http.MethodOptions, "/readyz", 405, wrongMethod},
		row{"ok/other path", http.MethodGet, "/", 200, "next"},
		row{"ok/other case", http.MethodGet, "/Healthz", 200, "next"},
		row{"ok/below", http.MethodGet, "/healthz/x", 200, "next"},
		row{"ok/two trailing slashes", http.MethodGet, "/readyz//", 200, "next"},
		row{"ok/two slashes", http.MethodGet, "//readyz", 200, "next"},
		row{"ok/POST elsewhere", http.MethodPost, "/x", 200, "next"},
	)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	run("store gone",
		row{"ok/healthz", http.MethodGet, "/healthz", 200, ok},
		row{"fail/readyz", http.MethodGet, "/readyz", 503, unavailable},
	)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	run("store back", row{"ok/readyz", http.MethodGet, "/readyz", 200, ready})
}

// failingWriter is the connection of a caller who is gone.
type failingWriter struct{ http.ResponseWriter }

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

func TestCallerGone(t *testing.T) {
	h, _, _ := newHandler(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		w := failingWriter{httptest.NewRecorder()}
		r := caddyhttp.PrepareRequest(httptest.NewRequest(http.MethodGet, path, nil), caddy.NewReplacer(), w, nil)
		if err := h.ServeHTTP(w, r, nil); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestShutdown runs a whole server, because only Caddy can shut one down.
func TestShutdown(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt(fmt.Appendf(nil, `{
	admin off
	persist_config off
	auto_https off
	shutdown_delay 2s
	log {
		level ERROR
	}
	gateway {
		store sqlite %[1]s/store.db
	}
}

http://%[2]s {
	header X-Site %[1]s
	gateway_health
}
`, dir, address), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		t.Fatal(err)
	}
	if err := caddy.Load(config, true); err != nil {
		t.Fatal(err)
	}
	stop := sync.OnceValue(caddy.Stop)
	defer stop()

	defer http.DefaultClient.CloseIdleConnections()
	get := func(path string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if response.Header.Get("X-Site") != dir {
			t.Fatalf("another process answers on %s too", address)
		}
		return response.StatusCode, string(body)
	}
	if status, body := get("/readyz"); status != http.StatusOK {
		t.Fatalf("before: %d %s", status, body)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- stop() }()
	for { // ends at the latest with the server, when get fails
		status, body := get("/readyz")
		if status == http.StatusOK {
			continue
		}
		if status != http.StatusServiceUnavailable || body != `{"status":"unavailable","reason":"shutdown"}` {
			t.Errorf("shutting down: %d %s", status, body)
		}
		break
	}
	if status, _ := get("/healthz"); status != http.StatusOK {
		t.Errorf("/healthz: %d while shutting down", status)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestProvision(t *testing.T) {
	ctx, err := caddy.ProvisionContext(&caddy.Config{Admin: &caddy.AdminConfig{Disabled: true}})
	if err != nil {
		t.Fatal(err)
	}
	if err := new(health.Handler).Provision(ctx); err == nil || !strings.Contains(err.Error(), "gateway_health needs the global option 'gateway'") {
		t.Errorf("error %v", err)
	}
}

func TestCaddyfile(t *testing.T) {
	adapt := func(text string) (string, error) {
		config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
		return string(config), err
	}
	t.Run("ok/ahead of the routes", func(t *testing.T) {
		config, err := adapt(":80 {\n\thandle_path /api/* {\n\t\terror 418\n\t}\n\tgateway_health\n}\n")
		health, route := strings.Index(config, `{"handler":"gateway_health"}`), strings.Index(config, `"error"`)
		if err != nil || health < 0 || health > route {
			t.Errorf("%s, %v", config, err)
		}
	})
	for name, row := range map[string]struct{ text, want string }{
		"argument": {":80 {\n\tgateway_health here\n}\n", "unexpected argument 'here': gateway_health takes none, at Caddyfile:2"},
		"block":    {":80 {\n\tgateway_health {\n\t\tpath /x\n\t}\n}\n", "unrecognized subdirective 'path': gateway_health has none, at Caddyfile:3"},
	} {
		t.Run("fail/"+name, func(t *testing.T) {
			if _, err := adapt(row.text); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}
