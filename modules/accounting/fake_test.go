package accounting

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/internal/areatest"
	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

func init() {
	caddy.RegisterModule(fakeProvider{})
}

// asked is what the fake provider was asked last.
type asked struct {
	Call  string // list, read, create or update
	Cred  accounting.Credential
	Kind  accounting.Kind
	ID    string
	Query accounting.Query
	Write accounting.Write
}

// fakeProvider answers what a scenario tells it to and remembers what it was asked.
type fakeProvider struct {
	rows      accounting.Rows
	entity    []byte
	err       error
	onCall    func()
	calls     int
	last      asked
	requestID string
}

func (fakeProvider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.accounting.fake_accounting",
		New: func() caddy.Module { return &fakeProvider{entity: []byte(entity)} },
	}
}

func (p *fakeProvider) DisplayName() string { return "Fake Books" }

func (p *fakeProvider) List(ctx context.Context, cred accounting.Credential, kind accounting.Kind, q accounting.Query) (accounting.Rows, error) {
	p.note(ctx, asked{Call: "list", Cred: cred, Kind: kind, Query: q})
	return p.rows, p.err
}

func (p *fakeProvider) Read(ctx context.Context, cred accounting.Credential, kind accounting.Kind, id string, q accounting.Query) ([]byte, error) {
	p.note(ctx, asked{Call: "read", Cred: cred, Kind: kind, ID: id, Query: q})
	return p.entity, p.err
}

func (p *fakeProvider) Create(ctx context.Context, cred accounting.Credential, kind accounting.Kind, w accounting.Write) ([]byte, error) {
	p.note(ctx, asked{Call: "create", Cred: cred, Kind: kind, Write: w})
	return p.entity, p.err
}

func (p *fakeProvider) Update(ctx context.Context, cred accounting.Credential, kind accounting.Kind, w accounting.Write) ([]byte, error) {
	p.note(ctx, asked{Call: "update", Cred: cred, Kind: kind, Write: w})
	return p.entity, p.err
}

func (p *fakeProvider) note(ctx context.Context, a asked) {
	p.calls++
	p.last, p.requestID = a, providers.RequestID(ctx)
	if p.onCall != nil {
		p.onCall()
	}
}

func (p *fakeProvider) Calls() int { return p.calls }

var suite = areatest.Suite[*Handler, *fakeProvider]{
	Module: "http.handlers.gateway_accounting",
	Config: `{"provider":{"name":"fake_accounting"}}`,
	Open:   open,
}

func open(h *Handler, l *zap.Logger) *fakeProvider {
	h.logger = l
	return h.provider.(*fakeProvider)
}

type scenario = areatest.Scenario[*fakeProvider]

const (
	realm       = "4620816365007870290"
	accessToken = "eyJlbmMi.token-" + areatest.Secret + "~+/="

	// entity has what decoding and encoding again would change.
	entity = `{"Id":"9130347596842384","Balance":739.00, "Rate":10.0,"Big":12345678901234567890,"Name":"Caf\u00e9 \"é\"","New":{"b":null,"a":[1e5]}}`

	emptyList = `{"status":"Success","message":"Success","data":[]}`
)

func success(data string) string {
	return `{"status":"Success","message":"Success","data":` + data + `}`
}

func failure(message string) string {
	return `{"status":"Error","message":"` + message + `","data":null}`
}

// failures is the body of a request with several problems: fields and what is wrong with
// them.
func failures(problems ...[2]string) string {
	errs := make([]string, len(problems))
	for i, p := range problems {
		errs[i] = `{"field":"` + p[0] + `","message":"` + p[0] + p[1] + `"}`
	}
	first := problems[0][0] + problems[0][1]
	return `{"status":"Error","message":"` + first + `","data":{"errors":[` + strings.Join(errs, ",") + `]}}`
}

// headers returns what a complete call carries.
func headers() http.Header {
	return http.Header{
		"Authorization":           {"Bearer fgt_" + areatest.Secret},
		"Access-Token-Accounting": {accessToken},
		"Content-Type":            {"application/json"},
	}
}

// with returns complete headers with the values of one replaced.
func with(name string, values ...string) http.Header {
	h := headers()
	h[name] = values
	return h
}

// operation is a row of contract 4.1.
type operation struct {
	method, path string
	body         string // that it takes; none for reads
	asked        asked  // of the provider, for that body
	answer       string
}

func (o *operation) name() string { return o.method + " " + o.path }

func (o *operation) writes() bool { return o.body != "" }

// scenario is a call of the operation by an admitted caller who does everything right.
func (o *operation) scenario(name string) scenario {
	return scenario{
		Name: name, Method: o.method, Target: o.path + "?realmId=" + realm, Header: headers(), Body: o.body,
		Verdict: areatest.Allowed(), WantCalls: 1, WantBody: o.answer, Check: o.check(nil),
	}
}

// refused is a call of the operation that must not reach the provider.
func (o *operation) refused(name, target string, header http.Header, status int, code, body string) scenario {
	return scenario{
		Name: "fail/" + o.name() + " " + name, Method: o.method, Target: target, Header: header, Body: o.body, Verdict: areatest.Allowed(),
		WantStatus: status, WantCode: code, WantBody: body, WantHeader: map[string]string{"Idempotency-Key": ""},
	}
}

// check compares what the provider was asked with the row, after a change to it. The key
// of a write differs from call to call, unless the change sets it.
func (o *operation) check(change func(*asked)) func(*fakeProvider) error {
	want := o.asked
	if change != nil {
		change(&want)
	}
	return func(p *fakeProvider) error {
		got := p.last
		if want.Write.Key == "" {
			if (got.Write.Key != "") != o.writes() {
				return fmt.Errorf("key is %q", got.Write.Key)
			}
			got.Write.Key = ""
		}
		if got.Cred != want.Cred {
			return errors.New("the credential is another one")
		}
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("asked %+v\nwant  %+v", got, want)
		}
		return nil
	}
}

const (
	line           = `{"detail_type":"AccountBasedExpenseLineDetail","amount":12.340,"account_detail":{"account":{"id":"7","name":"Fuel"}}}`
	purchaseCommon = `"payment_type":"CreditCard","account":{"id":"41","name":"Visa"},"currency":{"value":"USD"},"lines":[` + line + `]}`

	newPurchase     = `{` + purchaseCommon
	changedPurchase = `{"id":"146","sync_token":"0","credit":true,"total_amount":12.340,"txn_date":"2026-08-31",` + purchaseCommon
	newVendor       = `{"display_name":"Joe's \"Tires\""}`
	changedVendor   = `{"id":"71","sync_token":"3","display_name":"Joe's Tires"}`
)

// rows are the rows of contract 4.1.
var rows = func() []operation {
	ask := func(call string, kind accounting.Kind, id, body string) asked {
		a := asked{Call: call, Kind: kind, ID: id, Cred: accounting.Credential{AccessToken: accessToken, RealmID: realm}}
		if body != "" {
			a.Write.Body = []byte(body)
		}
		return a
	}
	one := success(entity)
	return []operation{
		{"GET", "/accounting/accounts/", "", ask("list", "account", "", ""), emptyList},
		{"GET", "/accounting/accounts/17/", "", ask("read", "account", "17", ""), one},
		{"GET", "/accounting/purchases/", "", ask("list", "purchase", "", ""), emptyList},
		{"GET", "/accounting/purchases/17/", "", ask("read", "purchase", "17", ""), one},
		{"POST", "/accounting/purchases/", newPurchase, ask("create", "purchase", "", newPurchase), one},
		{"PUT", "/accounting/purchases/update", changedPurchase, ask("update", "purchase", "", changedPurchase), one},
		{"GET", "/accounting/vendors/", "", ask("list", "vendor", "", ""), emptyList},
		{"GET", "/accounting/vendors/17/", "", ask("read", "vendor", "17", ""), one},
		{"POST", "/accounting/vendors/", newVendor, ask("create", "vendor", "", newVendor), one},
		{"PUT", "/accounting/vendors/update", changedVendor, ask("update", "vendor", "", changedVendor), one},
	}
}()

// everywhere runs the scenarios that each returns for each row of contract 4.1.
func everywhere(t *testing.T, each func(*operation) []scenario) {
	t.Helper()
	var scenarios []scenario
	for i := range rows {
		scenarios = append(scenarios, each(&rows[i])...)
	}
	suite.Run(t, scenarios)
}

func failing(err error) func(*fakeProvider) {
	return func(p *fakeProvider) { p.err = err }
}
