// Package store defines what the gateway keeps: accounts, their journal, and
// tokens. Backends are Caddy modules in the namespace gateway.store; the suite in
// storetest says what each of them must do.
package store

import (
	"context"
	"errors"
	"time"
)

// Errors that a backend wraps, to be tested with [errors.Is]. The text around
// them names what the operator can act on (a path, a name, an id) and never holds
// a token or a password.
var (
	// ErrNotFound means that the store works and holds no such thing.
	ErrNotFound = errors.New("not found")

	// ErrExists means that the id, name, reference or hash is taken.
	ErrExists = errors.New("already exists")

	// ErrUnavailable means that the store cannot answer: it is closed, locked,
	// damaged, full or out of reach. The same call may succeed later.
	ErrUnavailable = errors.New("store unavailable")
)

// Backend is what a module in the namespace gateway.store implements: it knows
// where the data is and opens it. Provisioning a backend must not touch the data,
// because `caddy validate` provisions beside a live server.
//
// An open store outlives the backend that opened it. A reload makes a new backend,
// and Caddy then calls the Cleanup of the old one, if it has that method, while the
// store stays open for the new configuration. So Cleanup gives back what the backend
// took for itself, and nothing that its stores need: those end with their Close,
// which may come before or after it.
//
// Open goes to the backend of the newest configuration that leads to the data. A
// changed setting, a new password for example, therefore counts from the next opening
// on: when no store is open yet, or when a reload finds that the open one does not
// answer Ping. The latter is then closed.
type Backend interface {
	// Identity names the data, for example "sqlite:/var/lib/fleetgate.db", the same
	// for every configuration that leads to the same data, so that they share one
	// open store. It holds no password, because it is shown to operators.
	Identity() string

	// Exists reports whether there is a store to open. It makes none; an error means
	// that this cannot be told. Commands that only make sense on a store that has
	// something in it ask first, so that a wrong path is noticed.
	Exists(ctx context.Context) (bool, error)

	// Open opens the store, creating and migrating it when needed. It may be called
	// again after a failure and by several processes at the same time.
	Open(ctx context.Context) (Store, error)
}

// Store is an open store. Methods may be called from many goroutines and are
// durable when they return without error. Every error that is not [ErrNotFound]
// or [ErrExists] wraps [ErrUnavailable]. Times are kept to the microsecond and
// come back in UTC; the zero time stands for "never".
//
// Money moves only by entries in the journal, and an account's balance is the sum
// of its entries. Holds, captures and releases will join as one method that takes
// a batch of operations, each with its own unique reference, and commits it as a
// whole; CreateAccount already writes its opening balance in that manner.
type Store interface {
	// CreateAccount adds an account and its opening entry, in one commit. It fails
	// with ErrExists when the id or the name is taken.
	CreateAccount(ctx context.Context, account NewAccount) (Account, error)

	// Account returns the account with that name, or ErrNotFound.
	Account(ctx context.Context, name string) (Account, error)

	// Accounts returns every account, ordered by name.
	Accounts(ctx context.Context) ([]Account, error)

	// Entries returns the journal of the account with that id, oldest first; none
	// when there is no such account.
	Entries(ctx context.Context, accountID string) ([]Entry, error)

	// CreateToken adds a token to the account that token.AccountID names; the
	// Account, LastUsed and Revoked fields are ignored. It fails with ErrNotFound
	// when there is no such account and with ErrExists when the id or the hash is
	// taken.
	CreateToken(ctx context.Context, token Token) error

	// TokenByHash returns the token whose value has that hash, revoked and expired
	// ones too, or ErrNotFound.
	TokenByHash(ctx context.Context, hash Hash) (Token, error)

	// Tokens returns every token, oldest first.
	Tokens(ctx context.Context) ([]Token, error)

	// RevokeToken marks the token as revoked at that time and announces it in the feed of
	// changes, in one commit. Revoking a revoked token changes nothing: the time of
	// the first revocation stays. It fails with ErrNotFound for an unknown id.
	RevokeToken(ctx context.Context, id string, at time.Time) (Token, error)

	// TouchTokens sets when tokens were last used, by their ids. It never moves a
	// time backwards and skips unknown ids.
	TouchTokens(ctx context.Context, uses []TokenUse) error

	// TokenSequence returns the sequence number of the last change in the feed; 0
	// when there was none.
	TokenSequence(ctx context.Context) (int64, error)

	// TokenChanges returns the changes after that sequence number, in order. A
	// reader keeps the last number it saw and asks again: so a change must not
	// become visible after one with a higher number did. A backend that can notify
	// its readers does so in addition; the feed stays the truth.
	TokenChanges(ctx context.Context, after int64) ([]TokenChange, error)

	// Ping reports whether the store can answer now.
	Ping(ctx context.Context) error

	// Close releases the store. Calls that come later fail with ErrUnavailable;
	// closing again does nothing.
	Close() error
}
