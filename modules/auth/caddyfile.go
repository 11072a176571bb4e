package auth

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/modules/internal/directive"
)

func init() {
	directive.Register[Handler]("gateway_auth", "handle")
}

// UnmarshalCaddyfile sets up the handler from Caddyfile tokens. Syntax:
//
//	gateway_auth [<matcher>]
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return directive.UnmarshalBare(d)
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
