// Package auth adds the handler http.handlers.gateway_auth, which finds out who
// calls the gateway and leaves the verdict to the handlers behind it.
package auth

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/gateway"
	"github.com/fleetgate/fleetgate/transform"
)

const (
	headerRequestID = "X-Request-Id"
	headerErrorCode = "X-Error-Code"

	// maxRequestID is how many characters a caller's request id may have.
	maxRequestID = 128

	// userID is the placeholder that Caddy's access log prints as user_id.
	userID = "http.auth.user.id"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler finds out who calls the gateway. It reads the bearer token from the
// Authorization header, and only from there, and leaves what it found to the
// area handlers behind it, which refuse callers in the shape of their area:
// this handler refuses nobody. An area without this handler in front of it
// refuses everybody.
//
// It gives every request an id: the caller's X-Request-Id, when there is one of
// 1 to 128 letters, digits and `-._~:+/=@`, else a random UUID. The id is in the
// response, in the access log as `request_id`, and in the request as the handlers
// behind see it. The access log also gets `account`, or `auth` with the reason
// why the caller is not known.
//
// A request that no handler behind it answers gets status 404 and a JSON body,
// not the empty 200 that Caddy would give; so does one below another spelling of
// the base /api. A handler behind it that panics answers 500.
//
// The app `gateway` must be configured. Placeholders:
//
// Placeholder | Description
// ------------|-------------
// `{http.auth.user.id}` | The name of the caller's account; unset for an unknown caller
// `{http.vars.request_id}` | The id of the request
type Handler struct {
	app    *gateway.App
	logger *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.gateway_auth",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision finds the gateway app.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	var err error
	h.app, err = gateway.AppOf(ctx, "gateway_auth", "which names the store of tokens")
	return err
}

// ServeHTTP implements [caddyhttp.MiddlewareHandler].
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, next caddyhttp.Handler) error {
	verdict := h.authenticate(r)
	r = r.WithContext(gateway.WithVerdict(r.Context(), verdict))
	identify(w, r, verdict)

	answer := &tracker{ResponseWriterWrapper: &caddyhttp.ResponseWriterWrapper{ResponseWriter: w}}
	if misspelledBase(r) {
		fail(answer, http.StatusNotFound, "not_found", "Not Found")
		return nil
	}
	if err := h.call(next, answer, r); err != nil || answer.wrote {
		return err
	}
	fail(answer, http.StatusNotFound, "not_found", "Not Found")
	return nil
}

// call runs the handlers behind. A panic in one of them would close the connection
// without an answer and end with its value, which may be a credential, in the server's
// error log.
func (h *Handler) call(next caddyhttp.Handler, answer *tracker, r *http.Request) error {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if reason, ok := p.(error); ok && errors.Is(reason, http.ErrAbortHandler) {
			panic(http.ErrAbortHandler)
		}
		h.logger.Error("handler panicked", zap.String("type", fmt.Sprintf("%T", p)), zap.Stack("stack"))
		if answer.wrote {
			panic(http.ErrAbortHandler) // half an answer must not look like a whole one
		}
		fail(answer, http.StatusInternalServerError, "internal", "Internal Server Error")
	}()
	return next.ServeHTTP(answer, r)
}

// misspelledBase reports whether the base that was stripped from the path is another
// spelling of /api. Caddy's matchers ignore case; the contract's paths do not, and
// its base ends with the segment /api.
func misspelledBase(r *http.Request) bool {
	original, ok := r.Context().Value(caddyhttp.OriginalRequestCtxKey).(http.Request)
	if !ok || original.URL == nil {
		return false
	}
	base := strings.TrimSuffix(original.URL.Path, r.URL.Path)
	last := base[strings.LastIndexByte(base, '/')+1:]
	return last != "api" && strings.EqualFold(last, "api")
}

// fail answers with the common envelope (contract part 1).
func fail(w http.ResponseWriter, status int, code, message string) {
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set(headerErrorCode, code)
	w.WriteHeader(status)
	// The caller of a write that fails is gone. As an error it would put the request's
	// headers, tokens among them, into the server's error log.
	_, _ = w.Write(transform.AppendError(nil, message, nil))
}

// authenticate returns the verdict on the caller.
func (h *Handler) authenticate(r *http.Request) *gateway.Verdict {
	values := r.Header["Authorization"]
	switch len(values) {
	case 0:
		return gateway.Refuse(gateway.ReasonMissing)
	case 1:
		if token, ok := bearer(values[0]); ok {
			return h.app.Authenticate(r.Context(), token)
		}
	}
	return gateway.Refuse(gateway.ReasonMalformed)
}

// bearer returns the credential of a value of the Authorization header whose
// scheme is Bearer. What it returns need not be a token.
func bearer(value string) (string, bool) {
	scheme, credential, _ := strings.Cut(value, " ")
	return strings.TrimLeft(credential, " "), strings.EqualFold(scheme, "Bearer")
}

// identify gives the request its id, and the logs the id and the caller.
func identify(w http.ResponseWriter, r *http.Request, verdict *gateway.Verdict) {
	ctx := r.Context()
	id := requestID(r.Header)
	r.Header[headerRequestID] = []string{id}
	w.Header()[headerRequestID] = []string{id}
	caddyhttp.SetVar(ctx, "request_id", id)

	if verdict.Authenticated() {
		if repl, ok := ctx.Value(caddy.ReplacerCtxKey).(*caddy.Replacer); ok {
			repl.Set(userID, verdict.Account)
		}
	}
	if extra, ok := ctx.Value(caddyhttp.ExtraLogFieldsCtxKey).(*caddyhttp.ExtraLogFields); ok {
		extra.Set(zap.String("request_id", id))
		if verdict.Authenticated() {
			extra.Set(zap.String("account", verdict.Account))
		} else {
			extra.Set(zap.Stringer("auth", verdict.Reason))
		}
	}
}

// requestID returns the caller's id of the request, or a new one.
func requestID(header http.Header) string {
	if values := header[headerRequestID]; len(values) == 1 && isRequestID(values[0]) {
		return values[0]
	}
	return uuid.NewString()
}

// isRequestID reports whether s can go into logs and upstream headers as it is.
func isRequestID(s string) bool {
	if s == "" || len(s) > maxRequestID {
		return false
	}
	for i := range len(s) {
		c := s[i]
		isAlphanumeric := '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
		if !isAlphanumeric && strings.IndexByte("-._~:+/=@", c) < 0 {
			return false
		}
	}
	return true
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
