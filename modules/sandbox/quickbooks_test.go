package sandbox

import (
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

const (
	company = "/quickbooks/v3/company/"
	realm   = company + "4620816365"
)

// books calls QuickBooks with a token that it accepts. The target follows the realm.
func (c client) books(method, target, body string, headers ...string) answer {
	c.t.Helper()
	headers = append([]string{"Authorization", "Bearer demo", "Accept", "application/json", "Content-Type", "application/json"}, headers...)
	return c.do(method, realm+target, body, headers...)
}

// query sends a statement and returns the rows of its answer.
func (c client) query(statement string) []gjson.Result {
	c.t.Helper()
	a := c.books(http.MethodGet, "/query?minorversion=75&query="+url.QueryEscape(statement), "")
	if a.status != http.StatusOK || !gjson.Valid(a.body) {
		c.t.Fatalf("%s answered %d %.300s", statement, a.status, a.body)
	}
	var rows []gjson.Result
	a.get("QueryResponse").ForEach(func(_, v gjson.Result) bool {
		if v.IsArray() {
			rows = v.Array()
		}
		return true
	})
	return rows
}

// everything returns all rows of an entity, active or not.
func (c client) everything(entity string) []gjson.Result {
	c.t.Helper()
	where := " WHERE Active IN (true, false)"
	if entity == "Purchase" {
		where = ""
	}
	var rows []gjson.Result
	for {
		page := c.query("SELECT * FROM " + entity + where + " ORDERBY Id STARTPOSITION " + strconv.Itoa(len(rows)+1) + " MAXRESULTS 1000")
		if len(page) == 0 {
			return rows
		}
		rows = append(rows, page...)
	}
}

// expectFault checks the code of a fault and a part of its detail.
func (a answer) expectFault(t *testing.T, status int, code, detail string) {
	t.Helper()
	f := a.get("Fault.Error.0")
	if a.status != status || f.Get("code").String() != code || !strings.Contains(f.Get("Detail").String(), detail) {
		t.Errorf("status %d, body %.600s\nwant %d, code %s, detail %q", a.status, a.body, status, code, detail)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("type %q", got)
	}
}

// unthrottledBooks is a simulator that takes any number of calls. Its data is big
// enough to be shared by the tests.
var unthrottledBooks = sync.OnceValue(func() http.Handler {
	return NewSimulator(Options{Throttle: unthrottled, Now: newClock().Now})
})

var companies atomic.Int64

// newCompany returns a client that calls no company that another test calls: what it
// sends to the realm goes to one of its own.
func newCompany(t *testing.T) client {
	t.Helper()
	own := company + strconv.FormatInt(9_000_000_000+companies.Add(1), 10)
	return client{t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if rest, ok := strings.CutPrefix(r.URL.Path, realm); ok {
			r.URL.Path = own + rest
		}
		unthrottledBooks().ServeHTTP(w, r)
	})}
}

// raw returns a recorded body as it stands in its file.
func raw(t *testing.T, name string) string {
	t.Helper()
	recording(t, "quickbooks/empty_query.resp.json") // skips where there are none
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "recordings", "quickbooks", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// alike checks rows against recorded ones: members come in the recorded order, none is
// new, and those that all recorded rows have are never missing.
func alike(t *testing.T, rows, recorded []gjson.Result) {
	t.Helper()
	before := make(map[[2]string]bool)
	seen := make(map[string]int)
	for _, r := range recorded {
		names := keys(r)
		for i, name := range names {
			seen[name]++
			for _, later := range names[i+1:] {
				before[[2]string{name, later}] = true
			}
		}
	}
	for _, row := range rows {
		names := keys(row)
		for i, name := range names {
			if seen[name] == 0 {
				t.Fatalf("%s is in no recorded row: %s", name, row.Raw)
			}
			for _, later := range names[i+1:] {
				if before[[2]string{later, name}] {
					t.Fatalf("%s stands before %s: %s", name, later, row.Raw)
				}
			}
		}
		for name, n := range seen {
			if n == len(recorded) && !slices.Contains(names, name) {
				t.Fatalf("no %s in %s", name, row.Raw)
			}
		}
	}
}

func TestQuickBooksLooksRecorded(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	t.Run("ok/accounts", func(t *testing.T) {
		alike(t, c.everything("Account"), recording(t, "quickbooks/account_query_10.resp.json").Get("QueryResponse.Account").Array())
		a := c.books(http.MethodGet, "/account/35?minorversion=75", "")
		alike(t, []gjson.Result{a.get("Account")}, []gjson.Result{recording(t, "quickbooks/account_read.resp.json").Get("Account")})
	})
	t.Run("ok/vendors", func(t *testing.T) {
		recorded := recording(t, "quickbooks/vendor_query_35.resp.json").Get("QueryResponse.Vendor").Array()
		recorded = append(recorded, recording(t, "quickbooks/vendor_page_1_of_6.resp.json").Get("QueryResponse.Vendor.2")) // has a TaxIdentifier
		rows := c.everything("Vendor")
		alike(t, rows, recorded)
		for _, row := range rows {
			if tax := row.Get("TaxIdentifier"); tax.Exists() && !regexp.MustCompile(`^XXXXXX\d{4}$`).MatchString(tax.String()) {
				t.Errorf("tax identifier %s", tax)
			}
		}
		a := c.books(http.MethodGet, "/vendor/56", "")
		alike(t, []gjson.Result{a.get("Vendor")}, append(recorded, recording(t, "quickbooks/vendor_read.resp.json").Get("Vendor")))
	})
	t.Run("ok/purchases", func(t *testing.T) {
		var recorded, lines, accountDetails, itemDetails []gjson.Result
		for _, name := range []string{"cash", "check_remit", "credit", "customer"} {
			p := recording(t, "quickbooks/purchase_one_"+name+".json").Get("Purchase")
			recorded = append(recorded, p)
			lines = append(lines, p.Get("Line").Array()...)
		}
		split := func(lines []gjson.Result) (byAccount, byItem []gjson.Result) {
			for _, l := range lines {
				if d := l.Get("AccountBasedExpenseLineDetail"); d.Exists() {
					byAccount = append(byAccount, d)
				}
				if d := l.Get("ItemBasedExpenseLineDetail"); d.Exists() {
					byItem = append(byItem, d)
				}
			}
			return byAccount, byItem
		}
		accountDetails, itemDetails = split(lines)
		rows := c.everything("Purchase")
		alike(t, rows, recorded)
		ex := make(map[string]bool)
		for _, r := range recorded {
			ex[r.Get("PurchaseEx|@ugly").Raw] = true
		}
		var made []gjson.Result
		for _, row := range rows {
			made = append(made, row.Get("Line").Array()...)
			if !ex[row.Get("PurchaseEx").Raw] {
				t.Fatalf("PurchaseEx %s", row.Get("PurchaseEx").Raw)
			}
		}
		alike(t, made, lines)
		byAccount, byItem := split(made)
		alike(t, byAccount, accountDetails)
		alike(t, byItem, itemDetails)
		if len(byItem) == 0 {
			t.Error("no line by item")
		}
	})
	t.Run("ok/envelopes", func(t *testing.T) {
		for target, name := range map[string]string{
			"/account/1": "account_read", "/vendor/1": "vendor_read",
			"/query?query=" + url.QueryEscape("select * from account maxresults 10"):                   "account_query_10",
			"/query?query=" + url.QueryEscape("SELECT COUNT(*) FROM Vendor"):                           "vendor_count",
			"/query?query=" + url.QueryEscape("SELECT * FROM Vendor MAXRESULTS 5 STARTPOSITION 90000"): "empty_query",
		} {
			a, want := c.books(http.MethodGet, target, ""), recording(t, "quickbooks/"+name+".resp.json")
			if got := gjson.Parse(a.body); !slices.Equal(keys(got), keys(want)) || !slices.Equal(keys(got.Get("QueryResponse")), keys(want.Get("QueryResponse"))) {
				t.Errorf("%s answers %.200s ... %s", target, a.body, a.body[max(0, len(a.body)-100):])
			}
			if got := a.header.Get("Content-Type"); got != "application/json;charset=UTF-8" {
				t.Errorf("type %q", got)
			}
			if !regexp.MustCompile(`^1-[0-9a-f]{8}-[0-9a-f]{24}$`).MatchString(a.header.Get("intuit_tid")) {
				t.Errorf("intuit_tid %q", a.header.Get("intuit_tid"))
			}
			if _, err := time.Parse("2006-01-02T15:04:05.000-07:00", a.get("time").String()); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestQuickBooksData(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for entity, want := range map[string]struct{ all, shown int }{"Account": {208, 200}, "Vendor": {1525, 1500}, "Purchase": {12_000, 12_000}} {
		t.Run("ok/"+entity, func(t *testing.T) {
			count := c.books(http.MethodGet, "/query?query="+url.QueryEscape("select count(*) from "+entity), "").get("QueryResponse.totalCount").Int()
			rows := c.everything(entity)
			ids := make(map[string]bool)
			long := 0
			for _, row := range rows {
				id := row.Get("Id").String()
				ids[id] = true
				if len(id) == 19 {
					long++
				}
				title := row.Get("DisplayName").String() + row.Get("Name").String()
				if inactive := row.Get("Active").Raw == "false"; inactive != strings.HasSuffix(title, " (deleted)") {
					t.Errorf("%s", row.Raw)
				}
				for _, path := range []string{"MetaData.CreateTime", "MetaData.LastUpdatedTime"} {
					if at, err := time.Parse(time.RFC3339, row.Get(path).String()); err != nil || at.After(newClock().Now()) {
						t.Errorf("%s %s", path, row.Get(path))
					}
				}
			}
			if int(count) != want.shown || len(rows) != want.all || len(ids) != want.all || (long == 3) != (entity == "Purchase") {
				t.Errorf("%d counted, %d rows, %d Ids, %d long ones", count, len(rows), len(ids), long)
			}
		})
	}
	t.Run("ok/totals", func(t *testing.T) {
		spelled := make(map[int]int)
		for _, row := range c.everything("Purchase") {
			total := new(big.Rat)
			for _, amount := range row.Get("Line.#.Amount").Array() {
				r, _ := new(big.Rat).SetString(amount.Raw)
				total.Add(total, r)
			}
			r, _ := new(big.Rat).SetString(row.Get("TotalAmt").Raw)
			if total.Cmp(r) != 0 {
				t.Errorf("total %s", row.Raw)
			}
			if row.Get("Credit").Exists() != (row.Get("PaymentType").String() == "CreditCard") {
				t.Errorf("credit %s", row.Raw)
			}
			_, decimals, _ := strings.Cut(row.Get("TotalAmt").Raw, ".")
			spelled[len(decimals)]++
			if strings.HasSuffix(row.Get("TotalAmt").Raw, ".00") {
				spelled[-1]++
			}
		}
		if len(spelled) != 4 {
			t.Errorf("totals are spelled with %v decimals", spelled)
		}
	})
	t.Run("ok/the same each time", func(t *testing.T) {
		statement := "/query?query=" + url.QueryEscape("select * from purchase orderby Id maxresults 50")
		first := c.books(http.MethodGet, statement, "").get("QueryResponse").Raw
		if again := newClient(t, Options{}).books(http.MethodGet, statement, "").get("QueryResponse").Raw; again != first {
			t.Error("another simulator has other data")
		}
		other := newClient(t, Options{Seed: 2})
		if o := other.books(http.MethodGet, statement, "").get("QueryResponse").Raw; o == first {
			t.Error("another seed has the same data")
		}
	})
	t.Run("ok/accounts as promised", func(t *testing.T) {
		for id, want := range map[string]string{"7": "Expense", "13": "Expense", "34": "Expense", "35": "Bank", "40": "Bank", "41": "Credit Card", "42": "Credit Card", "60": "Credit Card"} {
			if got := c.books(http.MethodGet, "/account/"+id, "").get("Account.AccountType").String(); got != want {
				t.Errorf("account %s is %s", id, got)
			}
		}
	})
}

func TestQuickBooksReads(t *testing.T) {
	c := newCompany(t)
	inactive := c.query("select * from Vendor where Active = false maxresults 1")[0].Get("Id").String()
	t.Run("ok/inactive", func(t *testing.T) {
		if v := c.books(http.MethodGet, "/vendor/"+inactive, "").get("Vendor"); v.Get("Active").Raw != "false" || !strings.HasSuffix(v.Get("DisplayName").String(), " (deleted)") {
			t.Errorf("vendor %s", v.Raw)
		}
	})
	for target, want := range map[string]struct{ code, detail string }{
		"/vendor/999999":                   {"610", "Object Not Found : "},
		"/purchase/99999999999999999999":   {"610", "Object Not Found : "},
		"/vendor/abc":                      {"2030", "Supplied value:abc"},
		"/purchase/-1":                     {"2030", "Supplied value:-1"},
		"/account/1/2":                     {"500", "is not supported"},
		"/Account/1":                       {"500", "is not supported"},
		"/invoice/1":                       {"500", "is not supported"},
		"/account/":                        {"500", "is not supported"},
		"/account":                         {"500", "is not supported"},
		"":                                 {"500", "is not supported"},
		"/query/1":                         {"500", "is not supported"},
		"/query":                           {"4000", `Encountered "<EOF>" at line 1, column 1.`},
		"/query?query=select+%2A+from+%ff": {"500", "Invalid byte"},
	} {
		t.Run("fail/"+target, func(t *testing.T) {
			c.books(http.MethodGet, target, "").expectFault(t, http.StatusBadRequest, want.code, want.detail)
		})
	}
	for method, target := range map[string]string{http.MethodDelete: "/vendor/1", http.MethodPut: "/vendor", http.MethodPatch: "/query", http.MethodPost: "/account"} {
		t.Run("fail/"+method+" "+target, func(t *testing.T) {
			c.books(method, target, "{}").expectFault(t, http.StatusBadRequest, "500", method+" ")
		})
	}
}

func TestQuickBooksCredentials(t *testing.T) {
	c := newCompany(t)
	for _, token := range []string{"", "invalid", "wrong-one", "expired.abc", `expired"\` + "\x7f"} {
		t.Run("fail/"+token, func(t *testing.T) {
			a := c.books(http.MethodGet, "/account/1", "", "Authorization", "Bearer "+token)
			f := a.get("fault.error.0")
			if a.status != http.StatusUnauthorized || f.Get("code").String() != "3200" || f.Get("detail").String() != "Token expired: "+token ||
				a.header.Get("WWW-Authenticate") != `Bearer realm="Intuit", error="invalid_token"` || !gjson.Valid(a.body) {
				t.Errorf("status %d, header %v, body %s", a.status, a.header, a.body)
			}
		})
	}
	for name, a := range map[string]answer{
		"forbidden token": c.books(http.MethodGet, "/account/1", "", "Authorization", "Bearer forbidden1"),
		"realm":           c.do(http.MethodGet, company+"abc/account/1", "", "Authorization", "Bearer demo", "Accept", "application/json"),
		"fault":           c.books(http.MethodGet, "/account/1", "", faultHeader, "forbidden"),
	} {
		t.Run("fail/"+name, func(t *testing.T) {
			f := a.get("fault.error.0")
			if a.status != http.StatusForbidden || f.Get("code").String() != "3100" || f.Get("detail").Type != gjson.Null || a.header.Get("WWW-Authenticate") != "" {
				t.Errorf("status %d, body %s", a.status, a.body)
			}
		})
	}
}

func TestQuickBooksThrottle(t *testing.T) {
	t.Parallel()
	clock := newClock()
	statuses := func(c client, realm string, n int) map[int]int {
		seen := make(map[int]int)
		for range n {
			a := c.do(http.MethodGet, company+realm+"/account/1", "", "Authorization", "Bearer demo", "Accept", "application/json")
			seen[a.status]++
			if a.status == http.StatusTooManyRequests {
				a.expectFault(t, a.status, "3001", "The request limit was reached.  Try again later")
				if after := a.header.Get("Retry-After"); after != "" {
					t.Errorf("Retry-After %s", after)
				}
			}
		}
		return seen
	}
	c := newClient(t, Options{Now: clock.Now})
	for _, tc := range []struct {
		name    string
		realm   string
		advance time.Duration
		ok      int
	}{
		{"ten at once", "1", 0, 10},
		{"another company", "2", 0, 10},
		{"just before the next", "1", 99 * time.Millisecond, 0},
		{"the next", "1", time.Millisecond, 1},
		{"half a second", "1", 500 * time.Millisecond, 5},
		{"no more after a pause", "1", time.Hour, 10},
	} {
		t.Run("ok/"+tc.name, func(t *testing.T) {
			clock.Advance(tc.advance)
			want := map[int]int{http.StatusTooManyRequests: 15 - tc.ok}
			if tc.ok > 0 {
				want[http.StatusOK] = tc.ok
			}
			if got := statuses(c, tc.realm, 15); !maps.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	t.Run("ok/other limits", func(t *testing.T) {
		if got := statuses(newClient(t, Options{Throttle: 2}), "1", 5); got[http.StatusOK] != 2 {
			t.Errorf("%v", got)
		}
		if got := statuses(newCompany(t), "1", 50); got[http.StatusOK] != 50 {
			t.Errorf("%v", got)
		}
	})
}
