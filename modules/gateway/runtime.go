package gateway

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/store"
)

// pollTimeout bounds one look at the store's feed of changes.
const pollTimeout = 2 * time.Second

// runtimes holds one runtime per store that a configuration names, by the store's
// identity, so that a reload neither closes the store nor opens it twice.
var runtimes = caddy.NewUsagePool()

// runtime is a store and the cache of its tokens, shared by every configuration
// that names the store.
type runtime struct {
	cache *tokenCache

	// holders are the apps of the configurations that hold the runtime, the newest
	// last; holding guards them.
	holding sync.Mutex
	holders []*App

	// opened is the store once it is open; opening guards the way there.
	opened  atomic.Pointer[store.Store]
	opening sync.Mutex
	closed  bool

	// position is the last change of the feed that was applied; polling guards it.
	polling  sync.Mutex
	position int64
}

// newRuntime returns a runtime that has not opened its store yet.
func newRuntime(now func() time.Time) *runtime {
	r := new(runtime)
	r.cache = newTokenCache(r.token, now)
	return r
}

// acquire takes the runtime of the backend's store from the pool. It cannot fail:
// a runtime that is made does nothing yet.
func (a *App) acquire(backend store.Backend) {
	key := backend.Identity()
	value, _, _ := runtimes.LoadOrNew(key, func() (caddy.Destructor, error) {
		return newRuntime(time.Now), nil
	})
	a.backend, a.runtime, a.key = backend, value.(*runtime), key
	a.runtime.hold(a)
}

// release is the reverse of acquire.
func (a *App) release() error {
	a.runtime.drop(a)
	key := a.key
	a.key = ""
	_, err := runtimes.Delete(key)
	return err
}

// hold makes the backend of an app the one that opens the store next.
func (r *runtime) hold(a *App) {
	r.holding.Lock()
	defer r.holding.Unlock()
	r.holders = append(r.holders, a)
}

// drop forgets the backend of an app, which is cleaned up with it. The next one may be
// that of an older configuration, when a newer one was rejected.
func (r *runtime) drop(a *App) {
	r.holding.Lock()
	defer r.holding.Unlock()
	r.holders = slices.DeleteFunc(r.holders, func(holder *App) bool { return holder == a })
}

// backend returns the backend of the newest configuration; nil when there is none.
func (r *runtime) backend() store.Backend {
	r.holding.Lock()
	defer r.holding.Unlock()
	if len(r.holders) == 0 {
		return nil
	}
	return r.holders[len(r.holders)-1].backend
}

// open returns the store and opens it when nobody did so before.
func (r *runtime) open(ctx context.Context) (store.Store, error) {
	if s := r.opened.Load(); s != nil {
		return *s, nil
	}
	r.opening.Lock()
	defer r.opening.Unlock()
	if s := r.opened.Load(); s != nil {
		return *s, nil
	}
	s, position, err := r.openNew(ctx)
	if err != nil {
		return nil, err
	}
	// The cache is empty: only changes from here on matter to it.
	r.position = position
	r.opened.Store(&s)
	return s, nil
}

// openNew opens a store, with the newest backend, and returns the last change in its
// feed. The caller holds opening.
func (r *runtime) openNew(ctx context.Context) (store.Store, int64, error) {
	backend := r.backend()
	if r.closed || backend == nil {
		return nil, 0, fmt.Errorf("%w: it is closed", store.ErrUnavailable)
	}
	s, err := backend.Open(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("opening the store: %w", err)
	}
	position, err := s.TokenSequence(ctx)
	if err != nil {
		_ = s.Close() // the reason to give up is err
		return nil, 0, fmt.Errorf("opening the store: %w", err)
	}
	return s, position, nil
}

// renew opens the store anew when the open one does not answer: the newest backend may
// know what the one that opened it did not, a new password for example. When that
// fails, the old one stays; otherwise it is returned as replaced. Closing that one is left
// to the caller, without the locks: its connections may keep it for long.
func (r *runtime) renew(ctx context.Context) (replaced store.Store, err error) {
	r.polling.Lock()
	defer r.polling.Unlock()
	old, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	pingCtx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	if old.Ping(pingCtx) == nil {
		return nil, nil
	}

	r.opening.Lock()
	defer r.opening.Unlock()
	s, position, err := r.openNew(ctx)
	if err != nil {
		return nil, err
	}
	// The feed is read on from where it was, so that no revocation is missed, unless it
	// is another one by now: the data may have been restored from a backup.
	r.position = min(r.position, position)
	r.opened.Store(&s)
	r.cache.invalidateAll()
	return old, nil
}

// Destruct implements [caddy.Destructor]. Requests in flight may still hold the
// runtime: the store answers them with [store.ErrUnavailable], and tokens that
// are in the cache go on working.
func (r *runtime) Destruct() error {
	r.opening.Lock()
	defer r.opening.Unlock()
	r.closed = true
	if s := r.opened.Load(); s != nil {
		return (*s).Close()
	}
	return nil
}

// token reads one token from the store, for the cache.
func (r *runtime) token(ctx context.Context, hash store.Hash) (store.Token, error) {
	s, err := r.open(ctx)
	if err != nil {
		return store.Token{}, err
	}
	return s.TokenByHash(ctx, hash)
}

// poll applies the changes that other processes made since the last poll.
func (r *runtime) poll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	r.polling.Lock()
	defer r.polling.Unlock()
	s, err := r.open(ctx)
	if err != nil {
		return err
	}
	asked := r.cache.clock()
	changes, err := s.TokenChanges(ctx, r.position)
	if err != nil {
		return err
	}
	for _, change := range changes {
		r.cache.invalidate(change.Hash)
		r.position = change.Seq
	}
	r.cache.confirm(asked)
	return nil
}

// revoke revokes a token in the store and then drops it from the cache, in that
// order: a fill of the cache that began before the store knew is dropped too.
func (r *runtime) revoke(ctx context.Context, id string, at time.Time) (store.Token, error) {
	s, err := r.open(ctx)
	if err != nil {
		return store.Token{}, err
	}
	token, err := s.RevokeToken(ctx, id, at)
	if err != nil {
		return store.Token{}, err
	}
	r.cache.invalidate(token.Hash)
	return token, nil
}

// flush writes when tokens were last used. What could not be written stays for
// the next time.
func (r *runtime) flush(ctx context.Context) error {
	used := r.cache.takeUsed()
	if len(used) == 0 {
		return nil
	}
	uses := make([]store.TokenUse, len(used))
	for i, e := range used {
		uses[i] = store.TokenUse{TokenID: e.verdict.TokenID, Time: time.UnixMicro(e.used.Load())}
	}
	s, err := r.open(ctx)
	if err == nil {
		err = s.TouchTokens(ctx, uses)
	}
	if err != nil {
		r.cache.putUsed(used)
	}
	return err
}

// Interface guards
var _ caddy.Destructor = (*runtime)(nil)
