package lytx

import (
	"sync"
	"time"
)

// attempts knows the fetches of missing catalogs that are under way. It is safe for
// concurrent use.
type attempts struct {
	mu     sync.Mutex
	starts map[cacheKey]time.Time
}

func newAttempts() *attempts {
	return &attempts{starts: make(map[cacheKey]time.Time)}
}

// began returns when the fetch of a catalog began, if there is one.
func (a *attempts) began(key cacheKey) (time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	at, ok := a.starts[key]
	return at, ok
}

// begin notes the beginning of a fetch until it calls the function returned.
func (a *attempts) begin(key cacheKey, now time.Time) (end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.starts[key] = now
	return func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.starts, key)
	}
}
