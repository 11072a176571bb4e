package gateway_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/gateway"
)

func TestReload(t *testing.T) {
	t.Run("ok/same store", func(t *testing.T) {
		s := newSite(t)
		config := s.configure("store sqlite " + s.store())
		token := s.issue("acme")
		s.serve(config)
		opened := gateway.OpenedStore(s.identity())
		s.expect("/api/area/x", token, "200 acme")

		finish := s.hold(token)
		for _, options := range []string{"token_cache_ttl 10s", "revocation_poll 100ms", "token_max_stale 1h"} {
			s.load(s.configure("store sqlite " + s.store() + "\n" + options))
			if now := gateway.OpenedStore(s.identity()); now != opened {
				t.Errorf("%s: the store was opened anew", options)
			}
			if n := gateway.References(s.identity()); n != 1 {
				t.Errorf("%s: %d references, want 1", options, n)
			}
			s.expect("/api/area/x", token, "200 acme")
			s.expect("/readyz", "", `200 {"status":"ready"}`)
		}
		finish("200 acme")
		s.expect("/api/area/x", s.issue("other"), "200 other")
	})

	t.Run("ok/another store", func(t *testing.T) {
		s := newSite(t)
		config := s.configure("store sqlite " + s.store())
		token := s.issue("acme")
		s.serve(config)
		finish := s.hold(token)

		s.load(s.configure("store sqlite " + s.store() + ".2"))
		if n := gateway.References(s.identity()); n != 0 {
			t.Errorf("%d references to the old store", n)
		}
		if _, err := os.Stat(s.store() + "-wal"); err == nil {
			t.Error("the old store is still open")
		}
		s.expect("/api/area/x", token, "401 unknown")
		s.expect("/readyz", "", `200 {"status":"ready"}`)
		finish("200 acme")
	})

	t.Run("ok/stop", func(t *testing.T) {
		s := newSite(t)
		s.load(s.configure("store sqlite " + s.store()))
		if err := caddy.Stop(); err != nil {
			t.Fatal(err)
		}
		if n := gateway.References(s.identity()); n != 0 {
			t.Errorf("%d references", n)
		}
		if _, err := os.Stat(s.store() + "-wal"); err == nil {
			t.Error("the store is still open")
		}
	})

	rejected := []struct {
		name, options string
		change        func(s *site, config map[string]any)
		want          string
	}{
		{
			name: "before the runtime is acquired",
			// Provision fails and Caddy calls Cleanup all the same.
			change: func(_ *site, config map[string]any) {
				app(config)["store"] = map[string]any{"backend": "sqlite", "path": "{env.FLEETGATE_TEST_IS_NOT_SET}"}
			},
			want: "FLEETGATE_TEST_IS_NOT_SET",
		},
		{
			name:    "after the runtime is acquired",
			options: "revocation_poll 5s",
			want:    "revocation_poll: must be positive and at most 1s",
		},
		{
			name: "by a later module",
			change: func(_ *site, config map[string]any) {
				config["apps"].(map[string]any)["http"].(map[string]any)["servers"].(map[string]any)["srv0"].(map[string]any)["routes"] = []any{
					map[string]any{"handle": []any{map[string]any{"handler": "no_such_handler"}}},
				}
			},
			want: "no_such_handler",
		},
		{
			name: "by an app that does not start",
			change: func(_ *site, config map[string]any) {
				config["apps"].(map[string]any)["test_failing"] = map[string]any{}
			},
			want: "it never starts",
		},
		{
			name: "by a store that does not open",
			change: func(s *site, config map[string]any) {
				app(config)["store"] = map[string]any{"backend": "sqlite", "path": s.dir}
			},
			want: "it is a directory; name a file",
		},
	}
	for _, tt := range rejected {
		t.Run("fail/"+tt.name, func(t *testing.T) {
			s := newSite(t)
			config := s.configure("store sqlite " + s.store())
			token, other := s.issue("acme"), s.issue("other")
			s.serve(config)
			opened := gateway.OpenedStore(s.identity())
			s.expect("/api/area/x", token, "200 acme")
			finish := s.hold(token)

			var bad map[string]any
			if err := json.Unmarshal(s.configure("store sqlite "+s.store()+"\n"+tt.options), &bad); err != nil {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(s, bad)
			}
			text, err := json.Marshal(bad)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // apps start in random order
				if err := caddy.Load(text, true); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Fatalf("error %v, want one with %q", err, tt.want)
				}
			}

			if now := gateway.OpenedStore(s.identity()); now != opened || now == nil {
				t.Error("the store of the live configuration was closed")
			}
			if n := gateway.References(s.identity()); n != 1 {
				t.Errorf("%d references, want 1", n)
			}
			finish("200 acme")
			s.expect("/api/area/x", token, "200 acme")
			s.expect("/api/area/x", other, "200 other") // not in the cache yet
			s.expect("/readyz", "", `200 {"status":"ready"}`)
			// The live configuration still hears of revocations.
			s.configure("store sqlite " + s.store())
			s.must("gateway", "token", "revoke", s.idOf(other))
			s.await("/api/area/x", other, "401 revoked", time.Second)
		})
	}
}

// app returns the app gateway of a configuration.
func app(config map[string]any) map[string]any {
	return config["apps"].(map[string]any)["gateway"].(map[string]any)
}

// idOf returns the id of a token.
func (s *site) idOf(value string) string {
	s.t.Helper()
	var list []struct{ ID, Last4 string }
	if err := json.Unmarshal([]byte(succeed(s.t, "token", "list", "--json", "--config", s.caddyfile())), &list); err != nil {
		s.t.Fatal(err)
	}
	for _, token := range list {
		if strings.HasSuffix(value, token.Last4) {
			return token.ID
		}
	}
	s.t.Fatal("the token is not in the list")
	return ""
}

func TestOtherProcess(t *testing.T) {
	t.Run("ok/tokens and revocations from the command line", func(t *testing.T) {
		s := newSite(t)
		s.serve(s.configure("store sqlite " + s.store()))
		token := s.issue("acme")
		s.expect("/api/area/x", token, "200 acme")
		s.must("gateway", "token", "revoke", s.idOf(token))
		took := s.await("/api/area/x", token, "401 revoked", time.Second)
		t.Logf("the revocation held %v after the command", took)
	})
	t.Run("ok/validate beside a live server", func(t *testing.T) {
		s := newSite(t)
		config := s.configure("store sqlite " + s.store())
		token := s.issue("acme")
		s.serve(config)
		s.must("validate", "--config", s.caddyfile())
		s.expect("/api/area/x", token, "200 acme")
	})
	t.Run("ok/validate makes no store", func(t *testing.T) {
		s := newSite(t)
		s.configure("store sqlite " + filepath.Join(s.dir, "sub", "new.db"))
		s.must("validate", "--config", s.caddyfile())
		if _, err := os.Stat(filepath.Join(s.dir, "sub")); err == nil {
			t.Error("the directory of the store was made")
		}
	})
	t.Run("ok/the default store", func(t *testing.T) {
		s := newSite(t)
		s.serve(s.configure(""))
		token := s.issue("acme")
		s.expect("/api/area/x", token, "200 acme")
		if _, err := os.Stat(filepath.Join(s.dir, "data", "caddy", "fleetgate.db")); err != nil {
			t.Error(err)
		}
	})
	t.Run("ok/last use is noted when the server stops", func(t *testing.T) {
		s := newSite(t)
		config := s.configure("store sqlite " + s.store())
		token := s.issue("acme")
		s.load(config)
		s.expect("/api/area/x", token, "200 acme")
		if err := caddy.Stop(); err != nil {
			t.Fatal(err)
		}
		if list := succeed(t, "token", "list", "--json", "--config", s.caddyfile()); strings.Contains(list, `"last_used":null`) {
			t.Errorf("tokens %s", list)
		}
	})
	t.Run("fail/validate with a wrong option", func(t *testing.T) {
		s := newSite(t)
		s.configure("store sqlite " + s.store() + "\ntoken_max_stale 1s")
		_, stderr, err := s.caddy("validate", "--config", s.caddyfile())
		if err == nil || !strings.Contains(stderr, "token_max_stale: must not be less than token_cache_ttl, 1m0s") {
			t.Errorf("%v: %s", err, stderr)
		}
	})
	t.Run("fail/store damaged while the server runs", func(t *testing.T) {
		s := newSite(t)
		config := s.configure("store sqlite " + s.store())
		token := s.issue("acme")
		s.serve(config)
		s.expect("/api/area/x", token, "200 acme")
		if err := os.Rename(s.store(), s.store()+".away"); err != nil {
			t.Fatal(err)
		}
		s.expect("/readyz", "", `503 {"status":"unavailable","reason":"store"}`)
		s.expect("/healthz", "", `200 {"status":"ok"}`)
		s.expect("/api/area/x", token, "200 acme")
	})
}
