package area

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// inputsOf returns the inputs of a call with the query, which must parse.
func inputsOf(t *testing.T, rawQuery string) *Inputs {
	t.Helper()
	in := callWith(rawQuery).Inputs()
	if err := in.Err(); err != nil {
		t.Fatalf("Inputs(%q): %v", rawQuery, err)
	}
	return in
}

func callWith(rawQuery string) *Call {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.URL.RawQuery = rawQuery
	return newCall(httptest.NewRecorder(), r)
}

func TestQueryThatDoesNotParse(t *testing.T) {
	for name, query := range map[string]string{
		"fail/percent at the end": "a=1&b=%",
		"fail/half an escape":     "a=%4",
		"fail/no hex digits":      "a=%zz",
		"fail/semicolon":          "a=1;b=2",
		"fail/in an unknown name": "%=1",
	} {
		t.Run(name, func(t *testing.T) {
			in := callWith(query).Inputs()
			if v, ok := in.Query("a"); ok {
				t.Errorf("a is %q, although the query cannot be trusted", v)
			}
			err := in.Err()
			f, ok := errors.AsType[*Failure](err)
			if !ok || f.Status != http.StatusBadRequest || f.Code != CodeInvalidRequest || f.Message != "query is invalid" {
				t.Errorf("Inputs(%q) = %#v", query, err)
			}
		})
	}
}

func TestInputs(t *testing.T) {
	long := strings.Repeat("a", maxValue)
	text := func(in *Inputs) any { return in.Text("p", 8) }
	whole := func(in *Inputs) any { return in.Int("p", 7, 1, 1000) }
	flag := func(in *Inputs) any { return in.Bool("p", true) }
	digits := func(in *Inputs) any { return in.Digits("p", 4) }
	needed := func(in *Inputs) any { return in.RequiredDigits("p", 4) }
	oneOf := func(in *Inputs) any { return in.OneOf("p", "b", "a", "b") }
	ids := func(in *Inputs) any { return strings.Join(in.IDs("p", 3), "|") }
	window := func(in *Inputs) any {
		from, to := in.Window("from", "to")
		return from + ".." + to
	}

	for _, tc := range []struct {
		name  string
		query string
		read  func(*Inputs) any
		want  any
		bad   string // fields at fault
	}{
		{"ok/text absent", "", text, "", ""},
		{"ok/text", "p=h%C3%A9llo", text, "héllo", ""},
		{"ok/text of the greatest length", "p=12345678", text, "12345678", ""},
		{"ok/other parameters do not matter", "q=%00&q=", text, "", ""},
		{"fail/text too long", "p=123456789", text, "", "p"},
		{"fail/text empty", "p=", text, "", "p"},
		{"fail/text without a value", "p", text, "", "p"},
		{"fail/text twice", "p=a&p=a", text, "", "p"},
		{"fail/text with a null byte", "p=a%00", text, "", "p"},
		{"fail/text with a line feed", "p=a%0ab", text, "", "p"},
		{"fail/text with a delete", "p=%7f", text, "", "p"},
		{"fail/text with a C1 control", "p=%c2%85", text, "", "p"},
		{"fail/text that is not UTF-8", "p=%ff", text, "", "p"},
		{"fail/text with a surrogate", "p=%ed%a0%80", text, "", "p"},

		{"ok/int absent", "", whole, 7, ""},
		{"ok/int lowest", "p=1", whole, 1, ""},
		{"ok/int highest", "p=1000", whole, 1000, ""},
		{"fail/int below", "p=0", whole, 7, "p"},
		{"fail/int above", "p=1001", whole, 7, "p"},
		{"fail/int negative", "p=-1", whole, 7, "p"},
		{"fail/int with plus", "p=%2B5", whole, 7, "p"},
		{"fail/int with blank", "p=+5", whole, 7, "p"},
		{"fail/int with leading zero", "p=05", whole, 7, "p"},
		{"fail/int with exponent", "p=1e3", whole, 7, "p"},
		{"fail/int with underscore", "p=1_0", whole, 7, "p"},
		{"fail/int hexadecimal", "p=0x5", whole, 7, "p"},
		{"fail/int with decimals", "p=5.0", whole, 7, "p"},
		{"fail/int too large for a machine", "p=18446744073709551617", whole, 7, "p"},
		{"fail/int in other digits", "p=%D9%A5", whole, 7, "p"},
		{"fail/int letters", "p=abc", whole, 7, "p"},

		{"ok/digits absent", "", digits, "", ""},
		{"ok/digits", "p=0075", digits, "0075", ""},
		{"fail/digits too many", "p=12345", digits, "", "p"},
		{"fail/digits empty", "p=", digits, "", "p"},
		{"fail/digits twice", "p=1&p=1", digits, "", "p"},
		{"fail/digits with a sign", "p=-1", digits, "", "p"},
		{"fail/digits with a point", "p=1.0", digits, "", "p"},
		{"fail/digits of another script", "p=%D9%A1", digits, "", "p"},
		{"ok/required digits", "p=1", needed, "1", ""},
		{"fail/required digits too many", "p=12345", needed, "", "p"},
		{"fail/required digits twice", "p=&p=", needed, "", "p"},

		{"ok/bool absent", "", flag, true, ""},
		{"ok/bool true", "p=true", flag, true, ""},
		{"ok/bool false", "p=false", flag, false, ""},
		{"fail/bool number", "p=0", flag, true, "p"},
		{"fail/bool case", "p=False", flag, true, "p"},

		{"ok/one of, absent", "", oneOf, "b", ""},
		{"ok/one of", "p=a", oneOf, "a", ""},
		{"fail/one of, unknown", "p=c", oneOf, "b", "p"},
		{"fail/one of, case", "p=A", oneOf, "b", "p"},

		{"ok/ids absent", "", ids, "", ""},
		{"ok/ids one", "p=a-1_Z", ids, "a-1_Z", ""},
		{"ok/ids in order", "p=c,a,b", ids, "c|a|b", ""},
		{"ok/ids with blanks", "p=a,%20b%20", ids, "a|b", ""},
		{"ok/ids repeated", "p=a,b,a,a,b", ids, "a|b", ""},
		{"ok/ids longest", "p=" + long[:64], ids, long[:64], ""},
		{"fail/ids too many", "p=a,b,c,d", ids, "", "p"},
		{"fail/ids empty one", "p=a,,b", ids, "", "p"},
		{"fail/ids comma at the end", "p=a,", ids, "", "p"},
		{"fail/ids one too long", "p=" + long[:65], ids, "", "p"},
		{"fail/ids path", "p=../x", ids, "", "p"},
		{"fail/ids quote", "p=a'b", ids, "", "p"},
		{"fail/ids other letters", "p=%C3%A9", ids, "", "p"},
		{"fail/ids twice", "p=a&p=b", ids, "", "p"},

		{"ok/window absent", "", window, "..", ""},
		{"ok/window", "from=2026-01-31&to=2026-02-01", window, "2026-01-31..2026-02-01", ""},
		{"ok/window of one day", "from=2026-02-01&to=2026-02-01", window, "2026-02-01..2026-02-01", ""},
		{"ok/window from", "from=2024-02-29", window, "2024-02-29..", ""},
		{"ok/window to", "to=2026-12-31", window, "..2026-12-31", ""},
		{"fail/window backwards", "from=2026-02-02&to=2026-02-01", window, "2026-02-02..2026-02-01", "to"},
		{"fail/window impossible", "from=2026-02-30", window, "..", "from"},
		{"fail/window no leap year", "to=2025-02-29", window, "..", "to"},
		{"fail/window short", "from=2026-2-3", window, "..", "from"},
		{"fail/window with a time", "from=2026-02-03T00:00:00Z", window, "..", "from"},
		{"fail/window other order", "from=03-02-2026", window, "..", "from"},
		{"fail/window both", "from=x&to=2026-13-01", window, "..", "from,to"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := inputsOf(t, tc.query)
			if got := tc.read(in); got != tc.want {
				t.Errorf("read %v, want %v", got, tc.want)
			}
			var fields []string
			for _, p := range in.problems {
				fields = append(fields, p.Field)
				if p.Message != p.Field+" is invalid" {
					t.Errorf("message is %q", p.Message)
				}
			}
			if got := strings.Join(fields, ","); got != tc.bad {
				t.Errorf("fields at fault are %q, want %q", got, tc.bad)
			}
			if err := in.Err(); (err != nil) != (tc.bad != "") {
				t.Errorf("Err() = %v", err)
			}
		})
	}
}

func TestValuesHaveAGreatestLength(t *testing.T) {
	for name, tc := range map[string]struct {
		length int
		ok     bool
	}{
		"ok/longest":    {maxValue, true},
		"fail/one more": {maxValue + 1, false},
		"fail/10 kB":    {10_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			value := strings.Repeat("x", tc.length)
			in := inputsOf(t, "p="+value)
			in.header.Set("H", value)
			if _, ok := in.Query("p"); ok != tc.ok {
				t.Errorf("Query: ok = %t", ok)
			}
			if _, ok := in.Header("H"); ok != tc.ok {
				t.Errorf("Header: ok = %t", ok)
			}
		})
	}
}

func TestHeader(t *testing.T) {
	for name, tc := range map[string]struct {
		values []string
		want   string
		ok     bool
	}{
		"ok/plain":            {[]string{"key"}, "key", true},
		"ok/blanks inside":    {[]string{"correct horse"}, "correct horse", true},
		"ok/UTF-8":            {[]string{"pässword"}, "pässword", true},
		"fail/missing":        {nil, "", false},
		"fail/empty":          {[]string{""}, "", false},
		"fail/repeated":       {[]string{"key", "key"}, "", false},
		"fail/tab":            {[]string{"a\tb"}, "", false},
		"fail/not UTF-8":      {[]string{"a\xff"}, "", false},
		"fail/escape":         {[]string{"a\x1b[0m"}, "", false},
		"fail/carriage":       {[]string{"a\r"}, "", false},
		"fail/delete":         {[]string{"a\x7f"}, "", false},
		"fail/C1 next line":   {[]string{"a\u0085"}, "", false},
		"fail/empty repeated": {[]string{"", ""}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			in := &Inputs{header: http.Header{"Api-Key-Eld": tc.values}}
			got, ok := in.Header("Api-Key-Eld")
			if got != tc.want || ok != tc.ok {
				t.Errorf("Header = %q, %t", got, ok)
			}
			if in.Err() != nil {
				t.Error("a header is noted as a problem")
			}
		})
	}
}

func TestToken(t *testing.T) {
	const name = "Idempotency-Key"
	for _, tc := range []struct {
		name                string
		values              []string
		want                string
		optional, necessary string // problems
	}{
		{"ok/plain", []string{"!key~"}, "!key~", "", ""},
		{"ok/longest", []string{"12345678"}, "12345678", "", ""},
		{"fail/missing", nil, "", "", " is required"},
		{"fail/empty", []string{""}, "", " is invalid", " is required"},
		{"fail/repeated", []string{"a", "a"}, "", " is invalid", " is invalid"},
		{"fail/empty repeated", []string{"", ""}, "", " is invalid", " is invalid"},
		{"fail/blank", []string{"a b"}, "", " is invalid", " is invalid"},
		{"fail/control character", []string{"a\x1f"}, "", " is invalid", " is invalid"},
		{"fail/delete", []string{"a\x7f"}, "", " is invalid", " is invalid"},
		{"fail/not ASCII", []string{"é"}, "", " is invalid", " is invalid"},
		{"fail/not UTF-8", []string{"\xff"}, "", " is invalid", " is invalid"},
		{"fail/longer than a header may be", []string{strings.Repeat("a", maxValue+1)}, "", " is invalid", " is invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			problem := func(in *Inputs) string {
				switch len(in.problems) {
				case 0:
					return ""
				case 1:
					return strings.TrimPrefix(in.problems[0].Message, name)
				default:
					return fmt.Sprint(in.problems)
				}
			}
			in := &Inputs{header: http.Header{name: tc.values}}
			if got := in.Token(name, 8); got != tc.want || problem(in) != tc.optional {
				t.Errorf("Token = %q, %q", got, problem(in))
			}
			in = &Inputs{header: http.Header{name: tc.values}}
			if got := in.RequiredToken(name); got != tc.want || problem(in) != tc.necessary {
				t.Errorf("RequiredToken = %q, %q", got, problem(in))
			}
		})
	}
	in := &Inputs{header: http.Header{name: {"123456789"}}}
	if got := in.Token(name, 8); got != "" || in.Err() == nil {
		t.Errorf("Token = %q, longer than it may be", got)
	}
	if got := in.RequiredToken(name); got != "123456789" {
		t.Errorf("RequiredToken = %q", got)
	}
}

func TestRequiredDigitsThatAreMissing(t *testing.T) {
	for _, query := range []string{"", "p", "p=", "P=1"} {
		in := inputsOf(t, query)
		if got := in.RequiredDigits("p", 4); got != "" || in.Err() == nil || in.Err().Error() != "p is required" {
			t.Errorf("%q: RequiredDigits = %q, %v", query, got, in.Err())
		}
	}
}

func TestProblemsAreListed(t *testing.T) {
	in := inputsOf(t, "a=0&b=maybe&c=x")
	in.Int("a", 1, 1, 9)
	in.Bool("b", true)
	in.OneOf("c", "", "x")
	in.IDs("d", 1)
	f, ok := errors.AsType[*Failure](in.Err())
	if !ok {
		t.Fatalf("Err() = %v", in.Err())
	}
	if f.Message != "a is invalid" || f.Status != http.StatusBadRequest || f.Code != CodeInvalidRequest {
		t.Errorf("failure is %+v", f)
	}
	const want = `{"status":"Error","message":"a is invalid","data":{"errors":[` +
		`{"field":"a","message":"a is invalid"},{"field":"b","message":"b is invalid"}]}}`
	if got := string(Envelope(nil, f)); got != want {
		t.Errorf("body is %s", got)
	}
}

// FuzzInputs checks that no query makes the readers panic and that what they accept
// follows their rules.
func FuzzInputs(f *testing.F) {
	for _, seed := range []string{
		"", "p=1", "p=a,b&n=5&d=2026-02-28&e=2026-03-01&b=true&t=paid",
		"p=a,,b", "p=%00", "n=05", "d=2026-02-30", "d=2026-03-01&e=2026-02-01",
		"a;b", "%", "p=%ff", "p&p", "n=1e3&b=TRUE", "p=" + strings.Repeat("a,", 200) + "a",
		"d=0000-01-01", "d=2026-02-28%20", "t=" + strings.Repeat("%C3%A9", 40),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rawQuery string) {
		in := callWith(rawQuery).Inputs()
		if in.Err() != nil {
			return
		}
		if err := obeyRules(in, rawQuery); err != nil {
			t.Errorf("%q: %v", rawQuery, err)
		}
	})
}

func obeyRules(in *Inputs, rawQuery string) error {
	ids := in.IDs("p", 100)
	n := in.Int("n", 1000, 1, 1000)
	text := in.Text("t", 64)
	order := in.OneOf("o", "desc", "asc", "desc")
	in.Bool("b", true)
	from, to := in.Window("d", "e")

	given, err := url.ParseQuery(rawQuery)
	if err != nil {
		return fmt.Errorf("accepted a query that does not parse: %w", err)
	}
	switch {
	case len(ids) > 100 || slices.ContainsFunc(ids, func(id string) bool { return !IsID(id) }):
		return fmt.Errorf("ids %q", ids)
	case n < 1 || n > 1000:
		return fmt.Errorf("number %d", n)
	case len(text) > 64 || !utf8.ValidString(text) || strings.ContainsAny(text, "\x00\r\n\t\x7f"):
		return fmt.Errorf("text %q", text)
	case order != "asc" && order != "desc":
		return fmt.Errorf("order %q", order)
	}
	for _, date := range []string{from, to} {
		if day, err := time.Parse(time.DateOnly, date); date != "" && (err != nil || day.Format(time.DateOnly) != date) {
			return fmt.Errorf("date %q", date)
		}
	}
	if len(in.problems) > 0 {
		return nil
	}
	if from != "" && to != "" && to < from {
		return fmt.Errorf("window from %s to %s", from, to)
	}
	for _, name := range []string{"p", "n", "t", "o", "b", "d", "e"} {
		if values, present := given[name]; present && (len(values) != 1 || values[0] == "") {
			return fmt.Errorf("parameter %s was accepted as %q", name, values)
		}
	}
	return nil
}
