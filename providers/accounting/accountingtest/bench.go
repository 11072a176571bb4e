package accountingtest

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/providers/internal/upstreamtest"
)

// The classes of calls.
const (
	classRead  upstreamtest.Class = "read"
	classWrite upstreamtest.Class = "write"
)

// bench is a provider and the server of the service that it calls.
type bench struct {
	accounting.Provider
	*upstreamtest.Server
	t *testing.T
}

func (h Harness) start(t *testing.T, timeout time.Duration) *bench {
	t.Helper()
	srv := upstreamtest.Serve(t, h.NewService(t), h.classOf)
	return &bench{h.New(t, Upstream{URL: srv.URL, Timeout: timeout}), srv, t}
}

func (h Harness) classOf(r *http.Request) upstreamtest.Class {
	if h.IsWrite(r) {
		return classWrite
	}
	return classRead
}

// disturb has fault answer all calls; nil ends the disturbance.
func (b *bench) disturb(fault http.HandlerFunc) {
	b.Disturb(classRead, fault)
	b.Disturb(classWrite, fault)
}

// loseAnswer has the next write carried out and its answer lost.
func (b *bench) loseAnswer() {
	b.Disturb(classWrite, func(_ http.ResponseWriter, r *http.Request) {
		b.Disturb(classWrite, nil)
		b.Service.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	})
}
