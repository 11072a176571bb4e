package outbound

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/providers"
)

func TestSetup(t *testing.T) {
	t.Setenv("OUTBOUND_TEST_ROOT", "https://env.example.com/v1/")
	const secret = "hunter2"
	for _, tc := range []struct {
		name     string
		client   Client
		defaults Defaults
		want     string // the root; empty when an error is expected
		wantErr  string
	}{
		{name: "ok/default root", defaults: Defaults{BaseURL: "https://api.example.com"}, want: "https://api.example.com"},
		{name: "ok/trailing slashes", client: Client{BaseURL: "http://api.example.com/v0//"}, want: "http://api.example.com/v0"},
		{name: "ok/placeholder", client: Client{BaseURL: "{env.OUTBOUND_TEST_ROOT}"}, want: "https://env.example.com/v1"},
		{name: "ok/configured wins", client: Client{BaseURL: "http://a.example.com"}, defaults: Defaults{BaseURL: "http://b.example.com"}, want: "http://a.example.com"},
		{name: "fail/none", wantErr: "base_url is required"},
		{name: "fail/placeholder unset", client: Client{BaseURL: "{env.OUTBOUND_TEST_UNSET}"}, wantErr: "base_url: "},
		{name: "fail/relative", client: Client{BaseURL: "api.example.com/" + secret}, wantErr: "base_url must be an absolute http or https URL"},
		{name: "fail/no host", client: Client{BaseURL: "https:///" + secret}, wantErr: "base_url must be an absolute http or https URL"},
		{name: "fail/other scheme", client: Client{BaseURL: "ftp://api.example.com/" + secret}, wantErr: "base_url must be an absolute http or https URL"},
		{name: "fail/not a URL", client: Client{BaseURL: "http://api.example.com:port" + secret}, wantErr: "base_url is not a URL"},
		{name: "fail/user", client: Client{BaseURL: "https://user:" + secret + "@api.example.com"}, wantErr: "base_url must not carry a user or password"},
		{name: "fail/query", client: Client{BaseURL: "https://api.example.com/?key=" + secret}, wantErr: "base_url must not carry a query or fragment"},
		{name: "fail/empty query", client: Client{BaseURL: "https://api.example.com/?"}, wantErr: "base_url must not carry a query or fragment"},
		{name: "fail/fragment", client: Client{BaseURL: "https://api.example.com/#" + secret}, wantErr: "base_url must not carry a query or fragment"},
		{name: "fail/timeout", client: Client{BaseURL: "http://a.example.com", Timeout: -1}, wantErr: "timeout must not be negative"},
		{name: "fail/max_body negative", client: Client{BaseURL: "http://a.example.com", MaxBody: -1}, wantErr: "max_body must be between 1 and 1099511627776 bytes"},
		{name: "fail/max_body absurd", client: Client{BaseURL: "http://a.example.com", MaxBody: 1<<63 - 1}, wantErr: "max_body must be between 1 and"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := tc.client
			err := setUp(t, &c, tc.defaults)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error is %v, want %q", err, tc.wantErr)
				}
				wantNone(t, "the error", err.Error(), secret)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Identity() != tc.want {
				t.Errorf("root is %q, want %q", c.Identity(), tc.want)
			}
		})
	}
}

func TestSetupDefaults(t *testing.T) {
	var c Client
	if err := setUp(t, &c, Defaults{BaseURL: "http://a.example.com", DisplayName: "Brand"}); err != nil {
		t.Fatal(err)
	}
	if c.DisplayName() != "Brand" || c.Timeout != caddy.Duration(time.Minute) || c.MaxBody != DefaultMaxBody {
		t.Errorf("defaults are %q, %v, %d", c.DisplayName(), time.Duration(c.Timeout), c.MaxBody)
	}

	c = Client{Display: "Mine", Timeout: caddy.Duration(time.Second), MaxBody: 5}
	if err := setUp(t, &c, Defaults{BaseURL: "http://a.example.com", DisplayName: "Brand", Timeout: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if c.DisplayName() != "Mine" || c.Timeout != caddy.Duration(time.Second) || c.MaxBody != 5 {
		t.Errorf("configured values were lost: %q, %v, %d", c.DisplayName(), time.Duration(c.Timeout), c.MaxBody)
	}

	c = Client{}
	if err := setUp(t, &c, Defaults{BaseURL: "http://a.example.com", Timeout: 2 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	if c.Timeout != caddy.Duration(2*time.Minute) {
		t.Errorf("timeout is %v, want the provider's 2m", time.Duration(c.Timeout))
	}
}

func TestDoSendsTheRequest(t *testing.T) {
	var got *http.Request
	var body []byte
	up := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	})
	c, log := ready(t, &Client{BaseURL: up.URL + "/v0"})

	ctx := providers.WithRequestID(context.Background(), "req-7")
	resp, err := c.Do(ctx, &Request{
		Name:   "events.list",
		Method: http.MethodPost,
		Path:   "/a%2Fb/c",
		Query:  url.Values{"q": {"x y&z"}},
		Header: http.Header{"X-APIKey": {"k"}, "Accept": {"text/xml"}},
		Body:   []byte(`{"n":1}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if resp.Status != http.StatusTeapot || resp.Header.Get("X-Answer") != "yes" || string(resp.Body) != "short and stout" {
		t.Errorf("answer is %d %v %q", resp.Status, resp.Header, resp.Body)
	}
	if got.Method != http.MethodPost || got.URL.EscapedPath() != "/v0/a%2Fb/c" || got.URL.Query().Get("q") != "x y&z" || string(body) != `{"n":1}` {
		t.Errorf("upstream saw %s %s %q", got.Method, got.URL, body)
	}
	for name, want := range map[string]string{
		"X-Apikey": "k", "Accept": "text/xml", "User-Agent": "Fleetgate", "X-Request-Id": "req-7",
	} {
		if v := got.Header.Get(name); v != want {
			t.Errorf("header %s is %q, want %q", name, v, want)
		}
	}
	if !strings.Contains(log.String(), `"call":"events.list"`) || !strings.Contains(log.String(), `"status":418`) {
		t.Errorf("log is %s", log)
	}

	if _, err := c.Do(context.Background(), &Request{Path: "/"}); err != nil {
		t.Fatal(err)
	}
	if got.Method != http.MethodGet || got.Header.Get("Accept") != "application/json" {
		t.Errorf("defaults are %s, Accept %q", got.Method, got.Header.Get("Accept"))
	}
	if _, ok := got.Header["X-Request-Id"]; ok {
		t.Error("a request id was made up")
	}
}

func TestDoBodyCap(t *testing.T) {
	const limit = 1000
	var zeros bytes.Buffer
	zw := gzip.NewWriter(&zeros)
	_, _ = zw.Write(make([]byte, 50*limit))
	_ = zw.Close()
	if zeros.Len() >= limit {
		t.Fatalf("the bomb is %d bytes on the wire and proves nothing", zeros.Len())
	}

	for _, tc := range []struct {
		name string
		send http.HandlerFunc
		want int // size of the answer; -1 when it is refused
	}{
		{"ok/exactly the cap, declared", sized(limit, true), limit},
		{"ok/exactly the cap, undeclared", sized(limit, false), limit},
		{"ok/empty", sized(0, true), 0},
		{"fail/declared", sized(limit+1, true), -1},
		{"fail/undeclared", sized(limit+1, false), -1},
		{"fail/compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zeros.Bytes())
		}, -1},
		{"fail/endless", func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, limit)); err != nil {
					return // the client has had enough
				}
			}
		}, -1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := ready(t, &Client{BaseURL: serve(t, tc.send).URL, MaxBody: limit, Timeout: caddy.Duration(2 * time.Second)})
			resp, err := c.Do(context.Background(), &Request{Name: "test"})
			if tc.want < 0 {
				pe := wantError(t, err, providers.KindTooLarge, "response too large")
				if pe.Status != http.StatusOK {
					t.Errorf("status is %d, want 200", pe.Status)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if len(resp.Body) != tc.want {
				t.Errorf("body has %d bytes, want %d", len(resp.Body), tc.want)
			}
		})
	}
}

// sized answers with n bytes, with their number declared or in chunks.
func sized(n int, declared bool) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if declared {
			w.Header().Set("Content-Length", strconv.Itoa(n))
		}
		w.WriteHeader(http.StatusOK)
		if !declared {
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = w.Write(bytes.Repeat([]byte("x"), n))
	}
}

func TestDoLargeDeclaredBody(t *testing.T) {
	const size = firstRead + 12345
	c, _ := ready(t, &Client{BaseURL: serve(t, sized(size, true)).URL})
	resp, err := c.Do(context.Background(), &Request{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if len(resp.Body) != size {
		t.Errorf("body has %d bytes, want %d", len(resp.Body), size)
	}
}

func TestDoDeadlines(t *testing.T) {
	for _, tc := range []struct {
		name    string
		timeout time.Duration
		context func(context.Context) (context.Context, context.CancelFunc)
		drip    bool // the header arrives, the body does not
		kind    providers.Kind
		message string
	}{
		{
			name: "fail/own timeout before the header", timeout: 30 * time.Millisecond,
			context: context.WithCancel, kind: providers.KindTimeout, message: "timeout",
		},
		{
			name: "fail/own timeout in the body", timeout: 200 * time.Millisecond, drip: true,
			context: context.WithCancel, kind: providers.KindTimeout, message: "timeout",
		},
		{
			name: "fail/caller's earlier deadline", timeout: time.Hour,
			context: func(ctx context.Context) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 30*time.Millisecond)
			},
			kind: providers.KindTimeout, message: "timeout",
		},
		{
			name: "fail/canceled before the call", timeout: time.Hour,
			context: func(ctx context.Context) (context.Context, context.CancelFunc) {
				ctx, cancel := context.WithCancel(ctx)
				cancel()
				return ctx, cancel
			},
			kind: providers.KindCanceled, message: "request canceled",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			up := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if tc.drip {
					_, _ = io.WriteString(w, "[")
					_ = http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			})
			c, _ := ready(t, &Client{BaseURL: up.URL, Timeout: caddy.Duration(tc.timeout)})
			ctx, cancel := tc.context(context.Background())
			defer cancel()
			_, err := c.Do(ctx, &Request{Name: "test"})
			wantError(t, err, tc.kind, tc.message)
		})
	}
}

func TestDoCanceledByCaller(t *testing.T) {
	arrived := make(chan struct{})
	up := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	})
	c, log := ready(t, &Client{BaseURL: up.URL})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-arrived
		cancel()
	}()
	_, err := c.Do(ctx, &Request{Name: "test"})
	wantError(t, err, providers.KindCanceled, "request canceled")
	if strings.Contains(log.String(), `"level":"warn"`) {
		t.Errorf("a caller that leaves is no warning: %s", log)
	}
}

func TestRedirects(t *testing.T) {
	const secret = "redirect-secret"
	strangers := 0
	stranger := serve(t, func(http.ResponseWriter, *http.Request) { strangers++ })

	for _, tc := range []struct {
		name, method, location string
		status                 int
		wantCalls              int
		wantErr                bool
	}{
		{"ok/same host", http.MethodGet, "/moved", http.StatusFound, 2, false},
		{"ok/same host, permanent", http.MethodGet, "/moved", http.StatusPermanentRedirect, 2, false},
		{"fail/other host", http.MethodGet, stranger.URL + "/moved", http.StatusFound, 1, true},
		{"fail/other host, 307", http.MethodGet, stranger.URL + "/moved", http.StatusTemporaryRedirect, 1, true},
		{"fail/other scheme", http.MethodGet, "https://{host}/moved", http.StatusFound, 1, true},
		{"fail/POST", http.MethodPost, "/moved", http.StatusTemporaryRedirect, 1, true},
		{"fail/POST, 303", http.MethodPost, "/moved", http.StatusSeeOther, 1, true},
		{"fail/endless", http.MethodGet, "/start", http.StatusFound, 1 + maxRedirects, true},
		{"fail/no location", http.MethodGet, "", http.StatusNotModified, 1, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			calls := 0
			up := serve(t, func(w http.ResponseWriter, r *http.Request) {
				calls++
				if r.Header.Get("X-Apikey") != secret {
					t.Errorf("the credential is missing on %s", r.URL.Path)
				}
				if r.URL.Path == "/start" {
					if tc.location != "" {
						w.Header().Set("Location", strings.ReplaceAll(tc.location, "{host}", r.Host))
					}
					w.WriteHeader(tc.status)
					return
				}
				_, _ = io.WriteString(w, "[]")
			})
			c, log := ready(t, &Client{BaseURL: up.URL})
			resp, err := c.Do(context.Background(), &Request{
				Method: tc.method, Path: "/start", Header: http.Header{"X-APIKey": {secret}},
			})
			if calls != tc.wantCalls {
				t.Errorf("%d calls, want %d", calls, tc.wantCalls)
			}
			if tc.wantErr {
				pe := wantError(t, err, providers.KindProvider, "unexpected redirect")
				if pe.Status != tc.status {
					t.Errorf("status is %d, want %d", pe.Status, tc.status)
				}
				wantNone(t, "the log", log.String(), secret, "/moved")
				return
			}
			if err != nil || string(resp.Body) != "[]" {
				t.Errorf("answer is %v, %v", resp, err)
			}
		})
	}
	if strangers != 0 {
		t.Errorf("another host was called %d times", strangers)
	}
}
