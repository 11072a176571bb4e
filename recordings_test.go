package fleetgate_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/gateway"
)

// recorded reads a body that was recorded from QuickBooks Online. The recordings lie
// beside the repository, not in it.
func recorded(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "shared", "recordings", "quickbooks", name))
	if os.IsNotExist(err) {
		t.Skip("the recordings are not beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// reply is what the stand-in for QuickBooks answers.
type reply struct {
	status int
	kind   string // Content-Type
	body   string
}

// accounting serves a request by the accounting handler on the real provider, in front
// of a stand-in that gives the replies, the last one for good.
func accounting(t *testing.T, method, target, body string, replies ...reply) *httptest.ResponseRecorder {
	t.Helper()
	calls := 0
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		next := replies[min(calls, len(replies)-1)]
		calls++
		w.Header().Set("Content-Type", next.kind)
		w.WriteHeader(next.status)
		_, _ = io.WriteString(w, next.body)
	}))
	defer upstream.Close()

	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	defer cancel()
	// One page ahead at a time, so that the replies come in the order of the calls.
	config := `{"provider":{"name":"quickbooks","parallel":1,"timeout":"5s","base_url":` + strconv.Quote(upstream.URL) + `}}`
	mod, err := ctx.LoadModuleByID("http.handlers.gateway_accounting", json.RawMessage(config))
	if err != nil {
		t.Fatal(err)
	}

	r := httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader(body))
	r.Header.Set("access-token-accounting", "token")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	rec := httptest.NewRecorder()
	r = caddyhttp.PrepareRequest(r, caddy.NewReplacer(), rec, nil)
	r = r.WithContext(gateway.WithVerdict(r.Context(), &gateway.Verdict{Reason: gateway.ReasonOK}))
	if err := mod.(caddyhttp.MiddlewareHandler).ServeHTTP(rec, r, nil); err != nil {
		t.Fatal(err)
	}
	return rec
}

const jsonKind, xmlKind, htmlKind = "application/json", "application/xml", "text/html"

// TestRecordedEntities expects entities to reach callers byte for byte.
func TestRecordedEntities(t *testing.T) {
	for file, path := range map[string]string{
		"account_read.resp.json":        "Account",
		"vendor_read.resp.json":         "Vendor",
		"purchase_one_cash.json":        "Purchase",
		"purchase_one_check_remit.json": "Purchase",
		"purchase_one_credit.json":      "Purchase",
		"purchase_one_customer.json":    "Purchase",
		"doc_purchase_read.resp.json":   "Purchase",
	} {
		t.Run("ok/"+file, func(t *testing.T) {
			body := recorded(t, file)
			target := "/accounting/" + strings.ToLower(path) + "s/17/?realmId=1"
			rec := accounting(t, http.MethodGet, target, "", reply{http.StatusOK, jsonKind, body})
			want := `{"status":"Success","message":"Success","data":` + gjson.Get(body, path).Raw + `}`
			if rec.Code != http.StatusOK || rec.Body.String() != want {
				t.Errorf("%d %s\nwant %s", rec.Code, rec.Body, want)
			}
		})
	}

	for file, path := range map[string]string{
		"account_query_10.resp.json":       "Account",
		"vendor_query_35.resp.json":        "Vendor",
		"vendor_query_ampersand.resp.json": "Vendor",
	} {
		t.Run("ok/"+file, func(t *testing.T) {
			body, empty := recorded(t, file), recorded(t, "empty_query.resp.json")
			target := "/accounting/" + strings.ToLower(path) + "s/?realmId=1"
			rec := accounting(t, http.MethodGet, target, "", reply{http.StatusOK, jsonKind, body}, reply{http.StatusOK, jsonKind, empty})
			got, want := gjson.Get(rec.Body.String(), "data").Array(), gjson.Get(body, "QueryResponse."+path).Array()
			if rec.Code != http.StatusOK || len(got) != len(want) {
				t.Fatalf("%d with %d rows, want %d", rec.Code, len(got), len(want))
			}
			for i := range want {
				if got[i].Raw != want[i].Raw {
					t.Errorf("row %d is %s, want %s", i, got[i].Raw, want[i].Raw)
				}
			}
		})
	}
}

// TestRecordedFaults are rows of contract 7.1 and of the table of outcomes.
func TestRecordedFaults(t *testing.T) {
	const (
		read   = "/accounting/purchases/17/?realmId=1"
		vendor = `{"display_name":"A"}`
	)
	for _, tc := range []struct {
		file       string
		status     int
		kind       string
		method     string
		target     string
		body       string
		want       int
		code       string
		message    string // how it begins
		retryAfter string
	}{
		{"fault_2020_http400_paymenttype.json", 400, jsonKind, "GET", read, "", 422, "provider_rejected", "Error QuickBooks: Required param missing", ""},
		{"fault_2010_http400.json", 400, jsonKind, "POST", "/accounting/vendors/?realmId=1", vendor, 422, "provider_rejected", "Error QuickBooks: Request has invalid or unsupported property", ""},
		{"fault_2030_invalid_id_http400.json", 400, jsonKind, "GET", read, "", 422, "provider_rejected", "Error QuickBooks: Invalid ID", ""},
		{"fault_4000_http400.json", 400, jsonKind, "GET", "/accounting/purchases/?realmId=1&filter=TxnDate", "", 422, "provider_rejected", "Error QuickBooks: Error parsing query", ""},
		{"fault_4001_http400_bad_property.json", 400, jsonKind, "GET", "/accounting/purchases/?realmId=1&filter=NoSuchField%3D1", "", 422, "provider_rejected", "Error QuickBooks: Invalid query", ""},
		{"fault_5010_from_batch.json", 400, jsonKind, "POST", "/accounting/vendors/?realmId=1", vendor, 409, "provider_conflict", "Error QuickBooks: Stale Object Error", ""},
		{"fault_6240_http400.json", 400, jsonKind, "POST", "/accounting/vendors/?realmId=1", vendor, 409, "provider_conflict", "Error QuickBooks: Duplicate Name Exists Error", ""},
		{"fault_6240_http400.json", 200, jsonKind, "POST", "/accounting/vendors/?realmId=1", vendor, 409, "provider_conflict", "Error QuickBooks: Duplicate Name Exists Error", ""},
		{"fault_3200_http401_lowercase.json", 401, jsonKind, "GET", read, "", 401, "provider_auth", "Error: Token expired", ""},
		{"fault_3200_http401.xml", 401, xmlKind, "GET", read, "", 401, "provider_auth", "Error: ", ""},
		{"fault_3001_http429.xml", 429, xmlKind, "GET", read, "", 429, "provider_throttled", "Error QuickBooks: ", "60"},
		{"fault_10000_system.xml", 500, xmlKind, "GET", read, "", 502, "provider_error", "Error QuickBooks: An application error has occurred", ""},
		{"html_503.html", 503, htmlKind, "GET", read, "", 502, "provider_error", "Error QuickBooks: Service Unavailable", ""},
		{"html_503.html", 200, htmlKind, "GET", read, "", 502, "provider_invalid_json", "Invalid JSON response", ""},
	} {
		t.Run("fail/"+tc.file+" with "+strconv.Itoa(tc.status), func(t *testing.T) {
			rec := accounting(t, tc.method, tc.target, tc.body, reply{tc.status, tc.kind, recorded(t, tc.file)})
			answer := gjson.ParseBytes(rec.Body.Bytes())
			message := answer.Get("message").Str
			if rec.Code != tc.want || rec.Header().Get("X-Error-Code") != tc.code || !strings.HasPrefix(message, tc.message) {
				t.Errorf("%d %q %s", rec.Code, rec.Header().Get("X-Error-Code"), rec.Body)
			}
			if tc.code == "provider_auth" && !strings.HasSuffix(message, " QuickBooks") {
				t.Errorf("the message %q does not end with the provider's name", message)
			}
			if answer.Get("status").Str != "Error" || answer.Get("data").Raw != "null" {
				t.Errorf("the shape is wrong: %s", rec.Body)
			}
			if got := rec.Header().Get("Retry-After"); got != tc.retryAfter {
				t.Errorf("Retry-After %q, want %q", got, tc.retryAfter)
			}
		})
	}
}
