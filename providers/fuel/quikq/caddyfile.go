package quikq

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers/outbound"
)

// UnmarshalCaddyfile sets up the provider from the Caddyfile. All options may be left
// out:
//
//	provider quikq {
//	    session_ttl  <duration>
//	    base_url     <url>
//	    display_name <name>
//	    timeout      <duration>
//	    max_body     <size>
//	    transport http {
//	        <options of reverse_proxy's http transport>
//	    }
//	}
func (p *Provider) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	return p.UnmarshalBlock(d, outbound.Option{
		Name: "session_ttl",
		Read: func(d *caddyfile.Dispenser) error { return outbound.OneDuration(d, &p.SessionTTL) },
	})
}
