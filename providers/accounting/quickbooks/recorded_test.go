package quickbooks

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

// recording reads a body that was recorded from the real service. The recordings lie
// beside the repository, not in it.
func recording(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "recordings", "quickbooks", name))
	if os.IsNotExist(err) {
		t.Skip("the recordings are not beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestRecordedReads(t *testing.T) {
	for file, kind := range map[string]accounting.Kind{
		"account_read.resp.json":           accounting.KindAccount,
		"vendor_read.resp.json":            accounting.KindVendor,
		"vendor_create.resp.json":          accounting.KindVendor,
		"vendor_update_min.resp.json":      accounting.KindVendor,
		"doc_vendor_full_update.resp.json": accounting.KindVendor,
		"doc_purchase_create.resp.json":    accounting.KindPurchase,
		"doc_purchase_read.resp.json":      accounting.KindPurchase,
		"purchase_one_cash.json":           accounting.KindPurchase,
		"purchase_one_check_remit.json":    accounting.KindPurchase,
		"purchase_one_credit.json":         accounting.KindPurchase,
		"purchase_one_customer.json":       accounting.KindPurchase,
	} {
		t.Run("ok/"+file, func(t *testing.T) {
			body := recording(t, file)
			got, err := open(t, &script{answers: []http.HandlerFunc{with(200, body)}}, nil).Read(t.Context(), good, kind, "1", accounting.Query{})
			if err != nil {
				t.Fatal(err)
			}
			var doc map[string]json.RawMessage
			if err := json.Unmarshal([]byte(body), &doc); err != nil {
				t.Fatal(err)
			}
			if want := doc[entities[kind]]; !bytes.Equal(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestRecordedLists(t *testing.T) {
	for _, tc := range []struct {
		name  string
		pages []string
		kind  accounting.Kind
		size  int
		count int
	}{
		{"ok/accounts", []string{"account_query_10.resp.json"}, accounting.KindAccount, 10, 10},
		{"ok/vendors", []string{"vendor_query_35.resp.json"}, accounting.KindVendor, 100, 35},
		{"ok/vendors by 5", []string{"vendor_page_1_of_6.resp.json", "vendor_page_2_of_6.resp.json", "vendor_page_3_of_6.resp.json", "vendor_page_4_of_6.resp.json"}, accounting.KindVendor, 5, 20},
		{"ok/one vendor", []string{"vendor_query_ampersand.resp.json"}, accounting.KindVendor, 1000, 1},
		{"ok/nothing", nil, accounting.KindVendor, 1000, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var bodies []string
			var want []any
			for _, file := range tc.pages {
				body := recording(t, file)
				rows := parsed([]byte(body)).Get("QueryResponse." + entities[tc.kind])
				want = append(want, rows.Value().([]any)...)
				if before := len(bodies); before > 0 {
					// The recorded pages do not overlap.
					last := parsed([]byte(bodies[before-1])).Get("QueryResponse." + entities[tc.kind] + ".@reverse.0").Raw
					body = strings.Replace(body, rows.Raw, "["+last+","+rows.Raw[1:], 1)
				}
				bodies = append(bodies, body)
			}
			if len(bodies) == 0 {
				bodies = append(bodies, recording(t, "empty_query.resp.json"))
			}
			s := &pages{answer: overlapping(entities[tc.kind], bodies)}
			rows, err := open(t, s, config{"page_size": tc.size}).List(t.Context(), good, tc.kind, accounting.Query{})
			if err != nil {
				t.Fatal(err)
			}
			got := parsed([]byte("[" + string(bytes.Join(rows.Parts, []byte(","))) + "]")).Value()
			if rows.Count != tc.count || rows.Count > 0 && !reflect.DeepEqual(got, any(want)) {
				t.Errorf("%d rows, want %d: %v", rows.Count, tc.count, got)
			}
		})
	}
	t.Run("ok/a count has no rows", func(t *testing.T) {
		body := recording(t, "vendor_count.resp.json")
		rows, err := open(t, &script{answers: []http.HandlerFunc{with(200, body)}}, nil).List(t.Context(), good, accounting.KindVendor, accounting.Query{})
		if err != nil || rows.Count != 0 {
			t.Errorf("%d rows, %v", rows.Count, err)
		}
	})
}

func TestRecordedFaults(t *testing.T) {
	for _, tc := range []struct {
		file    string
		status  int
		kind    providers.Kind
		message string
	}{
		{"fault_2020_http400_paymenttype.json", 400, providers.KindRejected, "Required param missing, need to supply the required value for the API: Required parameter PaymentType is missing in the request"},
		{"fault_2030_invalid_id_http400.json", 400, providers.KindRejected, "Invalid ID: Id should be a valid number. Supplied value:1.5"},
		{"fault_4000_http400.json", 400, providers.KindRejected, `Error parsing query: QueryParserError: Encountered " <IDENTIFIER> "TxnDate "" at line 1, column 29.`},
		{"fault_4001_http400_bad_property.json", 400, providers.KindRejected, "Invalid query: QueryValidationError: Property NoSuchField not found for Entity Purchase"},
		{"fault_5010_from_batch.json", 400, providers.KindConflict, "Stale Object Error : You and another user were working on this at the same time. another user finished before you did, so your work was not saved."},
		{"fault_6240_http400.json", 400, providers.KindConflict, "Duplicate Name Exists Error: The name supplied already exists. : null"},
		{"fault_3200_http401_lowercase.json", 401, providers.KindAuth, "Token expired: REDACTED"},
		{"fault_3200_http401.xml", 401, providers.KindAuth, "REDACTED"},
		{"fault_10000_system.xml", 500, providers.KindProvider, "An application error has occurred while processing your request: System Failure Error: Could not find resource for relative : some more info here"},
		{"html_503.html", 503, providers.KindProvider, "Service Unavailable"},
		{"html_503.html", 200, providers.KindInvalidJSON, ""},
	} {
		t.Run("fail/"+tc.file+" "+strconv.Itoa(tc.status), func(t *testing.T) {
			body := recording(t, tc.file)
			_, err := open(t, &script{answers: []http.HandlerFunc{with(tc.status, body)}}, nil).Read(t.Context(), good, accounting.KindVendor, "1", accounting.Query{})
			wantError(t, err, tc.kind, tc.message)
		})
	}
	t.Run("fail/fault_3001_http429.xml", func(t *testing.T) {
		body := recording(t, "fault_3001_http429.xml")
		_, err := open(t, &script{answers: []http.HandlerFunc{with(429, body)}}, config{"timeout": "30s"}).Read(t.Context(), good, accounting.KindVendor, "1", accounting.Query{})
		wantError(t, err, providers.KindThrottled, "message=ThrottleExceeded; errorCode=003001; statusCode=429: The request limit was reached.  Try again later")
	})
	t.Run("fail/fault_2010_http400.json", func(t *testing.T) {
		body := recording(t, "fault_2010_http400.json")
		_, err := open(t, &script{answers: []http.HandlerFunc{with(400, body)}}, nil).Read(t.Context(), good, accounting.KindVendor, "1", accounting.Query{})
		pe := providers.As(err)
		const start = `Request has invalid or unsupported property: Property Name:Unrecognized field "BadJson" (class com.intuit.schema.finance.v3.Invoice)`
		if pe.Kind != providers.KindRejected || len(pe.Message) < len(start) || pe.Message[:len(start)] != start {
			t.Errorf("the error is %v", pe)
		}
	})
}

// TestRecordedWrite makes the recorded request from an input of the contract.
func TestRecordedWrite(t *testing.T) {
	want := parsed([]byte(recording(t, "vendor_create.req.json"))).Value()
	s := &script{answers: []http.HandlerFunc{with(200, recording(t, "vendor_create.resp.json"))}}
	_, err := open(t, s, nil).Create(t.Context(), good, accounting.KindVendor, accounting.Write{Key: "k", Body: []byte(`{"display_name":"Test Vendor 1777976996",
		"given_name":"John","family_name":"Doe","suffix":null,"company_name":"Acme Inc","email":{"address":"test@example.com"},"phone":{"number":"555-1234"},"mobile":{"number":null},
		"bill_address":{"line1":"123 Main St","line2":null,"city":"San Francisco","country":"USA","postal":"94105"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if got := parsed([]byte(s.asked()[0].body)).Value(); !reflect.DeepEqual(got, want) {
		t.Errorf("sent %v\nwant %v", got, want)
	}
}
