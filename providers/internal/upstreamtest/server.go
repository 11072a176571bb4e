// Package upstreamtest has what the conformance suites of the areas share: an upstream
// that can be disturbed, the ways in which one fails, and the checks that do not depend
// on what a provider is asked for.
package upstreamtest

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Class is a kind of call that a provider makes, such as "report".
type Class string

// LogIn is the class of the calls that ask for a session.
const LogIn Class = "log-in"

// Server serves a simulation of a provider's service over HTTP. It counts the calls of
// each class and can disturb them. It is safe for concurrent use.
type Server struct {
	// URL is the base URL.
	URL string

	// Service answers the calls that are not disturbed.
	Service http.Handler

	http    *httptest.Server
	classOf func(*http.Request) Class

	mu      sync.Mutex
	classes map[Class]record
}

// record is what a server knows of one class of calls.
type record struct {
	calls     int
	requestID string // of the last one
	fault     http.HandlerFunc
}

// Serve starts a server that ends with the test. classOf tells the calls apart; it may
// be called by several goroutines at once.
func Serve(t *testing.T, service http.Handler, classOf func(*http.Request) Class) *Server {
	t.Helper()
	s := &Server{Service: service, classOf: classOf, classes: make(map[Class]record)}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	s.URL = s.http.URL
	return s
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	class := s.classOf(r)
	s.mu.Lock()
	rec := s.classes[class]
	rec.calls++
	rec.requestID = r.Header.Get("X-Request-Id")
	s.classes[class] = rec
	s.mu.Unlock()

	if rec.fault != nil {
		rec.fault(w, r)
		return
	}
	s.Service.ServeHTTP(w, r)
}

// Disturb has fault answer the calls of the class; nil ends the disturbance.
func (s *Server) Disturb(class Class, fault http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.classes[class]
	rec.fault = fault
	s.classes[class] = rec
}

// CheckCalls checks how many calls of the class there were, disturbed or not.
func (s *Server) CheckCalls(t *testing.T, class Class, want int) {
	t.Helper()
	if n := s.record(class).calls; n != want {
		t.Errorf("%d calls of class %q, want %d", n, class, want)
	}
}

// RequestID returns the X-Request-Id of the last call of the class, "" if there was none.
func (s *Server) RequestID(class Class) string {
	return s.record(class).requestID
}

func (s *Server) record(class Class) record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.classes[class]
}

// Close takes the service off the network. It waits for the calls in progress.
func (s *Server) Close() { s.http.Close() }
