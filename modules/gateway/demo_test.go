package gateway

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

// TestDemoEnds checks that the demo no longer catches signals while it stops: the user
// presses Ctrl-C once more when that takes too long.
func TestDemoEnds(t *testing.T) {
	for _, name := range []string{"FLEETGATE_SITE", "FLEETGATE_BIND", "FLEETGATE_SANDBOX", "FLEETGATE_DATA", "FLEETGATE_LOG"} {
		t.Setenv(name, "")
	}
	d := &demo{listen: "127.0.0.1:0", data: t.TempDir()}
	if err := os.Mkdir(filepath.Join(d.data, "sandbox"), 0o700); err != nil {
		t.Fatal(err)
	}
	// It is not the shipped one, which the demo says before it starts.
	const config = "{\n\tadmin off\n\tpersist_config off\n\tlog {\n\t\toutput discard\n\t}\n}\n"
	if err := os.WriteFile(d.caddyfile(), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	calls, running := 0, false
	err := d.run(ctx, func() {
		calls++
		running = caddy.ActiveContext().Context != nil
	}, writerFunc(interrupt))
	if err == nil {
		t.Error("it was ready without a site")
	}
	if calls != 1 || !running {
		t.Errorf("signals were let go %d times, before the stop: %t", calls, running)
	}
	if caddy.ActiveContext().Context != nil {
		t.Error("it still runs")
	}
}

// writerFunc is a writer that calls the function for each text and drops it.
type writerFunc func()

func (f writerFunc) Write(p []byte) (int, error) {
	f()
	return len(p), nil
}
