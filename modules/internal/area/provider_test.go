package area

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

func init() {
	caddy.RegisterModule(guest{})
	caddy.RegisterModule(mute{})
}

type named interface{ DisplayName() string }

// guest is a provider that fits and has one option.
type guest struct {
	Key string `json:"key,omitempty"`
}

func (guest) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "gateway.test.guest", New: func() caddy.Module { return new(guest) }}
}

func (g *guest) DisplayName() string { return "Guest" }

func (g *guest) Validate() error {
	if g.Key == "bad" {
		return errors.New("key is bad")
	}
	return nil
}

func (g *guest) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	for d.NextBlock(0) {
		if d.Val() != "key" {
			return d.Errf("unrecognized subdirective '%s'", d.Val())
		}
		if !d.AllArgs(&g.Key) {
			return d.ArgErr()
		}
	}
	return nil
}

// mute is a module in the right namespace that is no provider.
type mute struct{}

func (mute) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "gateway.test.mute", New: func() caddy.Module { return new(mute) }}
}

type host struct {
	ProviderRaw json.RawMessage `json:"provider,omitempty" caddy:"namespace=gateway.test inline_key=name"`
}

func TestLoadProvider(t *testing.T) {
	for _, tc := range []struct{ name, raw, want string }{
		{"ok/plain", `{"name":"guest","key":"s3cr3t"}`, ""},
		{"fail/none", ``, "provider is required"},
		{"fail/no name", `{"key":"s3cr3t"}`, "provider: the key 'name' is missing"},
		{"fail/empty name", `{"name":"","key":"s3cr3t"}`, "provider: the key 'name' is missing"},
		{"fail/name is a number", `{"name":1,"key":"s3cr3t"}`, "provider: the key 'name' is missing"},
		{"fail/name in capitals", `{"NAME":"guest","key":"s3cr3t"}`, "provider: the key 'name' is missing"},
		{"fail/null", `null`, "provider: the key 'name' is missing"},
		{"fail/a string", `"s3cr3t"`, "provider: the key 'name' is missing"},
		{"fail/not JSON", `{"key":"s3cr3t`, "provider: the key 'name' is missing"},
		{"fail/unknown provider", `{"name":"nobody","key":"s3cr3t"}`, "loading module 'nobody': unknown module: gateway.test.nobody"},
		{"fail/unknown option", `{"name":"guest","keys":"s3cr3t"}`, `unknown field "keys"`},
		{"fail/refused option", `{"name":"guest","key":"bad"}`, "gateway.test.guest: invalid configuration: key is bad"},
		{"fail/no provider", `{"name":"mute"}`, "provider 'mute' (*area.mute) does not implement area.named"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
			defer cancel()
			h := &host{ProviderRaw: json.RawMessage(tc.raw)}
			p, err := LoadProvider[named](ctx, h, h.ProviderRaw)
			if tc.want == "" {
				if err != nil || p == nil || p.DisplayName() != "Guest" {
					t.Errorf("LoadProvider = %v, %v", p, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error is %v, want %q", err, tc.want)
			}
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("error shows a secret: %v", err)
			}
		})
	}
}

func TestUnmarshalBlock(t *testing.T) {
	for _, tc := range []struct{ name, input, want, err string }{
		{"ok/name", "gateway_test {\n provider guest\n}", `{"name":"guest"}`, ""},
		{"ok/options", "gateway_test {\n provider guest {\n key abc\n }\n}", `{"key":"abc","name":"guest"}`, ""},
		{"fail/no block", "gateway_test", "", "a provider is required, as in: provider <name> { … }, at Testfile:1"},
		{"fail/empty block", "gateway_test {\n}", "", "a provider is required"},
		{"fail/argument", "gateway_test x {\n provider guest\n}", "", "wrong argument count or unexpected line ending after 'x', at Testfile:1"},
		{"fail/no name", "gateway_test {\n provider\n}", "", "wrong argument count or unexpected line ending after 'provider', at Testfile:2"},
		{"fail/unknown subdirective", "gateway_test {\n providers guest\n}", "", "unrecognized subdirective 'providers'; allowed: provider, at Testfile:2"},
		{"fail/unknown provider", "gateway_test {\n provider nobody\n}", "", "unknown provider 'nobody'; compiled in: guest, mute, at Testfile:2"},
		{"fail/provider without Caddyfile", "gateway_test {\n provider mute\n}", "", "module gateway.test.mute is not a Caddyfile unmarshaler; is *area.mute"},
		{"fail/two providers", "gateway_test {\n provider guest\n provider guest\n}", "", "option 'provider' is given twice; an area has one provider, at Testfile:3"},
		{"fail/option of the provider", "gateway_test {\n provider guest {\n lock x\n }\n}", "", "unrecognized subdirective 'lock', at Testfile:3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var raw json.RawMessage
			err := UnmarshalBlock(caddyfile.NewTestDispenser(tc.input), "gateway.test", &raw)
			if tc.err == "" {
				if err != nil || string(raw) != tc.want {
					t.Errorf("UnmarshalBlock = %s, %v", raw, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error is %v, want %q", err, tc.err)
			}
		})
	}
}
