package sandbox

import (
	"encoding/csv"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

func (c client) fleetrockToken() string {
	c.t.Helper()
	a := c.do(http.MethodGet, "/fleetrock/API/GetToken?username=fleet&key=demo", "")
	a.expect(c.t, http.StatusOK, "")
	token := a.get("token").String()
	if !regexp.MustCompile(`^\{"token":"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"\}$`).MatchString(a.body) {
		c.t.Fatalf("login answered %s", a.body)
	}
	return token
}

func (c client) fleetrock(token, query string) answer {
	c.t.Helper()
	return c.do(http.MethodGet, "/fleetrock/API/GetRO?username=fleet&token="+token+"&"+query, "")
}

func fleetrockError(message string) string {
	return `{"result":"error","message":"` + message + `"}`
}

func TestFleetrockOrdersLookRecorded(t *testing.T) {
	c := newClient(t, Options{})
	a := c.fleetrock(c.fleetrockToken(), "")
	valid(t, a)
	rows := a.get("repair_orders").Array()
	want := recording(t, "fleetrock/getro_200.json").Get("repair_orders.0")
	byLevel := map[string][]string{}
	for _, row := range rows {
		if !slices.Equal(keys(row), keys(want)) {
			t.Fatalf("members %q\nwant %q", keys(row), keys(want))
		}
		for level, v := range map[string]gjson.Result{"note": row.Get("notes.0"), "task": row.Get("tasks.0"), "part": row.Get("tasks.0.parts.0")} {
			if v.Exists() {
				byLevel[level] = keys(v)
			}
		}
	}
	for level, path := range map[string]string{"task": "tasks.0", "part": "tasks.0.parts.0"} {
		if !slices.Equal(byLevel[level], keys(want.Get(path))) {
			t.Errorf("%s has the members %q, want %q", level, byLevel[level], keys(want.Get(path)))
		}
	}

	f, err := os.Open(filepath.Join("..", "..", "..", "shared", "recordings", "fleetrock", "repair_order_fields.csv"))
	if err != nil {
		t.Skip("the recordings are not beside the repository")
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	fields, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	byLevel["repair_order"] = keys(rows[0])
	for _, field := range fields[1:] {
		if !slices.Contains(byLevel[field[0]], field[1]) {
			t.Errorf("%s has no %s", field[0], field[1])
		}
	}
}

func TestFleetrockOrders(t *testing.T) {
	c := newClient(t, Options{})
	rows := c.fleetrock(c.fleetrockToken(), "").get("repair_orders").Array()
	ids := make(map[string]gjson.Result)
	var twice, numeric, empty, unequal int
	for _, row := range rows {
		id := row.Get("id").String()
		if first, ok := ids[id]; ok {
			twice++
			if first.Get("group").String() == row.Get("group").String() || first.Get("grand_total").Raw != row.Get("grand_total").Raw {
				t.Errorf("order %s is seen twice as %s", id, row)
			}
		}
		ids[id] = row
		if created, err := time.Parse("1/2/2006 3:04:05 PM", row.Get("date_created").String()); err != nil ||
			created.Format("1/2/2006 3:04:05 PM") != row.Get("date_created").String() || created.After(newClock().Now()) {
			t.Errorf("created on %s", row.Get("date_created"))
		}
		total := row.Get("grand_total")
		switch {
		case total.Type == gjson.Number:
			numeric++
			if _, cents, _ := strings.Cut(total.Raw, "."); len(cents) != 2 {
				t.Errorf("total %s", total.Raw)
			}
			sum := rational(t, row, "labor_total")
			sum.Add(sum, rational(t, row, "part_total")).Add(sum, rational(t, row, "additional_charges"))
			if sum.Cmp(rational(t, row, "grand_total")) != 0 {
				unequal++
			}
		case total.String() == "":
			empty++
		}
	}
	if len(ids) != 600 || twice != 24 || len(rows) != 624 || numeric < 80 || empty != 1 || unequal == 0 || unequal > 10 {
		t.Errorf("%d orders in %d rows, %d twice, %d numeric, %d empty, %d unequal", len(ids), len(rows), twice, numeric, empty, unequal)
	}
}

func TestFleetrockFilters(t *testing.T) {
	c := newClient(t, Options{})
	token := c.fleetrockToken()
	all := c.fleetrock(token, "").get("repair_orders").Array()
	between := func(field, from, to string) func(gjson.Result) bool {
		first, _ := time.Parse(time.DateTime, from)
		last, _ := time.Parse(time.DateTime, to)
		return func(row gjson.Result) bool {
			at, err := time.Parse("1/2/2006 3:04:05 PM", row.Get(field).String())
			return err == nil && !at.Before(first) && !at.After(last)
		}
	}
	status := func(text string) func(gjson.Result) bool {
		return func(row gjson.Result) bool { return row.Get("status").String() == text }
	}
	and := func(a, b func(gjson.Result) bool) func(gjson.Result) bool {
		return func(row gjson.Result) bool { return a(row) && b(row) }
	}
	september := between("date_created", "2026-09-01 00:00:00", "2026-09-30 23:59:59")
	for _, tc := range []struct {
		query string
		keep  func(gjson.Result) bool
	}{
		{"status=notstarted", status("Not Started")},
		{"status=waiting", status("Waiting")},
		{"status=inprogress", status("In Progress")},
		{"status=started", status("In Progress")},
		{"status=finished", status("Finished")},
		{"status=Invoiced", status("Invoiced")},
		{"status=paid", status("Paid")},
		{"status=deleted", status("Deleted")},
		{"start=2026-09-01&end=2026-09-30", september},
		{"START=2026-09-01&End=2026-09-30", september},
		{"start=2026-09-01", september},
		{"start=2026-09-01&end=2026-09-30&event=Created", september},
		{"start=2026-09-01&end=2026-09-30&status=paid", and(september, status("Paid"))},
		{"event=paid&start=2026-09-01&end=2026-09-30", between("date_invoice_paid", "2026-09-01 00:00:00", "2026-09-30 23:59:59")},
		{"event=invoiced&start=2026-08-05T13:00:00.123Z&end=2026-09-05T13:00:00Z", between("date_invoiced", "2026-08-05 13:00:01", "2026-09-05 13:00:00")},
		{"event=started&start=2026-08-05&end=2026-09-04", between("date_started", "2026-08-05 00:00:00", "2026-09-04 23:59:59")},
		{"event=finished", func(row gjson.Result) bool { return row.Get("date_finished").String() != "" }},
		{"id=" + all[40].Get("id").String(), func(row gjson.Result) bool { return row.Get("id").String() == all[40].Get("id").String() }},
	} {
		t.Run("ok/"+tc.query, func(t *testing.T) {
			var want, got []string
			for _, row := range all {
				if tc.keep(row) {
					want = append(want, row.Raw)
				}
			}
			a := c.fleetrock(token, tc.query)
			valid(t, a)
			for _, row := range a.get("repair_orders").Array() {
				got = append(got, row.Raw)
			}
			if len(want) == 0 || len(want) == len(all) || !slices.Equal(got, want) {
				t.Errorf("%d rows, want %d", len(got), len(want))
			}
		})
	}
	for _, event := range []string{"updated", "closed", "received"} {
		t.Run("ok/event "+event, func(t *testing.T) {
			if n := c.fleetrock(token, "start=2026-08-15&end=2026-09-14&event="+event).get("repair_orders.#").Int(); n == 0 || n > 400 {
				t.Errorf("%d rows", n)
			}
		})
	}
	t.Run("ok/nothing matches", func(t *testing.T) {
		c.fleetrock(token, "start=2020-01-01&end=2020-01-31").expect(t, http.StatusOK, `{"repair_orders":[]}`)
	})
	t.Run("ok/everything up to an end", func(t *testing.T) {
		var want []string
		for _, row := range all {
			if between("date_created", "2000-01-01 00:00:00", "2026-07-31 23:59:59")(row) {
				want = append(want, row.Raw)
			}
		}
		var got []string
		for _, row := range c.fleetrock(token, "end=2026-07-31").get("repair_orders").Array() {
			got = append(got, row.Raw)
		}
		if len(want) < 100 || !slices.Equal(got, want) {
			t.Errorf("%d rows, want %d", len(got), len(want))
		}
	})
	t.Run("ok/months add up", func(t *testing.T) {
		rows := 0
		for _, month := range []string{"start=2026-07-01&end=2026-07-31", "start=2026-08-01&end=2026-08-31", "start=2026-09-01&end=2026-09-30"} {
			rows += int(c.fleetrock(token, month).get("repair_orders.#").Int())
		}
		if rows != len(all)-int(c.fleetrock(token, "start=2026-06-01&end=2026-06-30").get("repair_orders.#").Int()) || rows < 500 {
			t.Errorf("%d rows", rows)
		}
	})
	for query, message := range map[string]string{
		"start=2026-08-01&end=2026-09-02":            "Date range cannot exceed one month.",
		"start=2026-06-01":                           "Date range cannot exceed one month.",
		"end=2026-09-32":                             "Invalid end date.",
		"start=9/1/2026&end=2026-09-02":              "Invalid start date.",
		"start=2026-09-01&end=2026-09-31":            "Invalid end date.",
		"start=2026-09-01T00:00:00-05:00":            "Invalid start date.",
		"status=done":                                "Invalid status.",
		"event=lost&start=2026-09-01&end=2026-09-02": "Invalid event.",
	} {
		t.Run("fail/"+query, func(t *testing.T) {
			c.fleetrock(token, query).expect(t, http.StatusOK, fleetrockError(message))
		})
	}
}

func TestFleetrockSession(t *testing.T) {
	clock := newClock()
	c := newClient(t, Options{Now: clock.Now})
	for _, query := range []string{"username=fleet&key=invalid", "username=fleet&key=invalid-key", "username=fleet", "key=demo", ""} {
		t.Run("fail/"+query, func(t *testing.T) {
			c.do(http.MethodGet, "/fleetrock/API/GetToken?"+query, "").expect(t, http.StatusOK, fleetrockError("Invalid username or key."))
		})
	}
	token := c.fleetrockToken()
	t.Run("ok/parameters in capitals", func(t *testing.T) {
		a := c.do(http.MethodGet, "/fleetrock/API/GetRO?"+url.Values{"USERNAME": {"fleet"}, "Token": {token}, "ID": {"3841016"}}.Encode(), "")
		if a.get("repair_orders.#").Int() == 0 {
			t.Errorf("body %.200s", a.body)
		}
	})
	t.Run("fail/token of another user", func(t *testing.T) {
		c.do(http.MethodGet, "/fleetrock/API/GetRO?username=other&token="+token, "").expect(t, http.StatusOK, fleetrockError("Invalid token."))
	})
	t.Run("fail/unknown token", func(t *testing.T) {
		c.fleetrock("00000000-0000-4000-8000-000000000001", "").expect(t, http.StatusOK, fleetrockError("Invalid token."))
	})
	t.Run("fail/as recorded", func(t *testing.T) {
		if got, want := c.fleetrock("x", "").body, strings.TrimSpace(recording(t, "fleetrock/error_in_body.json").Raw); got != want {
			t.Errorf("body %s, want %s", got, want)
		}
	})
	t.Run("ok/raw key as a token", func(t *testing.T) {
		raw := func(token string, headers ...string) answer {
			return c.do(http.MethodGet, "/fleetrock/API/GetRO?username=rawkey-tenant&id=3841016&token="+token, "", headers...)
		}
		if a := raw("demo"); a.get("repair_orders.#").Int() == 0 {
			t.Errorf("body %.200s", a.body)
		}
		login := c.do(http.MethodGet, "/fleetrock/API/GetToken?username=rawkey-tenant&key=demo", "").get("token").String()
		for _, token := range []string{login, "", "invalid"} {
			raw(token).expect(t, http.StatusOK, fleetrockError("Invalid token."))
		}
		raw("demo", faultHeader, "drop_session").expect(t, http.StatusOK, fleetrockError("Invalid token."))
		raw("fault-forbidden").expect(t, http.StatusForbidden, fleetrockError("Forbidden."))
		c.fleetrock("demo", "").expect(t, http.StatusOK, fleetrockError("Invalid token."))
	})
	t.Run("fail/expired", func(t *testing.T) {
		clock.Advance(10*time.Minute - time.Second)
		if a := c.fleetrock(token, "id=3841016"); a.get("repair_orders.#").Int() == 0 {
			t.Errorf("the session ended early: %.200s", a.body)
		}
		clock.Advance(time.Second)
		c.fleetrock(token, "id=3841016").expect(t, http.StatusOK, fleetrockError("Invalid token."))
	})
	t.Run("fail/method and path", func(t *testing.T) {
		a := c.do(http.MethodPost, "/fleetrock/API/GetToken", "")
		a.expect(t, http.StatusMethodNotAllowed, fleetrockError("Method Not Allowed."))
		if a.header.Get("Allow") != "GET" {
			t.Errorf("Allow %q", a.header.Get("Allow"))
		}
		c.do(http.MethodGet, "/fleetrock/API/GetPO", "").expect(t, http.StatusNotFound, fleetrockError("Not Found."))
	})
}
