// Package accounting adds the accounting area of the gateway to Caddy, as the HTTP
// handler http.handlers.gateway_accounting.
package accounting

import (
	"encoding/json"
	"net/http"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler is the accounting area (contract 4.1). It admits callers and knows the
// area's ten operations; the operations themselves answer 501 until the accounting
// provider's protocol is part of the gateway.
//
// Every failure is answered in the common envelope; nothing is left to
// `handle_errors`.
type Handler struct {
	// The provider of online accounting, a module in the namespace
	// `gateway.accounting`. Required.
	ProviderRaw json.RawMessage `json:"provider,omitempty" caddy:"namespace=gateway.accounting inline_key=name"`

	provider accounting.Provider
	logger   *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.gateway_accounting",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision loads the provider.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	var err error
	h.provider, err = area.LoadProvider[accounting.Provider](ctx, h, h.ProviderRaw)
	return err
}

var contract = area.Area[*Handler]{
	Name: "accounting",
	Operations: []area.Operation[*Handler]{
		{Name: "accounts.list", Method: http.MethodGet, Path: "/accounting/accounts", Serve: (*Handler).pending},                         // 4.1 #1
		{Name: "accounts.read", Method: http.MethodGet, Path: "/accounting/accounts/{account_id}", Serve: (*Handler).pending},            // 4.1 #2
		{Name: "purchases.list", Method: http.MethodGet, Path: "/accounting/purchases", Serve: (*Handler).pending},                       // 4.1 #3
		{Name: "purchases.read", Method: http.MethodGet, Path: "/accounting/purchases/{purchase_id}", Serve: (*Handler).pending},         // 4.1 #4
		{Name: "purchases.create", Method: http.MethodPost, Path: "/accounting/purchases", Write: true, Serve: (*Handler).pending},       // 4.1 #5
		{Name: "purchases.update", Method: http.MethodPut, Path: "/accounting/purchases/update", Write: true, Serve: (*Handler).pending}, // 4.1 #6
		{Name: "vendors.list", Method: http.MethodGet, Path: "/accounting/vendors", Serve: (*Handler).pending},                           // 4.1 #7
		{Name: "vendors.read", Method: http.MethodGet, Path: "/accounting/vendors/{vendor_id}", Serve: (*Handler).pending},               // 4.1 #8
		{Name: "vendors.create", Method: http.MethodPost, Path: "/accounting/vendors", Write: true, Serve: (*Handler).pending},           // 4.1 #9
		{Name: "vendors.update", Method: http.MethodPut, Path: "/accounting/vendors/update", Write: true, Serve: (*Handler).pending},     // 4.1 #10
	},
	Shape:        area.Envelope,
	ProviderText: area.ProviderText,
	Provider:     func(h *Handler) string { return h.provider.DisplayName() },
}

// ServeHTTP serves the operations of contract 4.1.
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
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
