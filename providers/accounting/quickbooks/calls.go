package quickbooks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/providers/outbound"
)

// headerTransactionID names the header by which QuickBooks' support finds a call, on
// the wire intuit_tid.
const headerTransactionID = "Intuit_tid"

// defaultMinorVersion is the version of the API that is asked for when the caller names
// none: the oldest one that QuickBooks still has.
const defaultMinorVersion = "75"

// How often a call is repeated that got no answer or an error of QuickBooks' system,
// and how often one that is throttled.
const (
	maxRepeats = 1
	maxWaits   = 3
)

// call is a call to one company.
type call struct {
	outbound.Request
	cred accounting.Credential

	// patient is whether a throttled call waits and tries again.
	patient bool
}

// newCall returns a GET of a path below the company's.
func newCall(cred accounting.Credential, name, path, minorVersion string) *call {
	if minorVersion == "" {
		minorVersion = defaultMinorVersion
	}
	return &call{cred: cred, Request: outbound.Request{
		Name:   name,
		Path:   "/v3/company/" + url.PathEscape(cred.RealmID) + path,
		Query:  url.Values{"minorversion": {minorVersion}},
		Header: http.Header{"Authorization": {"Bearer " + cred.AccessToken}},
	}}
}

// post makes a POST of the call.
func (c *call) post(contentType string, body []byte) {
	c.Method, c.Body = http.MethodPost, body
	c.Header.Set("Content-Type", contentType)
}

// do makes a call that may be repeated: one that only reads, or that has a requestid.
// It returns the body of an answer that is no error, which is valid JSON or not. The
// deadline is that of ctx, which the caller sets for the whole operation.
func (p *Provider) do(ctx context.Context, c *call) ([]byte, error) {
	for repeats, waits := 0, 0; ; {
		body, err := p.once(ctx, c)
		switch {
		case err == nil:
			return body, nil
		case repeats < maxRepeats && isLost(err):
			repeats++
		case c.patient && waits < maxWaits && errors.Is(err, providers.ErrThrottled):
			waits++
			pause := providers.As(err).RetryAfter
			if deadline, ok := ctx.Deadline(); ok && pause >= time.Until(deadline) {
				return nil, err
			}
			if sleep(ctx, pause) != nil {
				return nil, outbound.ContextError(ctx)
			}
		default:
			return nil, err
		}
	}
}

// isLost reports whether a call failed in a way that another try may mend: the answer
// did not arrive, or QuickBooks' system failed, which it asks to resubmit once.
func isLost(err error) bool {
	code, _ := errors.AsType[codeError](err)
	return errors.Is(err, providers.ErrUnreachable) || errors.Is(err, providers.ErrProvider) && code == codeSystem
}

// once makes one call, as soon as the rate allows it.
func (p *Provider) once(ctx context.Context, c *call) ([]byte, error) {
	// The rate is one of a company and an app. A token stands for the app; without it
	// in the key, callers without access to a company could use up its calls.
	if p.limiters.wait(ctx, outbound.Digest(c.cred.RealmID, c.cred.AccessToken)) != nil {
		return nil, outbound.ContextError(ctx)
	}
	resp, err := p.Do(ctx, &c.Request)
	if err != nil {
		return nil, err
	}
	f := readFault(resp.Body)
	if f == nil && resp.Status < 400 {
		return resp.Body, nil
	}
	failure := f.failure(resp, c.cred.AccessToken)
	p.logFailure(c, resp, failure)
	return nil, failure
}

// logFailure writes a line by which Intuit can find the call. The provider's words are
// not in it: they may quote the books.
func (p *Provider) logFailure(c *call, resp *outbound.Response, e *providers.Error) {
	level := zapcore.DebugLevel
	if e.Kind == providers.KindProvider || e.Kind == providers.KindInvalidJSON || e.Kind == providers.KindThrottled {
		level = zapcore.WarnLevel
	}
	if ce := p.logger.Check(level, "provider refused a call"); ce != nil {
		ce.Write(zap.String("call", c.Name), zap.Int("status", resp.Status), zap.Stringer("kind", e.Kind),
			zap.NamedError("cause", e.Err), zap.String("intuit_tid", resp.Header.Get(headerTransactionID)))
	}
}

// maxRequestID is the length of the longest requestid that QuickBooks takes.
const maxRequestID = 50

// requestID makes a requestid of a write's key. It is the same in every process.
func requestID(key string) string {
	if len(key) <= maxRequestID {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:maxRequestID]
}
