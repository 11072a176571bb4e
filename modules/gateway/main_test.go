package gateway_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/fleetgate/fleetgate/modules/auth"
	"github.com/fleetgate/fleetgate/modules/gateway"
	_ "github.com/fleetgate/fleetgate/modules/health"
	_ "github.com/fleetgate/fleetgate/modules/store/sqlite"
)

// asCaddy makes the test binary be Caddy with the gateway's modules, so that
// tests can start other processes on the same files.
const asCaddy = "FLEETGATE_TEST_AS_CADDY"

func TestMain(m *testing.M) {
	if os.Getenv(asCaddy) != "" {
		caddycmd.Main()
		return
	}
	os.Exit(m.Run())
}

func init() {
	caddy.RegisterModule(testArea{})
	caddy.RegisterModule(testFailingApp{})
	httpcaddyfile.RegisterHandlerDirective("test_area", func(httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		return new(testArea), nil
	})
	httpcaddyfile.RegisterDirectiveOrder("test_area", httpcaddyfile.Before, "reverse_proxy")
}

// testArea stands for an area: 200 and the account's name for a caller with a
// token, 401 and the reason for any other. The path /wait makes it wait in
// between.
type testArea struct{}

// arrived and proceed belong to /wait.
var (
	arrived = make(chan struct{})
	proceed = make(chan struct{})
)

func (testArea) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "http.handlers.test_area", New: func() caddy.Module { return new(testArea) }}
}

func (testArea) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	if r.URL.Path == "/area/wait" {
		arrived <- struct{}{}
		select {
		case <-proceed:
		case <-r.Context().Done(): // the test gave up
		}
	}
	verdict := gateway.VerdictFrom(r.Context())
	if !verdict.Authenticated() {
		http.Error(w, verdict.Reason.String(), http.StatusUnauthorized)
		return nil
	}
	_, err := io.WriteString(w, verdict.Account)
	return err
}

// testFailingApp is an app that fails to start and so rejects a configuration all
// of whose modules were provisioned.
type testFailingApp struct{}

func (testFailingApp) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "test_failing", New: func() caddy.Module { return new(testFailingApp) }}
}

func (testFailingApp) Start() error { return errors.New("it never starts") }
func (testFailingApp) Stop() error  { return nil }

// site is a directory with a Caddyfile and a store, and the address of a server.
type site struct {
	t       *testing.T
	dir     string
	address string
	client  *http.Client
}

// newSite makes a directory for a site and picks a port.
func newSite(t *testing.T) *site {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // as in the store's identity
	if err != nil {
		t.Fatal(err)
	}
	// What Caddy keeps goes here too, in this process and in others.
	t.Setenv("XDG_DATA_HOME", filepath.Join(dir, "data"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(dir, "config"))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &site{t: t, dir: dir, address: l.Addr().String(), client: &http.Client{Transport: new(http.Transport)}}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.client.CloseIdleConnections)
	return s
}

// store returns the path of the store.
func (s *site) store() string { return filepath.Join(s.dir, "store.db") }

// identity returns the identity of the store.
func (s *site) identity() string { return "sqlite:" + s.store() }

// configure writes the Caddyfile, with these options of the gateway, and returns
// it in JSON.
func (s *site) configure(options string) []byte {
	s.t.Helper()
	text := fmt.Sprintf(`{
	admin off
	persist_config off
	log {
		level ERROR
	}
	auto_https off
	gateway {
		%s
	}
}

http://%s {
	header X-Site %s
	gateway_health
	handle_path /api/* {
		gateway_auth
		test_area /area/*
	}
}
`, options, s.address, s.dir)
	if err := os.WriteFile(s.caddyfile(), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		s.t.Fatal(err)
	}
	return config
}

// caddyfile returns the path of the Caddyfile.
func (s *site) caddyfile() string { return filepath.Join(s.dir, "Caddyfile") }

// load loads a configuration and fails the test when it is rejected.
func (s *site) load(config []byte) {
	s.t.Helper()
	if err := caddy.Load(config, true); err != nil {
		s.t.Fatal(err)
	}
}

// serve loads a configuration and stops the server when the test ends.
func (s *site) serve(config []byte) {
	s.t.Helper()
	s.load(config)
	s.t.Cleanup(func() {
		if err := caddy.Stop(); err != nil {
			s.t.Error(err)
		}
	})
}

// get returns the answer to a request: its status and body.
func (s *site) get(path, token string) string {
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, "http://"+s.address+path, nil)
	if err != nil {
		return err.Error()
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w, err := s.client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer w.Body.Close()
	if w.Header.Get("X-Site") != s.dir {
		// Caddy shares an address with others that share it; somebody took the port.
		return "another process answers on " + s.address
	}
	body, err := io.ReadAll(w.Body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", w.StatusCode, bytes.TrimSpace(body))
}

// hold sends a request that is held up behind gateway_auth, and returns when it
// got there. finish lets it go on and fails the test unless it gets that answer.
func (s *site) hold(token string) (finish func(want string)) {
	s.t.Helper()
	answer := make(chan string, 1)
	go func() { answer <- s.get("/api/area/wait", token) }()
	select {
	case <-arrived:
	case got := <-answer:
		s.t.Fatalf("the request was not held up: %s", got)
	}
	return func(want string) {
		s.t.Helper()
		proceed <- struct{}{}
		if got := <-answer; got != want {
			s.t.Errorf("the request in flight got %q, want %q", got, want)
		}
	}
}

// expect fails the test unless a request gets that answer.
func (s *site) expect(path, token, want string) {
	s.t.Helper()
	if got := s.get(path, token); got != want {
		s.t.Errorf("%s: got %q, want %q", path, got, want)
	}
}

// await waits until a request gets that answer and returns how long it took.
func (s *site) await(path, token, want string, atMost time.Duration) time.Duration {
	s.t.Helper()
	begin := time.Now()
	for {
		got := s.get(path, token)
		took := time.Since(begin)
		if got == want {
			return took
		}
		if took > atMost {
			s.t.Fatalf("%s: still %q after %v, want %q", path, got, took, want)
		}
	}
}

// caddy runs Caddy in another process.
func (s *site) caddy(args ...string) (stdout, stderr string, err error) {
	cmd := exec.CommandContext(s.t.Context(), os.Args[0], args...)
	// Else the race detector makes every process wait a second before it ends.
	cmd.Env = append(os.Environ(), asCaddy+"=1", "GORACE=atexit_sleep_ms=0")
	cmd.Dir = s.dir
	var out, errOut strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errOut
	err = cmd.Run()
	return out.String(), errOut.String(), err
}

// must runs Caddy in another process and returns what it printed; the test fails
// when the process does.
func (s *site) must(args ...string) string {
	s.t.Helper()
	stdout, stderr, err := s.caddy(args...)
	if err != nil {
		s.t.Fatalf("%q: %v\n%s", args, err, stderr)
	}
	return strings.TrimSpace(stdout)
}

// issue creates an account of that name and returns a token of it, with the
// commands, in this process.
func (s *site) issue(account string) string {
	s.t.Helper()
	succeed(s.t, "account", "create", account, "--config", s.caddyfile())
	return strings.TrimSpace(succeed(s.t, "token", "issue", "--account", account, "--config", s.caddyfile()))
}

// Interface guards
var (
	_ caddyhttp.MiddlewareHandler = (*testArea)(nil)
	_ caddy.App                   = (*testFailingApp)(nil)
	_ caddyfile.Unmarshaler       = (*gateway.App)(nil)
)
