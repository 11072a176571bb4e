package quickbooks

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

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

// How often a call that only reads is repeated if it got no answer or an error of
// QuickBooks' system, and how often if it is throttled.
const (
	maxRepeats = 1
	maxWaits   = 3
)

// call is a call to one company.
type call struct {
	outbound.Request
	cred accounting.Credential

	// limit is the key of the call's limiter: the company. A token is not the app that
	// QuickBooks counts by, as each is renewed every hour and users have their own.
	limit string
}

// newCall returns a GET of a path below the company's.
func newCall(cred accounting.Credential, name, path, minorVersion string) *call {
	if minorVersion == "" {
		minorVersion = defaultMinorVersion
	}
	return &call{cred: cred, limit: cred.RealmID, Request: outbound.Request{
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

// do makes a call that only reads. It returns the body of an answer that is no error,
// which is valid JSON or not. The deadline is that of ctx, which the caller sets for the
// whole operation.
func (p *Provider) do(ctx context.Context, c *call) ([]byte, error) {
	for repeats, waits := 0, 0; ; {
		if err := p.admit(ctx, c); err != nil {
			return nil, err
		}
		body, err := p.send(ctx, c)
		switch {
		case err == nil:
			return body, nil
		case repeats < maxRepeats && isLost(err):
			repeats++
		case waits < maxWaits && errors.Is(err, providers.ErrThrottled):
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

// codeOf returns the code of the fault that a call failed with, if it was one.
func codeOf(err error) codeError {
	code, _ := errors.AsType[codeError](err)
	return code
}

// isLost reports whether a call failed in a way that another try may mend: the answer
// did not arrive, or QuickBooks' system failed, which it asks to resubmit once.
func isLost(err error) bool {
	return errors.Is(err, providers.ErrUnreachable) || errors.Is(err, providers.ErrProvider) && codeOf(err) == codeSystem
}

// admit returns when the rate allows the call to be sent.
func (p *Provider) admit(ctx context.Context, c *call) error {
	err := p.limiters.wait(ctx, c.limit)
	if busy, ok := errors.AsType[*busyError](err); ok {
		return unavailable(busy.retryAfter, err)
	}
	if err != nil {
		return outbound.ContextError(ctx)
	}
	return nil
}

// send makes one call, for which the rate was waited for.
func (p *Provider) send(ctx context.Context, c *call) ([]byte, error) {
	resp, err := p.Do(ctx, &c.Request)
	if err != nil {
		return nil, err
	}
	f := readFault(resp.Body)
	if f == nil && resp.Status < 400 {
		return resp.Body, nil
	}
	failure := f.failure(resp, c.cred.AccessToken)
	if failure.Kind == providers.KindThrottled {
		p.limiters.hold(c.limit, failure.RetryAfter)
	}
	return nil, failure
}

// unavailable is the error of a call that was not sent.
func unavailable(retryAfter time.Duration, cause error) *providers.Error {
	return &providers.Error{Kind: providers.KindUnavailable, RetryAfter: retryAfter, Err: providers.SafeCause(cause)}
}
