// Package storetest is the suite that every backend of package store passes.
package storetest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/modules/store"
)

// at is a time with microseconds in a zone other than UTC: stores keep the former
// and not the latter.
var at = time.Date(2026, 2, 3, 4, 5, 6, 789_000, time.FixedZone("", 3600))

// Run runs the suite. Each call of open must return a new, empty store and leave
// closing it to the suite.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	tests := []struct {
		name string
		test func(t *testing.T, s store.Store)
	}{
		{"ok/account", testAccount},
		{"ok/accounts in order", testAccounts},
		{"ok/journal adds up to the balance", testJournal},
		{"ok/token", testToken},
		{"ok/token without options", testPlainToken},
		{"ok/tokens in order", testTokens},
		{"ok/revoke once", testRevoke},
		{"ok/changes in order", testChanges},
		{"ok/touch only forwards", testTouch},
		{"ok/callers at once", testConcurrent},
		{"fail/account exists", testAccountExists},
		{"fail/not found", testNotFound},
		{"fail/token exists", testTokenExists},
		{"fail/negative opening", testNegativeOpening},
		{"fail/canceled", testCanceled},
		{"fail/closed", testClosed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			if err := s.Ping(t.Context()); err != nil {
				t.Fatalf("Ping of a new store: %v", err)
			}
			tt.test(t, s)
		})
	}
}

// newAccount returns an account to be created, named after id.
func newAccount(id string, opening store.Amount) store.NewAccount {
	return store.NewAccount{ID: id, Name: "name-" + id, Created: at, Opening: opening, Operation: "account create"}
}

// newToken returns a token to be created; its hash comes from id.
func newToken(id, accountID string) store.Token {
	return store.Token{ID: id, AccountID: accountID, Hash: sha256.Sum256([]byte(id)), Last4: "abcd", Created: at}
}

// create adds accounts with the given ids, without money.
func create(t *testing.T, s store.Store, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if _, err := s.CreateAccount(t.Context(), newAccount(id, 0)); err != nil {
			t.Fatalf("CreateAccount(%q): %v", id, err)
		}
	}
}

// issue adds a token.
func issue(t *testing.T, s store.Store, token store.Token) {
	t.Helper()
	if err := s.CreateToken(t.Context(), token); err != nil {
		t.Fatalf("CreateToken(%q): %v", token.ID, err)
	}
}

// equal fails the test unless got equals want.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// isError fails the test unless err wraps want.
func isError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("%s: got error %v, want one that wraps %q", what, err, want)
	}
}

func testAccount(t *testing.T, s store.Store) {
	want := store.Account{ID: "a1", Name: "name-a1", Balance: 1_500_000, Available: 1_500_000, Created: at.UTC()}
	got, err := s.CreateAccount(t.Context(), newAccount("a1", 1_500_000))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "created", got, want)
	got, err = s.Account(t.Context(), "name-a1")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "read", got, want)
}

func testAccounts(t *testing.T, s store.Store) {
	list, err := s.Accounts(t.Context())
	if err != nil || len(list) != 0 {
		t.Fatalf("Accounts of a new store: %v, %v", list, err)
	}
	create(t, s, "c", "a", "b")
	list, err = s.Accounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, account := range list {
		ids = append(ids, account.ID)
	}
	equal(t, "order", ids, []string{"a", "b", "c"})
}

func testJournal(t *testing.T, s store.Store) {
	for id, opening := range map[string]store.Amount{"rich": 100 * store.Credit, "odd": 1, "none": 0} {
		created, err := s.CreateAccount(t.Context(), newAccount(id, opening))
		if err != nil {
			t.Fatal(err)
		}
		entries, err := s.Entries(t.Context(), id)
		if err != nil || len(entries) != 1 {
			t.Fatalf("Entries: %v, %v", entries, err)
		}
		entry := entries[0]
		if entry.ID == 0 || entry.Ref == "" {
			t.Errorf("entry without id or reference: %+v", entry)
		}
		if entry.Amount != created.Balance || entry.Amount != opening {
			t.Errorf("%s: journal %v, balance %v, want %v", id, entry.Amount, created.Balance, opening)
		}
		entry.ID, entry.Ref = 0, ""
		equal(t, "entry", entry, store.Entry{AccountID: id, Kind: store.EntryOpening, Amount: opening, Operation: "account create", Time: at.UTC()})
	}
	entries, err := s.Entries(t.Context(), "nobody")
	if err != nil || len(entries) != 0 {
		t.Fatalf("Entries of nobody: %v, %v", entries, err)
	}
}

// testConcurrent lets callers race for the same names, ids and revocations: each
// may be won once.
func testConcurrent(t *testing.T, s store.Store) {
	const callers = 8
	const rounds = 10
	var (
		group sync.WaitGroup
		mu    sync.Mutex
		won   = map[string]int{}
	)
	note := func(what string, err error) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			won[what]++
		case !errors.Is(err, store.ErrExists):
			t.Errorf("%s: %v", what, err)
		}
	}
	for range callers {
		group.Go(func() {
			for round := range rounds {
				id := fmt.Sprintf("%02d", round)
				_, err := s.CreateAccount(t.Context(), newAccount(id, store.Credit))
				note("account "+id, err)
				note("token "+id, s.CreateToken(t.Context(), newToken(id, id)))
				if _, err := s.RevokeToken(t.Context(), id, at); err != nil {
					t.Errorf("RevokeToken: %v", err)
				}
			}
		})
	}
	group.Wait()

	for round := range rounds {
		id := fmt.Sprintf("%02d", round)
		if won["account "+id] != 1 || won["token "+id] != 1 {
			t.Errorf("round %s: account created %d times, token %d times, want once", id, won["account "+id], won["token "+id])
		}
		entries, err := s.Entries(t.Context(), id)
		if err != nil || len(entries) != 1 {
			t.Errorf("round %s: journal %v, %v", id, entries, err)
		}
	}
	changes, err := s.TokenChanges(t.Context(), 0)
	if err != nil || len(changes) != rounds {
		t.Errorf("%d changes, %v, want %d", len(changes), err, rounds)
	}
}

func testAccountExists(t *testing.T, s store.Store) {
	create(t, s, "a1")
	sameName := newAccount("a2", store.Credit)
	sameName.Name = "name-a1"
	sameID := newAccount("a1", store.Credit)
	sameID.Name = "another"
	for _, account := range []store.NewAccount{sameName, sameID} {
		_, err := s.CreateAccount(t.Context(), account)
		isError(t, "CreateAccount", err, store.ErrExists)
		if errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a taken name is no failure of the store: %v", err)
		}
	}
	if entries, err := s.Entries(t.Context(), "a2"); err != nil || len(entries) != 0 {
		t.Errorf("a refused account left entries: %v, %v", entries, err)
	}
	if account, err := s.Account(t.Context(), "name-a1"); err != nil || account.Balance != 0 {
		t.Errorf("a refused account moved money: %+v, %v", account, err)
	}
}

func testNotFound(t *testing.T, s store.Store) {
	create(t, s, "a1")
	_, account := s.Account(t.Context(), "nobody")
	_, token := s.TokenByHash(t.Context(), store.Hash{})
	_, revoke := s.RevokeToken(t.Context(), "nothing", at)
	for what, err := range map[string]error{
		"Account":     account,
		"TokenByHash": token,
		"RevokeToken": revoke,
		"CreateToken": s.CreateToken(t.Context(), newToken("t1", "nobody")),
	} {
		isError(t, what, err, store.ErrNotFound)
		if errors.Is(err, store.ErrUnavailable) {
			t.Errorf("%s: what is missing is no failure of the store: %v", what, err)
		}
	}
}

func testNegativeOpening(t *testing.T, s store.Store) {
	if _, err := s.CreateAccount(t.Context(), newAccount("a1", -1)); err == nil {
		t.Fatal("an account was created with a negative balance")
	}
	list, err := s.Accounts(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("accounts: %v, %v", list, err)
	}
}

func testCanceled(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.CreateAccount(ctx, newAccount("a1", 0))
	isError(t, "CreateAccount", err, context.Canceled)
	_, err = s.TokenByHash(ctx, store.Hash{})
	isError(t, "TokenByHash", err, context.Canceled)
	list, err := s.Accounts(t.Context())
	if err != nil || len(list) != 0 {
		t.Errorf("accounts: %v, %v", list, err)
	}
}

func testClosed(t *testing.T, s store.Store) {
	create(t, s, "a1")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	_, account := s.Account(ctx, "name-a1")
	_, accounts := s.Accounts(ctx)
	_, entries := s.Entries(ctx, "a1")
	_, created := s.CreateAccount(ctx, newAccount("a2", 0))
	_, byHash := s.TokenByHash(ctx, store.Hash{})
	_, tokens := s.Tokens(ctx)
	_, revoked := s.RevokeToken(ctx, "t1", at)
	_, sequence := s.TokenSequence(ctx)
	_, changes := s.TokenChanges(ctx, 0)
	errs := []error{
		account, accounts, entries, created, byHash, tokens, revoked, sequence, changes,
		s.CreateToken(ctx, newToken("t1", "a1")),
		s.TouchTokens(ctx, []store.TokenUse{{TokenID: "t1", Time: at}}),
		s.Ping(ctx),
	}
	if i := slices.IndexFunc(errs, func(err error) bool { return !errors.Is(err, store.ErrUnavailable) }); i >= 0 {
		t.Errorf("call %d on a closed store: %v, want one that wraps %q", i, errs[i], store.ErrUnavailable)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}
