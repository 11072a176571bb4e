package quickbooks

import (
	"context"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

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
	fails := func(status int, code string) http.HandlerFunc { return with(status, appFault(code, "m", "d")) }
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
		{"fail/lost, then a system failure", []http.HandlerFunc{lost, system, done}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/lost, then throttled", []http.HandlerFunc{lost, fails(429, "3001"), done}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/lost, then the token refused", []http.HandlerFunc{lost, with(401, tokenFault(otherToken)), done}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/lost, then forbidden", []http.HandlerFunc{lost, fails(403, "3100"), done}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/lost, then the requestid refused", []http.HandlerFunc{lost, fails(400, "600"), done}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/lost, then the token of the entity stale", []http.HandlerFunc{lost, fails(400, "5010"), done}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/lost, then the company locked", []http.HandlerFunc{lost, fails(400, "5030"), done}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/lost, then unavailable", []http.HandlerFunc{lost, with(503, ""), done}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/lost, then a page of HTML", []http.HandlerFunc{lost, with(404, htmlPage), done}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/lost, then no JSON", []http.HandlerFunc{lost, with(200, "<html>"), done}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/lost, then another's refusal", []http.HandlerFunc{lost, with(404, "{}"), done}, 2, providers.KindUnreachable, "connection closed early"},
		{"fail/a system failure, then throttled", []http.HandlerFunc{system, fails(429, "3001"), done}, 2, providers.KindProvider, "An application error has occurred: System Failure Error"},
		{"fail/lost, then a bad property", []http.HandlerFunc{lost, fails(400, "2010"), done}, 2, providers.KindRejected, "m: d"},
		{"fail/lost, then a missing parameter", []http.HandlerFunc{lost, fails(400, "2020"), done}, 2, providers.KindRejected, "m: d"},
		{"fail/lost, then not found", []http.HandlerFunc{lost, fails(400, "610"), done}, 2, providers.KindNotFound, "m: d"},
		{"fail/lost, then a duplicate name", []http.HandlerFunc{lost, fails(400, "6240"), done}, 2, providers.KindConflict, "m: d"},
		{"fail/another failure", []http.HandlerFunc{with(503, "")}, 1, providers.KindProvider, "Service Unavailable"},
		{"fail/duplicate requestid", []http.HandlerFunc{fails(400, "600")}, 1, providers.KindConflict, "m: d"},
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

// TestWriteWaits has writes wait for the rate, which are not sent after all. The clock is
// virtual, and there is nobody whom they could be sent to.
func TestWriteWaits(t *testing.T) {
	for _, tc := range []struct {
		name       string
		ctx        func(context.Context) (context.Context, context.CancelFunc)
		timeout    time.Duration // the option
		held       time.Duration
		queue      int // that is there before
		kind       providers.Kind
		message    string
		took, wait time.Duration // until the error, and that the error tells
	}{
		{
			"fail/caller gone",
			func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(time.Second, cancel)
				return ctx, cancel
			},
			2 * time.Minute, 30 * time.Second, 0, providers.KindCanceled, "request canceled", time.Second, 0,
		},
		{"fail/too long", context.WithCancel, 20 * time.Second, 30 * time.Second, 0, providers.KindUnavailable, "", 0, 30 * time.Second},
		{"fail/too long for the caller", func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, time.Second)
		}, 2 * time.Minute, 30 * time.Second, 0, providers.KindUnavailable, "", 0, 30 * time.Second},
		{"fail/no turn in time", context.WithCancel, 20 * time.Second, 0, 1, providers.KindUnavailable, "", 20 * time.Second, 0},
		{"fail/too many", context.WithCancel, 2 * time.Minute, 0, 1 + maxQueue, providers.KindUnavailable, "", 0, 11 * window},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, err := load(t, config{"base_url": "http://127.0.0.1:9", "timeout": tc.timeout})
				if err != nil {
					t.Fatal(err)
				}
				c := newCall(good, "", "", "")
				p.limiters.hold(c.limit, tc.held)
				defer occupy(t, p, c, tc.queue)()

				ctx, cancel := tc.ctx(t.Context())
				defer cancel()
				start := time.Now()
				_, err = p.Create(ctx, good, accounting.KindVendor, accounting.Write{Body: []byte(fullVendor), Key: "k"})
				pe := wantError(t, err, tc.kind, tc.message)
				if took := time.Since(start); took != tc.took || pe.RetryAfter != tc.wait {
					t.Errorf("failed after %v with RetryAfter %v, want %v and %v", took, pe.RetryAfter, tc.took, tc.wait)
				}
			})
		})
	}
}

// occupy has the turn taken and more calls wait for it, n in all, until the function that
// it returns is called.
func occupy(t *testing.T, p *Provider, c *call, n int) (release func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	if n == 0 {
		return cancel
	}
	lim := p.limiters.get(c.limit)
	lim.turn <- struct{}{}
	for range n {
		go func() { _ = p.limiters.wait(ctx, c.limit) }()
	}
	synctest.Wait()
	return func() {
		cancel()
		<-lim.turn
	}
}

// TestWriteJoined has writes begin while another one is being carried out.
func TestWriteJoined(t *testing.T) {
	const others = 5
	first := accounting.Write{Body: []byte(`{"display_name":"A"}`), Key: "k"}
	for _, tc := range []struct {
		name  string
		cred  accounting.Credential
		write accounting.Write
		calls int
	}{
		{"ok/same", good, first, 1},
		{"ok/another body", good, accounting.Write{Body: []byte(`{"display_name":"B"}`), Key: "k"}, 2},
		{"ok/another key", good, accounting.Write{Body: first.Body, Key: "l"}, 2},
		{"ok/another token", bad, first, 2},
		{"ok/another company", accounting.Credential{AccessToken: goodToken, RealmID: "1"}, first, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			arrived, proceed := make(chan struct{}, 1+others), make(chan struct{})
			s := &script{answers: []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
				arrived <- struct{}{}
				<-proceed
				answer(w, 200, single("Vendor", `{"Id":"1"}`))
			}}}
			p := open(t, s, nil)
			var wg sync.WaitGroup
			create := func(cred accounting.Credential, w accounting.Write) {
				got, err := p.Create(t.Context(), cred, accounting.KindVendor, w)
				if err != nil || string(got) != `{"Id":"1"}` {
					t.Errorf("got %s, %v", got, err)
				}
				clear(got) // what one caller does with its answer is no other's matter
			}
			wg.Go(func() { create(good, first) })
			<-arrived
			for range others {
				wg.Go(func() { create(tc.cred, tc.write) })
			}
			if tc.calls == 2 {
				<-arrived
			}
			waitJoined(1 + others - tc.calls)
			close(proceed)
			wg.Wait()
			if n := len(s.asked()); n != tc.calls {
				t.Errorf("%d calls, want %d", n, tc.calls)
			}
		})
	}
}

// waitJoined waits until n goroutines wait for a write of another one.
func waitJoined(n int) {
	stacks := make([]byte, 1<<20)
	for joined := -1; joined < n; runtime.Gosched() {
		joined = 0
		for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "singleflight.(*Group).Do(") && strings.Contains(stack, "sync.(*WaitGroup).Wait(") {
				joined++
			}
		}
	}
}

// TestWriteLostReference expects the provider's own id of the repeat where the answer to
// the first try, and its id with it, was lost.
func TestWriteLostReference(t *testing.T) {
	s := &script{answers: []http.HandlerFunc{lost, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Intuit_tid", "1-abc")
		answer(w, 503, "")
	}}}
	_, err := open(t, s, nil).Create(t.Context(), good, accounting.KindVendor, accounting.Write{Body: []byte(fullVendor), Key: "k"})
	if pe := wantError(t, err, providers.KindUnreachable, "connection closed early"); pe.Reference() != "1-abc" {
		t.Errorf("the reference is %q", pe.Reference())
	}
}
