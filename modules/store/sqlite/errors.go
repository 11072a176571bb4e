package sqlite

import (
	"context"
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/fleetgate/fleetgate/modules/store"
)

// explain returns err, which SQLite or the file system gave while doing what op
// says, as an error of the store: with the path and a text that an operator can
// act on, and with the sentinel that callers test for.
func (d *DB) explain(op string, err error) error {
	return explain(d.path, op, err)
}

// explain is [DB.explain] for a file that is not open yet.
func explain(path, op string, err error) error {
	if err == nil || errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrExists) {
		return err
	}
	return fmt.Errorf("%w: %s: %s: %w", store.ErrUnavailable, path, op, reason(err))
}

// problems holds what SQLite's primary result codes mean to an operator.
var problems = map[int]string{
	lib.SQLITE_NOTADB:   "file is not a database",
	lib.SQLITE_CORRUPT:  "the database is damaged; restore it from a backup",
	lib.SQLITE_READONLY: "the file, or the directory around it, is read-only",
	lib.SQLITE_PERM:     "the file, or the directory around it, is read-only",
	lib.SQLITE_FULL:     "the disk is full",
	lib.SQLITE_CANTOPEN: "the file, or the -wal and -shm files beside it, cannot be opened or created",
	lib.SQLITE_BUSY:     "the database is locked by another process",
	lib.SQLITE_LOCKED:   "the database is locked by another process",
	lib.SQLITE_IOERR:    "reading or writing the file failed",
}

// problem is a failure in words for the operator; it unwraps to its cause.
type problem struct {
	text  string
	cause error
}

// Error implements error.
func (p *problem) Error() string { return p.text }

// Unwrap returns the cause, so that [context.Canceled] and the like are found.
func (p *problem) Unwrap() error { return p.cause }

// reason puts err into words.
func reason(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &problem{text: "timeout", cause: err}
	}
	code, ok := resultCode(err)
	if !ok {
		return err
	}
	if text, ok := problems[code&0xff]; ok {
		return &problem{text: text, cause: err}
	}
	return err
}

// resultCode returns SQLite's extended result code.
func resultCode(err error) (int, bool) {
	var e *driver.Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code(), true
}

// isTaken reports whether err says that a unique value is in the table already.
func isTaken(err error) bool {
	code, _ := resultCode(err)
	return code == lib.SQLITE_CONSTRAINT_UNIQUE || code == lib.SQLITE_CONSTRAINT_PRIMARYKEY
}

// isOrphan reports whether err says that a referenced row is missing.
func isOrphan(err error) bool {
	code, _ := resultCode(err)
	return code == lib.SQLITE_CONSTRAINT_FOREIGNKEY
}

// isBusy reports whether err says that another connection holds the lock.
func isBusy(err error) bool {
	code, ok := resultCode(err)
	return ok && (code&0xff == lib.SQLITE_BUSY || code&0xff == lib.SQLITE_LOCKED)
}
