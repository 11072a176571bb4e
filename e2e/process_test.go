package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Bounds of what a process may take. A machine that is busy with other tests is slow.
const (
	startTimeout   = 60 * time.Second
	stopTimeout    = 30 * time.Second
	commandTimeout = 60 * time.Second
	pollInterval   = 10 * time.Millisecond
)

// raceOptions keep binaries with the race detector from waiting a second at their end,
// and from ending with a code of its own: crash finds races in the output.
const raceOptions = "GORACE=atexit_sleep_ms=20 exitcode=0"

// process is a started binary.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr string // files
	ended          chan struct{}
}

// start starts a binary whose output goes to files in dir. It is ended with the test,
// if it was not before.
func start(tb testing.TB, dir string, env []string, binary string, args ...string) *process {
	tb.Helper()
	p := &process{
		cmd:    exec.Command(binary, args...),
		stdout: filepath.Join(dir, "stdout"),
		stderr: filepath.Join(dir, "stderr"),
		ended:  make(chan struct{}),
	}
	p.cmd.Dir, p.cmd.Env = dir, env
	stdout, stderr := openLog(tb, p.stdout), openLog(tb, p.stderr)
	defer stdout.Close()
	defer stderr.Close()
	p.cmd.Stdout, p.cmd.Stderr = stdout, stderr
	if err := p.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // the state says how it ended
	}()
	tb.Cleanup(func() { p.stop(tb) })
	return p
}

func openLog(tb testing.TB, file string) *os.File {
	tb.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		tb.Fatal(err)
	}
	return f
}

// over reports whether the process has ended.
func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// stop ends the process as a service manager does and waits for it.
func (p *process) stop(tb testing.TB) {
	tb.Helper()
	p.signal(tb, syscall.SIGTERM)
	p.wait(tb)
}

func (p *process) signal(tb testing.TB, sig os.Signal) {
	tb.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		tb.Error(err)
	}
}

var (
	// died matches what the Go runtime prints before it ends a process.
	died = regexp.MustCompile(`(?m)^(panic: |fatal error: )`)

	// raced matches a report of the race detector.
	raced = regexp.MustCompile(`(?s)WARNING: DATA RACE\n.*?\n={18}\n`)
)

// crash returns what a process printed about its own faults, or "". Races within
// Caddy are not the gateway's: there is one between the start of its TLS app and the
// first certificate.
func crash(stderr string) string {
	if died.MatchString(stderr) {
		return stderr
	}
	for _, report := range raced.FindAllString(stderr, -1) {
		if strings.Contains(report, "github.com/fleetgate/fleetgate/") {
			return report
		}
	}
	return ""
}

// wait waits for the end of the process, which must be a good one.
func (p *process) wait(tb testing.TB) {
	tb.Helper()
	select {
	case <-p.ended:
	case <-time.After(stopTimeout):
		tb.Errorf("process %d did not end within %v of the signal", p.cmd.Process.Pid, stopTimeout)
		p.signal(tb, os.Kill)
		<-p.ended
	}
	log := read(tb, p.stderr)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		tb.Errorf("exit code %d, want 0; stderr:\n%s", code, tail(log))
	}
	if report := crash(string(log)); report != "" {
		tb.Errorf("the process crashed or raced:\n%s", report)
	}
}

// result is how a command ended.
type result struct {
	stdout, stderr string
	code           int
}

// command runs a binary to its end.
func command(tb testing.TB, dir string, env []string, binary string, args ...string) result {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &stdout, &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		tb.Fatalf("%s %q took more than %v", binary, args, commandTimeout)
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		tb.Fatal(err)
	}
	if report := crash(stderr.String()); report != "" {
		tb.Errorf("%s %q crashed or raced:\n%s", binary, args, report)
	}
	return result{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode()}
}

// eventually polls until check reports no error, and fails with its last error.
func eventually(tb testing.TB, within time.Duration, check func() error) {
	tb.Helper()
	if err := poll(within, check); err != nil {
		tb.Fatalf("not within %v: %v", within, err)
	}
}

func poll(within time.Duration, check func() error) error {
	deadline := time.Now().Add(within)
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := check()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		<-tick.C
	}
}

func read(tb testing.TB, file string) []byte {
	tb.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// tail returns the end of a log, for messages.
func tail(log []byte) []byte {
	const most = 4 << 10
	if len(log) <= most {
		return log
	}
	return append(fmt.Appendf(nil, "… %d bytes before\n", len(log)-most), log[len(log)-most:]...)
}
