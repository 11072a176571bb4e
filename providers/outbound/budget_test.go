package outbound

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/fleetgate/fleetgate/providers"
)

// ofSize answers with as many bytes as the path says, and with their number in the
// header unless the path ends in "chunked".
func ofSize(w http.ResponseWriter, r *http.Request) {
	size, chunked := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/"), "chunked")
	n, err := strconv.Atoi(size)
	if err != nil {
		panic(err)
	}
	if chunked {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
	}
	_, _ = io.WriteString(w, strings.Repeat("x", n))
}

func TestBudget(t *testing.T) {
	for _, tc := range []struct {
		name  string
		paths []string // the last one fails in a fail row
	}{
		{"ok/all of it", []string{"/400", "/500chunked", "/100"}},
		{"ok/nothing more", []string{"/1000", "/0"}},
		{"fail/one byte", []string{"/400", "/600chunked", "/1"}},
		{"fail/one byte, size unknown", []string{"/400chunked", "/600", "/1chunked"}},
		{"fail/one answer", []string{"/1001chunked"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := ready(t, &Client{BaseURL: serve(t, ofSize).URL, MaxBody: 1000})
			b := c.NewBudget()
			for i, path := range tc.paths {
				_, err := c.Do(t.Context(), &Request{Name: "test", Path: path, Budget: b})
				if strings.HasPrefix(tc.name, "fail/") && i == len(tc.paths)-1 {
					wantError(t, err, providers.KindTooLarge, "response too large")
				} else if err != nil {
					t.Fatalf("call %d: %v", i, err)
				}
			}
			if _, err := c.Do(t.Context(), &Request{Name: "test", Path: "/1000"}); err != nil {
				t.Errorf("a call without a budget: %v", err)
			}
		})
	}

	t.Run("fail/parallel calls", func(t *testing.T) {
		c, _ := ready(t, &Client{BaseURL: serve(t, ofSize).URL, MaxBody: 1000})
		b := c.NewBudget()
		var good atomic.Int32
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				_, err := c.Do(t.Context(), &Request{Name: "test", Path: "/300chunked", Budget: b})
				if err == nil {
					good.Add(1)
					return
				}
				wantError(t, err, providers.KindTooLarge, "response too large")
			})
		}
		wg.Wait()
		if n := good.Load(); n > 3 {
			t.Errorf("%d answers of 300 bytes within 1000", n)
		}
	})
}
