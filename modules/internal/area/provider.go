package area

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// LoadProvider loads the guest module of an area handler from its ProviderRaw field,
// whose contents are raw, and checks that it implements P.
func LoadProvider[P any](ctx caddy.Context, handler any, raw json.RawMessage) (P, error) {
	var none P
	if len(raw) == 0 {
		return none, errors.New("provider is required")
	}
	// Checked before loading, and by the exact spelling of the key as Caddy does:
	// Caddy's own error for a missing key prints the whole object, secrets included.
	var keys map[string]any
	err := json.Unmarshal(raw, &keys)
	name, _ := keys["name"].(string)
	if err != nil || name == "" {
		return none, errors.New("provider: the key 'name' is missing")
	}
	mod, err := ctx.LoadModule(handler, "ProviderRaw")
	if err != nil {
		return none, fmt.Errorf("loading provider '%s': %v", name, err)
	}
	provider, ok := mod.(P)
	if !ok {
		return none, fmt.Errorf("provider '%s' (%T) does not implement %s", name, mod, reflect.TypeFor[P]())
	}
	return provider, nil
}

// UnmarshalProvider reads the subdirective at the cursor, whose syntax is
//
//	provider <name> {
//	    <options of the provider>
//	}
//
// into raw. The name is that of a module in namespace.
func UnmarshalProvider(d *caddyfile.Dispenser, namespace string, raw *json.RawMessage) error {
	if *raw != nil {
		return d.Err("option 'provider' is given twice; an area has one provider")
	}
	if !d.NextArg() {
		return d.ArgErr()
	}
	name := d.Val()
	if _, err := caddy.GetModule(namespace + "." + name); err != nil {
		return d.Errf("unknown provider '%s'; compiled in: %s", name, cmp.Or(strings.Join(compiledIn(namespace), ", "), "none"))
	}
	mod, err := caddyfile.UnmarshalModule(d, namespace+"."+name)
	if err != nil {
		return err
	}
	*raw = caddyconfig.JSONModuleObject(mod, "name", name, nil)
	return nil
}

// compiledIn lists the names of the modules in a namespace.
func compiledIn(namespace string) []string {
	var names []string
	for _, info := range caddy.GetModules(namespace) {
		names = append(names, info.ID.Name())
	}
	return names
}

// UnmarshalBlock reads the block of an area handler whose only option is its
// provider. The cursor is in front of the directive's name.
func UnmarshalBlock(d *caddyfile.Dispenser, namespace string, raw *json.RawMessage) error {
	d.Next() // the directive's name
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		switch d.Val() {
		case "provider":
			if err := UnmarshalProvider(d, namespace, raw); err != nil {
				return err
			}
		default:
			return d.Errf("unrecognized subdirective '%s'; allowed: provider", d.Val())
		}
	}
	if *raw == nil {
		return d.Err("a provider is required, as in: provider <name> { … }")
	}
	return nil
}
