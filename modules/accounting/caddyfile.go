package accounting

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/modules/internal/directive"
)

func init() {
	directive.Register[Handler]("gateway_accounting", "respond")
}

// UnmarshalCaddyfile reads the directive:
//
//	gateway_accounting [<matcher>] {
//	    max_body <size>
//	    provider <name> {
//	        <options of the provider>
//	    }
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the directive's name
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		var err error
		switch d.Val() {
		case "max_body":
			err = area.UnmarshalMaxBody(d, &h.MaxBody)
		case "provider":
			err = area.UnmarshalProvider(d, "gateway.accounting", &h.ProviderRaw)
		default:
			err = d.Errf("unrecognized subdirective '%s'; allowed: max_body, provider", d.Val())
		}
		if err != nil {
			return err
		}
	}
	if h.ProviderRaw == nil {
		return d.Err("a provider is required, as in: provider <name> { … }")
	}
	return nil
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
