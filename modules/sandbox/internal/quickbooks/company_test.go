package quickbooks

import (
	"strconv"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

func TestCompaniesAreForgotten(t *testing.T) {
	empty := &dataset{records: make(map[*kind][]*record)}
	cs := newCompanies(sim.Options{Throttle: 10}, func() *dataset { return empty })
	first, second := cs.get("0"), cs.get("1")
	for i := 2; i < maxCompanies; i++ {
		cs.get(strconv.Itoa(i))
	}
	if cs.get("0") != first {
		t.Error("a company was forgotten too early")
	}
	cs.get("one more") // in the place of 1, which was not used since
	if cs.get("0") != first || cs.get("1") == second || len(cs.known) != maxCompanies || cs.used.Len() != maxCompanies {
		t.Errorf("%d companies", len(cs.known))
	}
}

func TestRequestsAreForgotten(t *testing.T) {
	c := newCompanies(sim.Options{Throttle: 10}, func() *dataset { return &dataset{} }).get("1")
	done := 0
	do := func(id int) (replay bool) {
		a := sim.NewAnswer()
		w := &write{kind: vendors, body: []byte("{}")}
		if f := c.once(strconv.Itoa(id), w, a, func() *fault { done++; return nil }); f != nil {
			t.Fatal(f.detail)
		}
		return a.Replay
	}
	for id := range maxRequests {
		do(id)
	}
	if !do(0) || done != maxRequests {
		t.Errorf("%d writes, and the first is forgotten too early", done)
	}
	do(maxRequests)
	if do(0) || !do(maxRequests) || len(c.requests) != maxRequests || len(c.order) != maxRequests {
		t.Errorf("%d requests are remembered", len(c.requests))
	}
}

func TestSum(t *testing.T) {
	for want, numbers := range map[string][]string{
		"0":                   nil,
		"10.0":                {"10.0"},
		"739.00":              {"700", "39.00"},
		"0.30":                {"0.1", "0.20"},
		"-1":                  {"2", "-3"},
		"0.0":                 {"-0.0"},
		"1999999999999998.99": {"999999999999999", "999999999999999.9", "0.09"},
	} {
		t.Run("ok/"+want, func(t *testing.T) {
			var s sum
			for _, n := range numbers {
				s.add(n)
			}
			if got := s.String(); got != want {
				t.Errorf("%s", got)
			}
		})
	}
}

func TestIsDecimal(t *testing.T) {
	for _, text := range []string{"0", "-0", "10.50", "-123456789012.345", "123456789012345"} {
		t.Run("ok/"+text, func(t *testing.T) {
			if !isDecimal(text) {
				t.Error("refused")
			}
		})
	}
	for _, text := range []string{"", "-", "01", ".5", "5.", "1e3", "+1", "NaN", "1234567890123456", "1.234567890123456", "1 ", "--1"} {
		t.Run("fail/"+text, func(t *testing.T) {
			if isDecimal(text) {
				t.Error("accepted")
			}
		})
	}
}

func TestLike(t *testing.T) {
	for _, tc := range []struct {
		text, pattern string
		want          bool
	}{
		{"abc", "abc", true},
		{"abc", "%", true},
		{"", "%", true},
		{"", "", true},
		{"abc", "", false},
		{"abc", "a%", true},
		{"abc", "%c", true},
		{"abc", "a%c", true},
		{"abc", "%b%", true},
		{"abcabc", "a%ca%c", true},
		{"aa", "a%a%a", false},
		{"a", "a%a", false},
		{"abc", "b%", false},
		{"abc", "%c%b%", false},
		{"a_c", "a_c", true},
		{"abc", "a_c", false},
	} {
		t.Run("ok/"+tc.text+" "+tc.pattern, func(t *testing.T) {
			if got := like(tc.text, tc.pattern); got != tc.want {
				t.Error(got)
			}
		})
	}
}

func TestMask(t *testing.T) {
	for id, want := range map[string]string{"": "XXXXXX", "12": "XXXXXX", "1234": "XXXXXX", "123456": "XXXXXX56", "12-3456789": "XXXXXX6789", "№№№№ab": "XXXXXXab"} {
		t.Run("ok/"+id, func(t *testing.T) {
			if got := mask(id); got != want {
				t.Error(got)
			}
		})
	}
}

// FuzzWrite checks that no body makes the simulator panic or spell what is not JSON.
func FuzzWrite(f *testing.F) {
	for _, seed := range []string{
		`{"PaymentType":"Cash","AccountRef":{"value":"35"},"Line":[{"Amount":1.50,"DetailType":"AccountBasedExpenseLineDetail","AccountBasedExpenseLineDetail":{"AccountRef":{"value":"7"}}}]}`,
		`{"DisplayName":"a","BillAddr":{"City":"x"},"TaxIdentifier":"1"}`,
		`{"Id":"1","SyncToken":"0","sparse":true,"PaymentType":"Cash"}`,
		`{"Line":[null,1,{}]}`, `[]`, `{"Id":null}`, `{"TxnTaxDetail":{"a":[1,{}]}}`,
	} {
		f.Add(seed)
	}
	now := time.Date(2026, 9, 30, 0, 0, 0, 0, time.UTC)
	base := &dataset{records: map[*kind][]*record{accounts: newAccounts(sim.NewRand(1, "test"), now)}}
	f.Fuzz(func(t *testing.T, body string) {
		for _, k := range []*kind{purchases, vendors} {
			c := newCompanies(sim.Options{Throttle: 10}, func() *dataset { return base }).get("1")
			r, refused := c.save(&write{kind: k, body: []byte(body), at: now})
			if refused != nil {
				continue
			}
			if _, f := readObject(r.json); f != nil {
				t.Errorf("%q became %q", body, r.json)
			}
			again, refused := c.save(&write{kind: k, body: r.json, at: now})
			if refused != nil {
				t.Fatalf("%s is refused: %s", r.json, refused.detail)
			}
			if k == purchases && string(again.json) != string(r.json) {
				t.Errorf("%s became %s", r.json, again.json)
			}
		}
	})
}
