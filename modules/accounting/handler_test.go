package accounting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/gateway"
	"github.com/fleetgate/fleetgate/modules/internal/areatest"
	"github.com/fleetgate/fleetgate/providers"
)

// TestOperations goes through the rows of contract 4.1: what the provider is asked, and
// who may ask for it.
func TestOperations(t *testing.T) {
	everywhere(t, func(op *operation) []scenario {
		complete := op.scenario("ok/" + op.name())
		like := func(name string, change func(*scenario)) scenario {
			sc := op.scenario(name + " " + op.name())
			change(&sc)
			return sc
		}
		refused := func(name string, status int, code, message string, change func(*scenario)) scenario {
			sc := op.refused(name, op.path+"?realmId="+realm, headers(), status, code, failure(message))
			change(&sc)
			return sc
		}
		withVerdict := func(v *gateway.Verdict) func(*scenario) { return func(sc *scenario) { sc.Verdict = v } }
		withPath := func(path string) func(*scenario) {
			return func(sc *scenario) { sc.Target = path + "?realmId=" + realm }
		}
		bare := strings.TrimSuffix(op.path, "/")
		all := []scenario{
			complete,
			like("ok/without the slash", withPath(bare)),
			like("ok/with the slash", withPath(bare+"/")),
			like("ok/scope", withVerdict(areatest.Allowed("maps", "accounting"))),
			like("ok/unknown parameters", func(sc *scenario) { sc.Target += "&realmID=x&limit=0&x&x" }),
			like("ok/request id", func(sc *scenario) {
				sc.Header.Set("X-Request-Id", "req-1")
				sc.Check = func(p *fakeProvider) error {
					if p.requestID != "req-1" {
						return fmt.Errorf("request id is %q", p.requestID)
					}
					return nil
				}
			}),
			refused("other scope", 403, "unauthorized", "Unauthorized", withVerdict(areatest.Allowed("fuel", "maps:read"))),
			refused("no verdict", 401, "unauthenticated", "Unauthenticated", withVerdict(nil)),
			refused("revoked", 401, "unauthenticated", "Unauthenticated", withVerdict(areatest.Refused(gateway.ReasonRevoked))),
			refused("store away", 503, "unavailable", "Service Unavailable", withVerdict(areatest.Refused(gateway.ReasonUnavailable))),
			refused("two slashes at the end", 404, "not_found", "Not Found", withPath(bare+"//")),
			refused("two slashes inside", 404, "not_found", "Not Found", withPath(strings.Replace(op.path, "/accounting/", "/accounting//", 1))),
			refused("upper case", 404, "not_found", "Not Found", withPath(strings.ToUpper(op.path))),
			refused("deeper", 404, "not_found", "Not Found", withPath(bare+"/1/2")),
		}
		readOnly := withVerdict(areatest.Allowed("accounting:read"))
		if op.writes() {
			return append(all, refused("read scope", 403, "unauthorized", "Unauthorized", readOnly))
		}
		return append(all, like("ok/read scope", readOnly))
	})
}

func TestMethods(t *testing.T) {
	var scenarios []scenario
	for _, tc := range []struct{ method, path, allow string }{
		{"DELETE", "/accounting/accounts", "GET"},
		{"POST", "/accounting/accounts/", "GET"},
		{"POST", "/accounting/accounts/17", "GET"},
		{"PUT", "/accounting/purchases", "GET, POST"},
		{"HEAD", "/accounting/purchases", "GET, POST"},
		{"DELETE", "/accounting/purchases/17", "GET"},
		{"POST", "/accounting/purchases/update", "PUT"},
		{"GET", "/accounting/purchases/update", "PUT"},
		{"GET", "/accounting/vendors/update", "PUT"},
		{"PATCH", "/accounting/vendors/", "GET, POST"},
		{"PUT", "/accounting/vendors/17", "GET"},
		{"POST", "/accounting/vendors/update/", "PUT"},
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + tc.method + " " + tc.path, Method: tc.method, Target: tc.path, Header: headers(), Verdict: areatest.Allowed(),
			WantStatus: 405, WantCode: "method_not_allowed", WantBody: failure("Method Not Allowed"),
			WantHeader: map[string]string{"Allow": tc.allow},
		})
	}
	suite.Run(t, scenarios)
}

// TestAnswers expects the bytes of the provider.
func TestAnswers(t *testing.T) {
	parts := func(parts ...string) func(*fakeProvider) {
		return func(p *fakeProvider) {
			for _, part := range parts {
				p.rows.Parts = append(p.rows.Parts, []byte(part))
			}
			p.rows.Count = strings.Count(strings.Join(parts, ","), `"Id"`)
		}
	}
	everywhere(t, func(op *operation) []scenario {
		if op.asked.Call != "list" {
			sc := op.scenario("ok/" + op.name() + " another answer")
			sc.Provider = func(p *fakeProvider) { p.entity = []byte(`{"Id" : "1"}`) }
			sc.WantBody = success(`{"Id" : "1"}`)
			return []scenario{sc}
		}
		one := op.scenario("ok/" + op.name() + " one row")
		one.Provider, one.WantBody = parts(entity), success("["+entity+"]")
		several := op.scenario("ok/" + op.name() + " several parts")
		several.Provider = parts(`{"Id":"2"}, {"Id":"1"}`, entity, `{"Id":"3"}`)
		several.WantBody = success(`[{"Id":"2"}, {"Id":"1"},` + entity + `,{"Id":"3"}]`)
		many := op.scenario("ok/" + op.name() + " 12,000 rows")
		many.Provider = parts(strings.Split(strings.Repeat(entity+"\n", 11_999)+entity, "\n")...)
		many.WantBody = success("[" + strings.Repeat(entity+",", 11_999) + entity + "]")
		return []scenario{one, several, many}
	})
}

// TestProviderErrors are the rows of contract 7.1 for the provider.
func TestProviderErrors(t *testing.T) {
	rejected := []struct {
		name    string
		err     error
		status  int
		code    string
		message string
		after   string
	}{
		{"auth", &providers.Error{Kind: providers.KindAuth, Message: "Token expired: ***"}, 401, "provider_auth", "Error: Token expired: *** Fake Books", ""},
		{"auth without a word", &providers.Error{Kind: providers.KindAuth}, 401, "provider_auth", "Error: Unauthorized Fake Books", ""},
		{"forbidden", &providers.Error{Kind: providers.KindForbidden, Message: "ApplicationAuthorizationFailed"}, 403, "provider_auth", "Error: ApplicationAuthorizationFailed Fake Books", ""},
		{"not found", &providers.Error{Kind: providers.KindNotFound, Message: "Object Not Found"}, 404, "provider_not_found", "Error Fake Books: Object Not Found", ""},
		{"conflict", &providers.Error{Kind: providers.KindConflict, Message: "Stale Object Error"}, 409, "provider_conflict", "Error Fake Books: Stale Object Error", ""},
		{"rejected", &providers.Error{Kind: providers.KindRejected, Message: `Invalid "Account"`}, 422, "provider_rejected", `Error Fake Books: Invalid \"Account\"`, ""},
		{"rejected without a word", &providers.Error{Kind: providers.KindRejected}, 422, "provider_rejected", "Error Fake Books: Unprocessable Entity", ""},
		{"throttled", &providers.Error{Kind: providers.KindThrottled, Message: "ThrottleExceeded", RetryAfter: time.Minute}, 429, "provider_throttled", "Error Fake Books: ThrottleExceeded", "60"},
		{"provider", &providers.Error{Message: "An application error has occurred", Err: errors.New(accessToken)}, 502, "provider_error", "Error Fake Books: An application error has occurred", ""},
		{"a kind from the future", &providers.Error{Kind: 200, Message: "odd"}, 502, "provider_error", "Error Fake Books: odd", ""},
		{"invalid JSON", &providers.Error{Kind: providers.KindInvalidJSON, Message: "<html>"}, 502, "provider_invalid_json", "Invalid JSON response", ""},
		{"too large", &providers.Error{Kind: providers.KindTooLarge, Message: "response too large"}, 502, "provider_error", "cURL error: response too large", ""},
		{"unreachable", &providers.Error{Kind: providers.KindUnreachable, Message: "connection refused"}, 502, "provider_unreachable", "cURL error: connection refused", ""},
		{"timeout", &providers.Error{Kind: providers.KindTimeout, Message: "timeout"}, 504, "provider_timeout", "cURL error: timeout", ""},
		{"unavailable", &providers.Error{Kind: providers.KindUnavailable}, 503, "unavailable", "Service Unavailable", "5"},
		{"canceled", &providers.Error{Kind: providers.KindCanceled, Message: "request canceled"}, 499, "canceled", "cURL error: request canceled", ""},
		{"invalid", &providers.Error{Kind: providers.KindInvalid, Message: "filter is invalid: STARTPOSITION"}, 400, "invalid_request", "filter is invalid: STARTPOSITION", ""},
		{"foreign type", errors.New("POST https://x/?token=" + accessToken), 502, "provider_error", "Error Fake Books: Bad Gateway", ""},
	}
	everywhere(t, func(op *operation) []scenario {
		var all []scenario
		for _, tc := range rejected {
			sc := op.scenario("fail/" + op.name() + " " + tc.name)
			sc.Provider, sc.WantStatus, sc.WantCode = failing(tc.err), tc.status, tc.code
			sc.WantBody = failure(tc.message)
			sc.NotContains = []string{"Success", "html", "https"}
			sc.WantHeader = map[string]string{"Retry-After": tc.after, "Www-Authenticate": ""}
			all = append(all, sc)
		}
		sc := op.scenario("fail/" + op.name() + " panic")
		sc.Provider = func(p *fakeProvider) { p.onCall = func() { panic(accessToken) } }
		sc.WantStatus, sc.WantCode, sc.WantBody = 500, "internal", failure("Internal Server Error")
		return append(all, sc)
	})
}

func TestProvision(t *testing.T) {
	for name, tc := range map[string]struct{ config, want string }{
		"ok/default":            {`{"provider":{"name":"fake_accounting"}}`, ""},
		"ok/max_body":           {`{"max_body":1,"provider":{"name":"fake_accounting"}}`, ""},
		"ok/largest max_body":   {`{"max_body":1073741824,"provider":{"name":"fake_accounting"}}`, ""},
		"fail/no provider":      {`{}`, "provider is required"},
		"fail/no name":          {`{"provider":{}}`, "the key 'name' is missing"},
		"fail/unknown key":      {`{"maxbody":1,"provider":{"name":"fake_accounting"}}`, `unknown field "maxbody"`},
		"fail/unknown option":   {`{"provider":{"name":"fake_accounting","base_url":"x"}}`, `unknown field "base_url"`},
		"fail/max_body below 0": {`{"max_body":-1,"provider":{"name":"fake_accounting"}}`, "max_body must be between 1 and 1073741824 bytes"},
		"fail/max_body absurd":  {`{"max_body":1073741825,"provider":{"name":"fake_accounting"}}`, "max_body must be between 1 and 1073741824 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
			defer cancel()
			_, err := ctx.LoadModuleByID(suite.Module, []byte(tc.config))
			if tc.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want %q", err, tc.want)
			}
		})
	}
}

// TestPaths has paths that are near the contract's.
func TestPaths(t *testing.T) {
	var scenarios []scenario
	for name, path := range map[string]string{
		"area": "/accounting", "area with a slash": "/accounting/", "other entity": "/accounting/bills", "singular": "/accounting/account",
		"encoded slash": "/accounting%2Faccounts", "encoded letter": "/accounting/account%73", "dots": "/accounting/x/../accounts",
		"null byte": "/accounting/accounts%00", "deeper update": "/accounting/purchases/update/17", "other area": "/fuel/reports/transactions",
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + name, Target: path + "?realmId=" + realm, Header: headers(), Verdict: areatest.Allowed(),
			WantStatus: 404, WantCode: "not_found", WantBody: failure("Not Found"),
		})
	}
	suite.Run(t, scenarios)
}
