package transform

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// AppendString appends s as a JSON string. Quotes, backslashes, control characters
// and the line separators U+2028 and U+2029, which end a line in older JavaScript,
// are escaped; bytes that are not UTF-8 become U+FFFD. Everything else, <, > and &
// included, stays readable.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // s[:done] is written
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				dst = append(dst, s[done:i]...)
				dst = appendEscape(dst, c)
				done = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(dst, s[done:i]...)
			dst = utf8.AppendRune(dst, utf8.RuneError)
			done = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(dst, s[done:i]...)
			dst = append(dst, `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			done = i + size
		}
		i += size
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

const hexDigits = "0123456789abcdef"

// appendEscape appends the escape sequence of an ASCII character.
func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	default:
		return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
	}
}

// appendUnescaped appends what raw, the inside of a string that the scanner has
// accepted, stands for. Half a surrogate pair stands for U+FFFD.
func appendUnescaped(dst, raw []byte) []byte {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return append(dst, raw...)
		}
		dst = append(dst, raw[:i]...)
		c := raw[i+1]
		raw = raw[i+2:]
		switch c {
		case 'b':
			c = '\b'
		case 'f':
			c = '\f'
		case 'n':
			c = '\n'
		case 'r':
			c = '\r'
		case 't':
			c = '\t'
		case 'u':
			r := hexRune(raw)
			raw = raw[4:]
			if utf16.IsSurrogate(r) {
				low := rune(utf8.RuneError)
				if len(raw) >= 6 && raw[0] == '\\' && raw[1] == 'u' {
					low = hexRune(raw[2:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					raw = raw[6:]
				}
			}
			dst = utf8.AppendRune(dst, r)
			continue
		}
		dst = append(dst, c)
	}
}

// hexRune returns the number that the four hexadecimal digits at the start of raw
// spell.
func hexRune(raw []byte) rune {
	var r rune
	for _, c := range raw[:4] {
		if c |= 0x20; c >= 'a' {
			c -= 'a' - 10
		} else {
			c -= '0' // has the bit 0x20 already
		}
		r = r<<4 | rune(c)
	}
	return r
}

// isNull reports whether value, the text of a member's value, is null or missing.
func isNull(value []byte) bool {
	return len(value) == 0 || value[0] == 'n'
}

// text returns what value, the text of a JSON value, reads as: the characters of a
// string, the spelling of a number, true or false; nothing for null, an object, an
// array and a missing value.
func text(value []byte) []byte {
	if isNull(value) || value[0] == '{' || value[0] == '[' {
		return nil
	}
	if value[0] != '"' {
		return value
	}
	value = value[1 : len(value)-1]
	if bytes.IndexByte(value, '\\') < 0 {
		return value
	}
	return appendUnescaped(nil, value)
}

// appendText appends the text of value as a JSON string. A value that is a string is
// copied byte for byte.
func appendText(dst, value []byte) []byte {
	if len(value) > 0 && value[0] == '"' {
		return append(dst, value...)
	}
	dst = append(dst, '"')
	dst = append(dst, text(value)...) // a number, true or false: nothing to escape
	return append(dst, '"')
}
