package gateway

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/store"
)

// memory is a store in memory, with the few methods that the runtime needs. It is
// its own backend. Tests stop it in the middle of a read and take it away.
type memory struct {
	store.Store

	mu      sync.Mutex
	tokens  map[store.Hash]store.Token
	changes []store.TokenChange
	away    error
	reads   int
	opens   int
	closed  bool

	// afterRead, when set, runs after a token was read and before it is returned.
	afterRead func()
}

var errAway = fmt.Errorf("%w: gone fishing", store.ErrUnavailable)

func newMemory() *memory {
	return &memory{tokens: make(map[store.Hash]store.Token)}
}

func (m *memory) Identity() string { return fmt.Sprintf("memory:%p", m) }

func (m *memory) Open(context.Context) (store.Store, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opens++
	return m, m.away
}

func (m *memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.away = true, errAway
	return nil
}

func (m *memory) Ping(context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.away
}

func (m *memory) TokenByHash(ctx context.Context, hash store.Hash) (store.Token, error) {
	m.mu.Lock()
	m.reads++
	token, ok := m.tokens[hash]
	away, afterRead := m.away, m.afterRead
	m.mu.Unlock()
	if afterRead != nil {
		afterRead()
	}
	switch {
	case ctx.Err() != nil:
		return store.Token{}, ctx.Err()
	case away != nil:
		return store.Token{}, away
	case !ok:
		return store.Token{}, store.ErrNotFound
	default:
		return token, nil
	}
}

func (m *memory) TokenSequence(context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return int64(len(m.changes)), m.away
}

func (m *memory) TokenChanges(_ context.Context, after int64) ([]store.TokenChange, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away != nil {
		return nil, m.away
	}
	return append([]store.TokenChange(nil), m.changes[after:]...), nil
}

func (m *memory) RevokeToken(_ context.Context, id string, at time.Time) (store.Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away != nil {
		return store.Token{}, m.away
	}
	for hash, token := range m.tokens {
		if token.ID == id {
			token.Revoked = at
			m.tokens[hash] = token
			m.changes = append(m.changes, store.TokenChange{Seq: int64(len(m.changes) + 1), TokenID: id, Hash: hash})
			return token, nil
		}
	}
	return store.Token{}, store.ErrNotFound
}

func (m *memory) TouchTokens(_ context.Context, uses []store.TokenUse) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.away != nil {
		return m.away
	}
	for _, use := range uses {
		for hash, token := range m.tokens {
			if token.ID == use.TokenID {
				token.LastUsed = use.Time
				m.tokens[hash] = token
			}
		}
	}
	return nil
}

// add issues a token with that id and returns its value.
func (m *memory) add(t *testing.T, id string, expires time.Time) string {
	t.Helper()
	value := newTokenValue()
	hash, err := ParseToken(value)
	if err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tokens[hash] = store.Token{ID: id, AccountID: "acc_" + id, Account: "name-" + id, Hash: hash, Scopes: []string{"maps"}, Expires: expires}
	return value
}

// set changes the store under its lock.
func (m *memory) set(change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change()
}

// readCount returns how often a token was read.
func (m *memory) readCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads
}

// newTestApp returns an app on the store with the default options, as Provision
// leaves it, and gives it back when the test ends.
func newTestApp(t *testing.T, m *memory, logger *zap.Logger) *App {
	t.Helper()
	a := &App{
		TokenCacheTTL:  caddy.Duration(defaultTokenCacheTTL),
		TokenMaxStale:  caddy.Duration(defaultTokenMaxStale),
		RevocationPoll: caddy.Duration(defaultRevocationPoll),
		logger:         logger,
		started:        new(atomic.Bool),
	}
	a.acquire(m)
	t.Cleanup(func() {
		if err := a.Stop(); err != nil {
			t.Errorf("Stop: %v", err)
		}
		if err := a.Cleanup(); err != nil {
			t.Errorf("Cleanup: %v", err)
		}
	})
	return a
}

// expect fails the test unless the token gets that reason.
func expect(t *testing.T, a *App, value string, want Reason) {
	t.Helper()
	if v := a.Authenticate(t.Context(), value); v.Reason != want {
		t.Errorf("the token is %v, want %v", v.Reason, want)
	}
}

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
		id := fmt.Sprint(round)
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

func TestOutage(t *testing.T) {
	t.Run("ok/known tokens work for the stated time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			core, logs := observer.New(zapcore.InfoLevel)
			a := newTestApp(t, m, zap.New(core))
			if err := a.Start(); err != nil {
				t.Fatal(err)
			}
			known, other := m.add(t, "t1", time.Time{}), m.add(t, "t2", time.Time{})
			expect(t, a, known, ReasonOK)
			// The feed vouches for the entry long after it was read.
			time.Sleep(time.Hour)
			synctest.Wait()
			m.set(func() { m.away = errAway })

			time.Sleep(defaultTokenMaxStale - time.Second)
			expect(t, a, known, ReasonOK)
			expect(t, a, other, ReasonUnavailable)
			expect(t, a, "garbage", ReasonMalformed)
			time.Sleep(time.Second + defaultRevocationPoll)
			expect(t, a, known, ReasonUnavailable)
			if err := a.Ready(t.Context()); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("Ready: %v", err)
			}

			m.set(func() { m.away = nil })
			expect(t, a, known, ReasonOK)
			expect(t, a, other, ReasonOK)
			if err := a.Ready(t.Context()); err != nil {
				t.Errorf("Ready: %v", err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			var messages []string
			for _, entry := range logs.All() {
				messages = append(messages, entry.Level.String()+" "+entry.Message)
			}
			want := "[error the store cannot be asked; known tokens keep working for a time info the store answers again]"
			if got := fmt.Sprint(messages); got != want {
				t.Errorf("log %s, want %s", got, want)
			}
		})
	})
	t.Run("ok/an outage does not slow known tokens", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			a := newTestApp(t, m, zap.NewNop())
			known := m.add(t, "t1", time.Time{})
			expect(t, a, known, ReasonOK)
			time.Sleep(defaultTokenCacheTTL)
			m.set(func() { m.away = errAway })
			before := m.readCount()
			for range 10 {
				expect(t, a, known, ReasonOK)
			}
			if n := m.readCount() - before; n != 1 {
				t.Errorf("the store was asked %d times within a second, want once", n)
			}
			time.Sleep(retryPause)
			expect(t, a, known, ReasonOK)
			if n := m.readCount() - before; n != 2 {
				t.Errorf("the store was asked %d times in all, want twice", n)
			}
		})
	})
	t.Run("ok/a revocation during the outage holds after it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			a := newTestApp(t, m, zap.NewNop())
			if err := a.Start(); err != nil {
				t.Fatal(err)
			}
			known := m.add(t, "t1", time.Time{})
			expect(t, a, known, ReasonOK)
			if _, err := m.RevokeToken(t.Context(), "t1", time.Now()); err != nil {
				t.Fatal(err)
			}
			m.set(func() { m.away = errAway })
			time.Sleep(10 * time.Second)
			expect(t, a, known, ReasonOK)
			m.set(func() { m.away = nil })
			time.Sleep(defaultRevocationPoll)
			synctest.Wait()
			expect(t, a, known, ReasonRevoked)
		})
	})
	t.Run("fail/the store cannot be opened", func(t *testing.T) {
		m := newMemory()
		m.away = errAway
		a := newTestApp(t, m, zap.NewNop())
		value := m.add(t, "t1", time.Time{})
		expect(t, a, value, ReasonUnavailable)
		if err := a.Start(); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("Start: %v", err)
		}
		if err := a.Ready(t.Context()); err == nil {
			t.Error("the app is ready")
		}
		m.set(func() { m.away = nil })
		expect(t, a, value, ReasonOK)
	})
}

// TestRevocationElsewhere checks that a revocation by another process holds
// within the interval of the poll.
func TestRevocationElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := newTestApp(t, m, zap.NewNop())
		if err := a.Start(); err != nil {
			t.Fatal(err)
		}
		value := m.add(t, "t1", time.Time{})
		expect(t, a, value, ReasonOK)
		time.Sleep(17 * time.Millisecond)
		if _, err := m.RevokeToken(t.Context(), "t1", time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(defaultRevocationPoll)
		synctest.Wait()
		expect(t, a, value, ReasonRevoked)
	})
}

func TestLastUsed(t *testing.T) {
	lastUsed := func(m *memory, value string) (at time.Time) {
		hash, _ := ParseToken(value)
		m.set(func() { at = m.tokens[hash].LastUsed })
		return at
	}
	t.Run("ok/written now and then, and at the end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			a := newTestApp(t, m, zap.NewNop())
			if err := a.Start(); err != nil {
				t.Fatal(err)
			}
			value, unused := m.add(t, "t1", time.Time{}), m.add(t, "t2", time.Time{})
			begin := time.Now()
			expect(t, a, value, ReasonOK)
			if got := lastUsed(m, value); !got.IsZero() {
				t.Errorf("written at once: %v", got)
			}
			time.Sleep(flushInterval)
			synctest.Wait()
			if got := lastUsed(m, value); !got.Equal(begin) {
				t.Errorf("last used %v, want %v", got, begin)
			}
			second := time.Now()
			expect(t, a, value, ReasonOK)
			if err := a.Stop(); err != nil {
				t.Fatal(err)
			}
			if got := lastUsed(m, value); !got.Equal(second) {
				t.Errorf("last used %v, want %v", got, second)
			}
			if got := lastUsed(m, unused); !got.IsZero() {
				t.Errorf("a token that nobody used: %v", got)
			}
		})
	})
	t.Run("ok/kept until it can be written", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			a := newTestApp(t, m, zap.NewNop())
			value := m.add(t, "t1", time.Time{})
			begin := time.Now()
			expect(t, a, value, ReasonOK)
			m.set(func() { m.away = errAway })
			if err := a.runtime.flush(t.Context()); err == nil {
				t.Error("it was written to a store that is away")
			}
			m.set(func() { m.away = nil })
			if err := a.runtime.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := lastUsed(m, value); !got.Equal(begin) {
				t.Errorf("last used %v, want %v", got, begin)
			}
		})
	})
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
