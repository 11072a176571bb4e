// Package health adds the handler http.handlers.gateway_health, which answers the
// probes of load balancers and orchestrators.
package health

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/gateway"
)

const (
	// readyTimeout bounds the question to the store, below the time-out of usual
	// probes.
	readyTimeout = time.Second

	// retryAfter is when a refused probe may ask again, in seconds.
	retryAfter = "1"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler answers two paths and passes every other one on:
//
// Path | Answer
// -----|-------
// `/healthz` | 200 as long as the process serves requests
// `/readyz` | 200 when the configuration is loaded and the store answers within a second, else 503 with Retry-After; also 503 while the server shuts down
//
// With the global option `shutdown_delay` the second one tells load balancers to send
// no more requests before the server stops to take them.
//
// A provider that is down makes neither of them fail: the gateway is still the
// right place to ask. The paths are case-sensitive, may end with a slash, and take
// GET and HEAD; they need no token.
//
// The app `gateway` must be configured.
type Handler struct {
	app    *gateway.App
	logger *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.gateway_health",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision finds the gateway app.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	var err error
	h.app, err = gateway.AppOf(ctx, "gateway_health", "whose store it asks")
	return err
}

// ServeHTTP implements [caddyhttp.MiddlewareHandler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	path := strings.TrimSuffix(r.URL.Path, "/")
	if path != "/healthz" && path != "/readyz" {
		return next.ServeHTTP(w, r)
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		answer(w, http.StatusMethodNotAllowed, `{"status":"method_not_allowed"}`)
		return nil
	}
	if path == "/healthz" {
		answer(w, http.StatusOK, `{"status":"ok"}`)
		return nil
	}
	h.answerReady(w, r)
	return nil
}

// answerReady answers /readyz.
func (h *Handler) answerReady(w http.ResponseWriter, r *http.Request) {
	if shuttingDown(r) {
		w.Header().Set("Retry-After", retryAfter)
		answer(w, http.StatusServiceUnavailable, `{"status":"unavailable","reason":"shutdown"}`)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
	defer cancel()
	if err := h.app.Ready(ctx); err != nil {
		// The reason is for the operator's log: whoever may probe may not be told.
		if c := h.logger.Check(zap.WarnLevel, "not ready"); c != nil {
			c.Write(zap.Error(err))
		}
		w.Header().Set("Retry-After", retryAfter)
		answer(w, http.StatusServiceUnavailable, `{"status":"unavailable","reason":"store"}`)
		return
	}
	answer(w, http.StatusOK, `{"status":"ready"}`)
}

// shuttingDown reports whether the server is in its shutdown_delay. Caddy's placeholder
// for it needs a server in the context.
func shuttingDown(r *http.Request) bool {
	if server, ok := r.Context().Value(caddyhttp.ServerCtxKey).(*caddyhttp.Server); !ok || server == nil {
		return false
	}
	repl, ok := r.Context().Value(caddy.ReplacerCtxKey).(*caddy.Replacer)
	if !ok {
		return false
	}
	value, _ := repl.Get("http.shutting_down")
	return value == true
}

// answer writes a response. The server itself leaves out the body for HEAD.
func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// The caller of a write that fails is gone. As an error it would put the request's
	// headers into the server's error log.
	_, _ = w.Write([]byte(body))
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
