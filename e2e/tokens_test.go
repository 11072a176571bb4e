package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// revocationBound is within which a token must be refused that another process
// revoked.
const revocationBound = time.Second

var tokenPattern = regexp.MustCompile(`^fgt_[0-9A-Za-z]{33}$`)

// issued is a token as `token issue --json` prints it.
type issued struct {
	ID    string `json:"id"`
	Token string `json:"token"`
	Last4 string `json:"last4"`
}

func (g *gateway) issue(tb testing.TB, args ...string) issued {
	tb.Helper()
	out := g.manage(tb, append([]string{"token", "issue", "--account", "test", "--json"}, args...)...)
	var token issued
	if err := json.Unmarshal([]byte(out), &token); err != nil {
		tb.Fatalf("%v in %s", err, out)
	}
	return token
}

// status returns the status of a call with a token that needs no provider.
func (g *gateway) status(tb testing.TB, token string) int {
	tb.Helper()
	return g.do(tb, request{path: eventsPath + "?limit=0", token: token, header: goodHeaders()}).status
}

const (
	admitted = http.StatusBadRequest // the token was good and the input was not
	refused  = http.StatusUnauthorized
)

func testTokens(t *testing.T, g *gateway) {
	t.Run("ok/issued on a running server", func(t *testing.T) {
		t.Parallel()
		token := g.manage(t, "token", "issue", "--account", "test")
		if !tokenPattern.MatchString(token) {
			t.Errorf("printed %q, want a token alone", token)
		}
		if got := g.status(t, token); got != admitted {
			t.Errorf("status %d, want %d", got, admitted)
		}
	})
	t.Run("fail/revoked", func(t *testing.T) {
		t.Parallel()
		token := g.issue(t)
		if got := g.status(t, token.Token); got != admitted {
			t.Fatalf("status %d before the revocation, want %d", got, admitted)
		}
		g.manage(t, "token", "revoke", token.ID)
		eventually(t, revocationBound, func() error {
			if got := g.status(t, token.Token); got != refused {
				return fmt.Errorf("status %d after the revocation, want %d", got, refused)
			}
			return nil
		})
	})
	t.Run("fail/revoked before it was used", func(t *testing.T) {
		t.Parallel()
		token := g.issue(t)
		g.manage(t, "token", "revoke", token.ID)
		if got := g.status(t, token.Token); got != refused {
			t.Errorf("status %d, want %d", got, refused)
		}
	})
	t.Run("fail/expired", func(t *testing.T) {
		t.Parallel()
		const lifetime = 2 * time.Second
		token := g.issue(t, "--expires", lifetime.String())
		eventually(t, 5*lifetime, func() error {
			if got := g.status(t, token.Token); got != refused {
				return fmt.Errorf("status %d, want %d", got, refused)
			}
			return nil
		})
	})
	t.Run("ok/not expired", func(t *testing.T) {
		t.Parallel()
		if got := g.status(t, g.issue(t, "--expires", "90d").Token); got != admitted {
			t.Errorf("status %d, want %d", got, admitted)
		}
	})
	t.Run("fail/of another store", func(t *testing.T) {
		t.Parallel()
		elsewhere := newGateway(t, &fleetgate, simulated, sandboxAddress(t))
		elsewhere.open(t)
		if got := g.status(t, elsewhere.token); got != refused {
			t.Errorf("status %d, want %d", got, refused)
		}
	})
	t.Run("scopes", func(t *testing.T) {
		t.Parallel()
		testScopes(t, g)
	})
	t.Run("ok/shapes", func(t *testing.T) {
		t.Parallel()
		testShapes(t, g)
	})
}

func testScopes(t *testing.T, g *gateway) {
	telematics := g.issue(t, "--scope", "telematics:read", "--scope", "accounting:read").Token
	maps := g.issue(t, "--scope", "maps").Token
	const notMaps = `{"erro":true,"msg":"Unauthorized"}`
	for _, row := range []struct {
		name, method, path, token string
		status                    int
		body                      string // of a refusal
	}{
		{"ok/area for reading", "GET", eventsPath + "?limit=0", telematics, 400, ""},
		{"ok/accounting for reading", "GET", "/api/accounting/accounts/", telematics, 400, ""},
		{"ok/area", "POST", "/api/maps", maps, 501, ""},
		{"fail/area for reading, and a write", "POST", "/api/accounting/vendors/", telematics, 403, failure("Unauthorized")},
		{"fail/update", "PUT", "/api/accounting/purchases/update", telematics, 403, failure("Unauthorized")},
		{"fail/another area", "GET", reportPath, telematics, 403, failure("Unauthorized")},
		{"fail/another area, before the input", "GET", eventsPath + "?limit=0", maps, 403, failure("Unauthorized")},
		{"fail/another area, in the shape of maps", "POST", "/api/maps", telematics, 403, notMaps},
		{"fail/another area, in the shape of maps, geocoding", "GET", "/api/maps/geocoding", telematics, 403, notMaps},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := g.do(t, request{method: row.method, path: row.path, token: row.token, header: goodHeaders()})
			if row.status == http.StatusForbidden {
				expect(t, a, row.status, "unauthorized", row.body)
			} else if a.status != row.status {
				t.Errorf("status %d, want %d; body: %s", a.status, row.status, a.body)
			}
		})
	}
}

// testShapes checks what --json prints, on a store of its own.
func testShapes(t *testing.T, shared *gateway) {
	g := newGateway(t, &fleetgate, simulated, sandboxAddress(t))
	accountKeys := []string{"available", "balance", "created", "id", "name"}
	tokenKeys := []string{"account", "created", "expires", "id", "last4", "last_used", "revoked", "scopes"}

	for _, list := range []string{"account", "token"} {
		r := g.run(t, "gateway", list, "list", "--json", "--config", g.config)
		if r.code == 0 || r.stdout != "" || !strings.Contains(r.stderr, g.data()) || !strings.Contains(r.stderr, "does not exist") {
			t.Errorf("%s list without a store: exit code %d, stdout %q, stderr %q", list, r.code, r.stdout, r.stderr)
		}
	}
	if _, err := os.Stat(g.data()); err == nil {
		t.Error("listing has made the folder of the store")
	}

	account := object(t, g.manage(t, "account", "create", "acme", "--balance", "12.50", "--json"), accountKeys)
	if account["name"] != "acme" || account["balance"] != "12.5" || account["available"] != "12.5" {
		t.Errorf("account %v, want acme with 12.5", account)
	}
	checkTime(t, account["created"])
	if got := g.manage(t, "token", "list", "--json"); got != "[]" {
		t.Errorf("token list without tokens: %s, want []", got)
	}
	for _, args := range [][]string{{"account", "show", "acme", "--json"}, {"account", "list", "--json"}} {
		again := object(t, strings.Trim(g.manage(t, args...), "[]"), accountKeys)
		if !maps.EqualFunc(account, again, func(a, b any) bool { return a == b }) {
			t.Errorf("%v prints %v, want %v", args, again, account)
		}
	}

	token := object(t, g.manage(t, "token", "issue", "--account", "acme", "--scope", "maps", "--scope", "accounting:read", "--expires", "90d", "--json"), append(tokenKeys, "token"))
	value, _ := token["token"].(string)
	if !tokenPattern.MatchString(value) || token["last4"] != value[len(value)-4:] {
		t.Errorf("token %q and last4 %v do not go together", value, token["last4"])
	}
	delete(token, "token")
	if token["account"] != "acme" || fmt.Sprint(token["scopes"]) != "[accounting:read maps]" || token["last_used"] != nil || token["revoked"] != nil {
		t.Errorf("token %v, want one of acme with its scopes, neither used nor revoked", token)
	}
	created, expires := checkTime(t, token["created"]), checkTime(t, token["expires"])
	if got := expires.Sub(created); got != 90*24*time.Hour {
		t.Errorf("the token lives %v, want 90 days", got)
	}

	listed := g.manage(t, "token", "list", "--json")
	if strings.Contains(listed, value) {
		t.Error("the list shows the value of the token")
	}
	if again := object(t, strings.Trim(listed, "[]\n"), tokenKeys); fmt.Sprint(again) != fmt.Sprint(token) {
		t.Errorf("listed as %v, want %v", again, token)
	}
	revoked := object(t, g.manage(t, "token", "revoke", token["id"].(string), "--json"), tokenKeys)
	checkTime(t, revoked["revoked"])

	forever := object(t, g.manage(t, "token", "issue", "--account", "acme", "--json"), append(tokenKeys, "token"))
	if forever["expires"] != nil || fmt.Sprint(forever["scopes"]) != "[]" {
		t.Errorf("token %v, want one without end and scopes", forever)
	}

	// Tables for people: a heading and a line for each, without the value.
	for _, args := range [][]string{{"account", "list"}, {"account", "show", "acme"}, {"token", "list"}} {
		out := g.manage(t, args...)
		if lines := strings.Split(out, "\n"); len(lines) < 2 || !strings.Contains(out, "acme") || strings.Contains(out, value) {
			t.Errorf("%v prints %q, want a table", args, out)
		}
	}

	// A token that a server accepted has a time of last use, in the end.
	eventually(t, 30*time.Second, func() error {
		for _, entry := range objects(t, shared.manage(t, "token", "list", "--json")) {
			if strings.HasSuffix(shared.token, entry["last4"].(string)) && entry["last_used"] != nil {
				checkTime(t, entry["last_used"])
				return nil
			}
		}
		shared.status(t, shared.token)
		return fmt.Errorf("no last_used")
	})
}

func objects(tb testing.TB, text string) []map[string]any {
	tb.Helper()
	var list []map[string]any
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		tb.Fatalf("%v in %s", err, text)
	}
	return list
}

// object decodes an object that must have exactly these members.
func object(tb testing.TB, text string, keys []string) map[string]any {
	tb.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		tb.Fatalf("%v in %s", err, text)
	}
	if got := slices.Sorted(maps.Keys(o)); !slices.Equal(got, slices.Sorted(slices.Values(keys))) {
		tb.Errorf("members %v, want %v", got, keys)
	}
	return o
}

// checkTime checks a recent or future time of RFC 3339 in UTC.
func checkTime(tb testing.TB, value any) time.Time {
	tb.Helper()
	text, _ := value.(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || !strings.HasSuffix(text, "Z") || time.Since(at) > time.Hour {
		tb.Errorf("%v is not a recent time in UTC", value)
	}
	return at
}

// testCommandErrors uses the commands wrongly. Each failure is one line on stderr.
func testCommandErrors(t *testing.T, g *gateway) {
	write := func(name, text string) string {
		file := filepath.Join(g.dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	config := "--config=" + g.config
	for _, row := range []struct {
		name string
		args []string
		want string // in the line
	}{
		{"unknown command", []string{"frobnicate"}, "frobnicate"},
		{"unknown subcommand", []string{"token", "frobnicate", config}, "frobnicate"},
		{"unknown flag", []string{"account", "list", "--frobnicate", config}, "frobnicate"},
		{"no name", []string{"account", "create", config}, "NAME"},
		{"two names", []string{"account", "create", "a", "b", config}, "b"},
		{"bad name", []string{"account", "create", "a b", config}, "a b"},
		{"name that is taken", []string{"account", "create", "test", config}, "test"},
		{"balance that is no number", []string{"account", "create", "x", "--balance", "1e3", config}, "--balance"},
		{"balance below zero", []string{"account", "create", "x", "--balance=-1", config}, "-1"},
		{"balance of seven decimals", []string{"account", "create", "x", "--balance", "0.0000001", config}, "--balance"},
		{"unknown account shown", []string{"account", "show", "nobody", config}, "nobody"},
		{"no account", []string{"token", "issue", config}, "--account"},
		{"unknown account", []string{"token", "issue", "--account", "nobody", config}, "nobody"},
		{"unknown scope", []string{"token", "issue", "--account", "test", "--scope", "moon", config}, "moon"},
		{"scope for writing", []string{"token", "issue", "--account", "test", "--scope", "maps:write", config}, "maps:write"},
		{"empty scope", []string{"token", "issue", "--account", "test", "--scope", "", config}, "--scope"},
		{"expiry that is no duration", []string{"token", "issue", "--account", "test", "--expires", "soon", config}, "--expires"},
		{"expiry in the past", []string{"token", "issue", "--account", "test", "--expires=-1h", config}, "--expires"},
		{"unknown token", []string{"token", "revoke", "tok_none", config}, "tok_none"},
		{"value instead of id", []string{"token", "revoke", g.token, config}, "ID"},
		{"no configuration", []string{"token", "list", "--config", filepath.Join(g.dir, "none")}, "none"},
		{"no gateway in the configuration", []string{"token", "list", "--config", write("other.caddyfile", "localhost\n")}, "gateway"},
		{"broken Caddyfile", []string{"token", "list", "--config", write("broken.caddyfile", "{\n\tgateway {\n\t\tfrobnicate\n\t}\n}\n")}, "broken.caddyfile:3"},
		{"broken JSON", []string{"token", "list", "--config", write("broken.json", "{")}, "broken.json"},
		{"unknown adapter", []string{"token", "list", config, "--adapter", "frobnicate"}, "frobnicate"},
		{"store that is a folder", []string{"token", "list", "--config", write("folder.caddyfile", "{\n\tgateway {\n\t\tstore sqlite "+g.dir+"\n\t}\n}\n")}, g.dir},
		{"store that is no database", []string{"token", "list", "--config", write("text.caddyfile", "{\n\tgateway {\n\t\tstore sqlite "+write("text.db", strings.Repeat("text\n", 1000))+"\n\t}\n}\n")}, "text.db"},
	} {
		t.Run("fail/"+row.name, func(t *testing.T) {
			r := g.run(t, append([]string{"gateway"}, row.args...)...)
			if r.code == 0 {
				t.Error("exit code 0")
			}
			if r.stdout != "" {
				t.Errorf("stdout %q, want nothing", r.stdout)
			}
			line, isLine := strings.CutSuffix(r.stderr, "\n")
			if !isLine || line == "" || strings.Contains(line, "\n") {
				t.Errorf("stderr %q, want one line", r.stderr)
			}
			if !strings.Contains(line, row.want) {
				t.Errorf("stderr %q, want it to name %q", line, row.want)
			}
			if strings.Contains(r.stderr, g.token) {
				t.Error("stderr shows a token")
			}
		})
	}
}
