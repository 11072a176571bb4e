package quickbooks

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

// request is what a script was asked.
type request struct {
	method, path, contentType, body string
	query                           url.Values
}

// script answers calls by its functions, one after the other, the last one for good.
type script struct {
	answers []http.HandlerFunc

	mu       sync.Mutex
	requests []request
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, request{r.Method, r.URL.Path, r.Header.Get("Content-Type"), string(body), r.URL.Query()})
	next := s.answers[min(len(s.requests), len(s.answers))-1]
	s.mu.Unlock()
	next(w, r)
}

// asked returns what the script was asked so far.
func (s *script) asked() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func with(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, status, body) }
}

func lost(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestRead(t *testing.T) {
	const raw = `{"Id":"9223372036854775809","Balance":10.0,"B":739.00,"any":[1e400,"\u00fc"],"Fault":"none" }`
	for kind, entity := range entities {
		t.Run("ok/"+string(kind), func(t *testing.T) {
			s := &script{answers: []http.HandlerFunc{with(200, `{"time":"t", "`+entity+`" : `+raw+` }`)}}
			got, err := open(t, s, nil).Read(t.Context(), good, kind, "9223372036854775809", accounting.Query{MinorVersion: "99"})
			if err != nil || string(got) != raw {
				t.Errorf("got %s, %v", got, err)
			}
			r := s.asked()[0]
			if r.method != "GET" || r.path != "/v3/company/"+realm+"/"+string(kind)+"/9223372036854775809" || r.query.Encode() != "minorversion=99" {
				t.Errorf("request is %+v", r)
			}
		})
	}
	t.Run("fail/unknown kind", func(t *testing.T) {
		s := &script{}
		_, err := open(t, s, nil).Read(t.Context(), good, "invoice", "1", accounting.Query{})
		wantError(t, err, providers.KindInvalid, "kind is invalid")
	})
	for name, body := range map[string]string{
		"fail/another entity": `{"Vendor":{"Id":"1"}}`,
		"fail/null":           `{"Account":null}`,
		"fail/array":          `{"Account":[{"Id":"1"}]}`,
		"fail/text behind":    `{"Account":{"Id":"1"}} x`,
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{answers: []http.HandlerFunc{with(200, body)}}
			_, err := open(t, s, nil).Read(t.Context(), good, accounting.KindAccount, "1", accounting.Query{})
			wantError(t, err, providers.KindInvalidJSON, "")
		})
	}
}

// fullPurchase and fullVendor have every member of contract 2.1 that an update may have.
const (
	fullPurchase = `{"id":"252","sync_token":"3","credit":true,"total_amount":12.340,"txn_date":"2026-08-31","payment_type":"CreditCard",
		"account":{"id":"42","name":"Visa"},"currency":{"value":"USD","name":"US Dollar"},
		"lines":[{"id":"1","detail_type":"AccountBasedExpenseLineDetail","amount":12.340,"description":"Diesel \u00fc","line_num":1,"account_detail":{
			"account":{"id":"7","name":"Fuel"},"tax_amount":1.00,"tax_inclusive_amount":13.340,"class":{"id":"5","name":"North"},"tax_code":{"value":"TAX","name":"Tax"},
			"markup_info":{"price_level":{"value":"2"},"percent":10.0,"mark_up_income_account":{"value":"9"}},"billable_status":"Billable",
			"customer":{"id":"3","name":"Amy's"},"project":{"value":"39298034","name":"Bridge"}}},
			{"detail_type":"AccountBasedExpenseLineDetail","amount":-0.50,"description":null,"account_detail":{"account":{"id":"8","name":"Tolls"},"class":{"id":null,"name":null},"project":null}}]}`
	purchaseMembers = `"TotalAmt":12.340,"TxnDate":"2026-08-31","PaymentType":"CreditCard",` +
		`"AccountRef":{"value":"42","name":"Visa"},"CurrencyRef":{"value":"USD","name":"US Dollar"},` +
		`"Line":[{"Id":"1","LineNum":1,"Description":"Diesel \u00fc","Amount":12.340,"DetailType":"AccountBasedExpenseLineDetail","ProjectRef":{"value":"39298034","name":"Bridge"},` +
		`"AccountBasedExpenseLineDetail":{"AccountRef":{"value":"7","name":"Fuel"},"TaxAmount":1.00,"TaxInclusiveAmt":13.340,"ClassRef":{"value":"5","name":"North"},` +
		`"TaxCodeRef":{"value":"TAX","name":"Tax"},"MarkupInfo":{"PriceLevelRef":{"value":"2"},"Percent":10.0,"MarkUpIncomeAccountRef":{"value":"9"}},` +
		`"BillableStatus":"Billable","CustomerRef":{"value":"3","name":"Amy's"}}},` +
		`{"Amount":-0.50,"DetailType":"AccountBasedExpenseLineDetail","AccountBasedExpenseLineDetail":{"AccountRef":{"value":"8","name":"Tolls"}}}]}`

	fullVendor = `{"id":"61","sync_token":"0","display_name":"Ann \"A\"","account_num":"35","title":"Ms.","given_name":"Ann","family_name":"Lee","suffix":"Sr.","company_name":"Lee's",
		"print_on_check_name":"A. Lee","tax_identifier":"99-5688293","bill_address":{"line1":"1","line2":"2","line3":"3","city":"Reno","state":"NV","country":"USA","postal":"89501",
		"latitude":"39.5","longitude":"-119.8"},"phone":{"number":"1"},"mobile":{"number":"2"},"email":{"address":"a@b.c"},"website":{"uri":"https://b.c"}}`
	vendorMembers = `"DisplayName":"Ann \"A\"","AcctNum":"35","Title":"Ms.","GivenName":"Ann","FamilyName":"Lee","Suffix":"Sr.","CompanyName":"Lee's",` +
		`"PrintOnCheckName":"A. Lee","TaxIdentifier":"99-5688293","BillAddr":{"Line1":"1","Line2":"2","Line3":"3","City":"Reno","CountrySubDivisionCode":"NV","PostalCode":"89501","Country":"USA",` +
		`"Lat":"39.5","Long":"-119.8"},"PrimaryPhone":{"FreeFormNumber":"1"},"Mobile":{"FreeFormNumber":"2"},"PrimaryEmailAddr":{"Address":"a@b.c"},"WebAddr":{"URI":"https://b.c"}}`
)

func TestWriteMapping(t *testing.T) {
	for _, tc := range []struct {
		name, body, want string
		kind             accounting.Kind
		update           bool
	}{
		{"ok/purchase update", fullPurchase, `{"Id":"252","SyncToken":"3","sparse":true,"Credit":true,` + purchaseMembers, accounting.KindPurchase, true},
		{"ok/purchase create", fullPurchase, `{"Credit":true,` + purchaseMembers, accounting.KindPurchase, false},
		{"ok/vendor update", fullVendor, `{"Id":"61","SyncToken":"0","sparse":true,` + vendorMembers, accounting.KindVendor, true},
		{"ok/vendor create", fullVendor, `{` + vendorMembers, accounting.KindVendor, false},
		{"ok/nothing optional", `{"display_name":"A","email":null,"phone":{"number":null},"bill_address":{}}`, `{"DisplayName":"A"}`, accounting.KindVendor, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			entity := entities[tc.kind]
			s := &script{answers: []http.HandlerFunc{with(200, single(entity, `{"Id":"252","SyncToken":"4"}`))}}
			p := open(t, s, nil)
			write := p.Create
			if tc.update {
				write = p.Update
			}
			got, err := write(t.Context(), good, tc.kind, accounting.Write{Body: []byte(tc.body), MinorVersion: "80", Key: "key & 1"})
			if err != nil || string(got) != `{"Id":"252","SyncToken":"4"}` {
				t.Errorf("got %s, %v", got, err)
			}
			r := s.asked()[0]
			if r.body != tc.want {
				t.Errorf("sent %s\nwant %s", r.body, tc.want)
			}
			if r.method != "POST" || r.path != "/v3/company/"+realm+"/"+string(tc.kind) || r.contentType != "application/json" || r.query.Encode() != "minorversion=80&requestid=key+%26+1" {
				t.Errorf("request is %+v", r)
			}
		})
	}
}

func TestWriteRefused(t *testing.T) {
	s := &script{}
	p := open(t, s, nil)
	for _, kind := range []accounting.Kind{accounting.KindAccount, "invoice"} {
		_, err := p.Create(t.Context(), good, kind, accounting.Write{Body: []byte(`{}`), Key: "k"})
		wantError(t, err, providers.KindInvalid, "kind is invalid")
		_, err = p.Update(t.Context(), good, kind, accounting.Write{Body: []byte(`{}`), Key: "k"})
		wantError(t, err, providers.KindInvalid, "kind is invalid")
	}
	for _, body := range []string{"", "[]", `{"account":1}`, `{"lines":[1]}`} {
		_, err := p.Create(t.Context(), good, accounting.KindPurchase, accounting.Write{Body: []byte(body), Key: "k"})
		wantError(t, err, providers.KindInvalid, "body is invalid")
	}
	// QuickBooks would book these refunds as charges.
	for _, paymentType := range []string{"Cash", "Check"} {
		body := []byte(`{"credit":true,"payment_type":"` + paymentType + `"}`)
		_, err := p.Update(t.Context(), good, accounting.KindPurchase, accounting.Write{Body: body, Key: "k"})
		wantError(t, err, providers.KindInvalid, "credit is invalid")
	}
	if n := len(s.asked()); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// TestWriteRepeats checks which failures of a write are followed by another try, always
// of the same request.
func TestWriteRepeats(t *testing.T) {
	done := with(200, single("Vendor", `{"Id":"1"}`))
	system := with(500, appFault("10000", "An application error has occurred", "System Failure Error"))
	for _, tc := range []struct {
		name    string
		answers []http.HandlerFunc
		calls   int
		kind    providers.Kind // with message; none if the write succeeds
		message string
	}{
		{"ok/lost", []http.HandlerFunc{lost, done}, 2, 0, ""},
		{"ok/cut off", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			answer(w, 200, `{"Vendor":`)
		}, done}, 2, 0, ""},
		{"ok/system failure", []http.HandlerFunc{system, done}, 2, 0, ""},
		{"fail/lost twice", []http.HandlerFunc{lost}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/system failure twice", []http.HandlerFunc{system}, 2, providers.KindProvider, "An application error has occurred: System Failure Error"},
		{"fail/lost, then a system failure", []http.HandlerFunc{lost, system, done}, 2, providers.KindProvider, "An application error has occurred: System Failure Error"},
		{"fail/another failure", []http.HandlerFunc{with(503, "")}, 1, providers.KindProvider, "Service Unavailable"},
		{"fail/refused", []http.HandlerFunc{with(400, appFault("2020", "m", "d"))}, 1, providers.KindRejected, "m: d"},
		{"fail/throttled", []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "1")
			answer(w, 429, appFault("3001", "m", "d"))
		}}, 1, providers.KindThrottled, "m: d"},
		{"fail/no JSON", []http.HandlerFunc{with(200, "<html>")}, 1, providers.KindInvalidJSON, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &script{answers: tc.answers}
			got, err := open(t, s, nil).Update(t.Context(), good, accounting.KindVendor, accounting.Write{Body: []byte(fullVendor), Key: "the-key"})
			if strings.HasPrefix(tc.name, "ok/") {
				if err != nil || string(got) != `{"Id":"1"}` {
					t.Errorf("got %s, %v", got, err)
				}
			} else {
				wantError(t, err, tc.kind, tc.message)
			}
			requests := s.asked()
			if len(requests) != tc.calls {
				t.Fatalf("%d calls, want %d", len(requests), tc.calls)
			}
			for _, r := range requests {
				if r.query.Get("requestid") != "the-key" || r.body != requests[0].body || r.body == "" {
					t.Errorf("the repeat is another request: %+v", r)
				}
			}
		})
	}
}

// TestWriteDetached has the caller go away, or run out of time, while the write is
// carried out.
func TestWriteDetached(t *testing.T) {
	t.Run("ok/caller gone", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := &script{answers: []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			cancel()
			answer(w, 200, single("Vendor", `{"Id":"1"}`))
		}}}
		got, err := open(t, s, nil).Create(ctx, good, accounting.KindVendor, accounting.Write{Body: []byte(fullVendor), Key: "k"})
		if err != nil || string(got) != `{"Id":"1"}` {
			t.Errorf("got %s, %v", got, err)
		}
	})
	t.Run("fail/out of time", func(t *testing.T) {
		s := &script{answers: []http.HandlerFunc{func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}}
		_, err := open(t, s, config{"timeout": 300 * time.Millisecond}).Create(t.Context(), good, accounting.KindVendor, accounting.Write{Body: []byte(fullVendor), Key: "k"})
		wantError(t, err, providers.KindTimeout, "timeout")
		if n := len(s.asked()); n != 1 {
			t.Errorf("%d calls", n)
		}
	})
}

// TestRequestID has keys of which every process has to make the same.
func TestRequestID(t *testing.T) {
	for key, want := range map[string]string{
		"k":                     "k",
		strings.Repeat("k", 50): strings.Repeat("k", 50),
		strings.Repeat("k", 51): "4f3b506f61ccd8971be6579508cd80fd5c738dfc82e6673bfb",
		strings.Repeat("k", 52): "9f7156c0a02b6c9415f106f6e2408a7099556ab18904bffb36",
	} {
		if got := requestID(key); got != want {
			t.Errorf("%q became %q, want %q", key, got, want)
		}
	}
}

// TestRateShared has all kinds of calls of one token count together, and those of
// another token apart.
func TestRateShared(t *testing.T) {
	s := &script{answers: []http.HandlerFunc{with(200, single("Vendor", `{"Id":"1"}`))}}
	p := open(t, s, config{"rate": 2, "timeout": 500 * time.Millisecond})
	w := accounting.Write{Body: []byte(fullVendor), Key: "k"}
	if _, err := p.Read(t.Context(), good, accounting.KindVendor, "1", accounting.Query{}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Create(t.Context(), good, accounting.KindVendor, w); err != nil {
		t.Fatal(err)
	}
	_, err := p.Create(t.Context(), good, accounting.KindVendor, w)
	wantError(t, err, providers.KindTimeout, "timeout")
	for _, cred := range []accounting.Credential{bad, {AccessToken: goodToken, RealmID: "1"}} {
		if _, err := p.Create(t.Context(), cred, accounting.KindVendor, w); err != nil {
			t.Error(err)
		}
	}
	if n := len(s.asked()); n != 4 {
		t.Errorf("%d calls", n)
	}
}

// TestLog checks what is logged of failures: by what Intuit finds the call, and nothing
// of the caller's.
func TestLog(t *testing.T) {
	s := &script{}
	p := open(t, s, nil)
	core, logs := observer.New(zapcore.DebugLevel)
	p.logger = zap.New(core)
	for _, tc := range []struct {
		status int
		body   string
		level  zapcore.Level
		kind   string
	}{
		{400, appFault("2020", "planted", "planted"), zapcore.DebugLevel, "rejected by the provider"},
		{401, tokenFault(goodToken), zapcore.DebugLevel, "provider refused the credential"},
		{503, htmlPage, zapcore.WarnLevel, "provider failed"},
		{404, htmlPage, zapcore.WarnLevel, "provider sent invalid JSON"},
	} {
		s.answers = []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("intuit_tid", "1-68a1b2c3-tid")
			answer(w, tc.status, tc.body)
		}}
		_, err := p.Read(t.Context(), good, accounting.KindVendor, "1", accounting.Query{Filter: "planted"})
		if err == nil {
			t.Fatal("no error")
		}
		entries := logs.TakeAll()
		if len(entries) != 1 {
			t.Fatalf("%d lines for a %d", len(entries), tc.status)
		}
		fields := entries[0].ContextMap()
		if entries[0].Level != tc.level || fields["intuit_tid"] != "1-68a1b2c3-tid" || fields["kind"] != tc.kind || fields["call"] != "vendor read" {
			t.Errorf("logged %v %v", entries[0].Level, fields)
		}
		for _, v := range fields {
			if text, ok := v.(string); ok && slices.ContainsFunc([]string{"planted", "v3/", realm}, func(secret string) bool { return strings.Contains(text, secret) }) {
				t.Errorf("logged %v", fields)
			}
		}
	}
}
