package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/fleetgate/fleetgate/modules/store"
)

// DB is an open database file. It implements [store.Store].
type DB struct {
	path   string
	file   fs.FileInfo
	writer *sql.DB
	reader *sql.DB
}

// Ping implements [store.Store]. It also fails when the file was removed or
// replaced under the open database: then what this process writes is lost to the
// processes that open the path anew.
func (d *DB) Ping(ctx context.Context) error {
	info, err := os.Stat(d.path)
	if err != nil {
		return d.explain("ping", plain(err))
	}
	if !os.SameFile(info, d.file) {
		return d.explain("ping", errors.New("the file was replaced while it was open; restart the gateway"))
	}
	version, err := schemaVersion(ctx, d.reader)
	if err != nil {
		return d.explain("ping", err)
	}
	if version == 0 {
		return d.explain("ping", errors.New("the tables are gone"))
	}
	return nil
}

// Close implements [store.Store]. The writer closes last, because only a
// connection that may write can fold the write-ahead log back into the file.
func (d *DB) Close() error {
	if err := errors.Join(d.reader.Close(), d.writer.Close()); err != nil {
		return d.explain("close", err)
	}
	return nil
}

// write runs change in one transaction that holds the write lock.
func (d *DB) write(ctx context.Context, op string, change func(tx *sql.Tx) error) error {
	tx, err := d.writer.BeginTx(ctx, nil)
	if err != nil {
		return d.explain(op, err)
	}
	if err := change(tx); err != nil {
		_ = tx.Rollback() // the reason to give up is err
		return d.explain(op, err)
	}
	return d.explain(op, tx.Commit())
}

// read collects the rows of a query; scan reads the current one.
func read[T any](ctx context.Context, d *DB, op string, scan func(row scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := d.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, d.explain(op, err)
	}
	defer func() { _ = rows.Close() }() // what was wrong is in rows.Err

	var list []T
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, d.explain(op, err)
		}
		list = append(list, item)
	}
	if err := rows.Err(); err != nil {
		return nil, d.explain(op, err)
	}
	return list, nil
}

// scanner is what [sql.Row] and [sql.Rows] share.
type scanner interface {
	Scan(dest ...any) error
}

// notFound returns err, or what is missing when err says that there is no row.
func notFound(err error, what, name string) error {
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%s %q: %w", what, name, store.ErrNotFound)
	}
	return err
}

// toMicros returns t as it is stored; nil for "never".
func toMicros(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UnixMicro()
}

// fromMicros is the reverse of toMicros.
func fromMicros(v sql.NullInt64) time.Time {
	if !v.Valid {
		return time.Time{}
	}
	return time.UnixMicro(v.Int64).UTC()
}

// Interface guards
var _ store.Store = (*DB)(nil)
