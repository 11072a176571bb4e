// Package maintenancetest has the conformance suite for providers of fleet maintenance.
// A provider that passes it can be used in the gateway's maintenance area.
package maintenancetest

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers/internal/upstreamtest"
	"github.com/fleetgate/fleetgate/providers/maintenance"
)

// Harness is what the suite has to know of a provider.
type Harness struct {
	// New returns a provider that is ready for use and calls up. What has to be
	// released after the test is the harness' own affair ([testing.T.Cleanup]).
	New func(t *testing.T, up Upstream) maintenance.Provider

	// NewService returns a simulation of the provider's service, without any session.
	// It should be strict: what the real service would refuse is an error of t.
	NewService func(t *testing.T) Service

	// IsLogin tells the requests that log in from those that list orders, by
	// method and URL. It is nil for a provider without sessions.
	IsLogin func(r *http.Request) bool

	// Good is accepted by the service. Bad is refused; it should be the same user as
	// Good with another secret, so that their sessions are seen to be kept apart.
	Good, Bad maintenance.Credential

	Full maintenance.Query // a query that orders match
	None maintenance.Query // a query that none matches
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

// classList is the class of the calls that list orders.
const classList upstreamtest.Class = "list"

// Run checks the provider of h.
func Run(t *testing.T, h Harness) {
	t.Run("ok/display name", func(t *testing.T) {
		p, _ := h.start(t, upstreamtest.Patience)
		if p.DisplayName() == "" {
			t.Error("the display name is empty")
		}
	})
	t.Run("ok/orders", func(t *testing.T) {
		p, _ := h.start(t, upstreamtest.Patience)
		if n := count(t, h.must(t, p, h.Full)); n == 0 {
			t.Error("no orders match a query that some match")
		}
	})
	t.Run("ok/no match", func(t *testing.T) {
		p, _ := h.start(t, upstreamtest.Patience)
		if arrays := h.must(t, p, h.None); len(arrays) != 0 {
			t.Errorf("%d arrays for a query that no order matches", len(arrays))
		}
	})
	suite := upstreamtest.Suite[maintenance.Credential]{
		Start: func(t *testing.T, timeout time.Duration) upstreamtest.Stage[maintenance.Credential] {
			_, stage := h.start(t, timeout)
			return stage
		},
		Class:    classList,
		Sessions: h.IsLogin != nil,
		Good:     h.Good,
		Bad:      h.Bad,
		Secrets: func(cred maintenance.Credential) []string {
			return []string{cred.Username, cred.APIKey}
		},
		Bodies: upstreamtest.Bodies{
			Truncated: `{"repair_orders":[{"id":"1`,
			NotUTF8:   "{\"result\":\"\xff\"}",
			Other:     `[]`,
		},
	}
	suite.Run(t)
}

// start returns a provider, by itself and beside the service that it calls.
func (h Harness) start(t *testing.T, timeout time.Duration) (maintenance.Provider, upstreamtest.Stage[maintenance.Credential]) {
	t.Helper()
	service := h.NewService(t)
	server := upstreamtest.Serve(t, service, h.classOf)
	p := h.New(t, Upstream{URL: server.URL, Timeout: timeout})
	return p, upstreamtest.Stage[maintenance.Credential]{
		Server: server,
		Call: func(ctx context.Context, cred maintenance.Credential) (int, error) {
			arrays, err := p.Orders(ctx, cred, h.Full)
			if err != nil {
				return 0, err
			}
			return count(t, arrays), nil
		},
		EndSessions: service.EndSessions,
	}
}

func (h Harness) classOf(r *http.Request) upstreamtest.Class {
	if h.IsLogin != nil && h.IsLogin(r) {
		return upstreamtest.LogIn
	}
	return classList
}

// must returns the arrays of a call that has to succeed.
func (h Harness) must(t *testing.T, p maintenance.Provider, q maintenance.Query) [][]byte {
	t.Helper()
	arrays, err := p.Orders(t.Context(), h.Good, q)
	if err != nil {
		t.Fatalf("the call failed: %v", err)
	}
	return arrays
}

// count returns the number of orders in all arrays.
func count(t *testing.T, arrays [][]byte) int {
	t.Helper()
	n := 0
	for _, array := range arrays {
		var orders []map[string]json.RawMessage
		if err := json.Unmarshal(array, &orders); err != nil {
			t.Errorf("not an array of objects: %v", err)
		}
		n += len(orders)
	}
	return n
}
