package transform_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/fleetgate/fleetgate/transform"
)

// documents are the edges of the grammar, with what must be wrong with them and where.
var documents = []struct {
	name   string
	body   string
	reason string // "" when nothing is
	offset int
}{
	{"object", `{"a":1,"b":[true,false,null],"c":{"d":"e"}}`, "", 0},
	{"array", `[]`, "", 0},
	{"empty object", `{}`, "", 0},
	{"string", `"a"`, "", 0},
	{"null", `null`, "", 0},
	{"white space", " \t\r\n{ \"a\" : [ 1 , 2 ] } \t\r\n", "", 0},
	{"numbers", `[0,-0,1,-1,10,0.0,0.50,1e5,1E+5,1e-05,-1.25e10,30000000000000000000]`, "", 0},
	{"escapes", `"\"\\\/\b\f\n\r\t\u00e9\uD83D\ude9a"`, "", 0},
	{"half a surrogate pair", `"\ud83d"`, "", 0},
	{"every length of string", `["","a","ab","abc","abcd","abcde","abcdef","abcdefg","abcdefgh","abcdefghi"]`, "", 0},
	{"UTF-8", `"é€😀"`, "", 0},
	{"U+FFFD itself", `"�"`, "", 0},
	{"DEL", "\"\x7f\"", "", 0},
	{"at the limit", nested(transform.MaxDepth), "", 0},
	{"same name twice", `{"a":1,"a":2}`, "", 0},

	{"nothing", ``, "unexpected end", 0},
	{"only white space", "  \n", "unexpected end", 3},
	{"byte order mark", "\xef\xbb\xbf{}", "unexpected character", 0},
	{"non-breaking space", "{\u00a0}", "unexpected character", 1},
	{"form feed", "{\f}", "unexpected character", 1},
	{"HTML", `<!DOCTYPE html>`, "unexpected character", 0},
	{"two documents", `{} {}`, "text after the document", 3},
	{"closed twice", `[]]`, "text after the document", 2},
	{"not closed", `[1`, "unexpected end", 2},
	{"closed by the wrong bracket", `[1}`, "unexpected character", 2},
	{"opened by the wrong bracket", `{1]`, "unexpected character", 1},
	{"comma at the end", `[1,]`, "unexpected character", 3},
	{"comma at the end of an object", `{"a":1,}`, "unexpected character", 7},
	{"comma at the start", `[,1]`, "unexpected character", 1},
	{"no comma", `[1 2]`, "unexpected character", 3},
	{"no colon", `{"a" 1}`, "unexpected character", 5},
	{"no value", `{"a":}`, "unexpected character", 5},
	{"no name", `{:1}`, "unexpected character", 1},
	{"number as name", `{1:1}`, "unexpected character", 1},
	{"single quotes", `{'a':1}`, "unexpected character", 1},
	{"comment", `[1/**/]`, "unexpected character", 2},
	{"leading zero", `01`, "text after the document", 1},
	{"leading zero in an array", `[01]`, "unexpected character", 2},
	{"minus alone", `-`, "unexpected end", 1},
	{"plus", `+1`, "unexpected character", 0},
	{"point at the end", `[1.]`, "unexpected character", 3},
	{"point at the start", `.5`, "unexpected character", 0},
	{"empty exponent", `[1e+]`, "unexpected character", 4},
	{"hexadecimal", `[0x1]`, "unexpected character", 2},
	{"NaN", `NaN`, "unexpected character", 0},
	{"infinity", `-Infinity`, "unexpected character", 1},
	{"word cut short", `tru`, "unexpected end", 3},
	{"word misspelt", `[nul1]`, "unexpected character", 4},
	{"word too long", `truee`, "text after the document", 4},
	{"capital word", `True`, "unexpected character", 0},
	{"string not closed", `"abcdefghij`, "unexpected end", 11},
	{"escape cut short", `"\`, "bad escape", 2},
	{"unknown escape", `"\x41"`, "bad escape", 2},
	{"short unicode escape", `"\u12"`, "bad escape", 5},
	{"unicode escape of no hex", `"\u12g4"`, "bad escape", 5},
	{"line feed in a string", "\"abcdefgh\n\"", "control character in a string", 9},
	{"NUL in a string", "\"a\x00\"", "control character in a string", 2},
	{"NUL", "\x00", "unexpected character", 0},
	{"NUL behind", "{}\x00", "text after the document", 2},
	{"Latin-1", "\"caf\xe9\"", "not UTF-8", 4},
	{"UTF-8 cut short", "\"\xe2\x82\"", "not UTF-8", 1},
	{"overlong UTF-8", "\"\xc0\xaf\"", "not UTF-8", 1},
	{"surrogate in UTF-8", "\"\xed\xa0\x80\"", "not UTF-8", 1},
	{"beyond Unicode", "\"\xf4\x90\x80\x80\"", "not UTF-8", 1},
	{"not UTF-8 in a name", "{\"\xff\":1}", "not UTF-8", 2},
	{"one level too many", nested(transform.MaxDepth + 1), "nested too deeply", transform.MaxDepth},
	{"10,000 levels", nested(10_000), "nested too deeply", transform.MaxDepth},
	{"5,000,000 levels not closed", strings.Repeat("[", 5_000_000), "nested too deeply", transform.MaxDepth},
	{"5,000,000 levels of objects", strings.Repeat(`{"a":`, 5_000_000), "nested too deeply", transform.MaxDepth * 5},
}

func nested(levels int) string {
	return strings.Repeat("[", levels) + strings.Repeat("]", levels)
}

func TestValidate(t *testing.T) {
	for _, d := range documents {
		t.Run(outcome(d.reason)+d.name, func(t *testing.T) {
			err := transform.Validate([]byte(d.body))
			if (err == nil) != valid([]byte(d.body)) {
				t.Errorf("got %v, encoding/json says otherwise", err)
			}
			checkSyntaxError(t, err, d.reason, d.offset)
		})
	}
}

func outcome(reason string) string {
	if reason == "" {
		return "ok/"
	}
	return "fail/"
}

func checkSyntaxError(t *testing.T, err error, reason string, offset int) {
	t.Helper()
	if reason == "" {
		if err != nil {
			t.Errorf("got %v, want no error", err)
		}
		return
	}
	var syntax *transform.SyntaxError
	if !errors.As(err, &syntax) || !errors.Is(err, transform.ErrInvalid) {
		t.Fatalf("got %v, want a *SyntaxError that is ErrInvalid", err)
	}
	if syntax.Reason != reason || syntax.Offset != offset {
		t.Errorf("got %q at %d, want %q at %d", syntax.Reason, syntax.Offset, reason, offset)
	}
}

func TestSyntaxErrorText(t *testing.T) {
	err := transform.Validate([]byte(`{"password":"hunter2",}`))
	if got, want := err.Error(), "invalid JSON at offset 22: unexpected character"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if errors.Is(err, errors.New("invalid JSON")) {
		t.Error("matches an error of the same text")
	}
}

func TestValidateUnique(t *testing.T) {
	tests := []struct {
		name   string
		body   string
		reason string
		offset int
	}{
		{"ok/no names", `[1,"a",null,{}]`, "", 0},
		{"ok/different names", `{"a":1,"A":2,"":3,"ab":4}`, "", 0},
		{"ok/same name in other objects", `{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}]}`, "", 0},
		{"ok/same name behind an inner object", `{"b":{"a":1},"a":2}`, "", 0},
		{"ok/same value", `{"a":"a","b":"a"}`, "", 0},
		{"ok/half a pair before other characters", `{"\ud83d\u0041":1,"\ud83d\u0042":2,"\ud83d":3,"\ud83d\ud83d\ude00":4}`, "", 0},
		{"ok/many", manyNames(2_000, ""), "", 0},
		{"fail/twice", `{"a":1,"a":2}`, "duplicate member name", 7},
		{"fail/empty name", `{"":1,"":2}`, "duplicate member name", 6},
		{"fail/escaped", `{"a":1,"\u0061":2}`, "duplicate member name", 7},
		{"fail/escaped pair", `{"😀":1,"\ud83d\ude00":2}`, "duplicate member name", 10},
		{"fail/half a pair reads as U+FFFD", `{"\ud83dA":1,"�\u0041":2}`, "duplicate member name", 13},
		{"fail/not neighbours", `{"a":1,"b":2,"c":{"x":0},"a":3}`, "duplicate member name", 25},
		{"fail/the first of several", `{"b":1,"a":1,"b":2,"a":2,"b":3}`, "duplicate member name", 13},
		{"fail/inner", `{"a":[{"b":{"c":1,"c":2}}]}`, "duplicate member name", 18},
		{"fail/among many", manyNames(2_000, `,"n7":0`), "duplicate member name", len(manyNames(2_000, ""))},
		{"fail/syntax first", `{"a":1,"a":}`, "unexpected character", 11},
		{"fail/syntax in a name", `{"a\q":1}`, "bad escape", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			checkSyntaxError(t, transform.ValidateUnique([]byte(tt.body)), tt.reason, tt.offset)
		})
	}
	for _, d := range documents {
		if d.name == "same name twice" {
			continue
		}
		t.Run(outcome(d.reason)+"grammar/"+d.name, func(t *testing.T) {
			checkSyntaxError(t, transform.ValidateUnique([]byte(d.body)), d.reason, d.offset)
		})
	}
}

func manyNames(n int, more string) string {
	var b strings.Builder
	b.WriteString(`{"n":0`)
	for i := range n {
		b.WriteString(`,"n`)
		b.WriteString(strings.Repeat("n", i%7))
		b.WriteString(strconv.Itoa(i))
		b.WriteString(`":0`)
	}
	b.WriteString(more)
	b.WriteString("}")
	return b.String()
}

// TestTruncated cuts documents at every byte: no part of an array or an object is
// valid, and every function says so.
func TestTruncated(t *testing.T) {
	events := upstream(t, "lytx/events.json")
	orders := member(upstream(t, "fleetrock/repair_orders_august.json"), "repair_orders")
	report := upstream(t, "quikq/report_wrapped.json")
	join := lytxJoin(t)

	tests := []struct {
		name string
		body []byte
		call func(dst, body []byte) ([]byte, error)
	}{
		{"Validate", events, func(dst, body []byte) ([]byte, error) { return dst, transform.Validate(body) }},
		{"ValidateUnique", report, func(dst, body []byte) ([]byte, error) { return dst, transform.ValidateUnique(body) }},
		{"ArrayLen", events, func(dst, body []byte) ([]byte, error) {
			_, err := transform.ArrayLen(body)
			return dst, err
		}},
		{"EnrichEvents", events, func(dst, body []byte) ([]byte, error) {
			dst, misses, err := transform.EnrichEvents(dst, body, join)
			if misses != (transform.JoinMisses{}) {
				t.Errorf("misses counted in spite of %v: %+v", err, misses)
			}
			return dst, err
		}},
		{"MergeArrays", events, func(dst, body []byte) ([]byte, error) {
			return transform.MergeArrays(dst, [][]byte{events, body}, transform.Merge{ID: "id", Keys: []string{"revisionDate"}})
		}},
		{"NormalizeOrders", orders, func(dst, body []byte) ([]byte, error) {
			dst, n, err := transform.NormalizeOrders(dst, [][]byte{orders, body})
			if n != 0 {
				t.Errorf("orders counted in spite of %v: %d", err, n)
			}
			return dst, err
		}},
		{"UnwrapFuelReport", report, transform.UnwrapFuelReport},
	}
	for _, tt := range tests {
		t.Run("fail/"+tt.name, func(t *testing.T) {
			for n := range tt.body {
				dst, err := tt.call([]byte(dstPrefix), tt.body[:n])
				if err == nil {
					t.Fatalf("cut at %d: no error", n)
				}
				appended(t, dst, err)
			}
		})
	}
}

func TestBadBodies(t *testing.T) {
	bodies := map[string]string{
		"empty":              "",
		"white space":        " \n",
		"HTML":               "<html><body>503</body></html>",
		"null":               "null",
		"a string":           `"[]"`,
		"a number":           "1",
		"an array of arrays": "[[]]",
		"10,000 levels":      `[{"a":` + nested(10_000) + `}]`,
		"5,000,000 levels":   strings.Repeat(`[{"a":`, 2_500_000),
		"not UTF-8":          "[{\"a\":\"\xff\"}]",
		"two documents":      "[] []",
	}
	calls := map[string]func(dst, body []byte) ([]byte, error){
		"EnrichEvents": func(dst, body []byte) ([]byte, error) {
			dst, _, err := transform.EnrichEvents(dst, body, &transform.EventJoin{})
			return dst, err
		},
		"MergeArrays": func(dst, body []byte) ([]byte, error) {
			return transform.MergeArrays(dst, [][]byte{body}, transform.Merge{})
		},
		"NormalizeOrders": func(dst, body []byte) ([]byte, error) {
			dst, _, err := transform.NormalizeOrders(dst, [][]byte{body})
			return dst, err
		},
		"UnwrapFuelReport": transform.UnwrapFuelReport,
	}
	for function, call := range calls {
		for name, body := range bodies {
			t.Run("fail/"+function+"/"+name, func(t *testing.T) {
				dst, err := call([]byte(dstPrefix), []byte(body))
				if err == nil {
					t.Fatal("no error")
				}
				appended(t, dst, err)
			})
		}
	}
}

func TestArrayLen(t *testing.T) {
	for body, want := range map[string]int{"[]": 0, " [ ] ": 0, "[1]": 1, `[1,"a,b",[2,3],{"c":[4,5]},null]`: 5} {
		if got, err := transform.ArrayLen([]byte(body)); got != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", body, got, err, want)
		}
	}
	for _, body := range []string{"", "{}", "null", "[1", "[1] 2"} {
		n, err := transform.ArrayLen([]byte(body))
		if n != 0 {
			t.Errorf("%s: got %d", body, n)
		}
		checkInvalid(t, err)
	}
}
