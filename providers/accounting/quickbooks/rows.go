package quickbooks

import (
	"bytes"

	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/transform"
)

// rowSet collects the rows of a list's pages, each once.
type rowSet struct {
	accounting.Rows
	entity string
	seen   map[string]struct{} // by Id as it is spelled
}

// add adds the rows of a page that are not there yet, as parts of its body, and returns
// how many it has and how many of them are new. A row without an Id is known by its
// text. The error says that the body is no page; what was added of it then does not
// count.
func (s *rowSet) add(body []byte) (received, added int, err error) {
	part, end := -1, 0 // where the last part of this page starts and ends
	_, err = transform.EachElement(body, []string{"QueryResponse", s.entity}, "Id", func(row, id []byte) {
		received++
		if id == nil {
			id = row
		}
		if _, known := s.seen[string(id)]; known {
			return
		}
		s.seen[string(id)] = struct{}{}
		added++
		s.Count++

		// row is cut from body, so their capacities tell where.
		start := cap(body) - cap(row)
		if part < 0 || !isComma(body[end:start]) {
			part = start
			s.Parts = append(s.Parts, nil)
		}
		end = start + len(row)
		s.Parts[len(s.Parts)-1] = body[part:end]
	})
	return received, added, err
}

// isComma reports whether there is nothing but a comma between two rows.
func isComma(between []byte) bool {
	between = bytes.TrimSpace(between)
	return len(between) == 1 && between[0] == ','
}
