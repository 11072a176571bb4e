package areatest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/transform"
)

var envelope = []string{"status", "message", "data"}

var serverTiming = regexp.MustCompile(`^gateway;dur=\d+\.\d{3}, upstream;dur=\d+\.\d{3}$`)

// problems holds an answer to the scenario and to the rules of every answer.
func (s *Suite[H, F]) problems(sc Scenario[F], rec *httptest.ResponseRecorder) []string {
	return append(expected(sc, rec), s.broken(rec)...)
}

// broken holds an answer to the rules of every answer.
func (s *Suite[H, F]) broken(rec *httptest.ResponseRecorder) []string {
	members := envelope
	if rec.Code != http.StatusOK && s.Members != nil {
		members = s.Members
	}
	return append(bodyRules(rec, members), headerRules(rec)...)
}

// expected compares the answer with what the scenario wants.
func expected[F any](sc Scenario[F], rec *httptest.ResponseRecorder) []string {
	var bad []string
	status := sc.WantStatus
	if status == 0 {
		status = http.StatusOK
	}
	if rec.Code != status {
		bad = append(bad, fmt.Sprintf("status is %d, want %d", rec.Code, status))
	}
	if got := rec.Header().Get(area.HeaderErrorCode); got != sc.WantCode {
		bad = append(bad, fmt.Sprintf("%s is %q, want %q", area.HeaderErrorCode, got, sc.WantCode))
	}
	for name, want := range sc.WantHeader {
		if got := strings.Join(rec.Header().Values(name), "|"); got != want {
			bad = append(bad, fmt.Sprintf("header %s is %q, want %q", name, got, want))
		}
	}
	body := rec.Body.String()
	if sc.WantBody != "" && body != sc.WantBody {
		bad = append(bad, fmt.Sprintf("body is\n%s\nwant\n%s", body, sc.WantBody))
	}
	for _, want := range sc.WantContains {
		if !strings.Contains(body, want) {
			bad = append(bad, fmt.Sprintf("body lacks %q", want))
		}
	}
	for _, unwanted := range append([]string{Secret}, sc.NotContains...) {
		if strings.Contains(body, unwanted) {
			bad = append(bad, fmt.Sprintf("body contains %q", unwanted))
		}
		for name, values := range rec.Header() {
			if strings.Contains(strings.Join(values, "\n"), unwanted) {
				bad = append(bad, fmt.Sprintf("header %s contains %q", name, unwanted))
			}
		}
	}
	return bad
}

// bodyRules are the rules for the body of every answer: it is JSON, with exactly the
// members of the area's shape in their order, and says what the status says.
func bodyRules(rec *httptest.ResponseRecorder, members []string) []string {
	body := rec.Body.Bytes()
	if err := transform.ValidateUnique(body); err != nil {
		return []string{"body: " + err.Error()}
	}
	var bad []string
	var got []string
	doc := gjson.ParseBytes(body)
	for name := range doc.ForEach {
		got = append(got, name.String())
	}
	if !slices.Equal(got, members) {
		bad = append(bad, fmt.Sprintf("members are %q, want %q", got, members))
	}
	if slices.Equal(members, envelope) {
		word := "Error"
		if rec.Code == http.StatusOK {
			word = "Success"
		}
		if got := doc.Get("status").String(); got != word {
			bad = append(bad, fmt.Sprintf("member status is %q, want %q", got, word))
		}
		if word == "Success" && doc.Get("message").String() != "Success" {
			bad = append(bad, fmt.Sprintf("member message is %q, want Success", doc.Get("message")))
		}
	}
	if members[0] == "erro" && doc.Get("erro").Raw != "true" {
		bad = append(bad, fmt.Sprintf("member erro is %s, want true", doc.Get("erro").Raw))
	}
	return bad
}

// headerRules are the rules for the headers of every answer.
func headerRules(rec *httptest.ResponseRecorder) []string {
	var bad []string
	h := rec.Header()
	for name, want := range map[string]string{
		"Content-Type":   "application/json",
		"Cache-Control":  "no-store",
		"Content-Length": strconv.Itoa(rec.Body.Len()),
	} {
		if got := strings.Join(h.Values(name), "|"); got != want {
			bad = append(bad, fmt.Sprintf("%s is %q, want %q", name, got, want))
		}
	}
	if got := h.Get(area.HeaderServerTiming); !serverTiming.MatchString(got) {
		bad = append(bad, fmt.Sprintf("%s is %q", area.HeaderServerTiming, got))
	}

	code := h.Get(area.HeaderErrorCode)
	for name, wanted := range map[string]bool{
		area.HeaderErrorCode: rec.Code != http.StatusOK,
		"Retry-After":        rec.Code == http.StatusTooManyRequests || rec.Code == http.StatusServiceUnavailable,
		"Allow":              rec.Code == http.StatusMethodNotAllowed,
		"Www-Authenticate":   code == area.CodeUnauthenticated,
	} {
		if got := h.Get(name); (got != "") != wanted {
			bad = append(bad, fmt.Sprintf("%s is %q with status %d", name, got, rec.Code))
		}
	}
	if after := h.Get("Retry-After"); after != "" {
		if n, err := strconv.Atoi(after); err != nil || n < 1 {
			bad = append(bad, fmt.Sprintf("Retry-After is %q, want whole seconds", after))
		}
	}
	return bad
}
