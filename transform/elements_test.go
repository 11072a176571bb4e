package transform_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/transform"
)

// vendorPath is where a provider's list of vendors is.
var vendorPath = []string{"QueryResponse", "Vendor"}

// eachElement collects what [transform.EachElement] hands out.
func eachElement(body []byte, path []string) (elements, ids []string, found bool, err error) {
	found, err = transform.EachElement(body, path, "Id", func(element, id []byte) {
		elements = append(elements, string(element))
		if id == nil {
			ids = append(ids, "none")
		} else {
			ids = append(ids, string(id))
		}
	})
	return elements, ids, found, err
}

func TestEachElement(t *testing.T) {
	tests := []struct {
		name, body    string
		found         bool
		elements, ids []string
	}{
		{"no rows", `{"QueryResponse":{},"time":"2026-08-31T00:00:00Z"}`, false, nil, nil},
		{"a count", `{"QueryResponse":{"totalCount":26}}`, false, nil, nil},
		{"rows of something else", `{"QueryResponse":{"Account":[{"Id":"1"}],"vendor":[{"Id":"2"}]},"Vendor":[{"Id":"3"}]}`, false, nil, nil},
		{"empty array", `{"QueryResponse":{"Vendor":[]}}`, true, nil, nil},
		{
			"rows as they are", ` { "QueryResponse" : { "Vendor" : [ {"Id":"56","Balance":10.0} , { "Balance" : 739.00,"Id" : "9223372036854775808" } ] , "maxResults":2 } } `, true,
			[]string{`{"Id":"56","Balance":10.0}`, `{ "Balance" : 739.00,"Id" : "9223372036854775808" }`},
			[]string{`"56"`, `"9223372036854775808"`},
		},
		{"behind other members", `{"time":1,"QueryResponse":{"startPosition":1,"Vendor":[{"Id":"1"}]}}`, true, []string{`{"Id":"1"}`}, []string{`"1"`}},
		{
			"ids of all kinds", `{"QueryResponse":{"Vendor":[{"Id":7},{"Id":null},{},{"id":"1"},{"Ref":{"Id":"2"}},{"\u0049d":"\u0031"},{"Id":"1","Id":"2"}]}}`, true,
			[]string{`{"Id":7}`, `{"Id":null}`, `{}`, `{"id":"1"}`, `{"Ref":{"Id":"2"}}`, `{"\u0049d":"\u0031"}`, `{"Id":"1","Id":"2"}`},
			[]string{`7`, "none", "none", "none", "none", `"\u0031"`, `"2"`},
		},
		{
			"path twice", `{"QueryResponse":{"Vendor":[{"Id":"1"}]},"QueryResponse":{"Vendor":[{"Id":"2"}],"Vendor":[{"Id":"3"}]}}`, true,
			[]string{`{"Id":"1"}`, `{"Id":"2"}`, `{"Id":"3"}`},
			[]string{`"1"`, `"2"`, `"3"`},
		},
	}
	for _, tt := range tests {
		t.Run("ok/"+tt.name, func(t *testing.T) {
			elements, ids, found, err := eachElement([]byte(tt.body), vendorPath)
			if err != nil || found != tt.found {
				t.Errorf("got found %t, %v", found, err)
			}
			if !slices.Equal(elements, tt.elements) || !slices.Equal(ids, tt.ids) {
				t.Errorf("got  %q %q\nwant %q %q", elements, ids, tt.elements, tt.ids)
			}
		})
	}
	t.Run("ok/no path", func(t *testing.T) {
		elements, ids, found, err := eachElement([]byte(`[{"Id":"1"}]`), nil)
		if !slices.Equal(elements, []string{`{"Id":"1"}`}) || !slices.Equal(ids, []string{`"1"`}) || !found || err != nil {
			t.Errorf("got %q %q %t %v", elements, ids, found, err)
		}
	})
	t.Run("ok/elements are parts of the body", func(t *testing.T) {
		body := []byte(`{"QueryResponse":{"Vendor":[{"Id":"1"},{"Id":"2"}]}}`)
		allocs := testing.AllocsPerRun(10, func() {
			_, err := transform.EachElement(body, vendorPath, "Id", func([]byte, []byte) {})
			if err != nil {
				t.Error(err)
			}
		})
		if allocs > 1 { // the reader itself
			t.Errorf("got %v allocations", allocs)
		}
	})
}

func TestEachElementErrors(t *testing.T) {
	tests := []struct{ name, body, reason string }{
		{"empty", ``, "not an object"},
		{"HTML", `<html>`, "not an object"},
		{"null", `null`, "not an object"},
		{"array", `[]`, "not an object"},
		{"object without the path", `{}`, "missing member"},
		{"fault", `{"Fault":{"Error":[{"code":"610"}],"type":"ValidationFault"},"time":"2026"}`, "missing member"},
		{"null on the path", `{"QueryResponse":null}`, "not an object"},
		{"array on the path", `{"QueryResponse":[]}`, "not an object"},
		{"null for the array", `{"QueryResponse":{"Vendor":null}}`, "not an array"},
		{"object for the array", `{"QueryResponse":{"Vendor":{"Id":"1"}}}`, "not an array"},
		{"null for an element", `{"QueryResponse":{"Vendor":[{"Id":"1"},null]}}`, "not an object"},
		{"array for an element", `{"QueryResponse":{"Vendor":[[]]}}`, "not an object"},
		{"broken behind the array", `{"QueryResponse":{"Vendor":[{"Id":"1"}]},"time":tru}`, "unexpected character"},
		{"text behind the body", `{"QueryResponse":{"Vendor":[{"Id":"1"}]}}{}`, "text after the document"},
		{"not UTF-8", "{\"QueryResponse\":{\"Vendor\":[{\"Id\":\"1\",\"DisplayName\":\"Caf\xe9\"}]}}", "not UTF-8"},
		{"10,000 levels", `{"QueryResponse":{"Vendor":[{"x":` + nested(10_000) + `}]}}`, "nested too deeply"},
	}
	for _, tt := range tests {
		t.Run("fail/"+tt.name, func(t *testing.T) {
			elements, _, found, err := eachElement([]byte(tt.body), vendorPath)
			for _, element := range elements {
				if transform.Validate([]byte(element)) != nil {
					t.Errorf("handed out %q", element)
				}
			}
			if err == nil || !strings.HasSuffix(err.Error(), ": "+tt.reason) || found {
				t.Errorf("got %t, %v, want %s", found, err, tt.reason)
			}
			checkInvalid(t, err)
		})
	}
	t.Run("fail/truncated", func(t *testing.T) {
		body := []byte(`{"QueryResponse":{"Vendor":[{"Id":"1","Balance":10.0},{"Id":"2"}],"maxResults":2},"time":"2026-08-31"}`)
		for n := range body {
			if _, _, found, err := eachElement(body[:n], vendorPath); err == nil || found {
				t.Errorf("cut at %d: got %t, %v", n, found, err)
			}
		}
	})
}

// TestEachElementRecorded joins recorded pages as a list does.
func TestEachElementRecorded(t *testing.T) {
	tests := []struct {
		name, path string
		rows       int
	}{
		{"account_query_10", "QueryResponse.Account", 10},
		{"vendor_query_35", "QueryResponse.Vendor", 35},
		{"vendor_page_1_of_6", "QueryResponse.Vendor", 5},
		{"empty_query", "QueryResponse.Customer", 0},
		{"vendor_count", "QueryResponse.Vendor", 0},
	}
	for _, tt := range tests {
		t.Run("ok/"+tt.name, func(t *testing.T) {
			body := recording(t, "quickbooks/"+tt.name+".resp.json")
			elements, ids, found, err := eachElement(body, strings.Split(tt.path, "."))
			if err != nil || found != (tt.rows > 0) {
				t.Fatalf("got %t, %v", found, err)
			}
			want := gjson.GetBytes(body, tt.path).Array()
			if len(elements) != tt.rows || len(want) != tt.rows {
				t.Fatalf("got %d rows, want %d", len(elements), tt.rows)
			}
			for i, row := range want {
				if elements[i] != row.Raw || ids[i] != row.Get("Id").Raw {
					t.Errorf("row %d is not as recorded: %s", i, elements[i])
				}
			}
		})
	}
}

func TestEachElementProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g := generator{r, []string{"Id", "Vendor", "QueryResponse", "x", ""}, []string{`"1"`, `"2"`, `1`, `null`, `10.0`, `"a\"]},{"`}}
		var rows []string
		for range rapid.IntRange(0, 20).Draw(r, "rows") {
			rows = append(rows, g.object(2))
		}
		separator := g.space() + "," + g.space()
		body := `{"QueryResponse":{` + g.space() + `"Vendor":[` + strings.Join(rows, separator) + `],"maxResults":` + strconv.Itoa(len(rows)) + `}}`
		elements, ids, found, err := eachElement([]byte(body), vendorPath)
		if err != nil || !found || !slices.Equal(elements, rows) || len(ids) != len(rows) {
			r.Errorf("got %q, %t, %v for %s", elements, found, err, body)
		}
	})
}

func FuzzEachElement(f *testing.F) {
	addSeeds(f, "")
	f.Add([]byte(`{"QueryResponse":{"Vendor":[{"Id":"1","Balance":10.0},{"Id":null}],"startPosition":1,"maxResults":2},"time":"2026"}`))
	f.Add([]byte(`{"QueryResponse":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		elements, ids, found, err := eachElement(body, vendorPath)
		if err != nil {
			checkInvalid(t, err)
			if found {
				t.Errorf("found in spite of %v", err)
			}
			return
		}
		if !valid(body) {
			t.Fatal("not valid, and no error")
		}
		if transform.ValidateUnique(body) != nil {
			return // gjson takes the first of several
		}
		list := gjson.GetBytes(body, "QueryResponse.Vendor")
		if found != list.Exists() || !found && len(elements) > 0 {
			t.Fatalf("found %t, %d elements", found, len(elements))
		}
		want := list.Array()
		if len(elements) != len(want) || len(ids) != len(want) {
			t.Fatalf("got %d elements, want %d", len(elements), len(want))
		}
		for i, element := range want {
			if elements[i] != element.Raw {
				t.Errorf("got %q, want %q", elements[i], element.Raw)
			}
		}
	})
}
