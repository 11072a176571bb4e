package quickbooks

import (
	"bytes"
	"crypto/sha256"

	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/transform"
)

// row is a row of a page.
type row struct {
	text []byte // a part of the page's body
	key  []byte // tells it from others
}

// maxKey is the length of the longest Id that is a key as it is spelled, in bytes.
const maxKey = 32

// keyOf returns the key of a row: its Id as it is spelled, or else a digest of its text.
func keyOf(text, id []byte) []byte {
	switch {
	case id == nil:
		id = text
	case len(id) <= maxKey:
		return id
	}
	sum := sha256.Sum256(id)
	return sum[:16]
}

// rowPage is a page of a list.
type rowPage struct {
	body []byte
	rows []row
}

// rowSet collects the rows of a list's pages, each once.
type rowSet struct {
	accounting.Rows
	entity string
	seen   map[string]struct{} // keys
	length int                 // of the page before
}

func newRowSet(entity string) rowSet {
	return rowSet{entity: entity, seen: make(map[string]struct{})}
}

// parse reads a page. The error says that the body is none.
func (s *rowSet) parse(body []byte) (*rowPage, error) {
	pg := &rowPage{body: body, rows: make([]row, 0, s.length)}
	_, err := transform.EachElement(body, []string{"QueryResponse", s.entity}, "Id", func(text, id []byte) {
		pg.rows = append(pg.rows, row{text: text, key: keyOf(text, id)})
	})
	if err != nil {
		return nil, err
	}
	s.length = len(pg.rows)
	return pg, nil
}

// has reports whether a row is there already.
func (s *rowSet) has(r row) bool {
	_, ok := s.seen[string(r.key)]
	return ok
}

// hasNew reports whether a page has rows that are not there yet.
func (s *rowSet) hasNew(pg *rowPage) bool {
	for _, r := range pg.rows {
		if !s.has(r) {
			return true
		}
	}
	return false
}

// add adds the rows of a page that are not there yet, as parts of its body, and returns
// how many these are.
func (s *rowSet) add(pg *rowPage) (added int) {
	part, end := -1, 0 // where the last part of this page starts and ends
	for _, r := range pg.rows {
		if s.has(r) {
			continue
		}
		s.seen[string(r.key)] = struct{}{}
		added++
		s.Count++

		// The text is cut from the body, so their capacities tell where.
		start := cap(pg.body) - cap(r.text)
		if part < 0 || !isComma(pg.body[end:start]) {
			part = start
			s.Parts = append(s.Parts, nil)
		}
		end = start + len(r.text)
		s.Parts[len(s.Parts)-1] = pg.body[part:end]
	}
	return added
}

// isComma reports whether there is nothing but a comma between two rows.
func isComma(between []byte) bool {
	between = bytes.TrimSpace(between)
	return len(between) == 1 && between[0] == ','
}
