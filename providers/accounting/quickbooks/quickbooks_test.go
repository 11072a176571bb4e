package quickbooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/goleak"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/providers/accounting/accountingtest"
)

func TestMain(m *testing.M) {
	// A proxy of the machine that runs the tests would catch their calls.
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		_ = os.Unsetenv(name)
	}
	goleak.VerifyTestMain(m)
}

// load loads the module from its JSON config, as Caddy does.
func load(tb testing.TB, config map[string]any) (*Provider, error) {
	tb.Helper()
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	tb.Cleanup(cancel)
	raw, err := json.Marshal(config)
	if err != nil {
		tb.Fatal(err)
	}
	mod, err := ctx.LoadModuleByID("gateway.accounting.quickbooks", raw)
	if err != nil {
		return nil, err
	}
	return mod.(*Provider), nil
}

type config = map[string]any

// open returns a provider that calls the handler, as fast as it can unless options say
// otherwise.
func open(tb testing.TB, h http.Handler, options config) *Provider {
	tb.Helper()
	all := config{"base_url": serve(tb, h), "rate": mostRate}
	maps.Copy(all, options)
	p, err := load(tb, all)
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// wantError checks kind and message of an error and returns it.
func wantError(t *testing.T, err error, kind providers.Kind, message string) *providers.Error {
	t.Helper()
	pe, ok := errors.AsType[*providers.Error](err)
	if !ok {
		t.Fatalf("error is %T (%v), want *providers.Error", err, err)
	}
	if pe.Kind != kind || pe.Message != message {
		t.Errorf("error is %v %q, want %v %q (cause %v)", pe.Kind, pe.Message, kind, message, pe.Err)
	}
	return pe
}

func parsed(raw []byte) gjson.Result { return gjson.ParseBytes(raw) }

func purchaseInput(more string) []byte {
	return []byte(`{` + more + `"payment_type":"Cash","account":{"id":"35","name":"Checking"},"currency":{"value":"USD"},` +
		`"lines":[{"detail_type":"AccountBasedExpenseLineDetail","amount":12.340,"account_detail":{"account":{"id":"7","name":"Fuel"}}}]}`)
}

func TestConformance(t *testing.T) {
	accountingtest.Run(t, accountingtest.Harness{
		New: func(t *testing.T, up accountingtest.Upstream) accounting.Provider {
			p, err := load(t, config{"base_url": up.URL, "timeout": up.Timeout, "page_size": 10, "rate": mostRate})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		NewService: func(t *testing.T) http.Handler { return newFake(t) },
		IsWrite: func(r *http.Request) bool {
			return r.Method == http.MethodPost && !strings.HasSuffix(r.URL.Path, "/query")
		},
		Good:    good,
		Bad:     bad,
		Lists:   map[accounting.Kind]int{accounting.KindAccount: 3, accounting.KindPurchase: 25, accounting.KindVendor: 12},
		Some:    accounting.Query{Filter: "DisplayName LIKE 'Vendor 1%'"},
		None:    accounting.Query{Filter: "WHERE DisplayName = 'nobody'"},
		Refused: accounting.Query{Filter: "DisplayName = 'a' STARTPOSITION 5"},
		Missing: "999",
		Purchase: accountingtest.Input{
			Create: func(n int) []byte { return purchaseInput(fmt.Sprintf(`"total_amount":%d.50,`, n)) },
			Update: func(id, syncToken string) []byte {
				return purchaseInput(`"id":"` + id + `","sync_token":"` + syncToken + `","total_amount":12.340,"txn_date":"2026-08-31",`)
			},
		},
		Vendor: accountingtest.Input{
			Create: func(n int) []byte { return fmt.Appendf(nil, `{"display_name":"New vendor %d"}`, n) },
			Update: func(id, syncToken string) []byte {
				return fmt.Appendf(nil, `{"id":%q,"sync_token":%q,"display_name":"Changed %s"}`, id, syncToken, syncToken)
			},
		},
	})
}

func TestProvision(t *testing.T) {
	t.Run("ok/defaults", func(t *testing.T) {
		p, err := load(t, config{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Identity() != "https://quickbooks.api.intuit.com" || p.DisplayName() != "QuickBooks" || time.Duration(p.Timeout) != 2*time.Minute ||
			p.PageSize != 1000 || p.MaxPages != 200 || p.MaxRows != 100_000 || p.MaxBytes != 256<<20 || p.Rate != 10 || p.Parallel != 4 {
			t.Errorf("the defaults are %+v", p)
		}
	})
	for name, tc := range map[string]struct {
		config config
		want   string
	}{
		"fail/base_url":       {config{"base_url": "ftp://h"}, "quickbooks: base_url must be an absolute http or https URL"},
		"fail/page_size":      {config{"page_size": 1001}, "quickbooks: page_size must be between 1 and 1000"},
		"fail/page_size low":  {config{"page_size": -1}, "quickbooks: page_size must be between 1 and 1000"},
		"fail/max_pages":      {config{"max_pages": -1}, "quickbooks: max_pages must be between 1 and 1000000"},
		"fail/max_rows":       {config{"max_rows": -1}, "quickbooks: max_rows must be between 1 and 100000000"},
		"fail/max_bytes":      {config{"max_bytes": -1}, "quickbooks: max_bytes must not be negative"},
		"fail/rate":           {config{"rate": 1001}, "quickbooks: rate must be between 1 and 1000"},
		"fail/parallel":       {config{"parallel": 17}, "quickbooks: parallel must be between 1 and 16"},
		"fail/unknown option": {config{"pagesize": 1}, "pagesize"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := load(t, tc.config); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want %q", err, tc.want)
			}
		})
	}
}

func TestUnmarshalCaddyfile(t *testing.T) {
	for _, tc := range []struct{ name, block, want, wantErr string }{
		{
			name: "ok/all",
			block: `quickbooks {
				page_size 500
				max_pages 50
				max_rows 20000
				max_bytes 64MiB
				rate 8
				parallel 2
				base_url https://sandbox-quickbooks.api.intuit.com
				display_name Books
				timeout 90s
				max_body 8MiB
				transport http {
					dial_timeout 3s
				}
			}`,
			want: `{"base_url":"https://sandbox-quickbooks.api.intuit.com","display_name":"Books","timeout":90000000000,"max_body":8388608,` +
				`"transport":{"dial_timeout":3000000000,"protocol":"http"},"page_size":500,"max_pages":50,"max_rows":20000,"max_bytes":67108864,"rate":8,"parallel":2}`,
		},
		{name: "ok/none", block: "quickbooks", want: `{}`},
		{name: "fail/argument", block: "quickbooks now", wantErr: "wrong argument count"},
		{name: "fail/unknown", block: "quickbooks {\n pages 5\n}", wantErr: "unrecognized subdirective 'pages'; allowed are page_size, max_pages, max_rows, rate, parallel, max_bytes, base_url, display_name, timeout, max_body, transport"},
		{name: "fail/page_size", block: "quickbooks {\n page_size 1001\n}", wantErr: "page_size must be a number from 1 to 1000, not '1001'"},
		{name: "fail/page_size twice", block: "quickbooks {\n page_size 1\n page_size 1\n}", wantErr: "option 'page_size' is given twice"},
		{name: "fail/page_size none", block: "quickbooks {\n page_size\n}", wantErr: "wrong argument count"},
		{name: "fail/rate", block: "quickbooks {\n rate fast\n}", wantErr: "rate must be a number from 1 to 1000, not 'fast'"},
		{name: "fail/parallel", block: "quickbooks {\n parallel 0\n}", wantErr: "parallel must be a number from 1 to 16, not '0'"},
		{name: "fail/max_bytes", block: "quickbooks {\n max_bytes all\n}", wantErr: "max_bytes must be a size above zero, such as 64MiB, not 'all'"},
		{name: "fail/max_bytes twice", block: "quickbooks {\n max_bytes 1MiB\n max_bytes 1MiB\n}", wantErr: "option 'max_bytes' is given twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p Provider
			err := p.UnmarshalCaddyfile(caddyfile.NewTestDispenser(tc.block))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error is %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(&p)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
