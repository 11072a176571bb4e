// Package sandbox adds the HTTP handler http.handlers.gateway_sandbox to Caddy: the
// gateway's providers, simulated.
package sandbox

import (
	"net/http"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler simulates the gateway's providers for trials and tests. It speaks their own
// wire protocols, each below a path of its own, so that a provider of the gateway
// needs no other change than its `base_url`:
//
// Provider | base_url | Data
// ---------|----------|-----
// `lytx` | `http://host/lytx` | 5,000 events of the last 60 days, 800 vehicles
// `quikq` | `http://host/quikq` | 2,000 fuel transactions of the last 90 days
// `fleetrock` | `http://host/fleetrock` | 600 repair orders of the last 90 days, 24 of them listed twice
// `quickbooks` | `http://host/quickbooks` | for each company 200 accounts, 12,000 purchases of the last year, 1,500 vendors
//
// All data is invented. It depends on the seed alone, and moves forward by a day at
// midnight UTC, so that there is always something recent; that of QuickBooks stays as
// it was when it was first asked for, because writes build on it. The 1,000 most
// recently updated events are complete; of the older ones, each 400th has a trigger,
// and some of these a status or a vehicle, that the catalogs lack.
//
// Credentials: any secret works that is not empty and does not begin with `invalid`
// or `wrong`. QuikQ and Fleetrock open sessions, which end after `session_ttl` and
// when the configuration is reloaded. Fleetrock answers windows of up to 31 days, and
// takes the raw key for a token, and nothing else, from user names that begin with
// `rawkey`.
//
// QuickBooks keeps what is written to it, separately for each company, until the
// configuration is reloaded; of more than 1,000 companies, those not used for longest
// begin anew. All begin with the same data: accounts 1 to 34 are for expenses, 35 to 40
// are banks, 41 to 60 are credit cards; three purchases have an Id of 19 digits; 25
// vendors and 8 accounts more are inactive. Accounts can only be read. A write with the
// `requestid` of an earlier one gets the earlier answer, and with another body code
// 600. An access token that begins with `expired` is refused like an invalid one, and
// one that begins with `forbidden` gets 403; with `-xml` in an invalid one, its fault
// is XML, as all faults are for callers that do not accept JSON.
//
// Faults: each provider can be made to fail, in three ways. A `fault` of the
// configuration concerns all requests below its path. The request header
// `X-Sandbox-Fault: <kind>` concerns its own request. A credential of the form
// `fault-<kind>` (Lytx: the API key; QuikQ: the password or the user; Fleetrock: the
// key or the user name; QuickBooks: the access token) concerns the calls for events,
// transactions and repair orders and all calls to QuickBooks that are made with it, and
// so reaches the simulator through the gateway; with Lytx, `fault-catalogs-<kind>`
// concerns the calls for triggers, statuses and vehicles, and with QuickBooks,
// `fault-write-<kind>` those that create or update. A header goes before a credential,
// and a credential before the configuration. Header and credential may name a
// Retry-After, as in `throttle-30s`.
//
// Kind | What happens
// -----|-------------
// `throttle` | 429, with a Retry-After header where a duration is given
// `error` | 500
// `unavailable` | 503, with a Retry-After header where a duration is given
// `forbidden` | 403
// `reset` | the connection is reset in the middle of the body
// `truncate` | the body ends in the middle, and its Content-Length says so
// `invalid_json` | the body has a comma too many before its last bracket
// `html` | 200 with an HTML page about an outage
// `empty` | 200 without a body
// `not_utf8` | the body has bytes in a string that are not UTF-8
// `deep` | 200 with 10,000 arrays inside each other
// `huge` | 200 with an array of 65 MiB
// `shift` | each page of a list repeats rows of the page before, as if rows had been added meanwhile; calls without pages do not change
// `drop_session` | the session of the request ends before it is answered; Lytx and QuickBooks, which have none, refuse the credential
// `lost` | the request is carried out, and the connection is reset instead of an answer; the answer to a repeated QuickBooks write arrives
// `short_page` | QuickBooks: a page has fewer rows than asked for although more follow
// `long_page` | QuickBooks: a page has a row more than asked for
// `repeat_page` | QuickBooks: every page is the first one
// `shrink` | QuickBooks: each page of a list leaves out rows behind the page before, as if rows of that had been deleted meanwhile
// `fault_200` | 200 with the body of a 500
// `xml` | 500; QuickBooks: in XML
// `xml_throttle` | 429; QuickBooks: in XML
//
// A path below none of the simulated providers answers 404. The handler answers every
// request that reaches it.
type Handler struct {
	// The providers to simulate: `lytx`, `quikq`, `fleetrock`, `quickbooks`.
	// Default: all.
	Providers []string `json:"providers,omitempty"`

	// The number that the invented data is made from. Default: `1`.
	Seed uint64 `json:"seed,omitempty"`

	// How long a session lasts from its login. Default: `10m`.
	SessionTTL caddy.Duration `json:"session_ttl,omitempty"`

	// How long every answer is held back. Default: `0s`.
	Latency caddy.Duration `json:"latency,omitempty"`

	// How many calls a second QuickBooks takes for one company before it answers 429;
	// `-1` is no limit. Default: `10`.
	Throttle int `json:"throttle,omitempty"`

	// Faults that concern all requests below a path. Where several apply to a
	// request, the first one happens. Default: none.
	Faults []Fault `json:"fault,omitempty"`

	now       func() time.Time
	simulator http.Handler
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.gateway_sandbox",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision sets up the simulated providers. Their data is made when it is first
// asked for.
func (h *Handler) Provision(caddy.Context) error {
	simulator, err := newSimulator(h.options())
	if err != nil {
		return err
	}
	h.simulator = simulator
	return nil
}

func (h *Handler) options() Options {
	return Options{
		Providers:  h.Providers,
		Seed:       h.Seed,
		SessionTTL: time.Duration(h.SessionTTL),
		Latency:    time.Duration(h.Latency),
		Throttle:   h.Throttle,
		Faults:     h.Faults,
		Now:        h.now,
	}
}

// ServeHTTP answers as the simulated provider that the path belongs to.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	h.simulator.ServeHTTP(w, r)
	return nil
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
