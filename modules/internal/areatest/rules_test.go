package areatest

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// TestProblems breaks each rule once: a runner that never complains proves nothing.
func TestProblems(t *testing.T) {
	const good = `{"status":"Success","message":"Success","data":[1]}`
	type answer struct {
		status int
		body   string
		header map[string]string // changes; "" removes
	}
	bad := func(body string) answer {
		return answer{400, body, map[string]string{"X-Error-Code": "invalid_request"}}
	}
	for _, tc := range []struct {
		name     string
		scenario Scenario[NoCalls]
		members  []string
		answer   answer
		want     string // of the only problem; "" for none
	}{
		{"ok/success", Scenario[NoCalls]{WantBody: good, WantContains: []string{"[1]"}}, nil, answer{200, good, nil}, ""},
		{
			"ok/failure",
			Scenario[NoCalls]{WantStatus: 400, WantCode: "invalid_request"},
			nil,
			bad(`{"status":"Error","message":"m","data":null}`), "",
		},
		{
			"ok/failure of maps",
			Scenario[NoCalls]{WantStatus: 400, WantCode: "invalid_request"},
			[]string{"erro", "msg"},
			bad(`{"erro":true,"msg":"m"}`), "",
		},
		{"fail/status", Scenario[NoCalls]{WantStatus: 204}, nil, answer{200, good, nil}, "status is 200"},
		{"fail/code", Scenario[NoCalls]{WantStatus: 400}, nil, bad(`{"status":"Error","message":"m","data":null}`), "X-Error-Code is"},
		{"fail/body", Scenario[NoCalls]{WantBody: "{}"}, nil, answer{200, good, nil}, "body is"},
		{"fail/lacks", Scenario[NoCalls]{WantContains: []string{"x"}}, nil, answer{200, good, nil}, "body lacks"},
		{"fail/contains", Scenario[NoCalls]{NotContains: []string{"[1]"}}, nil, answer{200, good, nil}, `body contains "[1]"`},
		{"fail/header contains", Scenario[NoCalls]{NotContains: []string{"xyz"}}, nil, answer{200, good, map[string]string{"Via": "xyz"}}, "header Via contains"},
		{
			"fail/secret in the body",
			Scenario[NoCalls]{},
			nil,
			answer{200, `{"status":"Success","message":"Success","data":"` + Secret + `"}`, nil},
			"body contains",
		},
		{"fail/secret in a header", Scenario[NoCalls]{}, nil, answer{200, good, map[string]string{"Via": Secret}}, "header Via contains"},
		{"fail/header", Scenario[NoCalls]{WantHeader: map[string]string{"Age": "1"}}, nil, answer{200, good, nil}, "header Age is"},
		{"fail/header present", Scenario[NoCalls]{WantHeader: map[string]string{"Age": ""}}, nil, answer{200, good, map[string]string{"Age": "1"}}, "header Age is"},
		{"fail/not JSON", Scenario[NoCalls]{}, nil, answer{200, good + "}", nil}, "invalid JSON"},
		{"fail/member twice", Scenario[NoCalls]{}, nil, answer{200, `{"status":"Success","message":"Success","data":1,"data":1}`, nil}, "duplicate member name"},
		{"fail/order", Scenario[NoCalls]{}, nil, answer{200, `{"message":"Success","status":"Success","data":1}`, nil}, "members are"},
		{"fail/word", Scenario[NoCalls]{}, nil, answer{200, `{"status":"Error","message":"Success","data":1}`, nil}, "member status is"},
		{"fail/message", Scenario[NoCalls]{}, nil, answer{200, `{"status":"Success","message":"OK","data":1}`, nil}, "member message is"},
		{
			"fail/erro",
			Scenario[NoCalls]{WantStatus: 400, WantCode: "invalid_request"},
			[]string{"erro", "msg"},
			bad(`{"erro":"true","msg":"m"}`), "member erro is",
		},
		{"fail/type", Scenario[NoCalls]{}, nil, answer{200, good, map[string]string{"Content-Type": "text/html"}}, "Content-Type is"},
		{"fail/length", Scenario[NoCalls]{}, nil, answer{200, good, map[string]string{"Content-Length": "1"}}, "Content-Length is"},
		{"fail/cache", Scenario[NoCalls]{}, nil, answer{200, good, map[string]string{"Cache-Control": "public"}}, "Cache-Control is"},
		{"fail/timing", Scenario[NoCalls]{}, nil, answer{200, good, map[string]string{"Server-Timing": "gateway"}}, "Server-Timing is"},
		{"fail/allow", Scenario[NoCalls]{}, nil, answer{200, good, map[string]string{"Allow": "GET"}}, "Allow is"},
		{"fail/retry", Scenario[NoCalls]{}, nil, answer{200, good, map[string]string{"Retry-After": "1"}}, "Retry-After is"},
		{"fail/challenge", Scenario[NoCalls]{}, nil, answer{200, good, map[string]string{"Www-Authenticate": "Bearer"}}, "Www-Authenticate is"},
		{
			"fail/no retry",
			Scenario[NoCalls]{WantStatus: 503, WantCode: "unavailable"},
			nil,
			answer{503, `{"status":"Error","message":"m","data":null}`, map[string]string{"X-Error-Code": "unavailable"}},
			"Retry-After is",
		},
		{
			"fail/retry of no seconds",
			Scenario[NoCalls]{WantStatus: 503, WantCode: "unavailable"},
			nil,
			answer{503, `{"status":"Error","message":"m","data":null}`, map[string]string{"X-Error-Code": "unavailable", "Retry-After": "0"}},
			"want whole seconds",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec := httptest.NewRecorder()
			h := rec.Header()
			h.Set("Content-Type", "application/json")
			h.Set("Cache-Control", "no-store")
			h.Set("Content-Length", strconv.Itoa(len(tc.answer.body)))
			h.Set("Server-Timing", "gateway;dur=0.100, upstream;dur=2.000")
			for name, value := range tc.answer.header {
				h.Set(name, value)
			}
			rec.WriteHeader(tc.answer.status)
			_, _ = rec.WriteString(tc.answer.body)

			suite := Suite[caddyhttp.MiddlewareHandler, NoCalls]{Members: tc.members}
			got := suite.problems(tc.scenario, rec)
			switch {
			case tc.want == "" && len(got) > 0:
				t.Errorf("problems: %q", got)
			case tc.want != "" && (len(got) != 1 || !strings.Contains(got[0], tc.want)):
				t.Errorf("problems: %q, want %q", got, tc.want)
			}
		})
	}
}
