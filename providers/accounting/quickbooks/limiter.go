package quickbooks

import (
	"context"
	"sync"
	"time"
)

// window is what QuickBooks counts calls in, and a little more: a call may be longer on
// its way than one that began after it.
const window = 1050 * time.Millisecond

// limiter lets a number of calls begin within any window. As opposed to a token bucket
// it never lets more of them begin in a second than the provider takes, and yet lets
// that many begin at once.
type limiter struct {
	turn   chan struct{} // full while the first in the queue waits for its start
	starts []time.Time   // the last ones, oldest at next
	next   int

	// Kept by limiters.
	users int // calls in the queue
	used  time.Time
}

func newLimiter(calls int) *limiter {
	return &limiter{turn: make(chan struct{}, 1), starts: make([]time.Time, calls)}
}

// wait returns when a call may begin. Calls begin in the order in which they came. It
// fails only because ctx is done.
func (l *limiter) wait(ctx context.Context) error {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	if err := sleep(ctx, time.Until(l.starts[l.next].Add(window))); err != nil {
		return err
	}
	l.starts[l.next] = time.Now()
	l.next = (l.next + 1) % len(l.starts)
	return nil
}

// sleep waits for d. It fails only because ctx is done.
func sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil || d <= 0 {
		return err
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// minSweep is how many limiters there are before idle ones are looked for.
const minSweep = 1024

// limiters has a limiter for each key that was used within the last window, and as
// many more at most.
type limiters struct {
	calls int

	mu    sync.Mutex
	byKey map[string]*limiter
	sweep int // how many there have to be before idle ones are dropped again
}

func newLimiters(calls int) *limiters {
	return &limiters{calls: calls, byKey: make(map[string]*limiter), sweep: minSweep}
}

// wait returns when a call under key may begin. It fails only because ctx is done.
func (l *limiters) wait(ctx context.Context, key string) error {
	lim := l.acquire(key)
	defer l.release(lim)
	return lim.wait(ctx)
}

func (l *limiters) acquire(key string) *limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	lim := l.byKey[key]
	if lim == nil {
		if len(l.byKey) >= l.sweep {
			l.dropIdle()
		}
		lim = newLimiter(l.calls)
		l.byKey[key] = lim
	}
	lim.users++
	return lim
}

func (l *limiters) release(lim *limiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lim.users--
	lim.used = time.Now()
}

// dropIdle drops the limiters that would not hold a call back.
func (l *limiters) dropIdle() {
	for key, lim := range l.byKey {
		if lim.users == 0 && time.Since(lim.used) >= window {
			delete(l.byKey, key)
		}
	}
	l.sweep = max(2*len(l.byKey), minSweep)
}
