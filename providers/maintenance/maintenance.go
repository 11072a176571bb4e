// Package maintenance is the contract between the gateway's maintenance area and the
// providers of fleet maintenance. A provider is a Caddy module in the namespace
// gateway.maintenance whose type implements [Provider]; package maintenancetest has
// the suite that it must pass.
package maintenance

import "context"

// Provider lists repair orders (contract 4.5 #16). Calls must be safe for concurrent
// use. Errors are of type [*providers.Error].
type Provider interface {
	// DisplayName is the name that callers see in messages.
	DisplayName() string

	// Orders returns the repair orders that match q, as one JSON array of order
	// objects for each call that the provider needed, in order. The gateway joins
	// and normalizes them and drops those whose id came before. No match is an
	// empty slice.
	Orders(ctx context.Context, cred Credential, q Query) ([][]byte, error)
}

// Credential is what the caller sent for the provider (contract 4.5).
type Credential struct {
	Username string // header username
	APIKey   string // header api-key-eld
}

// Statuses are the values that the status filter may take (contract part 3).
var Statuses = []string{"notstarted", "waiting", "inprogress", "finished", "invoiced", "paid", "deleted"}

// Query holds the filters of contract 4.5, checked; an empty one is not applied.
type Query struct {
	Status string // one of Statuses
	Event  string // e.g. paid, created
	Start  string // YYYY-MM-DD
	End    string // YYYY-MM-DD
}
