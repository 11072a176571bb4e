package area

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/fleetgate/fleetgate/modules/gateway"
	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/transform"
)

// stub is a handler whose only operation does what the test says.
type stub func(c *Call) error

func (s stub) run(c *Call) error { return s(c) }

var testArea = Area[stub]{
	Name: "telematics",
	Operations: []Operation[stub]{
		{Name: "things.list", Method: http.MethodGet, Path: "/a/things", Serve: stub.run},
		{Name: "things.read", Method: http.MethodGet, Path: "/a/things/{id}", Serve: stub.run},
		{Name: "things.create", Method: http.MethodPost, Path: "/a/things", Write: true, Serve: stub.run},
		{Name: "things.update", Method: http.MethodPut, Path: "/a/things/update", Write: true, Serve: stub.run},
	},
	Shape:        Envelope,
	ProviderText: ProviderText,
	Provider:     func(stub) string { return "Fake" },
}

// ask sends a request of an admitted caller and returns the answer and the log.
func ask(t *testing.T, method, target string, h stub) (*httptest.ResponseRecorder, *observer.ObservedLogs) {
	t.Helper()
	r := httptest.NewRequest(method, "/", http.NoBody)
	u, err := url.ParseRequestURI(target)
	if err != nil {
		t.Fatal(err)
	}
	r.URL = u
	r = r.WithContext(gateway.WithVerdict(r.Context(), &gateway.Verdict{Reason: gateway.ReasonOK}))
	core, logs := observer.New(zap.DebugLevel)
	rec := httptest.NewRecorder()
	if err := testArea.ServeHTTP(h, rec, r, zap.New(core)); err != nil {
		t.Errorf("ServeHTTP: %v", err)
	}
	return rec, logs
}

func TestFind(t *testing.T) {
	const (
		unknown = `{"status":"Error","message":"Not Found","data":null}`
		method  = `{"status":"Error","message":"Method Not Allowed","data":null}`
	)
	for _, tc := range []struct {
		name, method, target string
		status               int
		allow, want          string // want is the id or the body of the failure
	}{
		{"ok/plain", "GET", "/a/things", 200, "", `""`},
		{"ok/one slash at the end", "GET", "/a/things/", 200, "", `""`},
		{"ok/parameter", "GET", "/a/things/17", 200, "", `"17"`},
		{"ok/parameter and slash", "GET", "/a/things/17/", 200, "", `"17"`},
		{"ok/parameter as sent", "GET", "/a/things/1%2F7", 200, "", `"1%2F7"`},
		{"ok/other method", "POST", "/a/things/", 200, "", `""`},
		{"ok/literal before parameter", "PUT", "/a/things/update", 200, "", `""`},
		{"fail/two slashes at the end", "GET", "/a/things//", 404, "", unknown},
		{"fail/two slashes inside", "GET", "/a//things", 404, "", unknown},
		{"fail/two slashes in front", "GET", "//a/things", 404, "", unknown},
		{"fail/encoded slash", "GET", "/a%2Fthings", 404, "", unknown},
		{"fail/encoded letter", "GET", "/a/thing%73", 404, "", unknown},
		{"fail/dot", "GET", "/a/./things", 404, "", unknown},
		{"fail/dots", "GET", "/a/things/x/../..", 404, "", unknown},
		{"fail/encoded dots", "GET", "/a/x/%2e%2e/things", 404, "", unknown},
		{"fail/case", "GET", "/a/Things", 404, "", unknown},
		{"fail/case of the area", "GET", "/A/things", 404, "", unknown},
		{"fail/deeper", "GET", "/a/things/17/x", 404, "", unknown},
		{"fail/shorter", "GET", "/a", 404, "", unknown},
		{"fail/root", "GET", "/", 404, "", unknown},
		{"fail/prefix", "GET", "/a/thingsx", 404, "", unknown},
		{"fail/null byte", "GET", "/a/things%00", 404, "", unknown},
		{"fail/method", "DELETE", "/a/things", 405, "GET, POST", method},
		{"fail/method with parameter", "POST", "/a/things/17", 405, "GET", method},
		{"fail/method of a path that {id} matches too", "GET", "/a/things/update", 405, "PUT", method},
		{"fail/method HEAD", "HEAD", "/a/things", 405, "GET, POST", method},
		{"fail/method in small letters", "get", "/a/things", 405, "GET, POST", method},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec, _ := ask(t, tc.method, tc.target, func(c *Call) error {
				return c.Succeed(func(dst []byte) ([]byte, error) { return fmt.Appendf(dst, "%q", c.Param("id")), nil })
			})
			want := tc.want
			if tc.status == http.StatusOK {
				want = `{"status":"Success","message":"Success","data":` + want + `}`
			}
			if rec.Code != tc.status || rec.Header().Get("Allow") != tc.allow || rec.Body.String() != want {
				t.Errorf("answer is %d %v %s", rec.Code, rec.Header(), rec.Body)
			}
		})
	}
}

func TestProviderErrors(t *testing.T) {
	for _, tc := range []struct {
		name    string
		err     error
		status  int
		code    string
		message string
		after   string // Retry-After
	}{
		{"fail/provider", &providers.Error{Message: "boom"}, 502, "provider_error", "boom", ""},
		{"fail/provider, silent", &providers.Error{}, 502, "provider_error", "Bad Gateway", ""},
		{"fail/auth", &providers.Error{Kind: providers.KindAuth, Message: "bad key"}, 401, "provider_auth", "bad key", ""},
		{"fail/auth, silent", &providers.Error{Kind: providers.KindAuth}, 401, "provider_auth", "Unauthorized", ""},
		{"fail/forbidden", &providers.Error{Kind: providers.KindForbidden, Message: "no"}, 403, "provider_auth", "no", ""},
		{"fail/not found", &providers.Error{Kind: providers.KindNotFound, Message: "no"}, 404, "provider_not_found", "no", ""},
		{"fail/conflict", &providers.Error{Kind: providers.KindConflict, Message: "stale"}, 409, "provider_conflict", "stale", ""},
		{"fail/rejected", &providers.Error{Kind: providers.KindRejected, Message: "bad"}, 422, "provider_rejected", "bad", ""},
		{"fail/throttled", &providers.Error{Kind: providers.KindThrottled, Message: "slow"}, 429, "provider_throttled", "slow", "5"},
		{"fail/throttled with a wish", &providers.Error{Kind: providers.KindThrottled, RetryAfter: 7 * time.Second}, 429, "provider_throttled", "Too Many Requests", "7"},
		{"fail/throttled for part of a second", &providers.Error{Kind: providers.KindThrottled, RetryAfter: time.Millisecond}, 429, "provider_throttled", "Too Many Requests", "1"},
		{"fail/throttled into the past", &providers.Error{Kind: providers.KindThrottled, RetryAfter: -time.Second}, 429, "provider_throttled", "Too Many Requests", "5"},
		{"fail/invalid JSON", &providers.Error{Kind: providers.KindInvalidJSON, Message: "<html>"}, 502, "provider_invalid_json", "Invalid JSON response", ""},
		{"fail/too large", &providers.Error{Kind: providers.KindTooLarge, Message: "response too large"}, 502, "provider_error", "cURL error: response too large", ""},
		{"fail/unreachable", &providers.Error{Kind: providers.KindUnreachable, Message: "connection refused"}, 502, "provider_unreachable", "cURL error: connection refused", ""},
		{"fail/unreachable, silent", &providers.Error{Kind: providers.KindUnreachable}, 502, "provider_unreachable", "cURL error: provider unreachable", ""},
		{"fail/timeout", &providers.Error{Kind: providers.KindTimeout, Message: "timeout"}, 504, "provider_timeout", "cURL error: timeout", ""},
		{"fail/unavailable", &providers.Error{Kind: providers.KindUnavailable, Message: "try later"}, 503, "unavailable", "try later", "5"},
		{"fail/unavailable with a wish", &providers.Error{Kind: providers.KindUnavailable, RetryAfter: time.Minute}, 503, "unavailable", "Service Unavailable", "60"},
		{"fail/canceled", &providers.Error{Kind: providers.KindCanceled, Message: "request canceled"}, 499, "canceled", "cURL error: request canceled", ""},
		{"fail/a kind from the future", &providers.Error{Kind: 200, Message: "odd"}, 502, "provider_error", "odd", ""},
		{"fail/wrapped", fmt.Errorf("events: %w", &providers.Error{Kind: providers.KindConflict, Message: "stale"}), 409, "provider_conflict", "stale", ""},
		{"fail/body that is not JSON", transform.Validate([]byte("<html>")), 502, "provider_invalid_json", "Invalid JSON response", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rec, logs := ask(t, http.MethodGet, "/a/things", func(*Call) error { return tc.err })
			want := string(transform.AppendError(nil, tc.message, nil))
			if rec.Code != tc.status || rec.Body.String() != want {
				t.Errorf("answer is %d %s, want %d %s", rec.Code, rec.Body, tc.status, want)
			}
			if got := rec.Header().Get(HeaderErrorCode); got != tc.code {
				t.Errorf("code is %q, want %q", got, tc.code)
			}
			if got := rec.Header().Get("Retry-After"); got != tc.after {
				t.Errorf("Retry-After is %q, want %q", got, tc.after)
			}
			if logs.Len() != 1 {
				t.Errorf("logged %v", logs.All())
			}
		})
	}
}

func TestEveryKindHasAnOutcome(t *testing.T) {
	for k := providers.KindProvider; k <= providers.KindCanceled; k++ {
		if _, ok := outcomes[k]; !ok {
			t.Errorf("no outcome for %q", k)
		}
	}
	if (providers.KindCanceled + 1).String() != "unknown" {
		t.Error("KindCanceled is no longer the last kind; extend this test")
	}
}

// TestErrorsOfForeignTypes plants a credential where a careless provider would leave
// one, in an HTTP client's error.
func TestErrorsOfForeignTypes(t *testing.T) {
	leak := &url.Error{Op: "Get", URL: "https://provider.example/?key=s3cr3t", Err: errors.New("refused")}
	rec, logs := ask(t, http.MethodGet, "/a/things", func(*Call) error { return leak })
	if rec.Code != http.StatusBadGateway || rec.Body.String() != `{"status":"Error","message":"Bad Gateway","data":null}` {
		t.Errorf("answer is %d %s", rec.Code, rec.Body)
	}
	checkOneLine(t, logs, "provider failed", "cause", "*url.Error")
}

// TestReports checks what the operator learns of a provider's failure.
func TestReports(t *testing.T) {
	for _, tc := range []struct {
		name  string
		err   *providers.Error
		level zapcore.Level
		cause string
	}{
		{"provider", &providers.Error{Message: "out of order", Status: 500}, zap.WarnLevel, ""},
		{"invalid JSON", &providers.Error{Kind: providers.KindInvalidJSON, Err: providers.SafeCause(errors.New("offset 7"))}, zap.WarnLevel, "offset 7"},
		{"unsafe cause", &providers.Error{Kind: providers.KindUnreachable, Err: errors.New("s3cr3t")}, zap.WarnLevel, "*errors.errorString"},
		{"reference", &providers.Error{Ref: "1-68a1b2c3-tid"}, zap.WarnLevel, ""},
		{"caller's credential", &providers.Error{Kind: providers.KindAuth, Message: "no", Status: 401}, zap.DebugLevel, ""},
		{"caller's data", &providers.Error{Kind: providers.KindRejected, Message: "no", Status: 400}, zap.DebugLevel, ""},
	} {
		t.Run("fail/"+tc.name, func(t *testing.T) {
			_, logs := ask(t, http.MethodGet, "/a/things", func(*Call) error { return tc.err })
			checkOneLine(t, logs, "provider failed", "cause", tc.cause)
			line := logs.All()[0]
			fields := line.ContextMap()
			if line.Level != tc.level || fields["reason"] != tc.err.Message || fields["provider_status"] != int64(tc.err.Status) || fields["provider"] != "Fake" || fields["provider_ref"] != tc.err.Ref {
				t.Errorf("logged %v %v", line.Level, fields)
			}
		})
	}
}

func TestPanicsAreAnswered(t *testing.T) {
	rec, logs := ask(t, http.MethodGet, "/a/things", func(*Call) error { panic("key s3cr3t is bad") })
	if rec.Code != http.StatusInternalServerError || rec.Body.String() != `{"status":"Error","message":"Internal Server Error","data":null}` {
		t.Errorf("answer is %d %s", rec.Code, rec.Body)
	}
	if got := rec.Header().Get(HeaderErrorCode); got != CodeInternal {
		t.Errorf("code is %q", got)
	}
	checkOneLine(t, logs, "operation panicked", "type", "string")
}

// TestPanicsAfterTheAnswerBegan expects the connection to be cut, as the caller could
// not tell the answer from a whole one.
func TestPanicsAfterTheAnswerBegan(t *testing.T) {
	defer func() {
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // a panic value, which net/http compares the same way
			t.Errorf("recovered %v", p)
		}
	}()
	ask(t, http.MethodGet, "/a/things", func(c *Call) error {
		_ = c.Succeed(func(dst []byte) ([]byte, error) { return append(dst, '1'), nil })
		panic("s3cr3t")
	})
	t.Error("no panic")
}

func checkOneLine(t *testing.T, logs *observer.ObservedLogs, message, key, value string) {
	t.Helper()
	if logs.Len() != 1 {
		t.Fatalf("logged %d lines", logs.Len())
	}
	line := logs.All()[0]
	fields := line.ContextMap()
	if line.Message != message || fields["area"] != "telematics" || fields["operation"] != "things.list" || fields[key] != value {
		t.Errorf("logged %q %v", line.Message, fields)
	}
	if strings.Contains(fmt.Sprint(fields), "s3cr3t") {
		t.Errorf("logged a secret: %v", fields)
	}
}

func TestFailedDataLeavesNoTrace(t *testing.T) {
	rec, _ := ask(t, http.MethodGet, "/a/things", func(c *Call) error {
		return c.Succeed(func(dst []byte) ([]byte, error) {
			return append(dst, "half"...), transform.Validate([]byte("{"))
		})
	})
	if rec.Code != http.StatusBadGateway || rec.Body.String() != `{"status":"Error","message":"Invalid JSON response","data":null}` {
		t.Errorf("answer is %d %s", rec.Code, rec.Body)
	}
}

// TestAnswersDoNotShareBuffers reads an answer again after the next ones were made in
// the same buffer.
func TestAnswersDoNotShareBuffers(t *testing.T) {
	first, _ := ask(t, http.MethodGet, "/a/things/1", echo)
	for i := range 10 {
		ask(t, http.MethodGet, fmt.Sprintf("/a/things/%d", 2+i), echo)
	}
	if got := first.Body.String(); got != `{"status":"Success","message":"Success","data":"1"}` {
		t.Errorf("answer is %s", got)
	}
}

func echo(c *Call) error {
	return c.Succeed(func(dst []byte) ([]byte, error) { return fmt.Appendf(dst, "%q", c.Param("id")), nil })
}

func TestSucceedParts(t *testing.T) {
	for name, tc := range map[string]struct {
		parts []string
		want  string
	}{
		"ok/none":          {nil, `[]`},
		"ok/one":           {[]string{`{"a":1.0}`}, `[{"a":1.0}]`},
		"ok/several":       {[]string{`1`, `2, 3`, `"é"`}, `[1,2, 3,"é"]`},
		"ok/several large": {[]string{`"` + strings.Repeat("x", 1<<20) + `"`, `{}`}, `["` + strings.Repeat("x", 1<<20) + `",{}]`},
	} {
		t.Run(name, func(t *testing.T) {
			rec, _ := ask(t, http.MethodGet, "/a/things", func(c *Call) error {
				var parts [][]byte
				for _, part := range tc.parts {
					parts = append(parts, []byte(part))
				}
				c.SucceedParts(parts)
				return nil
			})
			want := `{"status":"Success","message":"Success","data":` + tc.want + `}`
			if rec.Code != http.StatusOK || rec.Body.String() != want {
				t.Errorf("answer is %d %.200s", rec.Code, rec.Body)
			}
			h := rec.Header()
			if h.Get("Content-Length") != strconv.Itoa(len(want)) || h.Get("Content-Type") != "application/json" || h.Get("Cache-Control") != "no-store" {
				t.Errorf("header is %v", h)
			}
		})
	}
}

// lost is a connection that breaks after some pieces of the body.
type lost struct {
	http.ResponseWriter
	pieces int
}

func (w *lost) Write(p []byte) (int, error) {
	if w.pieces--; w.pieces < 0 {
		return 0, errors.New("write tcp: broken pipe")
	}
	return len(p), nil
}

// TestSucceedPartsStops expects that nothing more is written to a caller who is gone, and
// no error, since the answer has begun.
func TestSucceedPartsStops(t *testing.T) {
	parts := [][]byte{[]byte("1"), []byte("2"), []byte("3")}
	for pieces := range 7 {
		w := &lost{httptest.NewRecorder(), pieces}
		c := newCall(w, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
		c.SucceedParts(parts)
		if w.pieces != -1 {
			t.Errorf("after %d pieces: %d more were tried", pieces, -w.pieces)
		}
	}
}

// TestSucceedPartsCopiesNothing counts what an answer costs besides its parts.
func TestSucceedPartsCopiesNothing(t *testing.T) {
	parts := make([][]byte, 1000)
	for i := range parts {
		parts[i] = bytes.Repeat([]byte("x"), 4096)
	}
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	allocs := testing.AllocsPerRun(5, func() {
		newCall(&lost{httptest.NewRecorder(), 1 << 20}, r).SucceedParts(parts)
	})
	if allocs > 50 {
		t.Errorf("%.0f allocations for %d parts", allocs, len(parts))
	}
}

func TestServerTiming(t *testing.T) {
	c := callWith("")
	now := time.Now()
	c.start = now.Add(-time.Hour)
	c.upstream = 59 * time.Minute
	c.write(http.StatusOK, []byte("{}"))
	got := c.Writer.Header().Get(HeaderServerTiming)
	var own, upstream float64
	if n, err := fmt.Sscanf(got, "gateway;dur=%f, upstream;dur=%f", &own, &upstream); n != 2 || err != nil {
		t.Fatalf("%s: %q", HeaderServerTiming, got)
	}
	// One minute of ours and however long the test took; upstream is exact.
	if upstream != 3_540_000 || own < 60_000 || own > 120_000 {
		t.Errorf("%s: %q", HeaderServerTiming, got)
	}
}
