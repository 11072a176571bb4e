package upstreamtest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers"
)

// Suite has the checks of a provider's operation that reads: what becomes of
// credentials, of callers that go away, of a service in trouble, and of sessions. C is
// the area's credential.
type Suite[C any] struct {
	// Start starts a service without any session and a provider that calls it.
	Start func(t *testing.T, timeout time.Duration) Stage[C]

	// Class is the class of the operation's own calls.
	Class Class

	// Sessions says that the provider also makes calls of the class [LogIn].
	Sessions bool

	// Good is accepted by the service, Bad is refused.
	Good, Bad C

	// Secrets returns what no error may show of a credential.
	Secrets func(C) []string

	// Bodies are broken answers to any call.
	Bodies Bodies
}

// Stage is a provider and the service that it calls.
type Stage[C any] struct {
	Server *Server

	// Call does the operation, for a query that has matches, and returns their number.
	Call func(ctx context.Context, cred C) (matches int, err error)

	// EndSessions makes the service refuse the sessions that it has handed out. It is
	// nil for a provider without sessions.
	EndSessions func()
}

// Run does all checks.
func (s *Suite[C]) Run(t *testing.T) {
	t.Run("ok/request id", s.RunRequestID)
	t.Run("ok/parallel callers", s.runParallel)
	t.Run("fail/credential refused", func(t *testing.T) {
		st := s.Start(t, Patience)
		for range 2 {
			s.refuse(t, st, s.Bad, providers.ErrAuth)
		}
		s.must(t, st) // one caller's refusal is not another's
	})
	t.Run("fail/credential refused beside a session", func(t *testing.T) {
		st := s.Start(t, Patience)
		s.must(t, st)
		s.refuse(t, st, s.Bad, providers.ErrAuth)
	})
	t.Run("fail/caller", s.RunCaller)
	t.Run("fail/upstream", s.RunFaults)
	if s.Sessions {
		t.Run("session", s.runSessions)
	}
}

// must has a call of the good caller succeed.
func (s *Suite[C]) must(t *testing.T, st Stage[C]) {
	t.Helper()
	if _, err := st.Call(t.Context(), s.Good); err != nil {
		t.Fatalf("the call failed: %v", err)
	}
}

// refuse has a call fail.
func (s *Suite[C]) refuse(t *testing.T, st Stage[C], cred C, want error) {
	t.Helper()
	_, err := st.Call(t.Context(), cred)
	CheckError(t, err, want, s.Secrets(cred)...)
}

// RunRequestID checks that the operation's call carries the request's id.
func (s *Suite[C]) RunRequestID(t *testing.T) {
	st := s.Start(t, Patience)
	ctx := providers.WithRequestID(t.Context(), "request-4711")
	if _, err := st.Call(ctx, s.Good); err != nil {
		t.Fatal(err)
	}
	if id := st.Server.RequestID(s.Class); id != "request-4711" {
		t.Errorf("X-Request-Id of the call of class %q is %q", s.Class, id)
	}
}

// runParallel has callers with good and bad credentials call at the same time.
func (s *Suite[C]) runParallel(t *testing.T) {
	st := s.Start(t, Patience)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if n, err := st.Call(t.Context(), s.Good); err != nil || n == 0 {
				t.Errorf("good credential: %d matches, %v", n, err)
			}
		})
		wg.Go(func() { s.refuse(t, st, s.Bad, providers.ErrAuth) })
	}
	wg.Wait()
}

// RunCaller checks what becomes of a call whose caller goes away or is out of time.
func (s *Suite[C]) RunCaller(t *testing.T) {
	t.Run("gone before", func(t *testing.T) {
		st := s.Start(t, Patience)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := st.Call(ctx, s.Good)
		CheckError(t, err, providers.ErrCanceled, s.Secrets(s.Good)...)
	})
	t.Run("gone meanwhile", func(t *testing.T) {
		st := s.Start(t, Patience)
		s.must(t, st)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		st.Server.Disturb(s.Class, func(w http.ResponseWriter, r *http.Request) {
			cancel()
			Hang(w, r)
		})
		_, err := st.Call(ctx, s.Good)
		CheckError(t, err, providers.ErrCanceled, s.Secrets(s.Good)...)
	})
	t.Run("out of time", func(t *testing.T) {
		st := s.Start(t, Patience)
		s.must(t, st)
		st.Server.Disturb(s.Class, Hang)
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		_, err := st.Call(ctx, s.Good)
		CheckError(t, err, providers.ErrTimeout, s.Secrets(s.Good)...)
	})
}

// RunFaults disturbs the operation's calls, and those that log in, in every way.
func (s *Suite[C]) RunFaults(t *testing.T) {
	t.Run("down", func(t *testing.T) {
		st := s.Start(t, Patience)
		st.Server.Close()
		s.refuse(t, st, s.Good, providers.ErrUnreachable)
	})
	classes := []Class{s.Class}
	if s.Sessions {
		classes = append(classes, LogIn)
	}
	for _, class := range classes {
		for _, f := range Faults(s.Bodies) {
			t.Run(string(class)+"/"+f.Name, func(t *testing.T) {
				t.Parallel()
				st := s.Start(t, f.Timeout)
				st.Server.Disturb(class, f.Serve)
				_, err := st.Call(t.Context(), s.Good)
				CheckError(t, err, f.Want, s.Secrets(s.Good)...)
				if after := providers.As(err).RetryAfter; after != f.RetryAfter {
					t.Errorf("RetryAfter is %v, want %v", after, f.RetryAfter)
				}

				st.Server.Disturb(class, nil)
				s.must(t, st) // and nothing of it is remembered
			})
		}
	}
}

// runSessions counts log-ins.
func (s *Suite[C]) runSessions(t *testing.T) {
	t.Run("ok/reused", func(t *testing.T) {
		st := s.Start(t, Patience)
		for range 5 {
			s.must(t, st)
		}
		st.Server.CheckCalls(t, LogIn, 1)
	})
	t.Run("ok/shared by parallel callers", func(t *testing.T) {
		st := s.Start(t, Patience)
		s.crowd(t, st)
		st.Server.CheckCalls(t, LogIn, 1)
	})
	t.Run("ok/renewed once", func(t *testing.T) {
		st := s.Start(t, Patience)
		s.must(t, st)
		st.EndSessions()
		s.must(t, st)
		s.must(t, st)
		st.Server.CheckCalls(t, LogIn, 2)
	})
	t.Run("ok/renewed for parallel callers", func(t *testing.T) {
		st := s.Start(t, Patience)
		s.must(t, st)
		st.EndSessions()
		s.crowd(t, st)
		st.Server.CheckCalls(t, LogIn, 2)
	})
	t.Run("fail/refused at once", func(t *testing.T) {
		st := s.Start(t, Patience)
		st.Server.Disturb(LogIn, func(w http.ResponseWriter, r *http.Request) {
			st.Server.Service.ServeHTTP(w, r)
			st.EndSessions()
		})
		s.refuse(t, st, s.Good, providers.ErrAuth)
		st.Server.CheckCalls(t, LogIn, 1)

		s.refuse(t, st, s.Good, providers.ErrAuth)
		st.Server.CheckCalls(t, LogIn, 2)
	})
	t.Run("fail/credential withdrawn", func(t *testing.T) {
		st := s.Start(t, Patience)
		s.must(t, st)
		st.EndSessions()
		st.Server.Disturb(LogIn, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
		})
		s.refuse(t, st, s.Good, providers.ErrAuth)
	})
}

// crowd has good callers call at the same time.
func (s *Suite[C]) crowd(t *testing.T, st Stage[C]) {
	t.Helper()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := st.Call(t.Context(), s.Good); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// CheckError checks the type and kind of an error and that nothing of it shows a
// secret. The kind is given as a sentinel of package providers.
func CheckError(t *testing.T, err, want error, secrets ...string) {
	t.Helper()
	pe, ok := err.(*providers.Error) //nolint:errorlint // the contract promises the type itself
	switch {
	case err == nil:
		t.Errorf("no error, want: %v", want)
		return
	case !ok:
		t.Errorf("the error is a %T: %v", err, err)
		return
	case !errors.Is(err, want):
		t.Errorf("the error is %q, want: %v", err, want)
	}
	texts := []string{pe.Message}
	for e := err; e != nil; e = errors.Unwrap(e) {
		texts = append(texts, e.Error())
	}
	text := strings.Join(texts, "\n")
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("the error shows %q: %s", secret, text)
		}
	}
}
