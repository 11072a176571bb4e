package accountingtest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

// operation makes one of the provider's calls and says only whether it succeeded.
type operation func(ctx context.Context, b *bench, cred accounting.Credential) error

// operations are one of each of the interface's methods. All succeed by Good.
func (h Harness) operations() map[string]operation {
	var made atomic.Int64
	return map[string]operation{
		"list": func(ctx context.Context, b *bench, cred accounting.Credential) error {
			_, err := b.List(ctx, cred, accounting.KindVendor, accounting.Query{})
			return err
		},
		"read": func(ctx context.Context, b *bench, cred accounting.Credential) error {
			id, _, err := h.anyVendor(b)
			if err == nil {
				_, err = b.Read(ctx, cred, accounting.KindVendor, id, accounting.Query{})
			}
			return err
		},
		"create": func(ctx context.Context, b *bench, cred accounting.Credential) error {
			_, err := b.Create(ctx, cred, accounting.KindPurchase, write(h.Purchase.Create(int(1000+made.Add(1)))))
			return err
		},
		"update": func(ctx context.Context, b *bench, cred accounting.Credential) error {
			id, syncToken, err := h.anyVendor(b)
			if err != nil {
				return err
			}
			_, err = b.Update(ctx, cred, accounting.KindVendor, write(h.Vendor.Update(id, syncToken)))
			if errors.Is(err, providers.ErrConflict) {
				return nil // a parallel caller was faster
			}
			return err
		},
	}
}

// anyVendor returns the id and the token of the vendor that is least in the order of
// ids, past all disturbance.
func (h Harness) anyVendor(b *bench) (id, syncToken string, err error) {
	rows, err := h.New(b.t, Upstream{URL: b.quiet(), Timeout: patience}).
		List(context.Background(), h.Good, accounting.KindVendor, accounting.Query{})
	if err != nil {
		return "", "", err
	}
	entities, err := split(rows)
	if err != nil {
		return "", "", err
	}
	if len(entities) == 0 {
		return "", "", errors.New("there are no vendors")
	}
	least := slices.MinFunc(entities, func(a, b entity) int {
		return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
	})
	return least.ID, least.SyncToken, nil
}

// testCaller checks what becomes of an operation whose caller goes away or is out of
// time. Writes are carried out nevertheless, which is checked elsewhere.
func (h Harness) testCaller(t *testing.T) {
	for name, op := range h.operations() {
		t.Run(name+"/gone before", func(t *testing.T) {
			b := h.start(t, patience)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			checkError(t, op(ctx, b, h.Good), providers.ErrCanceled, h.Good)
			if n := b.writes.Load(); n != 0 {
				t.Errorf("%d writes of a caller who had gone", n)
			}
		})
	}
	for _, name := range []string{"list", "read"} {
		op := h.operations()[name]
		t.Run(name+"/gone meanwhile", func(t *testing.T) {
			b := h.start(t, patience)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.disturb(func(rw http.ResponseWriter, r *http.Request) {
				cancel()
				hang(rw, r)
			})
			checkError(t, op(ctx, b, h.Good), providers.ErrCanceled, h.Good)
		})
		t.Run(name+"/out of time", func(t *testing.T) {
			b := h.start(t, patience)
			b.disturb(hang)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			checkError(t, op(ctx, b, h.Good), providers.ErrTimeout, h.Good)
		})
	}
}

// testFaults disturbs each operation in every way.
func (h Harness) testFaults(t *testing.T) {
	t.Run("down", func(t *testing.T) {
		b := h.start(t, patience)
		b.close()
		_, err := b.List(t.Context(), h.Good, accounting.KindAccount, accounting.Query{})
		checkError(t, err, providers.ErrUnreachable, h.Good)
		_, err = b.Create(t.Context(), h.Good, accounting.KindVendor, write(h.Vendor.Create(1)))
		checkError(t, err, providers.ErrUnreachable, h.Good)
	})
	for name, op := range h.operations() {
		for _, f := range faults {
			t.Run(name+"/"+f.name, func(t *testing.T) {
				t.Parallel()
				b := h.start(t, f.timeout)
				b.disturb(f.serve)
				pe := checkError(t, op(t.Context(), b, h.Good), f.want, h.Good)
				if pe.RetryAfter != f.retryAfter {
					t.Errorf("RetryAfter is %v, want %v", pe.RetryAfter, f.retryAfter)
				}

				b.disturb(nil)
				if err := op(t.Context(), b, h.Good); err != nil {
					t.Errorf("the disturbance is remembered: %v", err)
				}
			})
		}
	}
}
