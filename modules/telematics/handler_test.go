package telematics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"

	"github.com/fleetgate/fleetgate/modules/gateway"
	"github.com/fleetgate/fleetgate/modules/internal/areatest"
	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/telematics"
)

type scenario = areatest.Scenario[*fakeProvider]

const path = "/telematics/driver-performance-events"

const apiKey = "key-" + areatest.Secret

// headers returns what a complete call carries, with changes as name, value pairs.
func headers(pairs ...string) http.Header {
	h := http.Header{"Authorization": {"Bearer fgt_" + areatest.Secret}, "Api-Key-Eld": {apiKey}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// run fills in what most scenarios share: an admitted caller with an API key.
func run(t *testing.T, scenarios []scenario) {
	t.Helper()
	for i := range scenarios {
		sc := &scenarios[i]
		if sc.Target == "" {
			sc.Target = path
		}
		if sc.Header == nil {
			sc.Header = headers()
		}
		if sc.Verdict == nil {
			sc.Verdict = areatest.Allowed()
		}
	}
	suite.Run(t, scenarios)
}

func body(events string) func(*fakeProvider) {
	return func(p *fakeProvider) { p.events.Body = []byte(events) }
}

func failing(err error) func(*fakeProvider) {
	return func(p *fakeProvider) { p.err = err }
}

const emptyList = `{"status":"Success","message":"Success","data":[]}`

func failure(message string) string {
	return `{"status":"Error","message":"` + message + `","data":null}`
}

// TestEvents is contract 4.3 #14 and 2.3.
func TestEvents(t *testing.T) {
	const (
		event  = `{"id":"e-1","eventTriggerId":30,"eventStatusId":3,"vehicleId":"v-1","recordDateUTC":"2026-01-02T03:04:05Z","revisionDate":"2026-01-03T00:00:00.5Z","speed":12.30,"big":12345678901234567890}`
		joined = `{"id":"e-1","eventTriggerId":30,"eventStatusId":3,"vehicleId":"v-1","recordDateUTC":"2026-01-02T03:04:05Z","revisionDate":"2026-01-03T00:00:00.5Z","speed":12.30,"big":12345678901234567890,` +
			`"type":"Hard Braking","coaching_status":"Resolved","vehicle":{"dcVehicleId":"v-1","name":"Truck 1","vin":"1FUJ"},` +
			`"eventDate":"2026-01-02T03:04:05Z","lastUpdatedDate":"2026-01-03T00:00:00.5Z"}`
		strange = `{"id":7,"eventTriggerId":99,"eventStatusId":99,"vehicleId":"v-9"}`
	)
	noHeaders := map[string]string{"X-Enrichment": "", "Age": ""}
	run(t, []scenario{
		{
			Name: "ok/enriched", Provider: body("[" + event + "]"), WantCalls: 1,
			WantBody: `{"status":"Success","message":"Success","data":[` + joined + `]}`, WantHeader: noHeaders,
		},
		{
			Name: "ok/slash at the end", Target: path + "/", Provider: body("[" + event + "]"), WantCalls: 1,
			WantContains: []string{`"type":"Hard Braking"`}, NotContains: []string{"Unknown"},
		},
		{Name: "ok/nothing matches", Provider: body(""), WantCalls: 1, WantBody: emptyList, WantHeader: noHeaders},
		{Name: "ok/an empty array", Provider: body("[ ]\n"), WantCalls: 1, WantBody: emptyList, WantHeader: noHeaders},
		{
			Name: "ok/partly enriched", Provider: body("[" + event + "," + strange + "]"), WantCalls: 1,
			WantContains: []string{`"type":"Hard Braking"`, `"type":"Unknown","coaching_status":"Unknown","vehicle":{"dcVehicleId":"v-9","name":""}`},
			WantHeader:   map[string]string{"X-Enrichment": "partial; trigger=1, status=1, vehicle=1", "Age": ""},
		},
		{
			Name: "ok/no catalogs", WantCalls: 1,
			Provider: func(p *fakeProvider) {
				p.events.Body, p.catalogs = []byte("["+event+"]"), telematics.Catalogs{}
			},
			WantContains: []string{`"type":"Unknown"`, `"vehicle":{"dcVehicleId":"v-1","name":""}`},
			NotContains:  []string{"Hard Braking", "null"},
			WantHeader:   map[string]string{"X-Enrichment": "partial; trigger=1, status=1, vehicle=1"},
		},
		{
			Name: "ok/vehicle details missing", WantCalls: 1,
			Provider: func(p *fakeProvider) {
				p.events.Body, p.catalogs.DetailsMissing = []byte("["+event+"]"), true
			},
			WantHeader: map[string]string{"X-Enrichment": "partial; vehicle_details=1"},
		},
		{
			Name: "ok/vehicle details missing of nothing", WantCalls: 1, WantBody: emptyList,
			Provider: func(p *fakeProvider) {
				p.events.Body, p.catalogs.DetailsMissing = []byte("[]"), true
			},
			WantHeader: noHeaders,
		},
		{
			Name: "ok/stale catalogs", WantCalls: 1,
			Provider: func(p *fakeProvider) {
				p.events.Body, p.catalogs.Age = []byte("["+event+"]"), 90*time.Minute+900*time.Millisecond
			},
			WantHeader: map[string]string{"Age": "5400", "X-Enrichment": ""},
		},
		{
			Name: "ok/request id goes upstream", Header: headers("X-Request-Id", "req-1"), WantCalls: 1, WantBody: emptyList,
			Check: func(p *fakeProvider) error {
				if p.requestID != "req-1" {
					return fmt.Errorf("request id is %q", p.requestID)
				}
				return nil
			},
		},
		{
			Name: "ok/catalogs panic", WantCalls: 1,
			Provider: func(p *fakeProvider) {
				p.events.Body = []byte("[" + event + "]")
				p.onCatalogs = func(context.Context) { panic("at " + apiKey) }
			},
			WantContains: []string{`"type":"Unknown"`},
			NotContains:  []string{"panic"},
			WantHeader:   map[string]string{"X-Enrichment": "partial; trigger=1, status=1, vehicle=1"},
		},
		{
			Name: "fail/events panic", WantCalls: 1, WantStatus: 500, WantCode: "internal",
			Provider: func(p *fakeProvider) { p.onEvents = func(context.Context) { panic("at " + apiKey) } },
			WantBody: failure("Internal Server Error"), NotContains: []string{"goroutine", "panic"},
		},
	})
}

// TestAPIKey is the second row of contract 7.3.
func TestAPIKey(t *testing.T) {
	var scenarios []scenario
	for name, values := range map[string][]string{
		"missing":           nil,
		"empty":             {""},
		"repeated":          {apiKey, apiKey},
		"10 kB":             {strings.Repeat("k", 10_000)},
		"not UTF-8":         {"key\xff"},
		"tab":               {"a\tb"},
		"control character": {"a\x01"},
		"delete":            {"a\x7f"},
	} {
		h := headers()
		h["Api-Key-Eld"] = values
		for where, query := range map[string]string{"": "", " and a bad limit": "?limit=0"} {
			scenarios = append(scenarios, scenario{
				Name: "fail/" + name + where, Target: path + query, Header: h, WantStatus: 400, WantCode: "invalid_request",
				WantBody: failure("API key is missing or invalid."), NotContains: []string{"kkk", "limit"},
			})
		}
	}
	run(t, scenarios)
}

// TestProviderErrors are the other rows of contract 7.3.
func TestProviderErrors(t *testing.T) {
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	scenarios := []scenario{
		{
			Name: "fail/credential refused", Provider: failing(&providers.Error{Kind: providers.KindAuth, Message: "Unauthorized"}),
			WantStatus: 401, WantCode: "provider_auth", WantBody: failure("API key is missing or invalid."), WantHeader: map[string]string{"Www-Authenticate": ""},
		},
		{
			Name: "fail/forbidden", Provider: failing(&providers.Error{Kind: providers.KindForbidden, Message: "Forbidden"}),
			WantStatus: 403, WantCode: "provider_auth", WantBody: failure("Forbidden"),
		},
		{
			Name: "fail/not found", Provider: failing(&providers.Error{Kind: providers.KindNotFound, Message: "no Route matched with those values"}),
			WantStatus: 404, WantCode: "provider_not_found", WantBody: failure("no Route matched with those values"),
		},
		{
			Name: "fail/conflict", Provider: failing(&providers.Error{Kind: providers.KindConflict, Message: "stale"}),
			WantStatus: 409, WantCode: "provider_conflict", WantBody: failure("stale"),
		},
		{
			Name: "fail/rejected", Provider: failing(&providers.Error{Kind: providers.KindRejected, Message: `Invalid "date" format.`}),
			WantStatus: 422, WantCode: "provider_rejected", WantBody: failure(`Invalid \"date\" format.`),
		},
		{
			Name: "fail/throttled", Provider: failing(&providers.Error{Kind: providers.KindThrottled, Message: "slow down", RetryAfter: 2500 * time.Millisecond}),
			WantStatus: 429, WantCode: "provider_throttled", WantBody: failure("slow down"), WantHeader: map[string]string{"Retry-After": "3"},
		},
		{
			Name: "fail/provider", Provider: failing(&providers.Error{Message: "Internal Server Error", Err: errors.New(apiKey)}),
			WantStatus: 502, WantCode: "provider_error", WantBody: failure("Internal Server Error"),
		},
		{
			Name: "fail/provider says invalid JSON", Provider: failing(&providers.Error{Kind: providers.KindInvalidJSON}),
			WantStatus: 502, WantCode: "provider_invalid_json", WantBody: failure("Invalid JSON response"),
		},
		{
			Name: "fail/too large", Provider: failing(&providers.Error{Kind: providers.KindTooLarge, Message: "response too large"}),
			WantStatus: 502, WantCode: "provider_error", WantBody: failure("cURL error: response too large"),
		},
		{
			Name: "fail/unreachable", Provider: failing(&providers.Error{Kind: providers.KindUnreachable, Message: "connection refused"}),
			WantStatus: 502, WantCode: "provider_unreachable", WantBody: failure("cURL error: connection refused"),
		},
		{
			Name: "fail/timeout", Provider: failing(&providers.Error{Kind: providers.KindTimeout, Message: "timeout"}),
			WantStatus: 504, WantCode: "provider_timeout", WantBody: failure("cURL error: timeout"),
		},
		{
			Name: "fail/unavailable", Provider: failing(&providers.Error{Kind: providers.KindUnavailable, Message: "try later"}),
			WantStatus: 503, WantCode: "unavailable", WantBody: failure("try later"), WantHeader: map[string]string{"Retry-After": "5"},
		},
		{
			Name: "fail/canceled", Provider: failing(&providers.Error{Kind: providers.KindCanceled, Message: "request canceled"}),
			WantStatus: 499, WantCode: "canceled", WantBody: failure("cURL error: request canceled"),
		},
		{
			Name: "fail/error of a foreign type", Provider: failing(errors.New("GET https://x/?key=" + apiKey)),
			WantStatus: 502, WantCode: "provider_error", WantBody: failure("Bad Gateway"), NotContains: []string{"https"},
		},
	}
	for name, text := range map[string]string{
		"blanks": "  \n", "truncated": `[{"id":1},{"id"`, "HTML": "<html><body>" + areatest.Secret + "</body></html>",
		"deep": deep, "not UTF-8": "[{\"id\":\"\xff\"}]", "an object": `{"events":[]}`, "null": "null",
		"a list of numbers": "[1,2]", "two texts": "[] []", "byte order mark": "\ufeff[]", "half a number": `[{"id":01}]`,
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/body is " + name, Provider: body(text), WantStatus: 502, WantCode: "provider_invalid_json",
			WantBody: failure("Invalid JSON response"), NotContains: []string{"html", "offset"}, WantHeader: map[string]string{"X-Enrichment": "", "Age": ""},
		})
	}
	for i := range scenarios {
		scenarios[i].WantCalls = 1
	}
	run(t, scenarios)
}

// TestAdmission is the first row of contract 7.3, and the scopes.
func TestAdmission(t *testing.T) {
	scenarios := []scenario{
		{Name: "ok/every area", Verdict: areatest.Allowed(), WantCalls: 1, WantBody: emptyList},
		{Name: "ok/scope", Verdict: areatest.Allowed("fuel", "telematics"), WantCalls: 1, WantBody: emptyList},
		{Name: "ok/read scope", Verdict: areatest.Allowed("telematics:read"), WantCalls: 1, WantBody: emptyList},
		{
			Name: "fail/other scope", Verdict: areatest.Allowed("fuel", "maps:read"),
			WantStatus: 403, WantCode: "unauthorized", WantBody: failure("Unauthorized"),
		},
		{
			Name: "fail/other scope and no key", Verdict: areatest.Allowed("fuel"), Header: http.Header{"Authorization": {"Bearer x"}},
			WantStatus: 403, WantCode: "unauthorized", WantBody: failure("Unauthorized"),
		},
		{
			Name: "fail/store away", Verdict: areatest.Refused(gateway.ReasonUnavailable),
			WantStatus: 503, WantCode: "unavailable", WantBody: failure("Service Unavailable"), WantHeader: map[string]string{"Retry-After": "5"},
		},
	}
	for _, reason := range []gateway.Reason{
		gateway.ReasonRefused, gateway.ReasonMissing, gateway.ReasonMalformed,
		gateway.ReasonUnknown, gateway.ReasonExpired, gateway.ReasonRevoked,
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + reason.String(), Verdict: areatest.Refused(reason), WantStatus: 401, WantCode: "unauthenticated",
			WantBody: failure("Unauthenticated"), WantHeader: map[string]string{"Www-Authenticate": "Bearer"},
		})
	}
	run(t, scenarios)
	suite.Run(t, []scenario{{
		Name: "fail/no verdict", Target: path, Header: headers(), WantStatus: 401, WantCode: "unauthenticated",
		WantBody: failure("Unauthenticated"), WantHeader: map[string]string{"Www-Authenticate": "Bearer"},
	}})
}

func TestPaths(t *testing.T) {
	var scenarios []scenario
	for name, target := range map[string]string{
		"two slashes at the end": path + "//", "two slashes inside": "/telematics//driver-performance-events",
		"case": "/telematics/Driver-Performance-Events", "case of the area": "/Telematics/driver-performance-events",
		"encoded slash": "/telematics%2Fdriver-performance-events", "encoded dash": "/telematics/driver%2Dperformance-events",
		"dot": "/telematics/./driver-performance-events", "dots": "/telematics/x/../driver-performance-events",
		"encoded dots": "/telematics/%2e%2e/telematics/driver-performance-events", "deeper": path + "/1", "shorter": "/telematics",
		"null byte": path + "%00", "semicolon": path + ";x=1", "other area": "/fuel/reports/transactions",
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + name, Target: target, WantStatus: 404, WantCode: "not_found", WantBody: failure("Not Found"),
		})
	}
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get"} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + method, Method: method, WantStatus: 405, WantCode: "method_not_allowed",
			WantBody: failure("Method Not Allowed"), WantHeader: map[string]string{"Allow": "GET"},
		})
	}
	run(t, scenarios)
}

// TestCallsRunTogether holds each call until the other one has begun.
func TestCallsRunTogether(t *testing.T) {
	eventsBegan, catalogsBegan := make(chan struct{}), make(chan struct{})
	meet := func(mine, other chan struct{}) func(context.Context) {
		return func(ctx context.Context) {
			close(mine)
			select {
			case <-other:
			case <-ctx.Done():
				t.Error("the calls do not run together")
			}
		}
	}
	run(t, []scenario{{
		Name: "ok/together", WantCalls: 1, WantBody: emptyList,
		Provider: func(p *fakeProvider) {
			p.onEvents, p.onCatalogs = meet(eventsBegan, catalogsBegan), meet(catalogsBegan, eventsBegan)
		},
	}})
}

// TestFailedEventsEndTheCatalogs would wait for ever if the catalogs' context lived on.
func TestFailedEventsEndTheCatalogs(t *testing.T) {
	run(t, []scenario{{
		Name: "fail/events", WantCalls: 1, WantStatus: 502, WantCode: "provider_error", WantBody: failure("boom"),
		Provider: func(p *fakeProvider) {
			p.err = &providers.Error{Message: "boom"}
			p.onCatalogs = func(ctx context.Context) { <-ctx.Done() }
		},
	}})
}

// TestPanicInCatalogsIsLogged checks the one trace that it leaves.
func TestPanicInCatalogsIsLogged(t *testing.T) {
	h, fake, logs := suite.Load(t)
	fake.onCatalogs = func(context.Context) { panic(apiKey) }
	h.catalogs(t.Context(), telematics.Credential{APIKey: apiKey})
	lines := logs()
	if len(lines) != 1 || !strings.Contains(lines[0], "provider panicked") || !strings.Contains(lines[0], `"type":"string"`) {
		t.Errorf("logged %q", lines)
	}
	if strings.Contains(strings.Join(lines, ""), areatest.Secret) {
		t.Error("the log shows the key")
	}
}

func TestProvision(t *testing.T) {
	ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
	defer cancel()
	for config, want := range map[string]string{
		`{}`:                       "provider is required",
		`{"provider":{}}`:          "the key 'name' is missing",
		`{"providers":{"name":1}}`: `unknown field "providers"`,
		`{"provider":{"name":"fake_telematics","base_url":"x"}}`: `unknown field "base_url"`,
	} {
		_, err := ctx.LoadModuleByID(suite.Module, []byte(config))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error is %v, want %q", config, err, want)
		}
	}
}

// TestLargeAnswer checks that an answer of thousands of events arrives whole.
func TestLargeAnswer(t *testing.T) {
	const event = `{"id":"e-1","eventTriggerId":30,"eventStatusId":3,"vehicleId":"v-1"}`
	events := []byte("[" + event)
	for range 4999 {
		events = append(events, ","+event...)
	}
	events = append(events, ']')
	run(t, []scenario{{
		Name: "ok/5000 events", WantCalls: 1, WantContains: []string{`"type":"Hard Braking"`}, NotContains: []string{"Unknown"},
		Provider: func(p *fakeProvider) { p.events.Body = bytes.Clone(events) },
	}})
}
