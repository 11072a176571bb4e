package sim

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Rand invents values. The same seed and stream give the same values.
type Rand struct{ rand *rand.Rand }

// NewRand returns a source of invented values; stream keeps the values of one kind
// of data apart from those of another.
func NewRand(seed uint64, stream string) *Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(stream))                       // never fails
	return &Rand{rand.New(rand.NewPCG(seed, h.Sum64()))} //nolint:gosec // the same invented data each time is the point
}

// Int returns a number from low to high, both included.
func (r *Rand) Int(low, high int) int { return low + r.rand.IntN(high-low+1) }

// Chance is true in so many of a hundred cases.
func (r *Rand) Chance(percent int) bool { return r.rand.IntN(100) < percent }

// Duration returns a time span from low to high, both included, in steps of 100 ns,
// the finest step that the providers' dates have.
func (r *Rand) Duration(low, high time.Duration) time.Duration {
	const step = 100 * time.Nanosecond
	return low + time.Duration(r.rand.Int64N(int64((high-low)/step)+1))*step
}

// GUID returns a random identifier in the form of a version 4 UUID.
func (r *Rand) GUID() string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], r.rand.Uint64())
	binary.BigEndian.PutUint64(b[8:], r.rand.Uint64())
	return FormatGUID(b)
}

// String returns n characters of an alphabet.
func (r *Rand) String(alphabet string, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[r.rand.IntN(len(alphabet))]
	}
	return string(b)
}

// VIN returns a vehicle identification number of the right length and alphabet that
// begins with the given characters.
func (r *Rand) VIN(prefix string) string {
	return prefix + r.String("ABCDEFGHJKLMNPRSTUVWXYZ0123456789", 11-len(prefix)) + r.String("0123456789", 6)
}

// Pick returns one of the choices.
func Pick[T any](r *Rand, choices []T) T { return choices[r.rand.IntN(len(choices))] }

// FormatGUID spells 16 random bytes as a version 4 UUID.
func FormatGUID(b [16]byte) string {
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	text := make([]byte, 36)
	hex.Encode(text, b[:4])
	text[8] = '-'
	hex.Encode(text[9:], b[4:6])
	text[13] = '-'
	hex.Encode(text[14:], b[6:8])
	text[18] = '-'
	hex.Encode(text[19:], b[8:10])
	text[23] = '-'
	hex.Encode(text[24:], b[10:])
	return string(text)
}

// The names of the people in the invented data.
var (
	FirstNames = []string{"Alba", "Bram", "Carla", "Dario", "Edda", "Fionn", "Greta", "Hamza", "Ines", "Jonas", "Kalea", "Luca", "Mirja", "Nadir", "Oda", "Pablo"}
	LastNames  = []string{"Abbott", "Brandt", "Castell", "Dorsey", "Ekholm", "Farrow", "Gantry", "Hollis", "Ibarra", "Juneau", "Kessel", "Lindqvist"}
)
