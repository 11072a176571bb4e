package fleetgate_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// TestCORS imports the snippet in each place of a site where it may stand.
func TestCORS(t *testing.T) {
	const (
		origin = "https://dispatch.example.com"
		line   = "\timport cors " + origin + "\n"
		area   = "\thandle_path /api/* {\n\t\tgateway_auth\n\t\tgateway_fuel /fuel/* {\n\t\t\tprovider quikq\n\t\t}\n\t}\n"
		rest   = "\thandle {\n\t\trespond 404\n\t}\n"
		health = "\tgateway_health\n"
	)
	for name, site := range map[string]string{
		"first":                  line + health + area + rest,
		"behind the routes":      health + area + line + rest,
		"last":                   health + area + rest + line,
		"without other handlers": line + "\trespond 404\n",
		"in a route":             "\troute {\n" + line + area + "\t}\n",
		"among other matchers":   area + "\t@old path /v1/* /v2/*\n\thandle @old {\n\t\trespond 410\n\t}\n" + line + rest,
	} {
		t.Run("ok/"+name, func(t *testing.T) {
			setEnvironment(t)
			text := "{\n\tgateway {\n\t\tstore sqlite " + filepath.Join(t.TempDir(), "store.db") + "\n\t}\n}\n" +
				"import caddyfiles/snippets/*.caddyfile\nlocalhost:8443 {\n" + site + "}\n"
			config, _, err := adapt([]byte(text), "Caddyfile")
			if err != nil {
				t.Fatal(err)
			}
			withServers(t, config, func(servers []*caddyhttp.Server) {
				i := slices.IndexFunc(servers, func(s *caddyhttp.Server) bool { return serves(s, "localhost:8443") })
				ask := func(method, origin string) http.Header {
					r := httptest.NewRequestWithContext(t.Context(), method, "https://localhost:8443/api/fuel/reports/transactions", http.NoBody)
					r.Header.Set("Origin", origin)
					r.Header.Set("Access-Control-Request-Method", "GET")
					rec := httptest.NewRecorder()
					servers[i].ServeHTTP(rec, r)
					preflight := method == http.MethodOptions && origin == "https://dispatch.example.com"
					if (rec.Code == http.StatusNoContent) != preflight {
						t.Errorf("%s from %s: status %d", method, origin, rec.Code)
					}
					return rec.Header()
				}
				header := ask(http.MethodOptions, origin)
				if got := header.Get("Access-Control-Allow-Headers"); !strings.Contains(got, "api-key-eld") || header.Get("Access-Control-Allow-Origin") != origin {
					t.Errorf("preflight: %v", header)
				}
				if header := ask(http.MethodGet, origin); header.Get("Access-Control-Allow-Origin") != origin || header.Get("Access-Control-Allow-Headers") != "" {
					t.Errorf("call: %v", header)
				}
				for _, method := range []string{http.MethodOptions, http.MethodGet} {
					for name := range ask(method, "https://elsewhere.example.com") {
						if strings.HasPrefix(name, "Access-Control-") {
							t.Errorf("%s from elsewhere got %s", method, name)
						}
					}
				}
			})
		})
	}
}
