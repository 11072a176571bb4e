package gateway

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

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

func (m *memory) Exists(context.Context) (bool, error) { return true, nil }

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
