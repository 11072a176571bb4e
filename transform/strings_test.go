package transform_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/transform"
)

func TestAppendString(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"empty", "", `""`},
		{"plain", "Provider Error", `"Provider Error"`},
		{"quotes and backslashes", `"C:\"`, `"\"C:\\\""`},
		{"short escapes", "\b\f\n\r\t", `"\b\f\n\r\t"`},
		{"other controls", "\x00\x1f", `"\u0000\u001f"`},
		{"HTML stays readable", "<a href='x'>&</a>", `"<a href='x'>&</a>"`},
		{"slash and DEL", "/\x7f", "\"/\x7f\""},
		{"UTF-8", "é€😀", `"é€😀"`},
		{"line separators", "a\u2028b\u2029c\u2027\u202a", "\"a\\u2028b\\u2029c\u2027\u202a\""},
		{"not UTF-8", "a\xffb\xe2\x82", "\"a\ufffdb\ufffd\ufffd\""},
		{"U+FFFD itself", "\ufffd", "\"\ufffd\""},
	}
	for _, tt := range tests {
		t.Run("ok/"+tt.name, func(t *testing.T) {
			if got := appended(t, transform.AppendString([]byte(dstPrefix), tt.in), nil); string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestAppendStringReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkString(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")))
		checkString(t, rapid.String().Draw(t, "text"))
	})
}

// checkString checks that s reads back, but for bytes that are not UTF-8.
func checkString(tb interface {
	Fatalf(format string, args ...any)
}, s string,
) {
	out := transform.AppendString(nil, s)
	if err := transform.Validate(out); err != nil {
		tb.Fatalf("%v in %q", err, out)
	}
	var got string
	if err := json.Unmarshal(out, &got); err != nil {
		tb.Fatalf("%v in %q", err, out)
	}
	var want strings.Builder
	for _, r := range s { // ranging replaces what is not UTF-8
		want.WriteRune(r)
	}
	if got != want.String() {
		tb.Fatalf("%q reads back as %q", s, got)
	}
}
