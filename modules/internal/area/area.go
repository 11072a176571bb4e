// Package area is what the area handlers share: the walk from a request to the
// operation that serves it, the check of the caller, the inputs, and the writing of
// answers, so that a handler's own code reads like the contract.
package area

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/gateway"
	"github.com/fleetgate/fleetgate/providers"
)

// Area is one area of the contract, served by a handler of type H.
type Area[H any] struct {
	// Name is the area's name in scopes and logs, such as "telematics".
	Name string

	// Operations are the area's rows of contract part 4.
	Operations []Operation[H]

	// Shape appends the body of an error answer (contract part 7).
	Shape func(dst []byte, f *Failure) []byte

	// ProviderText gives the message for a provider error.
	ProviderText func(*providers.Error) string

	// Provider names the handler's provider in logs.
	Provider func(h H) string
}

// Operation is one row of contract part 4.
type Operation[H any] struct {
	Name   string // for logs, such as "events.list"
	Method string
	Path   string // without the base and without a trailing slash; {name} matches one segment
	Write  bool   // needs more than a read scope

	// Serve answers the call or returns why not: a [*Failure], a transform error about
	// the provider's body, or what the provider returned. It has written nothing then.
	Serve func(h H, c *Call) error
}

// ServeHTTP answers r by the operation that it names. Every answer has the area's
// shape, so an error is returned only if there was none to write.
func (a *Area[H]) ServeHTTP(h H, w http.ResponseWriter, r *http.Request, logger *zap.Logger) error {
	c := newCall(w, r)
	name, err := a.answer(h, c, logger)
	c.log(zap.String("area", a.Name), zap.String("operation", name), zap.String("provider", a.Provider(h)))
	if err == nil {
		return nil
	}

	f, pe := failureOf(err, a.ProviderText)
	c.log(zap.String("error_code", f.Code))
	if pe != nil {
		a.report(c, name, a.Provider(h), pe, logger)
	}
	c.fail(f, a.Shape)
	return nil
}

// answer walks to the operation and through it, and returns the operation's name.
func (a *Area[H]) answer(h H, c *Call, logger *zap.Logger) (name string, err error) {
	op, err := a.find(c)
	if err != nil {
		return "", err
	}
	if err := a.admit(op, c); err != nil {
		return op.Name, err
	}
	return op.Name, a.serve(op, h, c, logger)
}

// report leaves a line about a provider error in the log, which tells the operator what
// the caller does not get to read. Refusals of the caller's own credential or data are
// the caller's business.
func (a *Area[H]) report(c *Call, operation, provider string, pe *providers.Error, logger *zap.Logger) {
	if pe.Status != 0 {
		c.log(zap.Int("provider_status", pe.Status))
	}
	level := zapcore.WarnLevel
	switch pe.Kind {
	case providers.KindAuth, providers.KindForbidden, providers.KindNotFound, providers.KindConflict,
		providers.KindRejected, providers.KindInvalid, providers.KindCanceled:
		level = zapcore.DebugLevel
	default:
	}
	if ce := logger.Check(level, "provider failed"); ce != nil {
		ce.Write(
			zap.String("area", a.Name), zap.String("operation", operation), zap.String("provider", provider),
			zap.String("request_id", providers.RequestID(c.Request.Context())),
			zap.Stringer("kind", pe.Kind), zap.Int("provider_status", pe.Status),
			zap.String("provider_ref", pe.Reference()),
			zap.String("reason", pe.Message), zap.String("cause", pe.Cause()),
		)
	}
}

// serve calls the operation. A panic in it, most likely a provider's, becomes a failure:
// left alone, it would close the connection without an answer and end with its value,
// which may be a credential, in the server's error log.
func (a *Area[H]) serve(op *Operation[H], h H, c *Call, logger *zap.Logger) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		logger.Error("operation panicked", zap.String("area", a.Name), zap.String("operation", op.Name),
			zap.String("type", fmt.Sprintf("%T", p)), zap.Stack("stack"))
		if c.wrote {
			panic(http.ErrAbortHandler) // half an answer must not look like a whole one
		}
		err = internal()
	}()
	return op.Serve(h, c)
}

// find returns the operation that the path and the method name. Paths are compared as
// they arrive here: case-sensitively, undecoded, and with one optional slash at the
// end, since only this table decides what a contract path is, not Caddy's lenient
// matchers. What handle_path did before, such as merging slashes, stands.
func (a *Area[H]) find(c *Call) (*Operation[H], error) {
	path := strings.TrimSuffix(c.Request.URL.EscapedPath(), "/")
	var allow []string
	literal := slices.ContainsFunc(a.Operations, func(op Operation[H]) bool { return op.Path == path })
	for i := range a.Operations {
		op := &a.Operations[i]
		params, ok := match(op.Path, path)
		if !ok || literal && op.Path != path {
			continue // a path of its own goes before {name}
		}
		if op.Method == c.Request.Method {
			c.params = params
			return op, nil
		}
		allow = append(allow, op.Method)
	}
	if allow != nil {
		slices.Sort(allow)
		return nil, methodNotAllowed(strings.Join(slices.Compact(allow), ", "))
	}
	return nil, notFound()
}

// match compares a path with a pattern whose {name} segments match any one segment,
// and returns what they matched.
func match(pattern, path string) (map[string]string, bool) {
	if pattern == path {
		return nil, true
	}
	if !strings.Contains(pattern, "{") {
		return nil, false
	}
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	params := make(map[string]string, 1)
	for i, seg := range want {
		if name, ok := strings.CutPrefix(seg, "{"); ok && got[i] != "" {
			params[strings.TrimSuffix(name, "}")] = got[i]
		} else if seg != got[i] {
			return nil, false
		}
	}
	return params, true
}

// admit lets the caller through or says why not. A request without a verdict never
// met gateway_auth and is refused like one without a token.
func (a *Area[H]) admit(op *Operation[H], c *Call) error {
	v := gateway.VerdictFrom(c.Request.Context())
	switch {
	case v.Unavailable():
		return unavailable("Service Unavailable")
	case !v.Authenticated():
		return Unauthenticated()
	case !v.Allows(a.Name, op.Write):
		return unauthorized()
	}
	return nil
}

// extraFields are the fields of the access log line of the request.
func extraFields(r *http.Request) *caddyhttp.ExtraLogFields {
	f, _ := r.Context().Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields)
	return f
}
