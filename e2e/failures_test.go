package e2e

import (
	"net/http"
	"strings"
	"testing"
)

// What several rows say.
const (
	keyInvalid  = "API key is missing or invalid."
	jsonInvalid = "Invalid JSON response"
	tooLarge    = "cURL error: response too large"
)

// providerFailures are what a provider, or the way to it, can do wrong.
var providerFailures = []struct {
	name     string
	base     string // /api if empty
	secret   string // chooses what the simulated provider does
	status   int
	code     string
	retry    string // Retry-After
	message  string // of telematics and fuel
	fuel     string // of fuel, where it differs
	noRepeat string // the base that maintenance uses instead, because it would repeat the call
}{
	{name: "refuses the credential", secret: "invalid", status: 401, code: "provider_auth", message: keyInvalid, fuel: "Invalid credentials"},
	{name: "throttles", secret: "fault-throttle", status: 429, code: "provider_throttled", retry: "5", message: "API rate limit exceeded", fuel: "Too Many Requests"},
	{name: "throttles and says how long", secret: "fault-throttle-30s", status: 429, code: "provider_throttled", retry: "30", message: "API rate limit exceeded", fuel: "Too Many Requests"},
	{name: "fails", secret: "fault-error", status: 502, code: "provider_error", message: "Internal Server Error"},
	{name: "is unavailable", secret: "fault-unavailable", status: 502, code: "provider_error", message: "Service Unavailable"},
	{name: "forbids", secret: "fault-forbidden", status: 403, code: "provider_auth", message: "Forbidden", noRepeat: "/hasty"},
	{name: "resets the connection", secret: "fault-reset", status: 502, code: "provider_unreachable", message: "cURL error: connection reset"},
	{name: "ends in the middle", secret: "fault-truncate", status: 502, code: "provider_invalid_json", message: jsonInvalid},
	{name: "has a comma too many", secret: "fault-invalid_json", status: 502, code: "provider_invalid_json", message: jsonInvalid},
	{name: "sends HTML", secret: "fault-html", status: 502, code: "provider_invalid_json", message: jsonInvalid},
	{name: "sends nothing", secret: "fault-empty", status: 502, code: "provider_invalid_json", message: jsonInvalid},
	{name: "is not UTF-8", secret: "fault-not_utf8", status: 502, code: "provider_invalid_json", message: jsonInvalid},
	{name: "nests 10,000 levels", secret: "fault-deep", status: 502, code: "provider_invalid_json", message: jsonInvalid},
	{name: "sends more than max_body", secret: "fault-huge", status: 502, code: "provider_error", message: tooLarge},
	{name: "ends each session", secret: "fault-drop_session", status: 401, code: "provider_auth", message: keyInvalid, fuel: "Token expired or invalid"},
	{name: "is down", secret: "sandbox", base: "/down", status: 502, code: "provider_unreachable", message: "cURL error: connection refused"},
	{name: "is not trusted", secret: "sandbox", base: "/untrusted", status: 502, code: "provider_unreachable", message: "cURL error: TLS handshake failed"},
	{name: "is slow", secret: "sandbox", base: "/slow", status: 504, code: "provider_timeout", message: "cURL error: timeout"},
}

func testProviderFailures(t *testing.T, g *gateway) {
	telematics, fuel, maintenance := telematicsArea(), fuelArea(), maintenanceArea()
	for _, row := range providerFailures {
		for _, a := range []area{telematics, fuel, maintenance} {
			t.Run("fail/"+a.name+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				base, message := "/api", row.message
				if row.base != "" {
					base = row.base
				}
				switch {
				case a.name == fuel.name && row.fuel != "":
					message = row.fuel
				case a.name == maintenance.name:
					message = "Provider Error" // the one text of contract 7.5
					if row.noRepeat != "" {
						base = row.noRepeat
					}
				}
				got := g.do(t, request{path: base + a.path, header: a.credential(row.secret)})
				expect(t, got, row.status, row.code, failure(message))
				if retry := got.header.Get("Retry-After"); retry != row.retry {
					t.Errorf("Retry-After %q, want %q", retry, row.retry)
				}
				if got.header.Get("WWW-Authenticate") != "" {
					t.Error("WWW-Authenticate is set, although the gateway's token is good")
				}
			})
		}
	}
}

// expect checks an error answer whose body is known.
func expect(tb testing.TB, a answer, status int, code, body string) {
	tb.Helper()
	if a.status != status {
		tb.Errorf("status %d, want %d", a.status, status)
	}
	if got := a.header.Get("X-Error-Code"); got != code {
		tb.Errorf("X-Error-Code %q, want %q", got, code)
	}
	if a.body != body {
		tb.Errorf("body %.500s\nwant %s", a.body, body)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		tb.Errorf("Content-Type %q, want application/json", got)
	}
	if a.header.Get("X-Request-Id") == "" {
		tb.Error("no X-Request-Id")
	}
}

const (
	eventsPath  = "/api/telematics/driver-performance-events/"
	reportPath  = "/api/fuel/reports/transactions"
	ordersPath  = "/api/maintenance/repair-orders"
	unknownPath = "/api/telematics/unknown"
)

// badInput are requests that are wrong in one place. They carry good credentials.
var badInput = []struct {
	name    string
	method  string
	path    string
	token   string
	status  int
	code    string
	message string
	body    string // where it is more than the message
	allow   string
}{
	{name: "wrong method of telematics", method: "POST", path: eventsPath, status: 405, code: "method_not_allowed", message: "Method Not Allowed", allow: "GET"},
	{name: "wrong method of fuel", method: "DELETE", path: reportPath, status: 405, code: "method_not_allowed", message: "Method Not Allowed", allow: "GET"},
	{name: "wrong method of maintenance", method: "PUT", path: ordersPath, status: 405, code: "method_not_allowed", message: "Method Not Allowed", allow: "GET"},
	{name: "wrong method of accounting", method: "PATCH", path: "/api/accounting/vendors/", status: 405, code: "method_not_allowed", message: "Method Not Allowed", allow: "GET, POST"},
	{name: "wrong method of maps", method: "GET", path: "/api/maps", status: 405, code: "method_not_allowed", body: `{"erro":true,"msg":"Method Not Allowed"}`, allow: "POST"},
	{name: "wrong method and no token", method: "POST", path: eventsPath, token: noToken, status: 405, code: "method_not_allowed", message: "Method Not Allowed", allow: "GET"},

	{name: "unknown path of no area", path: "/api/unknown", status: 404, code: "not_found", message: "Not Found"},
	{name: "unknown path of no area and no token", path: "/api/unknown", token: noToken, status: 404, code: "not_found", message: "Not Found"},
	{name: "unknown path of an area", path: unknownPath, status: 404, code: "not_found", message: "Not Found"},
	{name: "unknown path of an area and no token", path: unknownPath, token: noToken, status: 404, code: "not_found", message: "Not Found"},
	{name: "unknown path of maps", path: "/api/maps/unknown", status: 404, code: "not_found", body: `{"erro":true,"msg":"Not Found"}`},
	{name: "unknown path and unknown method", method: "PROPFIND", path: "/api/unknown", status: 404, code: "not_found", message: "Not Found"},
	{name: "the base itself", path: "/api/", status: 404, code: "not_found", message: "Not Found"},
	{name: "path in other case", path: "/api/Telematics/Driver-Performance-Events/", status: 404, code: "not_found", message: "Not Found"},
	{name: "path with an escaped slash", path: "/api/telematics%2Fdriver-performance-events", status: 404, code: "not_found", message: "Not Found"},
	{name: "path with an escaped letter", path: "/api/%74elematics/driver-performance-events", status: 404, code: "not_found", message: "Not Found"},

	{name: "limit given twice", path: eventsPath + "?limit=1&limit=2", status: 400, code: "invalid_request", message: "limit is invalid"},
	{name: "limit 0", path: eventsPath + "?limit=0", status: 400, code: "invalid_request", message: "limit is invalid"},
	{name: "limit 1001", path: eventsPath + "?limit=1001", status: 400, code: "invalid_request", message: "limit is invalid"},
	{name: "limit below zero", path: eventsPath + "?limit=-1", status: 400, code: "invalid_request", message: "limit is invalid"},
	{name: "limit that is no number", path: eventsPath + "?limit=ten", status: 400, code: "invalid_request", message: "limit is invalid"},
	{name: "limit beyond 64 bits", path: eventsPath + "?limit=99999999999999999999", status: 400, code: "invalid_request", message: "limit is invalid"},
	{name: "limit that is empty", path: eventsPath + "?limit=", status: 400, code: "invalid_request", message: "limit is invalid"},
	{name: "page 0", path: eventsPath + "?page=0", status: 400, code: "invalid_request", message: "page is invalid"},
	{name: "dateOption of no meaning", path: eventsPath + "?dateOption=today", status: 400, code: "invalid_request", message: "dateOption is invalid"},
	{name: "sortDirection of no meaning", path: eventsPath + "?sortDirection=up", status: 400, code: "invalid_request", message: "sortDirection is invalid"},
	{name: "sortBy of no meaning", path: eventsPath + "?sortBy=speed", status: 400, code: "invalid_request", message: "sortBy is invalid"},
	{name: "includeSubgroups of no meaning", path: eventsPath + "?includeSubgroups=yes", status: 400, code: "invalid_request", message: "includeSubgroups is invalid"},
	{name: "driver_ids with a gap", path: eventsPath + "?driver_ids=a,,b", status: 400, code: "invalid_request", message: "driver_ids is invalid"},
	{name: "vehicle_ids with a path", path: eventsPath + "?vehicle_ids=../x", status: 400, code: "invalid_request", message: "vehicle_ids is invalid"},
	{name: "impossible start date", path: eventsPath + "?start_date=2026-02-30", status: 400, code: "invalid_request", message: "start_date is invalid"},
	{name: "impossible end date", path: eventsPath + "?end_date=2026-13-01", status: 400, code: "invalid_request", message: "end_date is invalid"},
	{name: "date in another order", path: eventsPath + "?start_date=01-02-2026", status: 400, code: "invalid_request", message: "start_date is invalid"},
	{name: "end before start", path: eventsPath + "?start_date=2026-02-02&end_date=2026-02-01", status: 400, code: "invalid_request", message: "end_date is invalid"},
	{name: "query with a bad escape", path: eventsPath + "?limit=%zz", status: 400, code: "invalid_request", message: "query is invalid"},
	{name: "query with a semicolon", path: eventsPath + "?limit=1;page=2", status: 400, code: "invalid_request", message: "query is invalid"},
	{name: "query with NUL", path: eventsPath + "?driver_ids=a%00b", status: 400, code: "invalid_request", message: "driver_ids is invalid"},
	{name: "query with a line feed", path: eventsPath + "?sortBy=recordDate%0AX-Injected:1", status: 400, code: "invalid_request", message: "sortBy is invalid"},
	{name: "query that is not UTF-8", path: eventsPath + "?driver_ids=%ff%fe", status: 400, code: "invalid_request", message: "driver_ids is invalid"},
	{name: "query of 10 kB", path: eventsPath + "?driver_ids=" + strings.Repeat("a", 10_000), status: 400, code: "invalid_request", message: "driver_ids is invalid"},
	{
		name: "two mistakes", path: eventsPath + "?limit=0&page=0", status: 400, code: "invalid_request",
		body: `{"status":"Error","message":"page is invalid","data":{"errors":[{"field":"page","message":"page is invalid"},{"field":"limit","message":"limit is invalid"}]}}`,
	},

	{name: "fuel without a start date", path: reportPath + "?end_date=2026-02-01", status: 400, code: "invalid_request", message: "Start date is missing or invalid."},
	{name: "fuel without an end date", path: reportPath + "?start_date=2026-02-01", status: 400, code: "invalid_request", message: "End date is missing or invalid."},
	{name: "fuel with an impossible date", path: reportPath + "?start_date=2026-02-30&end_date=2026-03-01", status: 400, code: "invalid_request", message: "Start date is missing or invalid."},
	{name: "fuel that ends before it starts", path: reportPath + "?start_date=2026-02-02&end_date=2026-02-01", status: 400, code: "invalid_request", message: "End date is missing or invalid."},
	{name: "fuel with a date given twice", path: reportPath + "?start_date=2026-02-01&start_date=2026-02-02&end_date=2026-02-03", status: 400, code: "invalid_request", message: "Start date is missing or invalid."},

	{name: "status of no order", path: ordersPath + "?status=started", status: 400, code: "invalid_request", message: "status is invalid"},
	{name: "event with blanks", path: ordersPath + "?event=a%20b", status: 400, code: "invalid_request", message: "event is invalid"},
	{name: "event of 10 kB", path: ordersPath + "?event=" + strings.Repeat("a", 10_000), status: 400, code: "invalid_request", message: "event is invalid"},
	{name: "impossible date of orders", path: ordersPath + "?start_date=2025-02-29", status: 400, code: "invalid_request", message: "start_date is invalid"},
	{name: "date of nine characters", path: ordersPath + "?end_date=2026-2-01", status: 400, code: "invalid_request", message: "end_date is invalid"},
}

// goodHeaders are credentials for every area.
func goodHeaders() map[string]string {
	return map[string]string{"api-key-eld": "k", "username": "u", "startCode": "1001", "userId": "u", "password": "p"}
}

func testInput(t *testing.T, g *gateway) {
	for _, row := range badInput {
		t.Run("fail/"+row.name, func(t *testing.T) {
			t.Parallel()
			a := g.do(t, request{method: row.method, path: row.path, token: row.token, header: goodHeaders()})
			body := row.body
			if body == "" {
				body = failure(row.message)
			}
			expect(t, a, row.status, row.code, body)
			if got := a.header.Get("Allow"); got != row.allow {
				t.Errorf("Allow %q, want %q", got, row.allow)
			}
		})
	}
}

// testCredentials walks through the headers that carry the caller's credentials for
// the providers.
func testCredentials(t *testing.T, g *gateway) {
	long := strings.Repeat("a", 10_000)
	window := "?start_date=2026-02-01&end_date=2026-02-02"
	// The five inputs of contract 7.4, in its order. What is missing first is named,
	// whatever else is missing.
	for i, name := range []string{"startCode", "userId", "password"} {
		t.Run("fail/fuel without "+name, func(t *testing.T) {
			header := goodHeaders()
			for _, missing := range []string{"startCode", "userId", "password"}[i:] {
				delete(header, missing)
			}
			a := g.do(t, request{path: reportPath, header: header})
			expect(t, a, http.StatusBadRequest, "invalid_request", failure(name+" is missing or invalid."))
		})
	}
	for _, row := range []struct {
		name, path    string
		header, value string // replaced; removed if the value is empty
		status        int
		code, message string
	}{
		{"telematics without a key", eventsPath, "api-key-eld", "", 400, "invalid_request", keyInvalid},
		{"telematics with a key of 10 kB", eventsPath, "api-key-eld", long, 400, "invalid_request", keyInvalid},
		{"telematics with a tab in the key", eventsPath, "api-key-eld", "a\tb", 400, "invalid_request", keyInvalid},
		{"telematics with a key that is not UTF-8", eventsPath, "api-key-eld", "a\xffb", 400, "invalid_request", keyInvalid},
		{"fuel with a path in the start code", reportPath + window, "startCode", "../x", 400, "invalid_request", "startCode is missing or invalid."},
		{"fuel with a user of 10 kB", reportPath + window, "userId", long, 400, "invalid_request", "userId is missing or invalid."},
		{"fuel with a tab in the password", reportPath + window, "password", "a\tb", 400, "invalid_request", "password is missing or invalid."},
		{"maintenance without a user", ordersPath, "username", "", 401, "unauthenticated", "Unauthenticated"},
		{"maintenance without a key", ordersPath, "api-key-eld", "", 401, "unauthenticated", "Unauthenticated"},
		{"maintenance with a user of 10 kB", ordersPath, "username", long, 401, "unauthenticated", "Unauthenticated"},
	} {
		t.Run("fail/"+row.name, func(t *testing.T) {
			header := goodHeaders()
			header[row.header] = row.value
			if row.value == "" {
				delete(header, row.header)
			}
			expect(t, g.do(t, request{path: row.path, header: header}), row.status, row.code, failure(row.message))
		})
	}
}

// testRaw sends what a well-behaved client refuses to send.
func testRaw(t *testing.T, g *gateway) {
	send := func(t *testing.T, lines ...string) answer {
		t.Helper()
		head := append([]string{"GET " + eventsPath + "?limit=1 HTTP/1.1", "Host: " + g.site, "Connection: close"}, lines...)
		return g.raw(t, strings.Join(head, "\r\n")+"\r\n\r\n")
	}
	authorization := "Authorization: Bearer " + g.token
	t.Run("ok/good headers", func(t *testing.T) {
		success[[]map[string]any](t, send(t, authorization, "api-key-eld: k"))
	})
	t.Run("ok/scheme in lower case", func(t *testing.T) {
		success[[]map[string]any](t, send(t, "authorization: bearer "+g.token, "api-key-eld: k"))
	})
	t.Run("fail/underscore instead of Authorization", func(t *testing.T) {
		for _, name := range []string{"Token_Gateway", "TOKEN_GATEWAY", "token_gateway"} {
			for _, value := range []string{g.token, "Bearer " + g.token} {
				expect(t, send(t, name+": "+value, "api-key-eld: k"), http.StatusUnauthorized, "unauthenticated", failure("Unauthenticated"))
			}
		}
	})
	t.Run("fail/Authorization twice", func(t *testing.T) {
		expect(t, send(t, authorization, authorization, "api-key-eld: k"), http.StatusUnauthorized, "unauthenticated", failure("Unauthenticated"))
	})
	t.Run("fail/key twice", func(t *testing.T) {
		expect(t, send(t, authorization, "api-key-eld: k", "api-key-eld: l"), http.StatusBadRequest, "invalid_request", failure(keyInvalid))
	})
	t.Run("fail/key twice with an underscore", func(t *testing.T) {
		// The one with underscores is dropped and cannot stand in for the other.
		expect(t, send(t, authorization, "api_key_eld: k"), http.StatusBadRequest, "invalid_request", failure(keyInvalid))
	})
	for name, value := range map[string]string{"NUL": "a\x00b", "escape": "a\x1bb", "delete": "a\x7fb", "line feed": "a\nX-Injected: 1\rb"} {
		t.Run("fail/key with "+name, func(t *testing.T) {
			a := send(t, authorization, "api-key-eld: "+value)
			if a.status != http.StatusBadRequest || strings.Contains(a.body, "Success") || strings.Contains(a.body, value) {
				t.Errorf("status %d, body %q; want 400 and nothing of the value", a.status, a.body)
			}
		})
	}
	t.Run("fail/line feed in the path", func(t *testing.T) {
		a := g.raw(t, "GET /api/%0d%0aX-Injected:%201 HTTP/1.1\r\nHost: "+g.site+"\r\nConnection: close\r\n\r\n")
		expect(t, a, http.StatusNotFound, "not_found", failure("Not Found"))
		if a.header.Get("X-Injected") != "" {
			t.Error("the path has put a header into the answer")
		}
	})
	t.Run("fail/key of 20 kB", func(t *testing.T) {
		a := send(t, authorization, "api-key-eld: "+strings.Repeat("a", 20_000))
		expect(t, a, http.StatusBadRequest, "invalid_request", failure(keyInvalid))
	})
	t.Run("fail/key of 40 kB", func(t *testing.T) {
		// More than Caddy reads, so that it is Caddy who answers.
		a := send(t, authorization, "api-key-eld: "+strings.Repeat("a", 40_000))
		if a.status != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("status %d, want 431", a.status)
		}
	})
	t.Run("fail/Authorization of 20 kB", func(t *testing.T) {
		a := send(t, "Authorization: Bearer fgt_"+strings.Repeat("a", 20_000), "api-key-eld: k")
		expect(t, a, http.StatusUnauthorized, "unauthenticated", failure("Unauthenticated"))
	})
}

// testRefusals checks the shape in which each area refuses callers (contract part 7).
func testRefusals(t *testing.T, g *gateway) {
	const mapsRefusal = `{"erro":true,"msg":"Unauthenticated"}`
	paths := map[string]struct{ method, path, body string }{
		"accounting":  {"GET", "/api/accounting/accounts/?realmId=1", failure("Unauthenticated")},
		"maps":        {"POST", "/api/maps", mapsRefusal},
		"markers":     {"POST", "/api/mapsPointers/data-load", mapsRefusal},
		"geocoding":   {"GET", "/api/maps/geocoding?searchText=x", mapsRefusal},
		"telematics":  {"GET", eventsPath, failure("Unauthenticated")},
		"fuel":        {"GET", reportPath, failure("Unauthenticated")},
		"maintenance": {"GET", ordersPath, failure("Unauthenticated")},
	}
	last := g.token[len(g.token)-1:]
	other := "0"
	if last == other {
		other = "1"
	}
	tokens := map[string]string{
		"none":              noToken,
		"garbage":           "garbage",
		"a wrong checksum":  g.token[:len(g.token)-1] + other,
		"another secret":    "fgt_" + strings.Repeat("0", 33),
		"something behind":  g.token + " " + g.token,
		"a list of schemes": g.token + ", Basic eA==",
	}
	for area, call := range paths {
		for name, token := range tokens {
			t.Run("fail/"+area+"/"+name, func(t *testing.T) {
				a := g.do(t, request{method: call.method, path: call.path, token: token, header: goodHeaders()})
				expect(t, a, http.StatusUnauthorized, "unauthenticated", call.body)
				if got := a.header.Get("WWW-Authenticate"); got != "Bearer" {
					t.Errorf("WWW-Authenticate %q, want Bearer", got)
				}
			})
		}
	}
}
