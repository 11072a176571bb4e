// Package fueltest has the conformance suite for providers of fuel cards. A provider
// that passes it can be used in the gateway's fuel area.
package fueltest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers/fuel"
	"github.com/fleetgate/fleetgate/providers/internal/upstreamtest"
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

// classReport is the class of the calls that fetch a report.
const classReport upstreamtest.Class = "report"

// Run checks the provider of h.
func Run(t *testing.T, h Harness) {
	t.Run("ok/display name", func(t *testing.T) {
		p, _ := h.start(t, upstreamtest.Patience)
		if p.DisplayName() == "" {
			t.Error("the display name is empty")
		}
	})
	t.Run("ok/report", func(t *testing.T) {
		p, _ := h.start(t, upstreamtest.Patience)
		if n := count(t, h.must(t, p, h.Full)); n == 0 {
			t.Error("no transactions in a window that has some")
		}
	})
	t.Run("ok/empty window", func(t *testing.T) {
		p, _ := h.start(t, upstreamtest.Patience)
		if n := count(t, h.must(t, p, h.None)); n != 0 {
			t.Errorf("%d transactions in a window that has none", n)
		}
	})
	suite := upstreamtest.Suite[fuel.Credential]{
		Start: func(t *testing.T, timeout time.Duration) upstreamtest.Stage[fuel.Credential] {
			_, stage := h.start(t, timeout)
			return stage
		},
		Class:    classReport,
		Sessions: h.IsLogin != nil,
		Good:     h.Good,
		Bad:      h.Bad,
		Secrets: func(cred fuel.Credential) []string {
			return []string{cred.StartCode, cred.UserID, cred.Password}
		},
		Bodies: upstreamtest.Bodies{
			Truncated: `{"status":"success","data":{"to`,
			NotUTF8:   "{\"status\":\"\xff\"}",
			Other:     `[]`,
		},
	}
	suite.Run(t)
}

// start returns a provider, by itself and beside the service that it calls.
func (h Harness) start(t *testing.T, timeout time.Duration) (fuel.Provider, upstreamtest.Stage[fuel.Credential]) {
	t.Helper()
	service := h.NewService(t)
	server := upstreamtest.Serve(t, service, h.classOf)
	p := h.New(t, Upstream{URL: server.URL, Timeout: timeout})
	return p, upstreamtest.Stage[fuel.Credential]{
		Server: server,
		Call: func(ctx context.Context, cred fuel.Credential) (int, error) {
			report, err := p.Transactions(ctx, cred, h.Full)
			if err != nil {
				return 0, err
			}
			return count(t, report), nil
		},
		EndSessions: service.EndSessions,
	}
}

func (h Harness) classOf(r *http.Request) upstreamtest.Class {
	if h.IsLogin != nil && h.IsLogin(r) {
		return upstreamtest.LogIn
	}
	return classReport
}

// must returns the report of a call that has to succeed.
func (h Harness) must(t *testing.T, p fuel.Provider, q fuel.Query) []byte {
	t.Helper()
	report, err := p.Transactions(t.Context(), h.Good, q)
	if err != nil {
		t.Fatalf("the call failed: %v", err)
	}
	return report
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
