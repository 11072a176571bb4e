package outbound

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"

	"github.com/fleetgate/fleetgate/providers"
)

// Each term of the vocabulary, produced by the failure that it stands for, with
// secrets planted wherever a call carries one. None may be read anywhere.
func TestFailures(t *testing.T) {
	const (
		pathSecret   = "path-secret"
		querySecret  = "query secret"
		headerSecret = "header-secret"
		bodySecret   = "body-secret"
	)
	for _, tc := range []struct {
		name      string
		base      func(t *testing.T) string
		transport string
		maxBody   int64
		kind      providers.Kind
		message   string
	}{
		{name: "fail/refused", base: closedPort, kind: providers.KindUnreachable, message: "connection refused"},
		{name: "fail/name", base: nowhere, transport: noSuchHost, kind: providers.KindUnreachable, message: "name not resolved"},
		{name: "fail/unknown authority", base: tlsServer(nil), kind: providers.KindUnreachable, message: "TLS handshake failed"},
		{name: "fail/client certificate wanted", base: tlsServer(func(c *tls.Config) { c.ClientAuth = tls.RequireAnyClientCert }), transport: skipVerify, kind: providers.KindUnreachable, message: "TLS handshake failed"},
		{name: "fail/old TLS", base: tlsServer(func(c *tls.Config) { c.MaxVersion = tls.VersionTLS11 }), transport: skipVerify, kind: providers.KindUnreachable, message: "TLS handshake failed"},
		{name: "fail/HTTP where HTTPS is due", base: httpAsHTTPS, kind: providers.KindUnreachable, message: "TLS handshake failed"},
		{name: "fail/noise where HTTPS is due", base: raw("https", "hello, this is no TLS", false), kind: providers.KindUnreachable, message: "TLS handshake failed"},
		{name: "fail/reset", base: raw("http", "", true), kind: providers.KindUnreachable, message: "connection reset"},
		{name: "fail/reset in the body", base: raw("http", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[1,", true), kind: providers.KindUnreachable, message: "connection reset"},
		{name: "fail/reset in the body, HTTP/2", base: http2Reset, transport: skipVerify, kind: providers.KindUnreachable, message: "connection reset"},
		{name: "fail/closed", base: raw("http", "", false), kind: providers.KindUnreachable, message: "connection closed early"},
		{name: "fail/truncated", base: raw("http", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n[1,", false), kind: providers.KindUnreachable, message: "connection closed early"},
		{name: "fail/truncated chunks", base: raw("http", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n[1,2,", false), kind: providers.KindUnreachable, message: "connection closed early"},
		{name: "fail/not HTTP", base: raw("http", "220 mail.example.com ESMTP\r\n", false), kind: providers.KindUnreachable, message: "malformed response"},
		{name: "fail/bad chunks", base: raw("http", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", false), kind: providers.KindUnreachable, message: "malformed response"},
		{name: "fail/bad gzip", base: raw("http", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 15\r\n\r\nnot gzip at all", false), kind: providers.KindUnreachable, message: "malformed response"},
		{name: "fail/timeout", base: hang, kind: providers.KindTimeout, message: "timeout"},
		{name: "fail/too large", base: raw("http", "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", false), maxBody: 9, kind: providers.KindTooLarge, message: "response too large"},
		{name: "fail/redirect", base: raw("http", "HTTP/1.1 302 Found\r\nLocation: http://stranger.invalid/"+pathSecret+"\r\nContent-Length: 0\r\n\r\n", false), kind: providers.KindProvider, message: "unexpected redirect"},
		{name: "fail/redirect nowhere", base: raw("http", "HTTP/1.1 302 Found\r\nLocation: :"+pathSecret+"\r\nContent-Length: 0\r\n\r\n", false), kind: providers.KindUnreachable, message: "connection failed"},
		{name: "fail/proxy refuses", base: nowhere, transport: refusingProxy, kind: providers.KindUnreachable, message: "connection failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := &Client{BaseURL: tc.base(t), MaxBody: tc.maxBody, Timeout: caddy.Duration(10 * time.Second)}
			if tc.kind == providers.KindTimeout {
				c.Timeout = caddy.Duration(50 * time.Millisecond)
			}
			switch tc.transport {
			case "":
			case noSuchHost:
				c.TransportRaw = fmt.Appendf(nil, noSuchHost, nameServer(t))
			case refusingProxy:
				c.BaseURL = "https://provider.invalid"
				c.TransportRaw = fmt.Appendf(nil, refusingProxy, strings.Replace(serve(t, func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusProxyAuthRequired)
				}).URL, "http://", "http://user:"+headerSecret+"@", 1))
			default:
				c.TransportRaw = []byte(tc.transport)
			}
			c, logged := ready(t, c)

			_, err := c.Do(context.Background(), &Request{
				Name:   "test.call",
				Path:   "/" + pathSecret,
				Query:  url.Values{"access_token": {querySecret}},
				Header: http.Header{"X-APIKey": {headerSecret}},
				Body:   []byte(bodySecret),
			})
			pe := wantError(t, err, tc.kind, tc.message)

			if !strings.Contains(logged.String(), `"call":"test.call"`) || !strings.Contains(logged.String(), `"reason":"`+tc.message) {
				t.Errorf("the log does not tell the failure: %s", logged)
			}
			secrets := []string{pathSecret, querySecret, url.QueryEscape(querySecret), "query%20secret", headerSecret, bodySecret, "access_token"}
			wantNone(t, "the error", err.Error(), secrets...)
			wantNone(t, "the printed error", fmt.Sprintf("%+v %#v", pe, pe), secrets...)
			if pe.Err != nil {
				wantNone(t, "the cause", fmt.Sprintf("%v %+v", pe.Err, pe.Err), secrets...)
			}
			wantNone(t, "the log", logged.String(), secrets...)
		})
	}
}

const (
	noSuchHost    = `{"protocol":"http","resolver":{"addresses":["udp/%s"]}}`
	skipVerify    = `{"protocol":"http","tls":{"insecure_skip_verify":true}}`
	refusingProxy = `{"protocol":"http","network_proxy":{"from":"url","url":"%s"}}`
)

func nowhere(*testing.T) string { return "http://provider.invalid" }

func closedPort(t *testing.T) string {
	l := listen(t)
	_ = l.Close()
	return "http://" + l.Addr().String()
}

func hang(t *testing.T) string {
	return serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice the caller's end
		<-r.Context().Done()
	}).URL
}

func httpAsHTTPS(t *testing.T) string {
	return strings.Replace(serve(t, hello).URL, "http://", "https://", 1)
}

func tlsServer(configure func(*tls.Config)) func(t *testing.T) string {
	return func(t *testing.T) string {
		s := httptest.NewUnstartedServer(http.HandlerFunc(hello))
		s.TLS = new(tls.Config)
		if configure != nil {
			configure(s.TLS)
		}
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		return s.URL
	}
}

func http2Reset(t *testing.T) string {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("the call came by %s", r.Proto)
		}
		_, _ = io.WriteString(w, "[1,")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}))
	s.EnableHTTP2 = true
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// raw is an upstream that answers every connection with text once it has read
// something, and then closes or resets it.
func raw(scheme, text string, reset bool) func(t *testing.T) string {
	return func(t *testing.T) string {
		l := listen(t)
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, text)
				if reset {
					// What is unread or unsent is dropped, and the other side is told so.
					_ = conn.(*net.TCPConn).SetLinger(0)
				}
				_ = conn.Close()
			}
		}()
		return scheme + "://" + l.Addr().String()
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// nameServer answers every question with "no such name".
func nameServer(t *testing.T) string {
	t.Helper()
	pc, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pc.Close() })
	go func() {
		buf := make([]byte, 512)
		for {
			n, from, err := pc.ReadFrom(buf)
			if err != nil {
				return
			}
			const answer, nameError = 0x81, 0x83 // QR and RD; RA and RCODE 3
			buf[2], buf[3] = answer, nameError
			clear(buf[10:12]) // the answer repeats the question and has no additional records
			end := 12
			for end < n && buf[end] != 0 {
				end += int(buf[end]) + 1
			}
			_, _ = pc.WriteTo(buf[:min(end+5, n)], from)
		}
	}()
	return pc.LocalAddr().String()
}

// The failures that no local server can produce.
func TestTransportText(t *testing.T) {
	dial := func(err error) error {
		return reverseproxy.NewDialError(&net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", err)})
	}
	for _, tc := range []struct {
		name    string
		err     error
		kind    providers.Kind
		message string
	}{
		{"fail/no route to host", dial(syscall.EHOSTUNREACH), providers.KindUnreachable, "host unreachable"},
		{"fail/no route to network", dial(syscall.ENETUNREACH), providers.KindUnreachable, "host unreachable"},
		{"fail/reset while connecting", dial(syscall.ECONNRESET), providers.KindUnreachable, "connection reset"},
		{"fail/dial timeout", dial(os.ErrDeadlineExceeded), providers.KindTimeout, "timeout"},
		{"fail/name server timeout", reverseproxy.NewDialError(&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "i/o timeout", Name: "a.example.com", IsTimeout: true}}), providers.KindTimeout, "timeout"},
		{"fail/odd dial", dial(errors.New("odd")), providers.KindUnreachable, "connection failed"},
		{"fail/broken pipe", &net.OpError{Op: "write", Net: "tcp", Err: syscall.EPIPE}, providers.KindUnreachable, "connection reset"},
		{"fail/bad checksum", gzip.ErrChecksum, providers.KindUnreachable, "malformed response"},
		{"fail/anything else", errors.New("odd"), providers.KindUnreachable, "connection failed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// As net/http wraps it.
			pe := classify(context.Background(), &url.Error{Op: "Get", URL: "http://secret", Err: tc.err})
			wantError(t, pe, tc.kind, tc.message)
			wantNone(t, "the cause", pe.Err.Error(), "secret")
		})
	}
}

func TestClassifyKeepsTypedErrors(t *testing.T) {
	want := &providers.Error{Kind: providers.KindThrottled, Message: "slow down"}
	if got := classify(context.Background(), fmt.Errorf("while paging: %w", want)); got != want {
		t.Errorf("got %v, want the error itself", got)
	}
}

func TestContextError(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, ContextError(canceled), providers.KindCanceled, "request canceled")
	late, cancel := context.WithDeadline(t.Context(), time.Now())
	defer cancel()
	wantError(t, ContextError(late), providers.KindTimeout, "timeout")
}

func TestStatusError(t *testing.T) {
	const secret = "k&y"
	for status, want := range map[int]providers.Kind{
		400: providers.KindRejected, 401: providers.KindAuth, 403: providers.KindForbidden, 404: providers.KindNotFound,
		409: providers.KindConflict, 422: providers.KindRejected, 429: providers.KindThrottled, 499: providers.KindRejected,
		500: providers.KindProvider, 503: providers.KindProvider, 599: providers.KindProvider,
	} {
		pe := StatusError(&Response{Status: status}, "", secret)
		wantError(t, pe, want, http.StatusText(status))
		if pe.Status != status {
			t.Errorf("status is %d, want %d", pe.Status, status)
		}
		wantError(t, StatusError(&Response{Status: status}, "no k%26y k&y", secret), want, "no *** ***")
	}

	pe := StatusError(&Response{Status: 429, Header: http.Header{"Retry-After": {"7"}}}, "")
	if pe.RetryAfter != 7*time.Second {
		t.Errorf("retry after %v, want 7s", pe.RetryAfter)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"":                              0,
		"0":                             0,
		"120":                           2 * time.Minute,
		"-5":                            0,
		"1.5":                           0,
		"soon":                          0,
		"86400":                         maxRetryAfter,
		"99999999999999999999":          maxRetryAfter,
		"Sun, 01 Mar 2026 12:00:30 GMT": 30 * time.Second,
		"Sun, 01 Mar 2026 11:59:00 GMT": 0,
		"Mon, 02 Mar 2026 12:00:00 GMT": maxRetryAfter,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q is %v, want %v", value, got, want)
		}
	}
}

func TestCleanMessage(t *testing.T) {
	for _, tc := range []struct {
		name, message string
		secrets       []string
		want          string
	}{
		{"ok/plain", "all is well", nil, "all is well"},
		{"ok/blank", " \t\r\n ", nil, ""},
		{"ok/control characters", "a\x00b\x1b[31mc\u009bd\r\ne\x7f", nil, "a b [31mc d  e"},
		{"ok/not UTF-8", "a\xff\xfeb", nil, "a\uFFFDb"},
		{"ok/secret", "bad key s3cr3t.", []string{"s3cr3t"}, "bad key ***."},
		{"ok/secret twice", "s3cr3ts3cr3t", []string{"s3cr3t"}, "******"},
		{"ok/secret in a query", "at ?key=a+b%2Fc%26", []string{"a b/c&"}, "at ?key=***"},
		{"ok/secret in a path", "at /a%20b%2Fc&/", []string{"a b/c&"}, "at /***/"},
		{"ok/empty secret", "abc", []string{""}, "abc"},
		{"ok/secret within another", "abcdef", []string{"abc", "abcdef"}, "***"},
		{"ok/secret that is not UTF-8", "echo pw\xffx pw\uFFFDx", []string{"pw\xffx"}, "echo *** ***"},
		{"ok/secret with control character", "echo a\tb", []string{"a\tb"}, "echo ***"},
		{"ok/cut", strings.Repeat("x", 501), nil, strings.Repeat("x", 500) + "…"},
		{"ok/not cut", strings.Repeat("x", 500), nil, strings.Repeat("x", 500)},
		{"ok/cut at a rune", strings.Repeat("x", 499) + "é", nil, strings.Repeat("x", 499) + "…"},
		{"ok/secret across the cut", strings.Repeat("x", 498) + "s3cr3t", []string{"s3cr3t"}, strings.Repeat("x", 498) + "**…"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := CleanMessage(tc.message, tc.secrets...); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func FuzzCleanMessage(f *testing.F) {
	f.Add("bad key k&y at k%26y", "k&y")
	f.Add("a\xffb", "\xff")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, message, secret string) {
		got := CleanMessage(message, secret)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		if len(got) > maxMessage+len("…") {
			t.Fatalf("%d bytes are too many", len(got))
		}
		// Masks may lie against other text, so only secrets without any part of one count.
		if len(secret) > 3 && !strings.ContainsAny(secret, "*…\uFFFD ") && utf8.ValidString(secret) && strings.Contains(got, secret) {
			t.Fatalf("%q shows %q", got, secret)
		}
	})
}
