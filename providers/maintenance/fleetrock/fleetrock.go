// Package fleetrock adds the module gateway.maintenance.fleetrock to Caddy: repair
// orders of the Fleetrock maintenance network.
package fleetrock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers/maintenance"
	"github.com/fleetgate/fleetgate/providers/outbound"
)

func init() {
	caddy.RegisterModule(Provider{})
}

// What applies where the operator configured nothing.
const (
	defaultBaseURL     = "https://www.fleetrock.com"
	defaultDisplayName = "Fleetrock"
	defaultTimeout     = 4 * time.Minute // long lists take minutes
	defaultSessionTTL  = time.Hour
)

// parallelCalls is how many months of a window are fetched at the same time.
const parallelCalls = 2

// Provider lists the repair orders of Fleetrock.
//
// It makes a session from the caller's username and API key and keeps its token in
// memory, apart for each such pair. When Fleetrock answers a kept token with an error,
// whatever the error says, the provider makes one new session and repeats the call.
//
// Fleetrock lists at most one month at a time, so a longer window, of up to 60 months,
// is fetched in consecutive parts, two at a time. Bursts of 403, its way to slow
// clients down, are sat out for up to 14 seconds.
//
// `timeout` and `max_body` are for all parts of one request together. With the default
// of 240 seconds Fleetrock has 8 seconds for each of 60 months; where it takes longer
// and such windows are needed, `timeout` has to grow.
type Provider struct {
	outbound.Client

	// How long a session token is used before the next one is fetched. How long
	// Fleetrock itself honours one is not documented; a token that ends earlier costs
	// one refused call. Default: `1h`.
	SessionTTL caddy.Duration `json:"session_ttl,omitempty"`

	// Send the caller's API key itself as the token and make no session, for accounts
	// whose session tokens Fleetrock does not accept. Default: `false`.
	KeyAsToken bool `json:"key_as_token,omitempty"`

	sessions *outbound.Sessions
	now      func() time.Time
	wait     func(context.Context, time.Duration)
	logger   *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Provider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.maintenance.fleetrock",
		New: func() caddy.Module { return new(Provider) },
	}
}

// Provision sets up the provider. It does not touch the network.
func (p *Provider) Provision(ctx caddy.Context) error {
	p.now = time.Now
	p.wait = wait
	p.logger = ctx.Logger()
	err := p.Setup(ctx, outbound.Defaults{
		BaseURL:     defaultBaseURL,
		DisplayName: defaultDisplayName,
		Timeout:     defaultTimeout,
	})
	if err != nil {
		return fmt.Errorf("fleetrock: %w", err)
	}
	if p.SessionTTL < 0 {
		return errors.New("fleetrock: session_ttl must not be negative")
	}
	if p.SessionTTL == 0 {
		p.SessionTTL = caddy.Duration(defaultSessionTTL)
	}
	p.sessions = outbound.NewSessions(time.Duration(p.SessionTTL), time.Duration(p.Timeout), p.logger)
	return nil
}

// Orders returns the repair orders that match q (contract 4.5 #16), the bytes as
// Fleetrock sent them: one array for each part of the window that has any. Without an
// end the window ends today, by UTC; without a start it is one call with the end
// alone, as there is no first month to begin with. A window of more than 60 months is
// refused.
func (p *Provider) Orders(ctx context.Context, cred maintenance.Credential, q maintenance.Query) ([][]byte, error) {
	windows, err := cut(q.Start, q.End, p.now())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.Timeout))
	defer cancel()
	budget := p.NewBudget()
	arrays := make([][]byte, len(windows))
	g, groupCtx := errgroup.WithContext(ctx)
	g.SetLimit(parallelCalls)
	for i, w := range windows {
		g.Go(func() error {
			return outbound.Guard(p.logger, "orders", func() (err error) {
				arrays[i], err = p.orders(groupCtx, cred, q, w, budget)
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(arrays, func(array []byte) bool { return array == nil }), nil
}

// orders fetches one part of the window within a session; the array is nil when there
// are none.
func (p *Provider) orders(ctx context.Context, cred maintenance.Credential, q maintenance.Query, w window, b *outbound.Budget) ([]byte, error) {
	list := func(ctx context.Context, token string) ([]byte, error) { return p.list(ctx, cred, q, w, b, token) }
	var array []byte
	var err error
	if p.KeyAsToken {
		array, err = list(ctx, cred.APIKey)
	} else {
		login := func(ctx context.Context) (string, error) { return p.login(ctx, cred) }
		key := outbound.Digest(p.Identity(), cred.Username, cred.APIKey)
		array, err = outbound.WithSession(ctx, p.sessions, key, login, list)
	}
	if refused, ok := errors.AsType[*refusedError](err); ok {
		return nil, refused.cause
	}
	return array, err
}

// Interface guards
var (
	_ caddy.Module          = (*Provider)(nil)
	_ caddy.Provisioner     = (*Provider)(nil)
	_ caddyfile.Unmarshaler = (*Provider)(nil)
	_ maintenance.Provider  = (*Provider)(nil)
)
