package e2e

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// areas is a snippet with the areas that call their providers. Its argument is the
// root of the upstream, its block goes into each provider.
const areas = `(areas) {
	gateway_auth
	gateway_telematics /telematics/* {
		provider lytx {
			base_url {args[0]}/lytx
			{block}
		}
	}
	gateway_fuel /fuel/* {
		provider quikq {
			base_url {args[0]}/quikq
			{block}
		}
	}
	gateway_maintenance /maintenance/* {
		provider fleetrock {
			base_url {args[0]}/fleetrock
			{block}
		}
	}
}
`

// simulated has a gateway and, on an address of its own, the simulated providers.
const simulated = globals + areas + `{$FLEETGATE_SITE} {
	gateway_health
	handle_path /api/* {
		import areas {$SANDBOX}
	}
}
{$SANDBOX} {
	gateway_sandbox
}
`

// trial is simulated with more beside: the area handlers that call nobody, the
// shipped snippets, and below other paths than /api what goes wrong on the way.
const trial = globals + areas + `{$FLEETGATE_SITE} {
	import security_headers
	import cors https://dispatch.example.com
	gateway_health
	handle_path /api/* {
		import areas {$SANDBOX} {
			max_body 8MiB
		}
		gateway_accounting /accounting/* {
			provider quickbooks
		}
		gateway_maps /maps* {
			tiles temporary_token
			provider mapbox {
				access_token none
			}
		}
	}
	handle_path /hasty/* {
		import areas {$SANDBOX} {
			timeout 1s
		}
	}
	handle_path /down/* {
		import areas {$DOWN}
	}
	handle_path /untrusted/* {
		import areas {$UNTRUSTED}
	}
	handle_path /slow/* {
		import areas {$SLOW} {
			timeout 500ms
		}
	}
	handle_path /observed/* {
		import areas {$OBSERVED}
	}
}
{$SANDBOX} {
	gateway_sandbox
}
`

// TestAPI speaks to one gateway about everything that needs no gateway of its own.
func TestAPI(t *testing.T) {
	t.Parallel()
	released := make(chan struct{})
	slow := upstream(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-released:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(released) })
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0) // it tells of each client that does not trust it
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	seen := new(observer)

	g := newGateway(t, &fleetgate, trial,
		sandboxAddress(t),
		"DOWN=http://127.0.0.1:"+freePort(t),
		"UNTRUSTED="+untrusted.URL,
		"SLOW="+slow,
		"OBSERVED="+upstream(t, seen),
	)
	g.start(t)
	g.open(t)

	// The group ends when all of its parallel tests have ended, and the process after it.
	t.Run("of", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *gateway){
			"success":       testSuccess,
			"provider":      testProviderFailures,
			"input":         testInput,
			"credentials":   testCredentials,
			"raw":           testRaw,
			"health":        testHealth,
			"protocols":     testProtocols,
			"token":         testTokens,
			"command":       testCommandErrors,
			"browser":       testBrowser,
			"refusals":      testRefusals,
			"server timing": testServerTiming,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, g)
			})
		}
		t.Run("request id", func(t *testing.T) {
			t.Parallel()
			testRequestID(t, g, seen)
		})
	})
}

func sandboxAddress(tb testing.TB) string { return "SANDBOX=http://127.0.0.1:" + freePort(tb) }

// upstream serves a handler for the time of a test and returns its URL.
func upstream(tb testing.TB, h http.Handler) string {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return s.URL
}

// observer keeps the header of the last call for events, and finds nothing.
type observer struct {
	mu   sync.Mutex
	last http.Header
}

func (o *observer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/eventsWithMetadata") {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.last = r.Header.Clone()
	}
	w.WriteHeader(http.StatusNoContent)
}

func (o *observer) header(name string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last.Get(name)
}

// area is an area of the API as a caller uses it.
type area struct {
	name string
	path string // of its operation, with a query for a small answer

	// credential returns the headers that carry it; secret is the part that chooses
	// what a simulated provider does.
	credential func(secret string) map[string]string
}

// The areas, with windows of recent days that depend on the clock, because the
// simulated providers' data does.
func telematicsArea() area {
	return area{
		name: "telematics",
		path: "/telematics/driver-performance-events/?limit=5",
		credential: func(secret string) map[string]string {
			return map[string]string{"api-key-eld": secret}
		},
	}
}

func fuelArea() area {
	return area{
		name: "fuel",
		path: "/fuel/reports/transactions?start_date=" + daysAgo(4) + "&end_date=" + daysAgo(2),
		credential: func(secret string) map[string]string {
			return map[string]string{"startCode": "1001", "userId": "driver", "password": secret}
		},
	}
}

func maintenanceArea() area {
	return area{
		name: "maintenance",
		path: "/maintenance/repair-orders?start_date=" + daysAgo(12) + "&end_date=" + daysAgo(2),
		credential: func(secret string) map[string]string {
			return map[string]string{"username": "shop", "api-key-eld": secret}
		},
	}
}

func daysAgo(n int) string {
	return time.Now().UTC().AddDate(0, 0, -n).Format(time.DateOnly)
}

func testSuccess(t *testing.T, g *gateway) {
	telematics, fuel, maintenance := telematicsArea(), fuelArea(), maintenanceArea()
	call := func(a area) request {
		return request{path: "/api" + a.path, header: a.credential("sandbox")}
	}
	t.Run("ok/telematics", func(t *testing.T) {
		a := g.do(t, call(telematics))
		checkEvents(t, success[[]map[string]any](t, a))
		if got := a.header.Get("X-Enrichment"); got != "" {
			t.Errorf("X-Enrichment %q, want none: the newest events are complete", got)
		}
	})
	t.Run("ok/fuel", func(t *testing.T) {
		checkReport(t, success[fuelReport](t, g.do(t, call(fuel))))
	})
	t.Run("ok/maintenance", func(t *testing.T) {
		checkOrders(t, success[[]map[string]any](t, g.do(t, call(maintenance))))
	})
	t.Run("ok/no slash or a slash", func(t *testing.T) {
		for _, path := range []string{"/api/telematics/driver-performance-events?limit=1", "/api/maintenance/repair-orders/?end_date=2000-01-31&start_date=2000-01-01"} {
			if a := g.do(t, request{path: path, header: map[string]string{"api-key-eld": "k", "username": "u"}}); a.status != http.StatusOK {
				t.Errorf("%s: status %d, want 200; body: %s", path, a.status, a.body)
			}
		}
	})
	t.Run("ok/nothing matches", func(t *testing.T) {
		for name, path := range map[string]string{
			"telematics":  "/api/telematics/driver-performance-events/?start_date=2000-01-01&end_date=2000-01-31",
			"maintenance": "/api/maintenance/repair-orders?start_date=2000-01-01&end_date=2000-01-31",
		} {
			a := g.do(t, request{path: path, header: map[string]string{"api-key-eld": "k", "username": "u"}})
			if want := `{"status":"Success","message":"Success","data":[]}`; a.status != http.StatusOK || a.body != want {
				t.Errorf("%s: status %d, body %.300s; want 200 and %s", name, a.status, a.body, want)
			}
		}
	})
	t.Run("ok/a window of several months", func(t *testing.T) {
		orders := success[[]map[string]any](t, g.do(t, request{
			path:   "/api/maintenance/repair-orders?start_date=" + daysAgo(75) + "&end_date=" + daysAgo(0),
			header: maintenance.credential("sandbox"),
		}))
		checkOrders(t, orders)
		if len(orders) < 300 {
			t.Errorf("%d orders of 75 days, want most of the 600 of 90 days", len(orders))
		}
	})
	t.Run("ok/catalogs that fail", func(t *testing.T) {
		a := g.do(t, request{path: "/api" + telematics.path, header: telematics.credential("fault-catalogs-error")})
		events := success[[]map[string]any](t, a)
		if got, want := a.header.Get("X-Enrichment"), "partial; trigger=5, status=5, vehicle="; !strings.HasPrefix(got, want) {
			t.Errorf("X-Enrichment %q, want it to begin with %q", got, want)
		}
		for i, event := range events {
			if event["type"] != "Unknown" || event["coaching_status"] != "Unknown" || event["eventDate"] == "" {
				t.Errorf("event %d: %v, want an unknown type and status, and a date", i, event)
			}
		}
	})
}
