package providers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestErrorMatchesItsKindOnly(t *testing.T) {
	for kind := range Kind(len(sentinels)) {
		err := fmt.Errorf("while paging: %w", &Error{Kind: kind})
		for other, sentinel := range sentinels {
			if got, want := errors.Is(err, sentinel), other == int(kind); got != want {
				t.Errorf("errors.Is(%v, %v) is %v", err, sentinel, got)
			}
		}
		if kind.String() != sentinels[kind].Error() || kind.String() == "" {
			t.Errorf("kind %d reads %q", kind, kind)
		}
	}
	if s := Kind(200).String(); s != "unknown" {
		t.Errorf("a kind that does not exist reads %q", s)
	}
	if errors.Is(&Error{Kind: 200}, ErrProvider) {
		t.Error("a kind that does not exist matches a sentinel")
	}
}

func TestErrorText(t *testing.T) {
	cause := errors.New("Get https://api.example.com/?key=secret: EOF")
	for _, tc := range []struct {
		name string
		err  *Error
		want string
	}{
		{"ok/message", &Error{Kind: KindRejected, Message: "no such group"}, "rejected by the provider: no such group"},
		{"ok/no message", &Error{Kind: KindThrottled}, "throttled by the provider"},
		{"ok/zero", &Error{}, "provider failed"},
		{"ok/cause is not shown", &Error{Kind: KindUnreachable, Message: "connection reset", Err: cause}, "provider unreachable: connection reset"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tc.err.Error(); got != tc.want || strings.Contains(got, "secret") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
	if err := (&Error{Kind: KindUnreachable, Err: cause}); !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}

func TestReference(t *testing.T) {
	for _, tc := range []struct {
		name, ref string
		shown     bool
	}{
		{"ok/none", "", true},
		{"ok/visible", "1-68a1b2c3-!~", true},
		{"ok/longest", strings.Repeat("x", 64), true},
		{"fail/longer", strings.Repeat("x", 65), false},
		{"fail/blank", "a b", false},
		{"fail/control", "a\n", false},
		{"fail/delete", "a\x7f", false},
		{"fail/not ASCII", "\u00fc", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := tc.ref
			if !tc.shown {
				want = ""
			}
			if got := (&Error{Ref: tc.ref}).Reference(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestAs(t *testing.T) {
	pe := &Error{Kind: KindConflict}
	if got := As(fmt.Errorf("a: %w", pe)); got != pe {
		t.Errorf("got %v, want the error in the chain", got)
	}
	plain := errors.New("plain")
	if got := As(plain); got.Kind != KindProvider || got.Message != "" || !errors.Is(got, plain) {
		t.Errorf("got %+v for an error of another type", got)
	}
}

func TestRequestID(t *testing.T) {
	if id := RequestID(context.Background()); id != "" {
		t.Errorf("the id of no request is %q", id)
	}
	ctx := WithRequestID(context.Background(), "r-1")
	if id := RequestID(ctx); id != "r-1" {
		t.Errorf("the id is %q", id)
	}
}
