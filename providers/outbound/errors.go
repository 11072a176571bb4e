package outbound

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"

	"github.com/fleetgate/fleetgate/providers"
)

// The fixed vocabulary that callers read after "cURL error: " (contract part 7). A Go
// error in its place would carry the URL, and with it a credential.
const (
	textCanceled    = "request canceled"
	textTimeout     = "timeout"
	textDNS         = "name not resolved"
	textRefused     = "connection refused"
	textReset       = "connection reset"
	textNoRoute     = "host unreachable"
	textTLS         = "TLS handshake failed"
	textClosed      = "connection closed early"
	textMalformed   = "malformed response"
	textTooLarge    = "response too large"
	textUnreachable = "connection failed"
)

// classify turns whatever a call failed with into a typed error. caller is the
// context that the call was made with, before our own deadline was added.
func classify(caller context.Context, err error) *providers.Error {
	if pe, ok := errors.AsType[*providers.Error](err); ok {
		return pe
	}
	// The *url.Error around a transport error prints the URL.
	if ue, ok := errors.AsType[*url.Error](err); ok {
		err = ue.Err
	}
	if errors.Is(caller.Err(), context.Canceled) {
		return &providers.Error{Kind: providers.KindCanceled, Message: textCanceled}
	}
	kind, text := transportText(err)
	return &providers.Error{Kind: kind, Message: text, Err: cause(err)}
}

// ContextError is the error of a call that is not made, or not waited for any longer,
// because ctx is done.
func ContextError(ctx context.Context) *providers.Error { return classify(ctx, ctx.Err()) }

func transportText(err error) (providers.Kind, string) {
	if de, ok := errors.AsType[reverseproxy.DialError](err); ok {
		return dialText(de)
	}
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return providers.KindTimeout, textTimeout
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), strings.HasPrefix(err.Error(), "stream error: "):
		// The last is a reset of HTTP/2, whose type net/http does not export.
		return providers.KindUnreachable, textReset
	case isTLS(err):
		return providers.KindUnreachable, textTLS
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return providers.KindUnreachable, textClosed
	case isMalformed(err):
		return providers.KindUnreachable, textMalformed
	}
	return providers.KindUnreachable, textUnreachable
}

// dialText reads the text of Caddy's error for a failed dial, which wraps the cause
// without a way to unwrap it.
func dialText(err reverseproxy.DialError) (providers.Kind, string) {
	text := err.Error()
	switch {
	case strings.Contains(text, "i/o timeout"):
		return providers.KindTimeout, textTimeout
	case strings.Contains(text, ": lookup "):
		return providers.KindUnreachable, textDNS
	case strings.Contains(text, syscall.ECONNREFUSED.Error()):
		return providers.KindUnreachable, textRefused
	case strings.Contains(text, syscall.ECONNRESET.Error()):
		return providers.KindUnreachable, textReset
	case strings.Contains(text, syscall.EHOSTUNREACH.Error()), strings.Contains(text, syscall.ENETUNREACH.Error()):
		return providers.KindUnreachable, textNoRoute
	}
	return providers.KindUnreachable, textUnreachable
}

// isMalformed reports whether the answer was not HTTP, or not what its own header
// says. Only some of these errors have types.
func isMalformed(err error) bool {
	_, deflate := errors.AsType[flate.CorruptInputError](err)
	return deflate || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) ||
		strings.Contains(err.Error(), "malformed") || strings.Contains(err.Error(), "chunk")
}

func isTLS(err error) bool {
	_, verification := errors.AsType[*tls.CertificateVerificationError](err)
	_, header := errors.AsType[tls.RecordHeaderError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	_, authority := errors.AsType[x509.UnknownAuthorityError](err)
	_, host := errors.AsType[x509.HostnameError](err)
	_, invalid := errors.AsType[x509.CertificateInvalidError](err)
	// The last two are plain text in crypto/tls and net/http; an alert from the other
	// side reads "remote error: tls: ...".
	return verification || header || alert || authority || host || invalid ||
		strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "server gave HTTP response to HTTPS client")
}

// cause keeps the text of errors that are known to describe only the connection, and
// the mere type of all others.
func cause(err error) error {
	_, isOp := errors.AsType[*net.OpError](err)
	_, isDial := errors.AsType[reverseproxy.DialError](err)
	if isOp || isDial || isTLS(err) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return providers.SafeCause(err)
	}
	return providers.SafeCause(fmt.Errorf("%T", err))
}

// TooLarge is the error of an answer, or of several that belong together, that exceeds
// max_body.
func TooLarge() *providers.Error {
	return &providers.Error{Kind: providers.KindTooLarge, Message: textTooLarge}
}

// StatusError is what an answer with a status of 400 or more means where the provider
// documents nothing else. message is the provider's own, already read from the body;
// if it is empty the status text takes its place. Credentials that the provider
// echoes are masked.
func StatusError(resp *Response, message string, secrets ...string) *providers.Error {
	message = CleanMessage(message, secrets...)
	if message == "" {
		message = http.StatusText(resp.Status)
	}
	e := &providers.Error{Message: message, Status: resp.Status, RetryAfter: retryAfter(resp.Header, time.Now())}
	switch {
	case resp.Status == http.StatusUnauthorized:
		e.Kind = providers.KindAuth
	case resp.Status == http.StatusForbidden:
		e.Kind = providers.KindForbidden
	case resp.Status == http.StatusNotFound:
		e.Kind = providers.KindNotFound
	case resp.Status == http.StatusConflict:
		e.Kind = providers.KindConflict
	case resp.Status == http.StatusTooManyRequests:
		e.Kind = providers.KindThrottled
	case resp.Status >= 400 && resp.Status < 500:
		e.Kind = providers.KindRejected
	default:
		e.Kind = providers.KindProvider
	}
	return e
}

// maxRetryAfter bounds what a provider can make callers wait for.
const maxRetryAfter = time.Hour

// retryAfter reads the header of RFC 9110 section 10.2.3, in both of its forms.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if v == "" {
		return 0
	}
	var d time.Duration
	if secs, err := strconv.ParseInt(v, 10, 32); err == nil || errors.Is(err, strconv.ErrRange) {
		// Out of range, secs is the nearest number in it.
		d = time.Duration(secs) * time.Second
	} else if at, err := http.ParseTime(v); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), maxRetryAfter)
}

// maxMessage is how much of a provider's message callers see, in bytes.
const maxMessage = 500

// mask stands in for a credential in a provider's message.
const mask = "***"

// CleanMessage makes a provider's words fit to be shown: credentials among them are
// masked, in plain and in URL-encoded form, control characters become blanks, and
// long texts are cut.
func CleanMessage(message string, secrets ...string) string {
	message = maskSecrets(message, secrets)
	message = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(message, replacement))
	message = strings.TrimSpace(message)
	if len(message) > maxMessage {
		cut := maxMessage
		for !utf8.RuneStart(message[cut]) {
			cut--
		}
		message = message[:cut] + "…"
	}
	return message
}

// replacement stands in for bytes that are not UTF-8.
const replacement = "\uFFFD"

// minSecret is the length in bytes below which nothing is masked: a user name of one
// letter would take all words apart, and is no secret.
const minSecret = 3

func maskSecrets(message string, secrets []string) string {
	forms := make([]string, 0, 4*len(secrets))
	for _, s := range secrets {
		if len(s) >= minSecret {
			forms = append(forms, s, url.QueryEscape(s), url.PathEscape(s), strings.ToValidUTF8(s, replacement))
		}
	}
	// The longest first: masking a secret that is part of another one would leave the
	// rest of the other to be read.
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	for _, form := range forms {
		message = strings.ReplaceAll(message, form, mask)
	}
	return message
}
