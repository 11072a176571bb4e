package store_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/modules/store"
)

func TestParseAmount(t *testing.T) {
	tests := []struct {
		name, in string
		want     store.Amount
		text     string // how it is written; in when empty
	}{
		{name: "ok/zero", in: "0", want: 0},
		{name: "ok/credits", in: "100", want: 100 * store.Credit},
		{name: "ok/quarter", in: "0.25", want: 250_000},
		{name: "ok/smallest", in: "0.000001", want: 1},
		{name: "ok/negative", in: "-1.5", want: -1_500_000},
		{name: "ok/negative fraction", in: "-0.000001", want: -1},
		{name: "ok/trailing zeros", in: "1.500000", want: 1_500_000, text: "1.5"},
		{name: "ok/leading zeros", in: "007", want: 7 * store.Credit, text: "7"},
		{name: "ok/minus zero", in: "-0", want: 0, text: "0"},
		{name: "ok/largest", in: "9223372036854.775807", want: math.MaxInt64},
		{name: "ok/lowest", in: "-9223372036854.775808", want: math.MinInt64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := store.ParseAmount(tt.in)
			if err != nil || got != tt.want {
				t.Fatalf("ParseAmount(%q) = %d, %v, want %d", tt.in, got, err, tt.want)
			}
			text := tt.text
			if text == "" {
				text = tt.in
			}
			if got.String() != text {
				t.Errorf("String() = %q, want %q", got.String(), text)
			}
		})
	}

	failures := map[string]string{
		"": "not an amount", ".": "not an amount", "-": "not an amount", "1.": "not an amount", ".5": "not an amount",
		"+1": "not an amount", " 1": "not an amount", "1 ": "not an amount", "--1": "not an amount", "1e3": "not an amount",
		"1,5": "not an amount", "1.2.3": "not an amount", "0x10": "not an amount", "1_000": "not an amount", "NaN": "not an amount", "١": "not an amount",
		"0.0000001": "more than 6 decimals", "1.0000000": "more than 6 decimals",
		"9223372036854.775808": "too large", "-9223372036854.775809": "too large", "99999999999999999999": "too large",
		strings.Repeat("9", 1000): "too large",
	}
	for in, want := range failures {
		t.Run("fail/"+in[:min(len(in), 30)], func(t *testing.T) {
			got, err := store.ParseAmount(in)
			if err == nil || !strings.Contains(err.Error(), want) || got != 0 {
				t.Errorf("ParseAmount(%q) = %d, %v, want an error with %q", in, got, err, want)
			}
		})
	}
}

func TestAmountRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := store.Amount(rapid.Int64().Draw(t, "amount"))
		text := want.String()
		got, err := store.ParseAmount(text)
		if err != nil || got != want {
			t.Fatalf("%d is written %q and read back as %d, %v", int64(want), text, int64(got), err)
		}
		if _, fraction, found := strings.Cut(text, "."); found && (fraction == "" || strings.HasSuffix(fraction, "0")) {
			t.Fatalf("%q has trailing zeros", text)
		}
		exact, _ := new(big.Rat).SetString(text)
		if exact.Cmp(big.NewRat(int64(want), int64(store.Credit))) != 0 {
			t.Fatalf("%q is not %d millionths", text, int64(want))
		}
	})
}

func TestParseAmountAgainstRational(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,15}(\.[0-9]{1,8})?`).Draw(t, "text")
		got, err := store.ParseAmount(text)
		exact, _ := new(big.Rat).SetString(text)
		scaled := exact.Mul(exact, big.NewRat(int64(store.Credit), 1))
		_, fraction, _ := strings.Cut(text, ".")
		if wantOK := len(fraction) <= 6 && scaled.Num().IsInt64(); wantOK != (err == nil) {
			t.Fatalf("ParseAmount(%q): error %v", text, err)
		}
		if err == nil && scaled.Cmp(big.NewRat(int64(got), 1)) != 0 {
			t.Fatalf("ParseAmount(%q) = %d", text, got)
		}
	})
}

func TestAmountJSON(t *testing.T) {
	out, err := json.Marshal(map[string]store.Amount{"a": 250_000})
	if err != nil || string(out) != `{"a":"0.25"}` {
		t.Fatalf("Marshal: %s, %v", out, err)
	}
	var in struct{ A store.Amount }
	if err := json.Unmarshal([]byte(`{"A":"12.5"}`), &in); err != nil || in.A != 12_500_000 {
		t.Errorf("Unmarshal: %v, %v", in, err)
	}
	for _, bad := range []string{`{"A":0.1}`, `{"A":"0.1x"}`} {
		if err := json.Unmarshal([]byte(bad), &in); err == nil {
			t.Errorf("Unmarshal(%s) took it", bad)
		}
	}
}
