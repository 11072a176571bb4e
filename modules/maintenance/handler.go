// Package maintenance adds the fleet-maintenance area of the gateway to Caddy, as the
// HTTP handler http.handlers.gateway_maintenance.
package maintenance

import (
	"encoding/json"
	"net/http"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/maintenance"
	"github.com/fleetgate/fleetgate/transform"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler lists the repair orders of a fleet, normalized to seven string members
// (contract 4.5 and 2.5).
//
// Every failure is answered in the common envelope; nothing is left to
// `handle_errors`.
type Handler struct {
	// The provider of fleet maintenance, a module in the namespace
	// `gateway.maintenance`. Required.
	ProviderRaw json.RawMessage `json:"provider,omitempty" caddy:"namespace=gateway.maintenance inline_key=name"`

	provider maintenance.Provider
	logger   *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.gateway_maintenance",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision loads the provider.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	var err error
	h.provider, err = area.LoadProvider[maintenance.Provider](ctx, h, h.ProviderRaw)
	return err
}

var contract = area.Area[*Handler]{
	Name: "maintenance",
	Operations: []area.Operation[*Handler]{
		{Name: "repair-orders.list", Method: http.MethodGet, Path: "/maintenance/repair-orders", Serve: (*Handler).listOrders}, // 4.5 #16
	},
	Shape: area.Envelope,
	// Whatever goes wrong at the provider is one row of contract 7.5.
	ProviderText: func(*providers.Error) string { return "Provider Error" },
	Provider:     func(h *Handler) string { return h.provider.DisplayName() },
}

// ServeHTTP serves the operations of contract 4.5.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return contract.ServeHTTP(h, w, r, h.logger)
}

// The headers that carry the caller's credential for the provider, in canonical form;
// on the wire username and api-key-eld.
const (
	headerUsername = "Username"
	headerAPIKey   = "Api-Key-Eld"
)

// maxEvent is the longest event name, in bytes; the provider's own stay far below.
const maxEvent = 64

// listOrders is contract 4.5 #16.
func (h *Handler) listOrders(c *area.Call) error {
	in := c.Inputs()
	username, okName := in.Header(headerUsername)
	key, okKey := in.Header(headerAPIKey)
	if !okName || !okKey {
		// Contract 7.5 makes one row of a bad gateway token and missing headers.
		return area.Unauthenticated()
	}
	q := maintenance.Query{
		Status: in.OneOf("status", "", maintenance.Statuses...),
		Event:  in.Text("event", maxEvent),
	}
	if q.Event != "" && !area.IsID(q.Event) {
		in.Reject("event")
	}
	q.Start, q.End = in.Window("start_date", "end_date")
	if err := in.Err(); err != nil {
		return err
	}

	stop := c.Upstream()
	orders, err := h.provider.Orders(c.Request.Context(), maintenance.Credential{Username: username, APIKey: key}, q)
	stop()
	if err != nil {
		return err
	}
	return c.Succeed(func(dst []byte) ([]byte, error) {
		dst, _, err := transform.NormalizeOrders(dst, orders)
		return dst, err
	})
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
