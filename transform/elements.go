package transform

// EachElement calls fn for each element of the array at path in body, names of members
// from the outermost object on, and reports whether the array is there. body is checked
// in the same pass, so what fn was given counts only if there is no error in the end.
//
// element is the text of an object, a part of body; id is that of its member of the
// given name, as it is spelled, quotes included, and nil when it is missing or null. Of
// members of the same name the last one counts as id, and all count on the path.
//
// Only the array itself may be missing. The error is a [*SyntaxError], also for a body
// in which an object on the path is missing or something else, or the array is no array
// of objects.
func EachElement(body []byte, path []string, id string, fn func(element, id []byte)) (found bool, err error) {
	e := elementReader{scanner: scan(body), id: id, fn: fn}
	e.follow(path)
	if err := e.end(); err != nil {
		return false, err
	}
	return e.found, nil
}

// elementReader is a scanner that hands out the elements of an array.
type elementReader struct {
	scanner
	id    string
	fn    func(element, id []byte)
	found bool
}

// follow reads the value that path leads on from.
func (e *elementReader) follow(path []string) {
	if len(path) == 0 {
		e.found = true
		for ok := e.enter('['); ok; ok = e.next(']') {
			e.element()
		}
		return
	}
	passed := false
	for ok := e.enter('{'); ok; ok = e.next('}') {
		if string(e.name()) == path[0] {
			passed = true
			e.follow(path[1:])
		} else {
			e.value()
		}
	}
	if !passed && len(path) > 1 {
		e.fail("missing member")
	}
}

// element reads one element and hands it out.
func (e *elementReader) element() {
	var id []byte
	start := e.pos
	for ok := e.enter('{'); ok; ok = e.next('}') {
		if string(e.name()) == e.id {
			id = e.value()
		} else {
			e.value()
		}
	}
	if e.err != nil {
		return
	}
	if isNull(id) {
		id = nil
	}
	e.fn(e.src[start:e.pos], id)
}
