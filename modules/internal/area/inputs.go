package area

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fleetgate/fleetgate/transform"
)

// maxValue is the longest value of a header or query parameter, in bytes. It leaves
// room for a hundred ids in one parameter and for any known access token.
const maxValue = 4096

// Inputs reads the headers and query parameters of a call, checks them, and collects
// everything that is wrong, so that a caller learns it all at once. Parameters that
// the operation does not ask for are ignored.
type Inputs struct {
	header   http.Header
	query    url.Values
	problems []transform.Problem
}

// Inputs returns the inputs of the request. A query that does not parse is a problem
// as a whole, and none of its parameters is there then, as none can be trusted.
func (c *Call) Inputs() *Inputs {
	in := &Inputs{header: c.Request.Header}
	var err error
	if in.query, err = url.ParseQuery(c.Request.URL.RawQuery); err != nil {
		in.query = nil
		in.Reject("query")
	}
	return in
}

// Err returns the failure that lists the problems, or nil when there are none.
func (in *Inputs) Err() error {
	if len(in.problems) == 0 {
		return nil
	}
	f := Invalid(in.problems[0].Message)
	f.Problems = in.problems
	return f
}

// Reject notes that a field is invalid.
func (in *Inputs) Reject(field string) {
	in.problems = append(in.problems, transform.Problem{Field: field, Message: field + suffixInvalid})
}

// require notes that a field is missing.
func (in *Inputs) require(field string) {
	in.problems = append(in.problems, transform.Problem{Field: field, Message: field + suffixRequired})
}

// Header returns the single value of a header, and whether it is there and well
// formed: not empty, not repeated, not too long, UTF-8 without control characters.
// It notes no problem, because the contract has words of its own for each header.
func (in *Inputs) Header(name string) (string, bool) {
	return single(in.header.Values(name))
}

// Query returns the single value of a query parameter like [Inputs.Header], for the
// parameters that the contract has words of its own for.
func (in *Inputs) Query(name string) (string, bool) {
	return single(in.query[name])
}

// Token returns an optional header of 1 to maxLen visible ASCII characters, or "". name
// is how messages spell it.
func (in *Inputs) Token(name string, maxLen int) string {
	values := in.header.Values(name)
	if len(values) == 0 {
		return ""
	}
	if len(values) != 1 || !isToken(values[0], maxLen) {
		in.Reject(name)
		return ""
	}
	return values[0]
}

// RequiredToken returns a header like [Inputs.Token], of any length that a header may
// have. One that is not there, or empty, is missing.
func (in *Inputs) RequiredToken(name string) string {
	if isMissing(in.header.Values(name)) {
		in.require(name)
		return ""
	}
	return in.Token(name, maxValue)
}

func isToken(s string, maxLen int) bool {
	return s != "" && len(s) <= maxLen && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func isMissing(values []string) bool {
	return len(values) == 0 || len(values) == 1 && values[0] == ""
}

func single(values []string) (string, bool) {
	if len(values) != 1 || !wellFormed(values[0]) {
		return "", false
	}
	return values[0], true
}

func wellFormed(s string) bool {
	if s == "" || len(s) > maxValue || !utf8.ValidString(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 })
}

// optional returns the single value of a query parameter and whether it is there and
// well formed. One that is there but not well formed is noted as a problem.
func (in *Inputs) optional(name string) (string, bool) {
	values, present := in.query[name]
	if !present {
		return "", false
	}
	v, ok := single(values)
	if !ok {
		in.Reject(name)
	}
	return v, ok
}

// Text returns an optional parameter of at most maxLen bytes, or "".
func (in *Inputs) Text(name string, maxLen int) string {
	v, ok := in.optional(name)
	if ok && len(v) > maxLen {
		in.Reject(name)
		return ""
	}
	return v
}

// OneOf returns an optional parameter that must be one of allowed, or def.
func (in *Inputs) OneOf(name, def string, allowed ...string) string {
	v, ok := in.optional(name)
	if !ok {
		return def
	}
	if !slices.Contains(allowed, v) {
		in.Reject(name)
		return def
	}
	return v
}

// Bool returns an optional parameter that must read true or false, or def.
func (in *Inputs) Bool(name string, def bool) bool {
	return in.OneOf(name, strconv.FormatBool(def), "true", "false") == "true"
}

// Int returns an optional parameter that must be a decimal number from low to high,
// without sign or leading zeros, or def.
func (in *Inputs) Int(name string, def, low, high int) int {
	v, ok := in.optional(name)
	if !ok {
		return def
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high || strconv.Itoa(n) != v {
		in.Reject(name)
		return def
	}
	return n
}

// Digits returns an optional parameter of 1 to maxLen digits as it is, or "".
func (in *Inputs) Digits(name string, maxLen int) string {
	v, ok := in.optional(name)
	if ok && !IsDigits(v, maxLen) {
		in.Reject(name)
		return ""
	}
	return v
}

// RequiredDigits returns a parameter like [Inputs.Digits]. One that is not there, or
// empty, is missing.
func (in *Inputs) RequiredDigits(name string, maxLen int) string {
	if isMissing(in.query[name]) {
		in.require(name)
		return ""
	}
	return in.Digits(name, maxLen)
}

// IsDigits reports whether s is 1 to maxLen of the digits 0 to 9.
func IsDigits(s string, maxLen int) bool {
	return s != "" && len(s) <= maxLen && !strings.ContainsFunc(s, func(r rune) bool { return r < '0' || r > '9' })
}

// IDs returns an optional parameter that lists ids separated by commas, without
// duplicates. Blanks around an id are dropped; an empty id, one that is not made of
// letters, digits, '-' and '_', and more than most ids are problems.
func (in *Inputs) IDs(name string, most int) []string {
	v, ok := in.optional(name)
	if !ok {
		return nil
	}
	var ids []string
	for id := range strings.SplitSeq(v, ",") {
		id = strings.Trim(id, " ")
		if !IsID(id) {
			in.Reject(name)
			return nil
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) > most {
		in.Reject(name)
		return nil
	}
	return ids
}

// IsID reports whether s is 1 to 64 letters, digits, '-' and '_': what may become a
// path segment or a filter of a provider as it is.
func IsID(s string) bool {
	return s != "" && len(s) <= 64 && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}

// Window returns two optional dates, YYYY-MM-DD, of which the second must not come
// before the first.
func (in *Inputs) Window(start, end string) (from, to string) {
	from, to = in.date(start), in.date(end)
	if from != "" && to != "" && to < from {
		in.Reject(end)
	}
	return from, to
}

func (in *Inputs) date(name string) string {
	v, ok := in.optional(name)
	if ok && !IsDate(v) {
		in.Reject(name)
		return ""
	}
	return v
}

// IsDate reports whether s is a day in a parameter, by the same rule as in a body: see
// [transform.IsDate].
func IsDate(s string) bool { return transform.IsDate(s) }
