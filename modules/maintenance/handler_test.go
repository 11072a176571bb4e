package maintenance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/gateway"
	"github.com/fleetgate/fleetgate/modules/internal/areatest"
	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/maintenance"
)

func init() {
	caddy.RegisterModule(fakeProvider{})
}

// fakeProvider answers what a scenario tells it to and remembers what it was asked.
type fakeProvider struct {
	orders    [][]byte
	err       error
	onCall    func()
	calls     int
	cred      maintenance.Credential
	query     maintenance.Query
	requestID string
}

func (fakeProvider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.maintenance.fake_maintenance",
		New: func() caddy.Module { return new(fakeProvider) },
	}
}

func (p *fakeProvider) DisplayName() string { return "Fake" }

func (p *fakeProvider) Orders(ctx context.Context, cred maintenance.Credential, q maintenance.Query) ([][]byte, error) {
	p.calls++
	p.cred, p.query, p.requestID = cred, q, providers.RequestID(ctx)
	if p.onCall != nil {
		p.onCall()
	}
	return p.orders, p.err
}

func (p *fakeProvider) Calls() int { return p.calls }

var suite = areatest.Suite[*Handler, *fakeProvider]{
	Module: "http.handlers.gateway_maintenance",
	Config: `{"provider":{"name":"fake_maintenance"}}`,
	Open: func(h *Handler, l *zap.Logger) *fakeProvider {
		h.logger = l
		return h.provider.(*fakeProvider)
	},
}

type scenario = areatest.Scenario[*fakeProvider]

const (
	path     = "/maintenance/repair-orders"
	username = "user-" + areatest.Secret
	apiKey   = "key-" + areatest.Secret

	emptyList = `{"status":"Success","message":"Success","data":[]}`
)

func failure(message string) string {
	return `{"status":"Error","message":"` + message + `","data":null}`
}

func headers() http.Header {
	return http.Header{
		"Authorization": {"Bearer fgt_" + areatest.Secret},
		"Username":      {username}, "Api-Key-Eld": {apiKey},
	}
}

// with returns complete headers with the values of one replaced.
func with(name string, values ...string) http.Header {
	h := headers()
	h[name] = values
	return h
}

// run fills in what most scenarios share: an admitted caller with both headers.
func run(t *testing.T, scenarios []scenario) {
	t.Helper()
	for i := range scenarios {
		sc := &scenarios[i]
		if sc.Target == "" {
			sc.Target = path
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

func arrays(texts ...string) func(*fakeProvider) {
	return func(p *fakeProvider) {
		for _, text := range texts {
			p.orders = append(p.orders, []byte(text))
		}
	}
}

func failing(err error) func(*fakeProvider) {
	return func(p *fakeProvider) { p.err = err }
}

func asked(q maintenance.Query) func(*fakeProvider) error {
	return func(p *fakeProvider) error {
		if (p.cred != maintenance.Credential{Username: username, APIKey: apiKey}) {
			return errors.New("the credential is another one")
		}
		if p.query != q {
			return fmt.Errorf("query is %+v, want %+v", p.query, q)
		}
		return nil
	}
}

// TestOrders is contract 4.5 #16 and 2.5.
func TestOrders(t *testing.T) {
	const (
		one   = `{"id":"1","unit_number":"T-1","vin":"1FUJ","vendor_name":"Joe \"Sr\"","status":"In Progress","grand_total":1234567890.10,"date_created":"9/5/2026 4:03:09 PM","tasks":[{"id":9}]}`
		oneN  = `{"id":"1","unit_number":"T-1","vin":"1FUJ","vendor_name":"Joe \"Sr\"","status":"In Progress","grand_total":"1234567890.10","date_created":"9/5/2026 4:03:09 PM"}`
		two   = `{"id":2,"vin":null,"status":"Paid","grand_total":""}`
		twoN  = `{"id":"2","unit_number":"","vin":"","vendor_name":"","status":"Paid","grand_total":"","date_created":""}`
		start = `{"status":"Success","message":"Success","data":[`
	)
	run(t, []scenario{
		{Name: "ok/nothing matches", WantCalls: 1, WantBody: emptyList},
		{Name: "ok/empty arrays", Provider: arrays("[]", " [ ] "), WantCalls: 1, WantBody: emptyList},
		{
			Name: "ok/normalized", Provider: arrays("[" + one + "," + two + "]"), WantCalls: 1,
			WantBody: start + oneN + "," + twoN + "]}", NotContains: []string{"tasks", "null", "1234567890.1,"},
		},
		{
			Name: "ok/joined without duplicates", Provider: arrays("["+one+"]", "[]", "["+two+","+one+"]"), WantCalls: 1,
			WantBody: start + oneN + "," + twoN + "]}",
		},
		{Name: "ok/slash at the end", Target: path + "/", WantCalls: 1, WantBody: emptyList},
		{
			Name: "ok/request id goes upstream", Header: with("X-Request-Id", "req-1"), WantCalls: 1, WantBody: emptyList,
			Check: func(p *fakeProvider) error {
				if p.requestID != "req-1" {
					return fmt.Errorf("request id is %q", p.requestID)
				}
				return nil
			},
		},
	})
}

// TestQuery checks what reaches the provider.
func TestQuery(t *testing.T) {
	var scenarios []scenario
	accept := func(name, query string, want maintenance.Query) {
		scenarios = append(scenarios, scenario{Name: "ok/" + name, Target: path + query, WantCalls: 1, WantBody: emptyList, Check: asked(want)})
	}
	accept("nothing", "", maintenance.Query{})
	accept("unknown parameters", "?unit=%00&Status=x", maintenance.Query{})
	for _, status := range []string{"notstarted", "waiting", "inprogress", "finished", "invoiced", "paid", "deleted"} {
		accept("status "+status, "?status="+status, maintenance.Query{Status: status})
	}
	accept("event", "?event=created", maintenance.Query{Event: "created"})
	accept("event in mixed case", "?event=Paid", maintenance.Query{Event: "Paid"})
	accept("event of the greatest length", "?event="+strings.Repeat("e", 64), maintenance.Query{Event: strings.Repeat("e", 64)})
	accept("start_date", "?start_date=2024-02-29", maintenance.Query{Start: "2024-02-29"})
	accept("end_date", "?end_date=2026-12-31", maintenance.Query{End: "2026-12-31"})
	accept("all", "?status=paid&event=paid&start_date=2026-01-01&end_date=2026-01-01",
		maintenance.Query{Status: "paid", Event: "paid", Start: "2026-01-01", End: "2026-01-01"})
	run(t, scenarios)
}

// TestMalformedQuery sends each parameter in each wrong form.
func TestMalformedQuery(t *testing.T) {
	everywhere := []string{"", "%00", "a%0ab", "%ff", strings.Repeat("x", 10_000), "'", "%20", "../x", "%C3%A9"}
	var scenarios []scenario
	reject := func(name, query, message string) {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + name, Target: path + query, WantStatus: 400, WantCode: "invalid_request", WantBody: failure(message),
		})
	}
	for name, wrong := range map[string][]string{
		"status":     {"Paid", "started", "in_progress", "paid,deleted", "In%20Progress"},
		"event":      {"a,b", "paid%26x=1", strings.Repeat("e", 65)},
		"start_date": {"2026-02-30", "2025-02-29", "2026-1-1", "2026-01-01T00:00:00Z", "9/5/2026"},
		"end_date":   {"2026-04-31", "2026-00-01", "20260101", "2026-01-011"},
	} {
		for _, form := range append(wrong, everywhere...) {
			reject(name+"="+form[:min(len(form), 24)], "?"+name+"="+form, name+" is invalid")
		}
		reject(name+" twice", "?"+name+"=paid&"+name+"=paid", name+" is invalid")
	}
	reject("end before start", "?start_date=2026-02-02&end_date=2026-02-01", "end_date is invalid")
	reject("semicolon", "?status=paid;event=paid", "query is invalid")
	reject("half an escape", "?status=paid%", "query is invalid")
	scenarios = append(scenarios, scenario{
		Name:   "fail/several problems",
		Target: path + "?end_date=x&status=" + areatest.Secret + "&event=", WantStatus: 400, WantCode: "invalid_request",
		WantBody: `{"status":"Error","message":"status is invalid","data":{"errors":[{"field":"status","message":"status is invalid"},` +
			`{"field":"event","message":"event is invalid"},{"field":"end_date","message":"end_date is invalid"}]}}`,
	})
	run(t, scenarios)
}

// TestHeaders is the second row of contract 7.5: missing headers read like a bad token.
func TestHeaders(t *testing.T) {
	var scenarios []scenario
	for _, header := range []string{"Username", "Api-Key-Eld"} {
		for name, values := range map[string][]string{
			"missing": nil, "empty": {""}, "repeated": {"a", "b"}, "10 kB": {strings.Repeat("x", 10_000)},
			"not UTF-8": {"a\xff"}, "tab": {"a\tb"}, "control character": {"a\x1f"},
		} {
			scenarios = append(scenarios, scenario{
				Name: "fail/" + header + " " + name, Header: with(header, values...), Target: path + "?status=bad",
				WantStatus: 401, WantCode: "unauthenticated", WantBody: failure("Unauthenticated"), NotContains: []string{"xxxx", "status is"},
			})
		}
	}
	run(t, scenarios)
}

// TestProviderErrors is the third row of contract 7.5: one text, many statuses.
func TestProviderErrors(t *testing.T) {
	const message = "what the provider said"
	var scenarios []scenario
	for _, tc := range []struct {
		name   string
		err    error
		status int
		code   string
		after  string
	}{
		{"auth", &providers.Error{Kind: providers.KindAuth, Message: message}, 401, "provider_auth", ""},
		{"forbidden", &providers.Error{Kind: providers.KindForbidden, Message: message}, 403, "provider_auth", ""},
		{"not found", &providers.Error{Kind: providers.KindNotFound, Message: message}, 404, "provider_not_found", ""},
		{"conflict", &providers.Error{Kind: providers.KindConflict, Message: message}, 409, "provider_conflict", ""},
		{"rejected", &providers.Error{Kind: providers.KindRejected, Message: message}, 422, "provider_rejected", ""},
		{"throttled", &providers.Error{Kind: providers.KindThrottled, Message: message, RetryAfter: 8 * time.Second}, 429, "provider_throttled", "8"},
		{"provider", &providers.Error{Message: message}, 502, "provider_error", ""},
		{"invalid JSON", &providers.Error{Kind: providers.KindInvalidJSON, Message: message}, 502, "provider_invalid_json", ""},
		{"too large", &providers.Error{Kind: providers.KindTooLarge, Message: message}, 502, "provider_error", ""},
		{"unreachable", &providers.Error{Kind: providers.KindUnreachable, Message: message}, 502, "provider_unreachable", ""},
		{"timeout", &providers.Error{Kind: providers.KindTimeout, Message: message}, 504, "provider_timeout", ""},
		{"unavailable", &providers.Error{Kind: providers.KindUnavailable, Message: message}, 503, "unavailable", "5"},
		{"canceled", &providers.Error{Kind: providers.KindCanceled, Message: message}, 499, "canceled", ""},
		{"foreign type", errors.New(apiKey), 502, "provider_error", ""},
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + tc.name, Provider: failing(tc.err), WantCalls: 1, WantStatus: tc.status, WantCode: tc.code,
			WantBody: failure("Provider Error"), NotContains: []string{message, "cURL"}, WantHeader: map[string]string{"Retry-After": tc.after},
		})
	}
	for name, text := range map[string]string{
		"empty": "", "truncated": `[{"id":"1"`, "HTML": "<html>" + areatest.Secret,
		"deep": strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "not UTF-8": "[{\"id\":\"\xff\"}]",
		"an object": `{"result":"error"}`, "null": "null", "a list of texts": `["1"]`, "two texts": "[][]",
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/body is " + name, Provider: arrays(`[{"id":"1"}]`, text), WantCalls: 1, WantStatus: 502, WantCode: "provider_invalid_json",
			WantBody: failure("Provider Error"), NotContains: []string{"html", "offset"},
		})
	}
	scenarios = append(scenarios, scenario{
		Name: "fail/panic", WantCalls: 1, WantStatus: 500, WantCode: "internal", WantBody: failure("Internal Server Error"),
		Provider: func(p *fakeProvider) { p.onCall = func() { panic(apiKey) } },
	})
	run(t, scenarios)
}

// TestAdmission is the other half of the second row of contract 7.5, and the scopes.
func TestAdmission(t *testing.T) {
	run(t, []scenario{
		{Name: "ok/scope", Verdict: areatest.Allowed("maintenance"), WantCalls: 1, WantBody: emptyList},
		{Name: "ok/read scope", Verdict: areatest.Allowed("maintenance:read"), WantCalls: 1, WantBody: emptyList},
		{
			Name: "fail/other scope", Verdict: areatest.Allowed("fuel"),
			WantStatus: 403, WantCode: "unauthorized", WantBody: failure("Unauthorized"),
		},
		{
			Name: "fail/store away", Verdict: areatest.Refused(gateway.ReasonUnavailable),
			WantStatus: 503, WantCode: "unavailable", WantBody: failure("Service Unavailable"), WantHeader: map[string]string{"Retry-After": "5"},
		},
		{
			Name: "fail/unknown token", Verdict: areatest.Refused(gateway.ReasonUnknown),
			WantStatus: 401, WantCode: "unauthenticated", WantBody: failure("Unauthenticated"),
		},
	})
	suite.Run(t, []scenario{{
		Name: "fail/no verdict", Target: path, Header: headers(), WantStatus: 401, WantCode: "unauthenticated",
		WantBody: failure("Unauthenticated"), WantHeader: map[string]string{"Www-Authenticate": "Bearer"},
	}})
}

func TestPaths(t *testing.T) {
	var scenarios []scenario
	for name, target := range map[string]string{
		"two slashes at the end": path + "//", "two slashes inside": "/maintenance//repair-orders", "case": "/maintenance/Repair-Orders",
		"encoded slash": "/maintenance%2frepair-orders", "encoded dash": "/maintenance/repair%2Dorders",
		"dots": "/maintenance/./repair-orders", "deeper": path + "/1", "shorter": "/maintenance",
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + name, Target: target, WantStatus: 404, WantCode: "not_found", WantBody: failure("Not Found"),
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
