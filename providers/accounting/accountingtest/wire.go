package accountingtest

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

// wire serves a service over HTTP and can be disturbed.
type wire struct {
	t       *testing.T
	service http.Handler
	isWrite func(*http.Request) bool
	url     string
	close   func()

	calls, writes atomic.Int32

	mu     sync.Mutex
	fault  http.HandlerFunc
	lose   bool // whether the answer to the next write is lost
	lastID string
}

func newWire(t *testing.T, service http.Handler, isWrite func(*http.Request) bool) *wire {
	w := &wire{t: t, service: service, isWrite: isWrite}
	srv := httptest.NewServer(w)
	t.Cleanup(srv.Close)
	w.url, w.close = srv.URL, srv.Close
	return w
}

func (w *wire) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	write := w.isWrite(r)
	w.calls.Add(1)
	if write {
		w.writes.Add(1)
	}
	w.mu.Lock()
	fault, lose := w.fault, w.lose && write
	if lose {
		w.lose = false
	}
	w.lastID = r.Header.Get("X-Request-Id")
	w.mu.Unlock()

	switch {
	case fault != nil:
		fault(rw, r)
	case lose:
		w.service.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		w.service.ServeHTTP(rw, r)
	}
}

// quiet serves the same service undisturbed and returns its URL.
func (w *wire) quiet() string {
	srv := httptest.NewServer(w.service)
	w.t.Cleanup(srv.Close)
	return srv.URL
}

// disturb answers requests with fault; nil ends the disturbance.
func (w *wire) disturb(fault http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

// loseAnswer has the next write carried out and its answer lost.
func (w *wire) loseAnswer() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lose = true
}

// requestID returns the X-Request-Id of the last call.
func (w *wire) requestID() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lastID
}

// short is the timeout of operations that may take as long as they are allowed to: a
// provider may wait where it is told to, and repeat where it got no answer.
const short = 2 * time.Second

// faults are the ways in which a service fails that follow from no protocol.
var faults = []struct {
	name       string
	serve      http.HandlerFunc
	timeout    time.Duration
	want       error
	retryAfter time.Duration
}{
	{name: "500", serve: status(http.StatusInternalServerError), timeout: patience, want: providers.ErrProvider},
	{name: "503", serve: status(http.StatusServiceUnavailable), timeout: short, want: providers.ErrProvider, retryAfter: 7 * time.Second},
	{name: "429", serve: status(http.StatusTooManyRequests), timeout: short, want: providers.ErrThrottled, retryAfter: 7 * time.Second},
	{name: "302 elsewhere", serve: elsewhere, timeout: patience, want: providers.ErrProvider},
	{name: "HTML", serve: body("<!DOCTYPE html><title>Maintenance</title>"), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "empty body", serve: body(""), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "null", serve: body("null"), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "list", serve: body("[]"), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "empty object", serve: body("{}"), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "truncated JSON", serve: body(`{"Vendor":{"Id":"1","Displ`), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "not UTF-8", serve: body("{\"Vendor\":{\"Id\":\"\xff\"}}"), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "deep", serve: body(strings.Repeat("[", levels) + strings.Repeat("]", levels)), timeout: patience, want: providers.ErrInvalidJSON},
	{name: "cut off", serve: cutOff, timeout: patience, want: providers.ErrUnreachable},
	{name: "reset", serve: reset, timeout: patience, want: providers.ErrUnreachable},
	{name: "hang", serve: hang, timeout: short, want: providers.ErrTimeout},
}

// levels are more than any JSON parser of the standard library follows.
const levels = 20_000

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
	_, _ = io.WriteString(w, `{"QueryResponse":{`)
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
