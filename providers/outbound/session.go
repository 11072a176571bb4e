package outbound

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/maypok86/otter/v2"
	"go.uber.org/zap"

	"github.com/fleetgate/fleetgate/providers"
)

// digestKey makes digests worthless outside this process.
var digestKey = func() []byte {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails, by its documentation
	return key
}()

// Digest returns a key for caches that are kept per credential, so that no cache
// holds the credential itself and no caller is served what another one's fetched.
// The parts are told apart: ("a", "bc") and ("ab", "c") differ.
func Digest(parts ...string) string {
	mac := hmac.New(sha256.New, digestKey)
	var size [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		mac.Write(size[:])
		mac.Write([]byte(p))
	}
	return string(mac.Sum(nil))
}

// maxSessions bounds the sessions that are remembered. The least useful ones go first.
const maxSessions = 10_000

// Sessions remembers the session tokens that providers hand out at log-in, by
// credential digest. Parallel callers with one credential share one log-in. It is
// safe for concurrent use.
type Sessions struct {
	cache   *otter.Cache[string, string]
	timeout time.Duration
	logger  *zap.Logger
}

// NewSessions returns an empty store of sessions, each kept for at most ttl. A log-in
// may take as long as timeout, whether or not the caller that began it stays. One that
// panics is written to logger, as no caller's stack shows it.
func NewSessions(ttl, timeout time.Duration, logger *zap.Logger) *Sessions {
	return &Sessions{
		timeout: timeout,
		logger:  logger,
		cache: otter.Must(&otter.Options[string, string]{
			MaximumSize:      maxSessions,
			ExpiryCalculator: otter.ExpiryWriting[string, string](ttl),
			Clock:            Clock(time.Now),
			Logger:           &otter.NoopLogger{},
		}),
	}
}

// Clock is the clock for caches of providers: it tells the time by calling itself and
// has no periodic clean-up, whose goroutine would outlive the config. Expired entries
// are dropped on the next use or write instead.
type Clock func() time.Time

// NowNano returns the Unix time in nanoseconds.
func (c Clock) NowNano() int64 { return c().UnixNano() }

// Tick returns nil: there are no ticks.
func (Clock) Tick(time.Duration) <-chan time.Time { return nil }

// WithSession calls use with the session token kept under key, logging in first when
// there is none. When the provider refuses a token that was kept, it is forgotten and
// use is called once more with another one; a token that is refused right after the
// log-in is not tried again.
func WithSession[T any](
	ctx context.Context, s *Sessions, key string,
	login func(context.Context) (string, error),
	use func(ctx context.Context, token string) (T, error),
) (T, error) {
	for first := true; ; first = false {
		token, fresh, err := s.token(ctx, key, login)
		if err != nil {
			var zero T
			return zero, err
		}
		v, err := use(ctx, token)
		if err == nil || fresh || !first || !errors.Is(err, providers.ErrAuth) {
			return v, err
		}
		s.forget(key, token)
	}
}

// token returns the token kept under key, or that of a new log-in. fresh reports that
// this call did the log-in.
func (s *Sessions) token(ctx context.Context, key string, login func(context.Context) (string, error)) (token string, fresh bool, err error) {
	if token, ok := s.cache.GetIfPresent(key); ok {
		return token, false, nil
	}
	type outcome struct {
		token string
		fresh bool
		err   error
	}
	// Others may wait for the same log-in, so it ends neither with the caller that
	// began it nor holds that caller back: it has a context and a goroutine of its own.
	done := make(chan outcome, 1)
	go func() {
		o := outcome{err: &providers.Error{Kind: providers.KindProvider, Err: errors.New("log-in did not return")}}
		defer func() { done <- o }()
		loginCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.timeout)
		defer cancel()
		fresh := false
		token, err := s.cache.Get(loginCtx, key, otter.LoaderFunc[string, string](func(ctx context.Context, _ string) (string, error) {
			fresh = true
			return s.logIn(ctx, login)
		}))
		o = outcome{token, fresh, typed(loginCtx, err)}
	}()
	select {
	case o := <-done:
		return o.token, o.fresh, o.err
	case <-ctx.Done():
		return "", false, classify(ctx, ctx.Err())
	}
}

// logIn calls login on a goroutine that is not the caller's.
func (s *Sessions) logIn(ctx context.Context, login func(context.Context) (string, error)) (token string, err error) {
	err = Guard(s.logger, "log-in", func() (err error) {
		token, err = login(ctx)
		return err
	})
	return token, err
}

// forget drops the token unless another caller has renewed it in the meantime.
func (s *Sessions) forget(key, token string) {
	s.cache.ComputeIfPresent(key, func(current string) (string, otter.ComputeOp) {
		if current == token {
			return "", otter.InvalidateOp
		}
		return current, otter.CancelOp
	})
}

// typed makes sure that an error of a log-in, or of the wait for one, has the type of
// all provider errors.
func typed(ctx context.Context, err error) error {
	if _, ok := errors.AsType[*providers.Error](err); ok || err == nil {
		return err
	}
	if ctx.Err() != nil {
		return ContextError(ctx)
	}
	return &providers.Error{Kind: providers.KindProvider, Err: errors.New("log-in failed")}
}
