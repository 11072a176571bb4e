package e2e

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func testHealth(t *testing.T, g *gateway) {
	for _, row := range []struct {
		name, method, path string
		status             int
		body, allow        string
	}{
		{name: "ok/process", path: "/healthz", status: 200, body: `{"status":"ok"}`},
		{name: "ok/ready", path: "/readyz", status: 200, body: `{"status":"ready"}`},
		{name: "ok/process by HEAD", method: "HEAD", path: "/healthz", status: 200},
		{name: "ok/ready by HEAD", method: "HEAD", path: "/readyz", status: 200},
		{name: "fail/process by POST", method: "POST", path: "/healthz", status: 405, body: `{"status":"method_not_allowed"}`, allow: "GET, HEAD"},
		{name: "fail/ready by DELETE", method: "DELETE", path: "/readyz", status: 405, body: `{"status":"method_not_allowed"}`, allow: "GET, HEAD"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := g.do(t, request{method: row.method, path: row.path, token: noToken})
			if a.status != row.status || a.body != row.body {
				t.Errorf("status %d, body %q; want %d and %q", a.status, a.body, row.status, row.body)
			}
			if got := a.header.Get("Allow"); got != row.allow {
				t.Errorf("Allow %q, want %q", got, row.allow)
			}
			if got := a.header.Get("Cache-Control"); got != "no-store" {
				t.Errorf("Cache-Control %q, want no-store", got)
			}
		})
	}
	for _, path := range []string{"/Healthz", "/readyz/x", "/READYZ"} {
		t.Run("fail/path "+path, func(t *testing.T) {
			if a := g.do(t, request{path: path, token: noToken}); strings.Contains(a.body, "status") {
				t.Errorf("answered like the probe: %q", a.body)
			}
		})
	}
}

var uuidPattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func testRequestID(t *testing.T, g *gateway, seen *observer) {
	const path = "/observed/telematics/driver-performance-events/"
	call := func(t *testing.T, id string) (got string) {
		t.Helper()
		header := goodHeaders()
		if id != "" {
			header["X-Request-Id"] = id
		}
		a := g.do(t, request{path: path, header: header})
		success[[]map[string]any](t, a)
		if got = a.header.Get("X-Request-Id"); seen.header("X-Request-Id") != got {
			t.Errorf("the provider got X-Request-Id %q, the caller %q", seen.header("X-Request-Id"), got)
		}
		return got
	}
	for _, id := range []string{"a", "trip-7/leg:2", "01J8.Z_x~y+z=w@v", strings.Repeat("x", 128)} {
		t.Run("ok/taken over", func(t *testing.T) {
			if got := call(t, id); got != id {
				t.Errorf("X-Request-Id %q, want %q", got, id)
			}
		})
	}
	t.Run("ok/made", func(t *testing.T) {
		first, second := call(t, ""), call(t, "")
		if !uuidPattern.MatchString(first) || first == second {
			t.Errorf("X-Request-Id %q and %q, want two random UUIDs", first, second)
		}
	})
	for _, id := range []string{"a b", "<script>", "a\tb", "\u00e9", strings.Repeat("x", 129)} {
		t.Run("fail/replaced", func(t *testing.T) {
			if got := call(t, id); !uuidPattern.MatchString(got) {
				t.Errorf("X-Request-Id %q for %q, want a random UUID", got, id)
			}
		})
	}
	t.Run("fail/given twice", func(t *testing.T) {
		a := g.raw(t, "GET "+path+" HTTP/1.1\r\nHost: "+g.site+"\r\nConnection: close\r\nX-Request-Id: a\r\nX-Request-Id: b\r\n\r\n")
		if got := a.header.Get("X-Request-Id"); !uuidPattern.MatchString(got) {
			t.Errorf("X-Request-Id %q, want a random UUID", got)
		}
	})
	t.Run("ok/nothing of the caller goes upstream", func(t *testing.T) {
		header := goodHeaders()
		header["Cookie"], header["X-Custom"] = "session=1", "1"
		g.do(t, request{path: path, header: header})
		for _, name := range []string{"Authorization", "Cookie", "X-Custom", "Api-Key-Eld", "Password", "X-Forwarded-For"} {
			if got := seen.header(name); got != "" {
				t.Errorf("the provider got %s: %s", name, got)
			}
		}
		if got := seen.header("X-Apikey"); got != header["api-key-eld"] {
			t.Errorf("the provider got the key %q, want %q", got, header["api-key-eld"])
		}
	})
}

var timingPattern = regexp.MustCompile(`^gateway;dur=\d+\.\d+, upstream;dur=(\d+\.\d+)$`)

func testServerTiming(t *testing.T, g *gateway) {
	for _, row := range []struct {
		name, path string
		called     bool
	}{
		{"ok/a call to the provider", eventsPath + "?limit=1", true},
		{"ok/no call to the provider", eventsPath + "?limit=0", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := g.do(t, request{path: row.path, header: goodHeaders()}).header.Get("Server-Timing")
			match := timingPattern.FindStringSubmatch(got)
			if match == nil {
				t.Fatalf("Server-Timing %q does not match %s", got, timingPattern)
			}
			if called := match[1] != "0.000"; called != row.called {
				t.Errorf("upstream took %s ms, want some: %v", match[1], row.called)
			}
		})
	}
}

func testProtocols(t *testing.T, g *gateway) {
	roots, err := g.roots()
	if err != nil {
		t.Fatal(err)
	}
	for want, protocols := range map[string][]string{"HTTP/2.0": {"h2", "http/1.1"}, "HTTP/1.1": {"http/1.1"}} {
		t.Run("ok/"+want, func(t *testing.T) {
			client := newClient(roots)
			transport := client.Transport.(*http.Transport)
			transport.ForceAttemptHTTP2 = want == "HTTP/2.0"
			transport.TLSClientConfig.NextProtos = protocols
			defer transport.CloseIdleConnections()
			one := *g
			one.client = client
			a := one.do(t, request{path: eventsPath + "?limit=1", header: goodHeaders()})
			success[[]map[string]any](t, a)
			if a.proto != want {
				t.Errorf("spoke %s, want %s", a.proto, want)
			}
		})
	}
	t.Run("fail/an authority that is not trusted", func(t *testing.T) {
		client := newClient(nil)
		defer client.CloseIdleConnections()
		one := *g
		one.client = client
		if a, err := one.try(t.Context(), request{path: "/healthz"}); err == nil {
			t.Errorf("answered with status %d to a client that does not know the authority", a.status)
		}
	})
	t.Run("fail/TLS 1.1", func(t *testing.T) {
		dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "localhost", MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}}
		if conn, err := dialer.DialContext(t.Context(), "tcp", g.site); err == nil {
			conn.Close()
			t.Error("the handshake succeeded")
		}
	})
	t.Run("fail/plain HTTP", func(t *testing.T) {
		if status, err := plainStatus(t.Context(), g); err == nil && status < 300 {
			t.Errorf("status %d, want an error", status)
		}
	})
}

// plainStatus asks the address of the gateway without TLS.
func plainStatus(ctx context.Context, g *gateway) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+g.site+eventsPath, http.NoBody)
	if err != nil {
		return 0, err
	}
	client := newClient(nil)
	defer client.CloseIdleConnections()
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}

func testBrowser(t *testing.T, g *gateway) {
	const allowed, other = "https://dispatch.example.com", "https://elsewhere.example.com"
	call := func(origin string) map[string]string {
		header := goodHeaders()
		header["Origin"] = origin
		return header
	}
	preflight := func(t *testing.T, origin string) answer {
		t.Helper()
		return g.do(t, request{method: http.MethodOptions, path: eventsPath, token: noToken, header: map[string]string{
			"Origin":                         origin,
			"Access-Control-Request-Method":  "GET",
			"Access-Control-Request-Headers": "authorization, api-key-eld",
		}})
	}
	t.Run("ok/preflight", func(t *testing.T) {
		a := preflight(t, allowed)
		if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != allowed {
			t.Errorf("status %d, origin %q; want 204 and %s", a.status, a.header.Get("Access-Control-Allow-Origin"), allowed)
		}
		names := strings.ToLower(a.header.Get("Access-Control-Allow-Headers"))
		for _, want := range []string{"authorization", "content-type", "access-token-accounting", "api-key-eld", "startcode", "userid", "password", "username"} {
			if !strings.Contains(names, want) {
				t.Errorf("Access-Control-Allow-Headers %q lacks %s", names, want)
			}
		}
		for _, want := range []string{"GET", "POST", "PUT"} {
			if got := a.header.Get("Access-Control-Allow-Methods"); !strings.Contains(got, want) {
				t.Errorf("Access-Control-Allow-Methods %q lacks %s", got, want)
			}
		}
		if !strings.Contains(strings.Join(a.header.Values("Vary"), ","), "Origin") {
			t.Errorf("Vary %q lacks Origin", a.header.Values("Vary"))
		}
	})
	t.Run("ok/call", func(t *testing.T) {
		a := g.do(t, request{path: eventsPath + "?limit=1", header: call(allowed)})
		success[[]map[string]any](t, a)
		if got := a.header.Values("Access-Control-Allow-Origin"); fmt.Sprint(got) != "["+allowed+"]" {
			t.Errorf("Access-Control-Allow-Origin %q, want %s once", got, allowed)
		}
		if got := a.header.Get("Access-Control-Expose-Headers"); !strings.Contains(got, "X-Request-Id") || !strings.Contains(got, "X-Error-Code") {
			t.Errorf("Access-Control-Expose-Headers %q lacks the gateway's headers", got)
		}
	})
	t.Run("ok/refused call", func(t *testing.T) {
		a := g.do(t, request{path: eventsPath, token: noToken, header: call(allowed)})
		expect(t, a, http.StatusUnauthorized, "unauthenticated", failure("Unauthenticated"))
		if got := a.header.Get("Access-Control-Allow-Origin"); got != allowed {
			t.Errorf("Access-Control-Allow-Origin %q, want %s: the page could not read the error", got, allowed)
		}
	})
	t.Run("fail/another origin", func(t *testing.T) {
		for _, a := range []answer{preflight(t, other), g.do(t, request{path: eventsPath + "?limit=1", header: call(other)})} {
			if a.status == http.StatusNoContent {
				t.Error("the preflight succeeded")
			}
			for name := range a.header {
				if strings.HasPrefix(name, "Access-Control-") {
					t.Errorf("%s is %q, want none", name, a.header.Get(name))
				}
			}
		}
	})
	t.Run("ok/security headers", func(t *testing.T) {
		for _, path := range []string{eventsPath + "?limit=1", "/api/unknown", "/healthz"} {
			a := g.do(t, request{path: path, header: goodHeaders()})
			for name, want := range map[string]string{
				"Strict-Transport-Security": "max-age=31536000",
				"X-Content-Type-Options":    "nosniff",
				"Referrer-Policy":           "no-referrer",
				"Server":                    "",
			} {
				if got := a.header.Get(name); got != want {
					t.Errorf("%s: %s is %q, want %q", path, name, got, want)
				}
			}
		}
	})
}
