package fleetrock

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

func TestUnmarshalCaddyfile(t *testing.T) {
	for name, row := range map[string]struct{ input, want string }{
		"ok/no block":    {`fleetrock`, `{}`},
		"ok/empty block": {"fleetrock {\n}", `{}`},
		"ok/all options": {
			`fleetrock {
				session_ttl 5m
				key_as_token
				base_url {env.FLEETROCK_URL}
				display_name "Repairs"
				timeout 30s
				max_body 1MiB
				transport http {
					dial_timeout 3s
				}
			}`,
			`{"base_url":"{env.FLEETROCK_URL}","display_name":"Repairs","timeout":30000000000,"max_body":1048576,` +
				`"transport":{"dial_timeout":3000000000,"protocol":"http"},"session_ttl":300000000000,"key_as_token":true}`,
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
		"fail/argument":               {`fleetrock now`, "wrong argument count"},
		"fail/unknown":                {"fleetrock {\n\tsession 5m\n}", "unrecognized subdirective 'session'"},
		"fail/unknown, what there is": {"fleetrock {\n\tsession 5m\n}", "session_ttl"},
		"fail/file and line":          {"fleetrock {\n\tsession 5m\n}", "Testfile:2"},
		"fail/no duration":            {"fleetrock {\n\tsession_ttl\n}", "wrong argument count"},
		"fail/two durations":          {"fleetrock {\n\tsession_ttl 1m 2m\n}", "wrong argument count"},
		"fail/bad duration":           {"fleetrock {\n\tsession_ttl soon\n}", "session_ttl must be a duration above zero, such as 30s, not 'soon'"},
		"fail/negative duration":      {"fleetrock {\n\tsession_ttl -1m\n}", "session_ttl must be a duration above zero"},
		"fail/twice":                  {"fleetrock {\n\tsession_ttl 1m\n\tsession_ttl 1m\n}", "option 'session_ttl' is given twice"},
		"fail/flag with argument":     {"fleetrock {\n\tkey_as_token off\n}", "wrong argument count"},
		"fail/flag twice":             {"fleetrock {\n\tkey_as_token\n\tkey_as_token\n}", "option 'key_as_token' is given twice"},
		"fail/option of all, twice":   {"fleetrock {\n\ttimeout 1m\n\ttimeout 1m\n}", "option 'timeout' is given twice"},
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
