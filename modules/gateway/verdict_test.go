package gateway

import (
	"slices"
	"strings"
	"testing"
)

func TestVerdict(t *testing.T) {
	t.Run("fail/nobody filled it in", func(t *testing.T) {
		for name, v := range map[string]*Verdict{"nil": nil, "zero": {}, "absent": VerdictFrom(t.Context())} {
			if v.Authenticated() || v.Allows("maps", false) || v.Unavailable() {
				t.Errorf("%s verdict: authenticated %v, allows %v, unavailable %v", name, v.Authenticated(), v.Allows("maps", false), v.Unavailable())
			}
		}
	})
	t.Run("fail/every reason but ok refuses", func(t *testing.T) {
		words := make(map[string]bool)
		for reason := ReasonRefused; reason <= ReasonUnavailable; reason++ {
			v := &Verdict{Reason: reason}
			if v.Authenticated() != (reason == ReasonOK) || v.Allows("maps", false) != (reason == ReasonOK) {
				t.Errorf("%v: authenticated %v, allows %v", reason, v.Authenticated(), v.Allows("maps", false))
			}
			if v.Unavailable() != (reason == ReasonUnavailable) {
				t.Errorf("%v: unavailable %v", reason, v.Unavailable())
			}
			if words[reason.String()] {
				t.Errorf("two reasons are called %q", reason)
			}
			words[reason.String()] = true
		}
	})
	t.Run("fail/Refuse never lets in", func(t *testing.T) {
		for reason := range Reason(255) {
			v := Refuse(reason)
			if v.Authenticated() {
				t.Errorf("Refuse(%v) lets in", reason)
			}
			if want := reason; reason != ReasonOK && reason <= ReasonUnavailable && v.Reason != want {
				t.Errorf("Refuse(%v) has reason %v", reason, v.Reason)
			}
		}
	})
	t.Run("ok/travels in the context", func(t *testing.T) {
		v := &Verdict{Reason: ReasonOK, Account: "acme"}
		if got := VerdictFrom(WithVerdict(t.Context(), v)); got != v {
			t.Errorf("got %+v", got)
		}
	})
}

func TestScopes(t *testing.T) {
	tests := []struct {
		name  string
		raw   []string
		can   string // area or area:write
		not   string
		error string
	}{
		{name: "ok/none is all", can: "accounting:write maps telematics fuel maintenance:write"},
		{name: "ok/area", raw: []string{"maps"}, can: "maps maps:write", not: "fuel accounting"},
		{name: "ok/read", raw: []string{"accounting:read"}, can: "accounting", not: "accounting:write maps"},
		{name: "ok/read and area", raw: []string{"accounting:read", "accounting"}, can: "accounting accounting:write"},
		{name: "ok/several", raw: []string{"maps", "fuel:read"}, can: "maps:write fuel", not: "fuel:write telematics"},
		{name: "ok/no prefix matches", raw: []string{"maps:read"}, can: "maps", not: "map mapsx m"},
		{name: "fail/unknown area", raw: []string{"billing"}, error: `unknown scope "billing"`},
		{name: "fail/empty", raw: []string{""}, error: `unknown scope ""`},
		{name: "fail/write is no suffix", raw: []string{"maps:write"}, error: "unknown scope"},
		{name: "fail/read alone", raw: []string{":read"}, error: "unknown scope"},
		{name: "fail/read twice", raw: []string{"maps:read:read"}, error: "unknown scope"},
		{name: "fail/case", raw: []string{"Maps"}, error: "unknown scope"},
		{name: "fail/list in one", raw: []string{"maps,fuel"}, error: "use one of accounting, maps, telematics, fuel, maintenance"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			scopes, err := ParseScopes(tt.raw)
			if tt.error != "" {
				if err == nil || !strings.Contains(err.Error(), tt.error) || scopes != nil {
					t.Errorf("ParseScopes(%q) = %v, %v, want an error with %q", tt.raw, scopes, err, tt.error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for want, list := range map[bool]string{true: tt.can, false: tt.not} {
				for call := range strings.FieldsSeq(list) {
					area, write := strings.CutSuffix(call, ":write")
					if got := scopes.Allows(area, write); got != want {
						t.Errorf("%v.Allows(%q, %v) = %v", scopes, area, write, got)
					}
				}
			}
		})
	}
	t.Run("ok/sorted and once", func(t *testing.T) {
		scopes, err := ParseScopes([]string{"maps", "fuel", "maps"})
		if err != nil || !slices.Equal(scopes, Scopes{"fuel", "maps"}) {
			t.Errorf("%v, %v", scopes, err)
		}
	})
}
