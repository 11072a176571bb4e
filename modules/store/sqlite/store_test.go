package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/fleetgate/fleetgate/modules/store"
	"github.com/fleetgate/fleetgate/modules/store/sqlite"
	"github.com/fleetgate/fleetgate/modules/store/storetest"
)

// The test binary runs itself again as another process on the same file.
const (
	roleVariable = "FLEETGATE_TEST_ROLE"
	pathVariable = "FLEETGATE_TEST_PATH"
	nameVariable = "FLEETGATE_TEST_NAME"
)

// accountsPerProcess is how many accounts a "create" process makes.
const accountsPerProcess = 20

func TestMain(m *testing.M) {
	path, name := os.Getenv(pathVariable), os.Getenv(nameVariable)
	switch os.Getenv(roleVariable) {
	case "":
		goleak.VerifyTestMain(m)
	case "create":
		exit(createAccounts(path, name, accountsPerProcess, io.Discard))
	case "create until killed":
		exit(createAccounts(path, name, 1<<30, os.Stdout))
	}
}

// exit ends a child process.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// createAccounts is what a child process does. It writes the name of each
// account to out once the store says that the account is kept.
func createAccounts(path, name string, count int, out io.Writer) error {
	ctx := context.Background()
	db, err := sqlite.Open(ctx, path)
	if err != nil {
		return err
	}
	for i := range count {
		id := fmt.Sprintf("%s-%d", name, i)
		if _, err := db.CreateAccount(ctx, store.NewAccount{ID: id, Name: id, Created: time.Now(), Opening: store.Credit, Operation: "test"}); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, id); err != nil {
			return err
		}
	}
	return db.Close()
}

// command returns the command that runs this binary in the given role.
func command(t *testing.T, role, path, name string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	// Else the race detector makes every process wait a second before it ends.
	cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", roleVariable+"="+role, pathVariable+"="+path, nameVariable+"="+name)
	cmd.Stderr = os.Stderr
	return cmd
}

// open opens the store at path and closes it when the test ends.
func open(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatalf("Open(%q): %v", path, err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return db
}

// raw opens the file without the gateway's checks.
func raw(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// run runs SQL on a raw database.
func run(t *testing.T, db *sql.DB, statements string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statements); err != nil {
		t.Fatal(err)
	}
}

func TestSuite(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		// A path with every character that means something in a URI.
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "a dir?", "50%20 #1&mode=ro.db"))
		if err != nil {
			t.Fatal(err)
		}
		return db
	})
}

func TestOpen(t *testing.T) {
	t.Run("ok/only the owner may read", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new", "dirs")
		open(t, filepath.Join(dir, "store.db"))
		for name, want := range map[string]os.FileMode{"": 0o700, "store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600} {
			info, err := os.Stat(filepath.Join(dir, name))
			if err != nil || info.Mode().Perm() != want {
				t.Errorf("%q: mode %v, %v, want %v", name, info.Mode().Perm(), err, want)
			}
		}
	})
	t.Run("ok/what was written is there again", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		for i := range 3 {
			db, err := sqlite.Open(t.Context(), path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := db.CreateAccount(t.Context(), store.NewAccount{ID: strconv.Itoa(i), Name: strconv.Itoa(i)}); err != nil {
				t.Fatal(err)
			}
			list, err := db.Accounts(t.Context())
			if err != nil || len(list) != i+1 {
				t.Errorf("opened %d times: accounts %v, %v", i+1, list, err)
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(path + "-wal"); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the write-ahead log is left after Close: %v", err)
			}
		}
	})
	t.Run("ok/durable settings", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		open(t, path)
		var mode string
		if err := raw(t, path).QueryRow("PRAGMA journal_mode").Scan(&mode); err != nil || mode != "wal" {
			t.Errorf("journal mode %q, %v, want wal", mode, err)
		}
	})

	failures := []struct {
		name    string
		prepare func(t *testing.T, path string)
		want    string
		not     string
	}{
		{
			name:    "directory",
			prepare: func(t *testing.T, path string) { check(t, os.Mkdir(path, 0o700)) },
			want:    "it is a directory",
		},
		{
			name:    "not a database",
			prepare: func(t *testing.T, path string) { write(t, path, strings.Repeat("this is some text\n", 1000)) },
			want:    "file is not a database",
			not:     "some text",
		},
		{
			name: "damaged",
			prepare: func(t *testing.T, path string) {
				db, err := sqlite.Open(t.Context(), path)
				check(t, err)
				check(t, db.Close())
				content, err := os.ReadFile(path)
				check(t, err)
				for i := 100; i < 4096; i++ { // the first page after its header: the list of tables
					content[i] = 0xff
				}
				write(t, path, string(content))
			},
			want: "damaged",
		},
		{
			name:    "database of another program",
			prepare: func(t *testing.T, path string) { run(t, raw(t, path), "CREATE TABLE other (x)") },
			want:    "the database of another program",
		},
		{
			name: "written by a newer gateway",
			prepare: func(t *testing.T, path string) {
				db, err := sqlite.Open(t.Context(), path)
				check(t, err)
				check(t, db.Close())
				run(t, raw(t, path), "PRAGMA user_version = 99")
			},
			want: "schema version 99, written by a newer gateway",
		},
		{
			name:    "file in place of the directory",
			prepare: func(t *testing.T, path string) { write(t, filepath.Dir(path), "") },
			want:    "the directory cannot be created: not a directory",
		},
	}
	for _, tt := range failures {
		t.Run("fail/"+tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dir", "store.db")
			if tt.name != "file in place of the directory" {
				check(t, os.Mkdir(filepath.Dir(path), 0o700))
			}
			tt.prepare(t, path)
			before, _ := os.ReadFile(path)

			db, err := sqlite.Open(t.Context(), path)
			if err == nil {
				_ = db.Close()
				t.Fatal("it was opened")
			}
			if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error %q, want the path and %q", err, tt.want)
			}
			if tt.not != "" && strings.Contains(err.Error(), tt.not) {
				t.Errorf("error %q holds content of the file", err)
			}
			if after, _ := os.ReadFile(path); string(before) != string(after) {
				t.Error("the refused file was changed")
			}
		})
	}
}

func TestFailures(t *testing.T) {
	t.Run("fail/disk full", func(t *testing.T) {
		db := open(t, filepath.Join(t.TempDir(), "store.db"))
		sqlite.LimitPages(t, db)
		var err error
		for i := 0; err == nil && i < 10_000; i++ {
			_, err = db.CreateAccount(t.Context(), store.NewAccount{ID: strconv.Itoa(i), Name: strings.Repeat("n", 100) + strconv.Itoa(i)})
		}
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "the disk is full") {
			t.Fatalf("error %v, want the disk is full", err)
		}
		if list, err := db.Accounts(t.Context()); err != nil || len(list) == 0 {
			t.Errorf("reading still works: %d accounts, %v", len(list), err)
		}
	})
	t.Run("fail/file removed while open", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		db := open(t, path)
		check(t, os.Rename(path, path+".old"))
		err := db.Ping(t.Context())
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "no such file") {
			t.Errorf("Ping: %v", err)
		}
		write(t, path, "")
		err = db.Ping(t.Context())
		if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "replaced") {
			t.Errorf("Ping: %v", err)
		}
		check(t, os.Remove(path))
		check(t, os.Rename(path+".old", path))
		if err := db.Ping(t.Context()); err != nil {
			t.Errorf("Ping after the file is back: %v", err)
		}
	})
	t.Run("fail/journal is append-only", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		db := open(t, path)
		_, err := db.CreateAccount(t.Context(), store.NewAccount{ID: "a", Name: "a", Opening: 5})
		check(t, err)
		for _, statement := range []string{"UPDATE ledger_entries SET amount = 7", "DELETE FROM ledger_entries", "UPDATE accounts SET balance = -1"} {
			if _, err := raw(t, path).ExecContext(t.Context(), statement); err == nil {
				t.Errorf("%s: it was done", statement)
			}
		}
		entries, err := db.Entries(t.Context(), "a")
		if err != nil || len(entries) != 1 || entries[0].Amount != 5 {
			t.Errorf("journal %v, %v", entries, err)
		}
	})
}

func TestProcesses(t *testing.T) {
	t.Run("ok/several at once on a new file", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "new", "store.db")
		var running []*exec.Cmd
		for i := range 4 {
			cmd := command(t, "create", path, strconv.Itoa(i))
			check(t, cmd.Start())
			running = append(running, cmd)
		}
		for i, cmd := range running {
			if err := cmd.Wait(); err != nil {
				t.Errorf("process %d: %v", i, err)
			}
		}
		list, err := open(t, path).Accounts(t.Context())
		if err != nil || len(list) != len(running)*accountsPerProcess {
			t.Errorf("%d accounts, %v, want %d", len(list), err, len(running)*accountsPerProcess)
		}
	})
	t.Run("ok/one sees what the other commits", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		db := open(t, path)
		if out, err := command(t, "create", path, "other").Output(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		account, err := db.Account(t.Context(), "other-0")
		if err != nil || account.Balance != store.Credit {
			t.Errorf("account %+v, %v", account, err)
		}
	})
	t.Run("ok/killed without losing what it confirmed", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "store.db")
		confirmed := 0
		for round := range 3 {
			cmd := command(t, "create until killed", path, strconv.Itoa(round))
			out, err := cmd.StdoutPipe()
			check(t, err)
			check(t, cmd.Start())
			lines := bufio.NewScanner(out)
			for range 25 {
				if !lines.Scan() {
					t.Fatal("the process ended early")
				}
				confirmed++
			}
			check(t, cmd.Process.Kill())
			for lines.Scan() { // what it still confirmed before the signal arrived
				if lines.Text() != "" && strings.HasPrefix(lines.Text(), strconv.Itoa(round)) {
					confirmed++
				}
			}
			if err := cmd.Wait(); err == nil {
				t.Fatal("the process was not killed")
			}
		}
		db := open(t, path)
		list, err := db.Accounts(t.Context())
		// The last account of each round may be kept without having been confirmed.
		if err != nil || len(list) < confirmed || len(list) > confirmed+3 {
			t.Errorf("%d accounts, %v, want at least the %d confirmed ones", len(list), err, confirmed)
		}
		for _, account := range list {
			entries, err := db.Entries(t.Context(), account.ID)
			if err != nil || len(entries) != 1 || entries[0].Amount != account.Balance {
				t.Errorf("%s: balance %v, journal %v, %v", account.Name, account.Balance, entries, err)
			}
		}
		var integrity string
		if err := raw(t, path).QueryRow("PRAGMA integrity_check").Scan(&integrity); err != nil || integrity != "ok" {
			t.Errorf("integrity check: %q, %v", integrity, err)
		}
	})
}

// check fails the test on an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write writes a file.
func write(t *testing.T, path, content string) {
	t.Helper()
	check(t, os.WriteFile(path, []byte(content), 0o600))
}
