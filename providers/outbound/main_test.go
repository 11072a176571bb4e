package outbound

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/providers"
)

func TestMain(m *testing.M) {
	// A proxy of the machine that runs the tests would catch their calls.
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		_ = os.Unsetenv(name)
	}
	goleak.VerifyTestMain(m)
}

// setUp runs Setup on c as a provider's Provision would.
func setUp(t *testing.T, c *Client, d Defaults) error {
	t.Helper()
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	t.Cleanup(cancel)
	return c.Setup(ctx, d)
}

// ready returns c after a Setup that must succeed, and what it logs.
func ready(t *testing.T, c *Client) (*Client, *logs) {
	t.Helper()
	if err := setUp(t, c, Defaults{}); err != nil {
		t.Fatalf("setup: %v", err)
	}
	l := new(logs)
	c.logger = zap.New(zapcore.NewCore(
		zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(l), zapcore.DebugLevel))
	return c, l
}

// logs is everything that was logged, as text, to be read when the calls have ended.
type logs struct{ bytes.Buffer }

func (l *logs) Sync() error { return nil }

// serve starts an upstream that ends with the test.
func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// wantError checks kind and message of a call's error and returns it.
func wantError(t *testing.T, err error, kind providers.Kind, message string) *providers.Error {
	t.Helper()
	pe, ok := errors.AsType[*providers.Error](err)
	if !ok {
		t.Fatalf("error is %T (%v), want *providers.Error", err, err)
	}
	if pe.Kind != kind || pe.Message != message {
		t.Errorf("error is %v %q, want %v %q (cause %v)", pe.Kind, pe.Message, kind, message, pe.Err)
	}
	return pe
}

// wantNone checks that text holds none of the secrets.
func wantNone(t *testing.T, what, text string, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		if strings.Contains(text, s) {
			t.Errorf("%s shows the secret %q: %s", what, s, text)
		}
	}
}
