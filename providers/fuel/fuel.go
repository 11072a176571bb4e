// Package fuel is the contract between the gateway's fuel area and the providers of
// fuel cards. A provider is a Caddy module in the namespace gateway.fuel whose type
// implements [Provider]; package fueltest has the suite that it must pass.
package fuel

import "context"

// Provider lists transaction reports (contract 4.4 #15). Calls must be safe for
// concurrent use. Errors are of type [*providers.Error].
type Provider interface {
	// DisplayName is the name that callers see in messages.
	DisplayName() string

	// Transactions returns the report of q as the provider spells it: a JSON object
	// that holds the report either flat or under the member "report", with or
	// without singular wrappers around array members. The gateway unwraps it.
	Transactions(ctx context.Context, cred Credential, q Query) ([]byte, error)
}

// Credential is what the caller sent for the provider (contract 4.4).
type Credential struct {
	StartCode string // header startCode
	UserID    string // header userId
	Password  string // header password
}

// Query is the window of the report. Both dates are YYYY-MM-DD and inclusive.
type Query struct {
	Start, End string
}
