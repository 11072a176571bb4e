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
	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler reads and writes the entities of online accounting: it lists and reads
// accounts, and lists, reads, creates and updates purchases and vendors (contract 4.1
// and 2.1). Entities are passed on as the provider spells them. Inputs are checked
// against the tables of the contract, and nothing is sent while anything in them is
// wrong.
//
// A write is carried out once, however often it is repeated with the same
// `Idempotency-Key`. The answer to a write has that header too, with the key that the
// gateway made when the caller gave none.
//
// Every failure is answered in the common envelope; nothing is left to
// `handle_errors`.
type Handler struct {
	// The largest request body, in bytes. Default: 1048576 (1 MiB).
	MaxBody int64 `json:"max_body,omitempty"`

	// The provider of online accounting, a module in the namespace
	// `gateway.accounting`. Required.
	ProviderRaw json.RawMessage `json:"provider,omitempty" caddy:"namespace=gateway.accounting inline_key=name"`

	area     area.Area[*Handler]
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

// Provision fills in defaults and loads the provider.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	if h.MaxBody == 0 {
		h.MaxBody = area.DefaultMaxBody
	}
	h.area = area.Area[*Handler]{
		Name: "accounting", Operations: operations,
		Shape: area.Envelope, ProviderText: h.providerText,
		Provider: func(h *Handler) string { return h.provider.DisplayName() },
	}
	var err error
	h.provider, err = area.LoadProvider[accounting.Provider](ctx, h, h.ProviderRaw)
	return err
}

// Validate checks the options.
func (h *Handler) Validate() error {
	return area.CheckMaxBody(h.MaxBody)
}

var operations = []area.Operation[*Handler]{
	{Name: "accounts.list", Method: http.MethodGet, Path: "/accounting/accounts", Serve: (*Handler).listAccounts},                           // 4.1 #1
	{Name: "accounts.read", Method: http.MethodGet, Path: "/accounting/accounts/{account_id}", Serve: (*Handler).readAccount},               // 4.1 #2
	{Name: "purchases.list", Method: http.MethodGet, Path: "/accounting/purchases", Serve: (*Handler).listPurchases},                        // 4.1 #3
	{Name: "purchases.read", Method: http.MethodGet, Path: "/accounting/purchases/{purchase_id}", Serve: (*Handler).readPurchase},           // 4.1 #4
	{Name: "purchases.create", Method: http.MethodPost, Path: "/accounting/purchases", Write: true, Serve: (*Handler).createPurchase},       // 4.1 #5
	{Name: "purchases.update", Method: http.MethodPut, Path: "/accounting/purchases/update", Write: true, Serve: (*Handler).updatePurchase}, // 4.1 #6
	{Name: "vendors.list", Method: http.MethodGet, Path: "/accounting/vendors", Serve: (*Handler).listVendors},                              // 4.1 #7
	{Name: "vendors.read", Method: http.MethodGet, Path: "/accounting/vendors/{vendor_id}", Serve: (*Handler).readVendor},                   // 4.1 #8
	{Name: "vendors.create", Method: http.MethodPost, Path: "/accounting/vendors", Write: true, Serve: (*Handler).createVendor},             // 4.1 #9
	{Name: "vendors.update", Method: http.MethodPut, Path: "/accounting/vendors/update", Write: true, Serve: (*Handler).updateVendor},       // 4.1 #10
}

// ServeHTTP serves the operations of contract 4.1.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return h.area.ServeHTTP(h, w, r, h.logger)
}

// providerText gives the rows of contract 7.1 for a provider error. Two of them name
// the provider: what it says of the credential, and everything else that it says.
func (h *Handler) providerText(pe *providers.Error) string {
	text := area.ProviderText(pe)
	switch pe.Kind {
	case providers.KindUnreachable, providers.KindTimeout, providers.KindTooLarge, providers.KindCanceled,
		providers.KindInvalidJSON, providers.KindUnavailable, providers.KindInvalid:
		return text
	case providers.KindAuth, providers.KindForbidden:
		return "Error: " + text + " " + h.provider.DisplayName()
	default:
		return "Error " + h.provider.DisplayName() + ": " + text
	}
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddy.Validator             = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
