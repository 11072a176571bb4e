package sandbox

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

func TestUnmarshalCaddyfile(t *testing.T) {
	for name, tc := range map[string]struct{ in, json string }{
		"nothing":     {`gateway_sandbox`, `{}`},
		"empty block": {"gateway_sandbox {\n}", `{}`},
		"everything": {
			"gateway_sandbox {\nproviders lytx quikq\nseed 7\nsession_ttl 90s\nlatency 250ms\nthrottle off\nfault throttle every 10 path /lytx/video retry_after 30s\nfault reset\n}",
			`{"providers":["lytx","quikq"],"seed":7,"session_ttl":90000000000,"latency":250000000,"throttle":-1,"fault":[{"kind":"throttle","every":10,"path":"/lytx/video","retry_after":30000000000},{"kind":"reset"}]}`,
		},
		"throttle": {"gateway_sandbox {\nthrottle 3\n}", `{"throttle":3}`},
	} {
		t.Run("ok/"+name, func(t *testing.T) {
			var h Handler
			if err := h.UnmarshalCaddyfile(caddyfile.NewTestDispenser(tc.in)); err != nil {
				t.Fatal(err)
			}
			if got := string(caddyconfig.JSON(h, nil)); got != tc.json {
				t.Errorf("JSON %s\nwant %s", got, tc.json)
			}
		})
	}
	for in, want := range map[string]string{
		"gateway_sandbox lytx":                                              `wrong argument count or unexpected line ending after 'gateway_sandbox', at Testfile:1`,
		"gateway_sandbox {\nproviders\n}":                                   `wrong argument count or unexpected line ending after 'providers', at Testfile:2`,
		"gateway_sandbox {\nproviders lytx motive\n}":                       `unknown provider 'motive'; known are lytx, quikq, fleetrock, quickbooks, at Testfile:2`,
		"gateway_sandbox {\nproviders lytx lytx\n}":                         `provider 'lytx' is listed twice, at Testfile:2`,
		"gateway_sandbox {\nseed 1\nseed 2\n}":                              `seed is given twice, at Testfile:3`,
		"gateway_sandbox {\nseed\n}":                                        `wrong argument count or unexpected line ending after 'seed', at Testfile:2`,
		"gateway_sandbox {\nseed 0\n}":                                      `seed must be a whole number above 0, not '0', at Testfile:2`,
		"gateway_sandbox {\nseed 1 2\n}":                                    `wrong argument count or unexpected line ending after '1', at Testfile:2`,
		"gateway_sandbox {\nsession_ttl 0\n}":                               `session_ttl must be a duration such as 10m, not '0', at Testfile:2`,
		"gateway_sandbox {\nsession_ttl soon\n}":                            `session_ttl must be a duration such as 10m, not 'soon', at Testfile:2`,
		"gateway_sandbox {\nlatency -1s\n}":                                 `latency must be a duration such as 10m, not '-1s', at Testfile:2`,
		"gateway_sandbox {\nthrottle\n}":                                    `wrong argument count or unexpected line ending after 'throttle', at Testfile:2`,
		"gateway_sandbox {\nthrottle 0\n}":                                  `throttle must be off or a number of calls from 1 to 1000000, not '0', at Testfile:2`,
		"gateway_sandbox {\nthrottle on\n}":                                 `throttle must be off or a number of calls from 1 to 1000000, not 'on', at Testfile:2`,
		"gateway_sandbox {\nthrottle 5 6\n}":                                `wrong argument count or unexpected line ending after '5', at Testfile:2`,
		"gateway_sandbox {\nlatencies 1s\n}":                                `unrecognized subdirective 'latencies'; allowed are providers, seed, session_ttl, latency, throttle, fault, at Testfile:2`,
		"gateway_sandbox {\nfault\n}":                                       `wrong argument count or unexpected line ending after 'fault', at Testfile:2`,
		"gateway_sandbox {\nfault stall\n}":                                 `unknown fault 'stall'; known are throttle, error, unavailable, forbidden, reset, truncate, invalid_json, html, empty, not_utf8, deep, huge, shift, drop_session, lost, short_page, long_page, repeat_page, shrink, fault_200, xml, xml_throttle, at Testfile:2`,
		"gateway_sandbox {\nfault error each 2\n}":                          `unrecognized option 'each' of a fault; allowed are every, path, retry_after, at Testfile:2`,
		"gateway_sandbox {\nfault error every 0\n}":                         `every must be a whole number above 0, not '0', at Testfile:2`,
		"gateway_sandbox {\nfault error every\n}":                           `wrong argument count or unexpected line ending after 'every', at Testfile:2`,
		"gateway_sandbox {\nfault error every 2 every 3\n}":                 `every is given twice, at Testfile:2`,
		"gateway_sandbox {\nfault error path\n}":                            `wrong argument count or unexpected line ending after 'path', at Testfile:2`,
		"gateway_sandbox {\nfault error path lytx\n}":                       `fault: path "lytx" must begin with a slash, at Testfile:2`,
		"gateway_sandbox {\nfault error retry_after 5s\n}":                  `fault: retry_after goes with throttle and unavailable only, not with error, at Testfile:2`,
		"gateway_sandbox {\nfault throttle retry_after 0s\n}":               `retry_after must be a duration such as 10m, not '0s', at Testfile:2`,
		"gateway_sandbox {\nfault error path /fleetrock\nproviders lytx\n}": `fault: path "/fleetrock" is below no simulated provider; they are at /lytx, at Testfile:4`,
		"gateway_sandbox {\nfault error path /\n}":                          `fault: path "/" is below no simulated provider; they are at /lytx, /quikq, /fleetrock, /quickbooks, at Testfile:3`,
	} {
		t.Run("fail/"+in, func(t *testing.T) {
			err := new(Handler).UnmarshalCaddyfile(caddyfile.NewTestDispenser(in))
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %v\nwant %s", err, want)
			}
		})
	}
}

func TestAdapt(t *testing.T) {
	adapter := caddyfile.Adapter{ServerType: httpcaddyfile.ServerType{}}
	out, warnings, err := adapter.Adapt([]byte(":9000 {\n\trespond 404\n\tgateway_sandbox /lytx/* {\n\t\tproviders lytx\n\t}\n}\n"), nil)
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	const want = `"routes":[{"match":[{"path":["/lytx/*"]}],"handle":[{"handler":"gateway_sandbox","providers":["lytx"]}]},{"handle":[{"handler":"static_response","status_code":404}]}]`
	if !strings.Contains(string(out), want) {
		t.Errorf("JSON %s\nlacks %s", out, want)
	}
}

func provision(t *testing.T, config string) (*Handler, error) {
	t.Helper()
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	t.Cleanup(cancel)
	m, err := ctx.LoadModuleByID("http.handlers.gateway_sandbox", []byte(config))
	if err != nil {
		return nil, err
	}
	return m.(*Handler), nil
}

func TestProvision(t *testing.T) {
	t.Run("ok/serves", func(t *testing.T) {
		h, err := provision(t, `{}`)
		if err != nil {
			t.Fatal(err)
		}
		next := caddyhttp.HandlerFunc(func(http.ResponseWriter, *http.Request) error {
			t.Error("the next handler was called")
			return nil
		})
		for path, want := range map[string]int{"/lytx/video/safety/events/statuses": 401, "/fleetrock/API/GetToken": 200, "/quikq/v1/auth": 405, "/quickbooks/v3/company/1/account/35": 401} {
			w := httptest.NewRecorder()
			if err := h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil), next); err != nil || w.Code != want {
				t.Errorf("%s answered %d, %v", path, w.Code, err)
			}
		}
		w := httptest.NewRecorder()
		if err := h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/video/vehicles", nil), next); err != nil || w.Code != http.StatusNotFound ||
			w.Body.String() != `{"message":"no simulated provider has this path; they are at /lytx, /quikq, /fleetrock, /quickbooks"}` {
			t.Errorf("answered %d %s, %v", w.Code, w.Body, err)
		}
	})
	t.Run("ok/only those listed", func(t *testing.T) {
		h, err := provision(t, `{"providers":["quikq"]}`)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		if err := h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/lytx/video/vehicles", nil), nil); err != nil || w.Code != http.StatusNotFound ||
			!strings.Contains(w.Body.String(), "they are at /quikq") {
			t.Errorf("answered %d %s, %v", w.Code, w.Body, err)
		}
	})
	for config, want := range map[string]string{
		`{"providers":["motive"]}`:                           `providers: unknown provider "motive"; known are lytx, quikq, fleetrock, quickbooks`,
		`{"providers":["lytx","lytx"]}`:                      `providers: lytx is listed twice`,
		`{"session_ttl":"-1s"}`:                              `session_ttl must not be negative`,
		`{"latency":-1}`:                                     `latency must not be negative`,
		`{"throttle":-2}`:                                    `throttle must be a number of calls from 1 to 1000000, or -1 for no limit`,
		`{"fault":[{}]}`:                                     `fault: unknown kind ""; known are throttle,`,
		`{"fault":[{"kind":"error","retry_after":-5}]}`:      `fault: retry_after must not be negative`,
		`{"fault":[{"kind":"error","path":"/mapbox"}]}`:      `fault: path "/mapbox" is below no simulated provider; they are at /lytx, /quikq, /fleetrock, /quickbooks`,
		`{"providers":["lytx"],"faults":[{"kind":"error"}]}`: `unknown field "faults"`,
	} {
		t.Run("fail/"+config, func(t *testing.T) {
			if _, err := provision(t, config); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
		})
	}
}

func TestNewSimulatorPanics(t *testing.T) {
	defer func() {
		if r := recover(); r != "sandbox: session_ttl must not be negative" {
			t.Errorf("panic %v", r)
		}
	}()
	NewSimulator(Options{SessionTTL: -time.Second})
}

func BenchmarkEvents(b *testing.B) {
	h := NewSimulator(Options{})
	r := httptest.NewRequest(http.MethodGet, "/lytx"+eventsPath, nil)
	r.Header.Set("X-APIKey", "demo")
	w := discard{http.Header{}}
	h.ServeHTTP(w, r)
	b.ReportAllocs()
	for b.Loop() {
		h.ServeHTTP(w, r)
	}
}

// discard is a ResponseWriter that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(b []byte) (int, error) { return len(b), nil }
func (d discard) WriteHeader(int)             {}
