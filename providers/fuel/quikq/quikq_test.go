package quikq

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/fuel"
	"github.com/fleetgate/fleetgate/providers/fuel/fueltest"
	"github.com/fleetgate/fleetgate/transform"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// load loads the module from its JSON config, as Caddy does.
func load(t *testing.T, config map[string]any) (*Provider, error) {
	t.Helper()
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	t.Cleanup(cancel)
	raw, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := ctx.LoadModuleByID("gateway.fuel.quikq", raw)
	if err != nil {
		return nil, err
	}
	return mod.(*Provider), nil
}

// start returns a provider that calls url, with other options as in config.
func start(t *testing.T, url string, config map[string]any) *Provider {
	t.Helper()
	all := map[string]any{"base_url": url}
	maps.Copy(all, config)
	p, err := load(t, all)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serve starts a server for the test.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestConformance(t *testing.T) {
	fueltest.Run(t, fueltest.Harness{
		New: func(t *testing.T, up fueltest.Upstream) fuel.Provider {
			t.Helper()
			return start(t, up.URL, map[string]any{"timeout": up.Timeout.String()})
		},
		NewService: func(t *testing.T) fueltest.Service {
			t.Helper()
			return newFake(t)
		},
		IsLogin: func(r *http.Request) bool { return r.URL.Path == "/v1/auth" },
		Good:    good,
		Bad:     bad,
		Full:    full,
		None:    none,
	})
}

func TestProvision(t *testing.T) {
	t.Run("ok/defaults", func(t *testing.T) {
		p, err := load(t, map[string]any{})
		if err != nil {
			t.Fatal(err)
		}
		if p.Identity() != "https://api.quikq.com" || p.DisplayName() != "QuikQ" ||
			time.Duration(p.Timeout) != time.Minute || time.Duration(p.SessionTTL) != 15*time.Minute {
			t.Errorf("defaults are %q %q %v %v", p.Identity(), p.DisplayName(), time.Duration(p.Timeout), time.Duration(p.SessionTTL))
		}
	})
	for name, row := range map[string]struct {
		config map[string]any
		want   string
	}{
		"fail/base_url":    {map[string]any{"base_url": "ftp://h"}, "quikq: base_url must be an absolute http or https URL"},
		"fail/session_ttl": {map[string]any{"session_ttl": -1}, "quikq: session_ttl must not be negative"},
		"fail/unknown key": {map[string]any{"sesion_ttl": "1m"}, "sesion_ttl"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := load(t, row.config); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %v, want %q", err, row.want)
			}
		})
	}
}

func TestSessionTTL(t *testing.T) {
	s := &script{login: with(200, authBody), report: with(200, reportBody)}
	p := start(t, serve(t, s), map[string]any{"session_ttl": "1ns"})
	for range 3 {
		if _, err := p.Transactions(t.Context(), good, full); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.logins.Load(); n != 3 {
		t.Errorf("%d log-ins, want 3: each session is over before the next call", n)
	}
}

// TestSessionPerCredential checks that a session serves nobody but the owner of all
// three parts of its credential.
func TestSessionPerCredential(t *testing.T) {
	s := &script{login: with(200, authBody), report: with(200, reportBody)}
	p := start(t, serve(t, s), nil)
	creds := []fuel.Credential{
		{StartCode: "1", UserID: "2", Password: "3"},
		{StartCode: "12", UserID: "", Password: "3"},
		{StartCode: "1", UserID: "23", Password: ""},
		{StartCode: "1", UserID: "2", Password: "4"},
	}
	for range 2 {
		for _, cred := range creds {
			if _, err := p.Transactions(t.Context(), cred, full); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := s.logins.Load(); int(n) != len(creds) {
		t.Errorf("%d log-ins, want %d", n, len(creds))
	}
}

// TestLogs checks that neither credentials, tokens nor URLs are logged. It stands for
// itself, since the development logger of a context without config writes to the
// standard error of the process.
func TestLogs(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	stderr := os.Stderr
	os.Stderr = file
	t.Cleanup(func() { os.Stderr = stderr })

	echo := `{"status":"fail","message":"planted-user+1 planted-pass planted.token.1"}`
	for _, s := range []*script{
		{login: with(200, authBody), report: with(200, reportBody)},
		{login: with(401, echo)},
		{login: with(200, authBody), report: with(500, echo)},
		{login: with(200, authBody), report: func(http.ResponseWriter) { panic(http.ErrAbortHandler) }},
	} {
		_, _ = call(t, s)
	}

	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	logged, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(logged, []byte("transaction report")) {
		t.Fatalf("the log was not caught: %s", logged)
	}
	for _, secret := range []string{"planted", "10/04", "10%2F04", "127.0.0.1/", "v1/"} {
		if bytes.Contains(logged, []byte(secret)) {
			t.Errorf("the log shows %q:\n%s", secret, logged)
		}
	}
}

// recording returns a recorded body, or skips the test.
func recording(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "recordings", "quikq", name))
	if err != nil {
		t.Skipf("no recordings beside the repository: %v", err)
	}
	return string(body)
}

func TestRecordings(t *testing.T) {
	t.Run("ok/report", func(t *testing.T) {
		report, err := call(t, &script{
			login:  with(200, recording(t, "auth_200.json")),
			report: with(200, recording(t, "report_200_wrapped.json")),
		})
		if err != nil {
			t.Fatal(err)
		}
		flat, err := transform.UnwrapFuelReport(nil, report)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			TransactionCount int `json:"transactionCount"`
			Transactions     []struct {
				TransNumber     int `json:"transNumber"`
				SubTransactions []struct {
					SubTotal json.Number `json:"subTotal"`
				} `json:"subTransactions"`
			} `json:"transactions"`
		}
		if err := json.Unmarshal(flat, &doc); err != nil {
			t.Fatal(err)
		}
		if doc.TransactionCount != 1 || len(doc.Transactions) != 1 || doc.Transactions[0].TransNumber == 0 ||
			len(doc.Transactions[0].SubTransactions) == 0 || doc.Transactions[0].SubTransactions[0].SubTotal == "" {
			t.Errorf("the report is %+v", doc)
		}
	})
	t.Run("fail/log-in", func(t *testing.T) {
		_, err := call(t, &script{login: with(200, recording(t, "auth_failed.json"))})
		checkError(t, err, providers.ErrAuth, "Invalid credentials")
	})
}
