// Package sqlite adds the module gateway.store.sqlite, which keeps the gateway's
// accounts, journal and tokens in one SQLite file.
package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/store"
)

// defaultFile is the name of the database in Caddy's data directory.
const defaultFile = "fleetgate.db"

func init() {
	caddy.RegisterModule(Backend{})
}

// Backend keeps accounts, journal and tokens in one SQLite file, the choice for a
// gateway of one node. Beside the file SQLite keeps two more, with the endings
// -wal and -shm; all three belong together.
//
// Every commit is flushed to the disk before it counts (WAL, full
// synchronization). Several processes may use one file at the same time, for
// example a server and the `gateway` command; the file must be on a local disk,
// not on a network share.
//
// The file is created, readable by its owner only, when the gateway starts or a
// command first needs it, never when a configuration is only validated.
type Backend struct {
	// Path of the database file. Placeholders that are known at start, such as
	// `{env.FLEETGATE_DATA}`, are replaced; a relative path starts at the working
	// directory. Default: `fleetgate.db` in Caddy's data directory.
	Path string `json:"path,omitempty"`
}

// CaddyModule returns the Caddy module information.
func (Backend) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.store.sqlite",
		New: func() caddy.Module { return new(Backend) },
	}
}

// Provision turns the path into an absolute one; it does not touch the file.
func (b *Backend) Provision(caddy.Context) error {
	if b.Path == "" {
		b.Path = filepath.Join(caddy.AppDataDir(), defaultFile)
	}
	path, err := caddy.NewReplacer().ReplaceOrErr(b.Path, true, true)
	if err != nil {
		return fmt.Errorf("path: %w", err)
	}
	if path == "" {
		return errors.New("path: it is empty after its placeholders were replaced")
	}
	b.Path, err = filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("path: %w", err)
	}
	return nil
}

// Identity implements [store.Backend]. Symbolic links do not make another store out
// of a file.
func (b *Backend) Identity() string {
	return "sqlite:" + resolve(b.Path)
}

// resolve follows the symbolic links in a path, as far as it exists yet.
func resolve(path string) string {
	resolved, err := filepath.EvalSymlinks(path)
	if err == nil {
		return resolved
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(resolve(dir), filepath.Base(path))
}

// Exists implements [store.Backend].
func (b *Backend) Exists(context.Context) (bool, error) {
	_, err := os.Stat(b.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, explain(b.Path, "open", plain(err))
}

// Open implements [store.Backend].
func (b *Backend) Open(ctx context.Context) (store.Store, error) {
	db, err := Open(ctx, b.Path)
	if err != nil {
		return nil, err // not db, which would be a nil pointer in a non-nil interface
	}
	return db, nil
}

// Interface guards
var (
	_ caddy.Provisioner = (*Backend)(nil)
	_ store.Backend     = (*Backend)(nil)
)
