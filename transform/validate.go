package transform

import (
	"bytes"
	"cmp"
	"slices"
)

// Validate checks that body is one JSON text: the grammar of RFC 8259, UTF-8
// throughout, no more than [MaxDepth] levels, nothing but white space around it and
// no byte order mark. The error is a [*SyntaxError].
func Validate(body []byte) error {
	s := scan(body)
	s.value()
	return s.end()
}

// ValidateUnique checks what [Validate] checks and also that no object has two
// members of the same name, escapes resolved. It is for request bodies: readers
// disagree on which of two members counts, so a value that was checked here might not
// be the one that the provider reads.
func ValidateUnique(body []byte) error {
	v := uniqueness{scanner: scan(body)}
	v.value()
	return v.end()
}

// uniqueness is a scanner that knows the names of the objects it is in.
type uniqueness struct {
	scanner
	names []memberName // of all open objects, the outermost first
}

type memberName struct {
	text   []byte
	offset int
}

// value reads one value like the scanner's own.
func (v *uniqueness) value() {
	switch v.peek() {
	case '{':
		outer := len(v.names)
		for ok := v.enter('{'); ok; ok = v.next('}') {
			offset := v.pos
			v.names = append(v.names, memberName{v.name(), offset})
			v.value()
		}
		v.check(v.names[outer:])
		v.names = v.names[:outer]
	case '[':
		for ok := v.enter('['); ok; ok = v.next(']') {
			v.value()
		}
	default:
		v.scanner.value()
	}
}

// check fails at the first name that came before in the same object. It sorts names,
// because an object may have a million of them.
func (v *uniqueness) check(names []memberName) {
	if v.err != nil {
		return
	}
	slices.SortFunc(names, func(a, b memberName) int {
		return cmp.Or(bytes.Compare(a.text, b.text), cmp.Compare(a.offset, b.offset))
	})
	first := -1
	for i := 1; i < len(names); i++ {
		if bytes.Equal(names[i-1].text, names[i].text) && (first < 0 || names[i].offset < first) {
			first = names[i].offset
		}
	}
	if first >= 0 {
		v.pos = first
		v.fail("duplicate member name")
	}
}
