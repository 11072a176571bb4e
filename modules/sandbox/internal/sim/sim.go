// Package sim holds what the simulated providers share: the interface that each of
// them implements, faults, sessions, invented values and a JSON writer.
package sim

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Provider simulates the wire protocol of one provider. It is safe for concurrent use.
type Provider interface {
	// Serve fills a with the provider's answer to c.
	Serve(a *Answer, c Call)

	// Refuse fills a with the answer that the provider gives to c for a status of 400
	// or more, in its own error shape.
	Refuse(a *Answer, c Call, status int)

	// CredentialFault returns what follows "fault-" in the credential behind a data
	// call, and "" for any other call. Where a call carries a session instead of the
	// credential, the credential is the one that opened the session.
	CredentialFault(c Call) string
}

// Options configure a simulated provider. All fields are required.
type Options struct {
	Seed       uint64
	SessionTTL time.Duration
	Throttle   int // calls a second for one company; negative for no limit
	Now        func() time.Time
}

// Call is one request to a simulated provider.
type Call struct {
	Request *http.Request
	Path    string // relative to the provider's base URL, with a leading slash
	Query   Query
	Fault   Fault // what happens to the call; most faults need no knowledge of the provider
}

// Answer is what a simulated provider sends back. Its body is JSON unless the header
// says otherwise, and no body at all when it is empty.
type Answer struct {
	Status int
	Header http.Header // without Content-Length; Content-Type where it is not the usual one
	Body   []byte      // reused from call to call, so append to it and never replace it

	// Replay tells that the answer is that of an earlier call, which the provider
	// recognized and did not carry out again.
	Replay bool
}

// NewAnswer returns an empty answer.
func NewAnswer() *Answer { return &Answer{Header: make(http.Header)} }

// Reset empties the answer and keeps the memory of its body.
func (a *Answer) Reset() {
	clear(a.Header)
	a.Status, a.Body, a.Replay = 0, a.Body[:0], false
}

// Set fills the answer with a status and a body of text.
func (a *Answer) Set(status int, body string) {
	a.Status, a.Body = status, append(a.Body[:0], body...)
}

// Query holds query parameters by lower-case name: the names are compared without
// case by all providers known so far.
type Query map[string][]string

// ParseQuery reads a raw query. Parameters that cannot be decoded are left out.
func ParseQuery(raw string) Query {
	values, _ := url.ParseQuery(raw)
	q := make(Query, len(values))
	// Sorted, so that of several spellings the same one is always the first.
	for _, spelling := range slices.Sorted(maps.Keys(values)) {
		name := strings.ToLower(spelling)
		q[name] = append(q[name], values[spelling]...)
	}
	return q
}

// Get returns the first value of a parameter, "" when it is absent. The name is given
// in lower case.
func (q Query) Get(name string) string {
	if v := q[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Offset returns where a page begins. When rows shift, each page begins a tenth of a
// page too early, as if that many rows had arrived at the head of the list since the
// page before: every page repeats rows of the previous one, and what is counted by
// pages ends before the last rows.
func Offset(page, size int, f Fault) int {
	step := size
	if f == Shift && size > 1 {
		step -= max(1, size/10)
	}
	return int(min(int64(page-1)*int64(step), math.MaxInt32))
}
