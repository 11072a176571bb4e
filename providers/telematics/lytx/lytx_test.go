package lytx

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/providers/telematics"
	"github.com/fleetgate/fleetgate/providers/telematics/telematicstest"
)

func TestMain(m *testing.M) {
	// A proxy of the machine that runs the tests would catch their calls.
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		_ = os.Unsetenv(name)
	}
	goleak.VerifyTestMain(m)
}

// load provisions the module as an area handler does, from its JSON.
func load(t *testing.T, config string) *Provider {
	t.Helper()
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	t.Cleanup(cancel) // cleans the module up, too
	mod, err := ctx.LoadModuleByID("gateway.telematics.lytx", json.RawMessage(config))
	if err != nil {
		t.Fatal(err)
	}
	return mod.(*Provider)
}

// open returns a provider that calls the service.
func open(t *testing.T, s *service, options ...string) *Provider {
	t.Helper()
	return load(t, `{`+strings.Join(append(options, `"base_url":"`+s.serve(t)+`"`), ",")+`}`)
}

func TestConformance(t *testing.T) {
	full := telematics.Query{
		DateOption: telematics.FieldLastUpdated, SortBy: telematics.FieldLastUpdated, SortDirection: telematics.Descending,
		IncludeSubgroups: true, Limit: 1000,
	}
	none := full
	none.Start, none.End = "2020-01-01", "2020-01-31"
	several := full
	several.DriverIDs = []string{driverID(1), driverID(2), driverID(3)}
	several.VehicleIDs = []string{vehicleID(1), vehicleID(2)}

	for name, q := range map[string]telematics.Query{"all": full, "several ids": several} {
		t.Run(name, func(t *testing.T) {
			noneOf := none
			noneOf.DriverIDs, noneOf.VehicleIDs = q.DriverIDs, q.VehicleIDs
			telematicstest.Run(t, telematicstest.Harness{
				New: func(t *testing.T, up telematicstest.Upstream) telematics.Provider {
					config, err := json.Marshal(map[string]any{"base_url": up.URL, "timeout": up.Timeout})
					if err != nil {
						t.Fatal(err)
					}
					return load(t, string(config))
				},
				NewService: func(t *testing.T) http.Handler { return newService(t) },
				IsEvents:   func(r *http.Request) bool { return r.URL.Path == pathEvents },
				Good:       telematics.Credential{APIKey: goodKey},
				Bad:        telematics.Credential{APIKey: "wrong-key"},
				Full:       q,
				None:       noneOf,
			})
		})
	}
}

func TestProvision(t *testing.T) {
	p := load(t, `{"base_url":"https://lytx-api.prod5.ph.lytx.com"}`)
	if p.DisplayName() != "Lytx" || p.Timeout != caddy.Duration(time.Minute) || p.CatalogTTL != caddy.Duration(time.Hour) ||
		p.VehicleTTL != caddy.Duration(10*time.Minute) || p.Stale != caddy.Duration(24*time.Hour) ||
		p.CatalogTimeout != caddy.Duration(10*time.Second) || p.PageSize != 100 {
		t.Errorf("the defaults are %+v", p)
	}

	for _, tc := range []struct{ name, config, want string }{
		{"fail/no base_url", `{}`, "lytx: base_url is required"},
		{"fail/catalog_ttl", `{"base_url":"http://a","catalog_ttl":-1}`, "lytx: catalog_ttl must not be negative"},
		{"fail/vehicle_ttl", `{"base_url":"http://a","vehicle_ttl":-1}`, "lytx: vehicle_ttl must not be negative"},
		{"fail/stale", `{"base_url":"http://a","stale":-1}`, "lytx: stale must not be negative"},
		{"fail/catalog_timeout", `{"base_url":"http://a","catalog_timeout":-1}`, "lytx: catalog_timeout must not be negative"},
		{"fail/page_size low", `{"base_url":"http://a","page_size":-1}`, "lytx: page_size must be between 1 and 1000"},
		{"fail/page_size high", `{"base_url":"http://a","page_size":1001}`, "lytx: page_size must be between 1 and 1000"},
		{"fail/unknown option", `{"base_url":"http://a","catalogue_ttl":1}`, "catalogue_ttl"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
			defer cancel()
			// The module is cleaned up after the failure, which must not panic.
			_, err := ctx.LoadModuleByID("gateway.telematics.lytx", json.RawMessage(tc.config))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want %q", err, tc.want)
			}
		})
	}
}

func TestUnmarshalCaddyfile(t *testing.T) {
	for _, tc := range []struct{ name, block, want, wantErr string }{
		{
			name: "ok/all",
			block: `lytx {
				base_url {env.LYTX_URL}
				catalog_ttl 2h
				vehicle_ttl 5m
				stale 12h
				catalog_timeout 3s
				page_size 250
				display_name Cameras
				timeout 20s
				max_body 1MiB
				transport http {
					dial_timeout 3s
				}
			}`,
			want: `{"base_url":"{env.LYTX_URL}","display_name":"Cameras","timeout":20000000000,"max_body":1048576,` +
				`"transport":{"dial_timeout":3000000000,"protocol":"http"},"catalog_ttl":7200000000000,"vehicle_ttl":300000000000,` +
				`"stale":43200000000000,"catalog_timeout":3000000000,"page_size":250}`,
		},
		{name: "ok/least", block: "lytx {\n base_url https://a\n}", want: `{"base_url":"https://a"}`},
		{name: "fail/none", block: "lytx", wantErr: "base_url is required: the root of the pod that the tenant belongs to, at Testfile:1"},
		{name: "fail/argument", block: "lytx https://a", wantErr: "wrong argument count"},
		{name: "fail/unknown", block: "lytx {\n api_key x\n}", wantErr: "unrecognized subdirective 'api_key'; allowed are catalog_ttl, vehicle_ttl, stale, catalog_timeout, page_size, base_url, display_name, timeout, max_body, transport"},
		{name: "fail/catalog_ttl", block: "lytx {\n catalog_ttl never\n}", wantErr: "catalog_ttl must be a duration above zero, such as 30s, not 'never'"},
		{name: "fail/twice catalog_ttl", block: "lytx {\n catalog_ttl 1h\n catalog_ttl 1h\n}", wantErr: "option 'catalog_ttl' is given twice"},
		{name: "fail/twice vehicle_ttl", block: "lytx {\n vehicle_ttl 1h\n vehicle_ttl 1h\n}", wantErr: "option 'vehicle_ttl' is given twice"},
		{name: "fail/twice stale", block: "lytx {\n stale 1h\n stale 1h\n}", wantErr: "option 'stale' is given twice"},
		{name: "fail/twice catalog_timeout", block: "lytx {\n catalog_timeout 1h\n catalog_timeout 1h\n}", wantErr: "option 'catalog_timeout' is given twice"},
		{name: "fail/twice page_size", block: "lytx {\n page_size 1\n page_size 1\n}", wantErr: "option 'page_size' is given twice"},
		{name: "fail/page_size", block: "lytx {\n page_size all\n}", wantErr: "page_size must be a number from 1 to 1000, not 'all'"},
		{name: "fail/page_size zero", block: "lytx {\n page_size 0\n}", wantErr: "page_size must be a number from 1 to 1000, not '0'"},
		{name: "fail/page_size high", block: "lytx {\n page_size 1001\n}", wantErr: "page_size must be a number from 1 to 1000, not '1001'"},
		{name: "fail/page_size none", block: "lytx {\n page_size\n}", wantErr: "wrong argument count or unexpected line ending after 'page_size'"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var p Provider
			err := p.UnmarshalCaddyfile(caddyfile.NewTestDispenser(tc.block))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("error is %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(&p)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
