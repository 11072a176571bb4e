package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/store"
	"github.com/fleetgate/fleetgate/modules/store/sqlite"
)

// load loads the module as Caddy does.
func load(t *testing.T, config string) (store.Backend, error) {
	t.Helper()
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	t.Cleanup(cancel)
	module, err := ctx.LoadModuleByID("gateway.store.sqlite", []byte(config))
	if err != nil {
		return nil, err
	}
	return module.(store.Backend), nil
}

func TestBackend(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("FLEETGATE_TEST_FOLDER", dir)
	t.Setenv("XDG_DATA_HOME", dir)
	t.Chdir(dir)
	for name, row := range map[string]struct{ config, path string }{
		"absolute":         {`{"path":"` + dir + `/x.db"}`, "x.db"},
		"cleaned":          {`{"path":"` + dir + `/y/../x.db"}`, "x.db"},
		"relative":         {`{"path":"./x.db"}`, "x.db"},
		"placeholder":      {`{"path":"{env.FLEETGATE_TEST_FOLDER}/x.db"}`, "x.db"},
		"default":          {`{}`, "caddy/fleetgate.db"},
		"no configuration": {``, "caddy/fleetgate.db"},
	} {
		t.Run("ok/"+name, func(t *testing.T) {
			backend, err := load(t, row.config)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := backend.Identity(), "sqlite:"+filepath.Join(dir, row.path); got != want {
				t.Errorf("identity %q, want %q", got, want)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
				t.Errorf("provisioning made %v, %v", entries, err)
			}
		})
	}
	t.Run("ok/one identity for all spellings of a file", func(t *testing.T) {
		real := filepath.Join(t.TempDir(), "real")
		check(t, os.Mkdir(real, 0o700))
		real, err := filepath.EvalSymlinks(real)
		check(t, err)
		link := filepath.Join(t.TempDir(), "link")
		check(t, os.Symlink(real, link))
		for _, file := range []string{"x.db", "sub/x.db"} { // the latter in a directory to be made
			one, other := &sqlite.Backend{Path: filepath.Join(real, file)}, &sqlite.Backend{Path: filepath.Join(link, file)}
			if want := "sqlite:" + filepath.Join(real, file); one.Identity() != want || other.Identity() != want {
				t.Errorf("before it exists: identities %q and %q, want %q", one.Identity(), other.Identity(), want)
			}
			s, err := other.Open(t.Context())
			check(t, err)
			check(t, s.Close())
			if one.Identity() != other.Identity() {
				t.Errorf("once it exists: identities %q and %q", one.Identity(), other.Identity())
			}
		}
		alias := filepath.Join(real, "alias.db")
		check(t, os.Symlink("x.db", alias))
		if got, want := (&sqlite.Backend{Path: alias}).Identity(), "sqlite:"+filepath.Join(real, "x.db"); got != want {
			t.Errorf("link to the file: identity %q, want %q", got, want)
		}
	})
	t.Run("ok/exists", func(t *testing.T) {
		backend := &sqlite.Backend{Path: filepath.Join(t.TempDir(), "sub", "x.db")}
		if exists, err := backend.Exists(t.Context()); exists || err != nil {
			t.Errorf("before it is opened: %t, %v", exists, err)
		}
		if _, err := os.Stat(filepath.Dir(backend.Path)); err == nil {
			t.Error("asking made the directory")
		}
		s, err := backend.Open(t.Context())
		check(t, err)
		check(t, s.Close())
		if exists, err := backend.Exists(t.Context()); !exists || err != nil {
			t.Errorf("once it was opened: %t, %v", exists, err)
		}
		backend.Path = filepath.Join(backend.Path, "below")
		if exists, err := backend.Exists(t.Context()); exists || err == nil || !strings.Contains(err.Error(), "not a directory") {
			t.Errorf("below a file: %t, %v", exists, err)
		}
	})
	t.Run("ok/open", func(t *testing.T) {
		backend, err := load(t, `{"path":"{env.FLEETGATE_TEST_FOLDER}/open.db"}`)
		check(t, err)
		for range 2 { // opening again is opening, too
			s, err := backend.Open(t.Context())
			check(t, err)
			check(t, s.Ping(t.Context()))
			check(t, s.Close())
		}
	})
	for name, row := range map[string]struct{ config, want string }{
		"placeholder of nothing": {`{"path":"{env.FLEETGATE_TEST_IS_NOT_SET}"}`, "FLEETGATE_TEST_IS_NOT_SET"},
		"unknown placeholder":    {`{"path":"{no.such.thing}/x.db"}`, "no.such.thing"},
		"unknown option":         {`{"file":"x.db"}`, `unknown field "file"`},
		"path is no text":        {`{"path":7}`, "path"},
	} {
		t.Run("fail/"+name, func(t *testing.T) {
			if _, err := load(t, row.config); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
	t.Run("fail/open gives no store", func(t *testing.T) {
		backend := &sqlite.Backend{Path: dir}
		if s, err := backend.Open(t.Context()); err == nil || s != nil {
			t.Errorf("store %v, error %v", s, err)
		}
	})
}
