package sim

import "strconv"

// JSON is a JSON text under construction. Members and elements are separated by
// commas on their own; the caller balances the brackets.
type JSON []byte

// Open begins an object ('{') or an array ('[') as the next element.
func (j *JSON) Open(bracket byte) {
	j.separate()
	*j = append(*j, bracket)
}

// Close ends an object ('}') or an array (']').
func (j *JSON) Close(bracket byte) { *j = append(*j, bracket) }

// Name begins a member; its value must follow.
func (j *JSON) Name(name string) {
	j.separate()
	*j = appendText(*j, name)
	*j = append(*j, ':')
}

// Object begins a member whose value is an object.
func (j *JSON) Object(name string) {
	j.Name(name)
	j.Open('{')
}

// Array begins a member whose value is an array.
func (j *JSON) Array(name string) {
	j.Name(name)
	j.Open('[')
}

// Text writes a member whose value is a string.
func (j *JSON) Text(name, value string) {
	j.Name(name)
	*j = appendText(*j, value)
}

// Int writes a member whose value is an integer.
func (j *JSON) Int(name string, value int64) {
	j.Name(name)
	*j = strconv.AppendInt(*j, value, 10)
}

// Bool writes a member whose value is true or false.
func (j *JSON) Bool(name string, value bool) {
	j.Name(name)
	*j = strconv.AppendBool(*j, value)
}

// Raw writes a member whose value is a JSON text already, such as a number whose
// spelling matters or null.
func (j *JSON) Raw(name, value string) {
	j.Name(name)
	*j = append(*j, value...)
}

// Fixed writes a member whose value is a number with a fixed count of decimals.
func (j *JSON) Fixed(name string, units int64, decimals int) {
	j.Raw(name, Decimal(units, decimals))
}

// Element writes a JSON text as the next element of an array.
func (j *JSON) Element(value []byte) {
	j.separate()
	*j = append(*j, value...)
}

// TextElement writes a string as the next element of an array.
func (j *JSON) TextElement(value string) {
	j.separate()
	*j = appendText(*j, value)
}

func (j *JSON) separate() {
	if n := len(*j); n > 0 {
		switch (*j)[n-1] {
		case '{', '[', ':':
		default:
			*j = append(*j, ',')
		}
	}
}

// Decimal spells an integer count of the given decimal place with exactly that many
// decimals: 205 cents are Decimal(205, 2) = "2.05".
func Decimal(units int64, decimals int) string {
	b := make([]byte, 0, 24)
	if units < 0 {
		b = append(b, '-')
		units = -units
	}
	scale := int64(1)
	for range decimals {
		scale *= 10
	}
	b = strconv.AppendInt(b, units/scale, 10)
	if decimals == 0 {
		return string(b)
	}
	b = append(b, '.')
	fraction := units % scale
	for scale /= 10; scale > 1 && fraction < scale; scale /= 10 {
		b = append(b, '0')
	}
	return string(strconv.AppendInt(b, fraction, 10))
}

const hexDigits = "0123456789abcdef"

// appendText quotes a string; anything but what JSON forbids stays as it is, because
// the providers escape nothing else either.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < 0x20:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
