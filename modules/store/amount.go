package store

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Amount is a sum of credits in millionths of a credit: 1 credit is 1,000,000.
// Its text form, also in JSON, is a decimal string without trailing zeros, such
// as "0.25", so that no reader takes it for a float.
type Amount int64

const (
	// Credit is one credit.
	Credit Amount = 1_000_000

	// amountDecimals is how many digits may follow the decimal point.
	amountDecimals = 6
)

// ParseAmount reads an optional minus sign, digits, and up to six decimals after
// a point. Anything else (an exponent, a plus sign, spaces, a point without
// digits on both sides) is refused, and so is a sum that does not fit.
func ParseAmount(s string) (Amount, error) {
	digits, negative := strings.CutPrefix(s, "-")
	whole, fraction, hasPoint := strings.Cut(digits, ".")
	if !isDigits(whole) || (hasPoint && !isDigits(fraction)) {
		return 0, fmt.Errorf("%q is not an amount: write digits, with up to %d decimals", s, amountDecimals)
	}
	if len(fraction) > amountDecimals {
		return 0, fmt.Errorf("%q has more than %d decimals", s, amountDecimals)
	}

	// The sum is built as a negative number, because the negative range is the
	// larger one: the smallest amount has no positive counterpart.
	var sum int64
	for _, c := range []byte(whole + fraction + strings.Repeat("0", amountDecimals-len(fraction))) {
		d := int64(c - '0')
		if sum < (math.MinInt64+d)/10 {
			return 0, fmt.Errorf("%q is too large for an amount", s)
		}
		sum = sum*10 - d
	}
	if negative {
		return Amount(sum), nil
	}
	if sum == math.MinInt64 {
		return 0, fmt.Errorf("%q is too large for an amount", s)
	}
	return Amount(-sum), nil
}

// isDigits reports whether s is one decimal digit or more.
func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// String returns the amount in credits, for example "12", "0.25" or "-0.000001".
func (a Amount) String() string {
	// Digit by digit, because the smallest amount has no positive counterpart.
	digits, negative := strings.CutPrefix(strconv.FormatInt(int64(a), 10), "-")
	digits = strings.Repeat("0", max(0, amountDecimals+1-len(digits))) + digits
	point := len(digits) - amountDecimals
	text := digits[:point]
	if fraction := strings.TrimRight(digits[point:], "0"); fraction != "" {
		text += "." + fraction
	}
	if negative {
		return "-" + text
	}
	return text
}

// MarshalText implements [encoding.TextMarshaler].
func (a Amount) MarshalText() ([]byte, error) {
	return []byte(a.String()), nil
}

// UnmarshalText implements [encoding.TextUnmarshaler].
func (a *Amount) UnmarshalText(text []byte) error {
	parsed, err := ParseAmount(string(text))
	if err != nil {
		return err
	}
	*a = parsed
	return nil
}
