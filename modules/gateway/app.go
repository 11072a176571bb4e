// Package gateway adds the app "gateway" to Caddy: the store of accounts and
// tokens, the check of bearer tokens, and the command `gateway`.
package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"

	"github.com/fleetgate/fleetgate/modules/store"
)

// Defaults and limits of the app's options.
const (
	defaultTokenCacheTTL  = time.Minute
	defaultTokenMaxStale  = 15 * time.Minute
	defaultRevocationPoll = 250 * time.Millisecond

	// maxRevocationPoll keeps the promise that a revocation holds on every node
	// within one second.
	maxRevocationPoll = time.Second

	// openTimeout bounds the opening of the store at start, migrations included.
	openTimeout = 30 * time.Second

	// flushInterval is how often the times at which tokens were last used are
	// written, and flushTimeout bounds one such write.
	flushInterval = 5 * time.Second
	flushTimeout  = 5 * time.Second
)

func init() {
	caddy.RegisterModule(App{})
}

// App holds what the handlers of the gateway share: the store of accounts and
// tokens, and a cache in front of it. Every site that uses `gateway_auth` or
// `gateway_health` needs it.
//
// The store and the cache outlive a reload of the configuration; they are closed
// when no configuration names that store any more. A store that cannot be opened
// rejects the configuration.
type App struct {
	// The store of accounts, journal and tokens; the key `backend` names its kind.
	// Default: `{"backend": "sqlite"}`, a file in Caddy's data directory.
	StoreRaw json.RawMessage `json:"store,omitempty" caddy:"namespace=gateway.store inline_key=backend"`

	// How long a token is used from the cache before it is read from the store
	// again. Revocations do not wait for it. Default: `1m`.
	TokenCacheTTL caddy.Duration `json:"token_cache_ttl,omitempty"`

	// How long tokens that were seen before keep working while the store is away,
	// counted from the store's last word; after that their callers get 503. It is
	// not less than `token_cache_ttl`. Default: `15m`.
	TokenMaxStale caddy.Duration `json:"token_max_stale,omitempty"`

	// How often the store is asked for revocations made by other processes, at most
	// `1s`. Default: `250ms`.
	RevocationPoll caddy.Duration `json:"revocation_poll,omitempty"`

	logger *zap.Logger

	// runtime is set once it was acquired from the pool under the key, and then
	// stays: requests may use it after Cleanup. The key is set while the reference
	// is held. The runtime opens its store with one of its holders' backends.
	backend store.Backend
	runtime *runtime
	key     string

	started   *atomic.Bool
	stopWatch context.CancelFunc
	watchDone chan struct{}
}

// CaddyModule returns the Caddy module information.
func (App) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway",
		New: func() caddy.Module { return new(App) },
	}
}

// AppOf returns the app of the configuration of ctx. When there is none, the error says
// that the directive needs the app, and why, as in "whose store it asks".
func AppOf(ctx caddy.Context, directive, why string) (*App, error) {
	module, err := ctx.AppIfConfigured("gateway")
	if errors.Is(err, caddy.ErrNotConfigured) {
		return nil, fmt.Errorf("%s needs the global option 'gateway' (in JSON, the app \"gateway\"), %s", directive, why)
	}
	if err != nil {
		return nil, err
	}
	app, ok := module.(*App)
	if !ok {
		return nil, fmt.Errorf("the app \"gateway\" is %T, not this gateway's", module)
	}
	return app, nil
}

// Provision loads the store's module and takes part in the runtime of that store.
// It opens nothing: see [store.Backend].
func (a *App) Provision(ctx caddy.Context) error {
	a.logger = ctx.Logger()
	a.started = new(atomic.Bool)
	setDefault(&a.TokenCacheTTL, defaultTokenCacheTTL)
	setDefault(&a.TokenMaxStale, defaultTokenMaxStale)
	setDefault(&a.RevocationPoll, defaultRevocationPoll)

	backend, err := a.loadBackend(ctx)
	if err != nil {
		return err
	}
	a.acquire(backend)
	return nil
}

// setDefault replaces zero, which stands for an option that is not given.
func setDefault(d *caddy.Duration, value time.Duration) {
	if *d == 0 {
		*d = caddy.Duration(value)
	}
}

// loadBackend loads the configured store's module, or the default one.
func (a *App) loadBackend(ctx caddy.Context) (store.Backend, error) {
	if a.StoreRaw == nil {
		a.StoreRaw = caddyconfig.JSON(map[string]string{"backend": "sqlite"}, nil)
	}
	// Caddy's own error for a missing inline key prints the whole object, and a
	// password may be in it.
	var guest struct {
		Backend string `json:"backend"`
	}
	if err := json.Unmarshal(a.StoreRaw, &guest); err != nil || guest.Backend == "" {
		return nil, fmt.Errorf("store: it must be an object whose key \"backend\" names the kind of store: %s", backendNames())
	}
	module, err := ctx.LoadModule(a, "StoreRaw")
	if err != nil {
		return nil, fmt.Errorf("loading store module: %v", err)
	}
	backend, ok := module.(store.Backend)
	if !ok {
		return nil, fmt.Errorf("store: module %s%s is %T, which does not implement store.Backend", backendNamespace, guest.Backend, module)
	}
	return backend, nil
}

// Validate checks the options.
func (a *App) Validate() error {
	switch {
	case a.TokenCacheTTL < 0:
		return errors.New("token_cache_ttl: must be positive")
	case a.TokenMaxStale < a.TokenCacheTTL:
		return fmt.Errorf("token_max_stale: must not be less than token_cache_ttl, %v", time.Duration(a.TokenCacheTTL))
	case a.RevocationPoll < 0 || time.Duration(a.RevocationPoll) > maxRevocationPoll:
		return fmt.Errorf("revocation_poll: must be positive and at most %v", maxRevocationPoll)
	}
	return nil
}

// Start opens the store, unless it is open already and answers, and begins to watch
// it for revocations. Its error rejects the configuration; a store that was open
// before and went away does not.
func (a *App) Start() error {
	ctx, cancel := context.WithTimeout(context.Background(), openTimeout)
	defer cancel()
	if _, err := a.runtime.open(ctx); err != nil {
		return err
	}
	replaced, err := a.runtime.renew(ctx)
	if err != nil {
		// Known tokens keep working for a time, and an operator may want to change
		// something else meanwhile.
		a.logger.Error("the open store does not answer and cannot be opened anew", zap.Error(err))
	}
	if replaced != nil {
		go a.discard(replaced)
	}

	ctx, a.stopWatch = context.WithCancel(context.Background())
	a.watchDone = make(chan struct{})
	go func() {
		defer close(a.watchDone)
		a.watch(ctx)
	}()
	a.started.Store(true)
	return nil
}

// discard closes a store that did not answer, for which nobody waits.
func (a *App) discard(s store.Store) {
	if err := s.Close(); err != nil {
		a.logger.Warn("closing the store that did not answer", zap.Error(err))
	}
}

// Stop ends the watch. The runtime goes on: a new configuration may use it
// already, and so may requests in flight.
func (a *App) Stop() error {
	if a.stopWatch == nil {
		return nil
	}
	a.stopWatch()
	<-a.watchDone
	a.stopWatch = nil
	a.flush(context.Background())
	return nil
}

// Cleanup gives the runtime back if it was acquired. Caddy also calls it when
// Provision failed, and then a release would hit the reference of the running
// configuration.
func (a *App) Cleanup() error {
	if a.key == "" {
		return nil
	}
	return a.release()
}

// watch asks the store for changes, and now and then tells it which tokens were
// used, until ctx ends.
func (a *App) watch(ctx context.Context) {
	poll := time.NewTicker(time.Duration(a.RevocationPoll))
	defer poll.Stop()
	flush := time.NewTicker(flushInterval)
	defer flush.Stop()

	away := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-flush.C:
			a.flush(ctx)
		case <-poll.C:
			err := a.runtime.poll(ctx)
			switch {
			case err != nil && ctx.Err() != nil:
				return
			case err != nil && !away:
				away = true
				a.logger.Error("the store cannot be asked; known tokens keep working for a time",
					zap.Duration("token_max_stale", time.Duration(a.TokenMaxStale)), zap.Error(err))
			case err == nil && away:
				away = false
				a.logger.Info("the store answers again")
			}
		}
	}
}

// flush writes when tokens were last used, as well as it can.
func (a *App) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, flushTimeout)
	defer cancel()
	if err := a.runtime.flush(ctx); err != nil {
		if c := a.logger.Check(zap.DebugLevel, "noting the use of tokens failed"); c != nil {
			c.Write(zap.Error(err))
		}
	}
}

// Authenticate returns the verdict on the caller who presents token, the value of
// a bearer credential. It never returns nil and never fails: what is wrong is in
// the verdict. A token in the cache costs no allocation.
func (a *App) Authenticate(ctx context.Context, token string) *Verdict {
	hash, err := ParseToken(token)
	if err != nil {
		return Refuse(ReasonMalformed)
	}
	return a.runtime.cache.verdict(ctx, hash, time.Duration(a.TokenCacheTTL), time.Duration(a.TokenMaxStale))
}

// RevokeToken revokes the token with that id. From its return on, this process
// refuses the token; others do so after their next poll. It fails with
// [store.ErrNotFound] when there is no such token.
func (a *App) RevokeToken(ctx context.Context, id string) (store.Token, error) {
	return a.runtime.revoke(ctx, id, time.Now())
}

// Ready returns nil when the app is started and its store answers.
func (a *App) Ready(ctx context.Context) error {
	if !a.started.Load() {
		return errors.New("the gateway app is not started")
	}
	s, err := a.runtime.open(ctx)
	if err != nil {
		return err
	}
	return s.Ping(ctx)
}

// Interface guards
var (
	_ caddy.App          = (*App)(nil)
	_ caddy.Provisioner  = (*App)(nil)
	_ caddy.Validator    = (*App)(nil)
	_ caddy.CleanerUpper = (*App)(nil)
)
