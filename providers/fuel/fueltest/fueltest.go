// Package fueltest has the conformance suite for providers of fuel cards. A provider
// that passes it can be used in the gateway's fuel area.
package fueltest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/fuel"
)

// Harness is what the suite has to know of a provider.
type Harness struct {
	// New returns a provider that is ready for use and calls up. What has to be
	// released after the test is the harness' own affair ([testing.T.Cleanup]).
	New func(t *testing.T, up Upstream) fuel.Provider

	// NewService returns a simulation of the provider's service, without any session.
	// It should be strict: what the real service would refuse is an error of t.
	NewService func(t *testing.T) Service

	// IsLogin tells the requests that log in from those that fetch a report, by
	// method and URL. It is nil for a provider without sessions.
	IsLogin func(r *http.Request) bool

	// Good is accepted by the service. Bad is refused; it should be the same user as
	// Good with another secret, so that their sessions are seen to be kept apart.
	Good, Bad fuel.Credential

	Full fuel.Query // a window with transactions
	None fuel.Query // a window without
}

// Upstream is where a provider under test finds its service.
type Upstream struct {
	URL     string        // the base URL
	Timeout time.Duration // how long one call may take
}

// Service is a simulation of a provider's service. It must be safe for concurrent use.
type Service interface {
	http.Handler

	// EndSessions makes the service refuse the sessions that it has handed out.
	EndSessions()
}

// patience is the timeout of calls that are expected to succeed.
const patience = 30 * time.Second

// Run checks the provider of h.
func Run(t *testing.T, h Harness) {
	t.Run("ok/display name", func(t *testing.T) {
		p, _ := h.start(t, patience)
		if p.DisplayName() == "" {
			t.Error("the display name is empty")
		}
	})
	t.Run("ok/report", func(t *testing.T) {
		p, _ := h.start(t, patience)
		if n := count(t, h.must(t, p, h.Full)); n == 0 {
			t.Error("no transactions in a window that has some")
		}
	})
	t.Run("ok/empty window", func(t *testing.T) {
		p, _ := h.start(t, patience)
		if n := count(t, h.must(t, p, h.None)); n != 0 {
			t.Errorf("%d transactions in a window that has none", n)
		}
	})
	t.Run("ok/request id", func(t *testing.T) {
		p, w := h.start(t, patience)
		ctx := providers.WithRequestID(t.Context(), "request-4711")
		if _, err := p.Transactions(ctx, h.Good, h.Full); err != nil {
			t.Fatal(err)
		}
		if id := w.requestID(); id != "request-4711" {
			t.Errorf("X-Request-Id of the report call is %q", id)
		}
	})
	t.Run("ok/parallel callers", h.testParallel)
	t.Run("fail/credential refused", func(t *testing.T) {
		p, _ := h.start(t, patience)
		for range 2 {
			_, err := p.Transactions(t.Context(), h.Bad, h.Full)
			checkError(t, err, providers.ErrAuth, h.Bad)
		}
		h.must(t, p, h.Full) // one caller's refusal is not another's
	})
	t.Run("fail/credential refused beside a session", func(t *testing.T) {
		p, _ := h.start(t, patience)
		h.must(t, p, h.Full)
		_, err := p.Transactions(t.Context(), h.Bad, h.Full)
		checkError(t, err, providers.ErrAuth, h.Bad)
	})
	t.Run("fail/caller", h.testCaller)
	t.Run("fail/upstream", h.testFaults)
	if h.IsLogin != nil {
		t.Run("session", h.testSessions)
	}
}

// start returns a provider and the wire that it calls its service through.
func (h Harness) start(t *testing.T, timeout time.Duration) (fuel.Provider, *wire) {
	t.Helper()
	w := newWire(t, h.NewService(t), h.IsLogin)
	return h.New(t, Upstream{URL: w.url, Timeout: timeout}), w
}

func (h Harness) must(t *testing.T, p fuel.Provider, q fuel.Query) []byte {
	t.Helper()
	report, err := p.Transactions(t.Context(), h.Good, q)
	if err != nil {
		t.Fatalf("the call failed: %v", err)
	}
	return report
}

// testParallel has callers with good and bad credentials call at the same time.
func (h Harness) testParallel(t *testing.T) {
	p, _ := h.start(t, patience)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			report, err := p.Transactions(t.Context(), h.Good, h.Full)
			if err != nil {
				t.Errorf("good credential: %v", err)
			} else if count(t, report) == 0 {
				t.Error("good credential: no transactions")
			}
		})
		wg.Go(func() {
			_, err := p.Transactions(t.Context(), h.Bad, h.Full)
			checkError(t, err, providers.ErrAuth, h.Bad)
		})
	}
	wg.Wait()
}

// testCaller checks what becomes of a call whose caller goes away or is out of time.
func (h Harness) testCaller(t *testing.T) {
	t.Run("gone before", func(t *testing.T) {
		p, _ := h.start(t, patience)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := p.Transactions(ctx, h.Good, h.Full)
		checkError(t, err, providers.ErrCanceled, h.Good)
	})
	t.Run("gone meanwhile", func(t *testing.T) {
		p, w := h.start(t, patience)
		h.must(t, p, h.Full)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w.disturb(false, func(rw http.ResponseWriter, r *http.Request) {
			cancel()
			hang(rw, r)
		})
		_, err := p.Transactions(ctx, h.Good, h.Full)
		checkError(t, err, providers.ErrCanceled, h.Good)
	})
	t.Run("out of time", func(t *testing.T) {
		p, w := h.start(t, patience)
		h.must(t, p, h.Full)
		w.disturb(false, hang)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := p.Transactions(ctx, h.Good, h.Full)
		checkError(t, err, providers.ErrTimeout, h.Good)
	})
}

// testFaults disturbs either kind of call in every way.
func (h Harness) testFaults(t *testing.T) {
	t.Run("down", func(t *testing.T) {
		p, w := h.start(t, patience)
		w.close()
		_, err := p.Transactions(t.Context(), h.Good, h.Full)
		checkError(t, err, providers.ErrUnreachable, h.Good)
	})
	calls := map[string]bool{"report": false}
	if h.IsLogin != nil {
		calls["log-in"] = true
	}
	for call, login := range calls {
		for _, f := range faults {
			t.Run(call+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				p, w := h.start(t, f.timeout)
				w.disturb(login, f.serve)
				_, err := p.Transactions(t.Context(), h.Good, h.Full)
				pe := checkError(t, err, f.want, h.Good)
				if pe.RetryAfter != f.retryAfter {
					t.Errorf("RetryAfter is %v, want %v", pe.RetryAfter, f.retryAfter)
				}

				w.disturb(login, nil)
				h.must(t, p, h.Full) // and nothing of it is remembered
			})
		}
	}
}

// testSessions counts log-ins.
func (h Harness) testSessions(t *testing.T) {
	t.Run("ok/reused", func(t *testing.T) {
		p, w := h.start(t, patience)
		for range 5 {
			h.must(t, p, h.Full)
		}
		w.checkLogins(t, 1)
	})
	t.Run("ok/shared by parallel callers", func(t *testing.T) {
		p, w := h.start(t, patience)
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if _, err := p.Transactions(t.Context(), h.Good, h.Full); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		w.checkLogins(t, 1)
	})
	t.Run("ok/renewed once", func(t *testing.T) {
		p, w := h.start(t, patience)
		h.must(t, p, h.Full)
		w.service.EndSessions()
		h.must(t, p, h.Full)
		h.must(t, p, h.Full)
		w.checkLogins(t, 2)
	})
	t.Run("ok/renewed for parallel callers", func(t *testing.T) {
		p, w := h.start(t, patience)
		h.must(t, p, h.Full)
		w.service.EndSessions()
		var wg sync.WaitGroup
		for range 16 {
			wg.Go(func() {
				if _, err := p.Transactions(t.Context(), h.Good, h.Full); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		w.checkLogins(t, 2)
	})
	t.Run("fail/refused at once", func(t *testing.T) {
		p, w := h.start(t, patience)
		w.endAtOnce.Store(true)
		_, err := p.Transactions(t.Context(), h.Good, h.Full)
		checkError(t, err, providers.ErrAuth, h.Good)
		w.checkLogins(t, 1)

		_, err = p.Transactions(t.Context(), h.Good, h.Full)
		checkError(t, err, providers.ErrAuth, h.Good)
		w.checkLogins(t, 2)
	})
	t.Run("fail/credential withdrawn", func(t *testing.T) {
		p, w := h.start(t, patience)
		h.must(t, p, h.Full)
		w.service.EndSessions()
		w.disturb(true, func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(http.StatusUnauthorized)
		})
		_, err := p.Transactions(t.Context(), h.Good, h.Full)
		checkError(t, err, providers.ErrAuth, h.Good)
	})
}

// checkError checks the type and kind of an error and that nothing of it shows the
// credential.
func checkError(t *testing.T, err, want error, cred fuel.Credential) *providers.Error {
	t.Helper()
	pe, ok := err.(*providers.Error) //nolint:errorlint // the contract promises the type itself
	switch {
	case err == nil:
		t.Errorf("no error, want: %v", want)
		return &providers.Error{}
	case !ok:
		t.Errorf("the error is a %T: %v", err, err)
		return &providers.Error{}
	case !errors.Is(err, want):
		t.Errorf("the error is %q, want: %v", err, want)
	}
	texts := []string{pe.Message}
	for e := err; e != nil; e = errors.Unwrap(e) {
		texts = append(texts, e.Error())
	}
	for _, secret := range []string{cred.StartCode, cred.UserID, cred.Password} {
		if text := strings.Join(texts, "\n"); strings.Contains(text, secret) {
			t.Errorf("the error shows %q: %s", secret, text)
		}
	}
	return pe
}

// count returns the number of transactions in a report, flat or wrapped.
func count(t *testing.T, body []byte) int {
	t.Helper()
	var doc struct {
		Report struct {
			Transactions json.RawMessage `json:"transactions"`
		} `json:"report"`
		Transactions json.RawMessage `json:"transactions"`
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		t.Errorf("the report is no JSON object: %v", err)
		return 0
	}
	list := doc.Report.Transactions
	if list == nil {
		list = doc.Transactions
	}
	var rows []json.RawMessage
	switch {
	case len(list) == 0 || list[0] != '[' && list[0] != '{':
		return 0
	case list[0] == '{':
		return 1 // XML turned into JSON knows no list of one
	}
	if err := json.Unmarshal(list, &rows); err != nil {
		t.Error(err)
	}
	return len(rows)
}
