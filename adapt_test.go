package fleetgate_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/caddyserver/certmagic"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/fleetgate/fleetgate"
)

var update = flag.Bool("update", false, "write the golden files anew from what the code does now")

// adaptDir holds the goldens. A file is a Caddyfile, a line of ten dashes, and what
// becomes of it. Its name says which of three that is:
//
//	fail_…     the error of the adapter
//	refused_…  the JSON, the dashes again, and the error of validating the JSON
//	others     the JSON, which must be valid
const adaptDir = "testdata/adapt"

const dashes = "----------\n"

// environment is what Caddyfiles that need settings find, and nothing else of the
// gateway's.
var environment = map[string]string{
	"LYTX_URL":     "https://lytx-api.prod5.ph.lytx.com",
	"LYTX_ENV_URL": "https://lytx-api.sandbox.example.com",
	"MAPBOX_TOKEN": "sk.planted",
}

// setEnvironment also gives Caddy a storage to write to, whose folder it returns: its
// own certificate authority makes a key as soon as a site is provisioned.
func setEnvironment(t *testing.T) (storage string) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "FLEETGATE_") {
			t.Setenv(name, "") // restores it later
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, value := range environment {
		t.Setenv(name, value)
	}
	before := caddy.DefaultStorage
	t.Cleanup(func() { caddy.DefaultStorage = before })
	storage = t.TempDir()
	caddy.DefaultStorage = &certmagic.FileStorage{Path: storage}
	return storage
}

// golden is one file of adaptDir.
type golden struct {
	name, source, want, refusal string
}

func goldens(t *testing.T) []golden {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(adaptDir, "*.caddyfiletest"))
	if err != nil {
		t.Fatal(err)
	}
	var all []golden
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(string(text), dashes)
		if len(parts) < 2 || len(parts) > 3 {
			t.Fatalf("%s has %d parts", file, len(parts))
		}
		g := golden{name: strings.TrimSuffix(filepath.Base(file), ".caddyfiletest"), source: parts[0], want: parts[1]}
		if len(parts) == 3 {
			g.refusal = parts[2]
		}
		all = append(all, g)
	}
	if len(all) == 0 {
		t.Fatalf("no goldens in %s", adaptDir)
	}
	return all
}

func (g *golden) write(t *testing.T) {
	t.Helper()
	text := g.source + dashes + g.want
	if g.refusal != "" {
		text += dashes + g.refusal
	}
	if err := os.WriteFile(filepath.Join(adaptDir, g.name+".caddyfiletest"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// adapt returns the JSON of a Caddyfile, indented.
func adapt(source []byte, filename string) ([]byte, []caddyconfig.Warning, error) {
	config, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt(source, map[string]any{"filename": filename})
	if err != nil {
		return nil, warnings, err
	}
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, config, "", "\t"); err != nil {
		return nil, warnings, err
	}
	pretty.WriteByte('\n')
	return pretty.Bytes(), warnings, nil
}

// validate provisions a configuration as `caddy validate` does.
func validate(config []byte) error {
	cfg := new(caddy.Config)
	if err := caddy.StrictUnmarshalJSON(config, cfg); err != nil {
		return err
	}
	return caddy.Validate(cfg)
}

func TestAdapt(t *testing.T) {
	setEnvironment(t)
	for _, want := range goldens(t) {
		t.Run(want.name, func(t *testing.T) {
			got := golden{name: want.name, source: want.source}
			config, warnings, err := adapt([]byte(want.source), "Caddyfile")
			for _, w := range warnings {
				// The design's own example is kept as it is printed there.
				if want.name != "design" || !strings.Contains(w.Message, "not formatted") {
					t.Errorf("warning: %s", w)
				}
			}
			switch {
			case err != nil:
				got.want = err.Error() + "\n"
			default:
				got.want = string(config)
				if err := validate(config); err != nil {
					got.refusal = err.Error() + "\n"
				}
			}

			fails, refused := strings.HasPrefix(want.name, "fail_"), strings.HasPrefix(want.name, "refused_")
			switch {
			case (err != nil) != fails:
				t.Errorf("adapting: %v", err)
			case (got.refusal != "") != refused:
				t.Errorf("validating: %q", got.refusal)
			case fails && !strings.Contains(got.want, "Caddyfile:"):
				t.Errorf("the error names no file and line: %s", got.want)
			}
			if *update && !t.Failed() {
				got.write(t)
				return
			}
			if got != want {
				t.Errorf("got\n%s%s%s\nwant\n%s%s%s", got.want, dashes, got.refusal, want.want, dashes, want.refusal)
			}
		})
	}
}
