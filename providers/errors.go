// Package providers holds what every provider module of the gateway shares: one
// typed error, whose kind an area handler maps to the text, status and code that
// its callers see. It imports the standard library only, so that a provider of
// somebody else's depends on nothing of the gateway but this contract.
package providers

import (
	"errors"
	"fmt"
	"time"
)

// Kind says what went wrong with a provider call, in terms that each area maps to
// its own error rows. The zero Kind is [KindProvider].
type Kind uint8

const (
	// KindProvider is a failure of the provider itself: a 5xx, or an answer that
	// follows its protocol but says that it failed.
	KindProvider Kind = iota
	// KindAuth means that the provider refuses the caller's credential.
	KindAuth
	// KindForbidden means that the credential is good but lacks the right.
	KindForbidden
	// KindNotFound means that the addressed object does not exist at the provider.
	KindNotFound
	// KindConflict means that the provider holds newer or duplicate data.
	KindConflict
	// KindRejected is any other refusal of the caller's data.
	KindRejected
	// KindThrottled means that the provider asks for fewer requests.
	KindThrottled
	// KindInvalidJSON means that the provider answered with something else than the
	// JSON its protocol promises.
	KindInvalidJSON
	// KindTooLarge means that the answer exceeds the configured cap.
	KindTooLarge
	// KindUnreachable means that no whole answer arrived: the connection failed,
	// was reset, or ended early.
	KindUnreachable
	// KindTimeout means that the deadline of the call passed.
	KindTimeout
	// KindUnavailable means that the gateway did not call the provider, to protect
	// it or itself.
	KindUnavailable
	// KindInvalid means that the provider module refuses an input of the caller
	// before anything is sent; the message names the input, as in "page is invalid".
	KindInvalid
	// KindCanceled means that the caller went away before the answer.
	KindCanceled
)

// Sentinels to be used with [errors.Is]; each matches every [*Error] of its kind.
var (
	ErrProvider    = errors.New("provider failed")
	ErrAuth        = errors.New("provider refused the credential")
	ErrForbidden   = errors.New("forbidden by the provider")
	ErrNotFound    = errors.New("not found at the provider")
	ErrConflict    = errors.New("conflict at the provider")
	ErrRejected    = errors.New("rejected by the provider")
	ErrThrottled   = errors.New("throttled by the provider")
	ErrInvalidJSON = errors.New("provider sent invalid JSON")
	ErrTooLarge    = errors.New("provider response too large")
	ErrUnreachable = errors.New("provider unreachable")
	ErrTimeout     = errors.New("provider timed out")
	ErrUnavailable = errors.New("provider not called")
	ErrInvalid     = errors.New("invalid input")
	ErrCanceled    = errors.New("caller went away")
)

var sentinels = [...]error{
	KindProvider:    ErrProvider,
	KindAuth:        ErrAuth,
	KindForbidden:   ErrForbidden,
	KindNotFound:    ErrNotFound,
	KindConflict:    ErrConflict,
	KindRejected:    ErrRejected,
	KindThrottled:   ErrThrottled,
	KindInvalidJSON: ErrInvalidJSON,
	KindTooLarge:    ErrTooLarge,
	KindUnreachable: ErrUnreachable,
	KindTimeout:     ErrTimeout,
	KindUnavailable: ErrUnavailable,
	KindInvalid:     ErrInvalid,
	KindCanceled:    ErrCanceled,
}

// String returns the kind in words, for logs.
func (k Kind) String() string {
	if int(k) < len(sentinels) {
		return sentinels[k].Error()
	}
	return "unknown"
}

// Error is the only error type that a provider returns.
type Error struct {
	// Kind selects the contract row.
	Kind Kind

	// Message is what the caller may read: the provider's own words, cleaned of
	// credentials, or for KindUnreachable, KindTimeout and KindTooLarge a term of
	// the fixed transport vocabulary ("connection refused"). It may be empty.
	Message string

	// Status is the provider's HTTP status, 0 when there was none.
	Status int

	// RetryAfter is the provider's own wish, 0 when it named none.
	RetryAfter time.Duration

	// Ref is the provider's own id of the failed call, for its support: at most 64
	// visible ASCII characters, empty when there is none.
	Ref string

	// Err is the cause. Logs show its text only if [SafeCause] made it, and else its
	// type, because most errors of HTTP clients carry the URL.
	Err error
}

// SafeCause marks an error whose text holds neither a URL nor a credential, so that
// logs may show it.
func SafeCause(err error) error { return safeError{err} }

type safeError struct{ error }

func (e safeError) Unwrap() error { return e.error }

// Cause is what logs show of Err; empty when there is none.
func (e *Error) Cause() string {
	if e.Err == nil {
		return ""
	}
	if c, ok := errors.AsType[safeError](e.Err); ok {
		return c.Error()
	}
	return fmt.Sprintf("%T", e.Err)
}

// maxRef is the length of the longest Ref that is shown.
const maxRef = 64

// Reference is what logs show of Ref; empty when it is not of the allowed form, as it
// comes from outside.
func (e *Error) Reference() string {
	if len(e.Ref) > maxRef {
		return ""
	}
	for i := range len(e.Ref) {
		if e.Ref[i] <= ' ' || e.Ref[i] > '~' {
			return ""
		}
	}
	return e.Ref
}

// Error returns the kind and the message. It never includes the cause, which an
// HTTP client may have filled with a URL.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Kind.String()
	}
	return e.Kind.String() + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is matches the sentinel of the error's kind.
func (e *Error) Is(target error) bool {
	return int(e.Kind) < len(sentinels) && target == sentinels[e.Kind]
}

// As returns the provider error in err's chain. Any other error is a fault of the
// provider module and reads as [KindProvider] without a message.
func As(err error) *Error {
	if pe, ok := errors.AsType[*Error](err); ok {
		return pe
	}
	return &Error{Kind: KindProvider, Err: err}
}
