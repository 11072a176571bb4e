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

// demoLine is what a line of the demo must answer.
type demoLine struct {
	words string // that only this line has
	code  int    // exit code of curl
	again bool   // whether it can be pasted again for the same answer
	check func(t *testing.T, body string)
}

// demoLines are the lines of the demo, in order.
func demoLines() []demoLine {
	const purchase, vendor = "12001", "1526"
	entity := func(id, syncToken string) func(*testing.T, string) {
		return func(t *testing.T, body string) {
			t.Helper()
			var got struct{ ID, SyncToken string }
			decodeSuccess(t, body, &got)
			if got.ID != id || got.SyncToken != syncToken {
				t.Errorf("Id %q, SyncToken %q, want %q, %q", got.ID, got.SyncToken, id, syncToken)
			}
		}
	}
	some := func(t *testing.T, body string) {
		t.Helper()
		var rows []struct{ ID string }
		decodeSuccess(t, body, &rows)
		if len(rows) == 0 || rows[0].ID == "" {
			t.Errorf("%d entities", len(rows))
		}
	}
	stale := func(t *testing.T, body string) {
		t.Helper()
		if !strings.HasPrefix(body, `{"status":"Error","message":"Error QuickBooks: Stale Object Error`) {
			t.Errorf("answer %.300s", body)
		}
	}
	return []demoLine{
		{"/telematics/", 0, false, func(t *testing.T, body string) {
			t.Helper()
			var events []map[string]any
			decodeSuccess(t, body, &events)
			checkEvents(t, events)
		}},
		{"/fuel/", 0, false, func(t *testing.T, body string) {
			t.Helper()
			var report fuelReport
			decodeSuccess(t, body, &report)
			checkReport(t, report)
		}},
		{"/maintenance/", 0, false, func(t *testing.T, body string) {
			t.Helper()
			var orders []map[string]any
			decodeSuccess(t, body, &orders)
			checkOrders(t, orders)
		}},
		{"/accounting/accounts/?", 0, false, some},
		{"/accounting/accounts/35/", 0, false, entity("35", "0")},
		{"/accounting/purchases/?realmId=4620816365001234560&filter=", 0, false, some},
		{`-X POST`, 0, true, entity(purchase, "0")},
		{`"amount":412.50`, 0, false, entity(purchase, "1")},
		{`"amount":1.00`, 22, false, stale},
		{"/accounting/purchases/" + purchase + "/", 0, false, entity(purchase, "1")},
		{"/accounting/vendors/?realmId=4620816365001234560&filter=", 0, false, some},
		{`"display_name":"Lone Star Tyres","email"`, 0, true, entity(vendor, "0")},
		{"/accounting/vendors/update", 0, false, entity(vendor, "1")},
		{"/accounting/vendors/" + vendor + "/", 0, false, entity(vendor, "1")},
	}
}

// try pastes the line into a shell.
func (d *demoLine) try(t *testing.T, dir string, env []string, line string) {
	t.Helper()
	r := command(t, dir, env, "/bin/sh", "-c", line)
	if r.code != d.code || (r.code == 0 && r.stderr != "") {
		t.Errorf("%sexit code %d, stderr %q, stdout %.300s", line, r.code, r.stderr, r.stdout)
	} else {
		d.check(t, r.stdout)
	}
}

// tryLines pastes each line that the demo printed into a shell.
func tryLines(t *testing.T, dir string, env []string, printed string) {
	t.Helper()
	const order = "\nThe accounting lines are meant to be pasted in this order, once.\n"
	if fleet, _, ok := strings.Cut(printed, order); !ok || strings.Contains(fleet, "/accounting/") {
		t.Errorf("it does not say first how to use the accounting lines:\n%s", printed)
	}
	lines := demoLines()
	for line := range strings.Lines(printed) {
		if !strings.HasPrefix(line, "curl") {
			continue
		}
		if len(lines) == 0 || !strings.Contains(line, lines[0].words) {
			t.Fatalf("unexpected line %s", line)
		}
		lines[0].try(t, dir, env, line)
		if lines[0].again {
			lines[0].try(t, dir, env, line)
		}
		lines = lines[1:]
	}
	if len(lines) > 0 {
		t.Errorf("no line for %s in\n%s", lines[0].words, printed)
	}
}
