package transform

import "strings"

// Target is a member that [AppendMapped] writes. From, Constant and Members exclude one
// another; Elements goes with From.
type Target struct {
	Name string

	// From is the path of the source, names joined by points, from the object that is
	// mapped. Its text is copied byte for byte. A source that is null or missing, also
	// because an object on the way to it is, leaves the member out.
	From string

	// Constant is a JSON text that is written as it is.
	Constant string

	// Members makes the member an object. Their sources start where those of the
	// member itself would. The object is left out unless a member other than a
	// constant is written.
	Members []Target

	// Elements makes the member an array, with an object for each element of the
	// array at From, where the sources of the object's members start. An element
	// that is null, or of which nothing but constants would be written, is left out.
	Elements []Target
}

// AppendMapped appends an object made of body, a JSON object that [CheckInput] has
// accepted: the members of targets, in their order. What no target names is dropped. In
// a body that has a member twice the last one counts.
//
// The error is a [*SyntaxError], also for a body that is no object, for something on the
// way to a source that is neither an object nor null, and for Elements of something that
// is neither an array nor null, or of elements that are neither objects nor null.
func AppendMapped(dst, body []byte, targets []Target) ([]byte, error) {
	m := mapper{body: body, sources: make([]source, 1, 2*len(targets)+1)}
	root := m.add("")
	outputs := m.compile(targets, root)

	s := scan(body)
	m.read(&s, root)
	if err := s.end(); err != nil {
		return dst, err
	}

	start := len(dst)
	dst = append(dst, '{')
	dst, _ = m.appendMembers(dst, outputs)
	if m.err != nil {
		return dst[:start], m.err
	}
	return append(dst, '}'), nil
}

// mapper knows which values of body are wanted, and where the last one that was read
// of each is.
type mapper struct {
	body    []byte
	sources []source // trees of paths, one for the body and one per array; 0 is none
	err     *SyntaxError
}

// source is a step of a path.
type source struct {
	name        string
	child, next int // the first step behind this one, and the next one beside it
	start, end  int // of the value in body; the same when it is null or missing
}

// output is a target with its sources found.
type output struct {
	*Target
	source int      // the step where its path ends
	scope  int      // the root of the paths of its Elements
	nested []output // Members or Elements
}

// add adds a step that belongs to none yet.
func (m *mapper) add(name string) int {
	m.sources = append(m.sources, source{name: name})
	return len(m.sources) - 1
}

// compile finds the sources of targets in the tree of scope, or plants them.
func (m *mapper) compile(targets []Target, scope int) []output {
	outputs := make([]output, len(targets))
	for i := range targets {
		o := &outputs[i]
		o.Target = &targets[i]
		switch {
		case o.Constant != "":
		case len(o.Members) > 0:
			o.nested = m.compile(o.Members, scope)
		default:
			o.source = m.plant(scope, o.From)
			if len(o.Elements) > 0 {
				o.scope = m.add("")
				o.nested = m.compile(o.Elements, o.scope)
			}
		}
	}
	return outputs
}

// plant returns the last step of a path.
func (m *mapper) plant(at int, path string) int {
	for name := range strings.SplitSeq(path, ".") {
		step := m.step(at, []byte(name))
		if step == 0 {
			step = m.add(name)
			m.sources[step].next, m.sources[at].child = m.sources[at].child, step
		}
		at = step
	}
	return at
}

// step returns the step to a member of the given name, 0 when no path takes it.
func (m *mapper) step(at int, name []byte) int {
	step := m.sources[at].child
	for step != 0 && m.sources[step].name != string(name) {
		step = m.sources[step].next
	}
	return step
}

// read reads an object and keeps where the values are that lie behind the given step.
func (m *mapper) read(s *scanner, at int) {
	m.forget(at)
	for ok := s.enter('{'); ok; ok = s.next('}') {
		step := m.step(at, s.name())
		null, start := s.peek() == 'n', s.pos
		switch {
		case step == 0:
			s.value()
			continue
		case null || m.sources[step].child == 0:
			m.forget(step)
			s.value()
		default:
			m.read(s, step)
		}
		if null {
			start = s.pos
		}
		m.sources[step].start, m.sources[step].end = start, s.pos
	}
}

// forget drops what is known of the values behind a step.
func (m *mapper) forget(at int) {
	for step := m.sources[at].child; step != 0; step = m.sources[step].next {
		m.sources[step].start, m.sources[step].end = 0, 0
		m.forget(step)
	}
}

// appendMembers appends the members of an object that has been read and begun, and
// reports whether any but constants were.
func (m *mapper) appendMembers(dst []byte, outputs []output) ([]byte, bool) {
	content := false
	for i := range outputs {
		o := &outputs[i]
		before, written := len(dst), true
		if dst[before-1] != '{' {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, o.Name)
		dst = append(dst, ':')
		switch src := &m.sources[o.source]; {
		case o.Constant != "":
			dst = append(dst, o.Constant...)
			continue
		case len(o.Members) > 0:
			dst, written = m.appendObject(dst, o.nested)
		case src.start == src.end:
			written = false
		case len(o.Elements) > 0:
			dst = m.appendElements(dst, o, src.start)
		default:
			dst = append(dst, m.body[src.start:src.end]...)
		}
		if !written {
			dst = dst[:before]
		}
		content = content || written
	}
	return dst, content
}

// appendObject appends an object with the given members and reports whether any but
// constants are in it.
func (m *mapper) appendObject(dst []byte, members []output) ([]byte, bool) {
	dst, content := m.appendMembers(append(dst, '{'), members)
	return append(dst, '}'), content
}

// appendElements appends an array with an object for each element of the one that
// starts at pos.
func (m *mapper) appendElements(dst []byte, o *output, pos int) []byte {
	dst = append(dst, '[')
	s := scanner{src: m.body, pos: pos}
	for ok := s.enter('['); ok; ok = s.next(']') {
		if s.peek() == 'n' {
			s.value()
			continue
		}
		m.read(&s, o.scope)
		before := len(dst)
		if dst[before-1] != '[' {
			dst = append(dst, ',')
		}
		var content bool
		if dst, content = m.appendObject(dst, o.nested); !content {
			dst = dst[:before]
		}
	}
	if m.err == nil {
		m.err = s.err
	}
	return append(dst, ']')
}
