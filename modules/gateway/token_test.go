package gateway

import (
	"crypto/sha256"
	"errors"
	"hash/crc32"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/modules/store"
)

// tokenShape is what a leak scanner looks for.
var tokenShape = regexp.MustCompile(`^fgt_[0-9A-Za-z]{33}$`)

func TestToken(t *testing.T) {
	t.Run("ok/every token is new and has the shape", func(t *testing.T) {
		seen := make(map[string]bool)
		for range 1000 {
			value := newTokenValue()
			if !tokenShape.MatchString(value) || seen[value] {
				t.Fatalf("token %q, seen before: %v", value, seen[value])
			}
			seen[value] = true
		}
	})
	t.Run("ok/the ends of the range have the same length", func(t *testing.T) {
		var lowest, highest [tokenBytes]byte
		for i := range highest {
			highest[i] = 0xff
		}
		for _, random := range [][tokenBytes]byte{lowest, highest} {
			if value := encodeToken(random); !tokenShape.MatchString(value) {
				t.Errorf("token %q", value)
			}
		}
	})
	t.Run("ok/read back without allocating", func(t *testing.T) {
		value := newTokenValue()
		if n := testing.AllocsPerRun(100, func() {
			if _, err := ParseToken(value); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})

	value := encodeToken([tokenBytes]byte{1, 2, 3})
	for name, garbage := range map[string]string{
		"empty":              "",
		"prefix only":        "fgt_",
		"too short":          value[:len(value)-1],
		"too long":           value + "0",
		"other prefix":       "xgt_" + value[4:],
		"prefix in capitals": "FGT_" + value[4:],
		"not base 62":        value[:10] + "-" + value[11:],
		"not ASCII":          value[:10] + "é" + value[12:],
		"NUL":                value[:10] + "\x00" + value[11:],
		"wrong checksum":     value[:len(value)-1] + "!",
		"zero checksum":      value[:len(value)-tokenChecksum] + "000000",
		"case of one letter": swapCase(value),
	} {
		t.Run("fail/"+name, func(t *testing.T) {
			hash, err := ParseToken(garbage)
			if !errors.Is(err, ErrMalformedToken) || hash != (store.Hash{}) {
				t.Errorf("ParseToken(%q) = %x, %v", garbage, hash, err)
			}
			if garbage != "" && err != nil && strings.Contains(err.Error(), garbage) {
				t.Errorf("the error %q holds the text", err)
			}
		})
	}
}

// swapCase changes the case of one letter of a token.
func swapCase(value string) string {
	for i := len(tokenPrefix); i < len(value); i++ {
		if c := value[i] ^ 0x20; 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			return value[:i] + string(c) + value[i+1:]
		}
	}
	return ""
}

func TestTokenRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := [tokenBytes]byte(rapid.SliceOfN(rapid.Byte(), tokenBytes, tokenBytes).Draw(t, "random"))
		value := encodeToken(random)
		if !tokenShape.MatchString(value) {
			t.Fatalf("token %q", value)
		}
		sum := uint64(0)
		for _, c := range value[tokenLength-tokenChecksum:] {
			sum = sum*62 + uint64(strings.IndexRune(base62, c))
		}
		if want := crc32.ChecksumIEEE([]byte(value[:tokenLength-tokenChecksum])); sum != uint64(want) {
			t.Fatalf("token %q has checksum %08x, want %08x", value, sum, want)
		}
		hash, err := ParseToken(value)
		if err != nil || hash != store.Hash(sha256.Sum256([]byte(value))) {
			t.Fatalf("ParseToken(%q) = %x, %v", value, hash, err)
		}

		// Any one wrong character is noticed, and so are any two that change places.
		i := rapid.IntRange(0, tokenLength-1).Draw(t, "i")
		wrong := []byte(value)
		wrong[i] = base62[rapid.IntRange(0, len(base62)-1).Draw(t, "digit")]
		if _, err := ParseToken(string(wrong)); (err == nil) != (string(wrong) == value) {
			t.Fatalf("ParseToken(%q), one character away from %q: %v", wrong, value, err)
		}
		j := rapid.IntRange(0, tokenLength-2).Draw(t, "j")
		wrong = []byte(value)
		wrong[j], wrong[j+1] = wrong[j+1], wrong[j]
		if _, err := ParseToken(string(wrong)); (err == nil) != (string(wrong) == value) {
			t.Fatalf("ParseToken(%q), two characters of %q swapped: %v", wrong, value, err)
		}
	})
}

func FuzzParseToken(f *testing.F) {
	f.Add("fgt_")
	f.Add(encodeToken([tokenBytes]byte{}))
	f.Fuzz(func(t *testing.T, value string) {
		if _, err := ParseToken(value); err == nil && !tokenShape.MatchString(value) {
			t.Errorf("ParseToken took %q", value)
		}
	})
}
