package quickbooks

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fleetgate/fleetgate/providers/accounting"
)

const (
	realm     = "4620816365291234567"
	goodToken = "planted.good-token_0123456789.abcdefghijklmnopqrstuvwx"
	badToken  = "planted.bad-token_0123456789.abcdefghijklmnopqrstuvwxy"
)

var (
	good = accounting.Credential{AccessToken: goodToken, RealmID: realm}
	bad  = accounting.Credential{AccessToken: badToken, RealmID: realm}
)

// object is an entity as the fake keeps it, its members as they are spelled.
type object map[string]json.RawMessage

// fake is the part of QuickBooks that the provider calls, as strict as documented.
type fake struct {
	t *testing.T

	mu      sync.Mutex
	objects map[string][]object // by entity, in the order of their Ids
	answers map[string]string   // to writes, by requestid
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t, objects: make(map[string][]object), answers: make(map[string]string)}
	for i := range 3 {
		f.add("Account", object{"Name": quote("Account %d", i), "CurrentBalance": json.RawMessage("10.0")})
	}
	for i := range 25 {
		f.add("Purchase", object{"TotalAmt": json.RawMessage(fmt.Sprintf("%d.00", i)), "Line": json.RawMessage("[]")})
	}
	for i := range 12 {
		f.add("Vendor", object{"DisplayName": quote("Vendor %d", i)})
	}
	return f
}

func quote(format string, args ...any) json.RawMessage {
	text, _ := json.Marshal(fmt.Sprintf(format, args...))
	return text
}

func (f *fake) add(entity string, o object) object {
	o["Id"] = quote("%d", 1_000_000_000_000_000_001+len(f.objects[entity]))
	o["SyncToken"] = quote("0")
	f.objects[entity] = append(f.objects[entity], o)
	return o
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("intuit_tid", "1-fake-tid")
	if accept := r.Header.Get("Accept"); accept != "application/json" {
		f.t.Errorf("Accept is %q", accept)
	}
	if v := r.URL.Query().Get("minorversion"); v != "75" {
		f.t.Errorf("minorversion is %q", v)
	}
	if r.Header.Get("Authorization") != "Bearer "+goodToken {
		answer(w, http.StatusUnauthorized, tokenFault(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")))
		return
	}
	path, ok := strings.CutPrefix(r.URL.Path, "/v3/company/"+realm+"/")
	kind, id, one := strings.Cut(path, "/")
	entity := entities[accounting.Kind(kind)]
	switch {
	case ok && path == "query":
		f.query(w, r)
	case ok && entity != "" && one && r.Method == http.MethodGet:
		f.read(w, entity, id)
	case ok && entity != "" && !one && r.Method == http.MethodPost:
		f.write(w, r, entity)
	default:
		f.t.Errorf("unexpected call: %s %s", r.Method, r.URL.Path)
		answer(w, http.StatusBadRequest, appFault("500", "Unsupported Operation", "Operation is not supported"))
	}
}

var (
	statementText = regexp.MustCompile(`^SELECT \* FROM (Account|Purchase|Vendor)(?: WHERE (.+))? ORDERBY Id STARTPOSITION ([1-9]\d*) MAXRESULTS (\d+)$`)
	conditionText = regexp.MustCompile(`^DisplayName (=|LIKE) '((?:[^'\\]|\\.)*)'$`)
)

// statementOf returns the statement of a query, by either method.
func statementOf(r *http.Request) string {
	if r.Method == http.MethodPost && r.Header.Get("Content-Type") == "application/text" && !r.URL.Query().Has("query") {
		body, _ := io.ReadAll(r.Body)
		return string(body)
	}
	return r.URL.Query().Get("query")
}

func (f *fake) query(w http.ResponseWriter, r *http.Request) {
	statement := statementText.FindStringSubmatch(statementOf(r))
	if statement == nil {
		answer(w, http.StatusBadRequest, appFault("4000", "Error parsing query", "QueryParserError: Encountered something"))
		return
	}
	matches := func(object) bool { return true }
	if statement[2] != "" {
		condition := conditionText.FindStringSubmatch(statement[2])
		if condition == nil {
			answer(w, http.StatusBadRequest, appFault("4001", "Invalid query", "QueryValidationError: Property is not queryable"))
			return
		}
		value := strings.ReplaceAll(condition[2], `\`, "")
		prefix, any := strings.CutSuffix(value, "%")
		matches = func(o object) bool {
			name := text(parsed(o["DisplayName"]))
			return name == value || condition[1] == "LIKE" && any && strings.HasPrefix(name, prefix)
		}
	}
	var rows []string
	for _, o := range f.objects[statement[1]] {
		if matches(o) {
			rows = append(rows, o.json())
		}
	}
	position, _ := strconv.Atoi(statement[3])
	size, _ := strconv.Atoi(statement[4])
	rows = rows[min(position-1, len(rows)):]
	answer(w, http.StatusOK, pageOf(statement[1], position, rows[:min(size, len(rows))]))
}

// pageOf is the body of a page.
func pageOf(entity string, position int, rows []string) string {
	if len(rows) == 0 {
		return `{"QueryResponse":{},"time":"2026-09-29T06:04:50.776-07:00"}`
	}
	return fmt.Sprintf(`{"QueryResponse":{%q:[%s],"startPosition":%d,"maxResults":%d},"time":"2026-09-29T06:04:50.776-07:00"}`,
		entity, strings.Join(rows, ","), position, len(rows))
}

func (f *fake) find(entity, id string) object {
	for _, o := range f.objects[entity] {
		if text(parsed(o["Id"])) == id {
			return o
		}
	}
	return nil
}

func (f *fake) read(w http.ResponseWriter, entity, id string) {
	if o := f.find(entity, id); o != nil {
		answer(w, http.StatusOK, single(entity, o.json()))
		return
	}
	answer(w, http.StatusBadRequest, appFault("610", "Object Not Found", "Object Not Found : Something you're trying to use has been made inactive."))
}

func single(entity, text string) string {
	return `{"` + entity + `":` + text + `,"time":"2026-09-29T06:04:50.776-07:00"}`
}

func (f *fake) write(w http.ResponseWriter, r *http.Request, entity string) {
	if ct := r.Header.Get("Content-Type"); ct != "application/json" {
		f.t.Errorf("Content-Type is %q", ct)
	}
	id := r.URL.Query().Get("requestid")
	if id == "" || len(id) > 50 {
		f.t.Errorf("requestid is %q", id)
	}
	var input object
	if err := json.NewDecoder(r.Body).Decode(&input); err != nil {
		f.t.Errorf("the body: %v", err)
	}
	if known, ok := f.answers[id]; ok {
		answer(w, http.StatusOK, known)
		return
	}
	name := text(parsed(input["DisplayName"]))
	for _, o := range f.objects[entity] {
		if name != "" && text(parsed(o["DisplayName"])) == name && string(o["Id"]) != string(input["Id"]) {
			answer(w, http.StatusBadRequest, appFault("6240", "Duplicate Name Exists Error", "The name supplied already exists. : null"))
			return
		}
	}
	var o object
	if input["Id"] == nil {
		o = f.add(entity, input)
	} else {
		if o = f.find(entity, text(parsed(input["Id"]))); o == nil || string(input["sparse"]) != "true" {
			f.t.Errorf("the update is of nothing, or not sparse: %s", input.json())
		}
		if string(o["SyncToken"]) != string(input["SyncToken"]) {
			answer(w, http.StatusBadRequest, appFault("5010", "Stale Object Error", "Stale Object Error : You and another user were working on this at the same time."))
			return
		}
		n, _ := strconv.Atoi(text(parsed(o["SyncToken"])))
		maps.Copy(o, input)
		o["SyncToken"] = quote("%d", n+1)
	}
	f.answers[id] = single(entity, o.json())
	answer(w, http.StatusOK, f.answers[id])
}

func (o object) json() string {
	text, _ := json.Marshal(o)
	return string(text)
}

// The bodies of faults, in the recorded shapes.

func appFault(code, message, detail string) string {
	return fmt.Sprintf(`{"Fault":{"Error":[{"Message":%q,"Detail":%q,"code":%q,"element":""}],"type":"ValidationFault"},"time":"2026-09-29T06:58:50.262-07:00"}`, message, detail, code)
}

func tokenFault(token string) string {
	return fmt.Sprintf(`{"warnings":null,"intuitObject":null,"fault":{"error":[{"message":"message=AuthenticationFailed; errorCode=003200; statusCode=401",`+
		`"detail":"Token expired: %s","code":"3200","element":null}],"type":"AUTHENTICATION"},"report":null,"queryResponse":null,"batchItemResponse":[],"time":1601391072830,"status":null}`, token)
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// serve starts a server for the test and returns its root.
func serve(tb testing.TB, h http.Handler) string {
	tb.Helper()
	srv := httptest.NewServer(h)
	tb.Cleanup(srv.Close)
	return srv.URL
}
