package fleetrock

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers/maintenance"
)

// The credentials and queries that the fake knows.
var (
	good = maintenance.Credential{Username: "planted user+1", APIKey: "planted/key=&1"}
	bad  = maintenance.Credential{Username: good.Username, APIKey: "planted/key=&2"}
	full = maintenance.Query{Start: "2026-02-01", End: "2026-02-28"}
	none = maintenance.Query{Start: "2019-02-01", End: "2019-02-28"}
)

// The fake has one order for each of these days, with the day as its id.
var (
	firstOrder = time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)
	lastOrder  = time.Date(2026, time.November, 20, 0, 0, 0, 0, time.UTC)
)

// fake is Fleetrock's service as far as its protocol is known. Requests that stray
// from it are errors of the test.
type fake struct {
	t *testing.T

	mu       sync.Mutex
	sessions map[string]bool
	made     int
	queries  []url.Values // of the list calls, without credential
}

func newFake(t *testing.T) *fake {
	t.Helper()
	return &fake{t: t, sessions: make(map[string]bool)}
}

// EndSessions forgets all tokens.
func (f *fake) EndSessions() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.sessions)
}

// asked returns the queries of the list calls so far.
func (f *fake) asked() []url.Values {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.queries)
}

// checkMade checks how many sessions were made.
func (f *fake) checkMade(want int) {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.made != want {
		f.t.Errorf("%d sessions made, want %d", f.made, want)
	}
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || r.Method != http.MethodGet || r.ContentLength != 0 || r.Header.Get("Accept") != "application/json" {
		f.t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
	for name, values := range query {
		if len(values) != 1 || values[0] == "" {
			f.t.Errorf("parameter %s is %q", name, values)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch r.URL.Path {
	case "/API/GetToken":
		f.getToken(w, query)
	case "/API/GetRO":
		f.getRO(w, query)
	default:
		f.t.Errorf("unexpected call: %s", r.URL.Path)
		http.NotFound(w, r)
	}
}

func (f *fake) getToken(w http.ResponseWriter, query url.Values) {
	if len(query) != 2 {
		f.t.Errorf("session call with %v", query)
	}
	if query.Get("username") != good.Username || query.Get("key") != good.APIKey {
		reply(w, 200, `{"result":"error","message":"`+query.Get("username")+` has no key `+query.Get("key")+`"}`)
		return
	}
	f.made++
	token := fmt.Sprintf("planted+token/%d", f.made)
	f.sessions[token] = true
	reply(w, 200, `{"token":"`+token+`"}`)
}

func (f *fake) getRO(w http.ResponseWriter, query url.Values) {
	token := query.Get("token")
	if query.Get("username") != good.Username || !f.sessions[token] && token != good.APIKey {
		reply(w, 200, `{"result":"error","message":"Invalid token."}`)
		return
	}
	query.Del("username")
	query.Del("token")
	f.queries = append(f.queries, query)

	first, last := firstOrder, lastOrder
	for name := range query {
		switch name {
		case "start":
			first = later(first, f.time(query.Get(name), "00:00:00.000"))
		case "end":
			last = earlier(last, f.time(query.Get(name), "23:59:59.999"))
		case "status", "event":
		default:
			f.t.Errorf("unknown parameter %s", name)
		}
	}
	if query.Has("start") && query.Has("end") && !last.Before(first.AddDate(0, 1, 0)) {
		reply(w, 200, `{"result":"error","message":"At most 1 month."}`)
		return
	}
	var body strings.Builder
	body.WriteString("{\n\"repair_orders\" : [ ")
	for day := first; !day.After(last); day = day.AddDate(0, 0, 1) {
		if day != first {
			body.WriteString(", ")
		}
		fmt.Fprintf(&body, `{"id":"%s","grand_total":205.00}`, day.Format(time.DateOnly))
	}
	body.WriteString(" ]\n}")
	reply(w, 200, body.String())
}

// time parses a bound of the window, which must be at the given time of day.
func (f *fake) time(text, timeOfDay string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !strings.HasSuffix(text, "T"+timeOfDay+"Z") {
		f.t.Errorf("bound %q is not at %s: %v", text, timeOfDay, err)
	}
	return t
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
