package quickbooks

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLimiter has many calls begin at once, a few of which give up, and counts how many
// begin within any second.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiters(10)
		begin := time.Now()
		var mu sync.Mutex
		var starts []time.Duration
		var wg sync.WaitGroup
		for i := range 45 {
			ctx := t.Context()
			if i%9 == 8 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, time.Millisecond)
				defer cancel()
			}
			wg.Go(func() {
				if err := l.wait(ctx, "a"); err != nil {
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					return
				}
				mu.Lock()
				defer mu.Unlock()
				starts = append(starts, time.Since(begin))
			})
			synctest.Wait()
		}
		wg.Wait()
		if len(starts) < 40 {
			t.Fatalf("%d calls began", len(starts))
		}
		if !slices.IsSorted(starts) || starts[9] != 0 || starts[10] != window {
			t.Errorf("the starts are %v", starts)
		}
		for i := 10; i < len(starts); i++ {
			if gap := starts[i] - starts[i-10]; gap < window {
				t.Errorf("11 calls within %v", gap)
			}
		}
		if took, most := starts[len(starts)-1], 4*window; took > most {
			t.Errorf("all calls took %v, want %v at most", took, most)
		}
	})
}

func TestLimiterKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiters(1)
		begin := time.Now()
		for _, key := range []string{"a", "b", "c"} {
			if err := l.wait(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(begin); took != 0 {
			t.Errorf("calls of others were waited for, %v", took)
		}
		if err := l.wait(t.Context(), "b"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took != window {
			t.Errorf("the second call began after %v", took)
		}
	})
}

func TestLimiterDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiters(1)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.wait(ctx, "a"); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		begin := time.Now()
		if err := l.wait(t.Context(), "a"); err != nil || time.Since(begin) != 0 {
			t.Errorf("a call that was not made counts: %v after %v", err, time.Since(begin))
		}
	})
}

// TestLimitersBounded uses a new key for each call.
func TestLimitersBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiters(10)
		most := 0
		for i := range 100_000 {
			if err := l.wait(t.Context(), strconv.Itoa(i)); err != nil {
				t.Fatal(err)
			}
			most = max(most, len(l.byKey))
			if i%10 == 9 {
				time.Sleep(10 * time.Millisecond) // 1,000 keys a second
			}
		}
		if most > 4*minSweep {
			t.Errorf("%d limiters", most)
		}
	})
}
