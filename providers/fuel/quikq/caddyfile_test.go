package quikq

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

func TestUnmarshalCaddyfile(t *testing.T) {
	for name, row := range map[string]struct{ input, want string }{
		"ok/no block":    {`quikq`, `{}`},
		"ok/empty block": {"quikq {\n}", `{}`},
		"ok/all options": {
			`quikq {
				session_ttl 5m
				base_url {env.QUIKQ_URL}
				display_name "Fuel cards"
				timeout 30s
				max_body 1MiB
				transport http {
					dial_timeout 3s
				}
			}`,
			`{"base_url":"{env.QUIKQ_URL}","display_name":"Fuel cards","timeout":30000000000,"max_body":1048576,` +
				`"transport":{"dial_timeout":3000000000,"protocol":"http"},"session_ttl":300000000000}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var p Provider
			if err := p.UnmarshalCaddyfile(caddyfile.NewTestDispenser(row.input)); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(&p)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != row.want {
				t.Errorf("config is %s\nwant %s", got, row.want)
			}
		})
	}

	for name, row := range map[string]struct{ input, want string }{
		"fail/argument":               {`quikq now`, "wrong argument count"},
		"fail/unknown":                {"quikq {\n\tsession 5m\n}", "unrecognized subdirective 'session'"},
		"fail/unknown, what there is": {"quikq {\n\tsession 5m\n}", "session_ttl"},
		"fail/file and line":          {"quikq {\n\tsession 5m\n}", "Testfile:2"},
		"fail/no duration":            {"quikq {\n\tsession_ttl\n}", "wrong argument count"},
		"fail/two durations":          {"quikq {\n\tsession_ttl 1m 2m\n}", "wrong argument count"},
		"fail/bad duration":           {"quikq {\n\tsession_ttl soon\n}", "session_ttl must be a duration above zero, such as 30s, not 'soon'"},
		"fail/negative duration":      {"quikq {\n\tsession_ttl -1m\n}", "session_ttl must be a duration above zero"},
		"fail/twice":                  {"quikq {\n\tsession_ttl 1m\n\tsession_ttl 1m\n}", "option 'session_ttl' is given twice"},
		"fail/option of all, twice":   {"quikq {\n\ttimeout 1m\n\ttimeout 1m\n}", "option 'timeout' is given twice"},
	} {
		t.Run(name, func(t *testing.T) {
			var p Provider
			err := p.UnmarshalCaddyfile(caddyfile.NewTestDispenser(row.input))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %v, want %q", err, row.want)
			}
		})
	}
}
