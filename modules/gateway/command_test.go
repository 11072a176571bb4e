package gateway_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/modules/gateway"
)

// command runs `gateway` in this process and returns what it printed.
func command(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	root := gateway.NewCommand()
	var out, errOut strings.Builder
	root.SetOut(&out)
	root.SetErr(&errOut)
	root.SetArgs(append([]string{"gateway"}, args...))
	err = root.ExecuteContext(t.Context())
	return out.String(), errOut.String(), err
}

// succeed runs a command that must neither fail nor print on stderr.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, err := command(t, args...)
	if err != nil || stderr != "" {
		t.Fatalf("%q: %v, stderr %q", args, err, stderr)
	}
	return stdout
}

// configuration writes a configuration file for a new store and returns its path.
func configuration(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

const someCaddyfile = "{\n\tgateway {\n\t\tstore sqlite DIR/store.db\n\t}\n}\n"

var (
	accountLine = regexp.MustCompile(`^\{"id":"acc_[a-z2-7]{16}","name":"([^"]+)","balance":"([^"]+)","available":"([^"]+)","created":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"\}\n$`)
	tokenLine   = regexp.MustCompile(`^fgt_[0-9A-Za-z]{33}\n$`)
)

func TestCommandAccount(t *testing.T) {
	config := configuration(t, "Caddyfile", someCaddyfile)
	for name, balance := range map[string]string{"zeta": "100", "Acme_1.x-y": "0.25", "poor": "0"} {
		got := succeed(t, "account", "create", name, "--balance", "0"+balance, "--json", "--config", config)
		if m := accountLine.FindStringSubmatch(got); m == nil || m[1] != name || m[2] != balance || m[3] != balance {
			t.Errorf("created %q", got)
		}
		if shown := succeed(t, "account", "show", name, "--json", "-c", config); shown != got {
			t.Errorf("shown %q, created %q", shown, got)
		}
	}
	var list []map[string]any
	if err := json.Unmarshal([]byte(succeed(t, "account", "list", "--json", "--config", config)), &list); err != nil || len(list) != 3 {
		t.Errorf("list %v, %v", list, err)
	}

	table := strings.Split(succeed(t, "account", "list", "--config", config), "\n")
	if len(table) != 5 || strings.Join(strings.Fields(table[0]), " ") != "ID NAME BALANCE AVAILABLE CREATED" {
		t.Fatalf("table %q", table)
	}
	for _, row := range table[1:4] {
		if !strings.Contains(row, "20") || len(strings.Fields(row)) != 5 || len(row) != len(table[1]) {
			t.Errorf("row %q", row)
		}
	}
	if row := succeed(t, "account", "create", "plain", "--config", config); !strings.HasPrefix(row, "ID ") || !strings.Contains(row, "plain  0 ") {
		t.Errorf("created %q", row)
	}
}

func TestCommandToken(t *testing.T) {
	config := configuration(t, "Caddyfile", someCaddyfile)
	succeed(t, "account", "create", "acme", "--config", config)
	if got := succeed(t, "token", "list", "--json", "--config", config); got != "[]\n" {
		t.Errorf("no tokens: %q", got)
	}

	plain := succeed(t, "token", "issue", "--account", "acme", "--config", config)
	if !tokenLine.MatchString(plain) {
		t.Errorf("issued %q, want the token alone", plain)
	}
	before := time.Now().Truncate(time.Second)
	var issued map[string]any
	text := succeed(t, "token", "issue", "--account", "acme", "--scope", "maps", "--scope", "accounting:read", "--expires", "90d", "--json", "--config", config)
	if err := json.Unmarshal([]byte(text), &issued); err != nil {
		t.Fatal(err)
	}
	value, _ := issued["token"].(string)
	if !tokenLine.MatchString(value + "\n") {
		t.Errorf("issued %q", text)
	}
	delete(issued, "token")
	created, err := time.Parse(time.RFC3339, issued["created"].(string))
	if err != nil || created.Before(before) {
		t.Errorf("created %v, %v", issued["created"], err)
	}
	expires, err := time.Parse(time.RFC3339, issued["expires"].(string))
	if err != nil || expires.Sub(created) != 90*24*time.Hour {
		t.Errorf("expires %v, %v", issued["expires"], err)
	}

	text = succeed(t, "token", "list", "--json", "--config", config)
	var list []map[string]any
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list) != 2 {
		t.Fatalf("list %q, %v", text, err)
	}
	if strings.Contains(text, strings.TrimSpace(plain)) || strings.Contains(text, value) {
		t.Errorf("the list holds the value of a token: %q", text)
	}
	want, _ := json.Marshal(issued)
	if got, _ := json.Marshal(list[1]); string(got) != string(want) || len(list[1]) != 8 {
		t.Errorf("listed %s, issued %s", got, want)
	}
	if list[1]["account"] != "acme" || list[1]["last4"] != value[len(value)-4:] {
		t.Errorf("listed %v", list[1])
	}
	if list[0]["expires"] != nil || list[0]["last_used"] != nil || list[0]["revoked"] != nil {
		t.Errorf("a new token: %v", list[0])
	}
	if scopes, ok := list[0]["scopes"].([]any); !ok || len(scopes) != 0 {
		t.Errorf("scopes of a token without: %v", list[0]["scopes"])
	}

	id := list[0]["id"].(string)
	for range 2 { // revoking again is no error
		text = succeed(t, "token", "revoke", id, "--json", "--config", config)
		var revoked map[string]any
		if err := json.Unmarshal([]byte(text), &revoked); err != nil || revoked["id"] != id || revoked["revoked"] == nil {
			t.Errorf("revoked %q, %v", text, err)
		}
	}
	table := strings.Split(succeed(t, "token", "list", "--config", config), "\n")
	if len(table) != 4 || !strings.HasPrefix(table[0], "ID ") || !strings.Contains(table[1], "  all ") || !strings.Contains(table[2], "accounting:read,maps") {
		t.Errorf("table %q", table)
	}
}

func TestCommandConfiguration(t *testing.T) {
	const someJSON = `{"apps":{"gateway":{"store":{"backend":"sqlite","path":"{env.FLEETGATE_TEST_FOLDER}/store.db"}}}}`
	for name, file := range map[string][2]string{
		"Caddyfile":             {"Caddyfile", someCaddyfile},
		"Caddyfile with a name": {"Caddyfile.prod", someCaddyfile},
		"extension":             {"site.caddyfile", someCaddyfile},
		"JSON":                  {"caddy.json", someJSON},
		"JSON without a name":   {"config", someJSON},
		"variable":              {"Caddyfile", strings.Replace(someCaddyfile, "DIR", "{$FLEETGATE_TEST_FOLDER}", 1)},
		"placeholder":           {"Caddyfile", strings.Replace(someCaddyfile, "DIR", "{env.FLEETGATE_TEST_FOLDER}", 1)},
	} {
		t.Run("ok/"+name, func(t *testing.T) {
			config := configuration(t, file[0], file[1])
			t.Setenv("FLEETGATE_TEST_FOLDER", filepath.Dir(config))
			succeed(t, "account", "create", "acme", "--config", config)
			if _, err := os.Stat(filepath.Join(filepath.Dir(config), "store.db")); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("ok/adapter", func(t *testing.T) {
		config := configuration(t, "site.conf", someCaddyfile)
		succeed(t, "account", "create", "acme", "--config", config, "--adapter", "caddyfile")
	})
	t.Run("ok/Caddyfile of the working directory", func(t *testing.T) {
		t.Chdir(filepath.Dir(configuration(t, "Caddyfile", someCaddyfile)))
		succeed(t, "account", "create", "acme")
		succeed(t, "account", "list")
	})
	t.Run("ok/help", func(t *testing.T) {
		for _, args := range [][]string{{}, {"account"}, {"token"}, {"token", "issue", "--help"}} {
			if got := succeed(t, args...); !strings.Contains(got, "Usage:") {
				t.Errorf("%q: %q", args, got)
			}
		}
	})
}

func TestCommandFailures(t *testing.T) {
	config := configuration(t, "Caddyfile", someCaddyfile)
	succeed(t, "account", "create", "acme", "--config", config)
	value := strings.TrimSpace(succeed(t, "token", "issue", "--account", "acme", "--config", config))

	tests := []struct {
		name string
		args []string
		file [2]string // configuration other than the usual one
		want string
		not  string
	}{
		{name: "unknown command", args: []string{"acount"}, want: `unknown command "acount" for "fleetgate gateway": use account, token`},
		{name: "unknown subcommand", args: []string{"token", "make"}, want: `unknown command "make" for "fleetgate gateway token": use issue, list, revoke`},
		{name: "unknown flag", args: []string{"account", "list", "--yaml"}, want: "unknown flag: --yaml"},
		{name: "name is missing", args: []string{"account", "create"}, want: "fleetgate gateway account create needs the NAME of the account"},
		{name: "id is missing", args: []string{"token", "revoke"}, want: "needs the ID of the token"},
		{name: "too many arguments", args: []string{"account", "show", "acme", "zeta"}, want: `fleetgate gateway account show does not take "zeta"`},
		{name: "list takes none", args: []string{"token", "list", "acme"}, want: `does not take "acme"`},
		{name: "account exists", args: []string{"account", "create", "acme"}, want: `account "acme": already exists`},
		{name: "account is missing", args: []string{"account", "show", "nobody"}, want: `account "nobody": not found`},
		{name: "name begins with a dot", args: []string{"account", "create", ".acme"}, want: `".acme" is not a name for an account`},
		{name: "name with a space", args: []string{"account", "create", "a b"}, want: "use 1 to 64 letters, digits, dots"},
		{name: "name with a line break", args: []string{"account", "create", "a\nb"}, want: `"a\nb" is not a name`},
		{name: "name is empty", args: []string{"account", "create", ""}, want: `"" is not a name`},
		{name: "name is too long", args: []string{"account", "create", strings.Repeat("a", 65)}, want: "is not a name"},
		{name: "balance is no number", args: []string{"account", "create", "x", "--balance", "ten"}, want: `--balance: "ten" is not an amount`},
		{name: "balance is negative", args: []string{"account", "create", "x", "--balance=-1"}, want: "-1 is not a balance to begin with"},
		{name: "balance is too fine", args: []string{"account", "create", "x", "--balance", "0.0000001"}, want: "more than 6 decimals"},
		{name: "balance is too large", args: []string{"account", "create", "x", "--balance", "99999999999999"}, want: "too large"},
		{name: "token for nobody", args: []string{"token", "issue", "--account", "nobody"}, want: `account "nobody": not found`},
		{name: "token without account", args: []string{"token", "issue"}, want: "--account is missing"},
		{name: "unknown scope", args: []string{"token", "issue", "--account", "acme", "--scope", "billing"}, want: `--scope: unknown scope "billing": use one of accounting, maps, telematics, fuel, maintenance, with or without :read`},
		{name: "empty scope", args: []string{"token", "issue", "--account", "acme", "--scope", ""}, want: `unknown scope ""`},
		{name: "lifetime is no duration", args: []string{"token", "issue", "--account", "acme", "--expires", "soon"}, want: `--expires: "soon" is not a duration`},
		{name: "lifetime is empty", args: []string{"token", "issue", "--account", "acme", "--expires", ""}, want: `--expires: "" is not a duration`},
		{name: "lifetime is negative", args: []string{"token", "issue", "--account", "acme", "--expires", "-1d"}, want: "is not a duration of a second or more"},
		{name: "unknown token", args: []string{"token", "revoke", "tok_x"}, want: `token "tok_x": not found`},
		{name: "value in place of the id", args: []string{"token", "revoke", value}, want: "name its ID", not: value},

		{name: "no such file", args: []string{"account", "list", "--config", "nowhere/Caddyfile"}, want: "reading the configuration: open nowhere/Caddyfile: no such file or directory (name the file with --config)"},
		{name: "Caddyfile with an error", args: []string{"account", "list"}, file: [2]string{"Caddyfile", "{\n\tgateway {\n\t\tstor sqlite\n\t}\n}\n"}, want: "unrecognized subdirective 'stor' of 'gateway': use store,"},
		{name: "Caddyfile without the gateway", args: []string{"account", "list"}, file: [2]string{"Caddyfile", ":80\n"}, want: "the gateway is not configured: the global option 'gateway'"},
		{name: "not JSON", args: []string{"account", "list"}, file: [2]string{"site.conf", someCaddyfile}, want: "name its adapter with --adapter"},
		{name: "unknown adapter", args: []string{"account", "list", "--adapter", "toml"}, want: `there is no config adapter named "toml"`},
		{name: "unknown option in JSON", args: []string{"account", "list"}, file: [2]string{"c.json", `{"apps":{"gateway":{"stores":1}}}`}, want: `unknown field "stores"`},
		{name: "store without a kind", args: []string{"account", "list"}, file: [2]string{"c.json", `{"apps":{"gateway":{"store":{"dsn":"s3cret"}}}}`}, want: `whose key "backend" names the kind of store: use sqlite`, not: "s3cret"},
		{name: "unknown kind of store", args: []string{"account", "list"}, file: [2]string{"c.json", `{"apps":{"gateway":{"store":{"backend":"oracle"}}}}`}, want: "unknown module: gateway.store.oracle"},
		{name: "store is a directory", args: []string{"account", "list"}, file: [2]string{"Caddyfile", "{\n\tgateway {\n\t\tstore sqlite DIR\n\t}\n}\n"}, want: "it is a directory; name a file"},
		{name: "store is no database", args: []string{"account", "list"}, file: [2]string{"Caddyfile", "{\n\tgateway {\n\t\tstore sqlite DIR/Caddyfile\n\t}\n}\n"}, want: "file is not a database"},
	}
	for _, tt := range tests {
		t.Run("fail/"+tt.name, func(t *testing.T) {
			args := tt.args
			switch {
			case tt.file[0] != "":
				args = append(args, "--config", configuration(t, tt.file[0], tt.file[1]))
			case len(args) > 1 && !strings.Contains(strings.Join(args, " "), "--config"):
				args = append(args, "--config", config)
			}
			stdout, stderr, err := command(t, args...)
			if err == nil || stdout != "" {
				t.Fatalf("it succeeded with %q", stdout)
			}
			if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "Error: ") || !strings.Contains(stderr, tt.want) {
				t.Errorf("stderr %q, want one line with %q", stderr, tt.want)
			}
			if tt.not != "" && strings.Contains(stderr, tt.not) {
				t.Errorf("stderr %q holds %q", stderr, tt.not)
			}
		})
	}
	t.Run("fail/no store is made for a command that is wrong", func(t *testing.T) {
		config := configuration(t, "Caddyfile", someCaddyfile)
		for _, args := range [][]string{
			{"account", "create", ".x"},
			{"account", "create", "x", "--balance", "ten"},
			{"token", "issue", "--account", "x", "--scope", "y"},
		} {
			if _, _, err := command(t, append(args, "--config", config)...); err == nil {
				t.Errorf("%q succeeded", args)
			}
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(config), "store.db")); err == nil {
			t.Error("a store was made")
		}
	})
	t.Run("fail/only an account makes a store", func(t *testing.T) {
		config := configuration(t, "Caddyfile", strings.Replace(someCaddyfile, "DIR", "DIR/sub", 1))
		for _, args := range [][]string{
			{"account", "list"},
			{"account", "show", "acme"},
			{"token", "issue", "--account", "acme"},
			{"token", "list"},
			{"token", "revoke", "tok_x"},
		} {
			_, stderr, err := command(t, append(args, "--config", config)...)
			if err == nil || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "sub/store.db does not exist: check --config, or make the store with `gateway account create`") {
				t.Errorf("%q: %v, stderr %q", args, err, stderr)
			}
		}
		if _, err := os.Stat(filepath.Join(filepath.Dir(config), "sub")); err == nil {
			t.Error("the directory of the store was made")
		}
	})
	t.Run("fail/exit status and one line of the real program", func(t *testing.T) {
		s := newSite(t)
		s.configure("store sqlite " + s.store())
		for _, args := range [][]string{{"gateway", "account", "show", "nobody"}, {"gateway", "acount"}, {"gateway", "token", "issue"}} {
			stdout, stderr, err := s.caddy(args...)
			if err == nil || err.Error() != "exit status 1" || stdout != "" || strings.Count(stderr, "\n") != 1 {
				t.Errorf("%q: %v, stdout %q, stderr %q", args, err, stdout, stderr)
			}
		}
		if out := s.must("gateway", "account", "create", "acme", "--json"); strings.Count(out, "\n") != 0 {
			t.Errorf("stdout %q", out)
		}
	})
}
