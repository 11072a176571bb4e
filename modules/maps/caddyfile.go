package maps

import (
	"strings"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/modules/internal/directive"
	"github.com/fleetgate/fleetgate/modules/store"
)

func init() {
	directive.Register[Handler]("gateway_maps", "respond")
}

// UnmarshalCaddyfile reads the directive:
//
//	gateway_maps [<matcher>] {
//	    public_url <url>
//	    price      render|geocode <credits>
//	    tiles      proxy|temporary_token
//	    tiles      url <template>
//	    provider <name> {
//	        <options of the provider>
//	    }
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the directive's name
	if d.NextArg() {
		return d.ArgErr()
	}
	for d.NextBlock(0) {
		var err error
		switch d.Val() {
		case "public_url":
			err = h.unmarshalPublicURL(d)
		case "price":
			err = h.unmarshalPrice(d)
		case "tiles":
			err = h.unmarshalTiles(d)
		case "provider":
			err = area.UnmarshalProvider(d, "gateway.maps", &h.ProviderRaw)
		default:
			err = d.Errf("unrecognized subdirective '%s'; allowed: public_url, price, tiles, provider", d.Val())
		}
		if err != nil {
			return err
		}
	}
	if h.ProviderRaw == nil {
		return d.Err("a provider is required, as in: provider <name> { … }")
	}
	if h.PublicURL == "" && (h.Tiles == nil || h.Tiles.Mode == TilesProxy) {
		return d.WrapErr(errPublicURL)
	}
	return nil
}

func (h *Handler) unmarshalPublicURL(d *caddyfile.Dispenser) error {
	if h.PublicURL != "" {
		return d.Err("option 'public_url' is given twice")
	}
	if !d.AllArgs(&h.PublicURL) {
		return d.ArgErr()
	}
	// A placeholder's value is known only when the config is loaded.
	if !strings.Contains(h.PublicURL, "{") && !absolute(h.PublicURL) {
		return d.Err("public_url must be an absolute http or https URL")
	}
	return nil
}

func (h *Handler) unmarshalPrice(d *caddyfile.Dispenser) error {
	var operation, credits string
	if !d.AllArgs(&operation, &credits) {
		return d.ArgErr()
	}
	if operation != priceRender && operation != priceGeocode {
		return d.Errf("price of unknown operation '%s'; allowed: render, geocode", operation)
	}
	if _, ok := h.Price[operation]; ok {
		return d.Errf("the price of '%s' is given twice", operation)
	}
	amount, err := store.ParseAmount(credits)
	if err != nil {
		return d.Errf("price of '%s': %v", operation, err)
	}
	if amount < 0 {
		return d.Errf("the price of '%s' must not be negative", operation)
	}
	if h.Price == nil {
		h.Price = make(map[string]store.Amount)
	}
	h.Price[operation] = amount
	return nil
}

func (h *Handler) unmarshalTiles(d *caddyfile.Dispenser) error {
	if h.Tiles != nil {
		return d.Err("option 'tiles' is given twice")
	}
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.ArgErr()
	}
	h.Tiles = &Tiles{Mode: args[0]}
	switch {
	case args[0] == TilesURL && len(args) == 2:
		h.Tiles.URL = args[1]
	case len(args) != 1:
		return d.ArgErr()
	}
	if err := h.Tiles.validate(); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

// Interface guard
var _ caddyfile.Unmarshaler = (*Handler)(nil)
