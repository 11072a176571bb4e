package quickbooks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

// TestListRequest checks how a filter travels.
func TestListRequest(t *testing.T) {
	tricky := `DisplayName = 'Amy\'s \\ "R&D" +1 100% #1 <é> Müller 東京; SELECT'`
	long := "DisplayName IN ('" + strings.Repeat("0123456789 ", 180) + "')"
	for _, tc := range []struct {
		name, filter, version, method, query, body string
	}{
		{"ok/none", "", "", "GET", "minorversion=75&query=SELECT+%2A+FROM+Purchase+ORDERBY+Id+STARTPOSITION+1+MAXRESULTS+1000", ""},
		{"ok/version", "", "70", "GET", "minorversion=70&query=SELECT+%2A+FROM+Purchase+ORDERBY+Id+STARTPOSITION+1+MAXRESULTS+1000", ""},
		{
			"ok/tricky", tricky, "", "GET",
			"minorversion=75&query=SELECT+%2A+FROM+Purchase+WHERE+DisplayName+%3D+%27Amy%5C%27s+%5C%5C+%22R%26D%22+%2B1+100%25+%231+%3C%C3%A9%3E+M%C3%BCller+%E6%9D%B1%E4%BA%AC%3B+SELECT%27" +
				"+ORDERBY+Id+STARTPOSITION+1+MAXRESULTS+1000", "",
		},
		{"ok/long", long, "80", "POST", "minorversion=80", "SELECT * FROM Purchase WHERE " + long + " ORDERBY Id STARTPOSITION 1 MAXRESULTS 1000"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := honest(0)
			p := open(t, s, nil)
			if _, err := p.List(t.Context(), good, accounting.KindPurchase, accounting.Query{Filter: tc.filter, MinorVersion: tc.version}); err != nil {
				t.Fatal(err)
			}
			if len(s.requests) != 1 {
				t.Fatalf("%d calls", len(s.requests))
			}
			r := s.requests[0]
			if r.Method != tc.method || r.URL.Path != "/v3/company/"+realm+"/query" || r.URL.RawQuery != tc.query {
				t.Errorf("request is %s %s", r.Method, r.URL)
			}
			if tc.body != "" && (s.statements[0] != tc.body || r.Header.Get("Content-Type") != "application/text") {
				t.Errorf("body is %s %q", r.Header.Get("Content-Type"), s.statements[0])
			}
		})
	}

	// The two methods meet where the query is as long as it may be.
	for length, method := range map[int]string{maxGet: "GET", maxGet + 1: "POST"} {
		t.Run(fmt.Sprintf("ok/%d bytes", length), func(t *testing.T) {
			const rest = "minorversion=75&query=SELECT+%2A+FROM+Purchase+WHERE+a%3D%27%27+ORDERBY+Id+STARTPOSITION+1+MAXRESULTS+1000"
			s := honest(0)
			filter := "a='" + strings.Repeat("x", length-len(rest)) + "'"
			if _, err := open(t, s, nil).List(t.Context(), good, accounting.KindPurchase, accounting.Query{Filter: filter}); err != nil {
				t.Fatal(err)
			}
			if r := s.requests[0]; r.Method != method || method == "GET" && len(r.URL.RawQuery) != length {
				t.Errorf("%s with a query of %d bytes", r.Method, len(r.URL.RawQuery))
			}
		})
	}
}

func TestListKinds(t *testing.T) {
	for kind, entity := range entities {
		t.Run("ok/"+string(kind), func(t *testing.T) {
			s := &pages{answer: func(int, int) string { return pageOf(entity, 1, nil) }}
			if _, err := open(t, s, nil).List(t.Context(), good, kind, accounting.Query{}); err != nil {
				t.Fatal(err)
			}
			if want := "SELECT * FROM " + entity + " ORDERBY Id STARTPOSITION 1 MAXRESULTS 1000"; s.statements[0] != want {
				t.Errorf("statement is %q", s.statements[0])
			}
		})
	}
	t.Run("fail/unknown", func(t *testing.T) {
		_, err := open(t, honest(0), nil).List(t.Context(), good, "invoice", accounting.Query{})
		wantError(t, err, providers.KindInvalid, "kind is invalid")
	})
}

// TestListThrottled has the second page refused for as long as is asked for.
func TestListThrottled(t *testing.T) {
	for _, tc := range []struct {
		name, retryAfter string
		timeout          time.Duration
		wait             time.Duration // that the error tells; none if the list succeeds
	}{
		{"ok/short", "1", time.Minute, 0},
		{"fail/longer than there is time", "30", 20 * time.Second, 30 * time.Second},
		{"fail/unsaid", "", 20 * time.Second, time.Minute},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := honest(15)
			var refused sync.Once
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				refuse := false
				if strings.Contains(statementOf(r), "STARTPOSITION 10 ") {
					refused.Do(func() { refuse = true })
				}
				if !refuse {
					s.ServeHTTP(w, r)
					return
				}
				if tc.retryAfter != "" {
					w.Header().Set("Retry-After", tc.retryAfter)
				}
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, `<?xml version="1.0" encoding="UTF-8"?><IntuitResponse xmlns="http://schema.intuit.com/finance/v3"><Fault type="SERVICE">`+
					`<Error code="3001"><Message>message=ThrottleExceeded; errorCode=003001; statusCode=429</Message><Detail>The request limit was reached.</Detail></Error></Fault></IntuitResponse>`)
			})
			start := time.Now()
			rows, err := listAll(t.Context(), open(t, h, config{"page_size": 10, "timeout": tc.timeout}))
			if tc.wait == 0 {
				if err != nil {
					t.Fatal(err)
				}
				checkComplete(t, rows, 15)
				if waited := time.Since(start); waited < time.Second {
					t.Errorf("only %v were waited", waited)
				}
				return
			}
			pe := wantError(t, err, providers.KindThrottled, "message=ThrottleExceeded; errorCode=003001; statusCode=429: The request limit was reached.")
			if pe.RetryAfter != tc.wait || pe.Status != http.StatusTooManyRequests {
				t.Errorf("RetryAfter %v, status %d", pe.RetryAfter, pe.Status)
			}
		})
	}
}

// TestListRepeats loses one answer of each page.
func TestListRepeats(t *testing.T) {
	s := honest(45)
	var mu sync.Mutex
	lost := make(map[string]bool)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		first := !lost[r.URL.RawQuery]
		lost[r.URL.RawQuery] = true
		mu.Unlock()
		if first {
			panic(http.ErrAbortHandler)
		}
		s.ServeHTTP(w, r)
	})
	rows, err := listAll(t.Context(), open(t, h, config{"page_size": 10}))
	if err != nil {
		t.Fatal(err)
	}
	checkComplete(t, rows, 45)
}

// TestListCanceled lets the caller go while pages are fetched ahead.
func TestListCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &pages{}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q, _ := url.QueryUnescape(r.URL.RawQuery); strings.Contains(q, "STARTPOSITION 28 ") {
			cancel()
			<-r.Context().Done()
			return
		}
		s.ServeHTTP(w, r)
	})
	s.answer = func(position, size int) string { return rowsFrom(position, size, 100) }
	_, err := listAll(ctx, open(t, h, config{"page_size": 10}))
	wantError(t, err, providers.KindCanceled, "request canceled")
}
