package outbound

import (
	"io"
	"sync/atomic"
)

// Budget is how many bytes the answers of several calls may have together, so that a
// request which takes many calls needs no more memory than one which takes a single
// call. It is charged while the answers are read, those to calls that are repeated
// later included; a call that exceeds it fails as [TooLarge]. It is safe for
// concurrent use.
type Budget struct {
	left atomic.Int64
}

// NewBudget returns a budget of max_body for the calls that are made for one request.
func (c *Client) NewBudget() *Budget {
	b := new(Budget)
	b.left.Store(c.MaxBody)
	return b
}

// budgetReader reads a body at the expense of a budget.
type budgetReader struct {
	body     io.Reader
	budget   *Budget
	exceeded error // what Read returns then
}

func (r *budgetReader) Read(p []byte) (int, error) {
	n, err := r.body.Read(p)
	if r.budget.left.Add(-int64(n)) < 0 {
		return n, r.exceeded
	}
	return n, err
}
