package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// modules are all that the binary adds to Caddy.
var modules = []string{
	"gateway",
	"gateway.accounting.quickbooks",
	"gateway.fuel.quikq",
	"gateway.maintenance.fleetrock",
	"gateway.maps.mapbox",
	"gateway.store.sqlite",
	"gateway.telematics.lytx",
	"http.handlers.gateway_accounting",
	"http.handlers.gateway_auth",
	"http.handlers.gateway_fuel",
	"http.handlers.gateway_health",
	"http.handlers.gateway_maintenance",
	"http.handlers.gateway_maps",
	"http.handlers.gateway_sandbox",
	"http.handlers.gateway_telematics",
}

// TestCommands runs the commands that the binary has from Caddy.
func TestCommands(t *testing.T) {
	t.Parallel()
	g := newGateway(t, &fleetgate, simulated, sandboxAddress(t))

	t.Run("ok/list-modules", func(t *testing.T) {
		r := g.run(t, "list-modules")
		listed := strings.Split(r.stdout, "\n")
		for _, module := range append(modules, "http.handlers.reverse_proxy") {
			if !slices.Contains(listed, module) {
				t.Errorf("%s is not compiled in", module)
			}
		}
		if r.code != 0 {
			t.Errorf("exit code %d, stderr %s", r.code, r.stderr)
		}
	})
	t.Run("ok/adapt", func(t *testing.T) {
		r := g.run(t, "adapt", "--config", g.config)
		if r.code != 0 || !json.Valid([]byte(r.stdout)) || !strings.Contains(r.stdout, `"gateway_telematics"`) {
			t.Errorf("exit code %d, stdout %.300s, stderr %s", r.code, r.stdout, r.stderr)
		}
	})
	t.Run("ok/validate", func(t *testing.T) {
		if r := g.run(t, "validate", "--config", g.config); r.code != 0 {
			t.Errorf("exit code %d, stderr %s", r.code, r.stderr)
		}
		if _, err := os.Stat(g.data()); err == nil {
			t.Error("validate has made the folder of the store")
		}
	})
	t.Run("fail/validate says where", func(t *testing.T) {
		file := filepath.Join(g.dir, "wrong.caddyfile")
		if err := os.WriteFile(file, []byte(strings.Replace(simulated, "provider lytx {", "provider lytx {\n\t\t\tfrobnicate", 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		r := g.run(t, "validate", "--config", file)
		if r.code == 0 || !strings.Contains(r.stderr, "frobnicate") || !strings.Contains(r.stderr, "base_url") || !strings.Contains(r.stderr, "wrong.caddyfile:") {
			t.Errorf("exit code %d, stderr %s; want a failure that names the file, the option and what is allowed", r.code, r.stderr)
		}
	})
	t.Run("ok/shipped Caddyfiles are formatted", func(t *testing.T) {
		// Else Caddy tells users at each start to have them formatted.
		files, err := filepath.Glob("../caddyfiles/*/*")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range append(files, "../caddyfiles/Caddyfile") {
			file, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			if r := g.run(t, "fmt", "--diff", file); r.code != 0 {
				t.Errorf("%s is not: %s", file, r.stderr)
			}
		}
	})
	t.Run("ok/shipped sandbox without variables", func(t *testing.T) {
		file, err := filepath.Abs("../caddyfiles/sandbox/Caddyfile")
		if err != nil {
			t.Fatal(err)
		}
		bare := *g
		bare.env = []string{"HOME=" + g.dir, raceOptions}
		r := bare.run(t, "adapt", "--config", file)
		for _, want := range []string{`"listen":[":8443"]`, `"listen":["127.0.0.1:8450"]`} {
			if !strings.Contains(r.stdout, want) {
				t.Errorf("the adapted configuration has no %s", want)
			}
		}
	})
	t.Run("ok/shipped Caddyfile beside a live server", func(t *testing.T) {
		testShippedConfig(t, g)
	})
}

func testShippedConfig(t *testing.T, g *gateway) {
	file, err := filepath.Abs("../caddyfiles/Caddyfile")
	if err != nil {
		t.Fatal(err)
	}
	other := *g
	other.env = append(slices.Clone(g.env),
		"FLEETGATE_SITE=gateway.example.com",
		"LYTX_URL=https://lytx.example.com",
		"LYTX_ENV_URL=https://lytx.example.com",
		"MAPBOX_TOKEN=none",
	)
	r := other.run(t, "adapt", "--config", file)
	for _, want := range []string{`"public_url":"https://gateway.example.com/api"`, `"public_url":"https://localhost:8444/api"`} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("the adapted configuration has no %s", want)
		}
	}

	g.start(t)
	g.open(t)
	for range 2 {
		if r := other.run(t, "validate", "--config", file); r.code != 0 {
			t.Errorf("exit code %d, stderr %s", r.code, r.stderr)
		}
		if got := g.status(t, g.token); got != admitted {
			t.Errorf("status %d of the live server, want %d", got, admitted)
		}
	}
	if got := g.status(t, g.manage(t, "token", "issue", "--account", "test")); got != admitted {
		t.Errorf("status %d for a new token, want %d", got, admitted)
	}
}

// gate is an upstream that holds back the events until it is opened.
type gate struct {
	arrived chan struct{}
	opened  chan struct{}
}

func newGate() *gate {
	return &gate{arrived: make(chan struct{}, 1000), opened: make(chan struct{})}
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/eventsWithMetadata") {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	g.arrived <- struct{}{}
	select {
	case <-g.opened:
	case <-r.Context().Done():
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`[{"id":"1","recordDateUTC":"2026-02-01T00:00:00Z"}]`))
}

// await waits until so many calls were held back.
func (g *gate) await(tb testing.TB, calls int) {
	tb.Helper()
	timeout := time.After(startTimeout)
	for i := range calls {
		select {
		case <-g.arrived:
		case <-timeout:
			tb.Fatalf("%d of %d calls reached the provider", i, calls)
		}
	}
}

// inFlight makes calls, half of them with HTTP/1.1, that wait at the gate, and
// returns a function that awaits their success.
func (g *gateway) inFlight(tb testing.TB, at *gate, calls int) func() {
	tb.Helper()
	roots, err := g.roots()
	if err != nil {
		tb.Fatal(err)
	}
	clients := [2]*http.Client{newClient(roots), newClient(roots)}
	clients[1].Transport.(*http.Transport).ForceAttemptHTTP2 = false
	for _, c := range clients {
		tb.Cleanup(c.CloseIdleConnections)
	}
	results := make(chan error, calls)
	for i := range calls {
		one := *g
		one.client = clients[i%2]
		go func() {
			a, err := one.try(tb.Context(), request{path: eventsPath, header: goodHeaders()})
			if err == nil && (a.status != http.StatusOK || !strings.Contains(a.body, `"data":[{"id":"1"`)) {
				err = fmt.Errorf("status %d, body %s", a.status, a.body)
			}
			results <- err
		}()
	}
	at.await(tb, calls)
	return func() {
		tb.Helper()
		for range calls {
			if err := <-results; err != nil {
				tb.Errorf("a request in flight failed: %v", err)
			}
		}
	}
}

// held is a configuration whose events come from a gate.
const held = globals + areas + `{$FLEETGATE_SITE} {
	header X-Revision 1
	gateway_health
	handle_path /api/* {
		import areas {$GATE}
	}
}
`

// revision returns which configuration answers a new connection.
func (g *gateway) revision(tb testing.TB) string {
	tb.Helper()
	g.client.CloseIdleConnections()
	a := g.do(tb, request{path: "/readyz", token: noToken})
	if a.status != http.StatusOK {
		tb.Errorf("/readyz answers %d", a.status)
	}
	return a.header.Get("X-Revision")
}

func (g *gateway) reload(tb testing.TB) result {
	tb.Helper()
	return g.run(tb, "reload", "--config", g.config, "--address", g.admin())
}

func TestReload(t *testing.T) {
	t.Parallel()
	const calls = 50
	at := newGate()
	g := newGateway(t, &fleetgate, held, "GATE="+upstream(t, at))
	g.start(t)
	g.open(t)
	awaitCalls := g.inFlight(t, at, calls)

	changed := strings.Replace(held, "X-Revision 1", "X-Revision 2", 1)
	t.Run("ok/changed", func(t *testing.T) {
		g.configure(t, changed)
		if r := g.reload(t); r.code != 0 {
			t.Fatalf("exit code %d, stderr %s", r.code, r.stderr)
		}
		if got := g.revision(t); got != "2" {
			t.Errorf("revision %q answers, want 2", got)
		}
		if got := g.status(t, g.token); got != admitted {
			t.Errorf("status %d after the reload, want %d", got, admitted)
		}
	})

	next := strings.Replace(held, "X-Revision 1", "X-Revision 3", 1)
	for name, wrong := range map[string]string{
		"that does not parse":          strings.Replace(next, "gateway_health", "gateway_frobnicate", 1),
		"whose provider is wrong":      strings.Replace(next, "base_url {args[0]}/fleetrock", "base_url ftp://127.0.0.1", 1),
		"whose variable is missing":    strings.Replace(next, "base_url {args[0]}/lytx", "base_url {env.MISSING_FOR_TEST}", 1),
		"whose store cannot open":      strings.Replace(next, "{$FLEETGATE_DATA}/fleetgate.db", g.dir, 1),
		"whose certificate is missing": strings.Replace(next, "header X-Revision 3", "tls /missing.pem /missing.key", 1),
	} {
		t.Run("fail/one "+name, func(t *testing.T) {
			g.configure(t, wrong)
			if r := g.reload(t); r.code == 0 || r.stderr == "" {
				t.Errorf("exit code %d, stderr %q; want a failure and its reason", r.code, r.stderr)
			}
			if got := g.revision(t); got != "2" {
				t.Errorf("revision %q answers, want 2 still", got)
			}
			if got := g.status(t, g.token); got != admitted {
				t.Errorf("status %d after the rejected reload, want %d", got, admitted)
			}
			g.configure(t, changed)
			if got := g.status(t, g.manage(t, "token", "issue", "--account", "test")); got != admitted {
				t.Errorf("status %d for a token that was issued after the rejected reload, want %d", got, admitted)
			}
		})
	}

	t.Run("ok/requests in flight", func(t *testing.T) {
		close(at.opened)
		awaitCalls()
	})

	t.Run("ok/another store and back", func(t *testing.T) {
		g.configure(t, strings.Replace(changed, "/fleetgate.db", "/other.db", 1))
		if r := g.reload(t); r.code != 0 {
			t.Fatalf("exit code %d, stderr %s", r.code, r.stderr)
		}
		g.revision(t)
		if got := g.status(t, g.token); got != refused {
			t.Errorf("status %d for a token of the first store, want %d", got, refused)
		}
		g.manage(t, "account", "create", "test")
		other := g.manage(t, "token", "issue", "--account", "test")
		if got := g.status(t, other); got != admitted {
			t.Errorf("status %d for a token of the second store, want %d", got, admitted)
		}

		g.configure(t, changed)
		if r := g.reload(t); r.code != 0 {
			t.Fatalf("exit code %d, stderr %s", r.code, r.stderr)
		}
		g.revision(t)
		if first, second := g.status(t, g.token), g.status(t, other); first != admitted || second != refused {
			t.Errorf("status %d and %d for tokens of the first and the second store, want %d and %d", first, second, admitted, refused)
		}
	})
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	const calls = 20
	at := newGate()
	g := newGateway(t, &fleetgate, held, "GATE="+upstream(t, at))
	g.start(t)
	g.open(t)
	awaitCalls := g.inFlight(t, at, calls)

	g.process.signal(t, syscall.SIGTERM)
	eventually(t, stopTimeout, func() error {
		if conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", g.site); err == nil {
			conn.Close()
			return errors.New("connections are still accepted")
		}
		return nil
	})
	if g.process.over() {
		t.Fatal("the process ended before its requests")
	}
	close(at.opened)
	awaitCalls()
	g.process.wait(t)
}
