package sandbox

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// fetchBooks calls QuickBooks through a connection.
func fetchBooks(t *testing.T, srv *httptest.Server, method, target, body, token string) (answer, error) {
	t.Helper()
	return fetch(t, srv, method, realm+target, body, "Authorization", "Bearer "+token, "Accept", "application/json")
}

func TestQuickBooksFaultsByToken(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(newCompany(t).handler)
	t.Cleanup(srv.Close)
	read, list := "/account/35", "/query?query="+url.QueryEscape("select * from Vendor maxresults 20")
	for kind, check := range outcomes {
		switch kind {
		case sim.Huge, sim.Unavailable, sim.XML, sim.XMLThrottle:
			continue // slow, or not JSON; see below and the other tests
		default:
		}
		t.Run("ok/"+string(kind), func(t *testing.T) {
			for _, target := range []string{read, list} {
				a, err := fetchBooks(t, srv, http.MethodGet, target, "", "fault-"+string(kind))
				check(t, a, err)
			}
		})
		t.Run("ok/write/"+string(kind), func(t *testing.T) {
			token := "fault-write-" + string(kind)
			if a, err := fetchBooks(t, srv, http.MethodGet, list, "", token); err != nil || a.get("QueryResponse.Vendor.#").Int() != 20 {
				t.Errorf("lists fail too: %d, %v", a.status, err)
			}
			a, err := fetchBooks(t, srv, http.MethodPost, "/purchase", purchaseBody, token)
			check(t, a, err)
		})
	}
	for token, want := range map[string]struct {
		status     int
		code, kind string
	}{
		"fault-throttle":     {429, "3001", "application/json"},
		"fault-error":        {500, "10000", "application/json"},
		"fault-fault_200":    {200, "10000", "application/json"},
		"fault-throttle-30s": {429, "3001", "application/json"},
	} {
		t.Run("ok/"+token, func(t *testing.T) {
			a, err := fetchBooks(t, srv, http.MethodGet, read, "", token)
			if err != nil || a.status != want.status || a.get("Fault.Error.0.code").String() != want.code || a.header.Get("Content-Type") != want.kind || a.header.Get("intuit_tid") == "" {
				t.Errorf("status %d, header %v, error %v, body %s", a.status, a.header, err, a.body)
			}
			if after := a.header.Get("Retry-After"); (after == "30") != strings.HasSuffix(token, "-30s") {
				t.Errorf("Retry-After %q", after)
			}
		})
	}
	t.Run("ok/unavailable", func(t *testing.T) {
		a, err := fetchBooks(t, srv, http.MethodGet, read, "", "fault-unavailable")
		if err != nil || a.status != http.StatusServiceUnavailable || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(a.body, "<HTML>") {
			t.Errorf("status %d, error %v, body %s", a.status, err, a.body)
		}
	})
	t.Run("ok/xml", func(t *testing.T) {
		for token, status := range map[string]int{"fault-xml": 500, "fault-xml_throttle": 429, "expired-xml": 401} {
			a, err := fetchBooks(t, srv, http.MethodGet, read, "", token)
			if err != nil || a.status != status || readXML(t, a.body).Fault.Error.Code == "" {
				t.Errorf("status %d, error %v, body %s", a.status, err, a.body)
			}
		}
	})
	t.Run("fail/drop_session", func(t *testing.T) {
		a, err := fetchBooks(t, srv, http.MethodGet, read, "", "fault-drop_session")
		if err != nil || a.status != http.StatusUnauthorized || a.get("fault.error.0.code").String() != "3200" {
			t.Errorf("status %d, error %v, body %s", a.status, err, a.body)
		}
	})
}

func TestQuickBooksPagesThatLie(t *testing.T) {
	c := newCompany(t)
	page := func(fault string, start, size int) []string {
		statement := "select * from Vendor startposition " + strconv.Itoa(start) + " maxresults " + strconv.Itoa(size)
		a := c.books(http.MethodGet, "/query?query="+url.QueryEscape(statement), "", "Authorization", "Bearer fault-"+fault)
		var ids []string
		for _, id := range a.get("QueryResponse.Vendor.#.Id").Array() {
			ids = append(ids, id.String())
		}
		if len(ids) > 0 && int(a.get("QueryResponse.maxResults").Int()) != len(ids) {
			t.Errorf("maxResults %s for %d rows", a.get("QueryResponse.maxResults"), len(ids))
		}
		return ids
	}
	honest := append(page("write-error", 1, 1000), page("write-error", 1001, 1000)...)
	// collect goes on by what it receives, up to the first empty page.
	collect := func(fault string, size int) (ids []string, pages int) {
		for {
			rows := page(fault, len(ids)+1, size)
			if len(rows) == 0 {
				return ids, pages
			}
			ids, pages = append(ids, rows...), pages+1
		}
	}
	t.Run("ok/short_page", func(t *testing.T) {
		if n := len(page("short_page", 1, 100)); n != 90 {
			t.Errorf("%d rows", n)
		}
		if got, pages := collect("short_page", 1000); strings.Join(got, ",") != strings.Join(honest, ",") || pages > 12 {
			t.Errorf("%d rows in %d pages", len(got), pages)
		}
	})
	t.Run("ok/long_page", func(t *testing.T) {
		if n := len(page("long_page", 1, 100)); n != 101 {
			t.Errorf("%d rows", n)
		}
		if got, _ := collect("long_page", 100); strings.Join(got, ",") != strings.Join(honest, ",") {
			t.Errorf("%d rows", len(got))
		}
	})
	t.Run("ok/repeat_page", func(t *testing.T) {
		first, second := page("repeat_page", 1, 100), page("repeat_page", 101, 100)
		if strings.Join(first, ",") != strings.Join(second, ",") || strings.Join(first, ",") != strings.Join(honest[:100], ",") {
			t.Error("the second page is another one")
		}
	})
	t.Run("ok/shrink", func(t *testing.T) {
		first, second, third := page("shrink", 1, 100), page("shrink", 101, 100), page("shrink", 201, 100)
		got := strings.Join(slices.Concat(first, second, third), ",")
		if want := strings.Join(slices.Concat(honest[:100], honest[110:210], honest[220:320]), ","); got != want {
			t.Errorf("rows %s", got)
		}
		if n := len(page("shrink", 1_000_000_000, 1)); n != 0 {
			t.Errorf("%d rows behind the end", n)
		}
	})
	t.Run("ok/shift", func(t *testing.T) {
		got, _ := collect("shift", 100)
		seen := make(map[string]bool)
		for _, id := range got {
			seen[id] = true
		}
		if len(seen) != len(honest) || len(got) <= len(honest) {
			t.Errorf("%d rows, %d different ones", len(got), len(seen))
		}
		if n := len(page("shift", 3, 1)); n != 1 {
			t.Errorf("%d rows", n)
		}
	})
}

func TestQuickBooksRepeats(t *testing.T) {
	c := newCompany(t)
	count := func() int64 {
		return c.books(http.MethodGet, "/query?query="+url.QueryEscape("select count(*) from Purchase"), "").get("QueryResponse.totalCount").Int()
	}
	first := c.books(http.MethodPost, "/purchase?requestid=abc", purchaseBody)
	t.Run("ok/the answer again", func(t *testing.T) {
		before := count()
		again := c.books(http.MethodPost, "/purchase?minorversion=75&requestid=abc", purchaseBody)
		if again.status != http.StatusOK || again.body != first.body || count() != before || again.header.Get("Content-Type") != first.header.Get("Content-Type") {
			t.Errorf("answered %d %s\nfirst %s", again.status, again.body, first.body)
		}
	})
	t.Run("ok/an update too", func(t *testing.T) {
		update := `{"sparse":true,"Id":` + first.get("Purchase.Id").Raw + `,"SyncToken":"0","PaymentType":"CreditCard","PrivateNote":"second"}`
		one := c.books(http.MethodPost, "/purchase?requestid=up", update)
		two := c.books(http.MethodPost, "/purchase?requestid=up", update)
		if one.status != http.StatusOK || two.body != one.body {
			t.Errorf("answered %d %s\nthen %d %s", one.status, one.body, two.status, two.body)
		}
		c.books(http.MethodPost, "/purchase", update).expectFault(t, 400, "5010", "Stale")
	})
	t.Run("ok/another company", func(t *testing.T) {
		a := c.do(http.MethodPost, company+"8/purchase?requestid=abc", set(t, purchaseBody, "PrivateNote", `"x"`), "Authorization", "Bearer demo")
		a.expect(t, http.StatusOK, "")
	})
	t.Run("ok/after a refusal", func(t *testing.T) {
		c.books(http.MethodPost, "/purchase?requestid=ref", `{}`).expectFault(t, 400, "2020", "PaymentType")
		c.books(http.MethodPost, "/purchase?requestid=ref", purchaseBody).expect(t, http.StatusOK, "")
	})
	t.Run("fail/another body", func(t *testing.T) {
		before := count()
		c.books(http.MethodPost, "/purchase?requestid=abc", set(t, purchaseBody, "PrivateNote", `"x"`)).expectFault(t, 400, "600", "requestid")
		c.books(http.MethodPost, "/vendor?requestid=abc", `{"DisplayName":"y"}`).expectFault(t, 400, "600", "requestid")
		if count() != before {
			t.Error("it was written")
		}
	})
	t.Run("fail/too long", func(t *testing.T) {
		c.books(http.MethodPost, "/purchase?requestid="+strings.Repeat("a", 50), purchaseBody).expect(t, http.StatusOK, "")
		c.books(http.MethodPost, "/purchase?requestid="+strings.Repeat("a", 51), purchaseBody).expectFault(t, 400, "2130", "Supplied length: 51")
	})
}

func TestQuickBooksLostAnswers(t *testing.T) {
	srv := httptest.NewServer(newCompany(t).handler)
	t.Cleanup(srv.Close)
	count := func() string {
		a, err := fetchBooks(t, srv, http.MethodGet, "/query?query="+url.QueryEscape("select count(*) from Purchase"), "", "demo")
		if err != nil {
			t.Fatal(err)
		}
		return a.get("QueryResponse.totalCount").Raw
	}
	for _, token := range []string{"fault-lost", "fault-write-lost"} {
		t.Run("ok/"+token, func(t *testing.T) {
			before, _ := strconv.Atoi(count())
			target := "/purchase?requestid=" + token
			a, err := fetchBooks(t, srv, http.MethodPost, target, purchaseBody, token)
			outcomes[sim.Lost](t, a, err)
			again, err := fetchBooks(t, srv, http.MethodPost, target, purchaseBody, token)
			if err != nil || again.status != http.StatusOK || again.get("Purchase.Id").String() != strconv.Itoa(before+1) {
				t.Errorf("answered %d %s, %v", again.status, again.body, err)
			}
			if after := count(); after != strconv.Itoa(before+1) {
				t.Errorf("%s purchases, %d before", after, before)
			}
		})
	}
	t.Run("fail/without requestid", func(t *testing.T) {
		for range 2 {
			a, err := fetchBooks(t, srv, http.MethodPost, "/purchase", purchaseBody, "fault-lost")
			outcomes[sim.Lost](t, a, err)
		}
		if after := count(); after != "12004" {
			t.Errorf("%s purchases", after)
		}
	})
}

// TestQuickBooksConcurrentWrites is for the race detector, and checks that nothing is
// written twice and no change is lost.
func TestQuickBooksConcurrentWrites(t *testing.T) {
	c := newCompany(t)
	p := c.save("/purchase", purchaseBody)
	const callers = 8
	var wg sync.WaitGroup
	var mu sync.Mutex
	won, created := 0, make(map[string]bool)
	for i := range callers {
		wg.Go(func() {
			update := `{"sparse":true,"Id":` + p.Get("Id").Raw + `,"SyncToken":"0","PaymentType":"CreditCard","PrivateNote":"by ` + strconv.Itoa(i) + `"}`
			a := c.books(http.MethodPost, "/purchase", update)
			repeated := c.books(http.MethodPost, "/purchase?requestid=same", purchaseBody)
			vendor := c.books(http.MethodPost, "/vendor", `{"DisplayName":"Vendor of caller `+strconv.Itoa(i)+`"}`)
			other := c.do(http.MethodGet, company+strconv.Itoa(i+1)+"/account/35", "", "Authorization", "Bearer demo")
			rows := c.books(http.MethodGet, "/query?query="+url.QueryEscape("select * from Purchase where PaymentType = 'CreditCard' orderby TxnDate desc maxresults 50"), "")
			if vendor.status != http.StatusOK || other.status != http.StatusOK || !gjson.Valid(rows.body) {
				t.Errorf("answered %d, %d, %.100s", vendor.status, other.status, rows.body)
			}
			mu.Lock()
			defer mu.Unlock()
			if a.status == http.StatusOK {
				won++
			}
			created[repeated.get("Purchase.Id").String()] = true
		})
	}
	wg.Wait()
	if won != 1 || len(created) != 1 {
		t.Errorf("%d updates of one version, %d purchases for one requestid", won, len(created))
	}
	if n := len(c.query("select * from Vendor where DisplayName like 'Vendor of caller%'")); n != callers {
		t.Errorf("%d vendors", n)
	}
}
