package quickbooks

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind int

const (
	endOfStatement tokenKind = iota
	word
	number
	quoted
	symbol
)

// lexeme is one token of a statement.
type lexeme struct {
	kind   tokenKind
	text   string // a quoted text without its quotes and escapes
	image  string // as it stands in the statement
	line   int    // both from 1
	column int
}

// is reports whether the token is a keyword, in any case.
func (t lexeme) is(keyword string) bool { return t.kind == word && strings.EqualFold(t.text, keyword) }

// isSymbol reports whether the token is a symbol.
func (t lexeme) isSymbol(s string) bool { return t.kind == symbol && t.text == s }

// unexpected refuses the token in the words of the provider's parser.
func (t lexeme) unexpected() *fault {
	at := fmt.Sprintf(" at line %d, column %d.", t.line, t.column)
	var class string
	switch t.kind {
	case endOfStatement:
		return parseError(`Encountered "<EOF>"` + at)
	case word:
		class = "<IDENTIFIER>"
		if keywords[strings.ToLower(t.text)] {
			class = `"` + strings.ToLower(t.text) + `"`
		}
	case number:
		class = "<INTEGER>"
	case quoted:
		class = "<STRING>"
	case symbol:
		class = `"` + t.text + `"`
	}
	return parseError(`Encountered " ` + class + ` "` + t.image + ` ""` + at)
}

var keywords = map[string]bool{
	"select": true, "count": true, "from": true, "where": true, "and": true, "in": true, "like": true,
	"true": true, "false": true, "orderby": true, "order": true, "by": true, "asc": true, "desc": true,
	"startposition": true, "maxresults": true,
}

// lexer cuts a statement into tokens.
type lexer struct {
	rest   string
	line   int
	column int
}

// next returns the next token. At the end of the statement it goes on returning that.
func (l *lexer) next() (lexeme, *fault) {
	l.advance(len(l.rest) - len(strings.TrimLeft(l.rest, " \t\r\n")))
	t := lexeme{line: l.line, column: l.column}
	if l.rest == "" {
		return t, nil
	}
	n := 1
	switch first := l.rest[0]; {
	case first == '\'':
		return l.quotedText(t)
	case isLetter(first):
		t.kind, n = word, prefix(l.rest, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '.' })
	case isDigit(first) || first == '-' && len(l.rest) > 1 && isDigit(l.rest[1]):
		t.kind, n = number, 1+prefix(l.rest[1:], isDigit)
	case strings.HasPrefix(l.rest, "<=") || strings.HasPrefix(l.rest, ">="):
		t.kind, n = symbol, 2
	case strings.IndexByte("*(),=<>", first) >= 0:
		t.kind = symbol
	default:
		r, _ := utf8.DecodeRuneInString(l.rest)
		return t, l.lexicalError(strconv.QuoteToASCII(string(r))+" ("+strconv.Itoa(int(r))+"),", "")
	}
	t.image = l.rest[:n]
	t.text = t.image
	l.advance(n)
	return t, nil
}

// quotedText reads a text in single quotes, in which a backslash takes the meaning
// from the character after it.
func (l *lexer) quotedText(t lexeme) (lexeme, *fault) {
	var text strings.Builder
	for i := 1; i < len(l.rest); i++ {
		switch c := l.rest[i]; {
		case c == '\'':
			t.kind, t.text, t.image = quoted, text.String(), l.rest[:i+1]
			l.advance(i + 1)
			return t, nil
		case c == '\\' && i+1 < len(l.rest):
			i++
			text.WriteByte(l.rest[i])
		default:
			text.WriteByte(c)
		}
	}
	image := l.rest
	l.advance(len(image))
	return t, l.lexicalError("<EOF>", image)
}

func (l *lexer) lexicalError(encountered, after string) *fault {
	return parseError(fmt.Sprintf("Lexical error at line %d, column %d.  Encountered: %s after : %q", l.line, l.column, encountered, after))
}

// advance goes n bytes on, and counts lines and characters.
func (l *lexer) advance(n int) {
	for _, r := range l.rest[:n] {
		l.column++
		if r == '\n' {
			l.line, l.column = l.line+1, 1
		}
	}
	l.rest = l.rest[n:]
}

// prefix returns how many bytes at the beginning of s are in a set.
func prefix(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func isLetter(c byte) bool { return c == '_' || 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
