package quickbooks

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// class describes the members of an object, in the order in which the provider spells
// them.
type class struct {
	name   string
	fields []field
}

type field struct {
	name     string
	kind     valueKind
	max      int      // characters of a text; 0 for any number
	allowed  []string // values of a text; nil for any
	class    *class   // of a group and of the elements of groups
	readOnly bool     // accepted from callers and not used
}

type valueKind int

const (
	plain valueKind = iota
	label           // a text that may be shown in a list of names
	email
	decimal
	boolean
	date
	group
	groups
	anything
)

// values are the members of an object: JSON texts by name, "" for null.
type values map[string]string

// parse reads an object that the simulator wrote.
func parse(object string) values {
	v := make(values)
	gjson.Parse(object).ForEach(func(name, value gjson.Result) bool {
		v[name.String()] = value.Raw
		return true
	})
	return v
}

// text returns a member that is a text, and "" when it is not there.
func (v values) text(name string) string { return gjson.Parse(v[name]).String() }

// quote spells a text in JSON.
func quote(s string) string {
	var j sim.JSON
	j.TextElement(s)
	return string(j)
}

// readObject checks that a body is a JSON text.
func readObject(body []byte) (gjson.Result, *fault) {
	if !utf8.Valid(body) {
		return gjson.Result{}, unsupported("Invalid byte in a UTF-8 sequence")
	}
	if !json.Valid(body) {
		return gjson.Result{}, notJSON("failed to parse json object; a property")
	}
	return gjson.ParseBytes(body), nil
}

func (cl *class) field(name string) *field {
	for i := range cl.fields {
		if cl.fields[i].name == name {
			return &cl.fields[i]
		}
	}
	return nil
}

// render spells an object: its members in order without those that have no value, and
// "" when none has.
func (cl *class) render(v values) string {
	var j sim.JSON
	j.Open('{')
	for i := range cl.fields {
		if value := v[cl.fields[i].name]; value != "" {
			j.Raw(cl.fields[i].name, value)
		}
	}
	if len(j) == 1 {
		return ""
	}
	j.Close('}')
	return string(j)
}

// read checks an object that a caller sent, and returns its members in the spelling of
// the provider. Of members that come twice, the last one counts.
func (cl *class) read(object gjson.Result) (values, *fault) {
	if !object.IsObject() {
		return nil, notJSON("failed to parse json object; a " + cl.name + " was expected; a property")
	}
	v := make(values)
	var f *fault
	object.ForEach(func(name, value gjson.Result) bool {
		fd := cl.field(name.String())
		if fd == nil {
			f = cl.unknown(name.String())
			return false
		}
		v[fd.name], f = fd.read(value)
		return f == nil
	})
	return v, f
}

// unknown refuses a member that the class does not have.
func (cl *class) unknown(member string) *fault {
	known := make([]string, len(cl.fields))
	for i := range cl.fields {
		known[i] = `"` + cl.fields[i].name + `"`
	}
	return notJSON(fmt.Sprintf("Unrecognized field \"%s\" (class com.intuit.schema.finance.v3.%s), not marked as ignorable (%d known properties: %s])\n",
		member, cl.name, len(known), strings.Join(known, ", ")))
}

func (fd *field) read(v gjson.Result) (string, *fault) {
	switch {
	case v.Type == gjson.Null:
		return "", nil
	case fd.kind == anything:
		return v.Raw, nil
	case fd.kind == group:
		return fd.readGroup(v)
	case fd.kind == groups:
		return fd.readGroups(v)
	case v.Type == gjson.JSON:
		return "", notJSON(fd.name + ": a value was expected where an object or array stands; the property")
	}
	// The provider turns texts into numbers and numbers into texts.
	s := v.Raw
	if v.Type == gjson.String {
		s = v.Str
	}
	if fd.readOnly {
		return quote(s), nil
	}
	return fd.readText(s)
}

func (fd *field) readGroup(v gjson.Result) (string, *fault) {
	members, f := fd.class.read(v)
	if f != nil {
		return "", f
	}
	if fd.class == reference && members["value"] == "" {
		return "", nil
	}
	return fd.class.render(members), nil
}

func (fd *field) readGroups(v gjson.Result) (string, *fault) {
	if !v.IsArray() {
		return "", notJSON(fd.name + ": an array was expected; the property")
	}
	var f *fault
	var j sim.JSON
	j.Open('[')
	v.ForEach(func(_, element gjson.Result) bool {
		var members values
		if members, f = fd.class.read(element); f == nil {
			j.Element([]byte(cmp.Or(fd.class.render(members), "{}")))
		}
		return f == nil
	})
	j.Close(']')
	return string(j), f
}

// plainDecimal are the numbers without an exponent.
var plainDecimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// maxDigits is how many digits a number may have.
const maxDigits = 15

func isDecimal(s string) bool {
	return len(s) <= maxDigits+2 && plainDecimal.MatchString(s) && len(strings.Trim(s, "-"))-strings.Count(s, ".") <= maxDigits
}

// readText checks a scalar and spells it.
func (fd *field) readText(s string) (string, *fault) {
	switch fd.kind {
	case boolean:
		if s != "true" && s != "false" {
			return "", invalid(fd.name, "2230", "Invalid Boolean", "The specified boolean value isn't valid. Supplied value:"+s)
		}
		return s, nil
	case decimal:
		if !isDecimal(s) {
			return "", invalid(fd.name, "2110", "Invalid Decimal", "A number of at most "+strconv.Itoa(maxDigits)+" digits was expected. Supplied value:"+s)
		}
		return s, nil
	case date:
		if _, err := time.Parse(time.DateOnly, s); err != nil {
			return "", invalid(fd.name, "2060", "Invalid Date Format", "A date such as 2026-01-31 was expected. Supplied value:"+s)
		}
	case label:
		if strings.ContainsAny(s, ":\t\n") {
			return "", invalid(fd.name, "2040", "Invalid String", "Element contains invalid characters: colon, tab or newline")
		}
	case email:
		// Several addresses may stand side by side, so little can be said of them.
		if s != "" && (!strings.Contains(s, "@") || !strings.Contains(s, ".")) {
			return "", invalid(fd.name, "2210", "Invalid Email Address format", "Email Address does not conform to the RFC 822 standard. Supplied value:"+s)
		}
	default:
	}
	if n := utf8.RuneCountInString(s); fd.max > 0 && n > fd.max {
		return "", invalid(fd.name, "2050", "Invalid String Length",
			fmt.Sprintf("String length specified does not match the supported length. Min:0 Max:%d supported. Supplied length:%d", fd.max, n))
	}
	if fd.allowed != nil && !slices.Contains(fd.allowed, s) {
		return "", invalid(fd.name, "2170", "Invalid Enumeration", "Invalid Enumeration : "+s)
	}
	if s == "" {
		return "", nil
	}
	return quote(s), nil
}

// merge returns the members that an entity has after a write: those that were sent, and
// of the others the read-only ones and, when the write is sparse, all that it had.
func (cl *class) merge(sent, had values, sparse bool) values {
	v := make(values)
	for i := range cl.fields {
		fd := &cl.fields[i]
		given, ok := sent[fd.name]
		switch {
		case ok && !fd.readOnly:
			v[fd.name] = given
		case fd.readOnly || sparse:
			v[fd.name] = had[fd.name]
		}
	}
	return v
}

// reference names another object.
var reference = &class{"ReferenceType", []field{
	{name: "value"},
	{name: "name"},
	{name: "type"},
}}

// makeReference spells a reference.
func makeReference(value, name string) string {
	return reference.render(values{"value": quote(value), "name": quote(name)})
}

const dollars = `{"value":"USD","name":"United States Dollar"}`

var currencies = map[string]string{
	"AUD": "Australian Dollar",
	"BRL": "Brazilian Real",
	"CAD": "Canadian Dollar",
	"EUR": "Euro",
	"GBP": "British Pound Sterling",
	"MXN": "Mexican Peso",
	"USD": "United States Dollar",
}

// currency completes a reference to a currency; without one it is the home currency.
func currency(ref string) (string, *fault) {
	if ref == "" {
		return dollars, nil
	}
	code := gjson.Get(ref, "value").String()
	full := currencies[code]
	if full == "" {
		return "", badReference("Currency", code)
	}
	return makeReference(code, full), nil
}
