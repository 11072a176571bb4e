package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// scratch is the folder of everything that a run of the tests writes. Its name is
// short, because sockets live below it, whose paths may have 108 bytes.
var scratch string

func TestMain(m *testing.M) {
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	if runtime.GOOS == "windows" {
		fmt.Println("skipped: a process is ended by SIGTERM here, which Windows does not have")
		return 0
	}
	var err error
	if scratch, err = os.MkdirTemp("", "fg"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(scratch)
	return m.Run()
}

// program is a binary that is built once, when a test first asks for it.
type program struct {
	name string
	pkg  string // below the root of the repository
	race bool

	once sync.Once
	path string
	err  error
}

var (
	fleetgate = program{name: "fleetgate", pkg: "./cmd/fleetgate", race: raceEnabled}

	// faulty has a handler and a provider besides, which panic.
	faulty = program{name: "faulty", pkg: "./e2e/testdata/faulty", race: raceEnabled}

	// shipped is built as `make build` does, for benchmarks.
	shipped = program{name: "shipped", pkg: "./cmd/fleetgate"}
)

// build returns the path of the binary.
func (p *program) build(tb testing.TB) string {
	tb.Helper()
	p.once.Do(func() {
		if p.err = noteSources(); p.err != nil {
			return
		}
		p.path = filepath.Join(scratch, p.name)
		args := []string{"build", "-tags", "nobadger,nomysql,nopgx", "-ldflags", "-s -w", "-o", p.path}
		if p.race {
			args = append(args, "-race")
		}
		cmd := exec.CommandContext(tb.Context(), "go", append(args, p.pkg)...)
		cmd.Dir = ".."
		if out, err := cmd.CombinedOutput(); err != nil {
			p.err = fmt.Errorf("go build %s: %w\n%s", p.pkg, err, out)
		}
	})
	if p.err != nil {
		tb.Fatal(p.err)
	}
	return p.path
}

// noteSources looks at every folder of the repository. `go test` keeps the result of
// a package until a file that its tests looked at changes, and does not know that
// these tests build a binary from all of them.
func noteSources() error {
	return filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			switch name := entry.Name(); {
			case path == "..":
			case strings.HasPrefix(name, "."), name == "bin", name == "data", name == "artifacts":
				return filepath.SkipDir
			}
		}
		return err
	})
}

// requireProgram returns the path of a program that a Debian package brings.
func requireProgram(t *testing.T, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	text := fmt.Sprintf("%s is missing: install the Debian package %s", name, debian)
	if os.Getenv("FLEETGATE_REQUIRE_ALL") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}
