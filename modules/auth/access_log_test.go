package auth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// TestAccessLog runs a whole server, because only it writes the access log.
func TestAccessLog(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	config, err := adapt(fmt.Sprintf(`{
	admin off
	persist_config off
	auto_https off
	log {
		level ERROR
	}
	gateway {
		store sqlite %[1]s/store.db
	}
}

http://%[2]s {
	log {
		output file %[1]s/access.log
	}
	header X-Site %[1]s
	gateway_auth
	respond /known "{http.vars.request_id} {http.auth.user.id}"
}
`, dir, address))
	if err != nil {
		t.Fatal(err)
	}
	issue(t, filepath.Join(dir, "store.db"))
	if err := caddy.Load([]byte(config), true); err != nil {
		t.Fatal(err)
	}
	for path, token := range map[string]string{"/known": goodToken, "/unknown": revokedToken} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("X-Request-Id", "id-of"+path)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if response.Header.Get("X-Site") != dir {
			t.Fatalf("another process answers on %s too", address)
		}
		body, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			t.Fatal(err)
		}
		if path == "/known" && string(body) != "id-of/known acme" {
			t.Errorf("%s: %q", path, body)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(filepath.Join(dir, "access.log"))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]map[string]any{}
	for line := range strings.Lines(string(text)) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatal(err)
		}
		lines[fields["request"].(map[string]any)["uri"].(string)] = fields
	}
	known, unknown := lines["/known"], lines["/unknown"]
	if known["user_id"] != "acme" || known["account"] != "acme" || known["request_id"] != "id-of/known" || known["auth"] != nil {
		t.Errorf("known caller: %v", known)
	}
	if unknown["user_id"] != "" || unknown["account"] != nil || unknown["request_id"] != "id-of/unknown" || unknown["auth"] != "revoked" || unknown["status"] != 404.0 {
		t.Errorf("unknown caller: %v", unknown)
	}
	for _, token := range []string{goodToken, revokedToken} {
		if strings.Contains(string(text), token) {
			t.Errorf("the access log holds a token:\n%s", text)
		}
	}
}
