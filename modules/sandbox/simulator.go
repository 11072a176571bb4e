package sandbox

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/fleetrock"
	"github.com/fleetgate/fleetgate/modules/sandbox/internal/lytx"
	"github.com/fleetgate/fleetgate/modules/sandbox/internal/quickbooks"
	"github.com/fleetgate/fleetgate/modules/sandbox/internal/quikq"
	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// simulators are the providers that can be simulated, by the name that is also the
// first segment of their paths.
var simulators = []struct {
	name string
	open func(sim.Options) sim.Provider
}{
	{"lytx", lytx.New},
	{"quikq", quikq.New},
	{"fleetrock", fleetrock.New},
	{"quickbooks", quickbooks.New},
}

func simulatorNames() []string {
	names := make([]string, len(simulators))
	for i, s := range simulators {
		names[i] = s.name
	}
	return names
}

// Options configure [NewSimulator]. The zero Options simulate all providers without
// faults; [Handler] describes each option and its default.
type Options struct {
	Providers  []string
	Seed       uint64
	SessionTTL time.Duration
	Latency    time.Duration
	Throttle   int
	Faults     []Fault

	// Now tells the time by which sessions expire and data is dated. Default:
	// time.Now.
	Now func() time.Time
}

// NewSimulator returns the simulated providers as a plain handler, for tests that run
// them without Caddy: the base URL of Lytx below a server is its URL and /lytx. The
// options are part of the program, so wrong ones panic.
func NewSimulator(opts Options) http.Handler {
	s, err := newSimulator(opts)
	if err != nil {
		panic("sandbox: " + err.Error())
	}
	return s
}

type simulator struct {
	providers map[string]sim.Provider
	served    string // the paths of the providers, for people
	latency   time.Duration
	faults    []*rule
}

const (
	unthrottled = -1
	maxThrottle = 1_000_000

	defaultSeed       = 1
	defaultSessionTTL = 10 * time.Minute
	defaultThrottle   = 10
)

func newSimulator(opts Options) (*simulator, error) {
	if err := opts.check(); err != nil {
		return nil, err
	}
	if opts.Seed == 0 {
		opts.Seed = defaultSeed
	}
	if opts.SessionTTL == 0 {
		opts.SessionTTL = defaultSessionTTL
	}
	if opts.Throttle == 0 {
		opts.Throttle = defaultThrottle
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &simulator{providers: make(map[string]sim.Provider), served: opts.paths(), latency: opts.Latency}
	for _, p := range simulators {
		if slices.Contains(opts.providers(), p.name) {
			s.providers[p.name] = p.open(sim.Options{
				Seed:       opts.Seed,
				SessionTTL: opts.SessionTTL,
				Throttle:   opts.Throttle,
				Now:        opts.Now,
			})
		}
	}
	for _, f := range opts.Faults {
		s.faults = append(s.faults, &rule{Fault: f})
	}
	return s, nil
}

// check reports what is wrong with the options, by the name of the JSON key.
func (o Options) check() error {
	for i, name := range o.Providers {
		if !slices.Contains(simulatorNames(), name) {
			return fmt.Errorf("providers: unknown provider %q; known are %s", name, strings.Join(simulatorNames(), ", "))
		}
		if slices.Contains(o.Providers[:i], name) {
			return fmt.Errorf("providers: %s is listed twice", name)
		}
	}
	if o.SessionTTL < 0 {
		return errors.New("session_ttl must not be negative")
	}
	if o.Latency < 0 {
		return errors.New("latency must not be negative")
	}
	if o.Throttle < unthrottled || o.Throttle > maxThrottle {
		return fmt.Errorf("throttle must be a number of calls from 1 to %d, or %d for no limit", maxThrottle, unthrottled)
	}
	for _, f := range o.Faults {
		if err := f.check(); err != nil {
			return err
		}
		if name, _ := split(f.Path); f.Path != "" && !slices.Contains(o.providers(), name) {
			return fmt.Errorf("fault: path %q is below no simulated provider; they are at %s", f.Path, o.paths())
		}
	}
	return nil
}

// providers returns the names of the providers to simulate.
func (o Options) providers() []string {
	if len(o.Providers) == 0 {
		return simulatorNames()
	}
	return o.Providers
}

// paths lists the paths of the providers for people to read.
func (o Options) paths() string { return "/" + strings.Join(o.providers(), ", /") }

// split takes the first segment off a path.
func split(path string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return first, "/" + rest
}

// answers holds answers to be used again, with the memory of their bodies.
var answers = sync.Pool{New: func() any { return sim.NewAnswer() }}

// maxPooled is the largest body whose memory is kept: a page of 1,000 rows.
const maxPooled = 4 << 20

// ServeHTTP answers as the simulated provider that the path belongs to.
func (s *simulator) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path := split(r.URL.Path)
	provider := s.providers[name]
	if provider == nil {
		s.explain(w, http.StatusNotFound, "no simulated provider has this path; they are at "+s.served)
		return
	}
	if !s.wait(r) {
		return
	}
	call := sim.Call{Request: r, Path: path, Query: sim.ParseQuery(r.URL.RawQuery)}
	fault, retryAfter, err := s.choose(provider, call)
	if err != nil {
		s.explain(w, http.StatusBadRequest, err.Error())
		return
	}

	a := answers.Get().(*sim.Answer)
	defer func() {
		if cap(a.Body) <= maxPooled {
			a.Reset()
			answers.Put(a)
		}
	}()
	call.Fault = fault
	if status := refusals[fault]; status != 0 {
		if retryAfter > 0 {
			w.Header().Set("Retry-After", strconv.FormatInt(int64((retryAfter+time.Second-1)/time.Second), 10))
		}
		provider.Refuse(a, call, status)
		send(w, a)
		return
	}
	if page := pages[fault]; page != nil {
		page(w)
		return
	}
	respond(w, a, provider, call)
}

// respond lets the provider answer, and does to the answer what the call's fault says.
func respond(w http.ResponseWriter, a *sim.Answer, provider sim.Provider, c sim.Call) {
	if c.Fault == sim.Fault200 {
		provider.Refuse(a, c, http.StatusInternalServerError)
		a.Status = http.StatusOK
		send(w, a)
		return
	}
	provider.Serve(a, c)
	switch {
	case c.Fault == sim.Lost && !a.Replay:
		drop(w)
		return
	case c.Fault == sim.Reset:
		reset(w, a)
		return
	}
	if spoil := spoilers[c.Fault]; spoil != nil {
		spoil(a)
	}
	send(w, a)
}

// wait holds the answer back, and reports false when the caller went away meanwhile.
func (s *simulator) wait(r *http.Request) bool {
	if s.latency == 0 {
		return true
	}
	timer := time.NewTimer(s.latency)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// explain answers a mistake in the use of the sandbox itself.
func (*simulator) explain(w http.ResponseWriter, status int, message string) {
	var a sim.Answer
	a.Status = status
	b := (*sim.JSON)(&a.Body)
	b.Open('{')
	b.Text("message", message)
	b.Close('}')
	send(w, &a)
}

// Interface guard
var _ http.Handler = (*simulator)(nil)
