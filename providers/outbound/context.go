package outbound

import (
	"context"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// dialInfoCtxKey is where reverse_proxy leaves the address that its transport is to
// dial. It is unexported there, but its type and text are not.
const dialInfoCtxKey caddy.CtxKey = "reverse_proxy.dial_info"

// callContext returns the context for one call on Caddy's transport, which expects
// to run inside reverse_proxy. Three things of that surrounding must be right:
//
//   - a vars map of the call's own: with a forward proxy the transport writes to the
//     map, and parallel calls of one request would crash the process;
//   - a Replacer: a placeholder in tls_server_name is resolved in the dial goroutine,
//     where its absence is a panic that nobody can recover;
//   - no dial info: a leftover would send the call to another host.
func callContext(parent context.Context) context.Context {
	ctx := context.WithValue(parent, caddyhttp.VarsCtxKey, make(map[string]any))
	if _, ok := parent.Value(caddy.ReplacerCtxKey).(*caddy.Replacer); !ok {
		ctx = context.WithValue(ctx, caddy.ReplacerCtxKey, caddy.NewReplacer())
	}
	if parent.Value(dialInfoCtxKey) != nil {
		ctx = context.WithValue(ctx, dialInfoCtxKey, nil)
	}
	return ctx
}
