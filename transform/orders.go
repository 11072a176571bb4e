package transform

// orderMembers are the members of a repair order in the contract's order (contract
// 2.5). The id comes first.
var orderMembers = [...]string{"id", "unit_number", "vin", "vendor_name", "status", "grand_total", "date_created"}

// NormalizeOrders appends one array with the repair orders of all arrays, in order,
// and returns how many there are. Each has exactly the seven members of contract 2.5,
// all strings: a string is copied byte for byte, a number, true or false is quoted as
// it is spelled, and everything else, a missing member included, is "". Where a member
// comes twice, the last one counts.
//
// Of orders that read the same id the first is kept; those without an id all are. The
// error is a [*SyntaxError], also for a text that is no array of objects; its offset is
// that in the array at fault.
func NormalizeOrders(dst []byte, arrays [][]byte) ([]byte, int, error) {
	start, count := len(dst), 0
	seen := make(set)

	dst = append(dst, '[')
	for _, array := range arrays {
		s := scan(array)
		for ok := s.enter('['); ok; ok = s.next(']') {
			order := readOrder(&s)
			if id := text(order[0]); len(id) > 0 && !seen.add(id) {
				continue
			}
			if count > 0 {
				dst = append(dst, ',')
			}
			dst = appendOrder(dst, order)
			count++
		}
		if err := s.end(); err != nil {
			return dst[:start], 0, err
		}
	}
	return append(dst, ']'), count, nil
}

// readOrder reads one order and returns the values of its orderMembers.
func readOrder(s *scanner) (order [len(orderMembers)][]byte) {
	for ok := s.enter('{'); ok; ok = s.next('}') {
		name := s.name()
		value := s.value()
		for i, member := range orderMembers {
			if string(name) == member {
				order[i] = value
				break
			}
		}
	}
	return order
}

func appendOrder(dst []byte, order [len(orderMembers)][]byte) []byte {
	dst = append(dst, '{')
	for i, member := range orderMembers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, member)
		dst = append(dst, ':')
		dst = appendText(dst, order[i])
	}
	return append(dst, '}')
}
