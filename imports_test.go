package fleetgate_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const modulePath = "github.com/fleetgate/fleetgate"

// listed is what `go list -json` says of a package. Imports leaves test files out.
type listed struct {
	ImportPath string
	Standard   bool
	Imports    []string
}

// layer is a set of packages of this module and what they may import.
type layer struct {
	// packages are the folders of the layer; * stands for one element and a final
	// /... for any number of them. The first layer that matches counts, and captures
	// what * matched.
	packages string

	// ours are the folders of this module that the layer may import, written like
	// packages; $1, $2 stand for what was captured.
	ours []string

	// others are the prefixes of import paths of other modules; nil allows all.
	others []string
}

var stdOnly = []string{}

// layers are the rules for who may import whom, from the top to the bottom.
var layers = []layer{
	{"", []string{"modules/*", "modules/store/*", "providers/*/*"}, stdOnly},
	{"cmd/fleetgate", []string{""}, []string{"github.com/caddyserver/caddy/v2"}},
	{"cmd/build", nil, []string{"github.com/caddyserver/xcaddy"}},
	{"caddyfiles", nil, stdOnly},
	{"e2e", nil, stdOnly},

	// Handlers and the app. No handler knows another one or a concrete provider.
	{"modules/gateway", []string{"modules/store", "caddyfiles"}, nil},
	{"modules/auth", []string{"modules/gateway", "modules/internal/...", "transform"}, nil},
	{"modules/health", []string{"modules/gateway", "modules/internal/..."}, nil},
	{"modules/docs", []string{"modules/internal/..."}, nil},
	{"modules/sandbox/...", []string{"modules/sandbox/internal/..."}, nil},
	{"modules/store/*", []string{"modules/store"}, nil},
	{"modules/store", nil, nil},
	{"modules/internal/...", []string{"modules/gateway", "modules/internal/...", "providers", "transform"}, nil},
	{"modules/*", []string{"modules/gateway", "modules/store", "modules/internal/...", "providers", "providers/$1", "transform"}, nil},

	// Providers. The contracts are for others to build on, so they need nothing.
	{"providers", nil, stdOnly},
	{"providers/outbound", []string{"providers", "transform"}, nil},
	{"providers/*", []string{"providers"}, stdOnly},
	{"providers/internal/upstreamtest", []string{"providers"}, stdOnly},
	{"providers/*/*test", []string{"providers", "providers/$1", "providers/internal/upstreamtest", "transform"}, stdOnly},
	{"providers/*/*", []string{"providers", "providers/$1", "providers/$1/$2/...", "providers/outbound", "transform"}, nil},

	{"transform", nil, []string{"github.com/tidwall/"}},
}

// violations returns what the packages import against the rules, sorted.
func violations(packages []listed) []string {
	standard := make(map[string]bool)
	for _, p := range packages {
		standard[p.ImportPath] = p.Standard
	}
	var bad []string
	for _, p := range packages {
		folder, ok := ourFolder(p.ImportPath)
		if !ok {
			continue
		}
		l, captured := layerOf(folder)
		if l == nil {
			bad = append(bad, p.ImportPath+" belongs to no layer")
			continue
		}
		for _, path := range p.Imports {
			if !standard[path] && !l.allows(path, captured) {
				bad = append(bad, p.ImportPath+" imports "+path)
			}
		}
	}
	slices.Sort(bad)
	return bad
}

// ourFolder returns the folder of a package of this module.
func ourFolder(path string) (string, bool) {
	if path == modulePath {
		return "", true
	}
	return strings.CutPrefix(path, modulePath+"/")
}

func layerOf(folder string) (*layer, []string) {
	for i := range layers {
		if captured, ok := matchFolder(layers[i].packages, folder); ok {
			return &layers[i], captured
		}
	}
	return nil, nil
}

func (l *layer) allows(path string, captured []string) bool {
	folder, ours := ourFolder(path)
	if !ours {
		return l.others == nil || slices.ContainsFunc(l.others, func(prefix string) bool { return strings.HasPrefix(path, prefix) })
	}
	return slices.ContainsFunc(l.ours, func(pattern string) bool {
		for i, c := range captured {
			pattern = strings.ReplaceAll(pattern, fmt.Sprintf("$%d", i+1), c)
		}
		_, ok := matchFolder(pattern, folder)
		return ok
	})
}

// matchFolder compares a folder with a pattern and returns what each * matched.
func matchFolder(pattern, folder string) (captured []string, ok bool) {
	if prefix, any := strings.CutSuffix(pattern, "/..."); any {
		return nil, folder == prefix || strings.HasPrefix(folder, prefix+"/")
	}
	want, got := strings.Split(pattern, "/"), strings.Split(folder, "/")
	if len(want) != len(got) {
		return nil, false
	}
	for i, w := range want {
		suffix, wild := strings.CutPrefix(w, "*")
		switch {
		case !wild && w != got[i], wild && (got[i] == "" || !strings.HasSuffix(got[i], suffix)):
			return nil, false
		case wild:
			captured = append(captured, strings.TrimSuffix(got[i], suffix))
		}
	}
	return captured, true
}

func TestImports(t *testing.T) {
	packages := goList(t)
	for _, bad := range violations(packages) {
		t.Error(bad)
	}
	seen := 0
	for _, p := range packages {
		if _, ok := ourFolder(p.ImportPath); ok {
			seen++
		}
	}
	if seen < 20 {
		t.Errorf("only %d packages of this module were listed", seen)
	}
}

func goList(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard,Imports", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var packages []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

// TestViolations tries the rules on made-up packages.
func TestViolations(t *testing.T) {
	for _, tc := range []struct {
		name, from, to string
		ok             bool
	}{
		{"ok/root names a handler", "", "modules/fuel", true},
		{"ok/root names a store", "", "modules/store/sqlite", true},
		{"ok/root names a provider", "", "providers/fuel/quikq", true},
		{"fail/root names a helper", "", "modules/internal/area", false},
		{"fail/root uses a library", "", "!github.com/tidwall/gjson", false},
		{"ok/command takes the root", "cmd/fleetgate", "", true},
		{"fail/command names a module", "cmd/fleetgate", "modules/fuel", false},
		{"ok/area takes its contract", "modules/fuel", "providers/fuel", true},
		{"ok/area takes the app", "modules/fuel", "modules/gateway", true},
		{"ok/area takes the helpers", "modules/fuel", "modules/internal/area", true},
		{"ok/area takes transform", "modules/fuel", "transform", true},
		{"ok/area takes Caddy", "modules/fuel", "!github.com/caddyserver/caddy/v2", true},
		{"fail/area takes another area", "modules/fuel", "modules/maps", false},
		{"fail/area takes another contract", "modules/fuel", "providers/maps", false},
		{"fail/area takes a provider", "modules/fuel", "providers/fuel/quikq", false},
		{"fail/area takes outbound", "modules/fuel", "providers/outbound", false},
		{"fail/area takes a store", "modules/fuel", "modules/store/sqlite", false},
		{"fail/area takes the root", "modules/fuel", "", false},
		{"fail/app takes an area", "modules/gateway", "modules/fuel", false},
		{"fail/app takes a store's backend", "modules/gateway", "modules/store/sqlite", false},
		{"fail/helper takes an area", "modules/internal/area", "modules/fuel", false},
		{"fail/helper takes a contract", "modules/internal/area", "providers/fuel", false},
		{"fail/sandbox takes a provider", "modules/sandbox", "providers/fuel/quikq", false},
		{"fail/store takes the app", "modules/store/sqlite", "modules/gateway", false},
		{"ok/provider takes its contract", "providers/fuel/quikq", "providers/fuel", true},
		{"ok/provider takes outbound", "providers/fuel/quikq", "providers/outbound", true},
		{"ok/provider takes its own parts", "providers/fuel/quikq", "providers/fuel/quikq/wire", true},
		{"fail/provider takes another contract", "providers/fuel/quikq", "providers/maps", false},
		{"fail/provider takes another provider", "providers/fuel/quikq", "providers/fuel/other", false},
		{"fail/provider takes a module", "providers/fuel/quikq", "modules/gateway", false},
		{"fail/provider takes a helper", "providers/fuel/quikq", "modules/internal/area", false},
		{"fail/provider takes the suite", "providers/fuel/quikq", "providers/fuel/fueltest", false},
		{"ok/suite takes its contract", "providers/fuel/fueltest", "providers/fuel", true},
		{"ok/suite takes the test upstream", "providers/fuel/fueltest", "providers/internal/upstreamtest", true},
		{"fail/suite takes Caddy", "providers/fuel/fueltest", "!github.com/caddyserver/caddy/v2", false},
		{"fail/suite takes a provider", "providers/fuel/fueltest", "providers/fuel/quikq", false},
		{"ok/test upstream takes the errors", "providers/internal/upstreamtest", "providers", true},
		{"fail/test upstream takes a contract", "providers/internal/upstreamtest", "providers/fuel", false},
		{"fail/test upstream takes Caddy", "providers/internal/upstreamtest", "!github.com/caddyserver/caddy/v2", false},
		{"fail/provider takes the test upstream", "providers/fuel/quikq", "providers/internal/upstreamtest", false},
		{"ok/contract takes the errors", "providers/fuel", "providers", true},
		{"fail/contract takes Caddy", "providers/fuel", "!github.com/caddyserver/caddy/v2", false},
		{"fail/contract takes transform", "providers/fuel", "transform", false},
		{"fail/errors take a library", "providers", "!go.uber.org/zap", false},
		{"fail/outbound takes a provider", "providers/outbound", "providers/fuel/quikq", false},
		{"ok/transform takes gjson", "transform", "!github.com/tidwall/gjson", true},
		{"fail/transform takes Caddy", "transform", "!github.com/caddyserver/caddy/v2", false},
		{"fail/transform takes the errors", "transform", "providers", false},
		{"fail/a folder that no rule knows", "elsewhere", "!fmt", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			graph := []listed{
				{ImportPath: "fmt", Standard: true},
				{ImportPath: importPath(tc.from), Imports: []string{"fmt", importPath(tc.to)}},
			}
			if got := violations(graph); (len(got) == 0) != tc.ok {
				t.Errorf("violations: %q", got)
			}
		})
	}
}

// importPath makes an import path of a folder; after an exclamation mark it is one.
func importPath(folder string) string {
	if path, ok := strings.CutPrefix(folder, "!"); ok {
		return path
	}
	return strings.TrimSuffix(modulePath+"/"+folder, "/")
}

// TestNoReplace keeps what others build from our module the same as what we build.
func TestNoReplace(t *testing.T) {
	for _, file := range []string{"go.mod", "go.tool.mod"} {
		out, err := exec.CommandContext(t.Context(), "go", "mod", "edit", "-json", file).Output()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		var mod struct{ Replace []any }
		if err := json.Unmarshal(out, &mod); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(mod.Replace) > 0 {
			t.Errorf("%s replaces %v", file, mod.Replace)
		}
	}
}
