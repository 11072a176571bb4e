package sandbox

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// outcomes is what each fault must do to a list, seen through a connection.
var outcomes = map[sim.Fault]func(t *testing.T, a answer, err error){
	sim.Throttle:    refusedWith(http.StatusTooManyRequests),
	sim.Error:       refusedWith(http.StatusInternalServerError),
	sim.Unavailable: refusedWith(http.StatusServiceUnavailable),
	sim.Forbidden:   refusedWith(http.StatusForbidden),
	sim.Reset: func(t *testing.T, a answer, err error) {
		if !errors.Is(err, syscall.ECONNRESET) || a.status != http.StatusOK || len(a.body) == 0 {
			t.Errorf("status %d, %d bytes, error %v", a.status, len(a.body), err)
		}
	},
	sim.Truncate: func(t *testing.T, a answer, err error) {
		spoiled(t, a, err)
		if n := len(a.body); n == 0 || strings.HasSuffix(a.body, "]") && n < 3 {
			t.Errorf("body %q", a.body)
		}
	},
	sim.InvalidJSON: func(t *testing.T, a answer, err error) {
		spoiled(t, a, err)
		last := len(a.body) - 1
		if a.body[last-1] != ',' || !gjson.Valid(a.body[:last-1]+a.body[last:]) {
			t.Errorf("body ends in %s", a.body[last-1:])
		}
	},
	sim.HTML: func(t *testing.T, a answer, err error) {
		spoiled(t, a, err)
		if !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") || !strings.Contains(a.body, "<html>") {
			t.Errorf("type %s, body %s", a.header.Get("Content-Type"), a.body)
		}
	},
	sim.Empty: func(t *testing.T, a answer, err error) {
		spoiled(t, a, err)
		if a.body != "" {
			t.Errorf("body %q", a.body)
		}
	},
	sim.NotUTF8: func(t *testing.T, a answer, err error) {
		if err != nil || a.status != http.StatusOK || utf8.ValidString(a.body) || !gjson.Valid(a.body) {
			t.Errorf("status %d, error %v, body %.100q", a.status, err, a.body)
		}
	},
	sim.Deep: func(t *testing.T, a answer, err error) {
		if err != nil || a.status != http.StatusOK || a.body != strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000) {
			t.Errorf("status %d, error %v, %d bytes", a.status, err, len(a.body))
		}
	},
	sim.Lost: func(t *testing.T, a answer, err error) {
		if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.EOF) || a.status != 0 {
			t.Errorf("status %d, error %v", a.status, err)
		}
	},
	sim.XML:         refusedWith(http.StatusInternalServerError),
	sim.XMLThrottle: refusedWith(http.StatusTooManyRequests),
	sim.Huge: func(t *testing.T, a answer, err error) {
		if err != nil || a.status != http.StatusOK || len(a.body) <= 64<<20 || !gjson.Valid(a.body) {
			t.Errorf("status %d, error %v, %d bytes", a.status, err, len(a.body))
		}
	},
}

// ownOutcomes are the faults that differ from provider to provider; their tests are
// with the others of the provider.
var ownOutcomes = []sim.Fault{sim.Shift, sim.DropSession, sim.ShortPage, sim.LongPage, sim.RepeatPage, sim.Shrink, sim.Fault200}

func refusedWith(status int) func(*testing.T, answer, error) {
	return func(t *testing.T, a answer, err error) {
		if err != nil || a.status != status || a.header.Get("Retry-After") != "" || a.body != "" && !gjson.Valid(a.body) {
			t.Errorf("status %d, Retry-After %q, error %v, body %.200s", a.status, a.header.Get("Retry-After"), err, a.body)
		}
	}
}

// spoiled checks that an answer claims success and is no JSON.
func spoiled(t *testing.T, a answer, err error) {
	t.Helper()
	if err != nil || a.status != http.StatusOK || gjson.Valid(a.body) {
		t.Errorf("status %d, error %v, body %.100s", a.status, err, a.body)
	}
}

// fetch sends a request through a connection.
func fetch(t *testing.T, srv *httptest.Server, method, target, body string, headers ...string) (answer, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := srv.Client().Do(r)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(b)}, err
}

func serve(t *testing.T, opts Options) *httptest.Server {
	t.Helper()
	if opts.Now == nil {
		opts.Now = newClock().Now
	}
	srv := httptest.NewServer(NewSimulator(opts))
	t.Cleanup(srv.Close)
	return srv
}

func TestFaultsByHeader(t *testing.T) {
	t.Parallel()
	srv := serve(t, Options{})
	for _, kind := range sim.Kinds() {
		check := outcomes[sim.Fault(kind)]
		if check == nil {
			continue // these depend on the provider
		}
		for _, name := range []string{"an answer", "an answer without a body"} {
			if kind == string(sim.Huge) && name != "an answer" {
				continue // the same 65 MiB again
			}
			t.Run("ok/"+kind+"/"+name, func(t *testing.T) {
				target := "/lytx" + eventsPath + "?limit=20"
				if name != "an answer" {
					target += "&from=2030-01-01T00:00:00.00Z"
				}
				a, err := fetch(t, srv, http.MethodGet, target, "", "X-APIKey", "demo", faultHeader, kind)
				check(t, a, err)
			})
		}
	}
	for wish, want := range map[string]string{
		"slow":         `{"message":"unknown fault; known are throttle, error, unavailable, forbidden, reset, truncate, invalid_json, html, empty, not_utf8, deep, huge, shift, drop_session, lost, short_page, long_page, repeat_page, shrink, fault_200, xml, xml_throttle"}`,
		"error-30s":    `{"message":"only throttle and unavailable take a duration, such as throttle-30s"}`,
		"throttle-0s":  `{"message":"only throttle and unavailable take a duration, such as throttle-30s"}`,
		"throttle-now": `{"message":"only throttle and unavailable take a duration, such as throttle-30s"}`,
	} {
		t.Run("fail/"+wish, func(t *testing.T) {
			a, err := fetch(t, srv, http.MethodGet, "/lytx"+eventsPath, "", "X-APIKey", "demo", faultHeader, wish)
			if err != nil {
				t.Fatal(err)
			}
			a.expect(t, http.StatusBadRequest, want)
		})
	}
	t.Run("ok/every fault is checked", func(t *testing.T) {
		for _, kind := range sim.Kinds() {
			if outcomes[sim.Fault(kind)] == nil && !slices.Contains(ownOutcomes, sim.Fault(kind)) {
				t.Errorf("%s has no outcome", kind)
			}
		}
	})
}

func TestFaultsByCredential(t *testing.T) {
	t.Parallel()
	srv := serve(t, Options{})
	for kind, check := range outcomes {
		if kind == sim.Huge {
			continue // as slow as it sounds; the header's test has it
		}
		t.Run("ok/lytx/"+string(kind), func(t *testing.T) {
			a, err := fetch(t, srv, http.MethodGet, "/lytx"+eventsPath, "", "X-APIKey", "fault-"+string(kind))
			check(t, a, err)
			if a, err = fetch(t, srv, http.MethodGet, "/lytx/video/vehicles", "", "X-APIKey", "fault-"+string(kind)); err != nil || a.get("totalCount").Int() != 800 {
				t.Errorf("the catalogs fail too: %d, %v", a.status, err)
			}
		})
		t.Run("ok/lytx catalogs/"+string(kind), func(t *testing.T) {
			key := "fault-catalogs-" + string(kind)
			for _, path := range []string{"/lytx/video/safety/events/triggers", "/lytx/vehicles/all"} {
				a, err := fetch(t, srv, http.MethodGet, path, "", "X-APIKey", key)
				check(t, a, err)
			}
			if a, err := fetch(t, srv, http.MethodGet, "/lytx"+eventsPath, "", "X-APIKey", key); err != nil || a.status != http.StatusOK || !gjson.Valid(a.body) {
				t.Errorf("the events fail too: %d, %v", a.status, err)
			}
		})
		t.Run("ok/quikq/"+string(kind), func(t *testing.T) {
			for _, login := range []string{
				`{"startCode":"1000001","userId":"u","password":"fault-` + string(kind) + `"}`,
				`{"startCode":"1000001","userId":"fault-` + string(kind) + `","password":"p"}`,
			} {
				a, err := fetch(t, srv, http.MethodPost, "/quikq/v1/auth", login)
				if err != nil || a.status != http.StatusOK {
					t.Fatalf("login answered %d, %v", a.status, err)
				}
				a, err = fetch(t, srv, http.MethodGet, quikqReport+"&startDt=2026-09-01T00:00:00-00:00&endDt=2026-09-03T00:00:00-00:00", "",
					"Authorization", "Bearer "+a.get("data.token").String())
				check(t, a, err)
			}
		})
		t.Run("ok/fleetrock/"+string(kind), func(t *testing.T) {
			for _, who := range []string{"username=fleet&key=fault-" + string(kind), "username=fault-" + string(kind) + "&key=demo"} {
				a, err := fetch(t, srv, http.MethodGet, "/fleetrock/API/GetToken?"+who, "")
				if err != nil || a.status != http.StatusOK {
					t.Fatalf("login answered %d, %v", a.status, err)
				}
				a, err = fetch(t, srv, http.MethodGet, "/fleetrock/API/GetRO?"+who+"&token="+a.get("token").String(), "")
				check(t, a, err)
			}
		})
	}
	t.Run("ok/retry after", func(t *testing.T) {
		a, err := fetch(t, srv, http.MethodGet, "/lytx"+eventsPath, "", "X-APIKey", "fault-unavailable-1500ms")
		if err != nil || a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "2" {
			t.Errorf("status %d, Retry-After %q, error %v", a.status, a.header.Get("Retry-After"), err)
		}
	})
	t.Run("fail/unknown", func(t *testing.T) {
		a, err := fetch(t, srv, http.MethodGet, "/lytx"+eventsPath, "", "X-APIKey", "fault-slow")
		if err != nil || a.status != http.StatusBadRequest || !strings.Contains(a.body, "unknown fault; known are throttle") {
			t.Errorf("status %d, error %v, body %s", a.status, err, a.body)
		}
	})
}

func TestDropSession(t *testing.T) {
	c := newClient(t, Options{Faults: []Fault{{Kind: "drop_session", Every: 2, Path: "/quikq/v1/reports"}, {Kind: "drop_session", Every: 3, Path: "/fleetrock/API/GetRO"}}})
	t.Run("fail/quikq", func(t *testing.T) {
		token := c.quikqToken()
		c.quikq(token, "2026-09-01", "2026-09-02").expect(t, http.StatusOK, "")
		c.quikq(token, "2026-09-01", "2026-09-02").expect(t, http.StatusUnauthorized, `{"status":"fail","message":"Token expired or invalid"}`)
		c.quikq(token, "2026-09-01", "2026-09-02").expect(t, http.StatusUnauthorized, "")
	})
	t.Run("fail/fleetrock", func(t *testing.T) {
		token := c.fleetrockToken()
		for range 2 {
			if a := c.fleetrock(token, ""); a.get("repair_orders.#").Int() == 0 {
				t.Errorf("body %.200s", a.body)
			}
		}
		for range 2 {
			c.fleetrock(token, "").expect(t, http.StatusOK, fleetrockError("Invalid token."))
		}
	})
	t.Run("fail/lytx", func(t *testing.T) {
		c.do(http.MethodGet, "/lytx"+eventsPath, "", "X-APIKey", "fault-drop_session").expect(t, http.StatusUnauthorized, "")
	})
}

func TestShift(t *testing.T) {
	t.Parallel()
	c := newClient(t, Options{Faults: []Fault{{Kind: "shift"}}})
	for _, limit := range []string{"1", "100", "1000"} {
		t.Run("ok/events by "+limit, func(t *testing.T) {
			if limit == "1" {
				first, second := c.lytx(eventsPath+"?limit=1&page=1"), c.lytx(eventsPath+"?limit=1&page=2")
				if first.body == second.body {
					t.Error("pages of one row do not advance")
				}
				return
			}
			seen := make(map[string]bool)
			rows := allEvents(t, c, "limit="+limit)
			for _, row := range rows {
				seen[row.Get("id").String()] = true
			}
			if len(seen) != 5000 || len(rows) <= 5000 {
				t.Errorf("%d events in %d rows", len(seen), len(rows))
			}
		})
	}
	t.Run("ok/vehicles", func(t *testing.T) {
		first, second := c.lytx("/video/vehicles?PageSize=100"), c.lytx("/video/vehicles?PageSize=100&PageNumber=2")
		if first.get("vehicles.90.name").String() != second.get("vehicles.0.name").String() {
			t.Errorf("the second page begins with %s", second.get("vehicles.0.name"))
		}
	})
}

func TestConfiguredFaults(t *testing.T) {
	c := newClient(t, Options{Faults: []Fault{
		{Kind: "throttle", Every: 3, Path: "/lytx/video/", RetryAfter: caddy.Duration(90 * time.Second)},
		{Kind: "error", Every: 2, Path: "/lytx/video/vehicles"},
	}})
	status := func(target string, headers ...string) int {
		return c.do(http.MethodGet, target, "", append([]string{"X-APIKey", "demo"}, headers...)...).status
	}
	t.Run("ok/in turn", func(t *testing.T) {
		for i, want := range []int{200, 500, 429, 500, 200, 429} {
			a := c.lytx("/video/vehicles?PageSize=1")
			a.expect(t, want, "")
			if got := a.header.Get("Retry-After"); (got == "90") != (want == 429) {
				t.Errorf("request %d: Retry-After %q", i, got)
			}
		}
	})
	t.Run("ok/other paths", func(t *testing.T) {
		for range 4 {
			if s := status("/lytx/vehicles/all?limit=1"); s != http.StatusOK {
				t.Errorf("status %d", s)
			}
			if s := status("/lytx/videos"); s != http.StatusNotFound {
				t.Errorf("status %d", s)
			}
		}
	})
	t.Run("ok/a choice of the request goes first and is not counted", func(t *testing.T) {
		for range 3 {
			if s := status("/lytx/video/vehicles?PageSize=1", faultHeader, "forbidden"); s != http.StatusForbidden {
				t.Errorf("status %d", s)
			}
		}
		if s := status("/lytx/video/vehicles?PageSize=1"); s != http.StatusOK {
			t.Errorf("status %d", s)
		}
	})
	t.Run("ok/header before credential", func(t *testing.T) {
		a := c.do(http.MethodGet, "/lytx"+eventsPath, "", "X-APIKey", "fault-error", faultHeader, "forbidden")
		a.expect(t, http.StatusForbidden, "")
	})
}

// TestConcurrentCalls is for the race detector, and counts that every so many-th
// request fails, however requests interleave.
func TestConcurrentCalls(t *testing.T) {
	c := newClient(t, Options{SessionTTL: time.Minute, Faults: []Fault{{Kind: "error", Every: 4, Path: "/lytx"}}})
	const callers, calls = 8, 10
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := 0
	for range callers {
		wg.Go(func() {
			for range calls {
				a := c.lytx(eventsPath + "?limit=50")
				mu.Lock()
				if a.status == http.StatusInternalServerError {
					failed++
				}
				mu.Unlock()
				if a.status == http.StatusOK && gjson.Get(a.body, "#").Int() != 50 {
					t.Errorf("%s events", gjson.Get(a.body, "#"))
				}
				login := c.quikqLogin("1000001", "u", "p")
				if a := c.quikq(login.get("data.token").String(), "2026-09-01", "2026-09-01"); !gjson.Valid(a.body) {
					t.Errorf("report %.100s", a.body)
				}
			}
		})
	}
	wg.Wait()
	if failed != callers*calls/4 {
		t.Errorf("%d of %d failed", failed, callers*calls)
	}
}

func TestLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClient(t, Options{Latency: 3 * time.Second})
		begin := time.Now()
		c.lytx("/video/safety/events/statuses").expect(t, http.StatusOK, "")
		if took := time.Since(begin); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		w := httptest.NewRecorder()
		begin = time.Now()
		c.handler.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/lytx/video/safety/events/statuses", nil))
		if took := time.Since(begin); took != time.Second || w.Body.Len() != 0 {
			t.Errorf("took %s for %d bytes after the caller went away", took, w.Body.Len())
		}
	})
}
