package quikq

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/fuel"
	"github.com/fleetgate/fleetgate/providers/outbound"
	"github.com/fleetgate/fleetgate/transform"
)

// The window of a report: both days whole, in a zone of which only the spelling is
// known.
const (
	startOfDay = "T00:00:00-00:00"
	endOfDay   = "T23:59:59-00:00"
)

// login returns a session token for the credential.
func (p *Provider) login(ctx context.Context, cred fuel.Credential) (string, error) {
	body := transform.AppendString([]byte(`{"startCode":`), cred.StartCode)
	body = transform.AppendString(append(body, `,"userId":`...), cred.UserID)
	body = transform.AppendString(append(body, `,"password":`...), cred.Password)
	body = append(body, '}')

	resp, err := p.Do(ctx, &outbound.Request{
		Name:   "log-in",
		Method: http.MethodPost,
		Path:   "/v1/auth",
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   body,
	})
	if err != nil {
		return "", err
	}

	a := readAnswer(resp)
	secrets := []string{cred.Password, cred.UserID, cred.StartCode}
	switch {
	case resp.Status == http.StatusTooManyRequests, resp.Status >= 500:
		return "", outbound.StatusError(resp, a.message(), secrets...)
	case a.failed():
		return "", a.error(providers.KindAuth, secrets...)
	case resp.Status == http.StatusNotFound, resp.Status == http.StatusMethodNotAllowed:
		// Nothing there that takes log-ins: the base URL is wrong, not the credential.
		return "", a.error(providers.KindProvider, secrets...)
	case resp.Status >= 400:
		return "", a.error(providers.KindAuth, secrets...)
	}
	token := text(gjson.GetBytes(a.data, "token"))
	if a.status != statusSuccess || !isToken(token) {
		return "", a.invalid()
	}
	return token, nil
}

// isToken reports whether a token can be sent in a header.
func isToken(token string) bool {
	return token != "" && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' })
}

// report returns the report of the window as it was received.
func (p *Provider) report(ctx context.Context, cred fuel.Credential, q fuel.Query, token string) ([]byte, error) {
	resp, err := p.Do(ctx, &outbound.Request{
		Name: "transaction report",
		Path: "/v1/reports/transactions/" + url.PathEscape(cred.StartCode),
		Query: url.Values{
			"startCode": {cred.StartCode},
			"startDt":   {q.Start + startOfDay},
			"endDt":     {q.End + endOfDay},
		},
		Header: http.Header{"Authorization": {"Bearer " + token}},
	})
	if err != nil {
		return nil, err
	}

	a := readAnswer(resp)
	if resp.Status >= 400 || a.failed() {
		return nil, a.reportError(cred.Password, token, cred.UserID, cred.StartCode)
	}
	switch {
	case a.status == statusSuccess && bytes.HasPrefix(a.data, []byte("{")):
		return a.data, nil
	case a.status == "" && a.isReport:
		return resp.Body, nil
	default:
		return nil, a.invalid()
	}
}

// Values of the envelope's status.
const (
	statusSuccess = "success"
	statusFail    = "fail"
)

// answer is a response in the envelope {"status", "message", "data"}. Where it was no
// JSON object, cause says why and nothing else of it is known.
type answer struct {
	resp     *outbound.Response
	status   string
	words    string // the envelope's message
	data     []byte // as received, a part of the body
	isReport bool   // whether the body has the members of a report without an envelope
	cause    error
}

func readAnswer(resp *outbound.Response) answer {
	members, err := transform.Members(resp.Body, "status", "message", "data", "report", "transactions")
	if err != nil {
		return answer{resp: resp, cause: err}
	}
	return answer{
		resp:     resp,
		status:   text(gjson.ParseBytes(members[0])),
		words:    text(gjson.ParseBytes(members[1])),
		data:     members[2],
		isReport: members[3] != nil || members[4] != nil,
	}
}

// failed reports whether the envelope itself says that the call failed.
func (a *answer) failed() bool { return a.status != "" && a.status != statusSuccess }

// message returns the provider's own words, or "".
func (a *answer) message() string {
	if a.words != "" {
		return a.words
	}
	return text(gjson.GetBytes(a.data, "message"))
}

func (a *answer) error(kind providers.Kind, secrets ...string) *providers.Error {
	return &providers.Error{
		Kind:    kind,
		Message: outbound.CleanMessage(a.message(), secrets...),
		Status:  a.resp.Status,
	}
}

// invalid is the error of an answer that does not follow the protocol.
func (a *answer) invalid() *providers.Error {
	return &providers.Error{Kind: providers.KindInvalidJSON, Status: a.resp.Status, Err: a.cause}
}

// sessionWords tell a refused session from refused data in a message.
var sessionWords = regexp.MustCompile(`(?i)\b(un-?authori[sz]ed|unauthenticated|not authenticated|credentials?|(access |session )?token|session|jwt)\b`)

// reportError is what an answer without a report means.
func (a *answer) reportError(secrets ...string) *providers.Error {
	var e *providers.Error
	switch {
	case a.resp.Status >= 400:
		e = outbound.StatusError(a.resp, a.message(), secrets...)
	case a.status == statusFail:
		e = a.error(providers.KindRejected, secrets...)
	default:
		e = a.error(providers.KindProvider, secrets...)
	}
	refused := e.Kind == providers.KindRejected || e.Kind == providers.KindForbidden
	if refused && sessionWords.MatchString(a.message()) {
		// The status of an ended session is not documented, so the words count too.
		e.Kind = providers.KindAuth
	}
	return e
}

// text returns a string, or "" for any other value.
func text(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	return ""
}
