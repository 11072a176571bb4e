package fleetrock

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/maintenance"
)

// script answers session and list calls as it is told.
type script struct {
	login, list   http.HandlerFunc
	logins, lists atomic.Int32
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/API/GetToken" {
		s.logins.Add(1)
		s.login(w, r)
		return
	}
	s.lists.Add(1)
	s.list(w, r)
}

func with(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { reply(w, status, body) }
}

const (
	tokenBody = `{"token":"planted+token/1"}`
	listBody  = `{"repair_orders":[{"id":"1"}]}`
)

func TestLogin(t *testing.T) {
	for name, row := range map[string]struct {
		status  int
		body    string
		want    error
		message string
	}{
		"fail/error in 200":        {200, `{"result":"error","message":"No such account"}`, providers.ErrAuth, "No such account"},
		"fail/error without words": {200, `{"result":"Error"}`, providers.ErrAuth, ""},
		"fail/error in 400":        {400, `{"result":"error","message":"No such account"}`, providers.ErrAuth, "No such account"},
		"fail/401":                 {401, ``, providers.ErrAuth, "Unauthorized"},
		"fail/400":                 {400, `<html>`, providers.ErrRejected, "Bad Request"},
		"fail/no such path":        {404, `<html>`, providers.ErrProvider, "Not Found"},
		"fail/throttled":           {429, `{"result":"error","message":"Too many keys"}`, providers.ErrThrottled, "Too many keys"},
		"fail/fault":               {503, `{"result":"error","message":"Key store away"}`, providers.ErrProvider, "Key store away"},
		"fail/no token":            {200, `{}`, providers.ErrAuth, ""},
		"fail/empty token":         {200, `{"token":""}`, providers.ErrAuth, ""},
		"fail/token null":          {200, `{"token":null}`, providers.ErrAuth, ""},
		"fail/a list":              {200, `[` + tokenBody + `]`, providers.ErrInvalidJSON, ""},
		"fail/token alone":         {200, `"planted"`, providers.ErrInvalidJSON, ""},
		"fail/text after the JSON": {200, tokenBody + `}`, providers.ErrInvalidJSON, ""},
		"fail/credential echoed": {
			200, `{"result":"error","message":"/API/GetToken?username=planted+user%2B1&key=planted%2Fkey%3D%261 planted user+1 planted/key=&1"}`,
			providers.ErrAuth, "/API/GetToken?username=***&key=*** *** ***",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{
				login: with(row.status, row.body),
				list:  func(http.ResponseWriter, *http.Request) { t.Error("orders listed without a session") },
			}
			_, err := start(t, s, nil).Orders(t.Context(), good, full)
			checkError(t, err, row.want, row.message)
		})
	}
}

func TestList(t *testing.T) {
	for name, row := range map[string]struct{ body, want string }{
		"ok/one":             {listBody, `[{"id":"1"}]`},
		"ok/spaces kept":     {"{ \"n\" : 1, \"repair_orders\" : [ {\"id\" : 1.50} ] } ", `[ {"id" : 1.50} ]`},
		"ok/empty":           {`{"repair_orders":[]}`, ``},
		"ok/empty, spaces":   {"{\"repair_orders\":[ \n ]}", ``},
		"ok/result success":  {`{"result":"success","repair_orders":[{"id":"1"}]}`, `[{"id":"1"}]`},
		"ok/errors in a row": {`{"repair_orders":[{"result":"error"}]}`, `[{"result":"error"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{login: with(200, tokenBody), list: with(200, row.body)}
			arrays, err := start(t, s, nil).Orders(t.Context(), good, full)
			if err != nil {
				t.Fatal(err)
			}
			if got := string(slices.Concat(arrays...)); got != row.want {
				t.Errorf("arrays are %q, want %q", got, row.want)
			}
		})
	}

	for name, row := range map[string]struct {
		status  int
		body    string
		want    error
		message string
		renewed bool // a kept session is renewed for it
	}{
		"fail/token":               {200, `{"result":"error","message":"Invalid token."}`, providers.ErrAuth, "Invalid token.", true},
		"fail/username":            {200, `{"result":"error","message":"Unknown username"}`, providers.ErrAuth, "Unknown username", true},
		"fail/API key in 400":      {400, `{"result":"error","message":"API key inactive"}`, providers.ErrAuth, "API key inactive", true},
		"fail/401":                 {401, ``, providers.ErrAuth, "Unauthorized", true},
		"fail/filter":              {200, `{"result":"error","message":"No event paidd."}`, providers.ErrRejected, "No event paidd.", true},
		"fail/part of a word":      {200, `{"result":"error","message":"Monkey business of observers"}`, providers.ErrRejected, "Monkey business of observers", true},
		"fail/own fault":           {200, `{"result":"error","message":"Internal Server Error"}`, providers.ErrProvider, "Internal Server Error", true},
		"fail/own fault, passing":  {200, `{"result":"error","message":"Busy. Please try again later"}`, providers.ErrProvider, "Busy. Please try again later", true},
		"fail/error without words": {200, `{"result":"error"}`, providers.ErrProvider, "", true},
		"fail/other error in 400":  {400, `{"result":"error","message":"Bad status"}`, providers.ErrRejected, "Bad status", true},
		"fail/error and orders":    {200, `{"repair_orders":[],"result":"error","message":"Partial"}`, providers.ErrRejected, "Partial", true},
		"fail/400":                 {400, `<html>token</html>`, providers.ErrRejected, "Bad Request", false},
		"fail/no such path":        {404, ``, providers.ErrProvider, "Not Found", false},
		"fail/throttled":           {429, `{"result":"error","message":"Slow down"}`, providers.ErrThrottled, "Slow down", false},
		"fail/fault":               {500, `{"result":"error","message":"Token store away"}`, providers.ErrProvider, "Token store away", false},
		"fail/array missing":       {200, `{"orders":[]}`, providers.ErrInvalidJSON, "", false},
		"fail/array null":          {200, `{"repair_orders":null}`, providers.ErrInvalidJSON, "", false},
		"fail/array alone":         {200, `[{"id":"1"}]`, providers.ErrInvalidJSON, "", false},
		"fail/array an object":     {200, `{"repair_orders":{}}`, providers.ErrInvalidJSON, "", false},
		"fail/truncated":           {200, `{"repair_orders":[{"id":"1"}`, providers.ErrInvalidJSON, "", false},
		"fail/text after the JSON": {200, listBody + `,`, providers.ErrInvalidJSON, "", false},
		"fail/no content":          {204, ``, providers.ErrInvalidJSON, "", false},
		"fail/token echoed": {
			200, `{"result":"error","message":"no session planted+token/1, planted%2Btoken%2F1"}`,
			providers.ErrAuth, "no session ***, ***", true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{login: with(200, tokenBody), list: with(row.status, row.body)}
			p := start(t, s, nil)
			_, err := p.Orders(t.Context(), good, full)
			checkError(t, err, row.want, row.message)
			if n := s.logins.Load(); n != 1 {
				t.Errorf("%d sessions, want 1: a fresh one is not renewed", n)
			}

			_, err = p.Orders(t.Context(), good, full)
			checkError(t, err, row.want, row.message)
			if renewed := s.logins.Load() == 2; renewed != row.renewed {
				t.Errorf("%d sessions after the second call", s.logins.Load())
			}
		})
	}

	t.Run("ok/renewed session helps whatever the error said", func(t *testing.T) {
		s := &script{login: with(200, tokenBody)}
		s.list = func(w http.ResponseWriter, _ *http.Request) {
			if s.lists.Load() == 2 {
				reply(w, 200, `{"result":"error","message":"Something went wrong"}`)
				return
			}
			reply(w, 200, listBody)
		}
		p := start(t, s, nil)
		for range 2 {
			if _, err := p.Orders(t.Context(), good, full); err != nil {
				t.Fatal(err)
			}
		}
		if s.logins.Load() != 2 || s.lists.Load() != 3 {
			t.Errorf("%d sessions and %d list calls", s.logins.Load(), s.lists.Load())
		}
	})
	t.Run("fail/too large", func(t *testing.T) {
		s := &script{login: with(200, tokenBody), list: with(200, `{"repair_orders":[`+strings.Repeat(" ", 100)+`]}`)}
		_, err := start(t, s, map[string]any{"max_body": 100}).Orders(t.Context(), good, full)
		checkError(t, err, providers.ErrTooLarge, "response too large")
	})
}

// TestParts checks how the parts of a long window are fetched.
func TestParts(t *testing.T) {
	quarter := maintenance.Query{Start: "2026-01-01", End: "2026-04-30"}

	t.Run("ok/two at a time, kept in order", func(t *testing.T) {
		var mu sync.Mutex
		running, most := 0, 0
		januaryRuns, aprilDone := make(chan struct{}), make(chan struct{})
		await := func(r *http.Request, event <-chan struct{}) {
			select {
			case <-event:
			case <-r.Context().Done():
			}
		}
		s := &script{login: with(200, tokenBody)}
		s.list = func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			month := r.URL.Query().Get("start")[:7]
			switch month {
			case "2026-01": // is answered last: only parallel calls can let it go on
				close(januaryRuns)
				await(r, aprilDone)
			case "2026-02":
				await(r, januaryRuns)
			case "2026-04":
				defer close(aprilDone)
			}
			mu.Lock()
			running--
			mu.Unlock()
			reply(w, 200, `{"repair_orders":["`+month+`"]}`)
		}
		arrays, err := start(t, s, nil).Orders(t.Context(), good, quarter)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(slices.Concat(arrays...)); got != `["2026-01"]["2026-02"]["2026-03"]["2026-04"]` {
			t.Errorf("arrays are %s", got)
		}
		if most != 2 {
			t.Errorf("up to %d calls at a time, want 2", most)
		}
	})
	t.Run("fail/one part fails", func(t *testing.T) {
		s := &script{login: with(200, tokenBody)}
		s.list = func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Query().Get("start"), "2026-02") {
				reply(w, 500, `{"message":"February is broken"}`)
				return
			}
			<-r.Context().Done() // ends because the other part has failed
		}
		arrays, err := start(t, s, nil).Orders(t.Context(), good, quarter)
		checkError(t, err, providers.ErrProvider, "February is broken")
		if arrays != nil || s.lists.Load() > 2 {
			t.Errorf("%d arrays after %d calls", len(arrays), s.lists.Load())
		}
	})
	t.Run("ok/session renewed once for all parts", func(t *testing.T) {
		f := newFake(t)
		p := start(t, f, nil)
		if _, err := p.Orders(t.Context(), good, quarter); err != nil {
			t.Fatal(err)
		}
		f.EndSessions()
		if arrays, err := p.Orders(t.Context(), good, quarter); err != nil || len(arrays) != 4 {
			t.Fatalf("%d arrays, error %v", len(arrays), err)
		}
		f.checkMade(2)
	})
	t.Run("fail/caller gone before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := start(t, newFake(t), nil).Orders(ctx, good, quarter)
		checkError(t, err, providers.ErrCanceled, "request canceled")
	})
	t.Run("fail/too long", func(t *testing.T) {
		s := &script{}
		_, err := start(t, s, nil).Orders(t.Context(), good, maintenance.Query{Start: "2016-01-01", End: "2026-01-01"})
		checkError(t, err, providers.ErrInvalid, "start_date is invalid")
		if n := s.logins.Load() + s.lists.Load(); n != 0 {
			t.Errorf("%d calls for a window that is refused", n)
		}
	})
	t.Run("fail/too large together", func(t *testing.T) {
		s := &script{login: with(200, tokenBody), list: with(200, `{"repair_orders":["`+strings.Repeat("x", 300)+`"]}`)}
		p := start(t, s, map[string]any{"max_body": 1000})
		if _, err := p.Orders(t.Context(), good, full); err != nil {
			t.Fatalf("one part is small enough: %v", err)
		}
		_, err := p.Orders(t.Context(), good, quarter)
		checkError(t, err, providers.ErrTooLarge, "response too large")
		if _, err := p.Orders(t.Context(), good, full); err != nil {
			t.Errorf("another request pays for it: %v", err)
		}
	})
	t.Run("fail/out of time together", func(t *testing.T) {
		// Each part is refused three times in a row and then answered, which takes 14 s
		// of pauses: less than the timeout for one part, and more for all four.
		var mu sync.Mutex
		refusals := make(map[string]int)
		s := &script{login: with(200, tokenBody)}
		s.list = func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			month := r.URL.Query().Get("start")
			refusals[month]++
			n := refusals[month]
			mu.Unlock()
			if n <= len(burstWaits) {
				reply(w, http.StatusForbidden, ``)
				return
			}
			reply(w, 200, listBody)
		}
		p := start(t, s, map[string]any{"timeout": "50s"})
		var passed atomic.Int64
		p.now = func() time.Time { return time.Now().Add(time.Duration(passed.Load())) }
		p.wait = func(_ context.Context, d time.Duration) { passed.Add(int64(d)) }
		_, err := p.Orders(t.Context(), good, quarter)
		checkError(t, err, providers.ErrForbidden, "Forbidden")
	})
}

// TestBursts answers some calls with 403 before one with the body.
func TestBursts(t *testing.T) {
	const s = time.Second
	for name, row := range map[string]struct {
		login, list int // how many calls are answered with 403
		config      map[string]any
		pauses      []time.Duration
		want        error
	}{
		"ok/none":                    {0, 0, nil, nil, nil},
		"ok/one":                     {0, 1, nil, []time.Duration{2 * s}, nil},
		"ok/three":                   {0, 3, nil, []time.Duration{2 * s, 4 * s, 8 * s}, nil},
		"ok/both calls":              {1, 2, nil, []time.Duration{2 * s, 2 * s, 4 * s}, nil},
		"fail/four":                  {0, 4, nil, []time.Duration{2 * s, 4 * s, 8 * s}, providers.ErrForbidden},
		"fail/four session calls":    {4, 0, nil, []time.Duration{2 * s, 4 * s, 8 * s}, providers.ErrForbidden},
		"fail/no time for any pause": {0, 1, map[string]any{"timeout": "2s"}, nil, providers.ErrForbidden},
		"fail/no time for a third":   {0, 3, map[string]any{"timeout": "10s"}, []time.Duration{2 * s, 4 * s}, providers.ErrForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{}
			s.login = func(w http.ResponseWriter, _ *http.Request) {
				if int(s.logins.Load()) <= row.login {
					reply(w, http.StatusForbidden, `<html>403</html>`)
					return
				}
				reply(w, 200, tokenBody)
			}
			s.list = func(w http.ResponseWriter, _ *http.Request) {
				if int(s.lists.Load()) <= row.list {
					reply(w, http.StatusForbidden, `<html>403</html>`)
					return
				}
				reply(w, 200, listBody)
			}
			p := start(t, s, row.config)
			var pauses []time.Duration
			passed := time.Duration(0)
			p.now = func() time.Time { return time.Now().Add(passed) }
			p.wait = func(_ context.Context, d time.Duration) {
				pauses = append(pauses, d)
				passed += d
			}
			_, err := p.Orders(t.Context(), good, full)
			if !errors.Is(err, row.want) {
				t.Errorf("error is %v, want %v", err, row.want)
			}
			if !slices.Equal(pauses, row.pauses) {
				t.Errorf("pauses are %v, want %v", pauses, row.pauses)
			}
		})
	}

	forbidden := func() *script {
		return &script{login: with(200, tokenBody), list: with(http.StatusForbidden, ``)}
	}
	t.Run("fail/deadline of the caller before the pause ends", func(t *testing.T) {
		p := start(t, forbidden(), map[string]any{"key_as_token": true}) // and no pause, or start's wait fails the test
		ctx, cancel := context.WithTimeout(t.Context(), 1900*time.Millisecond)
		defer cancel()
		_, err := p.Orders(ctx, good, full)
		checkError(t, err, providers.ErrForbidden, "Forbidden")
	})
	t.Run("fail/caller goes away in a pause", func(t *testing.T) {
		s := forbidden()
		p := start(t, s, nil)
		ctx, cancel := context.WithCancel(t.Context())
		p.wait = func(ctx context.Context, d time.Duration) {
			cancel()
			wait(ctx, d)
		}
		_, err := p.Orders(ctx, good, full)
		checkError(t, err, providers.ErrCanceled, "request canceled")
		if n := s.lists.Load(); n != 1 {
			t.Errorf("%d calls, want 1", n)
		}
	})
}

func TestWait(t *testing.T) {
	t.Run("ok/whole", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			wait(t.Context(), 8*time.Second)
			if d := time.Since(began); d != 8*time.Second {
				t.Errorf("waited %v", d)
			}
		})
	})
	t.Run("ok/cut short", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			defer cancel()
			began := time.Now()
			wait(ctx, 8*time.Second)
			if d := time.Since(began); d != 3*time.Second {
				t.Errorf("waited %v", d)
			}
		})
	})
}

// checkError checks kind and message of an error and that it shows nothing planted.
func checkError(t *testing.T, err, want error, message string) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want: %v", err, want)
	}
	if pe := providers.As(err); pe.Message != message {
		t.Errorf("message is %q, want %q", pe.Message, message)
	}
	checkText(t, err)
}

// checkText checks that an error is of the promised type and shows nothing planted.
func checkText(t *testing.T, err error) {
	t.Helper()
	pe, ok := err.(*providers.Error) //nolint:errorlint // the contract promises the type itself
	if !ok {
		t.Fatalf("the error is a %T", err)
	}
	if text := fmt.Sprint(pe.Message, pe, pe.Err); strings.Contains(text, "planted") {
		t.Errorf("the error shows a credential: %s", text)
	}
}
