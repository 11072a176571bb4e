package transform_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/transform"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// upstream returns a body of testdata/upstream.
func upstream(tb testing.TB, name string) []byte {
	tb.Helper()
	body, err := os.ReadFile(filepath.Join("..", "testdata", "upstream", filepath.FromSlash(name)))
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// recording returns a body recorded from a real provider. The recordings are not part
// of the repository: they are looked for in shared/recordings beside it, and the test
// is skipped where there are none.
func recording(t *testing.T, name string) []byte {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for parent := filepath.Dir(dir); parent != dir; dir, parent = parent, filepath.Dir(parent) {
		body, err := os.ReadFile(filepath.Join(parent, "shared", "recordings", filepath.FromSlash(name)))
		if err == nil {
			return body
		}
		if !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	t.Skipf("no shared/recordings/%s in any folder above this one", name)
	return nil
}

// checkGolden compares got with a file of testdata/contract.
func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("..", "testdata", "contract", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("not as in %s (go test ./transform -update rewrites it)\n got %s\nwant %s", path, got, want)
	}
}

// member returns the raw value of a top-level member.
func member(body []byte, name string) []byte {
	return []byte(gjson.GetBytes(body, name).Raw)
}

// lytxJoin is the join for the bodies of testdata/upstream/lytx.
func lytxJoin(tb testing.TB) *transform.EventJoin {
	tb.Helper()
	j := &transform.EventJoin{
		Trigger:     "eventTriggerId",
		Status:      "eventStatusId",
		Vehicle:     "vehicleId",
		EventDate:   []string{"recordDateUTC"},
		LastUpdated: []string{"revisionDate", "creationDate"},
		Triggers:    names(upstream(tb, "lytx/triggers.json")),
		Statuses:    names(upstream(tb, "lytx/statuses.json")),
		Vehicles:    vehicles(upstream(tb, "lytx/vehicles.json")),
	}
	return j
}

// names returns the catalog in an array of objects with id and name.
func names(body []byte) map[string][]byte {
	catalog := make(map[string][]byte)
	for _, entry := range gjson.ParseBytes(body).Array() {
		catalog[entry.Get("id").Raw] = []byte(entry.Get("name").Raw)
	}
	return catalog
}

// vehicles returns the catalog in a page of vehicles.
func vehicles(body []byte) map[string][]byte {
	catalog := make(map[string][]byte)
	for _, entry := range gjson.GetBytes(body, "vehicles").Array() {
		id := entry.Get("dcVehicleId")
		catalog[id.String()] = []byte(`{"dcVehicleId":` + id.Raw + `,"name":` + entry.Get("name").Raw + `}`)
	}
	return catalog
}

// decode decodes a document with numbers as they are spelled.
func decode(tb testing.TB, body []byte) any {
	tb.Helper()
	var v any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		tb.Fatalf("%v in %.200q", err, body)
	}
	return v
}

// valid is what [transform.Validate] must agree with.
func valid(body []byte) bool {
	return json.Valid(body) && utf8.Valid(body) && depth(body) <= transform.MaxDepth
}

// depth returns how deep a valid document is nested.
func depth(body []byte) int {
	deepest, now := 0, 0
	inString, escaped := false, false
	for _, c := range body {
		switch {
		case escaped:
			escaped = false
		case inString:
			escaped = c == '\\'
			inString = c != '"'
		case c == '"':
			inString = true
		case c == '[' || c == '{':
			now++
			deepest = max(deepest, now)
		case c == ']' || c == '}':
			now--
		}
	}
	return deepest
}

// objects returns the elements of a document that is a valid array of objects.
func objects(tb testing.TB, body []byte) ([]map[string]any, bool) {
	tb.Helper()
	if !valid(body) {
		return nil, false
	}
	elements, isArray := decode(tb, body).([]any)
	if !isArray {
		return nil, false
	}
	all := make([]map[string]any, len(elements))
	for i, element := range elements {
		object, isObject := element.(map[string]any)
		if !isObject {
			return nil, false
		}
		all[i] = object
	}
	return all, true
}

// asText is what a decoded value reads as, "" for null, an object and an array.
func asText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		if v {
			return "true"
		}
		return "false"
	default:
		return ""
	}
}

// dstPrefix is what the functions under test are given to append to.
const dstPrefix = "what was there before: "

// appended checks what every function that takes dst promises: what was in dst is
// untouched, after an error nothing is added and the error is an ErrInvalid, and
// without one valid JSON is added. It returns what was added.
func appended(tb testing.TB, dst []byte, err error) []byte {
	tb.Helper()
	rest, ok := bytes.CutPrefix(dst, []byte(dstPrefix))
	if !ok {
		tb.Fatalf("dst was changed: %.200q", dst)
	}
	if err != nil {
		checkInvalid(tb, err)
		if len(rest) > 0 {
			tb.Fatalf("dst grew in spite of %v: %.200q", err, rest)
		}
		return nil
	}
	if !json.Valid(rest) || !utf8.Valid(rest) {
		tb.Fatalf("not valid: %.2000q", rest)
	}
	return rest
}

func checkInvalid(tb testing.TB, err error) {
	tb.Helper()
	var syntax *transform.SyntaxError
	if !errors.Is(err, transform.ErrInvalid) || !errors.As(err, &syntax) {
		tb.Fatalf("got %v (%T), want a *SyntaxError that is ErrInvalid", err, err)
	}
}
