// Package fuel adds the fuel-card area of the gateway to Caddy, as the HTTP handler
// http.handlers.gateway_fuel.
package fuel

import (
	"encoding/json"
	"net/http"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/providers/fuel"
	"github.com/fleetgate/fleetgate/transform"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler lists the transactions of a fleet's fuel cards (contract 4.4 and 2.4).
//
// Every failure is answered in the common envelope; nothing is left to
// `handle_errors`.
type Handler struct {
	// The provider of fuel cards, a module in the namespace `gateway.fuel`. Required.
	ProviderRaw json.RawMessage `json:"provider,omitempty" caddy:"namespace=gateway.fuel inline_key=name"`

	provider fuel.Provider
	logger   *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.gateway_fuel",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision loads the provider.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	var err error
	h.provider, err = area.LoadProvider[fuel.Provider](ctx, h, h.ProviderRaw)
	return err
}

var contract = area.Area[*Handler]{
	Name: "fuel",
	Operations: []area.Operation[*Handler]{
		{Name: "transactions.list", Method: http.MethodGet, Path: "/fuel/reports/transactions", Serve: (*Handler).listTransactions}, // 4.4 #15
	},
	Shape:        area.Envelope,
	ProviderText: area.ProviderText,
	Provider:     func(h *Handler) string { return h.provider.DisplayName() },
}

// ServeHTTP serves the operations of contract 4.4.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return contract.ServeHTTP(h, w, r, h.logger)
}

// The headers that carry the caller's credential for the provider, in canonical form;
// on the wire startCode, userId and password.
const (
	headerStartCode = "Startcode"
	headerUserID    = "Userid"
	headerPassword  = "Password"
)

// listTransactions is contract 4.4 #15. The inputs are checked in the order of the
// rows of contract 7.4; each row's data is null, so the first one is all that is said.
func (h *Handler) listTransactions(c *area.Call) error {
	in := c.Inputs()
	startCode, ok := in.Header(headerStartCode)
	if !ok || !area.IsID(startCode) { // it becomes a segment of the provider's path
		return area.Invalid("startCode is missing or invalid.")
	}
	userID, ok := in.Header(headerUserID)
	if !ok {
		return area.Invalid("userId is missing or invalid.")
	}
	password, ok := in.Header(headerPassword)
	if !ok {
		return area.Invalid("password is missing or invalid.")
	}
	if err := in.Err(); err != nil {
		return err
	}
	start, ok := in.Query("start_date")
	if !ok || !area.IsDate(start) {
		return area.Invalid("Start date is missing or invalid.")
	}
	end, ok := in.Query("end_date")
	if !ok || !area.IsDate(end) || end < start {
		return area.Invalid("End date is missing or invalid.")
	}

	stop := c.Upstream()
	report, err := h.provider.Transactions(c.Request.Context(),
		fuel.Credential{StartCode: startCode, UserID: userID, Password: password},
		fuel.Query{Start: start, End: end})
	stop()
	if err != nil {
		return err
	}
	return c.Succeed(func(dst []byte) ([]byte, error) {
		return transform.UnwrapFuelReport(dst, report)
	})
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
