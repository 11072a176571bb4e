package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	// busyTimeout is how long a statement waits for a lock of another process.
	busyTimeout = 5 * time.Second

	// readConnections bounds the read pool. Reads are single rows by key; more
	// connections would only hold memory.
	readConnections = 4
)

// Open opens the database file at path, which must be absolute, and creates it
// and its directory when they are missing. The context bounds the opening only.
func Open(ctx context.Context, path string) (*DB, error) {
	if err := createFile(path); err != nil {
		return nil, explain(path, "open", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, explain(path, "open", err)
	}

	// One connection writes, so writers of this process queue in Go instead of
	// polling SQLite's lock, and a write transaction takes the lock at its start,
	// where waiting for it is still possible.
	writer, err := sql.Open("sqlite", dataSource(path, url.Values{
		"mode":          {"rw"},
		"_txlock":       {"immediate"},
		"_synchronous":  {"FULL"},
		"_foreign_keys": {"on"},
	}))
	if err != nil {
		return nil, explain(path, "open", err)
	}
	writer.SetMaxOpenConns(1)
	if err := prepare(ctx, writer); err != nil {
		_ = writer.Close() // the reason to give up is err
		return nil, explain(path, "open", err)
	}

	reader, err := sql.Open("sqlite", dataSource(path, url.Values{
		"mode":        {"ro"},
		"_query_only": {"on"},
	}))
	if err != nil {
		_ = writer.Close() // the reason to give up is err
		return nil, explain(path, "open", err)
	}
	reader.SetMaxOpenConns(readConnections)
	reader.SetMaxIdleConns(readConnections)

	db := &DB{path: path, file: info, writer: writer, reader: reader}
	if err := db.Ping(ctx); err != nil {
		_ = db.Close() // the reason to give up is err
		return nil, err
	}
	return db, nil
}

// createFile makes the file and its directory, for their owner only, when they
// are missing, and finds out early what SQLite would report as one vague code.
func createFile(path string) error {
	info, err := os.Stat(path)
	exists := err == nil
	if exists && info.IsDir() {
		return errors.New("it is a directory; name a file")
	}
	if exists && !info.Mode().IsRegular() {
		return errors.New("it is not a regular file")
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the directory cannot be created: %w", plain(err))
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		if exists {
			return fmt.Errorf("the file is read-only for this user: %w", plain(err))
		}
		return fmt.Errorf("the directory is not writable: %w", plain(err))
	}
	return file.Close()
}

// plain strips the path from an error of package os: the caller names it.
func plain(err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return pathErr.Err
	}
	return err
}

// dataSource returns the driver's name for the file. As a URI, so that any
// character may occur in the path.
func dataSource(path string, query url.Values) string {
	query.Set("_busy_timeout", strconv.FormatInt(busyTimeout.Milliseconds(), 10))
	query.Set("_dqs", "0")
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a Windows path begins with its drive
	}
	return (&url.URL{Scheme: "file", Path: slashed, RawQuery: query.Encode()}).String()
}

// prepare refuses a foreign file before anything in it is changed, and then
// brings the file to write-ahead logging and to the current schema.
func prepare(ctx context.Context, db *sql.DB) error {
	if _, err := schemaVersion(ctx, db); err != nil {
		return err
	}
	if err := useWAL(ctx, db); err != nil {
		return err
	}
	return migrate(ctx, db)
}

// useWAL switches the file to write-ahead logging. The switch needs the file for
// itself and does not wait for it as other statements do, so it is tried again
// until a process that is switching at the same moment is done.
func useWAL(ctx context.Context, db *sql.DB) error {
	ctx, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		var mode string
		err := db.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode)
		if err == nil && mode != "wal" {
			return fmt.Errorf("the file system does not support write-ahead logging (journal mode stays %q)", mode)
		}
		if err == nil || !isBusy(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}
