package fleetrock

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/maintenance"
	"github.com/fleetgate/fleetgate/providers/maintenance/maintenancetest"
	"github.com/fleetgate/fleetgate/providers/outbound"
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
	mod, err := ctx.LoadModuleByID("gateway.maintenance.fleetrock", raw)
	if err != nil {
		return nil, err
	}
	return mod.(*Provider), nil
}

// start returns a provider that calls h, with other options as in config. Its pauses
// are errors, so that no test waits.
func start(t *testing.T, h http.Handler, config map[string]any) *Provider {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	all := map[string]any{"base_url": srv.URL}
	maps.Copy(all, config)
	p, err := load(t, all)
	if err != nil {
		t.Fatal(err)
	}
	p.wait = func(_ context.Context, d time.Duration) { t.Errorf("unexpected pause of %v", d) }
	return p
}

func TestConformance(t *testing.T) {
	maintenancetest.Run(t, maintenancetest.Harness{
		New: func(t *testing.T, up maintenancetest.Upstream) maintenance.Provider {
			t.Helper()
			p, err := load(t, map[string]any{"base_url": up.URL, "timeout": up.Timeout.String()})
			if err != nil {
				t.Fatal(err)
			}
			return p
		},
		NewService: func(t *testing.T) maintenancetest.Service {
			t.Helper()
			return newFake(t)
		},
		IsLogin: func(r *http.Request) bool { return r.URL.Path == "/API/GetToken" },
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
		if p.Identity() != "https://www.fleetrock.com" || p.DisplayName() != "Fleetrock" || p.KeyAsToken ||
			time.Duration(p.Timeout) != 4*time.Minute || time.Duration(p.SessionTTL) != time.Hour {
			t.Errorf("defaults are %q %q %v %v %v", p.Identity(), p.DisplayName(), p.KeyAsToken,
				time.Duration(p.Timeout), time.Duration(p.SessionTTL))
		}
	})
	for name, row := range map[string]struct {
		config map[string]any
		want   string
	}{
		"fail/base_url":    {map[string]any{"base_url": "www.fleetrock.com"}, "fleetrock: base_url must be an absolute http or https URL"},
		"fail/session_ttl": {map[string]any{"session_ttl": -1}, "fleetrock: session_ttl must not be negative"},
		"fail/unknown key": {map[string]any{"key_as_tokens": true}, "key_as_tokens"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := load(t, row.config); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error is %v, want %q", err, row.want)
			}
		})
	}
}

// TestFilters checks what is sent for each query.
func TestFilters(t *testing.T) {
	for name, row := range map[string]struct {
		query maintenance.Query
		want  []string
	}{
		"ok/none":   {maintenance.Query{}, []string{""}},
		"ok/status": {maintenance.Query{Status: "inprogress"}, []string{"status=inprogress"}},
		"ok/event":  {maintenance.Query{Event: "paid"}, []string{"event=paid"}},
		"ok/all": {
			maintenance.Query{Status: "paid", Event: "created", Start: "2026-02-01", End: "2026-02-01"},
			[]string{"end=2026-02-01T23:59:59.999Z&event=created&start=2026-02-01T00:00:00.000Z&status=paid"},
		},
		"ok/start alone ends today": {
			maintenance.Query{Start: "2026-11-19"},
			[]string{"end=2026-11-20T23:59:59.999Z&start=2026-11-19T00:00:00.000Z"},
		},
		"ok/end alone": {maintenance.Query{End: "2026-02-28"}, []string{"end=2026-02-28T23:59:59.999Z"}},
		"ok/two months, the filters in both": {
			maintenance.Query{Status: "paid", Start: "2026-01-15", End: "2026-02-20"},
			[]string{
				"end=2026-02-14T23:59:59.999Z&start=2026-01-15T00:00:00.000Z&status=paid",
				"end=2026-02-20T23:59:59.999Z&start=2026-02-15T00:00:00.000Z&status=paid",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake(t)
			p := start(t, f, nil)
			p.now = func() time.Time { return time.Date(2026, 11, 20, 23, 30, 0, 0, time.UTC) }
			if _, err := p.Orders(t.Context(), good, row.query); err != nil {
				t.Fatal(err)
			}
			got := make(map[string]bool) // parts are asked for in any order
			for _, query := range f.asked() {
				text, err := url.QueryUnescape(query.Encode())
				if err != nil {
					t.Fatal(err)
				}
				got[text] = true
			}
			for _, want := range row.want {
				if !got[want] {
					t.Errorf("not asked for %q", want)
				}
			}
			if len(got) != len(row.want) {
				t.Errorf("asked for %v, want %q", got, row.want)
			}
		})
	}
}

// TestOrders fetches windows in parts: each order of the window comes once, in order,
// as it was sent.
func TestOrders(t *testing.T) {
	for name, row := range map[string]struct {
		query  maintenance.Query
		arrays int
	}{
		"ok/one day":                  {maintenance.Query{Start: "2026-01-31", End: "2026-01-31"}, 1},
		"ok/one month":                {maintenance.Query{Start: "2026-01-01", End: "2026-01-31"}, 1},
		"ok/one month and a day":      {maintenance.Query{Start: "2026-01-01", End: "2026-02-01"}, 2},
		"ok/a year from a 31st":       {maintenance.Query{Start: "2024-01-31", End: "2025-01-30"}, 13},
		"ok/five years":               {maintenance.Query{Start: "2021-03-01", End: "2026-02-28"}, 60},
		"ok/months without any order": {maintenance.Query{Start: "2019-10-01", End: "2020-01-02"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			arrays, err := start(t, newFake(t), nil).Orders(t.Context(), good, row.query)
			if err != nil {
				t.Fatal(err)
			}
			if len(arrays) != row.arrays {
				t.Errorf("%d arrays, want %d", len(arrays), row.arrays)
			}
			day, err := time.Parse(time.DateOnly, row.query.Start)
			if err != nil {
				t.Fatal(err)
			}
			day = later(day, firstOrder)
			for _, array := range arrays {
				var orders []struct {
					ID         string          `json:"id"`
					GrandTotal json.RawMessage `json:"grand_total"`
				}
				if err := json.Unmarshal(array, &orders); err != nil {
					t.Fatal(err)
				}
				for _, order := range orders {
					if order.ID != day.Format(time.DateOnly) || string(order.GrandTotal) != "205.00" {
						t.Fatalf("order is %+v on %v", order, day)
					}
					day = day.AddDate(0, 0, 1)
				}
			}
			if last := day.AddDate(0, 0, -1).Format(time.DateOnly); last != row.query.End {
				t.Errorf("the last order is of %s, want %s", last, row.query.End)
			}
		})
	}
}

// TestKeyAsToken checks that no session is made and that the first answer counts.
func TestKeyAsToken(t *testing.T) {
	t.Run("ok/list", func(t *testing.T) {
		f := newFake(t)
		p := start(t, f, map[string]any{"key_as_token": true})
		for range 2 {
			arrays, err := p.Orders(t.Context(), good, full)
			if err != nil || len(arrays) != 1 {
				t.Fatalf("%d arrays, error %v", len(arrays), err)
			}
		}
		f.checkMade(0)
	})
	t.Run("fail/refused", func(t *testing.T) {
		f := newFake(t)
		p := start(t, f, map[string]any{"key_as_token": true})
		_, err := p.Orders(t.Context(), maintenance.Credential{Username: good.Username, APIKey: "planted"}, full)
		checkError(t, err, providers.ErrAuth, "Invalid token.")
	})
}

// A panic in one of the parts fails the request and not the process.
func TestOrdersPanic(t *testing.T) {
	p := start(t, newFake(t), map[string]any{"key_as_token": true})
	p.Client = outbound.Client{Timeout: p.Timeout, MaxBody: p.MaxBody} // without Setup, it panics
	_, err := p.Orders(t.Context(), good, full)
	checkError(t, err, providers.ErrProvider, "")
}

func TestSessionTTL(t *testing.T) {
	f := newFake(t)
	p := start(t, f, map[string]any{"session_ttl": "1ns"})
	for range 3 {
		if _, err := p.Orders(t.Context(), good, full); err != nil {
			t.Fatal(err)
		}
	}
	f.checkMade(3) // each is over before the next call
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

	echo := func(w http.ResponseWriter, r *http.Request) {
		raw, _ := json.Marshal(fmt.Sprintf("cannot serve %s %v", r.URL, r.URL.Query()))
		reply(w, 500, `{"result":"error","message":`+string(raw)+`}`)
	}
	reset := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	nowhere := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://planted.invalid/?"+r.URL.RawQuery, http.StatusFound)
	}
	for _, fault := range []http.HandlerFunc{newFake(t).ServeHTTP, echo, reset, nowhere} {
		p := start(t, fault, nil)
		if _, err := p.Orders(t.Context(), good, full); err != nil {
			checkText(t, err)
		}
		p.KeyAsToken = true
		if _, err := p.Orders(t.Context(), good, full); err != nil {
			checkText(t, err)
		}
	}

	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	logged, err := io.ReadAll(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(logged, []byte("repair orders")) || !bytes.Contains(logged, []byte(`"reason"`)) {
		t.Fatalf("the log was not caught: %s", logged)
	}
	for _, secret := range []string{"planted", "username=", "token=", "key=", "API/"} {
		if bytes.Contains(logged, []byte(secret)) {
			t.Errorf("the log shows %q:\n%s", secret, logged)
		}
	}
}

// recording returns a recorded body, or skips the test.
func recording(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "recordings", "fleetrock", name))
	if err != nil {
		t.Skipf("no recordings beside the repository: %v", err)
	}
	return string(body)
}

func TestRecordings(t *testing.T) {
	t.Run("ok/orders", func(t *testing.T) {
		s := &script{login: with(200, recording(t, "gettoken_200.json")), list: with(200, recording(t, "getro_200.json"))}
		arrays, err := start(t, s, nil).Orders(t.Context(), good, full)
		if err != nil {
			t.Fatal(err)
		}
		out, n, err := transform.NormalizeOrders(nil, arrays)
		if err != nil {
			t.Fatal(err)
		}
		var orders []map[string]string
		if err := json.Unmarshal(out, &orders); err != nil {
			t.Fatal(err)
		}
		if n == 0 || n != len(orders) || orders[0]["id"] != "3841016" || orders[0]["grand_total"] != "205.00" ||
			orders[0]["date_created"] != "9/14/2026 1:05:09 PM" {
			t.Errorf("%d orders: %v", n, orders)
		}
	})
	t.Run("ok/no orders", func(t *testing.T) {
		s := &script{login: with(200, recording(t, "gettoken_200.json")), list: with(200, recording(t, "getro_200_empty.json"))}
		arrays, err := start(t, s, nil).Orders(t.Context(), good, full)
		if err != nil || len(arrays) != 0 {
			t.Errorf("%d arrays, error %v", len(arrays), err)
		}
	})
	t.Run("fail/error in the body", func(t *testing.T) {
		s := &script{login: with(200, recording(t, "gettoken_200.json")), list: with(200, recording(t, "error_in_body.json"))}
		_, err := start(t, s, nil).Orders(t.Context(), good, full)
		checkError(t, err, providers.ErrAuth, "Invalid token.")
	})
}
