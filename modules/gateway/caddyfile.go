package gateway

import (
	"slices"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"

	"github.com/fleetgate/fleetgate/modules/store"
)

// backendNamespace is where the modules of stores are registered.
const backendNamespace = "gateway.store."

func init() {
	httpcaddyfile.RegisterGlobalOption("gateway", parseGlobalOption)
}

// parseGlobalOption sets up the app from the global option of its name.
func parseGlobalOption(d *caddyfile.Dispenser, existing any) (any, error) {
	if existing != nil {
		d.Next()
		return nil, d.Err("the global option 'gateway' is given twice")
	}
	app := new(App)
	if err := app.UnmarshalCaddyfile(d); err != nil {
		return nil, err
	}
	return httpcaddyfile.App{Name: "gateway", Value: caddyconfig.JSON(app, nil)}, nil
}

// UnmarshalCaddyfile sets up the app from Caddyfile tokens. Syntax:
//
//	gateway {
//	    store           <backend> ...
//	    token_cache_ttl <duration>
//	    token_max_stale <duration>
//	    revocation_poll <duration>
//	}
func (a *App) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // consume the option's name
	if d.NextArg() {
		return d.Errf("unexpected argument '%s': 'gateway' takes a block", d.Val())
	}
	seen := make(map[string]bool)
	for d.NextBlock(0) {
		option := d.Val()
		if seen[option] {
			return d.Errf("the option '%s' is given twice", option)
		}
		seen[option] = true

		var err error
		switch option {
		case "store":
			err = a.unmarshalStore(d)
		case "token_cache_ttl":
			err = unmarshalDuration(d, &a.TokenCacheTTL)
		case "token_max_stale":
			err = unmarshalDuration(d, &a.TokenMaxStale)
		case "revocation_poll":
			err = unmarshalDuration(d, &a.RevocationPoll)
		default:
			err = d.Errf("unrecognized subdirective '%s' of 'gateway': use store, token_cache_ttl, token_max_stale or revocation_poll", option)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unmarshalStore reads the store's backend and hands the rest to its module.
func (a *App) unmarshalStore(d *caddyfile.Dispenser) error {
	if !d.NextArg() {
		return d.Errf("'store' needs the kind of store: %s", backendNames())
	}
	name := d.Val()
	if _, err := caddy.GetModule(backendNamespace + name); err != nil {
		return d.Errf("unknown kind of store '%s': %s", name, backendNames())
	}
	module, err := caddyfile.UnmarshalModule(d, backendNamespace+name)
	if err != nil {
		return err
	}
	backend, ok := module.(store.Backend)
	if !ok {
		return d.Errf("module %s%s is %T, which does not implement store.Backend", backendNamespace, name, module)
	}
	a.StoreRaw = caddyconfig.JSONModuleObject(backend, "backend", name, nil)
	return nil
}

// unmarshalDuration reads the one argument of an option that is a duration.
func unmarshalDuration(d *caddyfile.Dispenser, target *caddy.Duration) error {
	option := d.Val()
	args := d.RemainingArgs()
	if len(args) != 1 {
		return d.Errf("'%s' takes one argument, a duration such as 250ms, 90s or 15m", option)
	}
	duration, err := caddy.ParseDuration(args[0])
	if err != nil || duration <= 0 {
		return d.Errf("'%s' is not a positive duration: '%s' takes one such as 250ms, 90s or 15m", args[0], option)
	}
	*target = caddy.Duration(duration)
	return nil
}

// backendNames lists the kinds of store in this binary, for error texts.
func backendNames() string {
	var names []string
	for _, module := range caddy.GetModules(strings.TrimSuffix(backendNamespace, ".")) {
		names = append(names, module.ID.Name())
	}
	if len(names) == 0 {
		return "none is compiled in"
	}
	slices.Sort(names)
	return "use " + strings.Join(names, " or ")
}

// Interface guards
var _ caddyfile.Unmarshaler = (*App)(nil)
