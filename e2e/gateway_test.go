package e2e

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// gateway is a configuration with a folder of its own, and the process that serves it
// once it is started.
type gateway struct {
	dir    string // everything that it writes is below
	config string
	site   string // host and port
	ca     string // the local certificate authority's root
	env    []string
	binary string

	process *process
	client  *http.Client
	bench   *http.Client // of benchmarks
	token   string       // of an account named "test", when there is one
}

// globals is what the tests' own configurations begin with. Names in {$…} come from
// the environment that newGateway makes.
const globals = `{
	admin {$ADMIN}
	default_bind 127.0.0.1
	auto_https disable_redirects
	skip_install_trust
	gateway {
		store sqlite {$FLEETGATE_DATA}/fleetgate.db
	}
}
import {$SNIPPETS}/*.caddyfile
`

// newGateway writes a configuration. Settings are variables of its environment, as
// NAME=value, besides those that every gateway here gets:
//
//	FLEETGATE_SITE      its address, localhost and a port that is free
//	FLEETGATE_DATA      the folder of its store
//	SNIPPETS            the folder of the shipped snippets
//	ADMIN               the address of its admin endpoint, a socket
func newGateway(tb testing.TB, p *program, caddyfile string, settings ...string) *gateway {
	tb.Helper()
	dir, err := os.MkdirTemp(scratch, "")
	if err != nil {
		tb.Fatal(err)
	}
	snippets, err := filepath.Abs("../caddyfiles/snippets")
	if err != nil {
		tb.Fatal(err)
	}
	g := &gateway{
		dir:    dir,
		config: filepath.Join(dir, "Caddyfile"),
		site:   "localhost:" + freePort(tb),
		ca:     filepath.Join(dir, "share", "caddy", "pki", "authorities", "local", "root.crt"),
		binary: p.build(tb),
	}
	g.env = append([]string{
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + dir,
		"TMPDIR=" + dir,
		raceOptions,
		"XDG_DATA_HOME=" + filepath.Join(dir, "share"),
		"XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"FLEETGATE_SITE=" + g.site,
		"FLEETGATE_DATA=" + g.data(),
		"SNIPPETS=" + snippets,
		"ADMIN=" + g.admin(),
	}, settings...)
	g.configure(tb, caddyfile)
	return g
}

// configure replaces the configuration, without loading it.
func (g *gateway) configure(tb testing.TB, caddyfile string) {
	tb.Helper()
	if err := os.WriteFile(g.config, []byte(caddyfile), 0o600); err != nil {
		tb.Fatal(err)
	}
}

func (g *gateway) data() string  { return filepath.Join(g.dir, "data") }
func (g *gateway) admin() string { return "unix/" + filepath.Join(g.dir, "admin.sock") }

// start starts the process and waits until it is ready.
func (g *gateway) start(tb testing.TB) {
	tb.Helper()
	g.startAs(tb, "run", "--config", g.config)
}

func (g *gateway) startAs(tb testing.TB, args ...string) {
	tb.Helper()
	g.process = start(tb, g.dir, g.env, g.binary, args...)
	g.awaitReady(tb)
}

// awaitReady waits until /readyz answers over TLS.
func (g *gateway) awaitReady(tb testing.TB) {
	tb.Helper()
	g.client = nil
	eventually(tb, startTimeout, func() error {
		if g.process.over() {
			tb.Fatalf("the process ended; stderr:\n%s", tail(read(tb, g.process.stderr)))
		}
		if g.client == nil {
			roots, err := g.roots()
			if err != nil {
				return err
			}
			g.client = newClient(roots)
		}
		ctx, cancel := context.WithTimeout(tb.Context(), time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+g.site+"/readyz", http.NoBody)
		if err != nil {
			return err
		}
		resp, err := g.client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz answers %s", resp.Status)
		}
		return nil
	})
	tb.Cleanup(g.client.CloseIdleConnections)
}

// roots returns the local certificate authority.
func (g *gateway) roots() (*x509.CertPool, error) {
	pem, err := os.ReadFile(g.ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in " + g.ca)
	}
	return roots, nil
}

// newClient returns a client that trusts these authorities only and follows no
// redirects.
func newClient(roots *x509.CertPool) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{RootCAs: roots},
			ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       60 * time.Second,
	}
}

// run runs a command of the binary in the gateway's environment.
func (g *gateway) run(tb testing.TB, args ...string) result {
	tb.Helper()
	return command(tb, g.dir, g.env, g.binary, args...)
}

// manage runs a `gateway` command on the store of the configuration, which must
// succeed, and returns what it prints.
func (g *gateway) manage(tb testing.TB, args ...string) string {
	tb.Helper()
	r := g.run(tb, append(append([]string{"gateway"}, args...), "--config", g.config)...)
	if r.code != 0 || r.stderr != "" {
		tb.Fatalf("gateway %q: exit code %d, stderr:\n%s", args, r.code, r.stderr)
	}
	return strings.TrimSuffix(r.stdout, "\n")
}

// open creates the account "test" and issues the token that requests carry.
func (g *gateway) open(tb testing.TB) {
	tb.Helper()
	g.manage(tb, "account", "create", "test", "--balance", "100")
	g.token = g.manage(tb, "token", "issue", "--account", "test")
}

// request is one call to a gateway. The zero Method is GET. Its token goes into the
// Authorization header: the gateway's own if empty, none if it is noToken.
type request struct {
	method, path string
	token        string
	header       map[string]string
	body         string
}

const noToken = "-"

// answer is what came back, body included.
type answer struct {
	status int
	proto  string
	header http.Header
	body   string
}

// do makes a call that must be answered.
func (g *gateway) do(tb testing.TB, r request) answer {
	tb.Helper()
	a, err := g.try(tb.Context(), r)
	if err != nil {
		tb.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	return a
}

// try makes a call.
func (g *gateway) try(ctx context.Context, r request) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, r.method, "https://"+g.site+r.path, strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	switch r.token {
	case noToken:
	case "":
		req.Header.Set("Authorization", "Bearer "+g.token)
	default:
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := g.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	return readAnswer(resp)
}

func readAnswer(resp *http.Response) (answer, error) {
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{status: resp.StatusCode, proto: resp.Proto, header: resp.Header, body: string(body)}, err
}

// raw sends bytes as they are on a connection of their own and reads one answer, for
// requests that no client would make.
func (g *gateway) raw(tb testing.TB, text string) answer {
	tb.Helper()
	roots, err := g.roots()
	if err != nil {
		tb.Fatal(err)
	}
	host, _, _ := strings.Cut(g.site, ":")
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: host, NextProtos: []string{"http/1.1"}}}
	ctx, cancel := context.WithTimeout(tb.Context(), 30*time.Second)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", g.site)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		tb.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		tb.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := readAnswer(resp)
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// failure is the body of an error answer of every area but maps.
func failure(message string) string {
	return `{"status":"Error","message":"` + message + `","data":null}`
}

// givenPorts are the ports that freePort returned.
var givenPorts sync.Map

// freePort returns a port of the loopback interface on which nobody listens, another
// one each time: Caddy shares a port with others that share it instead of failing. With
// a process from elsewhere the tests notice, whose certificate is of another authority.
func freePort(tb testing.TB) string {
	tb.Helper()
	for {
		var config net.ListenConfig
		l, err := config.Listen(tb.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err := errors.Join(err, l.Close()); err != nil {
			tb.Fatal(err)
		}
		if _, given := givenPorts.LoadOrStore(port, true); !given {
			return port
		}
	}
}
