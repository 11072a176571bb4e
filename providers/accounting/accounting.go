// Package accounting is the contract between the gateway's accounting area and the
// providers of online accounting. A provider is a Caddy module in the namespace
// gateway.accounting whose type implements [Provider]; package accountingtest has the
// suite that it must pass.
package accounting

import "context"

// Provider reads and writes the entities of one online accounting system (contract
// 4.1). Calls must be safe for concurrent use. Errors are of type [*providers.Error];
// one of kind [providers.KindInvalid] says that the provider module itself refuses an
// input, and that nothing was sent.
type Provider interface {
	// DisplayName is the name that callers see in messages.
	DisplayName() string

	// List returns all entities of a kind that match q: each one once, in the order
	// that the filter asks for, raw as the provider spells them.
	List(ctx context.Context, cred Credential, kind Kind, q Query) (Rows, error)

	// Read returns one entity, raw: a JSON object.
	Read(ctx context.Context, cred Credential, kind Kind, id string, q Query) ([]byte, error)

	// Create makes an entity and returns it as the provider has it then, raw.
	Create(ctx context.Context, cred Credential, kind Kind, w Write) ([]byte, error)

	// Update changes an entity and returns it as the provider has it then, raw. What
	// the input does not name stays as it is, except that the lines of a purchase are
	// replaced as a whole.
	Update(ctx context.Context, cred Credential, kind Kind, w Write) ([]byte, error)
}

// Kind is a kind of entity.
type Kind string

// The kinds of contract 2.1. Accounts are only read.
const (
	KindAccount  Kind = "account"
	KindPurchase Kind = "purchase"
	KindVendor   Kind = "vendor"
)

// Credential is what the caller sent for the provider.
type Credential struct {
	AccessToken string // header access-token-accounting
	RealmID     string // query realmId, digits only
}

// Query holds what a read or a list may name besides (contract 4.1).
type Query struct {
	// Filter is a condition in the provider's own language, with or without a leading
	// WHERE; empty for all.
	Filter string

	// MinorVersion is the caller's minorversion, digits only; empty when the caller
	// named none.
	MinorVersion string
}

// Rows are the entities of a list. Parts is their JSON, in order: each part is one
// entity or several with commas between them, cut from the provider's own answers
// without a copy. No row is no part.
type Rows struct {
	Parts [][]byte
	Count int
}

// Write is an input of contract 2.1, checked against its tables.
type Write struct {
	// Body is the caller's JSON object, with the contract's member names.
	Body []byte

	// MinorVersion is the caller's minorversion, digits only, or empty.
	MinorVersion string

	// Key tells repeats of one write from another write. The provider carries out
	// two writes with one key once. It is never empty.
	Key string
}
