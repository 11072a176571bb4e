package lytx

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

const goodKey = "c0ffee00-key&good"

// fakeEvent is an event as the service keeps it. JSON members are added on the way out.
type fakeEvent struct {
	id, driver, vehicle  string
	recorded, created    time.Time
	revised              *time.Time
	trigger, eventStatus int
}

type fakeVehicle struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
	GUID string `json:"dcVehicleId"`
}

// service is the part of Lytx that the provider calls, and as strict as documented.
type service struct {
	t        *testing.T
	events   []fakeEvent
	vehicles []fakeVehicle
	details  string // answer to /vehicles/all; empty for a 204
	pageCap  int    // the largest page of vehicles, whatever is asked for

	// before may answer a call in place of the service.
	before func(w http.ResponseWriter, r *http.Request) (answered bool)

	mu    sync.Mutex
	calls []*url.URL
	open  int // calls now
	most  int // calls at the same time
}

func newService(t *testing.T) *service {
	s := &service{t: t, pageCap: 50, details: `{"vehicles":[` +
		`{"id":"9100FFFF-0000-0000-0000-000000000001","name":"x","vin":"1FUJGLDR","licensePlateNumber":"AB 12","make":"ISUZU","model":"NPR-HD","year":2016,"type":2},` +
		`{"id":"9100ffff-0000-0000-0000-000000000002","name":"x","vin":null,"licensePlateNumber":null,"make":null,"model":null,"year":null},` +
		`{"id":"9100ffff-0000-0000-0000-000000000003","vin":"54DC","licensePlateNumber":null,"year":"2019"}],"totalResults":3}`}
	for i := range 3 {
		s.vehicles = append(s.vehicles, fakeVehicle{ID: 7000000000 + int64(i), Name: "UNIT-" + strconv.Itoa(i+1), GUID: vehicleID(i + 1)})
	}
	start := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	for i := range 12 {
		e := fakeEvent{
			id: fmt.Sprintf("5afe51de-c001-1ddc-0000-%012d", i), driver: driverID(i%3 + 1), vehicle: vehicleID(i%2 + 1),
			recorded: start.Add(time.Duration(i*7%12) * time.Hour), created: start.Add(time.Duration(i) * time.Minute),
			trigger: 30, eventStatus: 1 + i%2,
		}
		if i%4 != 0 {
			revised := e.created.Add(time.Duration(i*5%12)*time.Minute + time.Duration(4815900+100*i))
			e.revised = &revised
		}
		s.events = append(s.events, e)
	}
	return s
}

func vehicleID(n int) string { return fmt.Sprintf("9100ffff-0000-0000-0000-%012d", n) }
func driverID(n int) string  { return fmt.Sprintf("0000ffff-0000-4100-0000-%012d", n) }

// serve starts the service until the end of the test and returns its root.
func (s *service) serve(t *testing.T) string {
	t.Helper()
	url, stop := s.serveFor()
	t.Cleanup(stop)
	return url
}

// serveFor starts the service and returns its root and what stops it.
func (s *service) serveFor() (url string, stop func()) {
	srv := httptest.NewServer(s)
	return srv.URL, srv.Close
}

// count returns how many calls went to path.
func (s *service) count(path string) int { return len(s.queries(path)) }

// queries returns the queries of the calls to path.
func (s *service) queries(path string) []url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	var queries []url.Values
	for _, u := range s.calls {
		if u.Path == path {
			queries = append(queries, u.Query())
		}
	}
	return queries
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.calls = append(s.calls, r.URL)
	s.open++
	s.most = max(s.most, s.open)
	before := s.before
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.open--
		s.mu.Unlock()
	}()

	if before != nil && before(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if r.Method != http.MethodGet || r.ContentLength > 0 {
		s.t.Errorf("%s with %d bytes", r.Method, r.ContentLength)
	}
	if keys := r.Header.Values("X-APIKey"); len(keys) != 1 || keys[0] != goodKey {
		answer(w, http.StatusUnauthorized, `{"message":"Unauthorized"}`)
		return
	}
	switch r.URL.Path {
	case pathEvents:
		s.listEvents(w, r.URL.Query())
	case "/video/safety/events/triggers":
		s.checkQuery(r.URL.Query())
		answer(w, http.StatusOK, `[{"id":1,"name":"Manual","creationDate":"2008-03-01T07:42:12.867Z"},{"id":30,"name":"FLEX \u00e9Smart"},{"id":31,"name":null}]`)
	case "/video/safety/events/statuses":
		s.checkQuery(r.URL.Query())
		answer(w, http.StatusOK, `[{"id":1,"name":"New"},{"id":2,"name":"Face-To-Face Coaching"}]`)
	case "/video/vehicles":
		s.listVehicles(w, r.URL.Query())
	case "/vehicles/all":
		s.checkQuery(r.URL.Query(), "limit", "page")
		switch {
		case r.URL.Query().Get("limit") != "1000":
			s.t.Errorf("limit of details is %q", r.URL.Query().Get("limit"))
		case s.details == "":
			w.WriteHeader(http.StatusNoContent)
			return
		}
		answer(w, http.StatusOK, s.details)
	default:
		answer(w, http.StatusNotFound, `{"message":"no Route matched with those values"}`)
	}
}

func answer(w http.ResponseWriter, status int, body string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// checkQuery reports parameters that the call does not have, or has twice.
func (s *service) checkQuery(q url.Values, allowed ...string) {
	for name, values := range q {
		if !slices.Contains(allowed, name) || len(values) != 1 {
			s.t.Errorf("unexpected parameter %s=%q", name, values)
		}
	}
}

var (
	instant = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|[+-]\d\d:\d\d)$`)
	guid    = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

func (s *service) listEvents(w http.ResponseWriter, q url.Values) {
	s.checkQuery(q, "from", "to", "dateOption", "driverId", "vehicleId", "sortDirection", "sortBy", "includeSubgroups", "limit", "page")
	refuse := func(field, reason string) {
		answer(w, http.StatusBadRequest, fmt.Sprintf(`{"errors":{%q:[%q]},"type":null,"title":"One or more validation errors occurred.","status":400}`, field, reason))
	}
	for _, name := range []string{"from", "to"} {
		if v := q.Get(name); v != "" && !instant.MatchString(v) {
			refuse(name, "Invalid date format.")
			return
		}
	}
	for _, name := range []string{"driverId", "vehicleId"} {
		if v, ok := q[name]; ok && !guid.MatchString(v[0]) {
			refuse(name, "The value is not valid.")
			return
		}
	}
	limit, err := strconv.Atoi(q.Get("limit"))
	if err != nil || limit < 1 || limit > 1000 {
		refuse("limit", "The value is not valid for Limit.")
		return
	}
	page := 1
	if v, ok := q["page"]; ok {
		if page, err = strconv.Atoi(v[0]); err != nil || page < 1 {
			refuse("page", "The value is not valid for Page.")
			return
		}
	}

	from, _ := time.Parse(time.RFC3339, q.Get("from"))
	to, err := time.Parse(time.RFC3339, q.Get("to"))
	if err != nil {
		to = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	when := func(e fakeEvent, option string) time.Time {
		switch {
		case option == "recordDate":
			return e.recorded
		case e.revised != nil:
			return *e.revised
		}
		return e.created
	}
	var found []fakeEvent
	for _, e := range s.events {
		at := when(e, q.Get("dateOption"))
		if at.Before(from) || at.After(to) ||
			q.Get("driverId") != "" && q.Get("driverId") != e.driver ||
			q.Get("vehicleId") != "" && q.Get("vehicleId") != e.vehicle {
			continue
		}
		found = append(found, e)
	}
	slices.SortStableFunc(found, func(a, b fakeEvent) int {
		c := when(a, q.Get("sortBy")).Compare(when(b, q.Get("sortBy")))
		if q.Get("sortDirection") != "asc" {
			c = -c
		}
		return cmp.Or(c, cmp.Compare(a.id, b.id))
	})
	found = found[min((page-1)*limit, len(found)):]
	found = found[:min(limit, len(found))]
	if len(found) == 0 {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	texts := make([]string, len(found))
	for i, e := range found {
		texts[i] = e.json()
	}
	answer(w, http.StatusOK, "["+strings.Join(texts, ",")+"]")
}

// json is the event as it comes from the wire: fractions without trailing zeros, and
// numbers with theirs.
func (e fakeEvent) json() string {
	revised := "null"
	if e.revised != nil {
		revised = strconv.Quote(e.revised.Format("2006-01-02T15:04:05.9999999Z07:00"))
	}
	return fmt.Sprintf(`{"id":%q,"eventTriggerId":%d,"eventStatusId":%d,"vehicleId":%q,"driverId":%q,"speed":16.10,"recordDateUTC":%q,"creationDate":%q,"revisionDate":%s}`,
		e.id, e.trigger, e.eventStatus, e.vehicle, e.driver, e.recorded.Format(time.RFC3339), e.created.Format("2006-01-02T15:04:05.9999999Z07:00"), revised)
}

func (s *service) listVehicles(w http.ResponseWriter, q url.Values) {
	s.checkQuery(q, "PageNumber", "PageSize")
	page, err := strconv.Atoi(q.Get("PageNumber"))
	size, err2 := strconv.Atoi(q.Get("PageSize"))
	if err != nil || err2 != nil || page < 1 || size < 1 {
		answer(w, http.StatusBadRequest, `{"errors":{"pageSize":["The value is not valid for PageSize."]},"title":"One or more validation errors occurred.","status":400,"extensions":{}}`)
		return
	}
	size = min(size, s.pageCap)
	rows := s.vehicles[min((page-1)*size, len(s.vehicles)):]
	rows = rows[:min(size, len(rows))]
	text, err := json.Marshal(map[string]any{"totalCount": len(s.vehicles), "vehicles": slices.Concat([]fakeVehicle{}, rows)})
	if err != nil {
		s.t.Error(err)
	}
	answer(w, http.StatusOK, string(text))
}
