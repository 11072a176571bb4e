package outbound

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
)

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `"hello"`) }

func TestTransportFromCaddyfile(t *testing.T) {
	var c Client
	d := caddyfile.NewTestDispenser(fmt.Sprintf(`brand {
		base_url %s
		transport http {
			dial_timeout 1500ms
			compression off
		}
	}`, serve(t, func(w http.ResponseWriter, r *http.Request) {
		if enc := r.Header.Get("Accept-Encoding"); enc != "" {
			t.Errorf("the transport's options are not in use: Accept-Encoding %q", enc)
		}
		hello(w, r)
	}).URL))
	if err := c.UnmarshalBlock(d); err != nil {
		t.Fatal(err)
	}
	ready(t, &c)
	resp, err := c.Do(context.Background(), &Request{Name: "test"})
	if err != nil || string(resp.Body) != `"hello"` {
		t.Fatalf("answer is %v, %v", resp, err)
	}
}

func TestTransportRefused(t *testing.T) {
	const secret = "transport-secret"
	for _, tc := range []struct{ name, raw, want string }{
		{"fail/no protocol", `{"network_proxy":{"from":"url","url":"http://u:` + secret + `@proxy"}}`, "transport: the key 'protocol' is missing"},
		{"fail/protocol not a string", `{"protocol":{"a":"` + secret + `"}}`, "transport: the key 'protocol' is missing"},
		{"fail/not an object", `["` + secret + `"]`, "transport: the key 'protocol' is missing"},
		{"fail/fastcgi", `{"protocol":"fastcgi","env":{"A":"` + secret + `"}}`, "transport: protocol 'fastcgi' is not allowed; only 'http' is"},
		{"fail/unknown", `{"protocol":"carrier_pigeon"}`, "transport: protocol 'carrier_pigeon' is not allowed; only 'http' is"},
		{"fail/proxy_protocol", `{"protocol":"http","proxy_protocol":"v1"}`, "transport: proxy_protocol cannot be used towards a provider"},
		{"fail/unknown option", `{"protocol":"http","dial_timeuot":"3s"}`, "loading transport: "},
		{"fail/proxy without source", `{"protocol":"http","network_proxy":{"url":"http://u:` + secret + `@proxy"}}`, "transport: network_proxy is invalid"},
		{"fail/proxy not a URL", `{"protocol":"http","network_proxy":{"from":"url","url":"http://u:` + secret + `@proxy:port"}}`, "transport: network_proxy is invalid"},
		{"fail/old spelling of the proxy", `{"protocol":"http","forward_proxy_url":"http://u:` + secret + `@proxy:port"}`, "transport: network_proxy is invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := Client{BaseURL: "http://api.example.com", TransportRaw: json.RawMessage(tc.raw)}
			err := setUp(t, &c, Defaults{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("error is %v, want %q", err, tc.want)
			}
			wantNone(t, "the error", err.Error(), secret)
		})
	}
}

// A placeholder in the server name is resolved in the transport's dial goroutine,
// which panics when the context has no Replacer: no test could survive that.
func TestServerNamePlaceholderWithoutReplacer(t *testing.T) {
	up := httptest.NewTLSServer(http.HandlerFunc(hello))
	t.Cleanup(up.Close)
	t.Setenv("OUTBOUND_TEST_NAME", "example.com") // a name of the test certificate
	raw, err := json.Marshal(map[string]any{
		"protocol": "http",
		"tls": map[string]any{
			"server_name": "{env.OUTBOUND_TEST_NAME}",
			"ca": map[string]any{
				"provider":         "inline",
				"trusted_ca_certs": []string{base64.StdEncoding.EncodeToString(up.Certificate().Raw)},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, _ := ready(t, &Client{BaseURL: up.URL, TransportRaw: raw})
	resp, err := c.Do(context.Background(), &Request{Name: "test"})
	if err != nil || string(resp.Body) != `"hello"` {
		t.Fatalf("answer is %v, %v", resp, err)
	}
}

func TestReplacerOfTheRequestIsKept(t *testing.T) {
	repl := caddy.NewReplacer()
	parent := context.WithValue(context.Background(), caddy.ReplacerCtxKey, repl)
	if got := callContext(parent).Value(caddy.ReplacerCtxKey); got != repl {
		t.Errorf("the call's Replacer is %v, want the request's own", got)
	}
}

// With a forward proxy Caddy's transport writes to the vars map of the context, so
// parallel calls of one request would crash the process.
func TestParallelCallsBehindForwardProxy(t *testing.T) {
	var proxied atomic.Int32
	proxy := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Host != "provider.invalid" {
			t.Errorf("the proxy was asked for %q", r.URL)
		}
		proxied.Add(1)
		hello(w, r)
	})

	var c Client
	d := caddyfile.NewTestDispenser(fmt.Sprintf(`brand {
		base_url http://provider.invalid
		transport http {
			network_proxy url %s
		}
	}`, proxy.URL))
	if err := c.UnmarshalBlock(d); err != nil {
		t.Fatal(err)
	}
	ready(t, &c)

	vars := map[string]any{"theirs": true}
	ctx := context.WithValue(context.Background(), caddyhttp.VarsCtxKey, vars)
	const callers = 40
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			if _, err := c.Do(ctx, &Request{Name: "test"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := proxied.Load(); n != callers {
		t.Errorf("%d calls went through the proxy, want %d", n, callers)
	}
	if len(vars) != 1 {
		t.Errorf("the request's vars were written to: %v", vars)
	}
}

func TestDialInfoIsIgnored(t *testing.T) {
	mine := serve(t, hello)
	other := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `"other"`) })
	bare, _ := ready(t, &Client{BaseURL: mine.URL})
	ctx := context.WithValue(context.Background(), dialInfoCtxKey,
		reverseproxy.DialInfo{Network: "tcp", Address: strings.TrimPrefix(other.URL, "http://")})

	// The transport itself follows it, else this test would prove nothing.
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, mine.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	hr, err := bare.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(hr.Body)
	_ = hr.Body.Close()
	if string(body) != `"other"` {
		t.Fatalf("the bare transport reached %s; the key of the dial info has changed", body)
	}

	c, _ := ready(t, &Client{BaseURL: mine.URL})
	resp, err := c.Do(ctx, &Request{Name: "test"})
	if err != nil || string(resp.Body) != `"hello"` {
		t.Errorf("answer is %v, %v; want the configured host's", resp, err)
	}
}
