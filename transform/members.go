package transform

// Members checks body, a JSON object, in one pass and returns for each name the text of
// its member of that name, a part of body, and nil where it is missing. A member that is
// null is there: its text is null. Names are compared unescaped; where a member comes
// twice, the last one counts.
//
// The error is a [*SyntaxError], also for a body that is no object. Nothing but the
// result is allocated, unless body spells a name with escapes.
func Members(body []byte, names ...string) ([][]byte, error) {
	values := make([][]byte, len(names))
	s := scan(body)
	for ok := s.enter('{'); ok; ok = s.next('}') {
		name := s.name()
		value := s.value()
		for i := range names {
			if names[i] == string(name) {
				values[i] = value
			}
		}
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	return values, nil
}
