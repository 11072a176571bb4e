package transform

import (
	"slices"
	"time"
)

// Merge says how [MergeArrays] joins arrays of objects.
type Merge struct {
	// ID names the member that tells elements apart, by the spelling of its value.
	// Of elements with the same one the first is kept; those whose ID is missing or
	// null are all kept. Empty: no two elements are the same.
	ID string

	// Keys names the members to sort by; the first that is present and not null
	// counts. It is compared as an instant, so that …:03Z comes before …:03.004Z,
	// and must be written as in RFC 3339; elements without one sort last. Elements
	// that compare equal stay in the order in which they came. Empty: not sorted.
	Keys []string

	Descending bool // the latest first; elements without an instant stay last

	Offset int // how many of the sorted elements to skip
	Limit  int // how many to return at most; 0 is all
}

// MergeArrays appends one array with the elements of all arrays, each copied byte for
// byte. The error is a [*SyntaxError], also for a text that is no array of objects;
// its offset is that in the array at fault.
func MergeArrays(dst []byte, arrays [][]byte, m Merge) ([]byte, error) {
	mg := merger{Merge: m, seen: make(set), keys: make([][]byte, len(m.Keys))}
	for _, array := range arrays {
		s := scan(array)
		for ok := s.enter('['); ok; ok = s.next(']') {
			mg.read(&s)
		}
		if err := s.end(); err != nil {
			return dst, err
		}
	}

	slices.SortStableFunc(mg.elements, mg.compare)
	elements := mg.elements[min(max(m.Offset, 0), len(mg.elements)):]
	if m.Limit > 0 {
		elements = elements[:min(m.Limit, len(elements))]
	}

	dst = append(dst, '[')
	for i, e := range elements {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, e.raw...)
	}
	return append(dst, ']'), nil
}

// merger collects the elements to be merged.
type merger struct {
	Merge
	elements []mergeElement
	seen     set      // ids
	keys     [][]byte // values of Keys in the element that is being read
}

type mergeElement struct {
	raw   []byte
	at    time.Time
	dated bool // whether at is known
}

// read reads one element and keeps it unless its id came before.
func (m *merger) read(s *scanner) {
	clear(m.keys)
	var id []byte
	start := s.pos
	for ok := s.enter('{'); ok; ok = s.next('}') {
		name := s.name()
		value := s.value()
		if m.ID != "" && string(name) == m.ID {
			id = value
		}
		for i, key := range m.Keys {
			if string(name) == key {
				m.keys[i] = value
			}
		}
	}
	e := mergeElement{raw: s.src[start:s.pos]}
	if !isNull(id) && !m.seen.add(id) {
		return
	}
	for _, value := range m.keys {
		if !isNull(value) {
			// UnmarshalText, unlike Parse, takes nothing but RFC 3339.
			e.dated = e.at.UnmarshalText(text(value)) == nil
			break
		}
	}
	m.elements = append(m.elements, e)
}

func (m *merger) compare(a, b mergeElement) int {
	switch {
	case !a.dated && !b.dated:
		return 0
	case !b.dated:
		return -1
	case !a.dated:
		return 1
	case m.Descending:
		return b.at.Compare(a.at)
	default:
		return a.at.Compare(b.at)
	}
}

// ArrayLen returns the number of elements of body, a JSON array. The error is a
// [*SyntaxError], also for a text that is no array.
func ArrayLen(body []byte) (int, error) {
	n := 0
	s := scan(body)
	for ok := s.enter('['); ok; ok = s.next(']') {
		s.value()
		n++
	}
	if err := s.end(); err != nil {
		return 0, err
	}
	return n, nil
}
