package telematics

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetgate/fleetgate/modules/internal/areatest"
	"github.com/fleetgate/fleetgate/providers/telematics"
)

// TestQuery checks what reaches the provider (contract 4.3 and 8).
func TestQuery(t *testing.T) {
	asked := func(change func(*telematics.Query)) func(*fakeProvider) error {
		want := telematics.Query{
			DateOption: "lastUpdatedDate", SortDirection: "desc", SortBy: "lastUpdatedDate",
			IncludeSubgroups: true, Limit: 1000,
		}
		if change != nil {
			change(&want)
		}
		return func(p *fakeProvider) error {
			if p.cred.APIKey != apiKey {
				return errors.New("the API key is another one")
			}
			if !reflect.DeepEqual(p.query, want) {
				return fmt.Errorf("query is %+v, want %+v", p.query, want)
			}
			return nil
		}
	}
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprintf("%08d-0000-4000-8000-000000000000", i))
	}
	list := func(ids ...string) []string { return ids }

	var scenarios []scenario
	for _, tc := range []struct {
		name, query string
		change      func(*telematics.Query)
	}{
		{"defaults", "", nil},
		{"unknown parameters", "?token=%00&limits=0&x&x", nil},
		{"parameters in other case", "?Limit=0&STATUS=x", nil},
		{"driver_ids one", "?driver_ids=d-1", func(q *telematics.Query) { q.DriverIDs = list("d-1") }},
		{"driver_ids several", "?driver_ids=d-2,d-1,%20d-2", func(q *telematics.Query) { q.DriverIDs = list("d-2", "d-1") }},
		{"driver_ids 100", "?driver_ids=" + strings.Join(many, ","), func(q *telematics.Query) { q.DriverIDs = many }},
		{"vehicle_ids one", "?vehicle_ids=v_1", func(q *telematics.Query) { q.VehicleIDs = list("v_1") }},
		{"vehicle_ids several", "?vehicle_ids=v-1%2Cv-2", func(q *telematics.Query) { q.VehicleIDs = list("v-1", "v-2") }},
		{"start_date", "?start_date=2024-02-29", func(q *telematics.Query) { q.Start = "2024-02-29" }},
		{"end_date", "?end_date=2026-12-31", func(q *telematics.Query) { q.End = "2026-12-31" }},
		{"one day", "?start_date=2026-01-01&end_date=2026-01-01", func(q *telematics.Query) { q.Start, q.End = "2026-01-01", "2026-01-01" }},
		{"page 1", "?page=1", func(q *telematics.Query) { q.Page = 1 }},
		{"page highest", "?page=1000000", func(q *telematics.Query) { q.Page = 1_000_000 }},
		{"dateOption default", "?dateOption=lastUpdatedDate", nil},
		{"dateOption other", "?dateOption=recordDate", func(q *telematics.Query) { q.DateOption = "recordDate" }},
		{"sortDirection default", "?sortDirection=desc", nil},
		{"sortDirection other", "?sortDirection=asc", func(q *telematics.Query) { q.SortDirection = "asc" }},
		{"sortBy default", "?sortBy=lastUpdatedDate", nil},
		{"sortBy other", "?sortBy=recordDate", func(q *telematics.Query) { q.SortBy = "recordDate" }},
		{"includeSubgroups default", "?includeSubgroups=true", nil},
		{"includeSubgroups other", "?includeSubgroups=false", func(q *telematics.Query) { q.IncludeSubgroups = false }},
		{"limit lowest", "?limit=1", func(q *telematics.Query) { q.Limit = 1 }},
		{"limit highest", "?limit=1000", nil},
		{"all at once", "?driver_ids=d&vehicle_ids=v&start_date=2026-01-01&end_date=2026-01-31&page=2&dateOption=recordDate&sortDirection=asc&sortBy=recordDate&includeSubgroups=false&limit=50", func(q *telematics.Query) {
			*q = telematics.Query{
				DriverIDs: list("d"), VehicleIDs: list("v"), Start: "2026-01-01", End: "2026-01-31", Page: 2,
				DateOption: "recordDate", SortDirection: "asc", SortBy: "recordDate", Limit: 50,
			}
		}},
	} {
		scenarios = append(scenarios, scenario{
			Name: "ok/" + tc.name, Target: path + tc.query, WantCalls: 1, WantBody: emptyList, Check: asked(tc.change),
		})
	}
	run(t, scenarios)
}

// TestMalformedQuery sends each parameter in each wrong form.
func TestMalformedQuery(t *testing.T) {
	long := strings.Repeat("1", 10_000)
	var ids []string
	for i := range 101 {
		ids = append(ids, strconv.Itoa(i))
	}
	tooMany := strings.Join(ids, ",")
	everywhere := []string{"", "%00", "a%0ab", "%ff", "%c2%85", long, "'", "%20", "$(x)", "../x"}
	forms := map[string][]string{
		"driver_ids":       {tooMany, "a,,b", ",", "a,", "a;b", "a%2Fb", strings.Repeat("a", 65)},
		"vehicle_ids":      {tooMany, "a,,b", ",", "a,", "a%26b=c", strings.Repeat("a", 65)},
		"start_date":       {"2026-02-30", "2025-02-29", "2026-13-01", "2026-00-10", "2026-1-1", "26-01-01", "2026-01-01T00:00:00Z", "01/02/2026", "today"},
		"end_date":         {"2026-02-30", "2026-04-31", "2026-01-32", "2026-01-1", "20260101", "-2026-01-01"},
		"page":             {"0", "-1", "%2B5", "+5", "05", "1e3", "abc", "1.0", "1000001", "99999999999999999999"},
		"dateOption":       {"lastupdateddate", "eventDate", "recordDate,lastUpdatedDate"},
		"sortDirection":    {"ASC", "Desc", "up", "1"},
		"sortBy":           {"RecordDate", "id", "speed"},
		"includeSubgroups": {"TRUE", "True", "1", "0", "yes", "null"},
		"limit":            {"0", "1001", "-1", "%2B5", "+5", "05", "1e3", "abc", "0x10", "1_0", "99999999999999999999"},
	}
	var scenarios []scenario
	for name, wrong := range forms {
		for _, form := range append(wrong, everywhere...) {
			message := name + " is invalid"
			if strings.Contains(form, ";") {
				message = "query is invalid"
			}
			scenarios = append(scenarios, scenario{
				Name: "fail/" + name + "=" + form[:min(len(form), 24)], Target: path + "?" + name + "=" + form,
				WantStatus: 400, WantCode: "invalid_request", WantBody: failure(message),
			})
		}
		scenarios = append(scenarios, scenario{
			Name: "fail/" + name + " twice", Target: path + "?" + name + "=1&" + name + "=1",
			WantStatus: 400, WantCode: "invalid_request", WantBody: failure(name + " is invalid"),
		})
	}
	scenarios = append(
		scenarios,
		scenario{
			Name: "fail/end before start", Target: path + "?start_date=2026-02-02&end_date=2026-02-01",
			WantStatus: 400, WantCode: "invalid_request", WantBody: failure("end_date is invalid"),
		},
		scenario{
			Name: "fail/half an escape", Target: path + "?limit=%2",
			WantStatus: 400, WantCode: "invalid_request", WantBody: failure("query is invalid"),
		},
		scenario{
			Name: "fail/no escape", Target: path + "?x=%zz",
			WantStatus: 400, WantCode: "invalid_request", WantBody: failure("query is invalid"),
		},
		scenario{
			Name:       "fail/several problems",
			Target:     path + "?limit=0&page=0&start_date=2026-02-30&driver_ids=&sortBy=" + areatest.Secret,
			WantStatus: 400, WantCode: "invalid_request",
			WantBody: `{"status":"Error","message":"driver_ids is invalid","data":{"errors":[` +
				`{"field":"driver_ids","message":"driver_ids is invalid"},{"field":"page","message":"page is invalid"},` +
				`{"field":"sortBy","message":"sortBy is invalid"},{"field":"limit","message":"limit is invalid"},` +
				`{"field":"start_date","message":"start_date is invalid"}]}}`,
		},
	)
	run(t, scenarios)
}
