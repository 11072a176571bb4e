// Package outbound is the gateway's one way out: an HTTP client on Caddy's own
// reverse-proxy transport, so that operators configure TLS, proxies, resolvers and
// keep-alive in the syntax they know, with a deadline for each call, a cap on the
// answer, no redirects to another host, and errors that carry neither URLs nor
// credentials.
package outbound

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"

	"github.com/fleetgate/fleetgate/providers"
)

// DefaultMaxBody is the largest answer that is read from a provider, in bytes,
// unless max_body says otherwise.
const DefaultMaxBody = 64 << 20

// maxMaxBody is more than any answer that could be held in memory. Its bound keeps
// sums of sizes from overflowing.
const maxMaxBody = 1 << 40

// maxRedirects bounds the redirects that are followed within the provider's host.
const maxRedirects = 3

// Client calls one provider. A provider module embeds it, which gives the module the
// options below in JSON and, through [Client.UnmarshalBlock], in the Caddyfile, and
// calls [Client.Setup] from its own Provision.
type Client struct {
	// The root of the provider's API, an absolute http or https URL without query.
	// Placeholders such as `{env.LYTX_URL}` are resolved when the config is loaded.
	// Default: the provider's production root, if it has only one.
	BaseURL string `json:"base_url,omitempty"`

	// The name by which callers see the provider in messages. Default: its brand.
	Display string `json:"display_name,omitempty"`

	// How long one call may take, from the start to the last byte of the answer.
	// Default: `60s`, or what the provider documents.
	Timeout caddy.Duration `json:"timeout,omitempty"`

	// The largest answer that is read, in bytes after decompression.
	// Default: 67108864 (64 MiB).
	MaxBody int64 `json:"max_body,omitempty"`

	// How to connect: Caddy's `http` transport of `reverse_proxy`, with all of its
	// options except `proxy_protocol`. No other transport is allowed, because the
	// others rely on being called from inside `reverse_proxy`.
	TransportRaw json.RawMessage `json:"transport,omitempty" caddy:"namespace=http.reverse_proxy.transport inline_key=protocol"`

	base   *url.URL
	http   *http.Client
	logger *zap.Logger
}

// Defaults are what a provider uses where its operator configured nothing.
type Defaults struct {
	BaseURL     string // none if empty: base_url is then required
	DisplayName string
	Timeout     time.Duration // 60 s if zero
}

// Setup resolves placeholders, fills in defaults, checks the options and loads the
// transport. It does not touch the network. Its errors name the JSON key that is
// wrong and never show a value, which may hold a secret.
func (c *Client) Setup(ctx caddy.Context, d Defaults) error {
	c.logger = ctx.Logger()
	if c.Display == "" {
		c.Display = d.DisplayName
	}
	if c.Timeout == 0 {
		c.Timeout = caddy.Duration(d.Timeout)
	}
	if c.Timeout == 0 {
		c.Timeout = caddy.Duration(time.Minute)
	}
	if c.Timeout < 0 {
		return errors.New("timeout must not be negative")
	}
	if c.MaxBody == 0 {
		c.MaxBody = DefaultMaxBody
	}
	if c.MaxBody < 0 || c.MaxBody > maxMaxBody {
		return fmt.Errorf("max_body must be between 1 and %d bytes", int64(maxMaxBody))
	}

	raw, err := caddy.NewReplacer().ReplaceOrErr(c.BaseURL, true, true)
	if err != nil {
		return fmt.Errorf("base_url: %w", err)
	}
	if raw == "" {
		raw = d.BaseURL
	}
	if c.base, err = parseBase(raw); err != nil {
		return err
	}

	transport, err := c.loadTransport(ctx)
	if err != nil {
		return err
	}
	c.http = &http.Client{Transport: transport, CheckRedirect: sameHostOnly}
	return nil
}

func parseBase(raw string) (*url.URL, error) {
	if raw == "" {
		return nil, errors.New("base_url is required")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		return nil, errors.New("base_url is not a URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, errors.New("base_url must be an absolute http or https URL")
	case u.User != nil:
		return nil, errors.New("base_url must not carry a user or password")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("base_url must not carry a query or fragment")
	}
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = ""
	return u, nil
}

func (c *Client) loadTransport(ctx caddy.Context) (http.RoundTripper, error) {
	if len(c.TransportRaw) == 0 {
		// Loaded rather than made by hand, so that it is cleaned up with the config.
		mod, err := ctx.LoadModuleByID("http.reverse_proxy.transport.http", nil)
		if err != nil {
			return nil, fmt.Errorf("loading transport: %v", err)
		}
		return mod.(http.RoundTripper), nil
	}

	// Checked before loading: Caddy's own error for a missing key prints the whole
	// object, secrets included.
	var name struct {
		Protocol string `json:"protocol"`
	}
	if err := json.Unmarshal(c.TransportRaw, &name); err != nil || name.Protocol == "" {
		return nil, errors.New("transport: the key 'protocol' is missing")
	}
	if name.Protocol != "http" {
		return nil, fmt.Errorf("transport: protocol '%s' is not allowed; only 'http' is", name.Protocol)
	}
	mod, err := ctx.LoadModule(c, "TransportRaw")
	if err != nil {
		if strings.Contains(err.Error(), "network_proxy") {
			// Caddy's text prints the proxy's URL, which may hold a password.
			return nil, errors.New("transport: network_proxy is invalid")
		}
		return nil, fmt.Errorf("loading transport: %v", err)
	}
	transport, ok := mod.(*reverseproxy.HTTPTransport)
	if !ok {
		return nil, fmt.Errorf("transport: %T is not Caddy's http transport", mod)
	}
	if transport.ProxyProtocol != "" {
		// Its header describes a proxied client connection, which no call here has.
		return nil, errors.New("transport: proxy_protocol cannot be used towards a provider")
	}
	return transport, nil
}

// sameHostOnly lets a safe request follow redirects within its own scheme and host.
// Credentials travel in custom headers, which net/http would carry along to anyone.
func sameHostOnly(req *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet || len(via) > maxRedirects ||
		req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// DisplayName is the name by which callers see the provider.
func (c *Client) DisplayName() string { return c.Display }

// Identity is the base URL, for keys of caches that several clients share.
func (c *Client) Identity() string { return c.base.String() }

// Request is one call to the provider.
type Request struct {
	// Name says in the log what the call is for. It is constant text, as opposed to
	// the URL, which may carry credentials.
	Name string

	Method string     // default GET
	Path   string     // below the base URL, already escaped, starting with a slash
	Query  url.Values // may be nil
	Header http.Header
	Body   []byte

	// Budget is shared by the calls whose answers are held together. A call without
	// one has max_body for itself.
	Budget *Budget
}

// Response is the provider's whole answer.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do makes one call. It returns a response for every status but the redirects that
// lead elsewhere; what a status means is the provider's affair (see [StatusError]).
// Errors are of type [*providers.Error]. The deadline is the earlier of ctx's and the
// configured timeout.
func (c *Client) Do(ctx context.Context, r *Request) (*Response, error) {
	start := time.Now()
	callCtx, cancel := context.WithTimeout(callContext(ctx), time.Duration(c.Timeout))
	defer cancel()

	resp, err := c.do(callCtx, r)
	if err != nil {
		err = classify(ctx, err)
	}
	c.log(ctx, r, resp, err, time.Since(start))
	if err != nil {
		return nil, err
	}
	return resp, nil
}

func (c *Client) do(ctx context.Context, r *Request) (*Response, error) {
	req, err := c.newRequest(ctx, r)
	if err != nil {
		return nil, err
	}
	hr, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer hr.Body.Close()
	if hr.StatusCode >= 300 && hr.StatusCode < 400 {
		return nil, &providers.Error{Kind: providers.KindProvider, Message: "unexpected redirect", Status: hr.StatusCode}
	}
	budget := r.Budget
	if budget == nil {
		budget = c.NewBudget()
	}
	body, err := readBody(hr, budget)
	if err != nil {
		return nil, err
	}
	return &Response{Status: hr.StatusCode, Header: hr.Header, Body: body}, nil
}

func (c *Client) newRequest(ctx context.Context, r *Request) (*http.Request, error) {
	method := r.Method
	if method == "" {
		method = http.MethodGet
	}
	target := c.base.String() + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	for name, values := range r.Header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	req.Header.Set("User-Agent", "Fleetgate")
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if id := providers.RequestID(ctx); id != "" {
		req.Header.Set("X-Request-Id", id)
	}
	return req, nil
}

// firstRead bounds what is allocated on the word of a Content-Length alone.
const firstRead = 4 << 20

func readBody(hr *http.Response, b *Budget) ([]byte, error) {
	tooLarge := TooLarge()
	tooLarge.Status = hr.StatusCode
	if hr.ContentLength > b.left.Load() {
		return nil, tooLarge
	}
	var buf bytes.Buffer
	if hr.ContentLength > 0 {
		// MinRead more, or the read that finds the end would double the buffer.
		buf.Grow(int(min(hr.ContentLength, firstRead)) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(&budgetReader{body: hr.Body, budget: b, exceeded: tooLarge}); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// log writes one line for a call, without URL, headers or body: each of them carries
// credentials at some provider. Failures of calls that are made for a request are
// reported by its area; those of the gateway's own calls, by nobody else.
func (c *Client) log(ctx context.Context, r *Request, resp *Response, err error, took time.Duration) {
	id := providers.RequestID(ctx)
	failed := err != nil && !errors.Is(err, providers.ErrCanceled) || err == nil && resp.Status >= http.StatusBadRequest
	level := zapcore.DebugLevel
	if failed && id == "" {
		level = zapcore.WarnLevel
	}
	ce := c.logger.Check(level, "provider call")
	if ce == nil {
		return
	}
	fields := []zap.Field{zap.String("call", r.Name), zap.String("request_id", id), zap.Duration("duration", took)}
	if err != nil {
		pe := providers.As(err)
		fields = append(fields, zap.Stringer("kind", pe.Kind), zap.String("reason", pe.Message), zap.String("cause", pe.Cause()))
	} else {
		fields = append(fields, zap.Int("status", resp.Status), zap.Int("size", len(resp.Body)))
	}
	ce.Write(fields...)
}
