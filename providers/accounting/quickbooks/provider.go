// Package quickbooks adds QuickBooks Online to the gateway's accounting area, as the
// Caddy module gateway.accounting.quickbooks.
package quickbooks

import (
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/providers/outbound"
)

func init() {
	caddy.RegisterModule(Provider{})
}

// Provider speaks to QuickBooks Online. Defaults: base_url
// `https://quickbooks.api.intuit.com`, display_name `QuickBooks`, timeout `120s`,
// which is what the provider itself allows a request.
type Provider struct {
	outbound.Client
}

// CaddyModule returns the Caddy module information.
func (Provider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.accounting.quickbooks",
		New: func() caddy.Module { return new(Provider) },
	}
}

// Provision checks the options and loads the transport.
func (p *Provider) Provision(ctx caddy.Context) error {
	return p.Setup(ctx, outbound.Defaults{
		BaseURL:     "https://quickbooks.api.intuit.com",
		DisplayName: "QuickBooks",
		Timeout:     2 * time.Minute,
	})
}

// UnmarshalCaddyfile reads the provider's block:
//
//	provider quickbooks {
//	    <options of every provider>
//	}
func (p *Provider) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return p.UnmarshalBlock(d)
}

// Interface guards
var (
	_ accounting.Provider   = (*Provider)(nil)
	_ caddy.Provisioner     = (*Provider)(nil)
	_ caddyfile.Unmarshaler = (*Provider)(nil)
)
