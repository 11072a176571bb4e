package telematics

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/internal/area"
)

func init() {
	httpcaddyfile.RegisterHandlerDirective("gateway_telematics", parseCaddyfile)
	httpcaddyfile.RegisterDirectiveOrder("gateway_telematics", httpcaddyfile.Before, "respond")
}

func parseCaddyfile(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler := new(Handler)
	if err := handler.UnmarshalCaddyfile(h.Dispenser); err != nil {
		return nil, err
	}
	return handler, nil
}

// UnmarshalCaddyfile reads the directive:
//
//	gateway_telematics [<matcher>] {
//	    provider <name> {
//	        <options of the provider>
//	    }
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return area.UnmarshalBlock(d, "gateway.telematics", &h.ProviderRaw)
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
