package sim

import (
	"sync"
	"time"
)

// maxSessions bounds the memory that logins without end can take.
const maxSessions = 100_000

// Sessions holds what callers logged in as, by token. A session ends a fixed time
// after it was opened, however much it is used.
type Sessions[T any] struct {
	ttl time.Duration
	now func() time.Time

	mu    sync.Mutex
	open  map[string]session[T]
	swept time.Time
}

type session[T any] struct {
	value   T
	expires time.Time
}

// NewSessions returns an empty table of sessions that last as the options say.
func NewSessions[T any](o Options) *Sessions[T] {
	return &Sessions[T]{ttl: o.SessionTTL, now: o.Now, open: make(map[string]session[T]), swept: o.Now()}
}

// Open stores a session under its token.
func (s *Sessions[T]) Open(token string, value T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if now.Sub(s.swept) >= s.ttl {
		s.swept = now
		for t, old := range s.open {
			if !now.Before(old.expires) {
				delete(s.open, t)
			}
		}
	}
	if len(s.open) >= maxSessions {
		for t := range s.open {
			delete(s.open, t)
			break
		}
	}
	s.open[token] = session[T]{value, now.Add(s.ttl)}
}

// Get returns the session of a token, and false when there is none or it has expired.
func (s *Sessions[T]) Get(token string) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.open[token]
	if !ok || !s.now().Before(found.expires) {
		var none T
		return none, false
	}
	return found.value, true
}

// Drop ends the session of a token.
func (s *Sessions[T]) Drop(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, token)
}
