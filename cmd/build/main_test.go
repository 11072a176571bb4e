package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(t *testing.T, text string) string {
		t.Helper()
		path := filepath.Join(dir, "build.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	t.Run("ok/relative paths start at the file", func(t *testing.T) {
		b, err := load(write(t, `{"replacements":[{"old":"example.com/a","new":"./a"},{"old":"example.com/b","new":"example.com/c"},{"old":"example.com/d","new":"."}]}`))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{filepath.Join(dir, "a"), "example.com/c", dir} {
			if got := string(b.Replacements[i].New); got != want {
				t.Errorf("replacement %d leads to %q, want %q", i, got, want)
			}
		}
	})

	t.Run("ok/the repository's own", func(t *testing.T) {
		b, err := load(filepath.Join("..", "..", "xcaddy.json"))
		if err != nil {
			t.Fatal(err)
		}
		if b.CaddyVersion == "" || len(b.Plugins) == 0 {
			t.Errorf("got %+v, want a Caddy version and a plugin", b)
		}
	})

	for _, row := range []struct{ name, text, want string }{
		{"unknown key", `{"plugin":[]}`, "unknown field"},
		{"not JSON", `{`, "unexpected EOF"},
		{"trailing text", `{} {}`, "something follows"},
	} {
		t.Run("fail/"+row.name, func(t *testing.T) {
			if _, err := load(write(t, row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want an error with %q", err, row.want)
			}
		})
	}

	t.Run("fail/missing file", func(t *testing.T) {
		if _, err := load(filepath.Join(dir, "none.json")); err == nil {
			t.Error("no error")
		}
	})
}
