package transform_test

import (
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/transform"
)

// addSeeds adds the edges of the grammar and the given upstream bodies, or the member
// of that name in them.
func addSeeds(f *testing.F, name string, files ...string) {
	f.Helper()
	for _, d := range documents {
		if len(d.body) < 50_000 {
			f.Add([]byte(d.body))
		}
	}
	for _, file := range files {
		body := upstream(f, file)
		if name != "" {
			body = member(body, name)
		}
		f.Add(body)
	}
}

func FuzzValidate(f *testing.F) {
	addSeeds(f, "", "lytx/events.json", "quikq/report_wrapped.json", "fleetrock/repair_orders_august.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		err := transform.Validate(body)
		if err != nil {
			checkInvalid(t, err)
		}
		if (err == nil) != valid(body) {
			t.Errorf("got %v, encoding/json says otherwise", err)
		}
		n, lenErr := transform.ArrayLen(body)
		if isArray := err == nil && gjson.ParseBytes(body).IsArray(); isArray != (lenErr == nil) {
			t.Errorf("ArrayLen: got %v", lenErr)
		} else if isArray && n != len(decode(t, body).([]any)) {
			t.Errorf("ArrayLen: got %d", n)
		}
	})
}

func FuzzValidateUnique(f *testing.F) {
	addSeeds(f, "", "quikq/report_flat.json")
	f.Add([]byte(`{"a":{"a":1,"b":[{"b":1,"\u0062":2}]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		err := transform.ValidateUnique(body)
		if err != nil {
			checkInvalid(t, err)
		}
		if want := valid(body) && countMembers(decode(t, body)) == countNames(body); (err == nil) != want {
			t.Errorf("got %v, want an error: %t", err, !want)
		}
	})
}

// countMembers counts the members of all objects in a decoded value.
func countMembers(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, value := range v {
			n += countMembers(value)
		}
	case []any:
		for _, value := range v {
			n += countMembers(value)
		}
	}
	return n
}

// countNames counts the members of all objects in a valid document, those that
// decoding drops included.
func countNames(body []byte) int {
	n := 0
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
		case c == ':':
			n++
		}
	}
	return n
}

func FuzzEnrichEvents(f *testing.F) {
	addSeeds(f, "", "lytx/events.json")
	f.Add([]byte(`[{"t":"1","s":2,"v":"A","d1":null,"d2":"D","type":0,"v\u0065hicle":[],"eventDate":"O"},{"v":7}]`))
	small, lytx := smallJoin(), lytxJoin(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		checkEnriched(t, body, small)
		checkEnriched(t, body, lytx)
	})
}

func FuzzMergeArrays(f *testing.F) {
	events := upstream(f, "lytx/events.json")
	f.Add(events, events, true, 1, 3)
	f.Add([]byte(`[{"id":1,"k":"2026-08-09T00:00:03Z"},{"id":1}]`), []byte(`[{"\u006bd":null,"k":"2026-08-09T00:00:03.5+02:00"}]`), false, -1, -1)
	f.Fuzz(func(t *testing.T, a, b []byte, descending bool, offset, limit int) {
		merge := transform.Merge{ID: "id", Keys: []string{"k", "revisionDate"}, Descending: descending, Offset: offset, Limit: limit}
		dst, err := transform.MergeArrays([]byte(dstPrefix), [][]byte{a, b}, merge)
		got := appended(t, dst, err)
		inA, okA := objects(t, a)
		inB, okB := objects(t, b)
		if (err == nil) != (okA && okB) {
			t.Fatalf("got %v", err)
		}
		if err != nil {
			return
		}
		n, err := transform.ArrayLen(got)
		if most := len(inA) + len(inB); err != nil || n > most || limit > 0 && n > limit {
			t.Errorf("got %d elements of %d, %v", n, most, err)
		}
		known := make(map[string]bool)
		for _, array := range [][]byte{a, b} {
			var elements []json.RawMessage
			if err := json.Unmarshal(array, &elements); err != nil {
				t.Fatal(err)
			}
			for _, element := range elements {
				known[string(element)] = true
			}
		}
		var elements []json.RawMessage
		if err := json.Unmarshal(got, &elements); err != nil {
			t.Fatal(err)
		}
		for _, element := range elements {
			if !known[string(element)] {
				t.Errorf("%q is in neither array", element)
			}
		}
	})
}

func FuzzNormalizeOrders(f *testing.F) {
	addSeeds(f, "repair_orders", "fleetrock/repair_orders_august.json", "fleetrock/repair_orders_september.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		checkNormalized(t, [][]byte{body, []byte(`[{"id":"1"}]`), body})
	})
}

func FuzzUnwrapFuelReport(f *testing.F) {
	addSeeds(f, "", "quikq/report_wrapped.json", "quikq/report_wrapped_without_counts.json", "quikq/report_flat.json", "quikq/report_single.json")
	f.Fuzz(func(t *testing.T, body []byte) {
		dst, err := transform.UnwrapFuelReport([]byte(dstPrefix), body)
		appended(t, dst, err)
		if transform.Validate(body) == nil && transform.ValidateUnique(body) != nil {
			return // a decoded object knows nothing of members that come twice
		}
		checkUnwrapped(t, body)
	})
}

func FuzzAppendString(f *testing.F) {
	for _, d := range documents {
		if len(d.body) < 50_000 {
			f.Add(d.body)
		}
	}
	f.Fuzz(func(t *testing.T, s string) { checkString(t, s) })
}

func FuzzAppendError(f *testing.F) {
	f.Add("Unauthenticated", "start_date", "start_date is invalid")
	f.Add("a\xff\"", "\u2028", "\x00")
	f.Fuzz(func(t *testing.T, message, field, text string) {
		problem := transform.Problem{Field: field, Message: text}
		for _, problems := range [][]transform.Problem{nil, {problem}, {problem, problem}} {
			got := appended(t, transform.AppendError([]byte(dstPrefix), message, problems), nil)
			if data := gjson.GetBytes(got, "data"); data.IsObject() != (len(problems) > 1) {
				t.Errorf("data is %s with %d problems", data.Raw, len(problems))
			}
		}
	})
}
