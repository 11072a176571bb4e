package auth_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func TestPanic(t *testing.T) {
	h := newHandler(t)
	const envelope = `{"status":"Error","message":"Internal Server Error","data":null}`

	t.Run("fail/before the answer", func(t *testing.T) {
		c := serve(h, nil, func(http.ResponseWriter, *http.Request) error { panic("secret") })
		if c.err != nil || c.recorder.Code != http.StatusInternalServerError || c.recorder.Body.String() != envelope {
			t.Errorf("%d %q, %v", c.recorder.Code, c.recorder.Body, c.err)
		}
		if code := c.recorder.Header().Get("X-Error-Code"); code != "internal" {
			t.Errorf("X-Error-Code %q", code)
		}
	})

	aborts := map[string]caddyhttp.HandlerFunc{
		"in the middle of the answer": func(w http.ResponseWriter, _ *http.Request) error {
			_, err := io.WriteString(w, "half")
			panic(errors.Join(err, errors.New("secret")))
		},
		"on purpose": func(http.ResponseWriter, *http.Request) error { panic(http.ErrAbortHandler) },
	}
	for name, next := range aborts {
		t.Run("fail/"+name, func(t *testing.T) {
			defer func() {
				if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // net/http compares the value too
					t.Errorf("the panic goes on as %v, want http.ErrAbortHandler", p)
				}
			}()
			serve(h, nil, next)
		})
	}
}

// failingWriter is the connection of a caller who is gone.
type failingWriter struct{ http.ResponseWriter }

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("connection reset by peer") }

// An error would end in the server's error log, together with the request's headers.
func TestCallerGone(t *testing.T) {
	h := newHandler(t)
	for name, next := range map[string]caddyhttp.HandlerFunc{
		"nobody answers": func(http.ResponseWriter, *http.Request) error { return nil },
		"a panic":        func(http.ResponseWriter, *http.Request) error { panic("secret") },
	} {
		t.Run("ok/"+name, func(t *testing.T) {
			w := failingWriter{httptest.NewRecorder()}
			r := caddyhttp.PrepareRequest(httptest.NewRequest(http.MethodGet, "http://localhost/x", nil), caddy.NewReplacer(), w, nil)
			if err := h.ServeHTTP(w, r, next); err != nil {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The base of the contract ends with the segment /api, in this spelling.
func TestBase(t *testing.T) {
	h := newHandler(t)
	for original, want := range map[string]int{
		"/api/fuel":         http.StatusOK,
		"/v1/api/fuel":      http.StatusOK,
		"/fuel":             http.StatusOK,
		"/gateway/fuel":     http.StatusOK,
		"/API/fuel":         http.StatusNotFound,
		"/v1/Api/fuel":      http.StatusNotFound,
		"/therapi/fuel":     http.StatusOK,
		"/api/API/api/fuel": http.StatusOK,
	} {
		t.Run(original, func(t *testing.T) {
			recorder := httptest.NewRecorder()
			r := caddyhttp.PrepareRequest(httptest.NewRequest(http.MethodGet, "http://localhost/fuel", nil), caddy.NewReplacer(), recorder, nil)
			r = r.WithContext(context.WithValue(r.Context(), caddyhttp.OriginalRequestCtxKey, http.Request{URL: &url.URL{Path: original}}))
			err := h.ServeHTTP(recorder, r, caddyhttp.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
				_, err := io.WriteString(w, "area")
				return err
			}))
			if err != nil || recorder.Code != want {
				t.Errorf("%d, %v, want %d", recorder.Code, err, want)
			}
		})
	}
}
