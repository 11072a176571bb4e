package quickbooks

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxFilter is the length of the longest filter, in bytes.
const maxFilter = 8 << 10

// tokenKind tells the tokens of a filter apart.
type tokenKind uint8

const (
	tokenWord   tokenKind = iota // letters, digits and _, not beginning with a digit
	tokenNumber                  // digits
	tokenQuoted                  // from quote to quote
	tokenSign                    // any other character, or -- or /*
)

// token is a piece of a filter.
type token struct {
	kind tokenKind
	text string
}

// is reports whether the token is the keyword.
func (t token) is(keyword string) bool {
	return t.kind == tokenWord && strings.EqualFold(t.text, keyword)
}

// clauseOf returns what a filter adds to a statement behind the entity's name: a
// condition, an order, or both, each with its keyword and a space before it. One leading
// WHERE is taken off, and ORDERBY Id is added to a filter without an order, because in
// QuickBooks' own orders rows move while a list is read.
//
// It refuses what would reach beyond the condition and the order, into the rest of the
// statement, and what QuickBooks might read as something else than it was read as here.
// Whether the condition has a meaning is for QuickBooks to say.
func clauseOf(filter string) (string, error) {
	if len(filter) > maxFilter || !utf8.ValidString(filter) || strings.ContainsFunc(filter, unicode.IsControl) {
		return "", invalid("filter", nil)
	}
	condition := strings.TrimSpace(filter)
	if first, rest, _ := nextToken(condition); first.is("WHERE") {
		condition = strings.TrimSpace(rest)
	}

	ordered, orderOnly := false, false
	var before token
	for n, rest := 0, condition; rest != ""; n++ {
		t, after, ok := nextToken(rest)
		if !ok || t.isForeign() {
			return "", invalid("filter", nil)
		}
		oneWord, twoWords := t.is("ORDERBY"), before.is("ORDER") && t.is("BY")
		ordered = ordered || oneWord || twoWords
		orderOnly = orderOnly || oneWord && n == 0 || twoWords && n == 1
		before, rest = t, strings.TrimLeftFunc(after, unicode.IsSpace)
	}

	var clause string
	switch {
	case condition == "":
	case orderOnly:
		clause = " " + condition
	default:
		clause = " WHERE " + condition
	}
	if !ordered {
		clause += " ORDERBY Id"
	}
	return clause, nil
}

// isForeign reports whether a token has no place in a condition or an order.
func (t token) isForeign() bool {
	switch t.kind {
	case tokenWord:
		return t.is("SELECT") || t.is("STARTPOSITION") || t.is("MAXRESULTS")
	case tokenSign:
		// Quotes other than ' and comments, should the parser know them, would hide
		// what is taken for open here.
		return t.text == ";" || t.text == `"` || t.text == "`" || t.text == "--" || t.text == "/*"
	default:
		return false
	}
}

// nextToken splits off the token that text begins with. It fails at a quote that is not
// closed and at the end.
func nextToken(text string) (t token, rest string, ok bool) {
	var kind tokenKind
	r, length := utf8.DecodeRuneInString(text)
	switch {
	case r == '\'':
		kind, length = tokenQuoted, quotedLength(text)
	case isDigit(r):
		kind, length = tokenNumber, lengthOf(text, isDigit)
	case isWordRune(r):
		kind, length = tokenWord, lengthOf(text, isWordRune)
	default:
		kind = tokenSign
		if strings.HasPrefix(text, "--") || strings.HasPrefix(text, "/*") {
			length = 2
		}
	}
	return token{kind, text[:length]}, text[length:], length > 0
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

func isWordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// lengthOf returns how many bytes of text are runes of the set from its start on.
func lengthOf(text string, in func(rune) bool) int {
	if end := strings.IndexFunc(text, func(r rune) bool { return !in(r) }); end >= 0 {
		return end
	}
	return len(text)
}

// quotedLength returns the length of the string that text begins with, with both of its
// quotes, and 0 when it has no end. A backslash takes away the meaning of what follows.
func quotedLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\'':
			return i + 1
		}
	}
	return 0
}
