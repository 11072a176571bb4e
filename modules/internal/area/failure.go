package area

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/transform"
)

// Codes are the values of the X-Error-Code response header.
const (
	CodeUnauthenticated  = "unauthenticated"
	CodeUnauthorized     = "unauthorized"
	CodeInvalidRequest   = "invalid_request"
	CodeNotFound         = "not_found"
	CodeMethodNotAllowed = "method_not_allowed"
	CodeBodyTooLarge     = "body_too_large"
	CodeUnsupportedMedia = "unsupported_media_type"
	CodeUnavailable      = "unavailable"
	CodeNotImplemented   = "not_implemented"
	CodeInternal         = "internal"

	CodeProviderAuth        = "provider_auth"
	CodeProviderNotFound    = "provider_not_found"
	CodeProviderConflict    = "provider_conflict"
	CodeProviderRejected    = "provider_rejected"
	CodeProviderThrottled   = "provider_throttled"
	CodeProviderError       = "provider_error"
	CodeProviderInvalidJSON = "provider_invalid_json"
	CodeProviderUnreachable = "provider_unreachable"
	CodeProviderTimeout     = "provider_timeout"

	codeCanceled = "canceled"
)

// The messages that several areas share (contract part 7). Where the contract gives
// no text, a field's message is its name and one of the two suffixes.
const (
	MessageUnauthenticated = "Unauthenticated"
	MessageUnauthorized    = "Unauthorized"
	MessageInvalidJSON     = "Invalid JSON response"
	TransportPrefix        = "cURL error: "

	suffixRequired = " is required"
	suffixInvalid  = " is invalid"
)

// statusClientGone is what logs show for a caller that left before the answer.
const statusClientGone = 499

// defaultRetryAfter is what callers are told when nobody knows better.
const defaultRetryAfter = 5 * time.Second

// Failure is an error answer: everything about it but the area's shape.
type Failure struct {
	Status     int
	Code       string // X-Error-Code
	Message    string
	Problems   []transform.Problem // more than one of them go into data
	RetryAfter time.Duration       // becomes Retry-After, in whole seconds
	Allow      string              // becomes Allow
}

// Error returns the message.
func (f *Failure) Error() string { return f.Message }

// Invalid is the failure of a request with something wrong in it, in the contract's
// own words.
func Invalid(message string) *Failure {
	return &Failure{Status: http.StatusBadRequest, Code: CodeInvalidRequest, Message: message}
}

// Unauthenticated is the failure of a caller without a good gateway token.
func Unauthenticated() *Failure {
	return &Failure{Status: http.StatusUnauthorized, Code: CodeUnauthenticated, Message: MessageUnauthenticated}
}

func unauthorized() *Failure {
	return &Failure{Status: http.StatusForbidden, Code: CodeUnauthorized, Message: MessageUnauthorized}
}

func unavailable(message string) *Failure {
	return &Failure{Status: http.StatusServiceUnavailable, Code: CodeUnavailable, Message: message, RetryAfter: defaultRetryAfter}
}

// NotImplemented is the failure of an operation of the contract that this version
// does not serve yet.
func NotImplemented() *Failure {
	return &Failure{Status: http.StatusNotImplemented, Code: CodeNotImplemented, Message: "Not Implemented"}
}

func notFound() *Failure {
	return &Failure{Status: http.StatusNotFound, Code: CodeNotFound, Message: "Not Found"}
}

func internal() *Failure {
	return &Failure{Status: http.StatusInternalServerError, Code: CodeInternal, Message: "Internal Server Error"}
}

func methodNotAllowed(allow string) *Failure {
	return &Failure{Status: http.StatusMethodNotAllowed, Code: CodeMethodNotAllowed, Message: "Method Not Allowed", Allow: allow}
}

func bodyTooLarge(limit int64) *Failure {
	return &Failure{
		Status: http.StatusRequestEntityTooLarge, Code: CodeBodyTooLarge,
		Message: fmt.Sprintf("body is larger than %d bytes", limit),
	}
}

func unsupportedMediaType() *Failure {
	return &Failure{
		Status: http.StatusUnsupportedMediaType, Code: CodeUnsupportedMedia,
		Message: "Content-Type must be application/json",
	}
}

type outcome struct {
	status int
	code   string
}

// outcomes is the one table from the kind of a provider error to the status and code
// that every area answers with.
var outcomes = map[providers.Kind]outcome{
	providers.KindAuth:        {http.StatusUnauthorized, CodeProviderAuth},
	providers.KindForbidden:   {http.StatusForbidden, CodeProviderAuth},
	providers.KindNotFound:    {http.StatusNotFound, CodeProviderNotFound},
	providers.KindConflict:    {http.StatusConflict, CodeProviderConflict},
	providers.KindRejected:    {http.StatusUnprocessableEntity, CodeProviderRejected},
	providers.KindThrottled:   {http.StatusTooManyRequests, CodeProviderThrottled},
	providers.KindProvider:    {http.StatusBadGateway, CodeProviderError},
	providers.KindTooLarge:    {http.StatusBadGateway, CodeProviderError},
	providers.KindInvalidJSON: {http.StatusBadGateway, CodeProviderInvalidJSON},
	providers.KindUnreachable: {http.StatusBadGateway, CodeProviderUnreachable},
	providers.KindTimeout:     {http.StatusGatewayTimeout, CodeProviderTimeout},
	providers.KindUnavailable: {http.StatusServiceUnavailable, CodeUnavailable},
	providers.KindInvalid:     {http.StatusBadRequest, CodeInvalidRequest},
	providers.KindCanceled:    {statusClientGone, codeCanceled},
}

// outcomeOf reads the table. A kind that it lacks is a later one than the gateway's, or
// none at all, and reads as the provider's failure.
func outcomeOf(k providers.Kind) outcome {
	if out, ok := outcomes[k]; ok {
		return out
	}
	return outcomes[providers.KindProvider]
}

// failureOf turns what an operation returned into the answer, and into the provider
// error behind it if there is one. text gives the area's words for a provider error.
// Providers are other people's code, so an error of a type that they may not return is
// answered as a failure of the provider.
func failureOf(err error, text func(*providers.Error) string) (*Failure, *providers.Error) {
	if f, ok := errors.AsType[*Failure](err); ok {
		return f, nil
	}
	pe, known := errors.AsType[*providers.Error](err)
	switch {
	case known:
	case errors.Is(err, transform.ErrInvalid):
		pe = &providers.Error{Kind: providers.KindInvalidJSON, Err: providers.SafeCause(err)}
	default:
		pe = &providers.Error{Kind: providers.KindProvider, Err: err}
	}
	out := outcomeOf(pe.Kind)
	f := &Failure{Status: out.status, Code: out.code, Message: text(pe), RetryAfter: pe.RetryAfter}
	if pe.Kind == providers.KindInvalid {
		f.Message = pe.Message // it names an input, and no area has other words for those
	}
	retryable := out.status == http.StatusTooManyRequests || out.status == http.StatusServiceUnavailable
	if f.RetryAfter <= 0 && retryable {
		f.RetryAfter = defaultRetryAfter
	}
	return f, pe
}

// ProviderText gives the words that most areas use for a provider error: the
// transport row for everything on the way, the invalid-JSON row, and otherwise the
// provider's own message.
func ProviderText(pe *providers.Error) string {
	switch pe.Kind {
	case providers.KindUnreachable, providers.KindTimeout, providers.KindTooLarge, providers.KindCanceled:
		return TransportPrefix + cmp.Or(pe.Message, pe.Kind.String())
	case providers.KindInvalidJSON:
		return MessageInvalidJSON
	default:
		return cmp.Or(pe.Message, http.StatusText(outcomeOf(pe.Kind).status))
	}
}
