package outbound

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

func TestUnmarshalBlock(t *testing.T) {
	for _, tc := range []struct{ name, block, want, wantErr string }{
		{name: "ok/no block", block: `brand`, want: `{}`},
		{name: "ok/empty block", block: "brand {\n}", want: `{}`},
		{
			name: "ok/all",
			block: `brand {
				base_url {env.ROOT}
				display_name "Some Brand"
				timeout 2m
				max_body 1MiB
				own option
				transport http {
					dial_timeout 3s
				}
			}`,
			want: `{"base_url":"{env.ROOT}","display_name":"Some Brand","timeout":120000000000,"max_body":1048576,` +
				`"transport":{"dial_timeout":3000000000,"protocol":"http"},"own":"option"}`,
		},
		{name: "ok/transport without block", block: "brand {\n transport http\n}", want: `{"transport":{"protocol":"http"}}`},
		{name: "fail/argument", block: "brand extra", wantErr: "wrong argument count or unexpected line ending after 'extra'"},
		{name: "fail/unknown", block: "brand {\n base_ulr x\n}", wantErr: "unrecognized subdirective 'base_ulr'; allowed are own, base_url, display_name, timeout, max_body, transport"},
		{name: "fail/no value", block: "brand {\n base_url\n}", wantErr: "wrong argument count or unexpected line ending after 'base_url'"},
		{name: "fail/two values", block: "brand {\n timeout 1s 2s\n}", wantErr: "wrong argument count or unexpected line ending after '1s'"},
		{name: "fail/empty value", block: "brand {\n display_name \"\"\n}", wantErr: "the value must not be empty"},
		{name: "fail/block for a value", block: "brand {\n base_url http://a {\n x\n }\n}", wantErr: "unrecognized subdirective '{'"},
		{name: "fail/twice base_url", block: "brand {\n base_url http://a\n base_url http://b\n}", wantErr: "option 'base_url' is given twice"},
		{name: "fail/base_url of another scheme", block: "brand {\n base_url ftp://a\n}", wantErr: "base_url must be an absolute http or https URL, at Testfile:2"},
		{name: "fail/base_url with a password", block: "brand {\n base_url http://u:p@a\n}", wantErr: "base_url must not carry a user or password, at Testfile:2"},
		{name: "fail/twice display_name", block: "brand {\n display_name a\n display_name a\n}", wantErr: "option 'display_name' is given twice"},
		{name: "fail/twice timeout", block: "brand {\n timeout 1s\n timeout 1s\n}", wantErr: "option 'timeout' is given twice"},
		{name: "fail/twice max_body", block: "brand {\n max_body 1KB\n max_body 1KB\n}", wantErr: "option 'max_body' is given twice"},
		{name: "fail/twice transport", block: "brand {\n transport http\n transport http\n}", wantErr: "option 'transport' is given twice"},
		{name: "fail/twice own", block: "brand {\n own a\n own b\n}", wantErr: "option 'own' is given twice"},
		{name: "fail/timeout", block: "brand {\n timeout soon\n}", wantErr: "timeout must be a duration above zero, such as 30s, not 'soon'"},
		{name: "fail/timeout zero", block: "brand {\n timeout 0s\n}", wantErr: "timeout must be a duration above zero, such as 30s, not '0s'"},
		{name: "fail/timeout negative", block: "brand {\n timeout -5s\n}", wantErr: "timeout must be a duration above zero"},
		{name: "fail/max_body", block: "brand {\n max_body big\n}", wantErr: "max_body must be a size above zero, such as 64MiB, not 'big'"},
		{name: "fail/max_body zero", block: "brand {\n max_body 0\n}", wantErr: "max_body must be a size above zero"},
		{name: "fail/max_body absurd", block: "brand {\n max_body 2TiB\n}", wantErr: "max_body must be a size above zero"},
		{name: "fail/max_body no value", block: "brand {\n max_body\n}", wantErr: "wrong argument count or unexpected line ending after 'max_body'"},
		{name: "fail/transport no name", block: "brand {\n transport\n}", wantErr: "wrong argument count or unexpected line ending after 'transport'"},
		{name: "fail/transport other", block: "brand {\n transport fastcgi\n}", wantErr: "transport 'fastcgi' is not allowed here; only 'http' is"},
		{name: "fail/transport option", block: "brand {\n transport http {\n dial_timeuot 3s\n }\n}", wantErr: "dial_timeuot"},
		{name: "fail/transport argument", block: "brand {\n transport http extra\n}", wantErr: "wrong argument count or unexpected line ending after 'http'"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p struct {
				Client
				Own string `json:"own,omitempty"`
			}
			err := p.UnmarshalBlock(caddyfile.NewTestDispenser(tc.block), Option{
				Name: "own", Read: func(d *caddyfile.Dispenser) error { return OneString(d, &p.Own) },
			})
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error is %v, want %q", err, tc.wantErr)
				}
				if !strings.Contains(err.Error(), "Testfile:") {
					t.Errorf("the error does not tell file and line: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestOneNumber(t *testing.T) {
	for _, tc := range []struct {
		name, block string
		want        int
		wantErr     string
	}{
		{"ok/least", "brand {\n rows 1\n}", 1, ""},
		{"ok/most", "brand {\n rows 1000\n}", 1000, ""},
		{"fail/zero", "brand {\n rows 0\n}", 0, "rows must be a number from 1 to 1000, not '0'"},
		{"fail/more", "brand {\n rows 1001\n}", 0, "rows must be a number from 1 to 1000, not '1001'"},
		{"fail/negative", "brand {\n rows -1\n}", 0, "rows must be a number from 1 to 1000, not '-1'"},
		{"fail/no number", "brand {\n rows all\n}", 0, "rows must be a number from 1 to 1000, not 'all'"},
		{"fail/no value", "brand {\n rows\n}", 0, "wrong argument count or unexpected line ending after 'rows'"},
		{"fail/two values", "brand {\n rows 1 2\n}", 0, "wrong argument count or unexpected line ending after '1'"},
		{"fail/twice", "brand {\n rows 1\n rows 1\n}", 1, "option 'rows' is given twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c Client
			var rows int
			err := c.UnmarshalBlock(caddyfile.NewTestDispenser(tc.block), Option{
				Name: "rows", Read: func(d *caddyfile.Dispenser) error { return OneNumber(d, &rows, 1000) },
			})
			if rows != tc.want {
				t.Errorf("got %d, want %d", rows, tc.want)
			}
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Errorf("error is %v, want %q", err, tc.wantErr)
			}
		})
	}
}
