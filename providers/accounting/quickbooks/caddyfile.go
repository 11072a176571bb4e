package quickbooks

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers/outbound"
)

// UnmarshalCaddyfile sets up the provider from the Caddyfile. All options may be left
// out:
//
//	provider quickbooks {
//	    page_size    <number>
//	    max_pages    <number>
//	    max_rows     <number>
//	    max_bytes    <size>
//	    rate         <calls per second>
//	    parallel     <number>
//	    base_url     <url>
//	    display_name <name>
//	    timeout      <duration>
//	    max_body     <size>
//	    transport http {
//	        <options of reverse_proxy's http transport>
//	    }
//	}
func (p *Provider) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	var own []outbound.Option
	for _, n := range p.numbers() {
		own = append(own, outbound.Option{Name: n.name, Read: func(d *caddyfile.Dispenser) error {
			return outbound.OneNumber(d, n.value, n.most)
		}})
	}
	own = append(own, outbound.Option{Name: "max_bytes", Read: func(d *caddyfile.Dispenser) error {
		return outbound.OneSize(d, &p.MaxBytes)
	}})
	return p.UnmarshalBlock(d, own...)
}
