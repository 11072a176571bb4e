package quikq

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/fleetgate/fleetgate/providers/fuel"
)

// The credentials, sessions and windows that the fake knows.
var (
	good = fuel.Credential{StartCode: "10/04?711", UserID: "planted-user+1", Password: `planted"pass\wörd&%`}
	bad  = fuel.Credential{StartCode: good.StartCode, UserID: good.UserID, Password: "planted-wrong"}
	full = fuel.Query{Start: "2026-02-01", End: "2026-02-28"}
	none = fuel.Query{Start: "2020-01-01", End: "2020-01-31"}
)

const reportBody = `{"status":"success","data":{"report":{"transactionCount":1,"carrierCount":1,"truckStopCount":1,` +
	`"transactions":[{"transaction":{"seq":1,"startCode":1004711,"transNumber":90071992547409931,"unit":"A-17",` +
	`"subTransactions":[{"subTransaction":{"seq":1,"subTotal":-39.540,"productDetails":[]}}]}}]}}}`

const emptyBody = `{"status":"success","data":{"report":{"transactionCount":0,"carrierCount":0,"truckStopCount":0,"transactions":[]}}}`

// fake is QuikQ's service as far as its protocol is known. Requests that stray from it
// are errors of the test.
type fake struct {
	t *testing.T

	mu       sync.Mutex
	sessions map[string]string // start code by token
	made     int
}

func newFake(t *testing.T) *fake {
	t.Helper()
	return &fake{t: t, sessions: make(map[string]string)}
}

// EndSessions forgets all tokens.
func (f *fake) EndSessions() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.sessions)
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	const reports = "/v1/reports/transactions/"
	if accept := r.Header.Get("Accept"); accept != "application/json" {
		f.t.Errorf("Accept is %q", accept)
	}
	switch {
	case r.URL.Path == "/v1/auth" && r.Method == http.MethodPost:
		f.auth(w, r)
	case strings.HasPrefix(r.URL.Path, reports) && r.Method == http.MethodGet:
		f.report(w, r, strings.TrimPrefix(r.URL.Path, reports))
	default:
		f.t.Errorf("unexpected call: %s %s", r.Method, r.URL.Path)
		http.NotFound(w, r)
	}
}

func (f *fake) auth(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Content-Type") != "application/json" || r.URL.RawQuery != "" || r.Header.Get("Authorization") != "" {
		f.t.Errorf("log-in with header %v and query %q", r.Header, r.URL.RawQuery)
	}
	var members map[string]any
	if err := json.NewDecoder(r.Body).Decode(&members); err != nil {
		f.t.Errorf("log-in body: %v", err)
	}
	want := map[string]any{"startCode": good.StartCode, "userId": good.UserID, "password": good.Password}
	if len(members) != len(want) {
		f.t.Errorf("log-in body has %d members", len(members))
	}
	for name := range want {
		if members[name] != want[name] {
			reply(w, http.StatusUnauthorized, `{"status":"fail","message":"User planted-user+1 of 10/04?711 has no password planted-wrong"}`)
			return
		}
	}

	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	token := fmt.Sprintf("planted.token.%d", f.made)
	f.sessions[token] = good.StartCode
	reply(w, http.StatusOK, `{"status":"success","data":{"token":"`+token+`"}}`)
}

var dateTime = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)T(00:00:00|23:59:59)-00:00$`)

func (f *fake) report(w http.ResponseWriter, r *http.Request, startCode string) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	f.mu.Lock()
	owner := f.sessions[token]
	f.mu.Unlock()
	if !ok || owner == "" {
		reply(w, http.StatusUnauthorized, `{"status":"fail","message":"Token `+token+` expired"}`)
		return
	}

	q := r.URL.Query()
	start, end := dateTime.FindStringSubmatch(q.Get("startDt")), dateTime.FindStringSubmatch(q.Get("endDt"))
	if len(q) != 3 || startCode != owner || q.Get("startCode") != owner ||
		start == nil || end == nil || start[2] != "00:00:00" || end[2] != "23:59:59" {
		f.t.Errorf("report call for %q with query %v", startCode, q)
		reply(w, http.StatusBadRequest, `{"status":"fail","message":"Bad request"}`)
		return
	}
	if start[1] == full.Start && end[1] == full.End {
		reply(w, http.StatusOK, reportBody)
		return
	}
	reply(w, http.StatusOK, emptyBody)
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}
