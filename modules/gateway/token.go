package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"math/big"
	"strings"

	"github.com/fleetgate/fleetgate/modules/store"
)

// A token is "fgt_", then 160 random bits as 27 characters, then a CRC-32 of all
// that as 6 characters, both in base 62: fgt_[0-9A-Za-z]{33}. The checksum tells
// garbage from tokens without a look-up, to the gateway and to leak scanners.
const (
	tokenPrefix   = "fgt_"
	tokenBytes    = 20
	tokenDigits   = 27
	tokenChecksum = 6
	tokenLength   = len(tokenPrefix) + tokenDigits + tokenChecksum
)

// base62 are the digits of a token, in the order of their values.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// ErrMalformedToken means that a text cannot be a token of this gateway.
var ErrMalformedToken = errors.New("malformed token")

// newTokenValue returns the value of a new token.
func newTokenValue() string {
	var random [tokenBytes]byte
	_, _ = rand.Read(random[:]) // never fails: the process ends instead
	return encodeToken(random)
}

// encodeToken returns the token made of these random bytes.
func encodeToken(random [tokenBytes]byte) string {
	var b strings.Builder
	b.Grow(tokenLength)
	b.WriteString(tokenPrefix)

	var digits [tokenDigits]byte
	number, base, digit := new(big.Int).SetBytes(random[:]), big.NewInt(int64(len(base62))), new(big.Int)
	for i := tokenDigits - 1; i >= 0; i-- {
		number.DivMod(number, base, digit)
		digits[i] = base62[digit.Int64()]
	}
	b.Write(digits[:])

	sum := checksum(b.String())
	b.Write(sum[:])
	return b.String()
}

// checksum returns the last characters of a token that begins with body. The loop
// is a CRC-32 as [crc32.ChecksumIEEE] makes it, which would move the bytes to the
// heap, because it picks its implementation at run time.
func checksum(body string) (digits [tokenChecksum]byte) {
	sum := ^uint32(0)
	for i := range len(body) {
		sum = crc32.IEEETable[byte(sum&0xff)^body[i]] ^ sum>>8
	}
	sum = ^sum
	for i := tokenChecksum - 1; i >= 0; i-- {
		digits[i] = base62[sum%uint32(len(base62))]
		sum /= uint32(len(base62))
	}
	return digits
}

// ParseToken returns the hash under which the store knows a token, or
// [ErrMalformedToken] when no token can read like that. It allocates nothing.
func ParseToken(value string) (store.Hash, error) {
	if len(value) != tokenLength || value[:len(tokenPrefix)] != tokenPrefix {
		return store.Hash{}, ErrMalformedToken
	}
	for i := len(tokenPrefix); i < len(value); i++ {
		if !isBase62(value[i]) {
			return store.Hash{}, ErrMalformedToken
		}
	}
	body := tokenLength - tokenChecksum
	if sum := checksum(value[:body]); value[body:] != string(sum[:]) {
		return store.Hash{}, ErrMalformedToken
	}
	var text [tokenLength]byte
	copy(text[:], value)
	return sha256.Sum256(text[:]), nil
}

// isBase62 reports whether c is one of the digits of base62.
func isBase62(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}
