package sandbox

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Date(2026, 9, 30, 11, 22, 33, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// answer is a response with its body read.
type answer struct {
	status int
	header http.Header
	body   string
}

func (a answer) get(path string) gjson.Result { return gjson.Get(a.body, path) }

// client calls simulated providers in-process.
type client struct {
	t       *testing.T
	handler http.Handler
}

func newClient(t *testing.T, opts Options) client {
	t.Helper()
	if opts.Now == nil {
		opts.Now = newClock().Now
	}
	return client{t, NewSimulator(opts)}
}

// do sends a request; headers are pairs of name and value.
func (c client) do(method, target, body string, headers ...string) answer {
	c.t.Helper()
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	resp := w.Result()
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(b)}
}

// lytx sends a request to Lytx with a key that it accepts.
func (c client) lytx(target string) answer {
	c.t.Helper()
	return c.do(http.MethodGet, "/lytx"+target, "", "X-APIKey", "demo")
}

// expect checks a status and, where it is given, the whole body.
func (a answer) expect(t *testing.T, status int, body string) {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d; body %.200s", a.status, status, a.body)
	}
	if body != "" && a.body != body {
		t.Errorf("body %.300s\nwant %s", a.body, body)
	}
}

// keys returns the names of an object's members in their order.
func keys(object gjson.Result) []string {
	var names []string
	object.ForEach(func(name, _ gjson.Result) bool {
		names = append(names, name.String())
		return true
	})
	return names
}

// shape describes a JSON text: names in order, kinds of values, and elements of
// arrays by the first one.
func shape(v gjson.Result) string {
	var b strings.Builder
	switch {
	case v.IsObject():
		b.WriteByte('{')
		v.ForEach(func(name, value gjson.Result) bool {
			b.WriteString(name.String() + ":" + shape(value) + ",")
			return true
		})
		b.WriteByte('}')
	case v.IsArray():
		b.WriteString("[" + shape(v.Get("0")) + "]")
	case v.Type == gjson.Number:
		_, decimals, _ := strings.Cut(v.Raw, ".")
		b.WriteString("number." + strings.Repeat("d", len(decimals)))
	default:
		b.WriteString(v.Type.String())
	}
	return b.String()
}

// recording returns a recorded body, and skips the test where there is none.
func recording(t *testing.T, name string) gjson.Result {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "recordings", filepath.FromSlash(name)))
	if err != nil {
		t.Skipf("no recorded bodies here: %s", name)
	}
	if !gjson.ValidBytes(b) {
		t.Fatalf("%s is not JSON", name)
	}
	return gjson.ParseBytes(b)
}

func valid(t *testing.T, a answer) {
	t.Helper()
	if !gjson.Valid(a.body) {
		t.Fatalf("body is not JSON: %.300s", a.body)
	}
}
