package fuel

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/modules/internal/directive"
)

func init() {
	directive.Register[Handler]("gateway_fuel", "respond")
}

// UnmarshalCaddyfile reads the directive:
//
//	gateway_fuel [<matcher>] {
//	    provider <name> {
//	        <options of the provider>
//	    }
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return area.UnmarshalBlock(d, "gateway.fuel", &h.ProviderRaw)
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
