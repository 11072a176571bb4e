// Package mapbox adds Mapbox to the gateway's maps area, as the Caddy module
// gateway.maps.mapbox.
package mapbox

import (
	"errors"
	"fmt"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers/maps"
	"github.com/fleetgate/fleetgate/providers/outbound"
)

func init() {
	caddy.RegisterModule(Provider{})
}

// Provider speaks to Mapbox. Defaults: base_url `https://api.mapbox.com`,
// display_name `Mapbox`, timeout `60s`.
type Provider struct {
	outbound.Client

	// The secret access token of the operator's Mapbox account. A placeholder such as
	// `{env.MAPBOX_TOKEN}` keeps it out of the configuration. Required.
	AccessToken string `json:"access_token,omitempty"`
}

// CaddyModule returns the Caddy module information.
func (Provider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.maps.mapbox",
		New: func() caddy.Module { return new(Provider) },
	}
}

// Provision resolves the access token, checks the options and loads the transport.
func (p *Provider) Provision(ctx caddy.Context) error {
	token, err := caddy.NewReplacer().ReplaceOrErr(p.AccessToken, true, true)
	if err != nil {
		return fmt.Errorf("access_token: %w", err)
	}
	if token == "" {
		return errors.New("access_token is required")
	}
	p.AccessToken = token
	return p.Setup(ctx, outbound.Defaults{BaseURL: "https://api.mapbox.com", DisplayName: "Mapbox"})
}

// UnmarshalCaddyfile reads the provider's block:
//
//	provider mapbox {
//	    access_token <token>
//	    <options of every provider>
//	}
func (p *Provider) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return p.UnmarshalBlock(d, outbound.Option{Name: "access_token", Read: func(d *caddyfile.Dispenser) error {
		return outbound.OneString(d, &p.AccessToken)
	}})
}

// Interface guards
var (
	_ maps.Provider         = (*Provider)(nil)
	_ caddy.Provisioner     = (*Provider)(nil)
	_ caddyfile.Unmarshaler = (*Provider)(nil)
)
