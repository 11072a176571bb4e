// Command faulty is the gateway with a handler and a provider that fail in the worst
// way: by panics and errors that carry the caller's credentials.
package main

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	caddycmd "github.com/caddyserver/caddy/v2/cmd"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/fleetgate/fleetgate"
	"github.com/fleetgate/fleetgate/providers/telematics"
)

func main() {
	caddycmd.Main()
}

func init() {
	caddy.RegisterModule(Handler{})
	caddy.RegisterModule(Provider{})
	httpcaddyfile.RegisterHandlerDirective("panic_for_test", parseCaddyfile)
	httpcaddyfile.RegisterDirectiveOrder("panic_for_test", httpcaddyfile.Before, "respond")
}

// Handler panics below /panic and returns an error, which Caddy logs, below /error.
type Handler struct{}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.panic_for_test",
		New: func() caddy.Module { return new(Handler) },
	}
}

// ServeHTTP fails or passes the request on.
func (*Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	switch {
	case strings.HasPrefix(r.URL.Path, "/panic"):
		panic("no luck with " + r.Header.Get("Authorization"))
	case strings.HasPrefix(r.URL.Path, "/error"):
		return caddyhttp.Error(http.StatusInternalServerError, errors.New("no luck"))
	}
	return next.ServeHTTP(w, r)
}

func parseCaddyfile(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	h.Next() // the directive's name
	return new(Handler), nil
}

// Provider panics in the call that the API key begins with: events or catalogs.
type Provider struct{}

// CaddyModule returns the Caddy module information.
func (Provider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.telematics.faulty",
		New: func() caddy.Module { return new(Provider) },
	}
}

// DisplayName is the name that callers see.
func (*Provider) DisplayName() string { return "Faulty" }

// Events panics with the API key, or finds one event.
func (*Provider) Events(_ context.Context, cred telematics.Credential, _ telematics.Query) (telematics.Events, error) {
	if strings.HasPrefix(cred.APIKey, "events") {
		panic("no luck with " + cred.APIKey)
	}
	return telematics.Events{Body: []byte(`[{"id":1,"eventTriggerId":1}]`), Fields: telematics.Fields{Trigger: "eventTriggerId"}}, nil
}

// Catalogs panics with the API key, or knows nothing.
func (*Provider) Catalogs(_ context.Context, cred telematics.Credential) telematics.Catalogs {
	if strings.HasPrefix(cred.APIKey, "catalogs") {
		panic("no luck with " + cred.APIKey)
	}
	return telematics.Catalogs{}
}

// UnmarshalCaddyfile takes no options.
func (*Provider) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // the provider's name
	if d.NextArg() {
		return d.ArgErr()
	}
	return nil
}

// Interface guards
var (
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
	_ telematics.Provider         = (*Provider)(nil)
	_ caddyfile.Unmarshaler       = (*Provider)(nil)
)
