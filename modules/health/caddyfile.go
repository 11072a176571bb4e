package health

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/modules/internal/directive"
)

func init() {
	directive.Register[Handler]("gateway_health", "handle")
}

// UnmarshalCaddyfile sets up the handler from Caddyfile tokens. Syntax:
//
//	gateway_health [<matcher>]
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return directive.UnmarshalBare(d)
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
