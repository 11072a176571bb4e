package fleetrock

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers/outbound"
)

// UnmarshalCaddyfile sets up the provider from the Caddyfile. All options may be left
// out:
//
//	provider fleetrock {
//	    session_ttl  <duration>
//	    key_as_token
//	    base_url     <url>
//	    display_name <name>
//	    timeout      <duration>
//	    max_body     <size>
//	    transport http {
//	        <options of reverse_proxy's http transport>
//	    }
//	}
func (p *Provider) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return p.UnmarshalBlock(d,
		outbound.Option{
			Name: "session_ttl",
			Read: func(d *caddyfile.Dispenser) error { return outbound.OneDuration(d, &p.SessionTTL) },
		},
		outbound.Option{Name: "key_as_token", Read: p.unmarshalKeyAsToken},
	)
}

func (p *Provider) unmarshalKeyAsToken(d *caddyfile.Dispenser) error {
	if d.CountRemainingArgs() > 0 {
		return d.ArgErr()
	}
	if p.KeyAsToken {
		return d.Err("option 'key_as_token' is given twice")
	}
	p.KeyAsToken = true
	return nil
}
