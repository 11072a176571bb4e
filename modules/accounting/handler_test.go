package accounting

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/gateway"
	"github.com/fleetgate/fleetgate/modules/internal/areatest"
)

func init() {
	caddy.RegisterModule(fakeProvider{})
}

type fakeProvider struct{}

func (fakeProvider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.accounting.fake_accounting",
		New: func() caddy.Module { return new(fakeProvider) },
	}
}

func (fakeProvider) DisplayName() string { return "Fake" }

var suite = areatest.Suite[*Handler, areatest.NoCalls]{
	Module: "http.handlers.gateway_accounting",
	Config: `{"provider":{"name":"fake_accounting"}}`,
	Open: func(h *Handler, l *zap.Logger) areatest.NoCalls {
		h.logger = l
		return areatest.NoCalls{}
	},
}

type scenario = areatest.Scenario[areatest.NoCalls]

var headers = http.Header{
	"Authorization":           {"Bearer fgt_" + areatest.Secret},
	"Access-Token-Accounting": {"token-" + areatest.Secret},
}

func failure(message string) string {
	return `{"status":"Error","message":"` + message + `","data":null}`
}

// operations are the rows of contract 4.1.
var operations = []struct {
	method, path string
	write        bool
}{
	{"GET", "/accounting/accounts/", false},
	{"GET", "/accounting/accounts/17/", false},
	{"GET", "/accounting/purchases/", false},
	{"GET", "/accounting/purchases/17/", false},
	{"POST", "/accounting/purchases/", true},
	{"PUT", "/accounting/purchases/update", true},
	{"GET", "/accounting/vendors/", false},
	{"GET", "/accounting/vendors/17/", false},
	{"POST", "/accounting/vendors/", true},
	{"PUT", "/accounting/vendors/update", true},
}

func TestOperations(t *testing.T) {
	var scenarios []scenario
	for _, op := range operations {
		name := op.method + " " + op.path
		add := func(what string, verdict *gateway.Verdict, path string, status int, code, message string) {
			scenarios = append(scenarios, scenario{
				Name: "fail/" + name + " " + what, Method: op.method, Target: path + "?realmId=1", Header: headers, Verdict: verdict,
				WantStatus: status, WantCode: code, WantBody: failure(message),
			})
		}
		add("every area", areatest.Allowed(), op.path, 501, "not_implemented", "Not Implemented")
		add("without the slash", areatest.Allowed(), strings.TrimSuffix(op.path, "/"), 501, "not_implemented", "Not Implemented")
		add("scope", areatest.Allowed("accounting"), op.path, 501, "not_implemented", "Not Implemented")
		if op.write {
			add("read scope", areatest.Allowed("accounting:read"), op.path, 403, "unauthorized", "Unauthorized")
		} else {
			add("read scope", areatest.Allowed("accounting:read"), op.path, 501, "not_implemented", "Not Implemented")
		}
		add("other scope", areatest.Allowed("maps"), op.path, 403, "unauthorized", "Unauthorized")
		add("no verdict", nil, op.path, 401, "unauthenticated", "Unauthenticated")
		add("revoked", areatest.Refused(gateway.ReasonRevoked), op.path, 401, "unauthenticated", "Unauthenticated")
		add("store away", areatest.Refused(gateway.ReasonUnavailable), op.path, 503, "unavailable", "Service Unavailable")
		add("two slashes", areatest.Allowed(), strings.TrimSuffix(op.path, "/")+"//", 404, "not_found", "Not Found")
		add("case", areatest.Allowed(), strings.ToUpper(op.path), 404, "not_found", "Not Found")
	}
	suite.Run(t, scenarios)
}

func TestMethods(t *testing.T) {
	var scenarios []scenario
	for _, tc := range []struct{ method, path, allow string }{
		{"DELETE", "/accounting/accounts", "GET"},
		{"POST", "/accounting/accounts/17", "GET"},
		{"PUT", "/accounting/purchases", "GET, POST"},
		{"DELETE", "/accounting/purchases/17", "GET"},
		{"PATCH", "/accounting/vendors/", "GET, POST"},
		{"POST", "/accounting/vendors/update", "PUT"},
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + tc.method + " " + tc.path, Method: tc.method, Target: tc.path, Header: headers, Verdict: areatest.Allowed(),
			WantStatus: 405, WantCode: "method_not_allowed", WantBody: failure("Method Not Allowed"),
			WantHeader: map[string]string{"Allow": tc.allow},
		})
	}
	suite.Run(t, scenarios)
}

func TestProvision(t *testing.T) {
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	defer cancel()
	_, err := ctx.LoadModuleByID(suite.Module, []byte(`{}`))
	if err == nil || !strings.Contains(err.Error(), "provider is required") {
		t.Errorf("error is %v", err)
	}
}
