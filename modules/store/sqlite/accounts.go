package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/fleetgate/fleetgate/modules/store"
)

const selectAccounts = "SELECT id, name, balance, created FROM accounts "

// CreateAccount implements [store.Store].
func (d *DB) CreateAccount(ctx context.Context, account store.NewAccount) (store.Account, error) {
	var created store.Account
	err := d.write(ctx, "create account", func(tx *sql.Tx) error {
		at := account.Created.UnixMicro()
		_, err := tx.ExecContext(ctx, "INSERT INTO accounts (id, name, balance, created) VALUES (?, ?, ?, ?)",
			account.ID, account.Name, int64(account.Opening), at)
		if isTaken(err) {
			return fmt.Errorf("account %q: %w", account.Name, store.ErrExists)
		}
		if err != nil {
			return err
		}
		// The reference is made from the account's id, so the journal itself refuses a
		// second opening of the same account.
		_, err = tx.ExecContext(ctx, `
			INSERT INTO ledger_entries (account_id, ref, kind, amount, request_id, operation, time)
			VALUES (?, ?, ?, ?, '', ?, ?)`,
			account.ID, "opening:"+account.ID, string(store.EntryOpening), int64(account.Opening), account.Operation, at)
		if err != nil {
			return err
		}
		created, err = scanAccount(tx.QueryRowContext(ctx, selectAccounts+"WHERE id = ?", account.ID))
		return err
	})
	if err != nil {
		return store.Account{}, err
	}
	return created, nil
}

// Account implements [store.Store].
func (d *DB) Account(ctx context.Context, name string) (store.Account, error) {
	account, err := scanAccount(d.reader.QueryRowContext(ctx, selectAccounts+"WHERE name = ?", name))
	if err != nil {
		return store.Account{}, d.explain("read account", notFound(err, "account", name))
	}
	return account, nil
}

// Accounts implements [store.Store].
func (d *DB) Accounts(ctx context.Context) ([]store.Account, error) {
	return read(ctx, d, "list accounts", scanAccount, selectAccounts+"ORDER BY name")
}

// Entries implements [store.Store].
func (d *DB) Entries(ctx context.Context, accountID string) ([]store.Entry, error) {
	return read(ctx, d, "read journal", scanEntry, `
		SELECT id, account_id, ref, kind, amount, request_id, operation, time
		FROM ledger_entries WHERE account_id = ? ORDER BY id`, accountID)
}

// scanAccount reads one row of selectAccounts.
func scanAccount(row scanner) (store.Account, error) {
	var (
		account store.Account
		created int64
	)
	if err := row.Scan(&account.ID, &account.Name, &account.Balance, &created); err != nil {
		return store.Account{}, err
	}
	account.Available = account.Balance
	account.Created = time.UnixMicro(created).UTC()
	return account, nil
}

// scanEntry reads one row of the journal.
func scanEntry(row scanner) (store.Entry, error) {
	var (
		entry store.Entry
		at    int64
	)
	err := row.Scan(&entry.ID, &entry.AccountID, &entry.Ref, &entry.Kind, &entry.Amount, &entry.RequestID, &entry.Operation, &at)
	if err != nil {
		return store.Entry{}, err
	}
	entry.Time = time.UnixMicro(at).UTC()
	return entry, nil
}
