package gateway

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/fleetgate/fleetgate/modules/store"
)

// accountName is what an account may be called: safe in a shell, in a path and in
// a log line.
var accountName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// newID returns a new id of 80 random bits: the prefix, then 16 characters that
// can be typed and are the same in any case.
func newID(prefix string) string {
	return prefix + strings.ToLower(rand.Text()[:16])
}

// checkAccount checks what an operator wants a new account to be.
func checkAccount(name string, opening store.Amount) error {
	if !accountName.MatchString(name) {
		return fmt.Errorf("%q is not a name for an account: use 1 to 64 letters, digits, dots, underscores and hyphens, beginning with a letter or digit", name)
	}
	if opening < 0 {
		return fmt.Errorf("%v is not a balance to begin with: it must not be negative", opening)
	}
	return nil
}

// createAccount creates an account with an opening balance.
func createAccount(ctx context.Context, s store.Store, name string, opening store.Amount, now time.Time) (store.Account, error) {
	if err := checkAccount(name, opening); err != nil {
		return store.Account{}, err
	}
	return s.CreateAccount(ctx, store.NewAccount{
		ID:        newID("acc_"),
		Name:      name,
		Created:   now,
		Opening:   opening,
		Operation: "account create",
	})
}

// issueToken issues a token to the account with that name. lifetime is zero for a
// token that does not expire. The value it returns is kept nowhere else.
func issueToken(ctx context.Context, s store.Store, account string, scopes Scopes, lifetime time.Duration, now time.Time) (string, store.Token, error) {
	owner, err := s.Account(ctx, account)
	if err != nil {
		return "", store.Token{}, err
	}
	value := newTokenValue()
	hash, err := ParseToken(value)
	if err != nil {
		return "", store.Token{}, err
	}
	token := store.Token{
		ID:        newID("tok_"),
		AccountID: owner.ID,
		Account:   owner.Name,
		Hash:      hash,
		Last4:     value[len(value)-4:],
		Scopes:    scopes,
		Created:   now,
	}
	if lifetime != 0 {
		token.Expires = now.Add(lifetime)
	}
	if err := s.CreateToken(ctx, token); err != nil {
		return "", store.Token{}, err
	}
	return value, token, nil
}
