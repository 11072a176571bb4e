package lytx

import (
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers/outbound"
)

// UnmarshalCaddyfile sets up the provider from the Caddyfile. All options but
// base_url may be left out:
//
//	provider lytx {
//	    base_url        <url>
//	    catalog_ttl     <duration>
//	    vehicle_ttl     <duration>
//	    stale           <duration>
//	    catalog_timeout <duration>
//	    page_size       <number>
//	    display_name    <name>
//	    timeout         <duration>
//	    max_body        <size>
//	    transport http {
//	        <options of reverse_proxy's http transport>
//	    }
//	}
func (p *Provider) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	duration := func(name string, target *caddy.Duration) outbound.Option {
		return outbound.Option{Name: name, Read: func(d *caddyfile.Dispenser) error {
			return outbound.OneDuration(d, target)
		}}
	}
	err := p.UnmarshalBlock(
		d,
		duration("catalog_ttl", &p.CatalogTTL),
		duration("vehicle_ttl", &p.VehicleTTL),
		duration("stale", &p.Stale),
		duration("catalog_timeout", &p.CatalogTimeout),
		outbound.Option{Name: "page_size", Read: p.unmarshalPageSize},
	)
	if err == nil && p.BaseURL == "" {
		return d.Err("base_url is required: the root of the pod that the tenant belongs to")
	}
	return err
}

func (p *Provider) unmarshalPageSize(d *caddyfile.Dispenser) error {
	if p.PageSize != 0 {
		return d.Err("option 'page_size' is given twice")
	}
	var text string
	if !d.AllArgs(&text) {
		return d.ArgErr()
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > maxPageSize {
		return d.Errf("page_size must be a number from 1 to %d, not '%s'", maxPageSize, text)
	}
	p.PageSize = n
	return nil
}
