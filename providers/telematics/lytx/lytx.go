// Package lytx adds the module gateway.telematics.lytx to Caddy: driver performance
// events of Lytx video telematics.
package lytx

import (
	"errors"
	"fmt"
	"time"

	"github.com/maypok86/otter/v2"
	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers/outbound"
	"github.com/fleetgate/fleetgate/providers/telematics"
)

func init() {
	caddy.RegisterModule(Provider{})
}

// What applies where the operator configured nothing.
const (
	defaultDisplayName    = "Lytx"
	defaultTimeout        = time.Minute
	defaultCatalogTTL     = time.Hour
	defaultVehicleTTL     = 10 * time.Minute
	defaultStale          = 24 * time.Hour
	defaultCatalogTimeout = 10 * time.Second
	defaultPageSize       = 100
)

// maxPageSize is more than any page that Lytx is known to send.
const maxPageSize = 1000

// Provider lists the safety events of Lytx, by the API that takes a key in the header
// X-APIKey. Its base URL is that of the pod which holds the fleet, such as
// `https://lytx-api.prod5.ph.lytx.com`; another pod refuses the key.
//
// The names of triggers and coaching statuses and the vehicles are kept in memory,
// apart for each key, at most 256 MiB in all, and renewed in the background. While
// they cannot be renewed the old ones stay in use.
type Provider struct {
	outbound.Client

	// How long the names of triggers and coaching statuses are used before they are
	// fetched again. Default: `1h`.
	CatalogTTL caddy.Duration `json:"catalog_ttl,omitempty"`

	// How long the vehicles are used before they are fetched again. Default: `10m`.
	VehicleTTL caddy.Duration `json:"vehicle_ttl,omitempty"`

	// How much longer names and vehicles are used when they cannot be fetched again.
	// Default: `24h`.
	Stale caddy.Duration `json:"stale,omitempty"`

	// How long events wait for names and vehicles that are not there yet; for the
	// optional members of the vehicles they wait at most 2 seconds. The fetch goes on in
	// the background, for later events. While one hangs, and after one has failed, events
	// do not wait again. Default: `10s`.
	CatalogTimeout caddy.Duration `json:"catalog_timeout,omitempty"`

	// How many vehicles to ask for at once, 1 to 1000. Lytx may send fewer.
	// Default: `100`.
	PageSize int `json:"page_size,omitempty"`

	now      outbound.Clock
	cache    *otter.Cache[cacheKey, *table]
	attempts *attempts
	lifetime *lifetime
	logger   *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Provider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.telematics.lytx",
		New: func() caddy.Module { return new(Provider) },
	}
}

// Provision sets up the provider. It does not touch the network.
func (p *Provider) Provision(ctx caddy.Context) error {
	p.logger = ctx.Logger()
	err := p.Setup(ctx, outbound.Defaults{DisplayName: defaultDisplayName, Timeout: defaultTimeout})
	if err != nil {
		return fmt.Errorf("lytx: %w", err)
	}
	for _, d := range []struct {
		option    *caddy.Duration
		otherwise time.Duration
	}{
		{&p.CatalogTTL, defaultCatalogTTL},
		{&p.VehicleTTL, defaultVehicleTTL},
		{&p.Stale, defaultStale},
		{&p.CatalogTimeout, defaultCatalogTimeout},
	} {
		if *d.option == 0 {
			*d.option = caddy.Duration(d.otherwise)
		}
	}
	if p.PageSize == 0 {
		p.PageSize = defaultPageSize
	}
	p.now = time.Now
	p.cache = newCache(p.now, nil)
	p.attempts = newAttempts()
	p.lifetime = new(lifetime)
	return nil
}

// Validate checks the options.
func (p *Provider) Validate() error {
	switch {
	case p.CatalogTTL < 0:
		return errors.New("lytx: catalog_ttl must not be negative")
	case p.VehicleTTL < 0:
		return errors.New("lytx: vehicle_ttl must not be negative")
	case p.Stale < 0:
		return errors.New("lytx: stale must not be negative")
	case p.CatalogTimeout < 0:
		return errors.New("lytx: catalog_timeout must not be negative")
	case p.PageSize < 1 || p.PageSize > maxPageSize:
		return fmt.Errorf("lytx: page_size must be between 1 and %d", maxPageSize)
	}
	return nil
}

// Cleanup ends the calls in the background that nobody waits for.
func (p *Provider) Cleanup() error {
	if p.lifetime != nil { // it is, after a Provision that failed
		p.lifetime.end()
	}
	return nil
}

// Interface guards
var (
	_ caddy.Module          = (*Provider)(nil)
	_ caddy.Provisioner     = (*Provider)(nil)
	_ caddy.Validator       = (*Provider)(nil)
	_ caddy.CleanerUpper    = (*Provider)(nil)
	_ caddyfile.Unmarshaler = (*Provider)(nil)
	_ telematics.Provider   = (*Provider)(nil)
)
