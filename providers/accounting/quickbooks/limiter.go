package quickbooks

import (
	"context"
	"sync"
	"time"
)

// Limits of QuickBooks, which takes 10 calls in a second and 500 in a minute.
const (
	// window is a second and a little more: a call may be longer on its way than one
	// that began after it.
	window = 1050 * time.Millisecond

	minute          = time.Minute
	minuteCalls     = 480
	minuteCallsEach = 48 // for each call a second, if the operator has more of them
)

// maxQueue is how many calls may wait under one key.
const maxQueue = 100

// maxHold bounds how long calls are held back on the provider's word.
const maxHold = time.Minute

// limiter lets a number of calls begin within any window, and another number within any
// minute. As opposed to a token bucket it never lets more of them begin in a second than
// the provider takes, and yet lets that many begin at once.
type limiter struct {
	calls  int           // in a window
	turn   chan struct{} // full while the first in the queue waits for its start
	starts []time.Time   // the last ones within a minute's number; a ring once full
	next   int           // of the ring, where the oldest start is

	mu   sync.Mutex
	held time.Time // until when no call begins

	// Kept by limiters.
	users int // calls in the queue
	used  time.Time
}

func newLimiter(calls int) *limiter {
	return &limiter{calls: calls, turn: make(chan struct{}, 1)}
}

// busyError is the error of a call that does not wait because it would be in vain.
type busyError struct {
	reason     string
	retryAfter time.Duration
}

func (e *busyError) Error() string { return e.reason }

// wait returns when a call may begin. Calls begin in the order in which they came. It
// fails with a [*busyError] if calls are held back for longer than ctx lasts, and else
// only because ctx is done.
func (l *limiter) wait(ctx context.Context) error {
	if _, err := l.heldFor(ctx); err != nil {
		return err // at once, not in its turn
	}
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-l.turn }()
	for {
		held, err := l.heldFor(ctx)
		if err != nil {
			return err
		}
		pause := max(held, l.pause())
		if err := sleep(ctx, pause); err != nil {
			return err
		}
		if pause <= 0 {
			l.begin()
			return nil
		}
	}
}

// heldFor returns for how long calls are held back from now on. The error says that it is
// for longer than ctx lasts.
func (l *limiter) heldFor(ctx context.Context) (time.Duration, error) {
	l.mu.Lock()
	held := max(time.Until(l.held), 0)
	l.mu.Unlock()
	if deadline, ok := ctx.Deadline(); ok && held > 0 && held >= time.Until(deadline) {
		return 0, &busyError{"held back, as the provider was throttling", held}
	}
	return held, nil
}

// hold holds calls back for d, or for as long as they are already.
func (l *limiter) hold(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := time.Now().Add(min(d, maxHold)); until.After(l.held) {
		l.held = until
	}
}

// minuteCalls is how many calls may begin within a minute.
func (l *limiter) minuteCalls() int { return max(minuteCalls, minuteCallsEach*l.calls) }

// pause returns how long the next call has to wait for its start.
func (l *limiter) pause() time.Duration {
	n := len(l.starts)
	var d time.Duration
	if n >= l.calls {
		d = time.Until(l.starts[(l.next+n-l.calls)%n].Add(window))
	}
	if n == l.minuteCalls() {
		d = max(d, time.Until(l.starts[l.next].Add(minute)))
	}
	return d
}

// begin counts a call that begins.
func (l *limiter) begin() {
	if len(l.starts) < l.minuteCalls() {
		l.starts = append(l.starts, time.Now())
		return
	}
	l.starts[l.next] = time.Now()
	l.next = (l.next + 1) % len(l.starts)
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

// limiters has a limiter for each key that was used within the last minute, and as
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

// wait returns when a call under key may begin. It fails with a [*busyError] if too many
// calls wait already or calls are held back for longer than ctx lasts, and else only
// because ctx is done.
func (l *limiters) wait(ctx context.Context, key string) error {
	lim, err := l.acquire(key)
	if err != nil {
		return err
	}
	defer l.release(lim)
	return lim.wait(ctx)
}

// hold holds the calls under key back for d, at most for [maxHold].
func (l *limiters) hold(key string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lim := l.get(key)
	lim.used = time.Now()
	lim.hold(d)
}

func (l *limiters) acquire(key string) (*limiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lim := l.get(key)
	if lim.users > maxQueue { // the first of them has its turn
		turns := 1 + maxQueue/l.calls
		return nil, &busyError{"too many calls are waiting", time.Duration(turns) * window}
	}
	lim.users++
	return lim, nil
}

// get returns the limiter of key. l.mu is held.
func (l *limiters) get(key string) *limiter {
	lim := l.byKey[key]
	if lim == nil {
		if len(l.byKey) >= l.sweep {
			l.dropIdle()
		}
		lim = newLimiter(l.calls)
		l.byKey[key] = lim
	}
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
		if lim.users == 0 && time.Since(lim.used) >= minute {
			delete(l.byKey, key)
		}
	}
	l.sweep = max(2*len(l.byKey), minSweep)
}
