package lytx

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/maypok86/otter/v2"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/outbound"
	"github.com/fleetgate/fleetgate/providers/telematics"
)

// maxWeight is what all catalogs together may take in memory, in bytes.
const maxWeight = 256 << 20

const (
	// retryPause is the least time between two attempts to renew a catalog that is
	// still of use.
	retryPause = 30 * time.Second

	// failurePause is the least time between the first two attempts to fetch a catalog
	// of which there is nothing to fall back on. It doubles with each failure, up to
	// retryPause.
	failurePause = time.Second

	// failureMemory is how much longer a catalog counts as missing, and is fetched in
	// the background, before a request waits for it again.
	failureMemory = 10 * time.Minute

	// detailsTimeout is the most that events wait for the details of the vehicles,
	// which they can do without.
	detailsTimeout = 2 * time.Second
)

// kind is one of the catalogs of a key.
type kind uint8

const (
	triggers kind = iota
	statuses
	vehicles
	details // of the vehicles: their optional members
	kinds
)

func (k kind) String() string {
	return [kinds]string{"triggers", "statuses", "vehicles", "vehicle details"}[k]
}

// cacheKey names a catalog in the cache. The owner is a digest of base URL and key, so
// that no caller is served what another one's key fetched.
type cacheKey struct {
	kind  kind
	owner string
}

// newCache returns an empty cache. What it does in the background it hands to run; nil
// stands for a goroutine.
func newCache(now outbound.Clock, run func(func())) *otter.Cache[cacheKey, *table] {
	return otter.Must(&otter.Options[cacheKey, *table]{
		MaximumWeight: maxWeight,
		Weigher: func(_ cacheKey, t *table) uint32 {
			return uint32(min(t.weight, math.MaxUint32)) //nolint:gosec // a weight is not negative
		},
		ExpiryCalculator: otter.ExpiryWritingFunc(func(e otter.Entry[cacheKey, *table]) time.Duration {
			return e.Value.keep
		}),
		RefreshCalculator: refreshing{},
		Clock:             now,
		Executor:          run,
		Logger:            &otter.NoopLogger{},
	})
}

// refreshing renews a table when it is no longer fresh, and after a failure not
// before a pause.
type refreshing struct{}

func (refreshing) RefreshAfterCreate(e otter.Entry[cacheKey, *table]) time.Duration {
	return e.Value.fresh
}

func (refreshing) RefreshAfterUpdate(e otter.Entry[cacheKey, *table], _ *table) time.Duration {
	return e.Value.fresh
}

func (refreshing) RefreshAfterReload(e otter.Entry[cacheKey, *table], _ *table) time.Duration {
	return e.Value.fresh
}

func (refreshing) RefreshAfterReloadFailure(_ otter.Entry[cacheKey, *table], err error) time.Duration {
	return max(retryPause, providers.As(err).RetryAfter)
}

// Catalogs returns the names of triggers and statuses and the vehicles, each as far as
// it is known or can be fetched in time. A vehicle is found by its id as /video/vehicles
// spells it and by the same id in lower case, which is how events spell theirs.
//
// Only the first attempt to fetch a catalog is waited for, by all requests together no
// longer than catalog_timeout from its start. After it has failed, later ones are made
// in the background.
func (p *Provider) Catalogs(ctx context.Context, cred telematics.Credential) telematics.Catalogs {
	defer p.lifetime.wait()()
	start := p.now()

	owner := outbound.Digest(p.Identity(), cred.APIKey)
	var tables [kinds]*table
	var pending [kinds]*arrival
	for k := range kinds {
		tables[k], pending[k] = p.look(cacheKey{k, owner}, cred.APIKey)
	}
	for k, a := range pending {
		if a != nil {
			tables[k] = a.await(ctx)
		}
	}

	var c telematics.Catalogs
	for k, t := range tables {
		if t == nil || t.failed {
			tables[k] = nil
			continue
		}
		c.Age = max(c.Age, start.Sub(t.fetched))
	}
	c.Triggers = tables[triggers].all()
	c.Statuses = tables[statuses].all()
	if v := tables[vehicles]; v != nil {
		c.Vehicles = v.joined(tables[details])
		c.DetailsMissing = tables[details] == nil
	}
	return c
}

// arrival is a table that is being fetched.
type arrival struct {
	results  <-chan otter.RefreshResult[cacheKey, *table]
	deadline time.Time
}

// await waits for the table until its deadline or the end of ctx, and takes one that is
// there by then.
func (a *arrival) await(ctx context.Context) *table {
	ctx, cancel := context.WithDeadline(ctx, a.deadline)
	defer cancel()
	select {
	case r := <-a.results:
		return r.Value
	case <-ctx.Done():
	}
	select {
	case r := <-a.results:
		return r.Value
	default:
		return nil
	}
}

// ended is a context that has ended.
var ended = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// look returns the table that is cached, and has it renewed in the background when it
// is due, or it returns where the table will arrive. It returns neither when the table
// should have arrived by now.
func (p *Provider) look(key cacheKey, apiKey string) (*table, *arrival) {
	l := loader{p, apiKey}
	// With a context that has ended, Get never fetches a missing table on the spot,
	// where the caller could not leave it.
	if t, err := p.cache.Get(ended, key, l); err == nil {
		return t, nil
	}
	timeout := time.Duration(p.CatalogTimeout)
	if key.kind == details {
		timeout = min(timeout, detailsTimeout)
	}
	if began, ok := p.attempts.began(key); ok {
		if timeout -= p.now().Sub(began); timeout <= 0 {
			return nil, nil
		}
	}
	return nil, &arrival{
		results:  p.cache.Refresh(context.Background(), key, l),
		deadline: time.Now().Add(timeout),
	}
}

// loader fetches catalogs with a key. One fetch of a catalog runs at a time, and all
// callers with its key wait for that.
type loader struct {
	provider *Provider
	apiKey   string
}

// Load fetches a catalog that is not cached. A failure is remembered, as a table without
// entries, unless it is about the key: that may be put right.
func (l loader) Load(_ context.Context, key cacheKey) (*table, error) {
	defer l.provider.attempts.begin(key, l.provider.now())()
	t, err := l.fetch(key.kind, nil)
	if err == nil || errors.Is(err, providers.ErrAuth) || errors.Is(err, providers.ErrCanceled) {
		return t, err
	}
	return l.provider.failedTable(failurePause, err), nil
}

// Reload fetches a catalog that is due. When the key is refused the catalog is dropped,
// but for the details, to which a good key may have no access.
func (l loader) Reload(_ context.Context, key cacheKey, old *table) (*table, error) {
	if l.provider.now().Sub(old.fetched) < old.fresh {
		return old, nil // it was fetched since the caller looked
	}
	t, err := l.fetch(key.kind, old)
	switch {
	case errors.Is(err, providers.ErrAuth) && key.kind != details:
		return nil, otter.ErrNotFound
	case err != nil && old.failed && !errors.Is(err, providers.ErrCanceled):
		return l.provider.failedTable(2*old.fresh, err), nil
	}
	return t, err
}

// fetch fetches a catalog on the gateway's own account: all callers wait for it, so it
// ends with none of them. Each of its calls has the client's timeout. old is what a
// renewal is to replace.
func (l loader) fetch(k kind, old *table) (*table, error) {
	p, ctx := l.provider, l.provider.lifetime.current()
	var t *table
	err := outbound.Guard(p.logger, k.String(), func() (err error) {
		switch k {
		case triggers:
			t, err = p.fetchNames(ctx, l.apiKey, k, "/video/safety/events/triggers")
		case statuses:
			t, err = p.fetchNames(ctx, l.apiKey, k, "/video/safety/events/statuses")
		case vehicles:
			t, err = p.fetchVehicles(ctx, l.apiKey)
		default:
			t, err = p.fetchDetails(ctx, l.apiKey, len(old.all()) > 0)
		}
		return err
	})
	if err != nil {
		p.logFailure(k, providers.As(err))
		return nil, err
	}
	return t, nil
}

// logFailure says that a catalog could not be had. A bad key is the caller's affair.
func (p *Provider) logFailure(k kind, pe *providers.Error) {
	level := zapcore.WarnLevel
	if pe.Kind == providers.KindAuth || pe.Kind == providers.KindCanceled {
		level = zapcore.DebugLevel
	}
	if ce := p.logger.Check(level, "catalog not fetched"); ce != nil {
		ce.Write(zap.Stringer("catalog", k), zap.Stringer("kind", pe.Kind), zap.String("reason", pe.Message), zap.Int("status", pe.Status))
	}
}
