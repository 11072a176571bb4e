package auth_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	"github.com/fleetgate/fleetgate/modules/auth"
	"github.com/fleetgate/fleetgate/modules/gateway"
	"github.com/fleetgate/fleetgate/modules/store"
	"github.com/fleetgate/fleetgate/modules/store/sqlite"
)

// Tokens that are well-formed; only the first two are issued.
const (
	goodToken    = "fgt_000000000000000000000000000" + "GOODSUM"
	revokedToken = "fgt_000000000000000000000000001" + "REVOKEDSUM"
	otherToken   = "fgt_000000000000000000000000002" + "OTHERSUM"
)

var uuid4 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// newHandler returns a handler whose app knows the tokens above.
func newHandler(t *testing.T) *auth.Handler {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.CreateAccount(t.Context(), store.NewAccount{ID: "acc_1", Name: "acme", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	for id, value := range map[string]string{"tok_good": goodToken, "tok_revoked": revokedToken} {
		hash, err := gateway.ParseToken(value)
		if err != nil {
			t.Fatalf("%s: %v", value, err)
		}
		if err := s.CreateToken(t.Context(), store.Token{ID: id, AccountID: "acc_1", Hash: hash, Scopes: []string{"maps"}, Created: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.RevokeToken(t.Context(), "tok_revoked", time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	ctx, err := caddy.ProvisionContext(&caddy.Config{
		Admin: &caddy.AdminConfig{Disabled: true},
		AppsRaw: caddy.ModuleMap{"gateway": caddyconfig.JSON(map[string]any{
			"store": map[string]string{"backend": "sqlite", "path": path},
		}, nil)},
	})
	if err != nil {
		t.Fatal(err)
	}
	app, err := ctx.AppIfConfigured("gateway")
	if err != nil {
		t.Fatal(err)
	}
	if err := app.(*gateway.App).Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(app.(*gateway.App).Stop(), app.(*gateway.App).Cleanup()); err != nil {
			t.Error(err)
		}
	})
	h := new(auth.Handler)
	if err := h.Provision(ctx); err != nil {
		t.Fatal(err)
	}
	return h
}

// call is one request and what the handlers around gateway_auth see of it.
type call struct {
	recorder *httptest.ResponseRecorder
	request  *http.Request // as next got it
	replacer *caddy.Replacer
	fields   map[string]any // what the access log gets
	err      error
}

// serve sends a request with that header through h; without next, an area
// answers 200.
func serve(h *auth.Handler, header http.Header, next caddyhttp.HandlerFunc) call {
	r := httptest.NewRequest(http.MethodGet, "http://localhost/x", nil)
	r.Header = header
	if r.Header == nil {
		r.Header = make(http.Header)
	}
	c := call{recorder: httptest.NewRecorder(), replacer: caddy.NewReplacer()}
	r = caddyhttp.PrepareRequest(r, c.replacer, c.recorder, nil)
	if next == nil {
		next = func(w http.ResponseWriter, _ *http.Request) error {
			_, err := io.WriteString(w, "area")
			return err
		}
	}
	c.err = h.ServeHTTP(c.recorder, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		c.request = r
		return next(w, r)
	}))

	// The access log's way to read the extra fields, which are not exported.
	core, logs := observer.New(zap.DebugLevel)
	slogger := zap.New(core)
	_ = slogger
	c.fields = extraFields(r.Context(), logs)
	return c
}
