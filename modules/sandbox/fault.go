package sandbox

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// faultHeader is the request header that chooses a fault for its request.
const faultHeader = "X-Sandbox-Fault"

// Fault makes the requests below a path fail.
type Fault struct {
	// What happens; [Handler] lists the kinds. Required.
	Kind string `json:"kind,omitempty"`

	// The fault happens to each so many-th request below the path, starting with
	// the request of that number. Requests that chose a fault of their own by header
	// or credential are not counted. Default: `1`, every request.
	Every uint64 `json:"every,omitempty"`

	// The beginning of the paths that are concerned, whole segments, such as
	// `/lytx/vehicles`. Default: all paths.
	Path string `json:"path,omitempty"`

	// The Retry-After header of `throttle` and `unavailable`, rounded up to whole
	// seconds. Default: no such header.
	RetryAfter caddy.Duration `json:"retry_after,omitempty"`
}

// check reports what is wrong with the fault.
func (f Fault) check() error {
	kind := sim.Fault(f.Kind)
	switch {
	case !kind.Known():
		return fmt.Errorf("fault: unknown kind %q; known are %s", f.Kind, strings.Join(sim.Kinds(), ", "))
	case f.Path != "" && !strings.HasPrefix(f.Path, "/"):
		return fmt.Errorf("fault: path %q must begin with a slash", f.Path)
	case f.RetryAfter < 0:
		return fmt.Errorf("fault: retry_after must not be negative")
	case f.RetryAfter > 0 && !kind.TakesRetryAfter():
		return fmt.Errorf("fault: retry_after goes with %s and %s only, not with %s", sim.Throttle, sim.Unavailable, kind)
	}
	return nil
}

// rule is a configured fault with its count of requests.
type rule struct {
	Fault
	seen atomic.Uint64
}

// happens counts a request, and reports whether the fault happens to it.
func (r *rule) happens(path string) bool {
	prefix := strings.TrimSuffix(r.Path, "/")
	rest, ok := strings.CutPrefix(path, prefix)
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	return r.seen.Add(1)%max(r.Every, 1) == 0
}

// choose returns the fault that happens to a call, and its Retry-After. The error
// tells the caller what is wrong with the fault that the call itself names.
func (s *simulator) choose(p sim.Provider, c sim.Call) (sim.Fault, time.Duration, error) {
	wish := c.Request.Header.Get(faultHeader)
	if wish == "" {
		wish = p.CredentialFault(c)
	}
	if wish != "" {
		return sim.ParseFault(wish)
	}
	// Each rule counts all of its requests, also where another fault happens.
	var happened *rule
	for _, r := range s.faults {
		if r.happens(c.Request.URL.Path) && happened == nil {
			happened = r
		}
	}
	if happened == nil {
		return sim.None, 0, nil
	}
	return sim.Fault(happened.Kind), time.Duration(happened.RetryAfter), nil
}
