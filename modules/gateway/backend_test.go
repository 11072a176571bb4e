package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/store"
)

func init() {
	caddy.RegisterModule(testBackend{})
}

// testData is what a testBackend leads to: a store with a password.
type testData struct {
	memory *memory

	mu       sync.Mutex
	password string
	events   []string // what backends and stores did, each with its password

	// closing, when set, lets the first store that is closed hang, until it is closed
	// itself; closed is closed after that.
	closing, closed chan struct{}
	closeErr        error
}

// theData is the data of the test that runs.
var theData *testData

func newTestData(t *testing.T) *testData {
	t.Helper()
	theData = &testData{memory: newMemory(), password: "first"}
	return theData
}

func (d *testData) note(what, password string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.events = append(d.events, what+" "+password)
}

func (d *testData) check(password string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if password != d.password {
		return fmt.Errorf("%w: wrong password", store.ErrUnavailable)
	}
	return nil
}

// rotate changes the password.
func (d *testData) rotate(password string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.password = password
}

// expect fails the test unless these events happened since the last call.
func (d *testData) expect(t *testing.T, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.events, want) {
		t.Errorf("events %q, want %q", d.events, want)
	}
	d.events = nil
}

// testBackend is a backend that cleans up, and cannot open a store after that.
type testBackend struct {
	Password string `json:"password,omitempty"`

	data    *testData
	cleaned bool
}

func (testBackend) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{ID: "gateway.store.test_store", New: func() caddy.Module { return new(testBackend) }}
}

func (b *testBackend) Provision(caddy.Context) error {
	b.data = theData
	return nil
}

func (b *testBackend) Identity() string { return "test_store" }

func (b *testBackend) Exists(context.Context) (bool, error) { return true, nil }

func (b *testBackend) Open(context.Context) (store.Store, error) {
	if b.cleaned {
		return nil, errors.New("opened after its cleanup")
	}
	if err := b.data.check(b.Password); err != nil {
		return nil, err
	}
	b.data.note("open", b.Password)
	return &testStore{memory: b.data.memory, backend: b}, nil
}

func (b *testBackend) Cleanup() error {
	b.cleaned = true
	b.data.note("cleanup", b.Password)
	return nil
}

// testStore is a store that answers while its password is right.
type testStore struct {
	*memory

	backend *testBackend
}

func (s *testStore) Ping(context.Context) error { return s.backend.data.check(s.backend.Password) }

func (s *testStore) Accounts(context.Context) ([]store.Account, error) {
	s.backend.data.note("accounts", s.backend.Password)
	return nil, nil
}

func (s *testStore) Close() error {
	d := s.backend.data
	d.mu.Lock()
	closing, closed := d.closing, d.closed
	d.closing = nil
	d.mu.Unlock()
	if closing != nil {
		defer close(closed)
		select {
		case <-closing:
		case <-time.After(10 * time.Second):
			d.note("close waited for", s.backend.Password)
		}
	}
	d.note("close", s.backend.Password)
	return d.closeErr
}

func TestDiscard(t *testing.T) {
	data := newTestData(t)
	data.closeErr = errors.New("connection lost")
	core, logged := observer.New(zap.WarnLevel)
	a := &App{logger: zap.New(core)}
	a.discard(&testStore{memory: data.memory, backend: &testBackend{Password: "first", data: data}})
	data.expect(t, "close first")
	entries := logged.TakeAll()
	if len(entries) != 1 || entries[0].ContextMap()["error"] != "connection lost" {
		t.Errorf("logged %v", entries)
	}
}

func testConfig(password string) []byte {
	return fmt.Appendf(nil, `{
		"admin": {"disabled": true, "config": {"persist": false}},
		"logging": {"logs": {"default": {"writer": {"output": "discard"}}}},
		"apps": {"gateway": {"store": {"backend": "test_store", "password": %q}}}
	}`, password)
}

func TestCommandCleansUp(t *testing.T) {
	t.Run("ok/after the store is closed", func(t *testing.T) {
		data := newTestData(t)
		s, err := openStore(t.Context(), testConfig("first"), mustExist)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Accounts(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		data.expect(t, "open first", "accounts first", "close first", "cleanup first")
	})
	t.Run("fail/after the store does not open", func(t *testing.T) {
		data := newTestData(t)
		if _, err := openStore(t.Context(), testConfig("wrong"), mayCreate); err == nil || !strings.Contains(err.Error(), "wrong password") {
			t.Errorf("error %v", err)
		}
		data.expect(t, "cleanup wrong")
	})
}

func TestBackendOfReload(t *testing.T) {
	// holder returns an app that was provisioned with a backend and not started.
	holder := func(data *testData, password string) *App {
		a := &App{logger: zap.NewNop()}
		a.acquire(&testBackend{Password: password, data: data})
		return a
	}
	// cleanUp does what Caddy does, in the worse of its two orders.
	cleanUp := func(t *testing.T, a *App) {
		t.Helper()
		if err := errors.Join(a.backend.(*testBackend).Cleanup(), a.Cleanup()); err != nil {
			t.Error(err)
		}
	}
	t.Run("ok/the newest opens", func(t *testing.T) {
		data := newTestData(t)
		old, next := holder(data, "first"), holder(data, "second")
		data.rotate("second")
		if _, err := old.runtime.open(t.Context()); err != nil || old.runtime != next.runtime {
			t.Errorf("error %v, one runtime: %t", err, old.runtime == next.runtime)
		}
		cleanUp(t, old)
		cleanUp(t, next)
		data.expect(t, "open second", "cleanup first", "cleanup second", "close second")
	})
	t.Run("ok/the older one after it was rejected", func(t *testing.T) {
		data := newTestData(t)
		old, next := holder(data, "first"), holder(data, "second")
		cleanUp(t, next)
		if _, err := old.runtime.open(t.Context()); err != nil {
			t.Error(err)
		}
		cleanUp(t, old)
		data.expect(t, "cleanup second", "open first", "cleanup first", "close first")
	})
	t.Run("fail/none is left", func(t *testing.T) {
		data := newTestData(t)
		a := holder(data, "first")
		cleanUp(t, a)
		if _, err := a.runtime.open(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("error %v", err)
		}
		data.expect(t, "cleanup first")
	})
}

// TestRotatedPassword reloads Caddy while the store changes its password.
func TestRotatedPassword(t *testing.T) {
	data := newTestData(t)
	token := data.memory.add(t, "t1", time.Time{})
	load := func(password string) *App {
		t.Helper()
		if err := caddy.Load(testConfig(password), true); err != nil {
			t.Fatal(err)
		}
		module, err := caddy.ActiveContext().AppIfConfigured("gateway")
		if err != nil {
			t.Fatal(err)
		}
		return module.(*App)
	}
	a := load("first")
	expect(t, a, token, ReasonOK)
	a = load("second") // before the store knows it
	data.expect(t, "open first", "cleanup first")
	if err := a.Ready(t.Context()); err != nil {
		t.Errorf("the open store was given up although it answers: %v", err)
	}

	data.rotate("third")
	if err := a.Ready(t.Context()); err == nil {
		t.Error("ready with a store that does not answer")
	}
	a = load("wrong")
	expect(t, a, token, ReasonOK) // from the cache
	data.expect(t, "cleanup second")
	if _, err := data.memory.RevokeToken(t.Context(), "t1", time.Now()); err != nil {
		t.Fatal(err)
	}
	closing, closed := make(chan struct{}), make(chan struct{})
	data.closing, data.closed = closing, closed
	a = load("third")
	if err := a.Ready(t.Context()); err != nil {
		t.Errorf("Ready: %v", err)
	}
	if err := a.runtime.poll(t.Context()); err != nil {
		t.Errorf("poll: %v", err)
	}
	expect(t, a, token, ReasonRevoked)
	data.expect(t, "open third", "cleanup wrong") // while the old store hangs
	close(closing)
	<-closed
	data.expect(t, "close first")

	if err := caddy.Stop(); err != nil {
		t.Error(err)
	}
	data.mu.Lock()
	defer data.mu.Unlock()
	slices.Sort(data.events) // Caddy cleans modules up in any order
	if !slices.Equal(data.events, []string{"cleanup third", "close third"}) {
		t.Errorf("events at the end %q", data.events)
	}
}

// Interface guards
var (
	_ caddy.Provisioner  = (*testBackend)(nil)
	_ caddy.CleanerUpper = (*testBackend)(nil)
	_ store.Backend      = (*testBackend)(nil)
	_ store.Store        = (*testStore)(nil)
)
