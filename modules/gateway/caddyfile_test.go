package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig"
)

// adapt returns the JSON of the app that a Caddyfile gives.
func adapt(text string) (string, error) {
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	if err != nil {
		return "", err
	}
	var apps struct {
		Apps struct {
			Gateway json.RawMessage `json:"gateway"`
		} `json:"apps"`
	}
	err = json.Unmarshal(config, &apps)
	return string(apps.Apps.Gateway), err
}

func TestCaddyfile(t *testing.T) {
	tests := []struct{ name, block, want string }{
		{"ok/nothing", "gateway", `{}`},
		{"ok/empty block", "gateway {\n}", `{}`},
		{"ok/default path", "gateway {\nstore sqlite\n}", `{"store":{"backend":"sqlite"}}`},
		{"ok/path", "gateway {\nstore sqlite /var/lib/fleetgate.db\n}", `{"store":{"backend":"sqlite","path":"/var/lib/fleetgate.db"}}`},
		{"ok/path in a block", "gateway {\nstore sqlite {\npath {env.DATA}/x.db\n}\n}", `{"store":{"backend":"sqlite","path":"{env.DATA}/x.db"}}`},
		{
			"ok/everything", "gateway {\ntoken_cache_ttl 30s\ntoken_max_stale 1d\nrevocation_poll 100ms\nstore sqlite x.db\n}",
			`{"revocation_poll":100000000,"store":{"backend":"sqlite","path":"x.db"},"token_cache_ttl":30000000000,"token_max_stale":86400000000000}`,
		},

		{"fail/argument", "gateway here", "unexpected argument 'here': 'gateway' takes a block"},
		{"fail/twice", "gateway\ngateway", "the global option 'gateway' is given twice, at Caddyfile:3"},
		{"fail/unknown option", "gateway {\nstores sqlite\n}", "unrecognized subdirective 'stores' of 'gateway': use store, token_cache_ttl, token_max_stale or revocation_poll, at Caddyfile:3"},
		{"fail/option twice", "gateway {\ntoken_cache_ttl 1s\ntoken_cache_ttl 1s\n}", "the option 'token_cache_ttl' is given twice, at Caddyfile:4"},
		{"fail/store twice", "gateway {\nstore sqlite\nstore sqlite\n}", "the option 'store' is given twice, at Caddyfile:4"},
		{"fail/store without a kind", "gateway {\nstore\n}", "'store' needs the kind of store: use sqlite or test_store, at Caddyfile:3"},
		{"fail/unknown store", "gateway {\nstore oracle\n}", "unknown kind of store 'oracle': use sqlite or test_store, at Caddyfile:3"},
		{"fail/two paths", "gateway {\nstore sqlite a b\n}", "unexpected argument 'b': 'store sqlite' takes one path, at Caddyfile:3"},
		{"fail/path twice", "gateway {\nstore sqlite a {\npath b\n}\n}", "the path is given twice, at Caddyfile:4"},
		{"fail/path without a value", "gateway {\nstore sqlite {\npath\n}\n}", "'path' takes one argument, the path of the database file, at Caddyfile:4"},
		{"fail/path with two values", "gateway {\nstore sqlite {\npath a b\n}\n}", "unexpected argument 'b': 'path' takes one path, at Caddyfile:4"},
		{"fail/empty path", "gateway {\nstore sqlite \"\"\n}", "the path is empty, at Caddyfile:3"},
		{"fail/empty path in a block", "gateway {\nstore sqlite {\npath \"\"\n}\n}", "the path is empty, at Caddyfile:4"},
		{"fail/unknown option of the store", "gateway {\nstore sqlite {\nmode wal\n}\n}", "unrecognized subdirective 'mode' of 'store sqlite': use path, at Caddyfile:4"},
		{"fail/duration missing", "gateway {\ntoken_cache_ttl\n}", "'token_cache_ttl' takes one argument, a duration such as 250ms, 90s or 15m, at Caddyfile:3"},
		{"fail/two durations", "gateway {\ntoken_max_stale 1m 2m\n}", "'token_max_stale' takes one argument"},
		{"fail/no duration", "gateway {\nrevocation_poll often\n}", "'often' is not a positive duration: 'revocation_poll' takes one such as 250ms, 90s or 15m, at Caddyfile:3"},
		{"fail/negative duration", "gateway {\nrevocation_poll -1s\n}", "'-1s' is not a positive duration"},
		{"fail/zero duration", "gateway {\ntoken_cache_ttl 0\n}", "'0' is not a positive duration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := adapt("{\n" + tt.block + "\n}\n")
			if strings.HasPrefix(tt.name, "ok/") {
				var want, have any
				if err != nil || json.Unmarshal([]byte(tt.want), &want) != nil || json.Unmarshal([]byte(got), &have) != nil {
					t.Fatalf("%s, %v", got, err)
				}
				if a, _ := json.Marshal(have); string(a) != tt.want {
					t.Errorf("got %s, want %s", a, tt.want)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}
