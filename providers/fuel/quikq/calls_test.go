package quikq

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/fleetgate/fleetgate/providers"
)

// script answers log-ins and reports with fixed bodies.
type script struct {
	login, report func(http.ResponseWriter)
	logins        atomic.Int32
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/v1/auth" {
		s.logins.Add(1)
		s.login(w)
		return
	}
	s.report(w)
}

func with(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { reply(w, status, body) }
}

const authBody = `{"status":"success","data":{"token":"planted.token.1"}}`

// call makes one call to a service that answers in the given way.
func call(t *testing.T, s *script) ([]byte, error) {
	t.Helper()
	return start(t, serve(t, s), nil).Transactions(t.Context(), good, full)
}

func TestLogin(t *testing.T) {
	for name, row := range map[string]struct {
		status  int
		body    string
		want    error
		message string
	}{
		"fail/refused with 200":          {200, `{"status":"fail","message":"Invalid credentials"}`, providers.ErrAuth, "Invalid credentials"},
		"fail/refused with 401":          {401, `{"status":"fail","message":"Invalid credentials"}`, providers.ErrAuth, "Invalid credentials"},
		"fail/refused with 400":          {400, `{"status":"fail","message":"userId unknown"}`, providers.ErrAuth, "userId unknown"},
		"fail/refused with 403, HTML":    {403, `<html>no</html>`, providers.ErrAuth, ""},
		"fail/refused with 404":          {404, `{"status":"fail","message":"No such company"}`, providers.ErrAuth, "No such company"},
		"fail/status error":              {200, `{"status":"error","message":"Locked out"}`, providers.ErrAuth, "Locked out"},
		"fail/other status":              {200, `{"status":"denied"}`, providers.ErrAuth, ""},
		"fail/message in data":           {200, `{"status":"fail","data":{"message":"Locked out"}}`, providers.ErrAuth, "Locked out"},
		"fail/message is no text":        {200, `{"status":"fail","message":{"a":1}}`, providers.ErrAuth, ""},
		"fail/no such path":              {404, `<html>404</html>`, providers.ErrProvider, ""},
		"fail/no such method":            {405, ``, providers.ErrProvider, ""},
		"fail/throttled":                 {429, `{"status":"fail","message":"Slow down"}`, providers.ErrThrottled, "Slow down"},
		"fail/fault":                     {502, `{"status":"error","message":"Database away"}`, providers.ErrProvider, "Database away"},
		"fail/fault in HTML":             {500, `<html>`, providers.ErrProvider, "Internal Server Error"},
		"fail/no status":                 {200, `{"data":{"token":"x"}}`, providers.ErrInvalidJSON, ""},
		"fail/status is no text":         {200, `{"status":true,"data":{"token":"x"}}`, providers.ErrInvalidJSON, ""},
		"fail/a list":                    {200, `[` + authBody + `]`, providers.ErrInvalidJSON, ""},
		"fail/no token":                  {200, `{"status":"success","data":{}}`, providers.ErrInvalidJSON, ""},
		"fail/empty token":               {200, `{"status":"success","data":{"token":""}}`, providers.ErrInvalidJSON, ""},
		"fail/token is a number":         {200, `{"status":"success","data":{"token":12}}`, providers.ErrInvalidJSON, ""},
		"fail/token that breaks headers": {200, `{"status":"success","data":{"token":"planted\r\nX-A: b"}}`, providers.ErrInvalidJSON, ""},
		"fail/text after the JSON":       {200, authBody + `x`, providers.ErrInvalidJSON, ""},
		"fail/credential echoed": {
			401, `{"status":"fail","message":"planted-user+1 (planted-user%2B1) with planted\"pass\\wörd&% for 10/04?711, 10%2F04%3F711"}`,
			providers.ErrAuth, "*** (***) with *** for ***, ***",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{login: with(row.status, row.body), report: func(http.ResponseWriter) { t.Error("report called without a session") }}
			_, err := call(t, s)
			checkError(t, err, row.want, row.message)
		})
	}
}

func TestReport(t *testing.T) {
	for name, row := range map[string]struct{ body, want string }{
		"ok/wrapped":                  {reportBody, strings.TrimSuffix(strings.TrimPrefix(reportBody, `{"status":"success","data":`), `}`)},
		"ok/spaces kept":              {"{ \"data\" : { \"a\" : 1.50 } ,\n\"status\" : \"success\" } ", `{ "a" : 1.50 }`},
		"ok/escaped names":            {`{"st\u0061tus":"success","data":{"a":1}}`, `{"a":1}`},
		"ok/flat without envelope":    {`{"transactionCount":0,"transactions":[]}`, `{"transactionCount":0,"transactions":[]}`},
		"ok/wrapped without envelope": {`{"report":{"transactions":[]}}`, `{"report":{"transactions":[]}}`},
		"ok/members past 2^53 raw":    {`{"status":"success","data":{"transNumber":90071992547409931,"q":0.10}}`, `{"transNumber":90071992547409931,"q":0.10}`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := call(t, &script{login: with(200, authBody), report: with(200, row.body)})
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != row.want {
				t.Errorf("report is %s\nwant %s", got, row.want)
			}
		})
	}

	for name, row := range map[string]struct {
		status  int
		body    string
		want    error
		message string
	}{
		"fail/refused data":           {200, `{"status":"fail","message":"startDt is not a date"}`, providers.ErrRejected, "startDt is not a date"},
		"fail/refused data, 400":      {400, `{"status":"fail","message":"startDt is not a date"}`, providers.ErrRejected, "startDt is not a date"},
		"fail/status error":           {200, `{"status":"error","message":"Report failed"}`, providers.ErrProvider, "Report failed"},
		"fail/other status":           {200, `{"status":"pending"}`, providers.ErrProvider, ""},
		"fail/session refused, 200":   {200, `{"status":"fail","message":"Unauthorized"}`, providers.ErrAuth, "Unauthorized"},
		"fail/session refused, 400":   {400, `{"status":"fail","message":"Invalid token planted.token.1"}`, providers.ErrAuth, "Invalid token ***"},
		"fail/session refused, 403":   {403, `{"status":"fail","message":"Session expired"}`, providers.ErrAuth, "Session expired"},
		"fail/session refused, 401":   {401, ``, providers.ErrAuth, "Unauthorized"},
		"fail/forbidden":              {403, `{"status":"fail","message":"Not your company"}`, providers.ErrForbidden, "Not your company"},
		"fail/no such company":        {404, `{"status":"fail","message":"Unknown company"}`, providers.ErrNotFound, "Unknown company"},
		"fail/throttled":              {429, `{"status":"fail","message":"token bucket empty"}`, providers.ErrThrottled, "token bucket empty"},
		"fail/fault":                  {500, `{"status":"error","message":"token service away"}`, providers.ErrProvider, "token service away"},
		"fail/no data":                {200, `{"status":"success"}`, providers.ErrInvalidJSON, ""},
		"fail/data null":              {200, `{"status":"success","data":null}`, providers.ErrInvalidJSON, ""},
		"fail/data a list":            {200, `{"status":"success","data":[]}`, providers.ErrInvalidJSON, ""},
		"fail/data without status":    {200, `{"data":{"report":{}}}`, providers.ErrInvalidJSON, ""},
		"fail/a list":                 {200, `[{"status":"success","data":{}}]`, providers.ErrInvalidJSON, ""},
		"fail/neither":                {200, `{"a":1}`, providers.ErrInvalidJSON, ""},
		"fail/truncated after status": {200, `{"status":"success","data":{"report":{"transactions":[`, providers.ErrInvalidJSON, ""},
		"fail/text after the JSON":    {200, reportBody + `}`, providers.ErrInvalidJSON, ""},
		"fail/no content":             {204, ``, providers.ErrInvalidJSON, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{login: with(200, authBody), report: with(row.status, row.body)}
			_, err := call(t, s)
			checkError(t, err, row.want, row.message)
			if n := s.logins.Load(); n != 1 {
				t.Errorf("%d log-ins, want 1: a fresh session is not renewed", n)
			}
		})
	}

	t.Run("fail/too large", func(t *testing.T) {
		url := serve(t, &script{login: with(200, authBody), report: with(200, reportBody)})
		_, err := start(t, url, map[string]any{"max_body": 100}).Transactions(t.Context(), good, full)
		checkError(t, err, providers.ErrTooLarge, "response too large")
	})
}

// TestRenewal has a kept session refused in each of the ways that count as that.
func TestRenewal(t *testing.T) {
	for name, row := range map[string]struct {
		status int
		body   string
		logins int32
	}{
		"ok/401":          {401, ``, 2},
		"ok/fail in 200":  {200, `{"status":"fail","message":"Not authenticated"}`, 2},
		"ok/fail in 403":  {403, `{"status":"fail","message":"JWT expired"}`, 2},
		"fail/other fail": {200, `{"status":"fail","message":"No such day"}`, 1},
		"fail/500":        {500, `{"status":"error","message":"no session"}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			s := &script{login: with(200, authBody)}
			s.report = func(w http.ResponseWriter) {
				if calls.Add(1) == 2 {
					reply(w, row.status, row.body)
					return
				}
				reply(w, 200, reportBody)
			}
			p := start(t, serve(t, s), nil)
			if _, err := p.Transactions(t.Context(), good, full); err != nil {
				t.Fatal(err)
			}
			_, err := p.Transactions(t.Context(), good, full)
			if renewed := row.logins == 2; renewed != (err == nil) {
				t.Errorf("error is %v", err)
			}
			if n := s.logins.Load(); n != row.logins {
				t.Errorf("%d log-ins, want %d", n, row.logins)
			}
		})
	}
}

// checkError checks kind and message of an error and that it shows nothing planted.
func checkError(t *testing.T, err, want error, message string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want: %v", err, want)
	}
	pe := providers.As(err)
	if pe.Message != message {
		t.Errorf("message is %q, want %q", pe.Message, message)
	}
	if text := fmt.Sprint(pe.Message, pe, pe.Err); strings.Contains(text, "planted") || strings.Contains(text, "/v1/") {
		t.Errorf("the error shows a credential or URL: %s", text)
	}
}
