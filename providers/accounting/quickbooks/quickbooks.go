// Package quickbooks adds the module gateway.accounting.quickbooks to Caddy: accounts,
// purchases and vendors of QuickBooks Online.
package quickbooks

import (
	"fmt"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/singleflight"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/providers/outbound"
)

func init() {
	caddy.RegisterModule(Provider{})
}

// What applies where the operator configured nothing.
const (
	defaultBaseURL     = "https://quickbooks.api.intuit.com"
	defaultDisplayName = "QuickBooks"
	defaultTimeout     = 2 * time.Minute
	defaultPageSize    = 1000
	defaultMaxPages    = 200
	defaultMaxRows     = 100_000
	defaultMaxBytes    = 256 << 20
	defaultRate        = 10
	defaultParallel    = 4
)

// The most that the options may be. The first is QuickBooks' own limit, the others are
// more than anybody can want.
const (
	mostPageSize = 1000
	mostPages    = 1_000_000
	mostRows     = 100_000_000
	mostRate     = 1000
	mostParallel = 16
)

// Provider speaks to QuickBooks Online by its Accounting API v3, with the caller's
// OAuth 2.0 access token. Its base URL is that of production unless base_url is the
// sandbox's, `https://sandbox-quickbooks.api.intuit.com`.
//
// A list is fetched page by page until it is complete, next pages ahead of time, and a
// list that exceeds max_pages, max_rows or max_bytes is an error rather than cut. Each
// write carries a requestid, by which QuickBooks carries out its repeats once. Once sent
// it is carried out to its end, whether or not the caller stays, unless the process ends;
// a repeat with the same key then tells what became of it.
//
// The option timeout, by default `120s`, bounds an operation as a whole: all pages of a
// list, repeats, and waiting for the rate and for a throttling QuickBooks.
type Provider struct {
	outbound.Client

	// How many rows of a list to ask for at once, 1 to 1000. Default: `1000`.
	PageSize int `json:"page_size,omitempty"`

	// The most pages that a list may have. Default: `200`.
	MaxPages int `json:"max_pages,omitempty"`

	// The most rows that a list may have. Default: `100000`.
	MaxRows int `json:"max_rows,omitempty"`

	// The most bytes that the pages of a list may have together. They are held in
	// memory until the list is answered. Default: 268435456 (256 MiB).
	MaxBytes int64 `json:"max_bytes,omitempty"`

	// How many calls to begin within any second, 1 to 1000, for each company. Within any minute it is 48 times as many, but at least 480. Default: `10`,
	// which is QuickBooks' own limit.
	Rate int `json:"rate,omitempty"`

	// How many pages of a list to fetch at the same time, 1 to 16. Default: `4`.
	Parallel int `json:"parallel,omitempty"`

	limiters *limiters
	writes   *singleflight.Group // under way
	logger   *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Provider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.accounting.quickbooks",
		New: func() caddy.Module { return new(Provider) },
	}
}

// Provision sets up the provider. It does not touch the network.
func (p *Provider) Provision(ctx caddy.Context) error {
	p.logger = ctx.Logger()
	err := p.Setup(ctx, outbound.Defaults{
		BaseURL:     defaultBaseURL,
		DisplayName: defaultDisplayName,
		Timeout:     defaultTimeout,
	})
	if err != nil {
		return fmt.Errorf("quickbooks: %w", err)
	}
	for _, n := range p.numbers() {
		if *n.value == 0 {
			*n.value = n.otherwise
		}
	}
	if p.MaxBytes == 0 {
		p.MaxBytes = defaultMaxBytes
	}
	p.limiters = newLimiters(p.Rate)
	p.writes = new(singleflight.Group)
	return nil
}

// Validate checks the options.
func (p *Provider) Validate() error {
	for _, n := range p.numbers() {
		if *n.value < 1 || *n.value > n.most {
			return fmt.Errorf("quickbooks: %s must be between 1 and %d", n.name, n.most)
		}
	}
	if p.MaxBytes < 0 {
		return fmt.Errorf("quickbooks: max_bytes must not be negative")
	}
	return nil
}

// number is an option that is a whole number from 1 to most.
type number struct {
	name            string
	value           *int
	otherwise, most int
}

func (p *Provider) numbers() []number {
	return []number{
		{"page_size", &p.PageSize, defaultPageSize, mostPageSize},
		{"max_pages", &p.MaxPages, defaultMaxPages, mostPages},
		{"max_rows", &p.MaxRows, defaultMaxRows, mostRows},
		{"rate", &p.Rate, defaultRate, mostRate},
		{"parallel", &p.Parallel, defaultParallel, mostParallel},
	}
}

// Interface guards
var (
	_ accounting.Provider   = (*Provider)(nil)
	_ caddy.Provisioner     = (*Provider)(nil)
	_ caddy.Validator       = (*Provider)(nil)
	_ caddyfile.Unmarshaler = (*Provider)(nil)
)
