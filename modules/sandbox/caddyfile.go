package sandbox

import (
	"slices"
	"strconv"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

const directive = "gateway_sandbox"

func init() {
	httpcaddyfile.RegisterHandlerDirective(directive, parseCaddyfile)
	httpcaddyfile.RegisterDirectiveOrder(directive, httpcaddyfile.Before, "respond")
}

func parseCaddyfile(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler := new(Handler)
	err := handler.UnmarshalCaddyfile(h.Dispenser)
	return handler, err
}

// UnmarshalCaddyfile sets up the handler from Caddyfile tokens:
//
//	gateway_sandbox [<matcher>] {
//	    providers   <names...>
//	    seed        <number>
//	    session_ttl <duration>
//	    latency     <duration>
//	    throttle    off|<calls a second>
//	    fault       <kind> [every <n>] [path <prefix>] [retry_after <duration>]
//	}
//
// The block and everything in it may be left out; fault may be repeated.
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // consume directive name
	if d.CountRemainingArgs() > 0 {
		return d.ArgErr()
	}
	seen := make(map[string]bool)
	for d.NextBlock(0) {
		name := d.Val()
		if name != "fault" && seen[name] {
			return d.Errf("%s is given twice", name)
		}
		seen[name] = true
		if err := h.unmarshalOption(d, name); err != nil {
			return err
		}
	}
	// What needs the whole block to be judged, such as the path of a fault.
	if err := h.options().check(); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

func (h *Handler) unmarshalOption(d *caddyfile.Dispenser, name string) (err error) {
	switch name {
	case "providers":
		return h.unmarshalProviders(d)
	case "seed":
		h.Seed, err = positive(d, name)
	case "session_ttl":
		h.SessionTTL, err = duration(d, name, 1)
	case "latency":
		h.Latency, err = duration(d, name, 0)
	case "throttle":
		h.Throttle, err = throttle(d, name)
	case "fault":
		return h.unmarshalFault(d)
	default:
		return d.Errf("unrecognized subdirective '%s'; allowed are providers, seed, session_ttl, latency, throttle, fault", name)
	}
	if err == nil && d.CountRemainingArgs() > 0 {
		return d.ArgErr()
	}
	return err
}

func (h *Handler) unmarshalProviders(d *caddyfile.Dispenser) error {
	for d.NextArg() {
		known := simulatorNames()
		name := d.Val()
		if !slices.Contains(known, name) {
			return d.Errf("unknown provider '%s'; known are %s", name, strings.Join(known, ", "))
		}
		if slices.Contains(h.Providers, name) {
			return d.Errf("provider '%s' is listed twice", name)
		}
		h.Providers = append(h.Providers, name)
	}
	if len(h.Providers) == 0 {
		return d.ArgErr()
	}
	return nil
}

func (h *Handler) unmarshalFault(d *caddyfile.Dispenser) (err error) {
	if !d.NextArg() {
		return d.ArgErr()
	}
	f := Fault{Kind: d.Val()}
	if !sim.Fault(f.Kind).Known() {
		return d.Errf("unknown fault '%s'; known are %s", f.Kind, strings.Join(sim.Kinds(), ", "))
	}
	seen := make(map[string]bool)
	for d.NextArg() {
		name := d.Val()
		if seen[name] {
			return d.Errf("%s is given twice", name)
		}
		seen[name] = true
		switch name {
		case "every":
			f.Every, err = positive(d, name)
		case "path":
			if !d.NextArg() {
				return d.ArgErr()
			}
			f.Path = d.Val()
		case "retry_after":
			f.RetryAfter, err = duration(d, name, 1)
		default:
			return d.Errf("unrecognized option '%s' of a fault; allowed are every, path, retry_after", name)
		}
		if err != nil {
			return err
		}
	}
	if err := f.check(); err != nil {
		return d.WrapErr(err)
	}
	h.Faults = append(h.Faults, f)
	return nil
}

// positive reads the next argument as an integer above zero.
func positive(d *caddyfile.Dispenser, name string) (uint64, error) {
	if !d.NextArg() {
		return 0, d.ArgErr()
	}
	n, err := strconv.ParseUint(d.Val(), 10, 64)
	if err != nil || n == 0 {
		return 0, d.Errf("%s must be a whole number above 0, not '%s'", name, d.Val())
	}
	return n, nil
}

// throttle reads the next argument as a number of calls a second, or off.
func throttle(d *caddyfile.Dispenser, name string) (int, error) {
	if !d.NextArg() {
		return 0, d.ArgErr()
	}
	if d.Val() == "off" {
		return unthrottled, nil
	}
	n, err := strconv.Atoi(d.Val())
	if err != nil || n < 1 || n > maxThrottle {
		return 0, d.Errf("%s must be off or a number of calls from 1 to %d, not '%s'", name, maxThrottle, d.Val())
	}
	return n, nil
}

// duration reads the next argument as a duration that is not shorter than least.
func duration(d *caddyfile.Dispenser, name string, least caddy.Duration) (caddy.Duration, error) {
	if !d.NextArg() {
		return 0, d.ArgErr()
	}
	v, err := caddy.ParseDuration(d.Val())
	if err != nil || caddy.Duration(v) < least {
		return 0, d.Errf("%s must be a duration such as 10m, not '%s'", name, d.Val())
	}
	return caddy.Duration(v), nil
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
