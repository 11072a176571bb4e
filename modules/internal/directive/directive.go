// Package directive registers the Caddyfile directives of the gateway's handlers.
package directive

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// Handler is an HTTP handler of type *T that reads its directive itself.
type Handler[T any] interface {
	*T
	caddyhttp.MiddlewareHandler
	caddyfile.Unmarshaler
}

// Register makes name the directive of the handler T, in Caddy's order just before the
// directive next.
func Register[T any, H Handler[T]](name, next string) {
	httpcaddyfile.RegisterHandlerDirective(name, func(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
		handler := H(new(T))
		if err := handler.UnmarshalCaddyfile(h.Dispenser); err != nil {
			return nil, err
		}
		return handler, nil
	})
	httpcaddyfile.RegisterDirectiveOrder(name, httpcaddyfile.Before, next)
}

// UnmarshalBare reads a directive without arguments and options. The cursor is in front
// of the directive's name.
func UnmarshalBare(d *caddyfile.Dispenser) error {
	d.Next()
	name := d.Val()
	if d.NextArg() {
		return d.Errf("unexpected argument '%s': %s takes none", d.Val(), name)
	}
	if d.NextBlock(0) {
		return d.Errf("unrecognized subdirective '%s': %s has none", d.Val(), name)
	}
	return nil
}
