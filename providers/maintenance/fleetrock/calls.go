package fleetrock

import (
	"bytes"
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
	a := readAnswer(resp)
	if e, refused := a.failure(cred.APIKey, cred.Username); e != nil {
		if refused {
			e.Kind = providers.KindAuth
		}
		return "", e
	}
	if a.token != "" {
		return a.token, nil
	}
	// The protocol knows no other reason to keep the token back.
	return "", &providers.Error{Kind: providers.KindAuth, Status: resp.Status}
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
	a := readAnswer(resp)
	if e, refused := a.failure(cred.APIKey, token, cred.Username); e != nil {
		if refused {
			return nil, &refusedError{cause: e}
		}
		return nil, e
	}
	switch orders, isArray := bytes.CutPrefix(a.orders, []byte("[")); {
	case !isArray:
		return nil, &providers.Error{Kind: providers.KindInvalidJSON, Status: resp.Status}
	case bytes.HasPrefix(bytes.TrimSpace(orders), []byte("]")):
		return nil, nil // and no hold on the body
	default:
		return a.orders, nil
	}
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

// answer is what matters of a response. Where it was no JSON object, cause says why and
// nothing else of it is known.
type answer struct {
	resp    *outbound.Response
	refused bool // whether it is Fleetrock's own error answer {"result":"error"}
	message string
	token   string
	orders  []byte // as received, a part of the body
	cause   error
}

func readAnswer(resp *outbound.Response) answer {
	members, err := transform.Members(resp.Body, "result", "message", "token", "repair_orders")
	if err != nil {
		return answer{resp: resp, cause: err}
	}
	return answer{
		resp:    resp,
		refused: strings.EqualFold(text(members[0]), "error"),
		message: text(members[1]),
		token:   text(members[2]),
		orders:  members[3],
	}
}

// text returns the string that value, valid JSON, spells, or "" for anything else.
func text(value []byte) string {
	if v := gjson.ParseBytes(value); v.Type == gjson.String {
		return v.Str
	}
	return ""
}

// failure returns what is wrong with an answer whatever call it belongs to, or nil.
// refused reports that it is Fleetrock's own error answer, which comes with a status of
// 200 too, and not a fault on the way.
func (a *answer) failure(secrets ...string) (e *providers.Error, refused bool) {
	switch {
	case a.resp.Status == http.StatusTooManyRequests, a.resp.Status >= 500:
		return outbound.StatusError(a.resp, a.message, secrets...), false
	case a.resp.Status >= 400:
		e = outbound.StatusError(a.resp, a.message, secrets...)
		if a.resp.Status == http.StatusNotFound {
			// No call names an object that could be missing: the base URL is wrong.
			e.Kind = providers.KindProvider
		}
	case a.refused:
		// The service is up and says no: to what was asked for, unless it gives no reason
		// or one of its own.
		e = &providers.Error{
			Kind:    providers.KindRejected,
			Message: outbound.CleanMessage(a.message, secrets...),
			Status:  a.resp.Status,
		}
		if e.Message == "" || faultWords.MatchString(a.message) {
			e.Kind = providers.KindProvider
		}
	case a.cause != nil:
		return &providers.Error{Kind: providers.KindInvalidJSON, Status: a.resp.Status, Err: a.cause}, false
	default:
		return nil, false
	}
	if a.refused && credentialWords.MatchString(a.message) {
		e.Kind = providers.KindAuth
	}
	return e, a.refused
}
