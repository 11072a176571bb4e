package lytx

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/telematics"
)

var (
	good = telematics.Credential{APIKey: goodKey}

	// plain is what a caller without parameters asks for.
	plain = telematics.Query{
		DateOption: telematics.FieldLastUpdated, SortBy: telematics.FieldLastUpdated, SortDirection: telematics.Descending,
		IncludeSubgroups: true, Limit: 1000,
	}
)

// ids returns the ids of the events in their order.
func ids(t require, body []byte) []string {
	t.Helper()
	if len(body) == 0 {
		return nil
	}
	var events []struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(body, &events); err != nil {
		t.Fatalf("the events are no JSON: %v", err)
	}
	list := make([]string, len(events))
	for i, e := range events {
		list[i] = e.ID
	}
	return list
}

// require is what tests and property tests have in common.
type require interface {
	Helper()
	Fatalf(format string, args ...any)
}

func wantError(t *testing.T, err error, kind providers.Kind, message string) *providers.Error {
	t.Helper()
	pe, ok := errors.AsType[*providers.Error](err)
	if !ok {
		t.Fatalf("error is %T (%v), want *providers.Error", err, err)
	}
	if pe.Kind != kind || pe.Message != message {
		t.Errorf("error is %v %q, want %v %q", pe.Kind, pe.Message, kind, message)
	}
	return pe
}

func TestEventsQuery(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(q *telematics.Query)
		want   map[string]string // besides the defaults; empty stands for absent
	}{
		{"ok/defaults", func(*telematics.Query) {}, nil},
		{"ok/dates", func(q *telematics.Query) { q.Start, q.End = "2026-02-28", "2026-03-01" }, map[string]string{
			"from": "2026-02-28T00:00:00.00Z", "to": "2026-03-01T23:59:59.99Z",
		}},
		{"ok/start only", func(q *telematics.Query) { q.Start = "2026-02-28" }, map[string]string{"from": "2026-02-28T00:00:00.00Z"}},
		{"ok/end only", func(q *telematics.Query) { q.End = "2026-02-28" }, map[string]string{"to": "2026-02-28T23:59:59.99Z"}},
		{"ok/one driver", func(q *telematics.Query) { q.DriverIDs = []string{driverID(1)} }, map[string]string{"driverId": driverID(1)}},
		{"ok/one vehicle", func(q *telematics.Query) { q.VehicleIDs = []string{vehicleID(1)} }, map[string]string{"vehicleId": vehicleID(1)}},
		{"ok/both", func(q *telematics.Query) { q.DriverIDs, q.VehicleIDs = []string{driverID(1)}, []string{vehicleID(2)} }, map[string]string{
			"driverId": driverID(1), "vehicleId": vehicleID(2),
		}},
		{"ok/the same driver twice", func(q *telematics.Query) { q.DriverIDs = []string{driverID(1), driverID(1)} }, map[string]string{"driverId": driverID(1)}},
		{"ok/page", func(q *telematics.Query) { q.Page, q.Limit = 7, 3 }, map[string]string{"page": "7", "limit": "3"}},
		{"ok/options", func(q *telematics.Query) {
			q.DateOption, q.SortBy, q.SortDirection, q.IncludeSubgroups = telematics.FieldRecorded, telematics.FieldRecorded, telematics.Ascending, false
		}, map[string]string{"dateOption": "recordDate", "sortBy": "recordDate", "sortDirection": "asc", "includeSubgroups": "false"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newService(t)
			p := open(t, s)
			q := plain
			tc.change(&q)
			answer, err := p.Events(t.Context(), good, q)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{
				"dateOption": "lastUpdatedDate", "sortBy": "lastUpdatedDate", "sortDirection": "desc", "includeSubgroups": "true", "limit": "1000",
			}
			maps.Copy(want, tc.want)
			calls := s.queries(pathEvents)
			if len(calls) != 1 {
				t.Fatalf("%d calls, want 1", len(calls))
			}
			got := make(map[string]string)
			for name := range calls[0] {
				got[name] = calls[0].Get(name)
			}
			if !maps.Equal(got, want) {
				t.Errorf("the query is %v, want %v", got, want)
			}
			if answer.Fields.Vehicle != "vehicleId" || answer.Fields.Trigger != "eventTriggerId" || answer.Fields.Status != "eventStatusId" ||
				!slices.Equal(answer.Fields.EventDate, []string{"recordDateUTC"}) || !slices.Equal(answer.Fields.LastUpdated, []string{"revisionDate", "creationDate"}) {
				t.Errorf("the fields are %+v", answer.Fields)
			}
		})
	}
}

// The bytes of a single call are the provider's own, zeros at the end of numbers included.
func TestEventsAreNotTouched(t *testing.T) {
	const body = " [ {\"id\" : \"a\", \"speed\":16.1000, \"n\":12345678901234567890, \"x\":{\"\\u0079\":null}} ]\n"
	s := newService(t)
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, body)
		return true
	}
	answer, err := open(t, s).Events(t.Context(), good, plain)
	if err != nil || string(answer.Body) != body {
		t.Errorf("got %q, %v", answer.Body, err)
	}
}

func TestEventsFailures(t *testing.T) {
	for _, tc := range []struct {
		name    string
		status  int
		body    string
		kind    providers.Kind
		message string
	}{
		{"fail/key", 401, `{"message":"Unauthorized"}`, providers.KindAuth, "Unauthorized"},
		{"fail/key echoed", 401, `{"message":"no consumer for c0ffee00-key&good"}`, providers.KindAuth, "no consumer for ***"},
		{"fail/key echoed, escaped", 400, `{"title":"Bad call.","errors":{"key":["?key=c0ffee00-key%26good"]}}`, providers.KindRejected, "Bad call. key: ?key=***"},
		{"fail/validation", 400, `{"errors":{"to":["Invalid date format."],"from":["Not this."]},"type":null,"title":"One or more validation errors occurred.","status":400}`, providers.KindRejected, "One or more validation errors occurred. to: Invalid date format."},
		{"fail/validation without errors", 400, `{"title":"One or more validation errors occurred."}`, providers.KindRejected, "One or more validation errors occurred."},
		{"fail/validation with odd errors", 400, `{"title":"Bad.","errors":["x"]}`, providers.KindRejected, "Bad."},
		{"fail/validation with odd reasons", 400, `{"title":"Bad.","errors":{"x":"y"}}`, providers.KindRejected, "Bad."},
		{"fail/no route", 404, `{"message":"no Route matched with those values"}`, providers.KindNotFound, "no Route matched with those values"},
		{"fail/error member", 400, `{"error":"no such group"}`, providers.KindRejected, "no such group"},
		{"fail/empty message", 400, `{"message":"","error":"no such group"}`, providers.KindRejected, "no such group"},
		{"fail/message no text", 500, `{"message":{"a":1},"title":5}`, providers.KindProvider, "Internal Server Error"},
		{"fail/forbidden without body", 403, "", providers.KindForbidden, "Forbidden"},
		{"fail/500 without body", 500, "", providers.KindProvider, "Internal Server Error"},
		{"fail/503 HTML", 503, "<html>down</html>", providers.KindProvider, "Service Unavailable"},
		{"fail/503 truncated JSON", 503, `{"message":"do`, providers.KindProvider, "Service Unavailable"},
		{"fail/503 deep", 503, `{"message":` + strings.Repeat("[", 100_000), providers.KindProvider, "Service Unavailable"},
		{"fail/200 empty", 200, "", providers.KindInvalidJSON, ""},
		{"fail/202", 202, "[]", providers.KindProvider, "Accepted"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newService(t)
			s.before = func(w http.ResponseWriter, _ *http.Request) bool {
				answer(w, tc.status, tc.body)
				return true
			}
			_, err := open(t, s).Events(t.Context(), good, plain)
			pe := wantError(t, err, tc.kind, tc.message)
			if pe.Status != tc.status {
				t.Errorf("status is %d, want %d", pe.Status, tc.status)
			}
		})
	}
}
