package accountingtest

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/providers/internal/upstreamtest"
)

// keys makes keys of writes, each another.
var keys atomic.Int64

func newKey() string { return "accountingtest-" + strconv.FormatInt(keys.Add(1), 10) }

func write(body []byte) accounting.Write { return accounting.Write{Body: body, Key: newKey()} }

// testWrites creates an entity, changes it, and fails to change it by the token that it
// had before.
func (h Harness) testWrites(t *testing.T, kind accounting.Kind, in Input) {
	b := h.start(t, upstreamtest.Patience)
	raw, err := b.Create(t.Context(), h.Good, kind, write(in.Create(1)))
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	created := parse(t, raw)
	if created.SyncToken != "0" {
		t.Errorf("the SyncToken of a new entity is %q", created.SyncToken)
	}
	if n := len(h.list(t, b, kind, accounting.Query{})); n != h.Lists[kind]+1 {
		t.Errorf("%d entities, want one more than %d", n, h.Lists[kind])
	}

	if raw, err = b.Update(t.Context(), h.Good, kind, write(in.Update(created.ID, created.SyncToken))); err != nil {
		t.Fatalf("update: %v", err)
	}
	updated := parse(t, raw)
	if updated.ID != created.ID || updated.SyncToken == created.SyncToken {
		t.Errorf("%+v became %+v", created, updated)
	}

	_, err = b.Update(t.Context(), h.Good, kind, write(in.Update(created.ID, created.SyncToken)))
	upstreamtest.CheckError(t, err, providers.ErrConflict, h.Good.AccessToken)

	if raw, err = b.Read(t.Context(), h.Good, kind, created.ID, accounting.Query{}); err != nil {
		t.Fatalf("read: %v", err)
	}
	if read := parse(t, raw); read != updated {
		t.Errorf("%+v reads as %+v", updated, read)
	}
}

// testRepeats carries out one write twice, and then another one with the same input.
func (h Harness) testRepeats(t *testing.T, kind accounting.Kind, in Input) {
	b := h.start(t, upstreamtest.Patience)
	w := write(in.Create(1))
	first := h.create(t, b, kind, w)
	if again := h.create(t, b, kind, w); again != first {
		t.Errorf("%+v repeated is %+v", first, again)
	}
	if other := h.create(t, b, kind, write(in.Create(2))); other.ID == first.ID {
		t.Error("another write was taken for a repeat")
	}
	long := write(in.Create(3))
	for len(long.Key) < 255 {
		long.Key += "x"
	}
	longer := long
	longer.Key = long.Key[:254] + "y"
	longer.Body = in.Create(4)
	if first := h.create(t, b, kind, long); h.create(t, b, kind, long) != first || h.create(t, b, kind, longer) == first {
		t.Error("keys of 255 characters are not told apart, or not known again")
	}
	if n := len(h.list(t, b, kind, accounting.Query{})); n != h.Lists[kind]+4 {
		t.Errorf("%d entities, want four more than %d", n, h.Lists[kind])
	}
}

// testLost carries out a write whose answer does not arrive.
func (h Harness) testLost(t *testing.T, kind accounting.Kind, in Input) {
	b := h.start(t, upstreamtest.Patience)
	b.loseAnswer()
	w := write(in.Create(1))
	raw, err := b.Create(t.Context(), h.Good, kind, w)
	if err != nil {
		// Then the caller is to find out by itself.
		if !errors.Is(err, providers.ErrUnreachable) {
			t.Errorf("the error is %v", err)
		}
		if raw, err = b.Create(t.Context(), h.Good, kind, w); err != nil {
			t.Fatal(err)
		}
	}
	id := parse(t, raw).ID
	if list := h.list(t, b, kind, accounting.Query{}); len(list) != h.Lists[kind]+1 {
		t.Errorf("%d entities, want one more than %d", len(list), h.Lists[kind])
	} else if _, ok := list[id]; !ok {
		t.Errorf("the entity %s is not in the list", id)
	}
}

// testGone carries out a write whose caller goes away when it has been sent.
func (h Harness) testGone(t *testing.T, kind accounting.Kind, in Input) {
	b := h.start(t, upstreamtest.Patience)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.disturb(func(rw http.ResponseWriter, r *http.Request) {
		cancel()
		b.Service.ServeHTTP(rw, r)
	})
	w := write(in.Create(1))
	raw, err := b.Create(ctx, h.Good, kind, w)
	if err != nil {
		upstreamtest.CheckError(t, err, providers.ErrCanceled, h.Good.AccessToken)
	}
	b.disturb(nil)
	again := h.create(t, b, kind, w)
	if err == nil && parse(t, raw) != again {
		t.Errorf("%s repeated is %+v", raw, again)
	}
	if n := len(h.list(t, b, kind, accounting.Query{})); n != h.Lists[kind]+1 {
		t.Errorf("%d entities, want one more than %d", n, h.Lists[kind])
	}
}

func (h Harness) create(t *testing.T, b *bench, kind accounting.Kind, w accounting.Write) entity {
	t.Helper()
	raw, err := b.Create(t.Context(), h.Good, kind, w)
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return parse(t, raw)
}
