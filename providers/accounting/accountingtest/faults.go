package accountingtest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/providers/internal/upstreamtest"
)

// operation is one of the interface's methods.
type operation struct {
	class upstreamtest.Class // of its own calls

	// do carries it out and says only whether it succeeded.
	do func(ctx context.Context, b *bench, cred accounting.Credential) error
}

// operations are one of each of the interface's methods. All succeed by Good.
func (h Harness) operations() map[string]operation {
	var made atomic.Int64
	return map[string]operation{
		"list": {classRead, func(ctx context.Context, b *bench, cred accounting.Credential) error {
			_, err := b.List(ctx, cred, accounting.KindVendor, accounting.Query{})
			return err
		}},
		"read": {classRead, func(ctx context.Context, b *bench, cred accounting.Credential) error {
			id, _, err := h.anyVendor(b)
			if err == nil {
				_, err = b.Read(ctx, cred, accounting.KindVendor, id, accounting.Query{})
			}
			return err
		}},
		"create": {classWrite, func(ctx context.Context, b *bench, cred accounting.Credential) error {
			_, err := b.Create(ctx, cred, accounting.KindPurchase, write(h.Purchase.Create(int(1000+made.Add(1)))))
			return err
		}},
		"update": {classWrite, func(ctx context.Context, b *bench, cred accounting.Credential) error {
			id, syncToken, err := h.anyVendor(b)
			if err != nil {
				return err
			}
			_, err = b.Update(ctx, cred, accounting.KindVendor, write(h.Vendor.Update(id, syncToken)))
			if errors.Is(err, providers.ErrConflict) {
				return nil // a parallel caller was faster
			}
			return err
		}},
	}
}

// anyVendor returns the id and the token of the vendor that is least in the order of
// ids, past all disturbance.
func (h Harness) anyVendor(b *bench) (id, syncToken string, err error) {
	quiet := upstreamtest.Serve(b.t, b.Service, h.classOf)
	rows, err := h.New(b.t, Upstream{URL: quiet.URL, Timeout: upstreamtest.Patience}).
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
			b := h.start(t, upstreamtest.Patience)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			upstreamtest.CheckError(t, op.do(ctx, b, h.Good), providers.ErrCanceled, h.Good.AccessToken)
			b.CheckCalls(t, classWrite, 0)
		})
		if op.class == classWrite {
			continue
		}
		t.Run(name+"/gone meanwhile", func(t *testing.T) {
			b := h.start(t, upstreamtest.Patience)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			b.disturb(func(rw http.ResponseWriter, r *http.Request) {
				cancel()
				upstreamtest.Hang(rw, r)
			})
			upstreamtest.CheckError(t, op.do(ctx, b, h.Good), providers.ErrCanceled, h.Good.AccessToken)
		})
		t.Run(name+"/out of time", func(t *testing.T) {
			b := h.start(t, upstreamtest.Patience)
			b.disturb(upstreamtest.Hang)
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			upstreamtest.CheckError(t, op.do(ctx, b, h.Good), providers.ErrTimeout, h.Good.AccessToken)
		})
	}
}

// short is the timeout of operations that the service asks to wait for longer: a
// provider may wait as long as it has time.
const short = 2 * time.Second

// faults returns the ways in which a service fails that follow from no protocol, and an
// object without what the contract promises of every answer.
func faults() []upstreamtest.Fault {
	all := upstreamtest.Faults(upstreamtest.Bodies{
		Truncated: `{"Vendor":{"Id":"1","Displ`,
		NotUTF8:   "{\"Vendor\":{\"Id\":\"\xff\"}}",
		Other:     "[]",
	})
	for i := range all {
		if all[i].RetryAfter > 0 {
			all[i].Timeout = short
		}
	}
	return append(all, upstreamtest.Fault{
		Name:    "empty object",
		Serve:   func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "{}") },
		Timeout: upstreamtest.Patience,
		Want:    providers.ErrInvalidJSON,
	})
}

// testFaults disturbs each operation in every way.
func (h Harness) testFaults(t *testing.T) {
	t.Run("down", func(t *testing.T) {
		b := h.start(t, upstreamtest.Patience)
		b.Close()
		_, err := b.List(t.Context(), h.Good, accounting.KindAccount, accounting.Query{})
		upstreamtest.CheckError(t, err, providers.ErrUnreachable, h.Good.AccessToken)
		_, err = b.Create(t.Context(), h.Good, accounting.KindVendor, write(h.Vendor.Create(1)))
		upstreamtest.CheckError(t, err, providers.ErrUnreachable, h.Good.AccessToken)
	})
	for name, op := range h.operations() {
		for _, f := range faults() {
			t.Run(name+"/"+f.Name, func(t *testing.T) {
				t.Parallel()
				b := h.start(t, f.Timeout)
				b.disturb(f.Serve)
				err := op.do(t.Context(), b, h.Good)
				upstreamtest.CheckError(t, err, f.Want, h.Good.AccessToken)
				if after := providers.As(err).RetryAfter; after != f.RetryAfter {
					t.Errorf("RetryAfter is %v, want %v", after, f.RetryAfter)
				}

				b.disturb(nil)
				err = op.do(t.Context(), b, h.Good)
				switch {
				case err == nil:
				case errors.Is(f.Want, providers.ErrThrottled): // the pause that was asked for may be kept
					upstreamtest.CheckError(t, err, providers.ErrUnavailable, h.Good.AccessToken)
				default:
					t.Errorf("the disturbance is remembered: %v", err)
				}
			})
		}
	}
}
