package gateway

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/maypok86/otter/v2"

	"github.com/fleetgate/fleetgate/modules/store"
)

const (
	// maxCachedTokens bounds the cache. Only tokens that were issued get in, so
	// nobody can fill it with guesses.
	maxCachedTokens = 100_000

	// loadTimeout bounds one read of a token from the store.
	loadTimeout = 2 * time.Second

	// retryPause is how long an entry is left alone after the store could not be
	// asked about it, so that an outage does not slow every request.
	retryPause = time.Second

	// useResolution is how precisely the last use of a token is noted.
	useResolution = time.Second
)

// tokenCache holds tokens by the hash of their value. Its entries come from the
// store one at a time; an invalidation discards both the entry and a read of the
// store that is under way, so a read cannot undo it.
type tokenCache struct {
	load    func(ctx context.Context, hash store.Hash) (store.Token, error)
	now     func() time.Time
	epoch   time.Time
	entries *otter.Cache[store.Hash, *entry]
	loader  otter.Loader[store.Hash, *entry]

	// confirmed is when the feed of changes last vouched for every entry.
	confirmed atomic.Int64

	mu   sync.Mutex
	used []*entry
}

// entry is one token in the cache. Times of the clock are offsets from the
// cache's epoch, because those do not jump when the system's time is set.
type entry struct {
	hash    store.Hash
	verdict Verdict
	expires time.Time
	read    time.Duration // when the store was asked

	reading atomic.Bool  // some request is asking the store again
	retry   atomic.Int64 // before this time of the clock nobody asks again

	used  atomic.Int64 // microseconds since 1970 of the last use
	noted atomic.Bool  // the entry is in tokenCache.used
}

// newTokenCache returns an empty cache in front of load.
func newTokenCache(load func(context.Context, store.Hash) (store.Token, error), now func() time.Time) *tokenCache {
	c := &tokenCache{load: load, now: now, epoch: now()}
	// Entries do not expire in the cache itself: what is too old for a request may
	// still be the best there is while the store is away.
	c.entries = otter.Must(&otter.Options[store.Hash, *entry]{MaximumSize: maxCachedTokens})
	c.loader = otter.LoaderFunc[store.Hash, *entry](c.readEntry)
	return c
}

// clock returns the time since the cache was made.
func (c *tokenCache) clock() time.Duration {
	return c.now().Sub(c.epoch)
}

// verdict judges the token with that hash. It asks the store when the token is
// not in the cache or was read more than ttl ago, and does without the store's
// answer for at most maxStale.
func (c *tokenCache) verdict(ctx context.Context, hash store.Hash, ttl, maxStale time.Duration) *Verdict {
	now := c.now()
	at := now.Sub(c.epoch)
	e, ok := c.entries.GetIfPresent(hash)
	if ok && at-e.read >= ttl {
		if at-max(e.read, time.Duration(c.confirmed.Load())) >= maxStale {
			c.swap(e, nil)
			ok = false
		} else if at >= time.Duration(e.retry.Load()) && e.reading.CompareAndSwap(false, true) {
			// One request asks; those that come meanwhile use what there is.
			e, ok = c.renew(ctx, e, at)
		}
	}
	if !ok {
		var err error
		e, err = c.entries.Get(ctx, hash, c.loader)
		if errors.Is(err, store.ErrNotFound) {
			return Refuse(ReasonUnknown)
		}
		if err != nil {
			return Refuse(ReasonUnavailable)
		}
	}

	if !e.verdict.Authenticated() {
		return &e.verdict
	}
	if !e.expires.IsZero() && !now.Before(e.expires) {
		return Refuse(ReasonExpired)
	}
	c.note(e, now)
	return &e.verdict
}

// renew asks the store about an entry that is in the cache. It returns the entry
// to use, which is the old one when the store is away; false when the entry is
// gone and the token must be looked up anew.
func (c *tokenCache) renew(ctx context.Context, old *entry, at time.Duration) (*entry, bool) {
	defer old.reading.Store(false)
	renewed, err := c.readEntry(ctx, old.hash)
	switch {
	case err == nil:
		return renewed, c.swap(old, renewed)
	case errors.Is(err, store.ErrNotFound):
		c.swap(old, nil)
		return nil, false
	default:
		old.retry.Store(int64(at + retryPause))
		return old, true
	}
}

// swap puts renewed in the place of old, or nothing when renewed is nil, unless
// old was invalidated or replaced meanwhile. It reports whether it did.
func (c *tokenCache) swap(old, renewed *entry) bool {
	swapped := false
	c.entries.Compute(old.hash, func(current *entry, found bool) (*entry, otter.ComputeOp) {
		if !found || current != old {
			return nil, otter.CancelOp
		}
		swapped = true
		if renewed == nil {
			return nil, otter.InvalidateOp
		}
		return renewed, otter.WriteOp
	})
	return swapped
}

// readEntry reads a token from the store. The read does not end with the request
// that asked for it, because other requests wait for the same answer.
func (c *tokenCache) readEntry(ctx context.Context, hash store.Hash) (*entry, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	at := c.clock()
	token, err := c.load(ctx, hash)
	if err != nil {
		return nil, err
	}
	e := &entry{hash: hash, expires: token.Expires, read: at}
	if !token.Revoked.IsZero() {
		e.verdict = Verdict{Reason: ReasonRevoked}
		return e, nil
	}
	e.verdict = Verdict{
		AccountID: token.AccountID,
		Account:   token.Account,
		TokenID:   token.ID,
		Scopes:    token.Scopes,
		Reason:    ReasonOK,
	}
	return e, nil
}

// invalidate forgets the token with that hash.
func (c *tokenCache) invalidate(hash store.Hash) {
	c.entries.Invalidate(hash)
}

// invalidateAll forgets every token.
func (c *tokenCache) invalidateAll() {
	c.entries.InvalidateAll()
}

// confirm notes that at that time of the clock every entry was as in the store.
func (c *tokenCache) confirm(at time.Duration) {
	c.confirmed.Store(int64(at))
}

// note remembers that the token was used.
func (c *tokenCache) note(e *entry, now time.Time) {
	micros := now.UnixMicro()
	last := e.used.Load()
	if micros-last < useResolution.Microseconds() || !e.used.CompareAndSwap(last, micros) {
		return
	}
	if e.noted.CompareAndSwap(false, true) {
		c.mu.Lock()
		c.used = append(c.used, e)
		c.mu.Unlock()
	}
}

// takeUsed returns the entries that were used since the last call.
func (c *tokenCache) takeUsed() []*entry {
	c.mu.Lock()
	used := c.used
	c.used = nil
	c.mu.Unlock()
	for _, e := range used {
		e.noted.Store(false)
	}
	return used
}

// putUsed is the reverse of takeUsed.
func (c *tokenCache) putUsed(used []*entry) {
	for _, e := range used {
		if e.noted.CompareAndSwap(false, true) {
			c.mu.Lock()
			c.used = append(c.used, e)
			c.mu.Unlock()
		}
	}
}
