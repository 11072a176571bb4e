package upstreamtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"

	"github.com/fleetgate/fleetgate/providers"
)

// Patience is the timeout of calls that are expected to succeed.
const Patience = 30 * time.Second

// levels are more than the JSON decoder of the standard library follows.
const levels = 20_000

// Fault is a way in which a service fails, and what a provider has to make of it.
type Fault struct {
	Name       string           // for subtests
	Serve      http.HandlerFunc // answers instead of the service
	Timeout    time.Duration    // how long the provider may take for one call
	Want       error            // the sentinel of package providers
	RetryAfter time.Duration    // of the provider's error
}

// Bodies are broken bodies in the shape of the provider's protocol.
type Bodies struct {
	Truncated string // JSON that breaks off
	NotUTF8   string // JSON but for bytes that are not UTF-8
	Other     string // JSON of another type than any answer is
}

// Faults returns the ways in which a service fails that follow from no protocol.
func Faults(b Bodies) []Fault {
	return []Fault{
		{Name: "500", Serve: status(http.StatusInternalServerError), Timeout: Patience, Want: providers.ErrProvider},
		{Name: "503", Serve: status(http.StatusServiceUnavailable), Timeout: Patience, Want: providers.ErrProvider, RetryAfter: 7 * time.Second},
		{Name: "429", Serve: status(http.StatusTooManyRequests), Timeout: Patience, Want: providers.ErrThrottled, RetryAfter: 7 * time.Second},
		{Name: "302 elsewhere", Serve: elsewhere, Timeout: Patience, Want: providers.ErrProvider},
		{Name: "HTML", Serve: body("<!DOCTYPE html><title>Maintenance</title>"), Timeout: Patience, Want: providers.ErrInvalidJSON},
		{Name: "empty body", Serve: body(""), Timeout: Patience, Want: providers.ErrInvalidJSON},
		{Name: "null", Serve: body("null"), Timeout: Patience, Want: providers.ErrInvalidJSON},
		{Name: "other type", Serve: body(b.Other), Timeout: Patience, Want: providers.ErrInvalidJSON},
		{Name: "truncated JSON", Serve: body(b.Truncated), Timeout: Patience, Want: providers.ErrInvalidJSON},
		{Name: "not UTF-8", Serve: body(b.NotUTF8), Timeout: Patience, Want: providers.ErrInvalidJSON},
		{Name: "deep", Serve: body(strings.Repeat("[", levels) + strings.Repeat("]", levels)), Timeout: Patience, Want: providers.ErrInvalidJSON},
		{Name: "cut off", Serve: cutOff(b.Truncated), Timeout: Patience, Want: providers.ErrUnreachable},
		{Name: "reset", Serve: reset, Timeout: Patience, Want: providers.ErrUnreachable},
		{Name: "hang", Serve: Hang, Timeout: 3 * time.Second, Want: providers.ErrTimeout},
	}
}

// status answers with the code and with all that the caller sent, and asks for a pause
// of seven seconds where that is usual.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		dump, _ := httputil.DumpRequest(r, true)
		if code != http.StatusInternalServerError {
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, "cannot serve %s\n%s", r.URL, dump)
	}
}

// body answers with 200 and the text.
func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// elsewhere redirects to a place that must not be called.
func elsewhere(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, "http://elsewhere.invalid"+r.URL.RequestURI(), http.StatusFound)
}

// cutOff sends the text, which is less than it has announced.
func cutOff(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, text)
	}
}

// reset closes the connection instead of answering.
func reset(http.ResponseWriter, *http.Request) {
	panic(http.ErrAbortHandler)
}

// Hang answers nothing until the caller is gone, which the server only notices once it
// has read the whole request.
func Hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}
