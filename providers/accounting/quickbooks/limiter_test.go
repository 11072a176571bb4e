package quickbooks

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetgate/fleetgate/providers/accounting"
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
				time.Sleep(100 * time.Millisecond) // 6,000 keys a minute
			}
		}
		if most > 2*6000+minSweep {
			t.Errorf("%d limiters", most)
		}
	})
}

// TestLimiterMinute has calls begin for minutes, as fast as they may.
func TestLimiterMinute(t *testing.T) {
	for _, tc := range []struct {
		name          string
		calls, minute int
	}{
		{"ok/by default", defaultRate, 480},
		{"ok/slow", 2, 480},
		{"ok/fast", 100, 4800},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiters(tc.calls)
				var starts []time.Time
				for range 3 * tc.minute {
					if err := l.wait(t.Context(), "a"); err != nil {
						t.Fatal(err)
					}
					starts = append(starts, time.Now())
				}
				for i := range starts {
					if n := i - tc.minute; n >= 0 && starts[i].Sub(starts[n]) < minute {
						t.Fatalf("%d calls within a minute", tc.minute+1)
					}
					if n := i - tc.calls; n >= 0 && starts[i].Sub(starts[n]) < window {
						t.Fatalf("%d calls within a second", tc.calls+1)
					}
				}
				least := 2 * minute
				if slow := time.Duration((len(starts)-1)/tc.calls) * window; slow > least+minute {
					least = slow
				}
				if took := starts[len(starts)-1].Sub(starts[0]); took < least || took >= least+minute {
					t.Errorf("all calls took %v, want %v or little more", took, least)
				}
			})
		})
	}
}

// TestLimiterHold holds calls back, while one of them waits for its start already.
func TestLimiterHold(t *testing.T) {
	for _, tc := range []struct {
		name       string
		hold, wait time.Duration
	}{
		{"ok/short", 5 * time.Second, 5 * time.Second},
		{"ok/long", time.Hour, time.Minute},
		{"ok/shorter than the rate's", time.Millisecond, window},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLimiters(1)
				start := time.Now()
				if err := l.wait(t.Context(), "a"); err != nil {
					t.Fatal(err)
				}
				done := make(chan time.Duration)
				go func() {
					if err := l.wait(t.Context(), "a"); err != nil {
						t.Error(err)
					}
					done <- time.Since(start)
				}()
				synctest.Wait()
				l.hold("a", tc.hold)
				l.hold("a", 0) // does not end it
				if err := l.wait(t.Context(), "b"); err != nil || time.Since(start) != 0 {
					t.Errorf("another key waited for %v, %v", time.Since(start), err)
				}
				if tc.wait > window { // a call with less time does not wait behind the other
					ctx, cancel := context.WithTimeout(t.Context(), window)
					busy, ok := errors.AsType[*busyError](l.wait(ctx, "a"))
					if cancel(); !ok || busy.retryAfter != tc.wait || time.Since(start) != 0 {
						t.Errorf("got %+v after %v", busy, time.Since(start))
					}
				}
				if took := <-done; took != tc.wait {
					t.Errorf("the call began after %v, want %v", took, tc.wait)
				}
			})
		})
	}
}

// TestLimiterQueue has more calls wait than there may.
func TestLimiterQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiters(1)
		var wg sync.WaitGroup
		for range 1 + 1 + maxQueue { // one begins, one has the turn
			wg.Go(func() {
				if err := l.wait(t.Context(), "a"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		start := time.Now()
		busy, ok := errors.AsType[*busyError](l.wait(t.Context(), "a"))
		if !ok || busy.retryAfter != (1+maxQueue)*window || time.Since(start) != 0 {
			t.Errorf("got %+v after %v", busy, time.Since(start))
		}
		if err := l.wait(t.Context(), "b"); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if err := l.wait(t.Context(), "a"); err != nil {
			t.Errorf("after the queue: %v", err)
		}
	})
}

// TestRateShared has all kinds of calls to one company count together, also with another
// token, and those to another company apart.
func TestRateShared(t *testing.T) {
	s := &script{answers: []http.HandlerFunc{with(200, single("Vendor", `{"Id":"1"}`))}}
	p := open(t, s, nil)
	w := accounting.Write{Body: []byte(fullVendor), Key: "k"}
	if _, err := p.Read(t.Context(), good, accounting.KindVendor, "1", accounting.Query{}); err != nil {
		t.Fatal(err)
	}
	otherCompany := accounting.Credential{AccessToken: goodToken, RealmID: "1"}
	for _, cred := range []accounting.Credential{good, bad, otherCompany} {
		if _, err := p.Create(t.Context(), cred, accounting.KindVendor, w); err != nil {
			t.Fatal(err)
		}
	}
	for i, cred := range []accounting.Credential{good, bad, otherCompany} {
		lim := p.limiters.byKey[newCall(cred, "", "", "").limit]
		if want := []int{3, 3, 1}[i]; lim == nil || len(lim.starts) != want {
			t.Errorf("the limiter of credential %d is %+v, want %d starts", i, lim, want)
		}
	}
	if n := len(p.limiters.byKey); n != 2 {
		t.Errorf("%d limiters", n)
	}
}
