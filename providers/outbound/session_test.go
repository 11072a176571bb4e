package outbound

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fleetgate/fleetgate/providers"
)

// authority is a provider that hands out numbered tokens and honours the newest.
type authority struct {
	logins  atomic.Int32
	uses    atomic.Int32
	refuses atomic.Bool // every token, however new
	err     error       // of each log-in
	login   func(ctx context.Context) error
}

func (a *authority) logIn(ctx context.Context) (string, error) {
	n := a.logins.Add(1)
	if a.login != nil {
		if err := a.login(ctx); err != nil {
			return "", err
		}
	}
	if a.err != nil {
		return "", a.err
	}
	return fmt.Sprintf("token-%d", n), nil
}

func (a *authority) use(_ context.Context, token string) (string, error) {
	a.uses.Add(1)
	if a.refuses.Load() || token != fmt.Sprintf("token-%d", a.logins.Load()) {
		return "", &providers.Error{Kind: providers.KindAuth, Message: "session expired"}
	}
	return "with " + token, nil
}

func (a *authority) call(ctx context.Context, s *Sessions) (string, error) {
	return WithSession(ctx, s, "key", a.logIn, a.use)
}

func TestSessionIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSessions(time.Hour, time.Minute, zap.NewNop())
		a := &authority{login: func(context.Context) error { time.Sleep(time.Second); return nil }}
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() {
				if got, err := a.call(t.Context(), s); err != nil || got != "with token-1" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
		wg.Wait()
		if n := a.logins.Load(); n != 1 {
			t.Errorf("%d log-ins, want 1", n)
		}

		if _, err := WithSession(t.Context(), s, "another key", a.logIn, a.use); err != nil {
			t.Fatal(err)
		}
		if n := a.logins.Load(); n != 2 {
			t.Errorf("%d log-ins, want one more for another key", n)
		}
	})
}

func TestSessionIsRenewedOnce(t *testing.T) {
	s := NewSessions(time.Hour, time.Minute, zap.NewNop())
	a := new(authority)
	if _, err := a.call(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	a.logins.Add(1) // somebody else logged in: token-1 is void

	if got, err := a.call(t.Context(), s); err != nil || got != "with token-3" {
		t.Errorf("got %q, %v, want the answer for a new token", got, err)
	}
	if a.logins.Load() != 3 || a.uses.Load() != 3 {
		t.Errorf("%d log-ins and %d uses, want 3 and 3", a.logins.Load(), a.uses.Load())
	}

	a.refuses.Store(true)
	_, err := a.call(t.Context(), s)
	wantError(t, err, providers.KindAuth, "session expired")
	if a.logins.Load() != 4 || a.uses.Load() != 5 {
		t.Errorf("%d log-ins and %d uses, want one more log-in and two more uses", a.logins.Load(), a.uses.Load())
	}
}

func TestSessionRefusedAfterLogin(t *testing.T) {
	s := NewSessions(time.Hour, time.Minute, zap.NewNop())
	a := new(authority)
	a.refuses.Store(true)
	_, err := a.call(t.Context(), s)
	wantError(t, err, providers.KindAuth, "session expired")
	if a.logins.Load() != 1 || a.uses.Load() != 1 {
		t.Errorf("%d log-ins and %d uses, want 1 and 1", a.logins.Load(), a.uses.Load())
	}
}

func TestSessionOtherErrorsKeepIt(t *testing.T) {
	s := NewSessions(time.Hour, time.Minute, zap.NewNop())
	a := new(authority)
	if _, err := a.call(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	down := &providers.Error{Kind: providers.KindUnreachable, Message: "connection reset"}
	_, err := WithSession(t.Context(), s, "key", a.logIn, func(context.Context, string) (string, error) { return "", down })
	wantError(t, err, providers.KindUnreachable, "connection reset")
	if _, err := a.call(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if n := a.logins.Load(); n != 1 {
		t.Errorf("%d log-ins, want 1", n)
	}
}

func TestSessionLoginFails(t *testing.T) {
	s := NewSessions(time.Hour, time.Minute, zap.NewNop())
	a := &authority{err: &providers.Error{Kind: providers.KindAuth, Message: "wrong password"}}
	for range 2 {
		_, err := a.call(t.Context(), s)
		wantError(t, err, providers.KindAuth, "wrong password")
	}
	if a.logins.Load() != 2 || a.uses.Load() != 0 {
		t.Errorf("%d log-ins and %d uses; a failed log-in is neither kept nor used", a.logins.Load(), a.uses.Load())
	}

	a.err = errors.New("fault of the provider module")
	_, err := a.call(t.Context(), s)
	wantError(t, err, providers.KindProvider, "")
}

// A panic in a log-in is logged with the place where it happened and without its value.
func TestSessionLoginPanics(t *testing.T) {
	var l logs
	s := NewSessions(time.Hour, time.Minute, zap.New(zapcore.NewCore(
		zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(&l), zapcore.DebugLevel)))
	a := &authority{login: func(context.Context) error { panic("planted") }}
	_, err := a.call(t.Context(), s)
	pe := wantError(t, err, providers.KindProvider, "")
	if pe.Err == nil || !strings.HasSuffix(pe.Err.Error(), " a string") {
		t.Errorf("the cause is %v, want the type of the panic's value", pe.Err)
	}
	if !strings.Contains(l.String(), `"call":"log-in"`) || !strings.Contains(l.String(), "TestSessionLoginPanics.func") {
		t.Errorf("the log lacks the panic or its place: %s", l.String())
	}
	wantNone(t, "the log", l.String(), "planted")
	wantNone(t, "the error", fmt.Sprint(err, pe.Err), "planted")

	a.login = nil
	if _, err := a.call(t.Context(), s); err != nil {
		t.Errorf("the next log-in failed: %v", err)
	}
}

func TestSessionOutlivesItsFirstCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSessions(time.Hour, time.Minute, zap.NewNop())
		a := &authority{login: func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Second):
				return nil
			}
		}}
		first, leave := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _, _ = a.call(first, s) })
		synctest.Wait()
		for range 5 {
			wg.Go(func() {
				if got, err := a.call(t.Context(), s); err != nil || got != "with token-1" {
					t.Errorf("got %q, %v", got, err)
				}
			})
		}
		synctest.Wait()
		leave()
		wg.Wait()
		if n := a.logins.Load(); n != 1 {
			t.Errorf("%d log-ins, want 1", n)
		}
	})
}

func TestSessionWaiterLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSessions(time.Hour, time.Minute, zap.NewNop())
		a := &authority{login: func(context.Context) error { time.Sleep(time.Second); return nil }}
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := a.call(t.Context(), s); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()

		for _, tc := range []struct {
			timeout time.Duration
			kind    providers.Kind
			message string
		}{
			{10 * time.Millisecond, providers.KindTimeout, "timeout"},
			{0, providers.KindCanceled, "request canceled"},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			if tc.timeout == 0 {
				cancel()
			}
			_, err := a.call(ctx, s)
			cancel()
			wantError(t, err, tc.kind, tc.message)
		}
		wg.Wait()
	})
}

func TestSessionLoginDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSessions(time.Hour, time.Minute, zap.NewNop())
		a := &authority{login: func(ctx context.Context) error {
			<-ctx.Done()
			return classify(ctx, ctx.Err())
		}}
		start := time.Now()
		_, err := a.call(t.Context(), s)
		wantError(t, err, providers.KindTimeout, "timeout")
		if took := time.Since(start); took != time.Minute {
			t.Errorf("the log-in took %v, want its own minute", took)
		}
	})
}

func TestSessionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewSessions(time.Hour, time.Minute, zap.NewNop())
		a := new(authority)
		for _, step := range []struct {
			wait time.Duration
			want int32
		}{{0, 1}, {59 * time.Minute, 1}, {2 * time.Minute, 2}, {time.Minute, 2}} {
			time.Sleep(step.wait)
			if _, err := a.call(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if n := a.logins.Load(); n != step.want {
				t.Errorf("%d log-ins after %v more, want %d", n, step.wait, step.want)
			}
		}
	})
}

func TestForgetSparesTheRenewed(t *testing.T) {
	s := NewSessions(time.Hour, time.Minute, zap.NewNop())
	a := new(authority)
	if _, err := a.call(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.forget("key", "an older token")
	if _, err := a.call(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if n := a.logins.Load(); n != 1 {
		t.Errorf("%d log-ins: a renewed token was forgotten", n)
	}
	s.forget("no such key", "token")
}

func TestDigest(t *testing.T) {
	seen := make(map[string][]string)
	for _, parts := range [][]string{
		nil, {""}, {"", ""}, {"a"}, {"a", ""}, {"", "a"}, {"a", "bc"}, {"ab", "c"}, {"abc"}, {"a", "b", "c"}, {"a\x00", "b"}, {"a", "\x00b"},
	} {
		d := Digest(parts...)
		if other, ok := seen[d]; ok {
			t.Errorf("%q and %q have one digest", parts, other)
		}
		seen[d] = parts
		if Digest(parts...) != d {
			t.Errorf("the digest of %q changes", parts)
		}
	}
}
