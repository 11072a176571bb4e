package e2e

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// watch collects everything that a gateway shows of itself.
type watch struct {
	g       *gateway
	planted *secrets

	mu    sync.Mutex
	shown map[string]string // answers, by what was asked
}

// call makes a call with a planted secret wherever a caller may put one, and keeps
// the answer.
func (w *watch) call(tb testing.TB, name string, r request) answer {
	tb.Helper()
	a, err := w.try(tb.Context(), name, r)
	if err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return a
}

func (w *watch) try(ctx context.Context, name string, r request) (answer, error) {
	header := map[string]string{}
	for _, planted := range []string{
		"access-token-accounting", "api-key-eld", "startCode", "userId", "password", "username", "Cookie",
		"X-Api-Key", "X-Auth-Token", "Proxy-Authorization", "Token_Gateway", "Idempotency-Key", "Referer",
	} {
		header[planted] = w.planted.plant("header "+planted, "")
	}
	maps.Copy(header, r.header)
	r.header = header
	join := "?"
	if strings.Contains(r.path, "?") {
		join = "&"
	}
	for _, planted := range []string{"token", "api_key", "password"} {
		r.path += join + planted + "=" + w.planted.plant("query "+planted, "")
		join = "&"
	}
	a, err := w.g.try(ctx, r)
	w.keep(name, fmt.Sprint(a.status, a.header, a.body))
	return a, err
}

func (w *watch) keep(name, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.shown == nil {
		w.shown = make(map[string]string)
	}
	w.shown[name] += text
}

// askAdmin keeps what the admin endpoint shows, and returns it.
func (w *watch) askAdmin(tb testing.TB, path string) string {
	tb.Helper()
	client := &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", strings.TrimPrefix(w.g.admin(), "unix/"))
		},
	}}
	req, err := http.NewRequestWithContext(tb.Context(), http.MethodGet, "http://127.0.0.1"+path, http.NoBody)
	if err != nil {
		tb.Fatal(err)
	}
	req.Host = "" // as Caddy's own commands do on a socket
	resp, err := client.Do(req)
	if err != nil {
		tb.Fatal(err)
	}
	a, err := readAnswer(resp)
	if err != nil || a.status != http.StatusOK {
		tb.Fatalf("%s: status %d, %v, body %s", path, a.status, err, a.body)
	}
	w.keep("admin endpoint "+path, a.body)
	return a.body
}

// sinks returns all that was shown, and every file that was written, logs, saved
// configuration and store among them.
func (w *watch) sinks(tb testing.TB) map[string]string {
	tb.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[string]string)
	for name, text := range w.shown {
		all["answer to "+name] = text
	}
	err := filepath.WalkDir(w.g.dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
			return nil // files of the store come and go
		}
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		all["file "+strings.TrimPrefix(path, w.g.dir)] = string(text)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// leaks returns which sinks show which secrets.
func (w *watch) leaks(tb testing.TB) []string {
	tb.Helper()
	var leaks []string
	for name, text := range w.sinks(tb) {
		for _, what := range w.planted.in(text) {
			leaks = append(leaks, name+" shows "+what)
		}
	}
	slices.Sort(leaks)
	return slices.Compact(leaks)
}

// check fails for each leak, and when a sink that should be there is not.
func (w *watch) check(tb testing.TB, sinks ...string) {
	tb.Helper()
	all := w.sinks(tb)
	for _, name := range sinks {
		if all[name] == "" {
			tb.Errorf("%s is empty or missing", name)
		}
	}
	for _, leak := range w.leaks(tb) {
		tb.Error(leak)
	}
}

// open creates an account and a token, which is a secret too.
func (w *watch) open(tb testing.TB) {
	tb.Helper()
	w.g.open(tb)
	w.planted.add("the gateway's token", w.g.token)
}
