// Package areatest runs scenarios against the area handlers: one request, one answer,
// and what must and must not be in it. It loads a handler the way Caddy does and holds
// every answer to the rules that all areas share.
package areatest

import (
	"net/http"

	"github.com/fleetgate/fleetgate/modules/gateway"
)

// Secret marks what no answer and no log line may show. Scenarios put it into every
// credential and every provider error that only logs may read.
const Secret = "s3cr3t"

// Scenario is one request to an area handler and the answer that it must get.
type Scenario[F any] struct {
	// Name is the name of the subtest, ok/… or fail/….
	Name string

	Method string // default GET
	Target string // path and query without the base
	Header http.Header
	Body   string

	// Verdict is what gateway_auth found out; nil when it did not run.
	Verdict *gateway.Verdict

	// Provider sets the area's fake provider up; nil leaves it as it was made.
	Provider func(F)

	WantStatus int    // default 200
	WantCode   string // X-Error-Code; "" for none

	// WantHeader are response headers with their exact values; "" means absent.
	WantHeader map[string]string

	WantBody     string   // exact, unless ""
	WantContains []string // in the body
	NotContains  []string // neither in the body nor in a header

	// WantCalls is how often the provider was asked; 0 means that nothing went
	// upstream.
	WantCalls int

	// Check looks at what else the fake provider saw; may be nil.
	Check func(F) error
}

// Allowed returns the verdict on a caller whose token has the scopes; none allow
// every area.
func Allowed(scopes ...string) *gateway.Verdict {
	return &gateway.Verdict{
		AccountID: "acc_1", Account: "acme", TokenID: "tok_1",
		Scopes: scopes, Reason: gateway.ReasonOK,
	}
}

// Refused returns the verdict on a caller who is not let in.
func Refused(reason gateway.Reason) *gateway.Verdict {
	return &gateway.Verdict{Reason: reason}
}
