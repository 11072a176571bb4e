package e2e

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// shippedGateway has a copy of the shipped configuration files, with edits: each is
// the text to replace and its replacement, and must apply.
func shippedGateway(tb testing.TB, p *program, file string, edits [][2]string, settings ...string) *gateway {
	tb.Helper()
	g := newGateway(tb, p, "", settings...)
	root := filepath.Join(g.dir, "caddyfiles")
	if err := os.CopyFS(root, os.DirFS("../caddyfiles")); err != nil {
		tb.Fatal(err)
	}
	g.config = filepath.Join(root, file)
	text := string(read(tb, g.config))
	for _, edit := range edits {
		if !strings.Contains(text, edit[0]) {
			tb.Fatalf("%s has no %q; the test needs another edit", file, edit[0])
		}
		text = strings.ReplaceAll(text, edit[0], edit[1])
	}
	g.configure(tb, text)
	return g
}

// Edits of the production Caddyfile: nothing is installed on the machine, nothing
// listens to other machines, everything is logged and measured.
var testEdits = [][2]string{
	{"auto_https disable_redirects", `auto_https disable_redirects
	skip_install_trust
	default_bind 127.0.0.1
	admin {$ADMIN}
	debug
	metrics`},
	{"https://quickbooks.api.intuit.com https://api.quikq.com https://www.fleetrock.com", "{$UPSTREAM}/quickbooks {$UPSTREAM}/quikq {$UPSTREAM}/fleetrock"},
	{"https://sandbox-quickbooks.api.intuit.com https://api.quikq.com https://test.fleetrock.com", "{$DOWN}/quickbooks {$DOWN}/quikq {$DOWN}/fleetrock"},
}

const (
	stderrFile = "file /stderr"
	storeFile  = "file /data/fleetgate.db"
	savedFile  = "file /config/caddy/autosave.json"
)

// TestSecrets plants a secret wherever a caller may put a credential and looks for it
// in everything that the gateway writes, with the configurations as they are shipped.
func TestSecrets(t *testing.T) {
	t.Parallel()
	t.Run("ok/production", testProductionSecrets)
	t.Run("ok/sandbox", testSandboxSecrets)
	t.Run("ok/panics", testPanicSecrets)
	t.Run("fail/without the snippet", testSecretsWithoutSnippet)
}

// production starts the shipped production configuration in front of a parrot.
func production(tb testing.TB, p *program, w *watch, edits ...[2]string) {
	tb.Helper()
	var hits atomic.Int32
	elsewhere := upstream(tb, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	tb.Cleanup(func() {
		if n := hits.Load(); n > 0 {
			tb.Errorf("%d redirects were followed to another host", n)
		}
	})
	root := upstream(tb, &parrot{planted: w.planted, elsewhere: elsewhere})
	down := "http://127.0.0.1:" + freePort(tb)
	w.g = shippedGateway(tb, p, "Caddyfile", slices.Concat(testEdits, edits),
		"FLEETGATE_ENV_SITE=localhost:"+freePort(tb),
		"LYTX_URL="+root+"/lytx",
		"LYTX_ENV_URL="+down+"/lytx",
		"UPSTREAM="+root,
		"DOWN="+down,
		"MAPBOX_TOKEN="+w.planted.plant("MAPBOX_TOKEN", "sk."),
	)
	w.g.start(tb)
	w.open(tb)
}

// callers returns the areas with credentials whose secret parts are planted, in a
// mood of the parrot.
func callers(planted *secrets) []area {
	plant := func(name string) string { return planted.plant("header "+name, "") }
	const window = "?start_date=2026-02-01&end_date=2026-02-20"
	return []area{
		{name: "telematics", path: "/telematics/driver-performance-events/" + window, credential: func(mood string) map[string]string {
			return map[string]string{"api-key-eld": mood + "-" + plant("api-key-eld")}
		}},
		{name: "fuel", path: "/fuel/reports/transactions" + window, credential: func(mood string) map[string]string {
			return map[string]string{"startCode": plant("startCode"), "userId": plant("userId"), "password": mood + "-" + plant("password")}
		}},
		{name: "maintenance", path: "/maintenance/repair-orders" + window, credential: func(mood string) map[string]string {
			return map[string]string{"username": plant("username"), "api-key-eld": mood + "-" + plant("api-key-eld")}
		}},
	}
}

func testProductionSecrets(t *testing.T) {
	t.Parallel()
	w := &watch{planted: new(secrets)}
	production(t, &fleetgate, w)
	for _, a := range callers(w.planted) {
		if got := w.call(t, a.name, request{path: "/api" + a.path, header: a.credential("good")}); got.status != http.StatusOK {
			t.Errorf("%s: status %d, body %s; want a success", a.name, got.status, got.body)
		}
		for mood := range moods {
			for _, at := range []string{"", "login"} {
				name := a.name + " in mood " + at + mood
				got := w.call(t, name, request{path: "/api" + a.path, header: a.credential(at + mood)})
				failed := got.status >= 400 && got.header.Get("X-Error-Code") != ""
				// Success may be failure to Lytx in name only: it has no envelope and no log-in.
				if !failed && (a.name != "telematics" || mood != "fail") {
					t.Errorf("%s: status %d, body %s; want a failure", name, got.status, got.body)
				}
				// Proof that the words of the provider came this far: some areas pass them on.
				if mood == "400" && a.name != "maintenance" && !strings.Contains(got.body, parrotCry) {
					t.Errorf("%s: body %s; want the provider's words", name, got.body)
				}
			}
		}
	}
	writeSecretly(t, w)
	plantElsewhere(t, w)
	unreachable(t, w)
	w.askAdmin(t, "/metrics")
	if config := w.askAdmin(t, "/config/"); !strings.Contains(config, "{env.MAPBOX_TOKEN}") {
		t.Error("the configuration does not have the placeholder of the map provider's token")
	}
	logged := string(read(t, w.g.process.stderr))
	for _, want := range []string{`"logger":"http.log.access`, `"msg":"provider failed"`, `"level":"debug"`} {
		if !strings.Contains(logged, want) {
			t.Errorf("the log has no %s", want)
		}
	}
	w.check(t, stderrFile, storeFile, savedFile, "answer to admin endpoint /metrics")
	w.g.process.stop(t)
	w.check(t, stderrFile, storeFile, savedFile)
}

// writeSecretly has writes of accounting succeed and fail, each in a company of its own:
// a throttled one pauses its company.
func writeSecretly(tb testing.TB, w *watch) {
	tb.Helper()
	write := func(mood string, company int) answer {
		return w.call(tb, "accounting in mood "+mood, request{
			method: http.MethodPost,
			path:   fmt.Sprintf("/api/accounting/vendors/?realmId=%d", company),
			header: map[string]string{
				"access-token-accounting": mood + "-" + w.planted.plant("header access-token-accounting", ""),
				"Content-Type":            "application/json",
				"Idempotency-Key":         fmt.Sprintf("write-%d", company), // no secret: answers name it
			},
			body: `{"display_name":"A"}`,
		})
	}
	if got := write("good", 1); got.status != http.StatusOK {
		tb.Errorf("accounting: status %d, body %s; want a success", got.status, got.body)
	}
	company := 1
	for mood := range moods {
		company++
		got := write(mood, company)
		if got.status < 400 || got.header.Get("X-Error-Code") == "" {
			tb.Errorf("accounting in mood %s: status %d, body %s; want a failure", mood, got.status, got.body)
		}
		if mood == "400" && !strings.Contains(got.body, parrotCry) {
			tb.Errorf("accounting: body %s; want the provider's words", got.body)
		}
	}
}

// plantElsewhere makes calls that end before a provider is asked.
func plantElsewhere(tb testing.TB, w *watch) {
	tb.Helper()
	secret := func() string { return w.planted.plant("a value that is refused", "") }
	token := func() string { return w.planted.plant("a token that is refused", "fgt_") }
	for name, r := range map[string]request{
		"a refused token":      {path: eventsPath, token: token()},
		"a refused long token": {path: eventsPath, token: token() + strings.Repeat("0", 7)},
		"basic authorization":  {path: eventsPath, token: noToken, header: map[string]string{"Authorization": "Basic " + secret()}},
		"no token":             {path: eventsPath, token: noToken},
		"an unknown path":      {path: "/api/unknown"},
		"a path outside":       {path: "/outside"},
		"a wrong method":       {method: http.MethodPost, path: eventsPath, body: secret()},
		"a bad limit":          {path: eventsPath + "?limit=" + secret()},
		"a bad list":           {path: eventsPath + "?driver_ids=" + secret() + ",,"},
		"a bad query":          {path: eventsPath + "?x=%zz" + secret()},
		"a bad key":            {path: eventsPath, header: map[string]string{"api-key-eld": "a\t" + secret()}},
		"a bad start code":     {path: reportPath, header: map[string]string{"startCode": "a/" + secret()}},
		"a bad date":           {path: reportPath + "?start_date=" + secret()},
		"a bad status":         {path: ordersPath + "?status=" + secret()},
		"a bad event":          {path: ordersPath + "?event=a%20" + secret()},
		"accounting":           {path: "/api/accounting/accounts/?realmId=1"},
		"accounting, to write": {method: http.MethodPost, path: "/api/accounting/vendors/?realmId=1", body: `{"display_name":"` + secret() + `"}`},
		"a map":                {method: http.MethodPost, path: "/api/maps", body: `{"long":["` + secret() + `"]}`},
		"geocoding":            {path: "/api/maps/geocoding?searchText=" + secret()},
		"health":               {path: "/healthz"},
	} {
		if a := w.call(tb, name, r); a.status >= 500 && a.status != http.StatusNotImplemented {
			tb.Errorf("%s: status %d", name, a.status)
		}
	}
}

// unreachable calls providers that are down: those of the second environment.
func unreachable(tb testing.TB, w *watch) {
	tb.Helper()
	second := &watch{planted: w.planted, g: new(gateway)}
	*second.g = *w.g
	for _, setting := range w.g.env {
		if site, ok := strings.CutPrefix(setting, "FLEETGATE_ENV_SITE="); ok {
			second.g.site = site
		}
	}
	for _, a := range callers(w.planted) {
		got := second.call(tb, a.name, request{path: "/api" + a.path, header: a.credential("good")})
		if code := got.header.Get("X-Error-Code"); code != "provider_unreachable" {
			tb.Errorf("%s of a provider that is down: X-Error-Code %q, want provider_unreachable", a.name, code)
		}
		w.keep(a.name+" of a provider that is down", fmt.Sprint(got))
	}
}

func testSandboxSecrets(t *testing.T) {
	t.Parallel()
	w := &watch{planted: new(secrets)}
	sandbox := "http://127.0.0.1:" + freePort(t)
	w.g = shippedGateway(t, &fleetgate, filepath.Join("sandbox", "Caddyfile"), [][2]string{{"admin off", "admin off\n\tdebug"}}, "FLEETGATE_BIND=127.0.0.1", "FLEETGATE_SANDBOX="+sandbox)
	log := filepath.Join(w.g.dir, "fleetgate.log")
	w.g.env = append(w.g.env, "FLEETGATE_LOG=file "+log)
	w.g.ca = filepath.Join(w.g.data(), "caddy", "pki", "authorities", "local", "root.crt")
	w.g.start(t)
	w.open(t)

	for _, a := range callers(w.planted) {
		for _, secret := range []string{"good", "invalid"} {
			if got := w.call(t, a.name+" "+secret, request{path: "/api" + a.path, header: a.credential(secret)}); (got.status == http.StatusOK) != (secret == "good") {
				t.Errorf("%s with %s credentials: status %d", a.name, secret, got.status)
			}
		}
	}
	// These are no secrets, but those that the calls carry beside are. One is left out
	// that takes seconds with the default of max_body.
	for _, row := range providerFailures {
		if row.base == "" && row.noRepeat == "" && row.message != tooLarge {
			for _, a := range []area{telematicsArea(), fuelArea(), maintenanceArea()} {
				w.call(t, a.name+" that "+row.name, request{path: "/api" + a.path, header: a.credential(row.secret)})
			}
		}
	}
	plantElsewhere(t, w)
	logged := string(read(t, log))
	for _, want := range []string{`"logger":"http.log.access`, `"msg":"provider failed"`, `"level":"debug"`} {
		if !strings.Contains(logged, want) {
			t.Errorf("the log has no %s", want)
		}
	}
	w.check(t, "file /fleetgate.log", storeFile)
	w.g.process.stop(t)
	w.check(t, "file /fleetgate.log", storeFile)
}

// lytxBlock is a provider's block in the shipped configuration.
var lytxBlock = regexp.MustCompile(`(?s)provider lytx \{.*?\n\t+\}`)

func testPanicSecrets(t *testing.T) {
	t.Parallel()
	text := string(read(t, "../caddyfiles/Caddyfile"))
	w := &watch{planted: new(secrets)}
	production(t, &faulty, w,
		[2]string{lytxBlock.FindString(text), "provider faulty"},
		[2]string{"\t\tgateway_auth\n", "\t\tgateway_auth\n\t\tpanic_for_test\n"},
	)
	internal := failure("Internal Server Error")
	for _, row := range []struct {
		name, path, prefix string
		status             int
		body               string
	}{
		{"a provider that is good", eventsPath, "good", http.StatusOK, ""},
		{"a provider that panics in a goroutine", eventsPath, "catalogs", http.StatusOK, ""},
		{"a provider that panics", eventsPath, "events", http.StatusInternalServerError, internal},
		{"a handler that panics", "/api/panic", "good", http.StatusInternalServerError, internal},
		{"a handler that returns an error", "/api/error", "good", http.StatusInternalServerError, ""},
	} {
		header := map[string]string{"api-key-eld": w.planted.plant("header api-key-eld", row.prefix+"-")}
		a, err := w.try(t.Context(), row.name, request{path: row.path, header: header})
		if err != nil {
			t.Errorf("%s: %v; want an answer", row.name, err)
			continue
		}
		if a.status != row.status || row.body != "" && a.body != row.body {
			t.Errorf("%s: status %d, body %s; want %d and %s", row.name, a.status, a.body, row.status, row.body)
		}
	}
	if a := w.call(t, "health", request{path: "/healthz"}); a.status != http.StatusOK {
		t.Errorf("/healthz answers %d after the panics", a.status)
	}
	logged := string(read(t, w.g.process.stderr))
	for _, want := range []string{"panic", `"logger":"http.log.error`} {
		if !strings.Contains(logged, want) {
			t.Errorf("the log has no %s", want)
		}
	}
	w.check(t, stderrFile, storeFile, savedFile)
}

// testSecretsWithoutSnippet proves that the search finds what the snippet hides.
func testSecretsWithoutSnippet(t *testing.T) {
	t.Parallel()
	w := &watch{planted: new(secrets)}
	production(t, &fleetgate, w, [2]string{"import redact", "format json"})
	for _, a := range callers(w.planted) {
		w.call(t, a.name, request{path: "/api" + a.path, header: a.credential("good")})
	}
	leaks := w.leaks(t)
	for _, what := range []string{"header api-key-eld", "header startCode", "header userId", "header password", "header username", "header access-token-accounting", "query token", "query api_key"} {
		if want := stderrFile + " shows " + what; !slices.Contains(leaks, want) {
			t.Errorf("without the snippet, not found: %s", want)
		}
	}
	// What Caddy hides by itself, and the answers, are safe without it.
	for _, leak := range leaks {
		if !strings.HasPrefix(leak, stderrFile) || strings.Contains(leak, "the gateway's token") || strings.Contains(leak, "Cookie") {
			t.Error(leak)
		}
	}
}
