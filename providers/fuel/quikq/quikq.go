// Package quikq adds the module gateway.fuel.quikq to Caddy: transaction reports of
// the QuikQ fuel card.
package quikq

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers/fuel"
	"github.com/fleetgate/fleetgate/providers/outbound"
)

func init() {
	caddy.RegisterModule(Provider{})
}

// What applies where the operator configured nothing.
const (
	defaultBaseURL     = "https://api.quikq.com"
	defaultDisplayName = "QuikQ"
	defaultTimeout     = time.Minute
	defaultSessionTTL  = 15 * time.Minute
)

// Provider lists the transaction reports of QuikQ.
//
// It logs in with the start code, user and password of the caller and keeps the
// session token in memory, apart for each such triple. Callers with the same triple
// share a session. When QuikQ refuses a token that was kept, the provider logs in
// once more and repeats the call.
type Provider struct {
	outbound.Client

	// How long a session token is used before the next log-in. How long QuikQ itself
	// honours one is not documented; a token that ends earlier costs one refused call.
	// Default: `15m`.
	SessionTTL caddy.Duration `json:"session_ttl,omitempty"`

	sessions *outbound.Sessions
}

// CaddyModule returns the Caddy module information.
func (Provider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.fuel.quikq",
		New: func() caddy.Module { return new(Provider) },
	}
}

// Provision sets up the provider. It does not touch the network.
func (p *Provider) Provision(ctx caddy.Context) error {
	err := p.Setup(ctx, outbound.Defaults{
		BaseURL:     defaultBaseURL,
		DisplayName: defaultDisplayName,
		Timeout:     defaultTimeout,
	})
	if err != nil {
		return fmt.Errorf("quikq: %w", err)
	}
	if p.SessionTTL < 0 {
		return errors.New("quikq: session_ttl must not be negative")
	}
	if p.SessionTTL == 0 {
		p.SessionTTL = caddy.Duration(defaultSessionTTL)
	}
	p.sessions = outbound.NewSessions(time.Duration(p.SessionTTL), time.Duration(p.Timeout), ctx.Logger())
	return nil
}

// Transactions returns the report of the window (contract 4.4 #15) with its wrappers,
// the bytes as QuikQ sent them.
func (p *Provider) Transactions(ctx context.Context, cred fuel.Credential, q fuel.Query) ([]byte, error) {
	key := outbound.Digest(p.Identity(), cred.StartCode, cred.UserID, cred.Password)
	return outbound.WithSession(ctx, p.sessions, key,
		func(ctx context.Context) (string, error) { return p.login(ctx, cred) },
		func(ctx context.Context, token string) ([]byte, error) { return p.report(ctx, cred, q, token) },
	)
}

// Interface guards
var (
	_ caddy.Module          = (*Provider)(nil)
	_ caddy.Provisioner     = (*Provider)(nil)
	_ caddyfile.Unmarshaler = (*Provider)(nil)
	_ fuel.Provider         = (*Provider)(nil)
)
