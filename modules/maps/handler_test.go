package maps

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	"github.com/fleetgate/fleetgate/modules/gateway"
	"github.com/fleetgate/fleetgate/modules/internal/areatest"
)

func init() {
	caddy.RegisterModule(fakeProvider{})
}

type fakeProvider struct{}

func (fakeProvider) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "gateway.maps.fake_maps",
		New: func() caddy.Module { return new(fakeProvider) },
	}
}

func (fakeProvider) DisplayName() string { return "Fake" }

func (fakeProvider) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next()
	return nil
}

var suite = areatest.Suite[*Handler, areatest.NoCalls]{
	Module: "http.handlers.gateway_maps",
	Config: `{"public_url":"https://gateway.example.com/api","provider":{"name":"fake_maps"}}`,
	Open: func(h *Handler, l *zap.Logger) areatest.NoCalls {
		h.logger = l
		return areatest.NoCalls{}
	},
	Members: []string{"erro", "msg"},
}

type scenario = areatest.Scenario[areatest.NoCalls]

var headers = http.Header{"Authorization": {"Bearer fgt_" + areatest.Secret}}

func failure(message string) string {
	return `{"erro":true,"msg":"` + message + `"}`
}

// TestOperations checks the admission of the rows of contract 4.2, in the shape of 7.2.
func TestOperations(t *testing.T) {
	var scenarios []scenario
	for _, op := range []struct{ method, path string }{
		{"POST", "/maps"}, {"POST", "/mapsPointers/data-load"}, {"GET", "/maps/geocoding"},
	} {
		add := func(what, path string, verdict *gateway.Verdict, status int, code, message string) {
			scenarios = append(scenarios, scenario{
				Name: "fail/" + op.path + " " + what, Method: op.method, Target: path, Header: headers, Verdict: verdict,
				WantStatus: status, WantCode: code, WantBody: failure(message), NotContains: []string{`"status"`, `"data"`},
			})
		}
		add("every area", op.path, areatest.Allowed(), 501, "not_implemented", "Not Implemented")
		add("slash at the end", op.path+"/", areatest.Allowed("maps"), 501, "not_implemented", "Not Implemented")
		add("read scope", op.path, areatest.Allowed("maps:read"), 501, "not_implemented", "Not Implemented")
		add("other scope", op.path, areatest.Allowed("accounting"), 403, "unauthorized", "Unauthorized")
		add("no verdict", op.path, nil, 401, "unauthenticated", "Unauthenticated")
		add("malformed token", op.path, areatest.Refused(gateway.ReasonMalformed), 401, "unauthenticated", "Unauthenticated")
		add("store away", op.path, areatest.Refused(gateway.ReasonUnavailable), 503, "unavailable", "Service Unavailable")
		add("two slashes", op.path+"//", areatest.Allowed(), 404, "not_found", "Not Found")
		add("case", strings.ToUpper(op.path), areatest.Allowed(), 404, "not_found", "Not Found")
	}
	for _, tc := range []struct{ method, path, allow string }{
		{"GET", "/maps", "POST"}, {"GET", "/mapsPointers/data-load", "POST"}, {"POST", "/maps/geocoding", "GET"},
	} {
		scenarios = append(scenarios, scenario{
			Name: "fail/" + tc.method + " " + tc.path, Method: tc.method, Target: tc.path, Header: headers, Verdict: areatest.Allowed(),
			WantStatus: 405, WantCode: "method_not_allowed", WantBody: failure("Method Not Allowed"),
			WantHeader: map[string]string{"Allow": tc.allow},
		})
	}
	suite.Run(t, scenarios)
}

func TestOptions(t *testing.T) {
	t.Setenv("FLEETGATE_TEST_URL", "https://maps.example.com/api")
	t.Setenv("FLEETGATE_TEST_EMPTY", "")
	const provider = `"provider":{"name":"fake_maps"}`
	for _, tc := range []struct{ name, config, want string }{
		{"ok/defaults", `{"public_url":"https://x.example/api",` + provider + `}`, ""},
		{"ok/placeholder", `{"public_url":"{env.FLEETGATE_TEST_URL}",` + provider + `}`, ""},
		{"ok/prices", `{"public_url":"http://x",` + provider + `,"price":{"render":"1","geocode":"0.000001"}}`, ""},
		{"ok/price 0", `{"public_url":"http://x",` + provider + `,"price":{"render":"0"}}`, ""},
		{"ok/temporary tokens", `{"tiles":{"mode":"temporary_token"},` + provider + `}`, ""},
		{"ok/other tiles", `{"tiles":{"mode":"url","url":"https://tiles.example/{z}/{x}/{y}.png"},` + provider + `}`, ""},
		{"fail/no provider", `{"public_url":"https://x"}`, "provider is required"},
		{"fail/no public_url", `{` + provider + `}`, "public_url is required with tiles from the proxy"},
		{"fail/no public_url, tiles named", `{"tiles":{"mode":"proxy"},` + provider + `}`, "public_url is required with tiles from the proxy"},
		{"fail/public_url without scheme", `{"public_url":"x.example/api",` + provider + `}`, "public_url must be an absolute http or https URL"},
		{"fail/public_url of another scheme", `{"public_url":"ftp://x",` + provider + `}`, "public_url must be an absolute http or https URL"},
		{"fail/public_url without host", `{"public_url":"https:///api",` + provider + `}`, "public_url must be an absolute http or https URL"},
		{"fail/unknown placeholder", `{"public_url":"{nope}",` + provider + `}`, "public_url: unrecognized placeholder {nope}"},
		{"fail/empty placeholder", `{"public_url":"{env.FLEETGATE_TEST_EMPTY}",` + provider + `}`, "public_url: evaluated placeholder {env.FLEETGATE_TEST_EMPTY} is empty"},
		{"fail/price of an unknown operation", `{"public_url":"http://x",` + provider + `,"price":{"tile":"1"}}`, "price: unknown operation 'tile'; allowed: render, geocode"},
		{"fail/negative price", `{"public_url":"http://x",` + provider + `,"price":{"render":"-1"}}`, "price: render must not be negative"},
		{"fail/price as a number", `{"public_url":"http://x",` + provider + `,"price":{"render":1}}`, "cannot unmarshal number"},
		{"fail/price that is no amount", `{"public_url":"http://x",` + provider + `,"price":{"render":"1e3"}}`, "is not an amount"},
		{"fail/unknown tiles", `{"tiles":{"mode":"direct"},` + provider + `}`, "tiles: unknown mode 'direct'; allowed: proxy, temporary_token, url"},
		{"fail/tiles url without url", `{"tiles":{"mode":"url"},` + provider + `}`, "tiles: mode 'url' needs an absolute http or https URL"},
		{"fail/tiles proxy with url", `{"public_url":"http://x","tiles":{"mode":"proxy","url":"https://t"},` + provider + `}`, "tiles: mode 'proxy' takes no url"},
		{"fail/unknown option", `{"public_url":"http://x","prices":{},` + provider + `}`, `unknown field "prices"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := caddy.NewContext(caddy.Context{Context: context.Background()})
			defer cancel()
			_, err := ctx.LoadModuleByID(suite.Module, []byte(tc.config))
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("error is %v", err)
			case tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)):
				t.Errorf("error is %v, want %q", err, tc.want)
			}
		})
	}
}

func TestUnmarshalCaddyfile(t *testing.T) {
	for _, tc := range []struct{ name, options, want string }{
		{"fail/argument", "price render", "wrong argument count or unexpected line ending after 'render', at Testfile:3"},
		{"fail/price argument too many", "price render 1 2", "wrong argument count"},
		{"fail/price twice", "price render 1\nprice render 1", "the price of 'render' is given twice, at Testfile:4"},
		{"fail/price unknown", "price tile 1", "price of unknown operation 'tile'; allowed: render, geocode, at Testfile:3"},
		{"fail/price malformed", "price render 1,5", "price of 'render': \"1,5\" is not an amount"},
		{"fail/price negative", "price render -1", "the price of 'render' must not be negative"},
		{"fail/tiles nothing", "tiles", "wrong argument count"},
		{"fail/tiles unknown", "tiles cdn", "tiles: unknown mode 'cdn'; allowed: proxy, temporary_token, url, at Testfile:3"},
		{"fail/tiles proxy argument", "tiles proxy x", "wrong argument count"},
		{"fail/tiles url argument", "tiles url", "tiles: mode 'url' needs an absolute http or https URL"},
		{"fail/tiles url arguments", "tiles url https://a https://b", "wrong argument count"},
		{"fail/tiles twice", "tiles proxy\ntiles proxy", "option 'tiles' is given twice, at Testfile:4"},
		{"fail/public_url twice", "public_url https://a\npublic_url https://b", "option 'public_url' is given twice, at Testfile:4"},
		{"fail/public_url nothing", "public_url", "wrong argument count"},
		{"fail/public_url empty", `public_url ""`, "public_url must be an absolute http or https URL, at Testfile:3"},
		{"fail/provider twice", "provider fake_maps", "option 'provider' is given twice; an area has one provider, at Testfile:3"},
		{"fail/unknown", "style dark", "unrecognized subdirective 'style'; allowed: public_url, price, tiles, provider, at Testfile:3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			input := "gateway_maps {\nprovider fake_maps\n" + tc.options + "\n}"
			err := new(Handler).UnmarshalCaddyfile(caddyfile.NewTestDispenser(input))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want %q", err, tc.want)
			}
		})
	}
	t.Run("fail/no provider", func(t *testing.T) {
		err := new(Handler).UnmarshalCaddyfile(caddyfile.NewTestDispenser("gateway_maps {\npublic_url https://x\n}"))
		if err == nil || !strings.Contains(err.Error(), "a provider is required, as in: provider <name> { … }") {
			t.Errorf("error is %v", err)
		}
	})
}
