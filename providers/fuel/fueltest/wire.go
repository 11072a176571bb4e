package fueltest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers"
)

// wire serves a service over HTTP, counts log-ins and can be disturbed.
type wire struct {
	service Service
	url     string
	close   func()

	// endAtOnce makes every session end as soon as it is made.
	endAtOnce atomic.Bool

	isLogin func(*http.Request) bool
	logins  atomic.Int32

	mu     sync.Mutex
	faults map[bool]http.HandlerFunc // by whether the call is a log-in
	lastID string
}

func newWire(t *testing.T, service Service, isLogin func(*http.Request) bool) *wire {
	if isLogin == nil {
		isLogin = func(*http.Request) bool { return false }
	}
	w := &wire{service: service, isLogin: isLogin, faults: make(map[bool]http.HandlerFunc)}
	srv := httptest.NewServer(w)
	t.Cleanup(srv.Close)
	w.url, w.close = srv.URL, srv.Close
	return w
}

func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	login := w.isLogin(r)
	if login {
		w.logins.Add(1)
	}
	w.mu.Lock()
	fault := w.faults[login]
	if !login {
		w.lastID = r.Header.Get("X-Request-Id")
	}
	w.mu.Unlock()

	if fault != nil {
		fault(rw, r)
		return
	}
	w.service.ServeHTTP(rw, r)
	if login && w.endAtOnce.Load() {
		w.service.EndSessions()
	}
}

// disturb answers log-ins, or else reports, with fault; nil ends the disturbance.
func (w *wire) disturb(login bool, fault http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults[login] = fault
}

// requestID returns the X-Request-Id of the last report call.
func (w *wire) requestID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lastID
}

func (w *wire) checkLogins(t *testing.T, want int32) {
	t.Helper()
	if n := w.logins.Load(); n != want {
		t.Errorf("%d log-ins, want %d", n, want)
	}
}

// faults are the ways in which a service fails that follow from no protocol.
var faults = []struct {
	name       string
	serve      http.HandlerFunc
	timeout    time.Duration
	want       error
	retryAfter time.Duration
}{
	{name: "500", serve: status(http.StatusInternalServerError), timeout: patience, want: providers.ErrProvider},
	{name: "503", serve: status(http.StatusServiceUnavailable), timeout: patience, want: providers.ErrProvider, retryAfter: 7 * time.Second},
	{name: "429", serve: status(http.StatusTooManyRequests), timeout: patience, want: providers.ErrThrottled, retryAfter: 7 * time.Second},
	{name: "302 elsewhere", serve: elsewhere, timeout: patience, want: providers.ErrProvider},
	{name: "HTML", serve: body("<!DOCTYPE html><title>Maintenance</title>"), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "empty body", serve: body(""), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "null", serve: body("null"), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "list", serve: body("[]"), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "truncated JSON", serve: body(`{"status":"success","data":{"to`), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "not UTF-8", serve: body("{\"status\":\"\xff\"}"), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "deep", serve: body(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "cut off", serve: cutOff, timeout: patience, want: providers.ErrUnreachable},
	{name: "reset", serve: reset, timeout: patience, want: providers.ErrUnreachable},
	{name: "hang", serve: hang, timeout: time.Second, want: providers.ErrTimeout},
}

// status answers with the code and with all that the caller sent.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		dump, _ := httputil.DumpRequest(r, true)
		if code != http.StatusInternalServerError {
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, "cannot serve %s\n%s", r.URL, dump)
	}
}

func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// elsewhere redirects to a place that must not be called.
func elsewhere(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "http://elsewhere.invalid"+r.URL.RequestURI(), http.StatusFound)
}

// cutOff sends less than it has announced.
func cutOff(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"status":"success","data":{`)
}

// reset closes the connection instead of answering.
func reset(http.ResponseWriter, *http.Request) {
	panic(http.ErrAbortHandler)
}

// hang answers when the caller is gone, which the server only notices once it has read
// the whole request.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}
