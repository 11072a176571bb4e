package transform

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// MaxDepth is how many arrays and objects may be open at once in a JSON text.
const MaxDepth = 256

// ErrInvalid matches every error of this package under [errors.Is].
var ErrInvalid = errors.New("invalid JSON")

// SyntaxError says what is wrong with a JSON text and where. It quotes nothing of the
// text, which may hold secrets.
type SyntaxError struct {
	Offset int // in bytes from the start of the text
	Reason string
}

func (e *SyntaxError) Error() string {
	return ErrInvalid.Error() + " at offset " + strconv.Itoa(e.Offset) + ": " + e.Reason
}

// Is makes every SyntaxError match [ErrInvalid].
func (e *SyntaxError) Is(target error) bool { return target == ErrInvalid }

// scanner reads a JSON text from front to back and checks it as it goes: the grammar
// of RFC 8259, UTF-8 and MaxDepth. It stands at a token, never at the white space
// before one, except after a value. Containers are walked like this:
//
//	for ok := s.enter('{'); ok; ok = s.next('}') {
//		name := s.name()
//		value := s.value()
//	}
//
// No step returns an error. The first failure is kept and puts the scanner at the end
// of the text, where every further step fails too, so that loops run out by
// themselves and end tells what happened. Results must not be used before that.
type scanner struct {
	src     []byte
	pos     int
	depth   int
	escaped bool // whether the string read last has escapes
	err     *SyntaxError
}

// scan returns a scanner that stands at the first token of src.
func scan(src []byte) scanner {
	s := scanner{src: src}
	s.space()
	return s
}

// end expects that nothing follows but white space and returns the first failure.
func (s *scanner) end() error {
	s.space()
	if s.pos < len(s.src) {
		s.fail("text after the document")
	}
	if s.err != nil {
		return s.err
	}
	return nil
}

// fail records what is wrong at the current position.
func (s *scanner) fail(reason string) {
	if s.err == nil {
		s.err = &SyntaxError{Offset: s.pos, Reason: reason}
	}
	s.pos = len(s.src)
}

// unexpected fails because the current byte, or the end of the text, cannot stand here.
func (s *scanner) unexpected() {
	if s.pos < len(s.src) {
		s.fail("unexpected character")
	} else {
		s.fail("unexpected end")
	}
}

// peek returns the current byte, 0 at the end. No token starts with 0.
func (s *scanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

func (s *scanner) space() {
	for s.pos < len(s.src) && isSpace(s.src[s.pos]) {
		s.pos++
	}
}

func isSpace(c byte) bool {
	return c <= ' ' && (c == ' ' || c == '\n' || c == '\r' || c == '\t')
}

// enter steps into the container that starts with open and reports whether it has a
// first element or member. An empty container is left at once.
func (s *scanner) enter(open byte) bool {
	if s.peek() != open {
		if open == '{' {
			s.fail("not an object")
		} else {
			s.fail("not an array")
		}
		return false
	}
	if s.depth == MaxDepth {
		s.fail("nested too deeply")
		return false
	}
	s.depth++
	s.pos++
	s.space()
	if s.peek() == open+2 { // in ASCII, ']' is '[' + 2 and '}' is '{' + 2
		s.depth--
		s.pos++
		return false
	}
	return true
}

// next steps over the comma behind a value and reports true, or leaves the container
// that ends with closing.
func (s *scanner) next(closing byte) bool {
	s.space()
	switch s.peek() {
	case ',':
		s.pos++
		s.space()
		return true
	case closing:
		s.depth--
		s.pos++
	default:
		s.unexpected()
	}
	return false
}

// name reads a member's name with the colon behind it and returns it unescaped.
func (s *scanner) name() []byte {
	name := s.unescape(s.str())
	s.colon()
	return name
}

// unescape returns what raw, the string read last, stands for.
func (s *scanner) unescape(raw []byte) []byte {
	if s.escaped {
		return appendUnescaped(nil, raw)
	}
	return raw
}

func (s *scanner) colon() {
	s.space()
	if s.peek() != ':' {
		s.unexpected()
		return
	}
	s.pos++
	s.space()
}

// value reads one value of any kind and returns its text.
func (s *scanner) value() []byte {
	start := s.pos
	switch c := s.peek(); c {
	case '"':
		s.str()
	case '{':
		for ok := s.enter('{'); ok; ok = s.next('}') {
			s.str()
			s.colon()
			s.value()
		}
	case '[':
		for ok := s.enter('['); ok; ok = s.next(']') {
			s.value()
		}
	case 't':
		s.literal("true")
	case 'f':
		s.literal("false")
	case 'n':
		s.literal("null")
	default:
		if c != '-' && !isDigit(c) {
			s.unexpected()
			break
		}
		s.number()
	}
	if s.err != nil {
		return nil
	}
	return s.src[start:s.pos]
}

func (s *scanner) literal(word string) {
	for i := range len(word) {
		if s.peek() != word[i] {
			s.unexpected()
			return
		}
		s.pos++
	}
}

func (s *scanner) number() {
	i := s.pos
	if s.src[i] == '-' {
		i++
	}
	if i < len(s.src) && s.src[i] == '0' {
		i++
	} else {
		i = s.digits(i)
	}
	if i < len(s.src) && s.src[i] == '.' {
		i = s.digits(i + 1)
	}
	if i < len(s.src) && s.src[i]|0x20 == 'e' {
		i++
		if i < len(s.src) && (s.src[i] == '+' || s.src[i] == '-') {
			i++
		}
		i = s.digits(i)
	}
	s.pos = i
}

// digits reads one or more digits from i on and returns where they end.
func (s *scanner) digits(i int) int {
	start := i
	for i < len(s.src) && isDigit(s.src[i]) {
		i++
	}
	if i == start {
		s.pos = i
		s.unexpected()
		return s.pos
	}
	return i
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// str reads a string and returns what is between its quotes, escapes and all.
func (s *scanner) str() []byte {
	s.escaped = false
	if s.peek() != '"' {
		s.unexpected()
		return nil
	}
	start := s.pos + 1
	end := skipPlain(s.src, start)
	if end < len(s.src) && s.src[end] == '"' {
		s.pos = end + 1
		return s.src[start:end]
	}
	s.pos = end
	return s.strRest(start)
}

// strRest reads on in the string that starts at start from its first character that
// is not plain.
func (s *scanner) strRest(start int) []byte {
	for {
		switch c := s.peek(); {
		case c == '"':
			raw := s.src[start:s.pos]
			s.pos++
			return raw
		case c == '\\':
			s.escaped = true
			s.escape()
		case c >= utf8.RuneSelf:
			if r, size := utf8.DecodeRune(s.src[s.pos:]); r == utf8.RuneError && size == 1 {
				s.fail("not UTF-8")
			} else {
				s.pos += size
			}
		case s.pos < len(s.src):
			s.fail("control character in a string")
		default:
			s.fail("unexpected end")
			s.escaped = false
			return nil
		}
		s.pos = skipPlain(s.src, s.pos)
	}
}

// escape reads the backslash and what it escapes. A \u escape may be half of a
// surrogate pair: the grammar allows it.
func (s *scanner) escape() {
	s.pos++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos++
	case 'u':
		s.pos++
		for range 4 {
			if !isHex(s.peek()) {
				s.fail("bad escape")
				return
			}
			s.pos++
		}
	default:
		s.fail("bad escape")
	}
}

func isHex(c byte) bool {
	return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// skipPlain returns where the run of plain characters that starts at i ends: at a
// quote, a backslash, a control character, a byte of a multi-byte character or the
// end of src.
func skipPlain(src []byte, i int) int {
	const (
		ones  = 0x0101010101010101
		highs = 0x80 * ones
	)
	// Eight bytes at a time. In each byte the top bit is set by w itself when the
	// byte is not ASCII, and by the borrow of a subtraction when the byte is below
	// a space, or when XOR made it zero, that is, it was the quote or the
	// backslash. A borrow may run on into higher bytes and mark them wrongly; the
	// lowest mark, the only one used, is always right.
	for len(src)-i >= 8 {
		w := binary.LittleEndian.Uint64(src[i:])
		marks := (w | (w - ' '*ones) | ((w ^ '"'*ones) - ones) | ((w ^ '\\'*ones) - ones)) & highs
		if marks != 0 {
			return i + bits.TrailingZeros64(marks)/8
		}
		i += 8
	}
	for i < len(src) {
		if c := src[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			break
		}
		i++
	}
	return i
}
