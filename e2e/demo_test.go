package e2e

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// demoEnd is the last line that the demo prints before it serves until it is stopped.
const demoEnd = "Press Ctrl-C to stop.\n"

// TestDemo does what a newcomer does: start the demo, paste the lines that begin with
// curl into a shell, stop it, and do it again another day.
func TestDemo(t *testing.T) {
	t.Parallel()
	curl := requireProgram(t, "curl", "curl")
	binary := fleetgate.build(t)
	home, err := os.MkdirTemp(scratch, "")
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(home, "the data") // a path that a shell must have quoted
	env := []string{
		"PATH=" + filepath.Dir(curl) + ":" + os.Getenv("PATH"),
		"HOME=" + home,
		"CURL_HOME=" + home,
		raceOptions,
	}
	settings := "silent\nshow-error\nfail-with-body\nmax-time = 60\n"
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}

	runsAt := regexp.MustCompile(`The gateway runs at https://(\S+), `)
	caddyfile := filepath.Join(data, "sandbox", "Caddyfile")
	const edit = "# An edit.\n"
	for _, run := range []struct {
		name string
		host string
		end  os.Signal
	}{
		{"ok/first run", ownAddress(t), syscall.SIGINT},
		{"ok/second run on the same data", "localhost", syscall.SIGTERM},
	} {
		t.Run(run.name, func(t *testing.T) {
			dir, err := os.MkdirTemp(home, "")
			if err != nil {
				t.Fatal(err)
			}
			changed := false
			if text, err := os.ReadFile(caddyfile); err == nil {
				changed = true
				if err := os.WriteFile(caddyfile, append(text, edit...), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := start(t, dir, env, binary, "gateway", "demo", "--listen", net.JoinHostPort(run.host, "0"), "--data", data)
			var printed string
			eventually(t, startTimeout, func() error {
				if p.over() {
					t.Fatalf("the demo ended; stderr:\n%s", tail(read(t, p.stderr)))
				}
				if printed = string(read(t, p.stdout)); !strings.HasSuffix(printed, demoEnd) {
					return fmt.Errorf("printed so far:\n%s", printed)
				}
				return nil
			})
			tryLines(t, dir, env, printed)

			site := runsAt.FindStringSubmatch(printed)[1]
			if host, _, _ := net.SplitHostPort(site); host != run.host {
				t.Errorf("it runs at %s, want the host %s", site, run.host)
			}
			if got := strings.Contains(printed, "Using your changed "+caddyfile+";"); got != changed {
				t.Errorf("changed: %t; printed:\n%s", changed, printed)
			}
			if text := string(read(t, caddyfile)); strings.HasSuffix(text, edit) != changed {
				t.Errorf("the changed Caddyfile was replaced: %t", changed)
			}
			testSecondDemo(t, dir, env, binary, site)
			testUnknownPaths(t, site, data)
			testDemoTokens(t, dir, append(env, "FLEETGATE_DATA="+data), binary, caddyfile)
			p.signal(t, run.end)
			p.wait(t)
		})
	}
}

// ownAddress returns an address of this machine that others reach too, or the loopback
// address if it has none.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil && network.IP.IsGlobalUnicast() {
			return network.IP.String()
		}
	}
	return "127.0.0.1"
}

// testSecondDemo starts another demo on the address of the one that runs.
func testSecondDemo(t *testing.T, dir string, env []string, binary, site string) {
	t.Helper()
	data := filepath.Join(dir, "second")
	r := command(t, dir, env, binary, "gateway", "demo", "--listen", site, "--data", data)
	if want := "Error: --listen: " + site + " is already in use\n"; r.code == 0 || r.stdout != "" || r.stderr != want {
		t.Errorf("exit code %d, stdout %q, stderr %q; want %q", r.code, r.stdout, r.stderr, want)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("it has made its folder")
	}
}

// testUnknownPaths asks for paths that no area has.
func testUnknownPaths(t *testing.T, site, data string) {
	t.Helper()
	g := &gateway{site: site, ca: filepath.Join(data, "caddy", "pki", "authorities", "local", "root.crt")}
	roots, err := g.roots()
	if err != nil {
		t.Fatal(err)
	}
	g.client = newClient(roots)
	defer g.client.CloseIdleConnections()
	for _, path := range []string{"/", "/nope", "/api", "/api/", "/api/nope"} {
		a := g.do(t, request{path: path, token: noToken})
		code, kind := a.header.Get("X-Error-Code"), a.header.Get("Content-Type")
		if a.status != http.StatusNotFound || a.body != failure("Not Found") || code != "not_found" || kind != "application/json" {
			t.Errorf("%s: status %d, X-Error-Code %q, Content-Type %q, body %q", path, a.status, code, kind, a.body)
		}
	}
}

// testDemoTokens checks that the tokens of the demo end some day.
func testDemoTokens(t *testing.T, dir string, env []string, binary, caddyfile string) {
	t.Helper()
	r := command(t, dir, env, binary, "gateway", "token", "list", "--json", "--config", caddyfile)
	var tokens []struct{ Created, Expires time.Time }
	if err := json.Unmarshal([]byte(r.stdout), &tokens); err != nil || len(tokens) == 0 {
		t.Fatalf("%d tokens, %v; stderr %q", len(tokens), err, r.stderr)
	}
	for _, token := range tokens {
		if lifetime := token.Expires.Sub(token.Created); lifetime != 30*24*time.Hour {
			t.Errorf("a token lives for %v", lifetime)
		}
	}
}

// tryLines runs each line that begins with curl as it is.
func tryLines(t *testing.T, dir string, env []string, printed string) {
	t.Helper()
	checks := map[string]func(body string){
		"/telematics/": func(body string) {
			var events []map[string]any
			decodeSuccess(t, body, &events)
			checkEvents(t, events)
		},
		"/fuel/": func(body string) {
			var report fuelReport
			decodeSuccess(t, body, &report)
			checkReport(t, report)
		},
		"/maintenance/": func(body string) {
			var orders []map[string]any
			decodeSuccess(t, body, &orders)
			checkOrders(t, orders)
		},
	}
	for line := range strings.Lines(printed) {
		if !strings.HasPrefix(line, "curl") {
			continue
		}
		r := command(t, dir, env, "/bin/sh", "-c", line)
		if r.code != 0 || r.stderr != "" {
			t.Errorf("%sexit code %d, stderr %q, stdout %.300s", line, r.code, r.stderr, r.stdout)
			continue
		}
		for path, check := range checks {
			if strings.Contains(line, path) {
				check(r.stdout)
				delete(checks, path)
			}
		}
	}
	for path := range checks {
		t.Errorf("no line for %s in\n%s", path, printed)
	}
}
