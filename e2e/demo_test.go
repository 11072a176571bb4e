package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// demoEnd is the last line that the demo prints before it serves until it is stopped.
const demoEnd = "Press Ctrl-C to stop.\n"

// TestDemo does what a newcomer does: start the demo, paste the lines that begin with
// curl into a shell, stop it, and do it again another day.
func TestDemo(t *testing.T) {
	t.Parallel()
	curl := requireProgram(t, "curl", "curl")
	binary := fleetgate.build(t)
	home, err := os.MkdirTemp(scratch, "")
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(home, "the data") // a path that a shell must have quoted
	env := []string{
		"PATH=" + filepath.Dir(curl) + ":" + os.Getenv("PATH"),
		"HOME=" + home,
		"CURL_HOME=" + home,
		raceOptions,
	}
	settings := "silent\nshow-error\nfail-with-body\nmax-time = 60\n"
	if err := os.WriteFile(filepath.Join(home, ".curlrc"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, run := range []struct {
		name string
		end  os.Signal
	}{
		{"ok/first run", syscall.SIGINT},
		{"ok/second run on the same data", syscall.SIGTERM},
	} {
		t.Run(run.name, func(t *testing.T) {
			dir, err := os.MkdirTemp(home, "")
			if err != nil {
				t.Fatal(err)
			}
			p := start(t, dir, env, binary, "gateway", "demo", "--listen", "127.0.0.1:"+freePort(t), "--data", data)
			var printed string
			eventually(t, startTimeout, func() error {
				if p.over() {
					t.Fatalf("the demo ended; stderr:\n%s", tail(read(t, p.stderr)))
				}
				if printed = string(read(t, p.stdout)); !strings.HasSuffix(printed, demoEnd) {
					return fmt.Errorf("printed so far:\n%s", printed)
				}
				return nil
			})
			tryLines(t, dir, env, printed)
			p.signal(t, run.end)
			p.wait(t)
		})
	}
}

// tryLines runs each line that begins with curl as it is.
func tryLines(t *testing.T, dir string, env []string, printed string) {
	t.Helper()
	checks := map[string]func(body string){
		"/telematics/": func(body string) {
			var events []map[string]any
			decodeSuccess(t, body, &events)
			checkEvents(t, events)
		},
		"/fuel/": func(body string) {
			var report fuelReport
			decodeSuccess(t, body, &report)
			checkReport(t, report)
		},
		"/maintenance/": func(body string) {
			var orders []map[string]any
			decodeSuccess(t, body, &orders)
			checkOrders(t, orders)
		},
	}
	for line := range strings.Lines(printed) {
		if !strings.HasPrefix(line, "curl") {
			continue
		}
		r := command(t, dir, env, "/bin/sh", "-c", line)
		if r.code != 0 || r.stderr != "" {
			t.Errorf("%sexit code %d, stderr %q, stdout %.300s", line, r.code, r.stderr, r.stdout)
			continue
		}
		for path, check := range checks {
			if strings.Contains(line, path) {
				check(r.stdout)
				delete(checks, path)
			}
		}
	}
	for path := range checks {
		t.Errorf("no line for %s in\n%s", path, printed)
	}
}
