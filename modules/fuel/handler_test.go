package fuel

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/gateway"
	"github.com/fleetgate/fleetgate/modules/internal/areatest"
	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/fuel"
)

func init() {
	caddy.RegisterModule(fakeProvider{})
}

// fakeProvider answers what a scenario tells it to and remembers what it was asked.
type fakeProvider struct {
	body      []byte
	err       error
	onCall    func()
	calls     int
	cred      fuel.Credential
	query     fuel.Query
	requestID string
}

func (fakeProvider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.fuel.fake_fuel",
		New: func() caddy.Module { return &fakeProvider{body: []byte(report)} },
	}
}

func (p *fakeProvider) DisplayName() string { return "Fake" }

func (p *fakeProvider) Transactions(ctx context.Context, cred fuel.Credential, q fuel.Query) ([]byte, error) {
	p.calls++
	p.cred, p.query, p.requestID = cred, q, providers.RequestID(ctx)
	if p.onCall != nil {
		p.onCall()
	}
	return p.body, p.err
}

func (p *fakeProvider) Calls() int { return p.calls }

var suite = areatest.Suite[*Handler, *fakeProvider]{
	Module: "http.handlers.gateway_fuel",
	Config: `{"provider":{"name":"fake_fuel"}}`,
	Open: func(h *Handler, l *zap.Logger) *fakeProvider {
		h.logger = l
		return h.provider.(*fakeProvider)
	},
}

type scenario = areatest.Scenario[*fakeProvider]

const (
	path   = "/fuel/reports/transactions"
	window = "?start_date=2026-01-01&end_date=2026-01-31"

	startCode = "4711"
	userID    = "user-" + areatest.Secret
	password  = "pass word-" + areatest.Secret

	report  = `{"transactionCount":0,"carrierCount":0,"truckStopCount":0,"transactions":[]}`
	success = `{"status":"Success","message":"Success","data":` + report + `}`
)

func failure(message string) string {
	return `{"status":"Error","message":"` + message + `","data":null}`
}

func headers() http.Header {
	return http.Header{
		"Authorization": {"Bearer fgt_" + areatest.Secret},
		"Startcode":     {startCode}, "Userid": {userID}, "Password": {password},
	}
}

// without returns complete headers with the values of one replaced.
func without(name string, values ...string) http.Header {
	h := headers()
	h[name] = values
	return h
}

// run fills in what most scenarios share: an admitted caller with a complete call.
func run(t *testing.T, scenarios []scenario) {
	t.Helper()
	for i := range scenarios {
		sc := &scenarios[i]
		if sc.Target == "" {
			sc.Target = path + window
		}
		if sc.Header == nil {
			sc.Header = headers()
		}
		if sc.Verdict == nil {
			sc.Verdict = areatest.Allowed()
		}
	}
	suite.Run(t, scenarios)
}

func body(text string) func(*fakeProvider) {
	return func(p *fakeProvider) { p.body = []byte(text) }
}

func failing(err error) func(*fakeProvider) {
	return func(p *fakeProvider) { p.err = err }
}

func asked(start, end string) func(*fakeProvider) error {
	return func(p *fakeProvider) error {
		if (p.cred != fuel.Credential{StartCode: startCode, UserID: userID, Password: password}) {
			return errors.New("the credential is another one")
		}
		if (p.query != fuel.Query{Start: start, End: end}) {
			return fmt.Errorf("query is %+v", p.query)
		}
		return nil
	}
}

// TestTransactions is contract 4.4 #15 and 2.4.
func TestTransactions(t *testing.T) {
	const flat = `{"transactionCount":1,"carrierCount":1,"truckStopCount":1,"transactions":[{"seq":1,"startCode":4711,"station":"TX-1","subTransactions":[{"seq":1,"totalTax":0.10,"productDetails":[{"unitCost":3.4590}]}]}]}`
	run(t, []scenario{
		{Name: "ok/empty report", WantCalls: 1, WantBody: success, Check: asked("2026-01-01", "2026-01-31")},
		{Name: "ok/slash at the end", Target: path + "/" + window, WantCalls: 1, WantBody: success},
		{Name: "ok/flat report", Provider: body(flat), WantCalls: 1, WantBody: `{"status":"Success","message":"Success","data":` + flat + `}`},
		{
			Name: "ok/wrapped report", WantCalls: 1, WantBody: `{"status":"Success","message":"Success","data":` + flat + `}`,
			Provider: body(`{"report":{"transactionCount":1,"carrierCount":1,"truckStopCount":1,"transactions":[{"transaction":{"seq":1,"startCode":4711,"station":"TX-1","subTransactions":[{"subTransaction":{"seq":1,"totalTax":0.10,"productDetails":[{"productDetail":{"unitCost":3.4590}}]}}]}}]}}`),
		},
		{Name: "ok/counts are made", Provider: body(`{"report":{"transactions":[]}}`), WantCalls: 1, WantBody: success},
		{
			Name: "ok/one day", Target: path + "?start_date=2024-02-29&end_date=2024-02-29", WantCalls: 1, WantBody: success,
			Check: asked("2024-02-29", "2024-02-29"),
		},
		{
			Name: "ok/parameters that nobody asked for", Target: path + window + "&limit=0&x=%00&x=", WantCalls: 1, WantBody: success,
			Check: asked("2026-01-01", "2026-01-31"),
		},
		{
			Name: "ok/request id goes upstream", WantCalls: 1, WantBody: success,
			Header: func() http.Header {
				h := headers()
				h.Set("X-Request-Id", "req-1")
				return h
			}(),
			Check: func(p *fakeProvider) error {
				if p.requestID != "req-1" {
					return fmt.Errorf("request id is %q", p.requestID)
				}
				return nil
			},
		},
	})
}

// TestMissingInputs are the rows of contract 7.4 for inputs, in their order.
func TestMissingInputs(t *testing.T) {
	var scenarios []scenario
	reject := func(name string, h http.Header, target, message string) {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + name, Header: h, Target: target, WantStatus: 400, WantCode: "invalid_request",
			WantBody: failure(message), NotContains: []string{"xxxx"},
		})
	}

	wrong := map[string][]string{
		"missing": nil, "empty": {""}, "repeated": {"1", "1"}, "10 kB": {strings.Repeat("x", 10_000)},
		"not UTF-8": {"a\xff"}, "tab": {"a\tb"}, "control character": {"a\x02"},
	}
	for header, message := range map[string]string{
		"Startcode": "startCode is missing or invalid.",
		"Userid":    "userId is missing or invalid.",
		"Password":  "password is missing or invalid.",
	} {
		for name, values := range wrong {
			reject(header+" "+name, without(header, values...), "", message)
		}
	}
	for name, value := range map[string]string{"path": "../admin", "blank": "1 2", "query": "1?x=1", "escape": "1%2F", "long": strings.Repeat("1", 65)} {
		reject("Startcode "+name, without("Startcode", value), "", "startCode is missing or invalid.")
	}

	forms := []string{
		"", "=", "=2026-02-30", "=2025-02-29", "=2026-13-01", "=2026-1-01", "=01/02/2026", "=2026-01-01T00:00:00Z",
		"=2026-01-01%00", "=2026-01-01%0a", "=%ff", "=" + strings.Repeat("x", 10_000), "=2026-01-01%20", "=+2026-01-01",
	}
	for _, form := range forms {
		short := form[:min(len(form), 24)]
		reject("start_date"+short, nil, path+"?end_date=2026-01-31&start_date"+form, "Start date is missing or invalid.")
		reject("end_date"+short, nil, path+"?start_date=2026-01-01&end_date"+form, "End date is missing or invalid.")
	}
	reject("start_date absent", nil, path+"?end_date=2026-01-31", "Start date is missing or invalid.")
	reject("end_date absent", nil, path+"?start_date=2026-01-31", "End date is missing or invalid.")
	reject("both absent", nil, path, "Start date is missing or invalid.")
	reject("start_date twice", nil, path+window+"&start_date=2026-01-01", "Start date is missing or invalid.")
	reject("end_date twice", nil, path+window+"&end_date=2026-01-31", "End date is missing or invalid.")
	reject("end before start", nil, path+"?start_date=2026-02-01&end_date=2026-01-31", "End date is missing or invalid.")
	reject("semicolon", nil, path+"?start_date=2026-01-01;end_date=2026-01-31", "query is invalid")
	reject("half an escape", nil, path+window+"%2", "query is invalid")

	order := []struct{ header, message string }{
		{"Startcode", "startCode is missing or invalid."},
		{"Userid", "userId is missing or invalid."},
		{"Password", "password is missing or invalid."},
	}
	h := headers()
	for _, first := range slices.Backward(order) {
		h = h.Clone()
		h.Del(first.header)
		reject("several, first "+first.header, h, path+"?start_date=x", first.message)
		reject("malformed query, first "+first.header, h, path+"?start_date=%zz", first.message)
	}
	run(t, scenarios)
}

// TestProviderErrors are the rows of contract 7.4 for the provider.
func TestProviderErrors(t *testing.T) {
	type row struct {
		name    string
		err     error
		status  int
		code    string
		message string
		after   string
	}
	var scenarios []scenario
	for _, tc := range []row{
		{"log-in refused", &providers.Error{Kind: providers.KindAuth, Message: "Invalid user or password"}, 401, "provider_auth", "Invalid user or password", ""},
		{"log-in refused without a word", &providers.Error{Kind: providers.KindAuth}, 401, "provider_auth", "Unauthorized", ""},
		{"forbidden", &providers.Error{Kind: providers.KindForbidden, Message: "no"}, 403, "provider_auth", "no", ""},
		{"not found", &providers.Error{Kind: providers.KindNotFound, Message: "no account"}, 404, "provider_not_found", "no account", ""},
		{"conflict", &providers.Error{Kind: providers.KindConflict, Message: "busy"}, 409, "provider_conflict", "busy", ""},
		{"rejected", &providers.Error{Kind: providers.KindRejected, Message: "window too long"}, 422, "provider_rejected", "window too long", ""},
		{"throttled", &providers.Error{Kind: providers.KindThrottled, Message: "slow", RetryAfter: time.Minute}, 429, "provider_throttled", "slow", "60"},
		{"provider", &providers.Error{Message: "boom"}, 502, "provider_error", "boom", ""},
		{"invalid JSON", &providers.Error{Kind: providers.KindInvalidJSON}, 502, "provider_invalid_json", "Invalid JSON response", ""},
		{"too large", &providers.Error{Kind: providers.KindTooLarge, Message: "response too large"}, 502, "provider_error", "cURL error: response too large", ""},
		{"unreachable", &providers.Error{Kind: providers.KindUnreachable, Message: "name not resolved"}, 502, "provider_unreachable", "cURL error: name not resolved", ""},
		{"timeout", &providers.Error{Kind: providers.KindTimeout, Message: "timeout"}, 504, "provider_timeout", "cURL error: timeout", ""},
		{"unavailable", &providers.Error{Kind: providers.KindUnavailable}, 503, "unavailable", "Service Unavailable", "5"},
		{"canceled", &providers.Error{Kind: providers.KindCanceled, Message: "request canceled"}, 499, "canceled", "cURL error: request canceled", ""},
		{"foreign type", errors.New(password), 502, "provider_error", "Bad Gateway", ""},
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + tc.name, Provider: failing(tc.err), WantCalls: 1, WantStatus: tc.status, WantCode: tc.code,
			WantBody: failure(tc.message), WantHeader: map[string]string{"Retry-After": tc.after},
		})
	}
	for name, text := range map[string]string{
		"empty": "", "blank": " ", "truncated": `{"report":{"transactions":[{"seq":1`, "HTML": "<html>" + areatest.Secret,
		"deep":      `{"report":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}",
		"not UTF-8": "{\"report\":{\"x\":\"\xff\"}}", "a list": "[]", "null": "null", "a report that is a number": `{"report":1}`,
		"two texts": "{}{}", "transactions of a wrong type": `{"transactions":"x"}`,
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/body is " + name, Provider: body(text), WantCalls: 1, WantStatus: 502, WantCode: "provider_invalid_json",
			WantBody: failure("Invalid JSON response"), NotContains: []string{"html", "offset"},
		})
	}
	scenarios = append(scenarios, scenario{
		Name: "fail/panic", WantCalls: 1, WantStatus: 500, WantCode: "internal", WantBody: failure("Internal Server Error"),
		Provider: func(p *fakeProvider) { p.onCall = func() { panic(password) } },
	})
	run(t, scenarios)
}

// TestAdmission is the first row of contract 7.4, and the scopes.
func TestAdmission(t *testing.T) {
	scenarios := []scenario{
		{Name: "ok/scope", Verdict: areatest.Allowed("fuel"), WantCalls: 1, WantBody: success},
		{Name: "ok/read scope", Verdict: areatest.Allowed("fuel:read"), WantCalls: 1, WantBody: success},
		{
			Name: "fail/other scope", Verdict: areatest.Allowed("telematics", "maintenance:read"),
			WantStatus: 403, WantCode: "unauthorized", WantBody: failure("Unauthorized"),
		},
		{
			Name: "fail/store away", Verdict: areatest.Refused(gateway.ReasonUnavailable),
			WantStatus: 503, WantCode: "unavailable", WantBody: failure("Service Unavailable"), WantHeader: map[string]string{"Retry-After": "5"},
		},
		{
			Name: "fail/no token and no inputs", Verdict: areatest.Refused(gateway.ReasonMissing), Target: path, Header: http.Header{"X": {"y"}},
			WantStatus: 401, WantCode: "unauthenticated", WantBody: failure("Unauthenticated"),
		},
		{
			Name: "fail/expired token", Verdict: areatest.Refused(gateway.ReasonExpired),
			WantStatus: 401, WantCode: "unauthenticated", WantBody: failure("Unauthenticated"),
		},
	}
	run(t, scenarios)
	suite.Run(t, []scenario{{
		Name: "fail/no verdict", Target: path + window, Header: headers(), WantStatus: 401, WantCode: "unauthenticated",
		WantBody: failure("Unauthenticated"), WantHeader: map[string]string{"Www-Authenticate": "Bearer"},
	}})
}

func TestPaths(t *testing.T) {
	var scenarios []scenario
	for name, target := range map[string]string{
		"two slashes at the end": path + "//", "two slashes inside": "/fuel//reports/transactions", "case": "/fuel/Reports/transactions",
		"encoded slash": "/fuel/reports%2Ftransactions", "dots": "/fuel/reports/../reports/transactions",
		"deeper": path + "/1", "shorter": "/fuel/reports",
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + name, Target: target + window, WantStatus: 404, WantCode: "not_found", WantBody: failure("Not Found"),
		})
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "HEAD"} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + method, Method: method, WantStatus: 405, WantCode: "method_not_allowed",
			WantBody: failure("Method Not Allowed"), WantHeader: map[string]string{"Allow": "GET"},
		})
	}
	run(t, scenarios)
}

func TestProvision(t *testing.T) {
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	defer cancel()
	_, err := ctx.LoadModuleByID(suite.Module, []byte(`{}`))
	if err == nil || !strings.Contains(err.Error(), "provider is required") {
		t.Errorf("error is %v", err)
	}
}
