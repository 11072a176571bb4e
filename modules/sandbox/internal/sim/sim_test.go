package sim

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"
)

func TestDecimal(t *testing.T) {
	for _, tc := range []struct {
		units    int64
		decimals int
		want     string
	}{
		{0, 2, "0.00"},
		{5, 2, "0.05"},
		{-5, 2, "-0.05"},
		{205, 2, "2.05"},
		{-3954, 2, "-39.54"},
		{123922, 3, "123.922"},
		{1042, 3, "1.042"},
		{10000, 4, "1.0000"},
		{7, 0, "7"},
		{30740800, 6, "30.740800"},
	} {
		t.Run("ok/"+tc.want, func(t *testing.T) {
			if got := Decimal(tc.units, tc.decimals); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	const text = "a\"b\\c\x00\n\u007f≥"
	var j JSON
	j.Open('{')
	j.Text("text", text)
	j.Int("int", -3)
	j.Bool("bool", true)
	j.Raw("raw", "1.50")
	j.Fixed("fixed", 150, 2)
	j.Object("object")
	j.Close('}')
	j.Array("array")
	j.Element([]byte("1"))
	j.TextElement("x")
	j.Open('[')
	j.Close(']')
	j.Close(']')
	j.Close('}')
	if want := `{"text":"a\"b\\c\u0000\u000a` + "\u007f≥" + `","int":-3,"bool":true,"raw":1.50,"fixed":1.50,"object":{},"array":[1,"x",[]]}`; string(j) != want {
		t.Errorf("%s\nwant %s", j, want)
	}
	var v struct{ Text string }
	if err := json.Unmarshal(j, &v); err != nil || v.Text != text {
		t.Errorf("read back %q, %v", v.Text, err)
	}
}

func TestSessions(t *testing.T) {
	now := time.Date(2026, 9, 30, 0, 0, 0, 0, time.UTC)
	s := NewSessions[string](Options{SessionTTL: time.Minute, Now: func() time.Time { return now }})
	s.Open("a", "ada")
	if v, ok := s.Get("a"); !ok || v != "ada" {
		t.Errorf("%q, %v", v, ok)
	}
	now = now.Add(time.Minute)
	if v, ok := s.Get("a"); ok || v != "" {
		t.Errorf("expired session %q", v)
	}
	s.Open("b", "bob")
	if len(s.open) != 1 {
		t.Errorf("%d sessions are kept, want the new one", len(s.open))
	}
	s.Drop("b")
	if _, ok := s.Get("b"); ok {
		t.Error("dropped session")
	}
	for i := range maxSessions + 10 {
		s.Open(strconv.Itoa(i), "")
	}
	if len(s.open) != maxSessions {
		t.Errorf("%d sessions", len(s.open))
	}
}

func TestOffset(t *testing.T) {
	for _, tc := range []struct {
		page, size int
		fault      Fault
		want       int
	}{
		{1, 50, None, 0},
		{3, 50, None, 100},
		{1, 50, Shift, 0},
		{3, 50, Shift, 90},
		{3, 2, Shift, 2},
		{3, 1, Shift, 2},
		{1<<31 - 1, 1000, None, 1<<31 - 1},
	} {
		t.Run(fmt.Sprintf("ok/page %d of %d %s", tc.page, tc.size, tc.fault), func(t *testing.T) {
			if got := Offset(tc.page, tc.size, tc.fault); got != tc.want {
				t.Errorf("%d, want %d", got, tc.want)
			}
		})
	}
}

func TestParseQuery(t *testing.T) {
	q := ParseQuery("ID=1&id=2&Page=3&bad=%zz&a;b=1")
	if q.Get("id") != "1" || len(q["id"]) != 2 || q.Get("page") != "3" || q.Get("bad") != "" || q.Get("absent") != "" {
		t.Errorf("%v", q)
	}
}

func TestDaily(t *testing.T) {
	var mu sync.Mutex
	now := time.Date(2026, 9, 30, 23, 59, 59, 0, time.FixedZone("", 3600))
	built := 0
	d := NewDaily(func() time.Time { mu.Lock(); defer mu.Unlock(); return now }, func(midnight time.Time) string {
		built++
		return midnight.Format(time.RFC3339)
	})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := d.Get(); got != "2026-09-30T00:00:00Z" {
				t.Errorf("midnight %s", got)
			}
		})
	}
	wg.Wait()
	mu.Lock()
	now = now.Add(61 * time.Minute)
	mu.Unlock()
	if got := d.Get(); got != "2026-10-01T00:00:00Z" || built != 2 {
		t.Errorf("midnight %s, built %d times", got, built)
	}
}

func TestRand(t *testing.T) {
	guid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	vin := regexp.MustCompile(`^54DC4W1B[A-HJ-NPR-Z0-9]{3}[0-9]{6}$`)
	a, b, other := NewRand(1, "x"), NewRand(1, "x"), NewRand(1, "y")
	first, same, different := a.GUID(), b.GUID(), other.GUID()
	if first != same || first == different || !guid.MatchString(first) {
		t.Errorf("%s, %s, %s", first, same, different)
	}
	for range 1000 {
		if n := a.Int(-3, 3); n < -3 || n > 3 {
			t.Fatal(n)
		}
		if d := a.Duration(time.Second, 2*time.Second); d < time.Second || d > 2*time.Second || d%100 != 0 {
			t.Fatal(d)
		}
		if v := a.VIN("54DC4W1B"); !vin.MatchString(v) {
			t.Fatal(v)
		}
	}
}
