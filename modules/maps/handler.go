// Package maps adds the maps area of the gateway to Caddy, as the HTTP handler
// http.handlers.gateway_maps.
package maps

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/modules/store"
	"github.com/fleetgate/fleetgate/providers/maps"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler is the maps area (contract 4.2). It admits callers and knows the area's
// three operations; the operations themselves answer 501 until the map provider's
// protocol is part of the gateway.
//
// Every failure is answered in the shapes of contract 7.2; nothing is left to
// `handle_errors`.
type Handler struct {
	// Where callers reach the gateway's API root, an absolute http or https URL. Maps
	// fetch their tiles from below it. Required with tiles from the proxy.
	PublicURL string `json:"public_url,omitempty"`

	// What each operation costs, in credits, by operation: `render` for a map and
	// `geocode` for a geocoding. Decimal strings. Default: 0 for each.
	Price map[string]store.Amount `json:"price,omitempty"`

	// Where the tiles of maps come from. Default: the gateway's proxy.
	Tiles *Tiles `json:"tiles,omitempty"`

	// The provider of maps, a module in the namespace `gateway.maps`. Required.
	ProviderRaw json.RawMessage `json:"provider,omitempty" caddy:"namespace=gateway.maps inline_key=name"`

	provider maps.Provider
	logger   *zap.Logger
}

// The modes that [Tiles] knows.
const (
	TilesProxy          = "proxy"
	TilesTemporaryToken = "temporary_token"
	TilesURL            = "url"
)

// Tiles says where the tiles of maps come from.
type Tiles struct {
	// `proxy`: the gateway fetches them and adds the provider's credential.
	// `temporary_token`: pages fetch them with a short-lived token of the provider.
	// `url`: pages fetch them from a source without a credential. Default: `proxy`.
	Mode string `json:"mode,omitempty"`

	// The template of the source, with `{z}`, `{x}` and `{y}`. Only with `url`.
	URL string `json:"url,omitempty"`
}

// Operations that have a price.
const (
	priceRender  = "render"
	priceGeocode = "geocode"
)

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.gateway_maps",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision resolves placeholders, fills in defaults and loads the provider.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	publicURL, err := caddy.NewReplacer().ReplaceOrErr(h.PublicURL, true, true)
	if err != nil {
		return fmt.Errorf("public_url: %w", err)
	}
	h.PublicURL = publicURL
	if h.Tiles == nil {
		h.Tiles = new(Tiles)
	}
	if h.Tiles.Mode == "" {
		h.Tiles.Mode = TilesProxy
	}
	h.provider, err = area.LoadProvider[maps.Provider](ctx, h, h.ProviderRaw)
	return err
}

var errPublicURL = errors.New("public_url is required with tiles from the proxy")

// Validate checks the options.
func (h *Handler) Validate() error {
	if err := h.Tiles.validate(); err != nil {
		return err
	}
	if h.PublicURL == "" && h.Tiles.Mode == TilesProxy {
		return errPublicURL
	}
	if h.PublicURL != "" && !absolute(h.PublicURL) {
		return errors.New("public_url must be an absolute http or https URL")
	}
	for operation, price := range h.Price {
		if operation != priceRender && operation != priceGeocode {
			return fmt.Errorf("price: unknown operation '%s'; allowed: render, geocode", operation)
		}
		if price < 0 {
			return fmt.Errorf("price: %s must not be negative", operation)
		}
	}
	return nil
}

func (t *Tiles) validate() error {
	switch t.Mode {
	case TilesProxy, TilesTemporaryToken:
		if t.URL != "" {
			return fmt.Errorf("tiles: mode '%s' takes no url", t.Mode)
		}
	case TilesURL:
		if !absolute(t.URL) {
			return errors.New("tiles: mode 'url' needs an absolute http or https URL")
		}
	default:
		return fmt.Errorf("tiles: unknown mode '%s'; allowed: proxy, temporary_token, url", t.Mode)
	}
	return nil
}

func absolute(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

var contract = area.Area[*Handler]{
	Name: "maps",
	Operations: []area.Operation[*Handler]{
		{Name: "points.render", Method: http.MethodPost, Path: "/maps", Serve: (*Handler).pending},                    // 4.2 #11
		{Name: "markers.render", Method: http.MethodPost, Path: "/mapsPointers/data-load", Serve: (*Handler).pending}, // 4.2 #12
		{Name: "geocode", Method: http.MethodGet, Path: "/maps/geocoding", Serve: (*Handler).pending},                 // 4.2 #13
	},
	Shape:        appendFailure,
	ProviderText: area.ProviderText,
	Provider:     func(h *Handler) string { return h.provider.DisplayName() },
}

// ServeHTTP serves the operations of contract 4.2.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return contract.ServeHTTP(h, w, r, h.logger)
}

// pending refuses an operation whose provider calls are still to come, without
// pretending that a retry would help.
func (h *Handler) pending(*area.Call) error {
	return area.NotImplemented()
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
