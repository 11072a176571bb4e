package sandbox

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

func TestQuickBooksQueries(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	all := make(map[string][]gjson.Result)
	for _, entity := range []string{"Account", "Purchase", "Vendor"} {
		all[entity] = c.everything(entity)
	}
	member := func(path string) func(gjson.Result) string {
		return func(row gjson.Result) string { return row.Get(path).String() }
	}
	number := func(row gjson.Result, path string) float64 { return row.Get(path).Float() }
	active := func(row gjson.Result) bool { return row.Get("Active").Bool() }
	at := func(row gjson.Result) time.Time {
		v, _ := time.Parse(time.RFC3339, row.Get("MetaData.LastUpdatedTime").String())
		return v
	}
	august := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		entity, where string
		keep          func(gjson.Result) bool
	}{
		{"Purchase", "TxnDate > '2026-09-01'", func(r gjson.Result) bool { return member("TxnDate")(r) > "2026-09-01" }},
		{"Purchase", "TxnDate >= '2026-09-01' AND TxnDate <= '2026-09-10'", func(r gjson.Result) bool {
			return member("TxnDate")(r) >= "2026-09-01" && member("TxnDate")(r) <= "2026-09-10"
		}},
		{"Purchase", "PaymentType='Check' and TotalAmt < '100.00'", func(r gjson.Result) bool {
			return member("PaymentType")(r) == "Check" && number(r, "TotalAmt") < 100
		}},
		{"Purchase", "Id IN ('5','7', '1152921504606850976')", func(r gjson.Result) bool {
			return slices.Contains([]string{"5", "7", "1152921504606850976"}, member("Id")(r))
		}},
		{"Purchase", "Metadata.LastUpdatedTime > '2026-08-01T05:00:00-07:00' AND DocNumber LIKE '1%5'", func(r gjson.Result) bool {
			return at(r).After(august) && strings.HasPrefix(member("DocNumber")(r), "1") && strings.HasSuffix(member("DocNumber")(r), "5")
		}},
		{"Purchase", "PrivateNote = 'Driver said \"urgent\"'", func(r gjson.Result) bool { return member("PrivateNote")(r) == `Driver said "urgent"` }},
		{"Purchase", "Credit = true", func(r gjson.Result) bool { return r.Get("Credit").Bool() }},
		{"Vendor", `DisplayName = 'Abe\'s Bird & Truck Stop'`, func(r gjson.Result) bool { return member("DisplayName")(r) == "Abe's Bird & Truck Stop" }},
		{"Vendor", `DisplayName = 'back\\slash WELDING'`, func(r gjson.Result) bool { return member("DisplayName")(r) == `Back\Slash Welding` }},
		{"Vendor", `DisplayName LIKE '%Towing%'`, func(r gjson.Result) bool {
			return active(r) && strings.Contains(member("DisplayName")(r), "Towing")
		}},
		{"Vendor", `DisplayName like 'a%re%s%'`, func(r gjson.Result) bool {
			return active(r) && regexp.MustCompile(`(?i)^a.*re.*s.*$`).MatchString(member("DisplayName")(r))
		}},
		{"Vendor", `CompanyName = '株式会社トラック'`, func(r gjson.Result) bool { return member("CompanyName")(r) == "株式会社トラック" }},
		{"Vendor", "Active = false", func(r gjson.Result) bool { return !active(r) }},
		{"Vendor", "Active IN (true, false) AND Balance > '0'", func(r gjson.Result) bool { return number(r, "Balance") > 0 }},
		{"Vendor", "Vendor1099 = true", func(r gjson.Result) bool { return active(r) && r.Get("Vendor1099").Bool() }},
		{"Account", "AccountType IN ('Bank', 'Credit Card')", func(r gjson.Result) bool {
			return active(r) && slices.Contains([]string{"Bank", "Credit Card"}, member("AccountType")(r))
		}},
		{"Account", "CurrentBalance < '0'", func(r gjson.Result) bool { return number(r, "CurrentBalance") < 0 }},
		{"Account", "Active = true", active},
	} {
		t.Run("ok/"+tc.entity+" "+tc.where, func(t *testing.T) {
			var want []string
			for _, row := range all[tc.entity] {
				if tc.keep(row) {
					want = append(want, row.Raw)
				}
			}
			var got []string
			for _, row := range c.query("SELECT * FROM " + tc.entity + " WHERE " + tc.where + " ORDER BY Id MAXRESULTS 1000") {
				got = append(got, row.Raw)
			}
			if len(want) == 0 && !strings.Contains(tc.where, "CompanyName") || len(want) == len(all[tc.entity]) || !slices.Equal(got, want[:min(1000, len(want))]) {
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
			count := c.books(http.MethodGet, "/query?query="+url.QueryEscape("select Count( * ) from "+tc.entity+" where "+tc.where), "")
			if n := count.get("QueryResponse.totalCount"); int(n.Int()) != len(want) || !n.Exists() {
				t.Errorf("counted %s, want %d", n.Raw, len(want))
			}
		})
	}

	for statement, sorted := range map[string]func(a, b gjson.Result) int{
		"SELECT * FROM Purchase":                           func(a, b gjson.Result) int { return at(b).Compare(at(a)) },
		"SELECT * FROM Vendor":                             func(a, b gjson.Result) int { return compareFold(a, b, "DisplayName") },
		"SELECT * FROM Account":                            func(a, b gjson.Result) int { return compareFold(a, b, "Name") },
		"SELECT * FROM Purchase ORDERBY TxnDate DESC":      func(a, b gjson.Result) int { return compareFold(b, a, "TxnDate") },
		"SELECT * FROM Purchase order by DocNumber":        func(a, b gjson.Result) int { return compareFold(a, b, "DocNumber") },
		"SELECT * FROM Purchase ORDERBY TotalAmt ASC":      func(a, b gjson.Result) int { return int(100*number(a, "TotalAmt")) - int(100*number(b, "TotalAmt")) },
		"SELECT * FROM Vendor ORDERBY metadata.createtime": func(a, b gjson.Result) int { return compareFold(a, b, "MetaData.CreateTime") },
		"SELECT * FROM Purchase ORDERBY Id DESC MAXRESULTS 100": func(a, b gjson.Result) int {
			return len(b.Get("Id").String())*1e6 + int(b.Get("Id").Int()%1e6) - len(a.Get("Id").String())*1e6 - int(a.Get("Id").Int()%1e6)
		},
	} {
		t.Run("ok/"+statement, func(t *testing.T) {
			rows := c.query(statement)
			if len(rows) != 100 || !slices.IsSortedFunc(rows, sorted) {
				t.Errorf("%d rows in another order", len(rows))
			}
		})
	}

	t.Run("ok/POST", func(t *testing.T) {
		const statement = "SELECT * FROM Vendor WHERE DisplayName LIKE 'A+%' MAXRESULTS 3"
		want := c.query(statement)
		body := c.books(http.MethodPost, "/query?minorversion=75", statement, "Content-Type", "application/text")
		inURL := c.books(http.MethodPost, "/query?query="+url.QueryEscape(statement), "", "Content-Type", "text/plain")
		for _, a := range []answer{body, inURL} {
			if got := a.get("QueryResponse.Vendor").Array(); len(want) == 0 || len(got) != len(want) || got[0].Raw != want[0].Raw {
				t.Errorf("answered %d %.200s", a.status, a.body)
			}
		}
	})
	for _, size := range []int{1000, 999, 100} {
		t.Run("ok/pages of "+strconv.Itoa(size), func(t *testing.T) {
			var got, want []string
			for start := 1; ; start += size {
				statement := "SELECT * FROM Vendor WHERE Active IN (true,false) MAXRESULTS " + strconv.Itoa(size) + " STARTPOSITION " + strconv.Itoa(start)
				a := c.books(http.MethodGet, "/query?query="+url.QueryEscape(statement), "").get("QueryResponse")
				rows := a.Get("Vendor").Array()
				if len(rows) == 0 {
					break
				}
				if a.Get("startPosition").Int() != int64(start) || a.Get("maxResults").Int() != int64(len(rows)) || a.Get("totalCount").Exists() {
					t.Errorf("page at %d says %s", start, a.Raw[len(a.Raw)-60:])
				}
				for _, row := range rows {
					got = append(got, row.Get("Id").String())
				}
			}
			for _, row := range all["Vendor"] {
				want = append(want, row.Get("Id").String())
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
		})
	}
	t.Run("ok/a company of its own", func(t *testing.T) {
		c.books(http.MethodPost, "/vendor", `{"DisplayName":"Only Here"}`)
		other := c.do(http.MethodGet, company+"7/query?query="+url.QueryEscape("select count(*) from Vendor where DisplayName = 'Only Here'"), "", "Authorization", "Bearer demo")
		if n := other.get("QueryResponse.totalCount"); n.Raw != "0" || len(c.query("select * from Vendor where DisplayName = 'only here'")) != 1 {
			t.Errorf("the other company has %s", n.Raw)
		}
	})
}

func compareFold(a, b gjson.Result, path string) int {
	return strings.Compare(strings.ToLower(a.Get(path).String()), strings.ToLower(b.Get(path).String()))
}
