package fleetrock

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/maintenance"
	"github.com/fleetgate/fleetgate/providers/outbound"
	"github.com/fleetgate/fleetgate/transform"
)

// login returns a session token for the credential.
func (p *Provider) login(ctx context.Context, cred maintenance.Credential) (string, error) {
	resp, err := p.get(ctx, &outbound.Request{
		Name:  "session",
		Path:  "/API/GetToken",
		Query: url.Values{"username": {cred.Username}, "key": {cred.APIKey}},
	})
	if err != nil {
		return "", err
	}
	if e, refused := failure(resp, cred.APIKey, cred.Username); e != nil {
		if refused {
			e.Kind = providers.KindAuth
		}
		return "", e
	}
	if token := text(resp.Body, "token"); token != "" {
		return token, nil
	}
	kind := providers.KindAuth // the protocol knows no other reason to keep the token back
	if !gjson.ParseBytes(resp.Body).IsObject() {
		kind = providers.KindInvalidJSON
	}
	return "", &providers.Error{Kind: kind, Status: resp.Status}
}

// list returns the array of the orders in one part of the window, nil when it is empty.
// Its error is a [*refusedError] where another token might help.
func (p *Provider) list(
	ctx context.Context, cred maintenance.Credential, q maintenance.Query, w window, b *outbound.Budget, token string,
) ([]byte, error) {
	query := url.Values{"username": {cred.Username}, "token": {token}}
	for _, filter := range [...]struct{ name, value string }{
		{"status", q.Status},
		{"event", q.Event},
		{"start", w.start},
		{"end", w.end},
	} {
		if filter.value != "" {
			query.Set(filter.name, filter.value)
		}
	}
	resp, err := p.get(ctx, &outbound.Request{Name: "repair orders", Path: "/API/GetRO", Query: query, Budget: b})
	if err != nil {
		return nil, err
	}
	if e, refused := failure(resp, cred.APIKey, token, cred.Username); e != nil {
		if refused {
			return nil, &refusedError{cause: e}
		}
		return nil, e
	}
	orders := gjson.GetBytes(resp.Body, "repair_orders")
	if !orders.IsArray() {
		return nil, &providers.Error{Kind: providers.KindInvalidJSON, Status: resp.Status}
	}
	if strings.TrimSpace(orders.Raw[1:len(orders.Raw)-1]) == "" {
		return nil, nil // and no hold on the body
	}
	// Cut from the body instead of orders.Raw, which would have to be copied again.
	return resp.Body[orders.Index : orders.Index+len(orders.Raw)], nil
}

// burstWaits are the pauses before a call is repeated that was answered with 403,
// which Fleetrock does in bursts when it is asked too much.
var burstWaits = [...]time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second}

// get makes one call, repeats of it included, within the deadline of ctx: that of the
// caller's request or of the log-in.
func (p *Provider) get(ctx context.Context, r *outbound.Request) (*outbound.Response, error) {
	deadline, _ := ctx.Deadline()
	for _, pause := range burstWaits {
		resp, err := p.Do(ctx, r)
		if err != nil || resp.Status != http.StatusForbidden || !p.now().Add(pause).Before(deadline) {
			return resp, err
		}
		p.wait(ctx, pause)
	}
	return p.Do(ctx, r)
}

// wait returns after d or at the end of ctx, whose error the next call then reports.
func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// refusedError is the error answer of a list call. It passes for a refused credential, so
// that a kept token is renewed whatever the answer says; its cause is what the answer
// means once the token is beyond doubt.
type refusedError struct {
	cause *providers.Error
}

// Error returns the text of the cause.
func (e *refusedError) Error() string { return e.cause.Error() }

// Is matches [providers.ErrAuth] only.
func (e *refusedError) Is(target error) bool { return target == providers.ErrAuth }

// credentialWords tell a refused credential from refused data in a message.
var credentialWords = regexp.MustCompile(`(?i)\b(keys?|tokens?|credentials?|user ?names?|sessions?|un-?authori[sz]ed|unauthenticated|log-?in)\b`)

// faultWords tell a fault of Fleetrock from a refusal of the caller's filters in a
// message. How it words either is not documented.
var faultWords = regexp.MustCompile(`(?i)\b(internal|servers?|database|exception|unexpected|unavailable|temporarily|try again|again later|went wrong|time-?out|timed out)\b`)

// failure returns what is wrong with an answer whatever call it belongs to, or nil.
// refused reports that it is Fleetrock's own error answer {"result":"error"}, which
// comes with a status of 200 too, and not a fault on the way.
func failure(resp *outbound.Response, secrets ...string) (e *providers.Error, refused bool) {
	invalid := transform.Validate(resp.Body)
	var message string
	if invalid == nil {
		message = text(resp.Body, "message")
		refused = strings.EqualFold(text(resp.Body, "result"), "error")
	}
	switch {
	case resp.Status == http.StatusTooManyRequests, resp.Status >= 500:
		return outbound.StatusError(resp, message, secrets...), false
	case resp.Status >= 400:
		e = outbound.StatusError(resp, message, secrets...)
		if resp.Status == http.StatusNotFound {
			// No call names an object that could be missing: the base URL is wrong.
			e.Kind = providers.KindProvider
		}
	case refused:
		// The service is up and says no: to what was asked for, unless it gives no reason
		// or one of its own.
		e = &providers.Error{
			Kind:    providers.KindRejected,
			Message: outbound.CleanMessage(message, secrets...),
			Status:  resp.Status,
		}
		if e.Message == "" || faultWords.MatchString(message) {
			e.Kind = providers.KindProvider
		}
	case invalid != nil:
		return &providers.Error{Kind: providers.KindInvalidJSON, Status: resp.Status, Err: invalid}, false
	default:
		return nil, false
	}
	if refused && credentialWords.MatchString(message) {
		e.Kind = providers.KindAuth
	}
	return e, refused
}

// text returns the string member of a valid JSON object, or "".
func text(body []byte, member string) string {
	if v := gjson.GetBytes(body, member); v.Type == gjson.String {
		return v.Str
	}
	return ""
}
