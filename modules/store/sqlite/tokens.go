package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fleetgate/fleetgate/modules/store"
)

const selectTokens = `
	SELECT t.id, t.account_id, a.name, t.hash, t.last4, t.scopes, t.created, t.expires, t.last_used, t.revoked
	FROM tokens t JOIN accounts a ON a.id = t.account_id `

// CreateToken implements [store.Store].
func (d *DB) CreateToken(ctx context.Context, token store.Token) error {
	return d.write(ctx, "create token", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO tokens (id, account_id, hash, last4, scopes, created, expires)
			VALUES (?, ?, ?, ?, ?, ?, ?)`,
			token.ID, token.AccountID, token.Hash[:], token.Last4, strings.Join(token.Scopes, " "),
			token.Created.UnixMicro(), toMicros(token.Expires))
		switch {
		case isTaken(err):
			return fmt.Errorf("token %q: %w", token.ID, store.ErrExists)
		case isOrphan(err):
			return fmt.Errorf("account %q: %w", token.AccountID, store.ErrNotFound)
		default:
			return err
		}
	})
}

// TokenByHash implements [store.Store].
func (d *DB) TokenByHash(ctx context.Context, hash store.Hash) (store.Token, error) {
	token, err := scanToken(d.reader.QueryRowContext(ctx, selectTokens+"WHERE t.hash = ?", hash[:]))
	if errors.Is(err, sql.ErrNoRows) {
		return store.Token{}, fmt.Errorf("token: %w", store.ErrNotFound)
	}
	if err != nil {
		return store.Token{}, d.explain("read token", err)
	}
	return token, nil
}

// Tokens implements [store.Store].
func (d *DB) Tokens(ctx context.Context) ([]store.Token, error) {
	return read(ctx, d, "list tokens", scanToken, selectTokens+"ORDER BY t.created, t.rowid")
}

// RevokeToken implements [store.Store].
func (d *DB) RevokeToken(ctx context.Context, id string, at time.Time) (store.Token, error) {
	var token store.Token
	err := d.write(ctx, "revoke token", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "UPDATE tokens SET revoked = ? WHERE id = ? AND revoked IS NULL", at.UnixMicro(), id)
		if err != nil {
			return err
		}
		changed, err := result.RowsAffected()
		if err != nil {
			return err
		}
		if changed > 0 {
			if _, err := tx.ExecContext(ctx, "INSERT INTO token_changes (token_id, time) VALUES (?, ?)", id, at.UnixMicro()); err != nil {
				return err
			}
		}
		token, err = scanToken(tx.QueryRowContext(ctx, selectTokens+"WHERE t.id = ?", id))
		return notFound(err, "token", id)
	})
	if err != nil {
		return store.Token{}, err
	}
	return token, nil
}

// TouchTokens implements [store.Store].
func (d *DB) TouchTokens(ctx context.Context, uses []store.TokenUse) error {
	return d.write(ctx, "note use of tokens", func(tx *sql.Tx) error {
		for _, use := range uses {
			at := use.Time.UnixMicro()
			if _, err := tx.ExecContext(ctx, "UPDATE tokens SET last_used = ?1 WHERE id = ?2 AND ifnull(last_used, 0) < ?1", at, use.TokenID); err != nil {
				return err
			}
		}
		return nil
	})
}

// TokenSequence implements [store.Store].
func (d *DB) TokenSequence(ctx context.Context) (int64, error) {
	var seq int64
	err := d.reader.QueryRowContext(ctx, "SELECT ifnull(max(seq), 0) FROM token_changes").Scan(&seq)
	return seq, d.explain("read changes", err)
}

// TokenChanges implements [store.Store].
func (d *DB) TokenChanges(ctx context.Context, after int64) ([]store.TokenChange, error) {
	return read(ctx, d, "read changes", scanChange, `
		SELECT c.seq, c.token_id, t.hash
		FROM token_changes c JOIN tokens t ON t.id = c.token_id
		WHERE c.seq > ? ORDER BY c.seq`, after)
}

// scanToken reads one row of selectTokens.
func scanToken(row scanner) (store.Token, error) {
	var (
		token                      store.Token
		hash                       []byte
		scopes                     string
		created                    int64
		expires, lastUsed, revoked sql.NullInt64
	)
	err := row.Scan(&token.ID, &token.AccountID, &token.Account, &hash, &token.Last4, &scopes, &created, &expires, &lastUsed, &revoked)
	if err != nil {
		return store.Token{}, err
	}
	copy(token.Hash[:], hash) // the table's CHECK keeps the length
	token.Scopes = strings.Fields(scopes)
	token.Created = time.UnixMicro(created).UTC()
	token.Expires = fromMicros(expires)
	token.LastUsed = fromMicros(lastUsed)
	token.Revoked = fromMicros(revoked)
	return token, nil
}

// scanChange reads one row of the feed.
func scanChange(row scanner) (store.TokenChange, error) {
	var (
		change store.TokenChange
		hash   []byte
	)
	if err := row.Scan(&change.Seq, &change.TokenID, &hash); err != nil {
		return store.TokenChange{}, err
	}
	copy(change.Hash[:], hash) // the table's CHECK keeps the length
	return change, nil
}
