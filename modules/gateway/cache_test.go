package gateway

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/store"
)

func TestAuthenticate(t *testing.T) {
	defer goleak.VerifyNone(t)
	m := newMemory()
	a := newTestApp(t, m, zap.NewNop())
	known := m.add(t, "t1", time.Time{})

	t.Run("ok/known", func(t *testing.T) {
		v := a.Authenticate(t.Context(), known)
		if !v.Authenticated() || v.AccountID != "acc_t1" || v.Account != "name-t1" || v.TokenID != "t1" || !v.Allows("maps", true) || v.Allows("fuel", false) {
			t.Errorf("verdict %+v", v)
		}
	})
	t.Run("ok/from the cache", func(t *testing.T) {
		before := m.readCount()
		for range 10 {
			expect(t, a, known, ReasonOK)
		}
		if after := m.readCount(); after != before {
			t.Errorf("the store was read %d times", after-before)
		}
	})
	t.Run("ok/from the cache without allocating", func(t *testing.T) {
		ctx := t.Context()
		if n := testing.AllocsPerRun(1000, func() { a.Authenticate(ctx, known) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
	t.Run("fail/unknown, each time anew", func(t *testing.T) {
		before := m.readCount()
		value := newTokenValue()
		expect(t, a, value, ReasonUnknown)
		hash, _ := ParseToken(value)
		m.set(func() { m.tokens[hash] = store.Token{ID: "late", Hash: hash} })
		expect(t, a, value, ReasonOK)
		if after := m.readCount(); after != before+2 {
			t.Errorf("the store was read %d times, want 2", after-before)
		}
	})
	t.Run("fail/malformed without the store", func(t *testing.T) {
		before := m.readCount()
		expect(t, a, "garbage", ReasonMalformed)
		expect(t, a, "", ReasonMalformed)
		if after := m.readCount(); after != before {
			t.Error("the store was read")
		}
	})
	t.Run("fail/revoked in this process", func(t *testing.T) {
		value := m.add(t, "t2", time.Time{})
		expect(t, a, value, ReasonOK)
		if _, err := a.RevokeToken(t.Context(), "t2"); err != nil {
			t.Fatal(err)
		}
		v := a.Authenticate(t.Context(), value)
		if v.Reason != ReasonRevoked || v.Account != "" || v.AccountID != "" || v.TokenID != "" {
			t.Errorf("verdict %+v", v)
		}
	})
	t.Run("fail/revoke what is not there", func(t *testing.T) {
		if _, err := a.RevokeToken(t.Context(), "nothing"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("ok/the read goes on without the caller who began it", func(t *testing.T) {
		value := m.add(t, "t3", time.Time{})
		ctx, cancel := context.WithCancel(t.Context())
		m.set(func() { m.afterRead = cancel })
		defer m.set(func() { m.afterRead = nil })
		if v := a.Authenticate(ctx, value); !v.Authenticated() {
			t.Errorf("verdict %+v", v)
		}
	})
}

func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := newTestApp(t, m, zap.NewNop())
		value := m.add(t, "t1", time.Now().Add(10*time.Second))
		expect(t, a, value, ReasonOK)
		time.Sleep(10*time.Second - time.Nanosecond)
		expect(t, a, value, ReasonOK)
		time.Sleep(time.Nanosecond)
		expect(t, a, value, ReasonExpired)
		if m.readCount() != 1 {
			t.Errorf("the store was read %d times", m.readCount())
		}
	})
}

// TestRevocationRace revokes a token while the cache is being filled from a read
// of the store that is older than the revocation.
func TestRevocationRace(t *testing.T) {
	ways := map[string]func(a *App) error{
		"this process": func(a *App) error {
			_, err := a.RevokeToken(context.Background(), "t1")
			return err
		},
		"another process": func(a *App) error {
			s, err := a.runtime.open(context.Background())
			if err != nil {
				return err
			}
			if _, err := s.RevokeToken(context.Background(), "t1", time.Now()); err != nil {
				return err
			}
			return a.runtime.poll(context.Background())
		},
	}
	fills := map[string]func(t *testing.T, a *App, value string){
		"first fill": func(*testing.T, *App, string) {},
		"renewal": func(t *testing.T, a *App, value string) {
			expect(t, a, value, ReasonOK)
			time.Sleep(time.Duration(a.TokenCacheTTL))
		},
		"renewal of what is too old": func(t *testing.T, a *App, value string) {
			expect(t, a, value, ReasonOK)
			time.Sleep(time.Duration(a.TokenMaxStale))
		},
	}
	for way, revoke := range ways {
		for fill, prepare := range fills {
			t.Run("ok/"+way+", "+fill, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := newMemory()
					a := newTestApp(t, m, zap.NewNop())
					value := m.add(t, "t1", time.Time{})
					prepare(t, a, value)
					if err := a.runtime.poll(t.Context()); err != nil {
						t.Fatal(err)
					}

					hasRead, mayReturn := make(chan struct{}), make(chan struct{})
					var held atomic.Bool
					m.set(func() {
						m.afterRead = func() {
							if held.CompareAndSwap(false, true) { // only the first read is held up
								close(hasRead)
								<-mayReturn
							}
						}
					})
					var group sync.WaitGroup
					verdicts := make([]*Verdict, 3)
					group.Go(func() { verdicts[0] = a.Authenticate(t.Context(), value) })
					<-hasRead
					if err := revoke(a); err != nil {
						t.Fatal(err)
					}
					group.Go(func() { verdicts[1] = a.Authenticate(t.Context(), value) })
					synctest.Wait()
					close(mayReturn)
					group.Wait()
					verdicts[2] = a.Authenticate(t.Context(), value)
					for i, v := range verdicts {
						if v.Reason != ReasonRevoked {
							t.Errorf("caller %d: %v, want revoked", i, v.Reason)
						}
					}
				})
			})
		}
	}
}

// TestRevocationRaceWild does the same without a script: once a revocation is
// confirmed, nobody gets in.
func TestRevocationRaceWild(t *testing.T) {
	defer goleak.VerifyNone(t)
	m := newMemory()
	a := newTestApp(t, m, zap.NewNop())
	a.TokenCacheTTL = 1 // every use renews
	for round := range 200 {
		id := strconv.Itoa(round)
		value := m.add(t, id, time.Time{})
		var (
			group   sync.WaitGroup
			revoked atomic.Bool
		)
		for range 4 {
			group.Go(func() {
				for range 50 {
					late := revoked.Load()
					if v := a.Authenticate(t.Context(), value); late && v.Authenticated() {
						t.Errorf("round %d: a revoked token got in", round)
						return
					}
				}
			})
		}
		if _, err := a.RevokeToken(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		revoked.Store(true)
		group.Wait()
		expect(t, a, value, ReasonRevoked)
	}
}

// TestPool checks who holds the runtime, and that nobody gives back what he did
// not take.
func TestPool(t *testing.T) {
	m := newMemory()
	first := newTestApp(t, m, zap.NewNop())
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	second := newTestApp(t, m, zap.NewNop())
	if second.runtime != first.runtime {
		t.Error("two runtimes on one store")
	}
	neverAcquired := new(App)
	for _, a := range []*App{neverAcquired, second, second} {
		if err := a.Cleanup(); err != nil {
			t.Fatal(err)
		}
	}
	if m.closed {
		t.Fatal("the store of the live configuration was closed")
	}
	value := m.add(t, "t1", time.Time{})
	expect(t, first, value, ReasonOK)
	// A request of the old configuration that is still running.
	expect(t, second, value, ReasonOK)

	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := first.Cleanup(); err != nil {
		t.Fatal(err)
	}
	if !m.closed || m.opens != 1 {
		t.Errorf("closed %v, opened %d times", m.closed, m.opens)
	}
	expect(t, first, value, ReasonOK)
	expect(t, first, newTokenValue(), ReasonUnavailable)
	if _, held := runtimes.References(m.Identity()); held {
		t.Error("the pool still holds the runtime")
	}
}

func BenchmarkAuthenticateCached(b *testing.B) {
	m := newMemory()
	a := &App{TokenCacheTTL: caddy.Duration(time.Hour), TokenMaxStale: caddy.Duration(time.Hour), logger: zap.NewNop(), started: new(atomic.Bool)}
	a.acquire(m)
	defer a.Cleanup()
	value := newTokenValue()
	hash, err := ParseToken(value)
	if err != nil {
		b.Fatal(err)
	}
	m.tokens[hash] = store.Token{ID: "t1", Hash: hash}
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if v := a.Authenticate(ctx, value); !v.Authenticated() {
			b.Fatal(v.Reason)
		}
	}
}
