package transform_test

import (
	"encoding/json"
	"testing"

	"github.com/fleetgate/fleetgate/transform"
)

func TestMembers(t *testing.T) {
	const none = "none" // no JSON text
	tests := []struct {
		name, body string
		a, b       string
	}{
		{"empty object", `{}`, none, none},
		{"other members", `{"A":1,"ab":2,"":3,"x":{"a":4},"l":[{"b":5}]}`, none, none},
		{"all kinds, the first time", `{"a":"x\u0041\"","b":{"a":[1,{}]}}`, `"x\u0041\""`, `{"a":[1,{}]}`},
		{"all kinds, the second time", `{"b":[ ],"a":null}`, `null`, `[ ]`},
		{"all kinds, the third time", `{"a":true,"b":false}`, `true`, `false`},
		{"numbers as they are spelled", `{"a":9007199254740993,"b":-0.10E+2}`, `9007199254740993`, `-0.10E+2`},
		{"white space inside only", " {\n\"a\" : [ 1 ,\t2 ] , \"b\" : \" \" \r} ", "[ 1 ,\t2 ]", `" "`},
		{"names with escapes", `{"\u0061":1,"\u0062\u0000":2}`, `1`, none},
		{"the last of several", `{"a":1,"b":{},"\u0061":2,"b":null}`, `2`, `null`},
		{"beside deep nesting", `{"x":` + nested(transform.MaxDepth-1) + `,"b":1}`, none, `1`},
	}
	for _, tt := range tests {
		t.Run("ok/"+tt.name, func(t *testing.T) {
			values, err := transform.Members([]byte(tt.body), "a", "b", "a")
			if err != nil || len(values) != 3 {
				t.Fatalf("got %d values, %v", len(values), err)
			}
			for i, want := range []string{tt.a, tt.b, tt.a} {
				if want == none {
					if values[i] != nil {
						t.Errorf("value %d is %q, want nil", i, values[i])
					}
				} else if string(values[i]) != want {
					t.Errorf("value %d is %q, want %q", i, values[i], want)
				}
			}
		})
	}
	t.Run("ok/no names", func(t *testing.T) {
		if values, err := transform.Members([]byte(`{"a":1}`)); err != nil || len(values) != 0 {
			t.Errorf("got %q, %v", values, err)
		}
	})
	t.Run("ok/values are parts of the body", func(t *testing.T) {
		body := []byte(`{"b":[1,2],"x":{},"a":"text"}`)
		allocs := testing.AllocsPerRun(10, func() {
			values, err := transform.Members(body, "a", "b", "c")
			if err != nil || &values[0][0] != &body[22] || &values[1][0] != &body[5] {
				t.Errorf("got %q, %v", values, err)
			}
		})
		if allocs > 1 { // the result itself
			t.Errorf("got %v allocations", allocs)
		}
	})
}

func TestMembersFails(t *testing.T) {
	tests := []struct {
		name, body, reason string
		offset             int
	}{
		{"empty", ``, "not an object", 0},
		{"HTML", ` <html>`, "not an object", 1},
		{"null", `null`, "not an object", 0},
		{"string", `"a"`, "not an object", 0},
		{"array", `[{"a":1}]`, "not an object", 0},
		{"broken behind the members", `{"a":1,"b":2,"x":01}`, "unexpected character", 18},
		{"broken beside the members", `{"x":{"y":tru},"a":1}`, "unexpected character", 13},
		{"text behind the object", `{"a":1}{"b":2}`, "text after the document", 7},
		{"not UTF-8", "{\"x\":\"\xe9\",\"a\":1}", "not UTF-8", 6},
		{"one level too many", `{"x":` + nested(transform.MaxDepth) + `}`, "nested too deeply", 5 + transform.MaxDepth - 1},
	}
	for _, tt := range tests {
		t.Run("fail/"+tt.name, func(t *testing.T) {
			values, err := transform.Members([]byte(tt.body), "a", "b")
			checkSyntaxError(t, err, tt.reason, tt.offset)
			if values != nil {
				t.Errorf("got %q in spite of the error", values)
			}
		})
	}
	t.Run("fail/truncated", func(t *testing.T) {
		body := []byte(`{"a":{"x":[1.5,"\u00e9"]},"b":true}`)
		for n := range body {
			if values, err := transform.Members(body[:n], "a", "b"); err == nil || values != nil {
				t.Errorf("cut at %d: got %q, %v", n, values, err)
			}
		}
	})
}

func FuzzMembers(f *testing.F) {
	for _, d := range documents {
		if len(d.body) < 50_000 {
			f.Add([]byte(d.body), "a")
		}
	}
	f.Add(upstream(f, "quikq/report_wrapped.json"), "report")
	f.Add(upstream(f, "fleetrock/repair_orders_august.json"), "repair_orders")
	f.Add([]byte(`{"\u0061":1,"b":[ ],"a" : {"a":null} , "\ud800":"\ud800"}`), "a")
	f.Fuzz(func(t *testing.T, body []byte, name string) {
		var want map[string]json.RawMessage
		isObject := valid(body) && json.Unmarshal(body, &want) == nil && want != nil
		names := []string{name}
		for known := range want {
			names = append(names, known)
		}
		values, err := transform.Members(body, names...)
		if (err == nil) != isObject {
			t.Fatalf("got %v, want an error: %t", err, !isObject)
		}
		if err != nil {
			checkInvalid(t, err)
			return
		}
		for i, name := range names {
			value, has := want[name]
			if has != (values[i] != nil) || string(values[i]) != string(value) {
				t.Errorf("%q is %q, want %q", name, values[i], value)
			}
		}
	})
}

// BenchmarkMembers cuts the data out of an envelope around 500 events.
func BenchmarkMembers(b *testing.B) {
	data := benchmarkEvents(500, false)
	body := append([]byte(`{"status":"success","data":`), data...)
	body = append(body, '}')
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		values, err := transform.Members(body, "status", "message", "data")
		if err != nil || len(values[2]) != len(data) {
			b.Fatal(len(values), err)
		}
	}
}
