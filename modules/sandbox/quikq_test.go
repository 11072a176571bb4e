package sandbox

import (
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

const quikqReport = "/quikq/v1/reports/transactions/1000001?startCode=1000001"

func (c client) quikqLogin(startCode, user, password string) answer {
	c.t.Helper()
	return c.do(http.MethodPost, "/quikq/v1/auth", fmt.Sprintf(`{"startCode":%q,"userId":%q,"password":%q}`, startCode, user, password))
}

// quikq asks for the report of a window with the token of a session.
func (c client) quikq(token, from, to string) answer {
	c.t.Helper()
	return c.do(http.MethodGet, quikqReport+"&startDt="+from+"T00:00:00-00:00&endDt="+to+"T23:59:59-00:00", "", "Authorization", "Bearer "+token)
}

// quikqToken logs in with credentials that QuikQ accepts.
func (c client) quikqToken() string {
	c.t.Helper()
	a := c.quikqLogin("1000001", "dispatch", "demo")
	a.expect(c.t, http.StatusOK, "")
	token := a.get("data.token").String()
	if a.get("status").String() != "success" || strings.Count(token, ".") != 2 {
		c.t.Fatalf("login answered %s", a.body)
	}
	return token
}

func TestQuikQReportLooksRecorded(t *testing.T) {
	c := newClient(t, Options{})
	recorded := recording(t, "quikq/report_200_wrapped.json")
	a := c.quikq(c.quikqToken(), "2026-01-01", "2026-12-31")
	a.expect(t, http.StatusOK, "")
	valid(t, a)
	if got, want := shape(gjson.Parse(a.body)), shape(recorded); got != want {
		t.Errorf("shape %s\nwant  %s", got, want)
	}
}

func TestQuikQReport(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	token := c.quikqToken()
	whole := c.quikq(token, "2026-01-01", "2026-12-31")
	valid(t, whole)
	report := whole.get("data.report")
	rows := report.Get("transactions").Array()
	if len(rows) != 2000 || report.Get("transactionCount").Int() != 2000 || report.Get("carrierCount").Int() != 1 ||
		report.Get("truckStopCount").Int() != report.Get("truckStops.#").Int() || report.Get("truckStops.#").Int() < 50 {
		t.Fatalf("%d rows; counts %s, %s, %s", len(rows), report.Get("transactionCount"), report.Get("carrierCount"), report.Get("truckStopCount"))
	}
	stations, products := make(map[string]bool), make(map[string]bool)
	for _, s := range report.Get("truckStops.#.truckStop.station").Array() {
		stations[s.String()] = true
	}
	for _, p := range report.Get("products.#.product.productCode").Array() {
		products[p.Raw] = true
	}
	numbers := make(map[string]bool)
	var subs, details, voids, negative, litres, late int
	for i, row := range rows {
		tx := row.Get("transaction")
		numbers[tx.Get("transNumber").Raw] = true
		if tx.Get("seq").Int() != int64(i+1) || tx.Get("startCode").Raw != "1000001" || !stations[tx.Get("station").String()] {
			t.Fatalf("transaction %d: %.200s", i, tx.Raw)
		}
		subs += int(tx.Get("subTransactions.#").Int())
		for _, s := range tx.Get("subTransactions.#.subTransaction").Array() {
			sum, adjusted := new(big.Rat), new(big.Rat)
			for _, d := range s.Get("productDetails.#.productDetail").Array() {
				details++
				sum.Add(sum, rational(t, d, "productTotal"))
				adjusted.Add(adjusted, rational(t, d, "adjustedTotal"))
				if d.Get("uom").String() == "L" {
					litres++
				}
				if !products[d.Get("productCode").Raw] {
					t.Fatalf("product %s is not in the table", d.Get("productCode"))
				}
			}
			if sum.Cmp(rational(t, s, "subTotal")) != 0 || adjusted.Cmp(rational(t, s, "adjSubTotal")) != 0 {
				t.Fatalf("sums differ in %s", s.Raw)
			}
			if s.Get("voided").String() == "YES" {
				voids++
			}
			if strings.HasPrefix(s.Get("subTotal").Raw, "-") {
				negative++
			}
			posted, err := time.Parse("2006-01-02-15.04.05.000000", s.Get("postDate").String())
			if err != nil {
				t.Fatal(err)
			}
			event, err := time.Parse("2006-01-02-15.04.05.000000", s.Get("eventDate").String())
			if err != nil || posted.Before(event) {
				t.Fatalf("event at %s, posted at %s", s.Get("eventDate"), s.Get("postDate"))
			}
			if posted.Sub(event) > 24*time.Hour {
				late++
			}
		}
	}
	if len(numbers) != 2000 || subs < 2200 || details < 3500 || voids == 0 || voids != negative || litres == 0 || late == 0 {
		t.Errorf("%d numbers, %d sub-transactions, %d details, %d voids, %d negative, %d in litres, %d late", len(numbers), subs, details, voids, negative, litres, late)
	}

	t.Run("ok/windows add up", func(t *testing.T) {
		var got []string
		for at := newClock().Now().AddDate(0, 0, -92); at.Before(newClock().Now()); at = at.AddDate(0, 0, 1) {
			day := at.Format(time.DateOnly)
			a := c.quikq(token, day, day)
			for _, n := range a.get("data.report.transactions.#.transaction").Array() {
				got = append(got, n.Get("transNumber").Raw)
				if complete := n.Get("complete").String(); !strings.HasPrefix(complete, day) {
					t.Fatalf("window %s has a transaction of %s", day, complete)
				}
			}
		}
		slices.Sort(got)
		if len(slices.Compact(got)) != 2000 {
			t.Errorf("%d transactions by days", len(got))
		}
	})
	t.Run("ok/empty window", func(t *testing.T) {
		c.quikq(token, "2020-01-01", "2020-01-31").expect(t, http.StatusOK, `{"status":"success","data":{"report":{"transactionCount":0,"carrierCount":0,"truckStopCount":0,"carriers":[],"truckStops":[],"products":[],"transactions":[]}}}`)
	})
	t.Run("ok/start code that is no number", func(t *testing.T) {
		token := c.quikqLogin("ACME", "dispatch", "demo").get("data.token").String()
		a := c.do(http.MethodGet, "/quikq/v1/reports/transactions/ACME?startCode=ACME&startDt=2026-09-01T00:00:00-00:00&endDt=2026-09-02T00:00:00-00:00", "", "Authorization", "Bearer "+token)
		a.expect(t, http.StatusOK, "")
		valid(t, a)
		if got := a.get("data.report.transactions.0.transaction.startCode").Raw; got != "1000001" {
			t.Errorf("start code %s", got)
		}
	})
}

func rational(t *testing.T, v gjson.Result, name string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(v.Get(name).Raw)
	if !ok {
		t.Fatalf("%s is %s", name, v.Get(name).Raw)
	}
	return r
}

func TestQuikQLogin(t *testing.T) {
	c := newClient(t, Options{})
	const refused = `{"status":"fail","message":"Invalid credentials"}`
	for _, tc := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"wrong password", `{"startCode":"1","userId":"u","password":"wrong"}`, 401, refused},
		{"invalid password", `{"startCode":"1","userId":"u","password":"invalid"}`, 401, refused},
		{"invalid user", `{"startCode":"1","userId":"invalid-user","password":"p"}`, 401, refused},
		{"nothing", ``, 400, `{"status":"fail","message":"The body is not a valid login"}`},
		{"malformed", `{"startCode":"1"`, 400, `{"status":"fail","message":"The body is not a valid login"}`},
		{"number", `{"startCode":1,"userId":"u","password":"p"}`, 400, `{"status":"fail","message":"The body is not a valid login"}`},
		{"no password", `{"startCode":"1","userId":"u"}`, 400, `{"status":"fail","message":"startCode, userId and password are required"}`},
		{"too long", `{"startCode":"1","userId":"u","password":"` + strings.Repeat("p", 70_000) + `"}`, 400, `{"status":"fail","message":"The body is not a valid login"}`},
	} {
		t.Run("fail/"+tc.name, func(t *testing.T) {
			c.do(http.MethodPost, "/quikq/v1/auth", tc.body).expect(t, tc.status, tc.want)
		})
	}
	t.Run("fail/as recorded", func(t *testing.T) {
		if got, want := c.quikqLogin("1", "u", "wrong").body, strings.TrimSpace(recording(t, "quikq/auth_failed.json").Raw); got != want {
			t.Errorf("body %s, want %s", got, want)
		}
	})
	for _, tc := range []struct {
		method, path, allow string
		status              int
	}{
		{"GET", "/quikq/v1/auth", "POST", 405},
		{"POST", quikqReport, "GET", 405},
		{"GET", "/quikq/v1/reports/transactions/", "", 404},
		{"GET", "/quikq/v1/reports/transactions/1/2", "", 404},
		{"GET", "/quikq", "", 404},
	} {
		t.Run("fail/"+tc.method+" "+tc.path, func(t *testing.T) {
			a := c.do(tc.method, tc.path, "")
			a.expect(t, tc.status, "")
			if a.get("status").String() != "fail" || a.get("message").String() != http.StatusText(tc.status) || a.header.Get("Allow") != tc.allow {
				t.Errorf("body %s, Allow %q", a.body, a.header.Get("Allow"))
			}
		})
	}
}

func TestQuikQSession(t *testing.T) {
	const refused = `{"status":"fail","message":"Token expired or invalid"}`
	clock := newClock()
	c := newClient(t, Options{Now: clock.Now, SessionTTL: 5 * time.Minute})
	token := c.quikqToken()
	for _, other := range []string{"", "nonsense", token + "x"} {
		c.quikq(other, "2026-09-01", "2026-09-02").expect(t, http.StatusUnauthorized, refused)
	}
	clock.Advance(5*time.Minute - time.Second)
	c.quikq(token, "2026-09-01", "2026-09-02").expect(t, http.StatusOK, "")
	clock.Advance(time.Second)
	c.quikq(token, "2026-09-01", "2026-09-02").expect(t, http.StatusUnauthorized, refused)
	c.quikq(c.quikqToken(), "2026-09-01", "2026-09-02").expect(t, http.StatusOK, "")
}

func TestQuikQReportRefusals(t *testing.T) {
	c := newClient(t, Options{})
	token := c.quikqToken()
	const dates = "&startDt=2026-09-01T00:00:00-00:00&endDt=2026-09-02T00:00:00-00:00"
	for _, tc := range []struct {
		target string
		status int
		want   string
	}{
		{"/quikq/v1/reports/transactions/2?startCode=2" + dates, 403, "No access to this start code"},
		{"/quikq/v1/reports/transactions/1000001?startCode=2" + dates, 403, "No access to this start code"},
		{"/quikq/v1/reports/transactions/1000001?x=1" + dates, 403, "No access to this start code"},
		{quikqReport + "&startDt=2026-09-01&endDt=2026-09-02", 400, "startDt must be given as YYYY-MM-DDTHH:MM:SS-00:00"},
		{quikqReport + "&startDt=2026-09-01T00:00:00-00:00&endDt=2026-09-02T00:00:00Z", 400, "endDt must be given as YYYY-MM-DDTHH:MM:SS-00:00"},
		{quikqReport + "&startDt=2026-09-01T00:00:00.0-00:00&endDt=2026-09-02T00:00:00-00:00", 400, "startDt must be given as YYYY-MM-DDTHH:MM:SS-00:00"},
		{quikqReport + "&startDt=2026-02-30T00:00:00-00:00", 400, "startDt must be given as YYYY-MM-DDTHH:MM:SS-00:00"},
		{quikqReport, 400, "startDt must be given as YYYY-MM-DDTHH:MM:SS-00:00"},
	} {
		t.Run("fail/"+tc.target, func(t *testing.T) {
			c.do(http.MethodGet, tc.target, "", "Authorization", "Bearer "+token).
				expect(t, tc.status, `{"status":"fail","message":"`+tc.want+`"}`)
		})
	}
}
