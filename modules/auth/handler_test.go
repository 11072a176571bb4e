package auth_test

import (
	"context"
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
	goodToken    = "fgt_0000000000000000000000000002u54eK"
	revokedToken = "fgt_0000000000000000000000000014HFZr0"
	otherToken   = "fgt_00000000000000000000000000223pCDI"
)

var uuid4 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// issue makes the store at path, with the tokens above.
func issue(t *testing.T, path string) {
	t.Helper()
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
}

// newHandler returns a handler whose app knows the tokens above.
func newHandler(t *testing.T) *auth.Handler {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	issue(t, path)
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

// call is one request and what came of it.
type call struct {
	recorder *httptest.ResponseRecorder
	request  *http.Request // as the handler behind got it
	replacer *caddy.Replacer
	err      error
}

// serve sends a request with these headers through h. Without next, an area
// behind it answers 200.
func serve(h *auth.Handler, header http.Header, next caddyhttp.HandlerFunc) call {
	r := httptest.NewRequest(http.MethodGet, "http://localhost/x", nil)
	if header != nil {
		r.Header = header
	}
	c := call{recorder: httptest.NewRecorder(), replacer: caddy.NewReplacer()}
	r = caddyhttp.PrepareRequest(r, c.replacer, c.recorder, nil)
	c.err = h.ServeHTTP(c.recorder, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		c.request = r
		if next != nil {
			return next(w, r)
		}
		_, err := io.WriteString(w, "area")
		return err
	}))
	return c
}

func TestVerdict(t *testing.T) {
	h := newHandler(t)
	tests := []struct {
		name   string
		values []string
		want   gateway.Reason
	}{
		{"ok/token", []string{"Bearer " + goodToken}, gateway.ReasonOK},
		{"ok/scheme in any case", []string{"bEARER " + goodToken}, gateway.ReasonOK},
		{"ok/several spaces", []string{"Bearer   " + goodToken}, gateway.ReasonOK},
		{"fail/no header", nil, gateway.ReasonMissing},
		{"fail/empty header", []string{""}, gateway.ReasonMalformed},
		{"fail/scheme alone", []string{"Bearer"}, gateway.ReasonMalformed},
		{"fail/no scheme", []string{goodToken}, gateway.ReasonMalformed},
		{"fail/no space", []string{"Bearer" + goodToken}, gateway.ReasonMalformed},
		{"fail/tab", []string{"Bearer\t" + goodToken}, gateway.ReasonMalformed},
		{"fail/another scheme", []string{"Basic " + goodToken}, gateway.ReasonMalformed},
		{"fail/two headers", []string{"Bearer " + goodToken, "Bearer " + goodToken}, gateway.ReasonMalformed},
		{"fail/two tokens", []string{"Bearer " + goodToken + ", Bearer " + goodToken}, gateway.ReasonMalformed},
		{"fail/something behind", []string{"Bearer " + goodToken + " x"}, gateway.ReasonMalformed},
		{"fail/padding", []string{"Bearer " + goodToken + "="}, gateway.ReasonMalformed},
		{"fail/quotes", []string{`Bearer "` + goodToken + `"`}, gateway.ReasonMalformed},
		{"fail/wrong checksum", []string{"Bearer " + goodToken[:len(goodToken)-1] + "_"}, gateway.ReasonMalformed},
		{"fail/10 kB", []string{"Bearer " + strings.Repeat("a", 10_000)}, gateway.ReasonMalformed},
		{"fail/unknown", []string{"Bearer " + otherToken}, gateway.ReasonUnknown},
		{"fail/revoked", []string{"Bearer " + revokedToken}, gateway.ReasonRevoked},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := make(http.Header)
			for _, value := range tt.values {
				header.Add("Authorization", value)
			}
			c := serve(h, header, nil)
			if c.err != nil || c.recorder.Code != http.StatusOK || c.recorder.Body.String() != "area" {
				t.Fatalf("gateway_auth answered by itself: %d %q, %v", c.recorder.Code, c.recorder.Body, c.err)
			}
			v := gateway.VerdictFrom(c.request.Context())
			if v == nil || v.Reason != tt.want {
				t.Fatalf("verdict %+v, want %v", v, tt.want)
			}
			user, _ := c.replacer.GetString("http.auth.user.id")
			if ok := tt.want == gateway.ReasonOK; ok != (user == "acme") || ok != (v.Account == "acme") || ok != v.Allows("maps", true) {
				t.Errorf("user %q, verdict %+v", user, v)
			}
		})
	}
	t.Run("fail/token elsewhere", func(t *testing.T) {
		header := http.Header{"Token_Gateway": {"Bearer " + goodToken}, "Token-Gateway": {"Bearer " + goodToken}, "Proxy-Authorization": {"Bearer " + goodToken}, "Cookie": {"token=" + goodToken}}
		if v := gateway.VerdictFrom(serve(h, header, nil).request.Context()); v.Reason != gateway.ReasonMissing {
			t.Errorf("verdict %+v", v)
		}
	})
}

func TestRequestID(t *testing.T) {
	h := newHandler(t)
	tests := []struct {
		name   string
		values []string
		kept   bool
	}{
		{"ok/made", nil, false},
		{"ok/kept", []string{"01ARZ3NDEKTSV4RRFFQ69G5FAV"}, true},
		{"ok/kept with every character", []string{"aZ09-._~:+/=@"}, true},
		{"ok/kept at full length", []string{strings.Repeat("x", 128)}, true},
		{"fail/too long", []string{strings.Repeat("x", 129)}, false},
		{"fail/empty", []string{""}, false},
		{"fail/space", []string{"a b"}, false},
		{"fail/control character", []string{"a\x07b"}, false},
		{"fail/quote", []string{`a"b`}, false},
		{"fail/not ASCII", []string{"é"}, false},
		{"fail/two", []string{"a", "b"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			header := make(http.Header)
			if tt.values != nil {
				header["X-Request-Id"] = tt.values
			}
			c := serve(h, header, nil)
			got := c.recorder.Header().Values("X-Request-Id")
			if len(got) != 1 {
				t.Fatalf("ids %q", got)
			}
			if tt.kept && got[0] != tt.values[0] || !tt.kept && !uuid4.MatchString(got[0]) {
				t.Errorf("id %q", got[0])
			}
			if sent := c.request.Header.Values("X-Request-Id"); len(sent) != 1 || sent[0] != got[0] {
				t.Errorf("the handlers behind see %q, the caller %q", sent, got)
			}
			if v, _ := c.replacer.GetString("http.vars.request_id"); v != got[0] {
				t.Errorf("the placeholder is %q", v)
			}
		})
	}
	t.Run("ok/each its own", func(t *testing.T) {
		a, b := serve(h, nil, nil), serve(h, nil, nil)
		if x, y := a.recorder.Header().Get("X-Request-Id"), b.recorder.Header().Get("X-Request-Id"); x == y {
			t.Errorf("two requests with the id %q", x)
		}
	})
}

func TestUnanswered(t *testing.T) {
	h := newHandler(t)
	const envelope = `{"status":"Error","message":"Not Found","data":null}`
	nothing := func(http.ResponseWriter, *http.Request) error { return nil }

	for name, token := range map[string]string{"with a token": "Bearer " + goodToken, "without": ""} {
		t.Run("fail/nobody answers, "+name, func(t *testing.T) {
			header := make(http.Header)
			if token != "" {
				header.Set("Authorization", token)
			}
			c := serve(h, header, nothing)
			if c.err != nil || c.recorder.Code != http.StatusNotFound || c.recorder.Body.String() != envelope {
				t.Errorf("%d %q, %v", c.recorder.Code, c.recorder.Body, c.err)
			}
			if got := c.recorder.Header(); got.Get("Content-Type") != "application/json" || got.Get("X-Error-Code") != "not_found" || got.Get("X-Request-Id") == "" {
				t.Errorf("header %v", got)
			}
		})
	}
	t.Run("ok/an error is passed on", func(t *testing.T) {
		want := caddyhttp.Error(http.StatusTeapot, errors.New("short and stout"))
		c := serve(h, nil, func(http.ResponseWriter, *http.Request) error { return want })
		if !errors.Is(c.err, want) || c.recorder.Body.Len() != 0 {
			t.Errorf("error %v, body %q", c.err, c.recorder.Body)
		}
	})

	// What counts as an answer, through a real server.
	answers := map[string]struct {
		next caddyhttp.HandlerFunc
		want string
	}{
		"status":      {func(w http.ResponseWriter, _ *http.Request) error { w.WriteHeader(http.StatusNoContent); return nil }, "204 "},
		"empty write": {func(w http.ResponseWriter, _ *http.Request) error { _, err := w.Write(nil); return err }, "200 "},
		"body":        {func(w http.ResponseWriter, _ *http.Request) error { _, err := io.WriteString(w, "x"); return err }, "200 x"},
		"empty reader": {func(w http.ResponseWriter, _ *http.Request) error {
			_, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader(""))
			return err
		}, "200 "},
		"reader": {func(w http.ResponseWriter, _ *http.Request) error {
			_, err := w.(io.ReaderFrom).ReadFrom(strings.NewReader("x"))
			return err
		}, "200 x"},
		"flush": {func(w http.ResponseWriter, _ *http.Request) error { return http.NewResponseController(w).Flush() }, "200 "},
		"hijack": {func(w http.ResponseWriter, _ *http.Request) error {
			conn, buffer, err := http.NewResponseController(w).Hijack()
			if err != nil {
				return err
			}
			_, err = buffer.WriteString("HTTP/1.1 202 Accepted\r\nContent-Length: 1\r\n\r\nx")
			return errors.Join(err, buffer.Flush(), conn.Close())
		}, "202 x"},
		"early hint only": {func(w http.ResponseWriter, _ *http.Request) error {
			w.WriteHeader(http.StatusEarlyHints)
			return nil
		}, "404 " + envelope},
		"deadline only": {func(w http.ResponseWriter, _ *http.Request) error {
			return http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
		}, "404 " + envelope},
	}
	for name, row := range answers {
		t.Run("ok/"+name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				r = caddyhttp.PrepareRequest(r, caddy.NewReplacer(), w, nil)
				if err := h.ServeHTTP(w, r, row.next); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			response, err := server.Client().Get(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, err := io.ReadAll(response.Body)
			if got := fmt.Sprintf("%d %s", response.StatusCode, body); err != nil || got != row.want {
				t.Errorf("got %q, %v, want %q", got, err, row.want)
			}
		})
	}
}

func TestProvision(t *testing.T) {
	t.Run("fail/no gateway", func(t *testing.T) {
		ctx, err := caddy.ProvisionContext(&caddy.Config{Admin: &caddy.AdminConfig{Disabled: true}})
		if err != nil {
			t.Fatal(err)
		}
		if err := new(auth.Handler).Provision(ctx); err == nil || !strings.Contains(err.Error(), "gateway_auth needs the global option 'gateway'") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("fail/bare context", func(t *testing.T) {
		ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
		defer cancel()
		if err := new(auth.Handler).Provision(ctx); err == nil {
			t.Error("it was provisioned")
		}
	})
}

// adapt adapts a Caddyfile.
func adapt(text string) (string, error) {
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), map[string]any{"filename": "Caddyfile"})
	return string(config), err
}

func TestCaddyfile(t *testing.T) {
	t.Run("ok/ahead of the handlers, behind the middleware", func(t *testing.T) {
		config, err := adapt(":80 {\n\trespond 200\n\thandle {\n\t\terror 418\n\t}\n\tgateway_auth\n\tencode gzip\n}\n")
		if err != nil {
			t.Fatal(err)
		}
		last := -1
		for _, handler := range []string{"encode", "gateway_auth", "error", "static_response"} {
			i := strings.Index(config, `"handler":"`+handler+`"`)
			if i <= last {
				t.Errorf("%s is not where it belongs in %s", handler, config)
			}
			last = i
		}
	})
	t.Run("ok/matcher", func(t *testing.T) {
		config, err := adapt(":80 {\n\tgateway_auth /api/*\n}\n")
		if err != nil || !strings.Contains(config, `{"match":[{"path":["/api/*"]}],"handle":[{"handler":"gateway_auth"}]}`) {
			t.Errorf("%s, %v", config, err)
		}
	})
	for name, row := range map[string]struct{ text, want string }{
		"argument": {":80 {\n\tgateway_auth here\n}\n", "unexpected argument 'here': gateway_auth takes none, at Caddyfile:2"},
		"block":    {":80 {\n\tgateway_auth {\n\t\trealm x\n\t}\n}\n", "unrecognized subdirective 'realm': gateway_auth has none, at Caddyfile:3"},
	} {
		t.Run("fail/"+name, func(t *testing.T) {
			_, err := adapt(row.text)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}
