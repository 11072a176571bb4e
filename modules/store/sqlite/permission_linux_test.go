package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/fleetgate/fleetgate/modules/store"
	"github.com/fleetgate/fleetgate/modules/store/sqlite"
)

// TestPermission opens stores that the process must not write. Root may write
// everything, so the opening runs on a thread whose file system user is another
// one; SQLite does its work on the caller's thread.
func TestPermission(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(t *testing.T, path string)
		want    string
	}{
		{
			name:    "fail/directory not writable",
			prepare: func(t *testing.T, path string) { check(t, os.Chmod(filepath.Dir(path), 0o555)) },
			want:    "the directory is not writable: permission denied",
		},
		{
			name: "fail/file read-only",
			prepare: func(t *testing.T, path string) {
				db, err := sqlite.Open(t.Context(), path)
				check(t, err)
				check(t, db.Close())
				check(t, os.Chmod(path, 0o444))
				check(t, os.Chmod(filepath.Dir(path), 0o777))
			},
			want: "the file is read-only for this user: permission denied",
		},
		{
			name: "fail/file writable but not its directory",
			prepare: func(t *testing.T, path string) {
				db, err := sqlite.Open(t.Context(), path)
				check(t, err)
				check(t, db.Close())
				check(t, os.Chmod(path, 0o666))
				check(t, os.Chmod(filepath.Dir(path), 0o555))
			},
			want: "the directory around it, is read-only",
		},
		{
			name: "fail/parent not writable",
			prepare: func(t *testing.T, path string) {
				check(t, os.Chmod(filepath.Dir(filepath.Dir(path)), 0o555))
				check(t, os.Remove(filepath.Dir(path)))
			},
			want: "the directory cannot be created: permission denied",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// Not t.TempDir, whose parent other users must not enter.
			root, err := os.MkdirTemp("", "fleetgate")
			check(t, err)
			t.Cleanup(func() {
				_ = os.Chmod(filepath.Join(root, "dir"), 0o700)
				_ = os.Chmod(root, 0o700)
				check(t, os.RemoveAll(root))
			})
			check(t, os.Chmod(root, 0o755))
			path := filepath.Join(root, "dir", "store.db")
			check(t, os.Mkdir(filepath.Dir(path), 0o755))
			tt.prepare(t, path)

			err = asNobody(func() error {
				db, err := sqlite.Open(t.Context(), path)
				if err == nil {
					_ = db.Close()
				}
				return err
			})
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %v, want the path and %q", err, tt.want)
			}
		})
	}
}

// asNobody runs f without root's right to ignore permissions.
func asNobody(f func() error) error {
	if os.Geteuid() != 0 {
		return f()
	}
	done := make(chan error)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and its user with it.
		runtime.LockOSThread()
		const nobody = 65534
		if _, _, errno := syscall.RawSyscall(syscall.SYS_SETFSUID, nobody, 0, 0); errno != 0 {
			done <- errno
			return
		}
		done <- f()
	}()
	return <-done
}
