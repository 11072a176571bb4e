package store

import (
	"crypto/sha256"
	"time"
)

// Account pays for calls and owns tokens.
type Account struct {
	// ID is made by the gateway and never changes.
	ID string

	// Name is the operator's unique name for the account.
	Name string

	// Balance is the sum of the account's journal, never negative.
	Balance Amount

	// Available is the part of the balance that can be spent.
	Available Amount

	// Created is when the account was made.
	Created time.Time
}

// NewAccount is an account to be created.
type NewAccount struct {
	// ID and Name of the account; both unique.
	ID   string
	Name string

	// Created is when the account was made and the time of its opening entry.
	Created time.Time

	// Opening is the balance to begin with, zero or more.
	Opening Amount

	// Operation says in the journal who asked, for example "account create".
	Operation string
}

// EntryKind says what an entry of the journal is for.
type EntryKind string

// EntryOpening is the first entry of each account: the balance it began with,
// which may be zero.
const EntryOpening EntryKind = "opening"

// Entry is one line of the journal. Entries are never changed or removed.
type Entry struct {
	// ID counts up over all accounts.
	ID int64

	// AccountID is the account whose balance the entry moves.
	AccountID string

	// Ref is the unique reference of the operation: a repeat of the operation finds
	// the entry instead of adding a second one.
	Ref string

	// Kind says what the entry is for.
	Kind EntryKind

	// Amount is added to the balance; negative for a charge.
	Amount Amount

	// RequestID is the X-Request-Id of the call that caused the entry; empty for an
	// operator's command.
	RequestID string

	// Operation names the contract operation or the operator's command.
	Operation string

	// Time is when the entry was written.
	Time time.Time
}

// Hash is the SHA-256 of a token's value, the only form in which it is kept.
type Hash [sha256.Size]byte

// Token is the stored side of a bearer token.
type Token struct {
	// ID names the token in lists and commands; it is no secret.
	ID string

	// AccountID and Account are the id and the name of the owner.
	AccountID string
	Account   string

	// Hash identifies the value; Last4 are its last four characters.
	Hash  Hash
	Last4 string

	// Scopes limit what the token may do; none = everything. A scope holds no space.
	Scopes []string

	// Created is when the token was issued.
	Created time.Time

	// Expires is when the token stops working; zero = never.
	Expires time.Time

	// LastUsed is about when the token was last accepted; zero = not yet.
	LastUsed time.Time

	// Revoked is when an operator revoked the token; zero = not revoked.
	Revoked time.Time
}

// TokenUse says when a token was last accepted.
type TokenUse struct {
	TokenID string
	Time    time.Time
}

// TokenChange announces that what the store says about a token changed, so that
// whoever keeps a copy drops it.
type TokenChange struct {
	// Seq is the place in the feed: numbers grow, with gaps.
	Seq int64

	// TokenID and Hash identify the token.
	TokenID string
	Hash    Hash
}
