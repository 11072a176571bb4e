package transform

import "strconv"

// Op is an operation that takes a JSON object as its input, or a set of them.
type Op uint8

// The operations of contract 2.1.
const (
	OpCreate Op = 1 << iota
	OpUpdate
)

// FieldType is the type of an input field.
type FieldType uint8

// The types that the contract's input tables know.
const (
	// TypeString is a JSON string.
	TypeString FieldType = iota

	// TypeDecimal is a JSON number without an exponent, of at most 15 digits, five
	// of them behind the point, as they are spelled. It may be negative; negative
	// zero is none.
	TypeDecimal

	// TypeInteger is a JSON number from 1 to 2⁶³-1, without a fraction and without
	// an exponent.
	TypeInteger

	// TypeBoolean is true or false.
	TypeBoolean

	// TypeDate is a JSON string that reads YYYY-MM-DD, a day of the calendar.
	TypeDate

	// TypeObject is an object that has Fields.
	TypeObject

	// TypeArray is an array of objects that have Fields.
	TypeArray
)

// Field is a row of an input table (contract 2.1). Whatever is not required may be
// null, which is the same as leaving it out.
type Field struct {
	Name string
	Type FieldType

	// Only are the operations that know the field. To the others it is an unknown
	// member, unless it is null. Default: all.
	Only Op

	// Required are the operations that need the field: neither missing, nor null,
	// nor "", nor an empty array. The fields of an object are required only where
	// the object itself is, or holds something besides null.
	Required Op

	// ByMembers is for an object that the contract knows by its members alone. When
	// it is required and missing, the members that it must have are what is missing.
	ByMembers bool

	// Allowed are the values that a string may have. Default: any.
	Allowed []string

	// Digits is for ids: the string has to consist of the digits 0 to 9.
	Digits bool

	// Max is the length of a string in characters, or of an array in elements, that
	// must not be exceeded. Default: 0, no limit.
	Max int

	// Fields are the members of an object, or of an array's elements.
	Fields []Field
}

const (
	// maxProblems is how many problems an input is told of.
	maxProblems = 100

	suffixRequired = " is required"
	suffixInvalid  = " is invalid"
	suffixUnknown  = " is unknown"
)

// CheckInput checks body, the input of the operation op, against the table of its
// fields, and returns all that is wrong with it: in the order of the table, elements of
// arrays one after another, unknown members behind the known ones of the same object.
// A problem's field is a path such as lines[2].account_detail.account.id, its message
// the path followed by "is required", "is invalid" or "is unknown". There are at most
// 100 problems; none at all means that body may be mapped.
//
// The error is a [*SyntaxError] for a body that [ValidateUnique] refuses or that is no
// object.
func CheckInput(body []byte, fields []Field, op Op) ([]Problem, error) {
	if err := ValidateUnique(body); err != nil {
		return nil, err
	}
	s := scan(body)
	if s.enter('{'); s.err != nil {
		return nil, s.err
	}
	c := checker{op: op}
	c.object(body, fields, true)
	return c.problems, nil
}

// checker collects the problems of an input that is valid JSON.
type checker struct {
	op       Op
	path     []byte // of the object that is being checked, with a point at the end
	problems []Problem

	// What was read of all objects that are being checked, the outermost first.
	values  [][]byte // by field
	unknown [][]byte // names of members that no field has
}

// report notes a problem of a member of the object that is being checked.
func (c *checker) report(name, suffix string) {
	if !c.full() {
		path := string(c.path) + name
		c.problems = append(c.problems, Problem{Field: path, Message: path + suffix})
	}
}

// full reports whether further problems would not be told.
func (c *checker) full() bool { return len(c.problems) == maxProblems }

// object checks an object. needed is whether its required members are.
func (c *checker) object(object []byte, fields []Field, needed bool) {
	values, unknown := len(c.values), len(c.unknown)
	c.values = append(c.values, make([][]byte, len(fields))...)
	s := scan(object)
	for ok := s.enter('{'); ok; ok = s.next('}') {
		name := s.name()
		value := s.value()
		if i := fieldIndex(fields, name); i >= 0 {
			c.values[values+i] = value
		} else if len(c.unknown)-unknown < maxProblems {
			c.unknown = append(c.unknown, name)
		}
	}
	for i := range fields {
		c.field(&fields[i], c.values[values+i], needed)
	}
	for _, name := range c.unknown[unknown:] {
		c.report(printable(name), suffixUnknown)
	}
	c.values, c.unknown = c.values[:values], c.unknown[:unknown]
}

func fieldIndex(fields []Field, name []byte) int {
	for i := range fields {
		if fields[i].Name == string(name) {
			return i
		}
	}
	return -1
}

// field checks the value of one field.
func (c *checker) field(f *Field, value []byte, needed bool) {
	required := needed && f.Required&c.op != 0
	switch {
	case f.Only != 0 && f.Only&c.op == 0:
		if !isNull(value) {
			c.report(f.Name, suffixUnknown)
		}
	case isNull(value):
		if required {
			c.missing(f)
		}
	case f.Type == TypeObject:
		c.member(f, value, required)
	case f.Type == TypeArray:
		c.elements(f, value, required)
	case required && string(value) == `""` && (f.Type == TypeString || f.Type == TypeDate):
		c.missing(f)
	case !f.accepts(value):
		c.report(f.Name, suffixInvalid)
	}
}

// missing reports a required field that is not there.
func (c *checker) missing(f *Field) {
	if f.ByMembers {
		c.member(f, []byte("{}"), true)
		return
	}
	c.report(f.Name, suffixRequired)
}

// member checks a value that has to be an object.
func (c *checker) member(f *Field, value []byte, required bool) {
	if value[0] != '{' {
		c.report(f.Name, suffixInvalid)
		return
	}
	outer := len(c.path)
	c.path = append(c.path, f.Name...)
	c.path = append(c.path, '.')
	s := scan(value)
	c.object(value, f.Fields, required || hasContent(&s))
	c.path = c.path[:outer]
}

// elements checks a value that has to be an array of objects.
func (c *checker) elements(f *Field, value []byte, required bool) {
	n, err := ArrayLen(value)
	switch {
	case err != nil, f.Max > 0 && n > f.Max:
		c.report(f.Name, suffixInvalid)
		return
	case n == 0 && required:
		c.missing(f)
		return
	}
	outer, index := len(c.path), int64(0)
	s := scan(value)
	for ok := s.enter('['); ok && !c.full(); ok = s.next(']') {
		c.path = append(c.path, f.Name...)
		c.path = append(c.path, '[')
		c.path = strconv.AppendInt(c.path, index, 10)
		c.path = append(c.path, ']')
		if element := s.value(); element[0] == '{' {
			c.path = append(c.path, '.')
			c.object(element, f.Fields, true)
		} else {
			c.report("", suffixInvalid)
		}
		c.path = c.path[:outer]
		index++
	}
}

// hasContent reads a valid value and reports whether it is anything but null: an object
// that consists of nulls is left out when it is mapped. Content that is found ends the
// reading.
func hasContent(s *scanner) bool {
	if s.peek() != '{' {
		return !isNull(s.value())
	}
	for ok := s.enter('{'); ok; ok = s.next('}') {
		s.str()
		s.colon()
		if hasContent(s) {
			return true
		}
	}
	return false
}
