package transform

import (
	"bytes"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// What the accounting provider keeps of an amount. More would be rounded.
const (
	maxDigits   = 15
	maxDecimals = 5
)

// maxShownName is how much of a foreign name goes into a message, in bytes.
const maxShownName = 64

// accepts reports whether value, valid JSON that is not null, is of the field's scalar
// type and within its bounds.
func (f *Field) accepts(value []byte) bool {
	switch f.Type {
	case TypeString:
		return value[0] == '"' && f.acceptsText(text(value))
	case TypeDate:
		return value[0] == '"' && IsDate(string(text(value)))
	case TypeDecimal:
		return isDecimal(value)
	case TypeInteger:
		return isInteger(value)
	case TypeBoolean:
		return value[0] == 't' || value[0] == 'f'
	default: // the checker reads the others itself
		return false
	}
}

func (f *Field) acceptsText(s []byte) bool {
	if f.Digits && !isDigits(s) || f.Max > 0 && utf8.RuneCount(s) > f.Max {
		return false
	}
	return len(f.Allowed) == 0 || slices.Contains(f.Allowed, string(s))
}

// isDecimal reports whether value, valid JSON, is a number of [TypeDecimal].
func isDecimal(value []byte) bool {
	unsigned, negative := bytes.CutPrefix(value, []byte("-"))
	whole, fraction, pointed := bytes.Cut(unsigned, []byte("."))
	if !isDigits(whole) || pointed && !isDigits(fraction) {
		return false
	}
	if negative && len(bytes.Trim(unsigned, "0.")) == 0 {
		return false
	}
	return len(whole)+len(fraction) <= maxDigits && len(fraction) <= maxDecimals
}

// isInteger reports whether value, valid JSON, is a number of [TypeInteger].
func isInteger(value []byte) bool {
	const highest = "9223372036854775807"
	// Numbers in JSON have no leading zeros: of two of the same length the greater
	// one sorts behind.
	return isDigits(value) && value[0] != '0' &&
		(len(value) < len(highest) || len(value) == len(highest) && string(value) <= highest)
}

// IsDate reports whether s is a day of the calendar, as YYYY-MM-DD. There is no year 0.
// Such dates compare as text.
func IsDate(s string) bool {
	day, err := time.Parse(time.DateOnly, s)
	return err == nil && day.Year() > 0
}

func isDigits(s []byte) bool {
	for _, c := range s {
		if !isDigit(c) {
			return false
		}
	}
	return len(s) > 0
}

// printable returns a name that a caller made up as it may stand in a message: short,
// and without characters that a terminal or a log would act upon.
func printable(name []byte) string {
	if len(name) == 0 {
		return `""`
	}
	end := len(name)
	if end > maxShownName {
		for end = maxShownName; !utf8.RuneStart(name[end]); {
			end--
		}
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, string(name[:end]))
}
