package sandbox

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

const eventsPath = "/video/safety/eventsWithMetadata"

// allEvents pages through the events that match a query.
func allEvents(t *testing.T, c client, query string) []gjson.Result {
	t.Helper()
	var rows []gjson.Result
	for page := 1; ; page++ {
		a := c.lytx(fmt.Sprintf("%s?page=%d&%s", eventsPath, page, query))
		if a.status == http.StatusNoContent {
			return rows
		}
		a.expect(t, http.StatusOK, "")
		valid(t, a)
		rows = append(rows, gjson.Parse(a.body).Array()...)
	}
}

func TestLytxEventsLookRecorded(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	recorded := recording(t, "lytx/video_safety_eventsWithMetadata.limit50.json").Array()
	rows := allEvents(t, c, "")

	number := regexp.MustCompile(`^-?\d+(\.\d+)?$`)
	invented := make(map[string]bool)
	for _, row := range rows {
		if got, want := keys(row), keys(recorded[0]); !slices.Equal(got, want) {
			t.Fatalf("members %q\nwant %q", got, want)
		}
		invented[row.Get("id").String()] = true
	}
	for _, name := range []string{"overDue", "forwardMax", "lateralMax", "forwardThreshold", "latitude", "longitude", "heading"} {
		_, want, _ := strings.Cut(recorded[0].Get(name).Raw, ".")
		for _, row := range rows[:200] {
			raw := row.Get(name).Raw
			if _, decimals, _ := strings.Cut(raw, "."); raw != "739161.0" && len(decimals) != len(want) || !number.MatchString(raw) {
				t.Fatalf("%s is spelled %s, recorded as %s", name, raw, recorded[0].Get(name).Raw)
			}
		}
	}
	for _, name := range []string{"notes.0", "reviewNotes.0", "behaviors.0"} {
		if got, want := firstShape(rows, name), firstShape(recorded, name); got != want {
			t.Errorf("%s has the shape %s, recorded as %s", name, got, want)
		}
	}
	for _, row := range recorded {
		if invented[row.Get("id").String()] {
			t.Errorf("recorded event %s is not invented", row.Get("id"))
		}
	}
}

// firstShape is the shape of the first value at a path.
func firstShape(rows []gjson.Result, path string) string {
	for _, row := range rows {
		if v := row.Get(path); v.Exists() {
			return shape(v)
		}
	}
	return ""
}

func TestLytxEventsPeculiarities(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	rows := allEvents(t, c, "")
	var unassigned, nullVehicle, notReviewed, fraction, trimmed int
	for _, row := range rows {
		if row.Get("driverId").String() == "00000000-0000-0000-0000-000000000000" {
			unassigned++
		}
		if row.Get("vehicleId").Type == gjson.Null {
			nullVehicle++
		}
		if row.Get("reviewedDate").Type == gjson.Null {
			notReviewed++
		}
		if !strings.HasSuffix(row.Get("recordDateTZ").String(), " ") {
			t.Fatal("recordDateTZ lacks the trailing blank")
		}
		_, digits, _ := strings.Cut(row.Get("revisionDate").String(), ".")
		switch digits = strings.TrimSuffix(digits, "Z"); {
		case strings.HasSuffix(digits, "0"):
			t.Fatalf("trailing zero in %s", row.Get("revisionDate"))
		case len(digits) == 7:
			fraction++
		case len(digits) < 7:
			trimmed++
		}
		for _, name := range []string{"recordDateUTC", "revisionDate"} {
			at, err := time.Parse(time.RFC3339Nano, row.Get(name).String())
			if err != nil || at.After(newClock().Now()) || at.Before(newClock().Now().AddDate(0, 0, -62)) {
				t.Fatalf("%s is %s", name, row.Get(name))
			}
		}
	}
	if unassigned < 2000 || unassigned > 3500 || nullVehicle != 1 || notReviewed < 300 || fraction < 4000 || trimmed < 100 {
		t.Errorf("unassigned %d, without vehicle %d, not reviewed %d, seven digits %d, fewer %d", unassigned, nullVehicle, notReviewed, fraction, trimmed)
	}
}

func TestLytxOrphans(t *testing.T) {
	c := newClient(t, Options{})
	known := map[string]map[string]bool{"eventTriggerId": {}, "eventStatusId": {}, "vehicleId": {}}
	for _, row := range gjson.Parse(c.lytx("/video/safety/events/triggers").body).Array() {
		known["eventTriggerId"][row.Get("id").Raw] = true
	}
	for _, row := range gjson.Parse(c.lytx("/video/safety/events/statuses").body).Array() {
		known["eventStatusId"][row.Get("id").Raw] = true
	}
	for _, row := range c.lytx("/video/vehicles?PageSize=1000").get("vehicles").Array() {
		known["vehicleId"][row.Get("dcVehicleId").Raw] = true
	}
	if len(known["eventTriggerId"]) != 31 || len(known["eventStatusId"]) != 7 || len(known["vehicleId"]) != 800 {
		t.Fatalf("catalogs have %d triggers, %d statuses, %d vehicles",
			len(known["eventTriggerId"]), len(known["eventStatusId"]), len(known["vehicleId"]))
	}
	missing := make(map[string]int)
	for i, row := range allEvents(t, c, "") {
		for name, ids := range known {
			if !ids[row.Get(name).Raw] {
				missing[name]++
				if i < 1000 {
					t.Errorf("event %d lacks its %s", i, name)
				}
			}
		}
	}
	if want := (map[string]int{"eventTriggerId": 10, "eventStatusId": 5, "vehicleId": 5}); fmt.Sprint(missing) != fmt.Sprint(want) {
		t.Errorf("lacking %v, want %v", missing, want)
	}
}

func TestLytxEventsPaging(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	for _, tc := range []struct {
		query, field string
		descending   bool
	}{
		{"", "revisionDate", true},
		{"limit=1000&sortBy=recordDate", "recordDateUTC", true},
		{"limit=333&sortDirection=asc", "revisionDate", false},
		{"limit=999&sortBy=recordDate&sortDirection=asc", "recordDateUTC", false},
	} {
		t.Run("ok/"+tc.query, func(t *testing.T) {
			rows := allEvents(t, c, tc.query)
			if len(rows) != 5000 {
				t.Errorf("%d events", len(rows))
			}
			seen := make(map[string]bool)
			var last time.Time
			for i, row := range rows {
				if id := row.Get("id").String(); seen[id] {
					t.Fatalf("%s came twice", id)
				} else {
					seen[id] = true
				}
				at, err := time.Parse(time.RFC3339Nano, row.Get(tc.field).String())
				if err != nil {
					t.Fatal(err)
				}
				if i > 0 && !at.Equal(last) && at.After(last) == tc.descending {
					t.Fatalf("%s follows %s", at, last)
				}
				last = at
			}
		})
	}
}

func TestLytxEventsFilters(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{})
	all := allEvents(t, c, "")
	sample := all[slices.IndexFunc(all, func(r gjson.Result) bool { return r.Get("driverEmployeeNum").String() != "" })]
	id := func(name string) string { return sample.Get(name).String() }
	within := func(field, from, to string) func(gjson.Result) bool {
		first, _ := time.Parse(time.RFC3339Nano, from)
		last, _ := time.Parse(time.RFC3339Nano, to)
		return func(row gjson.Result) bool {
			at, _ := time.Parse(time.RFC3339Nano, row.Get(field).String())
			return !at.Before(first) && !at.After(last)
		}
	}
	for _, tc := range []struct {
		name, query string
		keep        func(gjson.Result) bool
	}{
		{"driver", "driverId=" + id("driverId"), func(r gjson.Result) bool { return r.Get("driverId").String() == id("driverId") }},
		{"vehicle in capitals", "vehicleId=" + strings.ToUpper(id("vehicleId")), func(r gjson.Result) bool { return r.Get("vehicleId").String() == id("vehicleId") }},
		{"device", "deviceId=" + id("erSerialNumber"), func(r gjson.Result) bool { return r.Get("erSerialNumber").String() == id("erSerialNumber") }},
		{"group", "groupId=" + id("groupId"), func(r gjson.Result) bool { return r.Get("groupId").String() == id("groupId") }},
		{"triggers", "triggers=30&triggers=2001", func(r gjson.Result) bool {
			return r.Get("eventTriggerId").Int() == 30 || r.Get("eventTriggerId").Int() == 2001
		}},
		{"statuses", "statuses=1", func(r gjson.Result) bool { return r.Get("eventStatusId").Int() == 1 }},
		{"behaviors", "behaviors=68", func(r gjson.Result) bool { return r.Get("behaviors.0.id").Int() == 68 }},
		{"window by update", "from=2026-09-01T00:00:00.00Z&to=2026-09-07T23:59:59.99Z", within("revisionDate", "2026-09-01T00:00:00.00Z", "2026-09-07T23:59:59.99Z")},
		{"window by recording", "dateOption=recordDate&from=2026-09-01T00:00:00.00Z&to=2026-09-07T23:59:59.99Z", within("recordDateUTC", "2026-09-01T00:00:00.00Z", "2026-09-07T23:59:59.99Z")},
		{"zone", "from=2026-09-20T00:00:00.0%2B02:00", within("revisionDate", "2026-09-19T22:00:00Z", "2027-01-01T00:00:00Z")},
	} {
		t.Run("ok/"+tc.name, func(t *testing.T) {
			var want []string
			for _, row := range all {
				if tc.keep(row) {
					want = append(want, row.Get("id").String())
				}
			}
			var got []string
			for _, row := range allEvents(t, c, tc.query) {
				got = append(got, row.Get("id").String())
			}
			if len(want) == 0 || len(want) == len(all) || !slices.Equal(got, want) {
				t.Errorf("%d events, want %d", len(got), len(want))
			}
		})
	}
	t.Run("ok/nothing matches", func(t *testing.T) {
		a := c.lytx(eventsPath + "?from=2026-09-07T00:00:00.00Z&to=2026-09-01T00:00:00.00Z")
		a.expect(t, http.StatusNoContent, "")
		if a.body != "" || a.header.Get("Content-Type") != "" {
			t.Errorf("body %q of type %q", a.body, a.header.Get("Content-Type"))
		}
	})
	t.Run("ok/ids only", func(t *testing.T) {
		a := c.lytx("/video/safety/events?limit=10&page=2")
		if a.get("totalCount").Int() != 5000 || a.get("eventsIds.#").Int() != 10 || a.get("eventsIds.0").String() != all[10].Get("id").String() {
			t.Errorf("body %.300s", a.body)
		}
	})
}

func TestLytxRefusals(t *testing.T) {
	c := newClient(t, Options{})
	const title = `,"type":null,"title":"One or more validation errors occurred.","status":400,"detail":null,"instance":null,"extensions":{}}`
	for _, tc := range []struct{ target, body string }{
		{eventsPath + "?from=2026-09-01&to=2026-09-02", `{"errors":{"to":["Invalid date format."],"from":["Invalid date format."]}` + title},
		{eventsPath + "?from=2026-09-01T00:00:00Z", `{"errors":{"from":["Invalid date format."]}` + title},
		{eventsPath + "?from=2026-09-01T00:00:00.00", `{"errors":{"from":["Invalid date format."]}` + title},
		{eventsPath + "?from=2026-02-30T00:00:00.00Z", `{"errors":{"from":["Invalid date format."]}` + title},
		{eventsPath + "?limit=0", `{"errors":{"limit":["The field Limit must be between 1 and 1000."]}` + title},
		{eventsPath + "?limit=1001", `{"errors":{"limit":["The field Limit must be between 1 and 1000."]}` + title},
		{eventsPath + "?limit=many", `{"errors":{"limit":["The value is not valid for Limit."]}` + title},
		{eventsPath + "?page=0", `{"errors":{"page":["The field Page must be between 1 and 2147483647."]}` + title},
		{eventsPath + "?driverId=7f3b0c1e-0000-4000-8000-000000000001,7f3b0c1e-0000-4000-8000-000000000002", `{"errors":{"driverId":["The value is not valid for DriverId."]}` + title},
		{eventsPath + "?sortBy=score&sortDirection=up", `{"errors":{"sortDirection":["The value is not valid for SortDirection."],"sortBy":["The value is not valid for SortBy."]}` + title},
		{eventsPath + "?triggers=30,18", `{"errors":{"triggers":["The value is not valid for Triggers."]}` + title},
		{eventsPath + "?deviceId=" + strings.Repeat("x", 51), `{"errors":{"deviceId":["The value is not valid for DeviceId."]}` + title},
		{"/vehicles/all?includeSubgroups=perhaps", `{"errors":{"includeSubgroups":["The value is not valid for IncludeSubgroups."]}` + title},
		{"/vehicles/all?limit=1001", `{"errors":{"limit":["The field Limit must be between 1 and 1000."]}` + title},
		{"/video/vehicles?PageSize=all", `{"errors":{"pageSize":["The value is not valid for PageSize."]},"title":"One or more validation errors occurred.","status":400,"extensions":{}}`},
	} {
		t.Run("fail/"+tc.target, func(t *testing.T) { c.lytx(tc.target).expect(t, http.StatusBadRequest, tc.body) })
	}
	for _, key := range []string{"", "invalid", "invalid-key"} {
		t.Run("fail/key "+key, func(t *testing.T) {
			c.do(http.MethodGet, "/lytx"+eventsPath, "", "X-APIKey", key).expect(t, http.StatusUnauthorized, `{"message":"Unauthorized"}`)
		})
	}
	for _, call := range [][2]string{{"GET", "/lytx/api/v1/events"}, {"GET", "/lytx"}, {"POST", "/lytx" + eventsPath}} {
		t.Run("fail/"+call[0]+" "+call[1], func(t *testing.T) {
			c.do(call[0], call[1], "", "X-APIKey", "demo").expect(t, http.StatusNotFound, `{"message":"no Route matched with those values"}`)
		})
	}
}

func TestLytxRefusalsLookRecorded(t *testing.T) {
	c := newClient(t, Options{})
	for file, target := range map[string]string{
		"lytx/error_400_safety_dates.json":   eventsPath + "?from=x&to=x",
		"lytx/error_400_vehicles_all.json":   "/vehicles/all?includeSubgroups=x",
		"lytx/error_400_video_vehicles.json": "/video/vehicles?PageSize=x",
		"lytx/error_404_no_route.json":       "/nowhere",
	} {
		t.Run("ok/"+file, func(t *testing.T) {
			if got, want := c.lytx(target).body, strings.TrimSpace(recording(t, file).Raw); got != want {
				t.Errorf("body %s\nwant %s", got, want)
			}
		})
	}
}

func TestDataDependsOnSeedAndDay(t *testing.T) {
	t.Parallel()
	later := newClock()
	later.Advance(12 * time.Hour) // the same day of UTC
	tomorrow := newClock()
	tomorrow.Advance(24 * time.Hour)
	first := newClient(t, Options{}).lytx(eventsPath + "?limit=5").body
	if got := newClient(t, Options{Seed: 1, Now: later.Now}).lytx(eventsPath + "?limit=5").body; got != first {
		t.Error("the same seed gave other events on the same day")
	}
	if got := newClient(t, Options{Seed: 2}).lytx(eventsPath + "?limit=5").body; got == first {
		t.Error("another seed gave the same events")
	}
	c := newClient(t, Options{Now: tomorrow.Now})
	next := c.lytx(eventsPath + "?limit=5")
	if next.body == first || next.get("#.id").Raw != gjson.Get(first, "#.id").Raw {
		t.Errorf("next day's events are %s", next.get("#.id"))
	}
	tomorrow.Advance(24 * time.Hour)
	if again := c.lytx(eventsPath + "?limit=5").body; again == next.body {
		t.Error("the data of a running simulator stayed behind at midnight")
	}
}
