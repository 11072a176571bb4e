// Package telematics is the contract between the gateway's telematics area and the
// providers of video telematics. A provider is a Caddy module in the namespace
// gateway.telematics whose type implements [Provider]; package telematicstest has
// the suite that it must pass.
package telematics

import (
	"context"
	"time"
)

// Provider lists driver performance events (contract 4.3 #14) and the catalogs that
// the gateway joins to them (contract part 1, "events are enriched").
//
// Both calls run at the same time and must be safe for concurrent use. Errors are of
// type [*providers.Error].
type Provider interface {
	// DisplayName is the name that callers see in messages.
	DisplayName() string

	// Events returns the events that match q in the provider's own JSON, unknown
	// members included, ordered as q asks and at most q.Limit of them.
	Events(ctx context.Context, cred Credential, q Query) (Events, error)

	// Catalogs returns what is known of triggers, statuses and vehicles. A catalog
	// that could not be had is nil and the others are still returned; there is no
	// error because events are worth more than their names.
	Catalogs(ctx context.Context, cred Credential) Catalogs
}

// Credential is what the caller sent for the provider.
type Credential struct {
	APIKey string // header api-key-eld
}

// Fields of the events that a caller may filter and sort by (contract 4.3).
const (
	FieldLastUpdated = "lastUpdatedDate"
	FieldRecorded    = "recordDate"
)

// Sort directions (contract 4.3).
const (
	Ascending  = "asc"
	Descending = "desc"
)

// Query holds the ten query parameters of contract 4.3, checked and with their
// defaults filled in.
type Query struct {
	DriverIDs  []string
	VehicleIDs []string

	// Start and End are dates as YYYY-MM-DD, empty when the caller named none. The
	// provider sends them on as Start at T00:00:00.00Z and End at T23:59:59.99Z
	// (contract part 8).
	Start, End string

	Page             int // 1 or more; 0 when the caller named none
	DateOption       string
	SortDirection    string
	SortBy           string
	IncludeSubgroups bool
	Limit            int // 1 to 1000
}

// Events is a provider's answer.
type Events struct {
	// Body is a JSON array of event objects; empty when nothing matches. The
	// gateway checks that it is valid JSON.
	Body []byte

	// Fields names the members of an event that the contract's own are made from.
	Fields Fields
}

// Fields names members of the provider's event objects. Where several names are
// given, the first that is present and not null counts.
type Fields struct {
	Trigger     string   // number or string, key into Catalogs.Triggers
	Status      string   // number or string, key into Catalogs.Statuses
	Vehicle     string   // string, key into Catalogs.Vehicles
	EventDate   []string // becomes eventDate
	LastUpdated []string // becomes lastUpdatedDate
}

// Catalogs are the provider's look-up tables. Keys are the ids as they are spelled
// in the events, without quotes. Values are JSON texts, ready to be written out.
type Catalogs struct {
	Triggers map[string][]byte // name of the trigger, a JSON string
	Statuses map[string][]byte // name of the coaching status, a JSON string
	Vehicles map[string][]byte // the vehicle object of contract 2.3

	// DetailsMissing reports that the vehicles lack the optional members because
	// the provider's source for them failed, as opposed to having none.
	DetailsMissing bool

	// Age is the age of the oldest catalog in use, 0 when all are fresh.
	Age time.Duration
}
