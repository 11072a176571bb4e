package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// applicationID marks the file as ours ("FlGt"), so that a path that leads to
// some other program's database is refused instead of filled with tables.
const applicationID = 0x466c4774

// migrations bring an empty file to the current schema, one version each: the
// version of a file is how many of them it has seen. They are never edited, only
// appended to.
var migrations = []string{
	`
	CREATE TABLE accounts (
		id      TEXT    NOT NULL PRIMARY KEY,
		name    TEXT    NOT NULL UNIQUE,
		balance INTEGER NOT NULL CHECK (balance >= 0),
		created INTEGER NOT NULL
	) STRICT;

	CREATE TABLE ledger_entries (
		id         INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
		account_id TEXT    NOT NULL REFERENCES accounts (id),
		ref        TEXT    NOT NULL UNIQUE,
		kind       TEXT    NOT NULL,
		amount     INTEGER NOT NULL,
		request_id TEXT    NOT NULL,
		operation  TEXT    NOT NULL,
		time       INTEGER NOT NULL
	) STRICT;
	CREATE INDEX ledger_entries_by_account ON ledger_entries (account_id, id);
	CREATE TRIGGER ledger_entries_no_update BEFORE UPDATE ON ledger_entries
		BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
	CREATE TRIGGER ledger_entries_no_delete BEFORE DELETE ON ledger_entries
		BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;

	CREATE TABLE tokens (
		id         TEXT    NOT NULL PRIMARY KEY,
		account_id TEXT    NOT NULL REFERENCES accounts (id),
		hash       BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32),
		last4      TEXT    NOT NULL,
		scopes     TEXT    NOT NULL,
		created    INTEGER NOT NULL,
		expires    INTEGER,
		last_used  INTEGER,
		revoked    INTEGER
	) STRICT;
	CREATE INDEX tokens_by_account ON tokens (account_id);

	CREATE TABLE token_changes (
		seq      INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
		token_id TEXT    NOT NULL REFERENCES tokens (id),
		time     INTEGER NOT NULL
	) STRICT;
	`,
}

// migrate brings the file to the current schema. All of it is one transaction
// that holds the write lock, so of several processes that start together one
// migrates and the others find it done.
func migrate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // does nothing after a commit

	version, err := schemaVersion(ctx, tx)
	if err != nil {
		return err
	}
	if version == len(migrations) {
		return nil
	}
	for _, statements := range migrations[version:] {
		if _, err := tx.ExecContext(ctx, statements); err != nil {
			return err
		}
	}
	// A PRAGMA takes no parameters; both values are numbers of ours.
	if _, err := tx.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(migrations))); err != nil {
		return err
	}
	return tx.Commit()
}

// querier is what [sql.DB] and [sql.Tx] share.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// schemaVersion returns how many migrations the file has seen: 0 for an empty
// file. It fails when the file belongs to another program or to a newer version
// of this one.
func schemaVersion(ctx context.Context, q querier) (int, error) {
	var application, version, tables int
	err := q.QueryRowContext(ctx, `
		SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`).Scan(&application, &version, &tables)
	switch {
	case err != nil:
		return 0, err
	case application == 0 && tables == 0:
		return 0, nil
	case application != applicationID:
		return 0, errors.New("the file is the database of another program")
	case version > len(migrations):
		return 0, fmt.Errorf("the file has schema version %d, written by a newer gateway; this one knows up to %d", version, len(migrations))
	default:
		return version, nil
	}
}
