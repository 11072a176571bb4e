package gateway

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fleetgate/fleetgate/modules/store"
)

func TestOutage(t *testing.T) {
	t.Run("ok/known tokens work for the stated time", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			core, logs := observer.New(zapcore.InfoLevel)
			a := newTestApp(t, m, zap.New(core))
			if err := a.Start(); err != nil {
				t.Fatal(err)
			}
			known, other := m.add(t, "t1", time.Time{}), m.add(t, "t2", time.Time{})
			expect(t, a, known, ReasonOK)
			// The feed vouches for the entry long after it was read.
			time.Sleep(time.Hour)
			synctest.Wait()
			m.set(func() { m.away = errAway })

			time.Sleep(defaultTokenMaxStale - time.Second)
			expect(t, a, known, ReasonOK)
			expect(t, a, other, ReasonUnavailable)
			expect(t, a, "garbage", ReasonMalformed)
			time.Sleep(time.Second + defaultRevocationPoll)
			expect(t, a, known, ReasonUnavailable)
			if err := a.Ready(t.Context()); !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("Ready: %v", err)
			}

			m.set(func() { m.away = nil })
			expect(t, a, known, ReasonOK)
			expect(t, a, other, ReasonOK)
			if err := a.Ready(t.Context()); err != nil {
				t.Errorf("Ready: %v", err)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			var messages []string
			for _, entry := range logs.All() {
				messages = append(messages, entry.Level.String()+" "+entry.Message)
			}
			want := "[error the store cannot be asked; known tokens keep working for a time info the store answers again]"
			if got := fmt.Sprint(messages); got != want {
				t.Errorf("log %s, want %s", got, want)
			}
		})
	})
	t.Run("ok/an outage does not slow known tokens", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			a := newTestApp(t, m, zap.NewNop())
			known := m.add(t, "t1", time.Time{})
			expect(t, a, known, ReasonOK)
			time.Sleep(defaultTokenCacheTTL)
			m.set(func() { m.away = errAway })
			before := m.readCount()
			for range 10 {
				expect(t, a, known, ReasonOK)
			}
			if n := m.readCount() - before; n != 1 {
				t.Errorf("the store was asked %d times within a second, want once", n)
			}
			time.Sleep(retryPause)
			expect(t, a, known, ReasonOK)
			if n := m.readCount() - before; n != 2 {
				t.Errorf("the store was asked %d times in all, want twice", n)
			}
		})
	})
	t.Run("ok/a revocation during the outage holds after it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			a := newTestApp(t, m, zap.NewNop())
			if err := a.Start(); err != nil {
				t.Fatal(err)
			}
			known := m.add(t, "t1", time.Time{})
			expect(t, a, known, ReasonOK)
			if _, err := m.RevokeToken(t.Context(), "t1", time.Now()); err != nil {
				t.Fatal(err)
			}
			m.set(func() { m.away = errAway })
			time.Sleep(10 * time.Second)
			expect(t, a, known, ReasonOK)
			m.set(func() { m.away = nil })
			time.Sleep(defaultRevocationPoll)
			synctest.Wait()
			expect(t, a, known, ReasonRevoked)
		})
	})
	t.Run("fail/the store cannot be opened", func(t *testing.T) {
		m := newMemory()
		m.away = errAway
		a := newTestApp(t, m, zap.NewNop())
		value := m.add(t, "t1", time.Time{})
		expect(t, a, value, ReasonUnavailable)
		if err := a.Start(); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("Start: %v", err)
		}
		if err := a.Ready(t.Context()); err == nil {
			t.Error("the app is ready")
		}
		m.set(func() { m.away = nil })
		expect(t, a, value, ReasonOK)
	})
}

// TestRevocationElsewhere checks that a revocation by another process holds
// within the interval of the poll.
func TestRevocationElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory()
		a := newTestApp(t, m, zap.NewNop())
		if err := a.Start(); err != nil {
			t.Fatal(err)
		}
		value := m.add(t, "t1", time.Time{})
		expect(t, a, value, ReasonOK)
		time.Sleep(17 * time.Millisecond)
		if _, err := m.RevokeToken(t.Context(), "t1", time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(defaultRevocationPoll)
		synctest.Wait()
		expect(t, a, value, ReasonRevoked)
	})
}

func TestLastUsed(t *testing.T) {
	lastUsed := func(m *memory, value string) (at time.Time) {
		hash, _ := ParseToken(value)
		m.set(func() { at = m.tokens[hash].LastUsed })
		return at
	}
	t.Run("ok/written now and then, and at the end", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			a := newTestApp(t, m, zap.NewNop())
			if err := a.Start(); err != nil {
				t.Fatal(err)
			}
			value, unused := m.add(t, "t1", time.Time{}), m.add(t, "t2", time.Time{})
			begin := time.Now()
			expect(t, a, value, ReasonOK)
			if got := lastUsed(m, value); !got.IsZero() {
				t.Errorf("written at once: %v", got)
			}
			time.Sleep(flushInterval)
			synctest.Wait()
			if got := lastUsed(m, value); !got.Equal(begin) {
				t.Errorf("last used %v, want %v", got, begin)
			}
			second := time.Now()
			expect(t, a, value, ReasonOK)
			if err := a.Stop(); err != nil {
				t.Fatal(err)
			}
			if got := lastUsed(m, value); !got.Equal(second) {
				t.Errorf("last used %v, want %v", got, second)
			}
			if got := lastUsed(m, unused); !got.IsZero() {
				t.Errorf("a token that nobody used: %v", got)
			}
		})
	})
	t.Run("ok/kept until it can be written", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := newMemory()
			a := newTestApp(t, m, zap.NewNop())
			value := m.add(t, "t1", time.Time{})
			begin := time.Now()
			expect(t, a, value, ReasonOK)
			m.set(func() { m.away = errAway })
			if err := a.runtime.flush(t.Context()); err == nil {
				t.Error("it was written to a store that is away")
			}
			m.set(func() { m.away = nil })
			if err := a.runtime.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := lastUsed(m, value); !got.Equal(begin) {
				t.Errorf("last used %v, want %v", got, begin)
			}
		})
	})
}
