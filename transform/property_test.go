package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/transform"
)

// generator draws JSON texts with the given member names and scalars, spelled with
// escapes and white space now and then.
type generator struct {
	*rapid.T
	names   []string
	scalars []string
}

func (g generator) space() string {
	return rapid.SampledFrom([]string{"", "", "", "", " ", "\n\t"}).Draw(g.T, "space")
}

func (g generator) name() string {
	name := rapid.SampledFrom(g.names).Draw(g.T, "name")
	if name == "" || rapid.IntRange(0, 7).Draw(g.T, "escape") > 0 {
		return `"` + name + `"`
	}
	return fmt.Sprintf(`"\u%04x%s"`, name[0], name[1:])
}

func (g generator) object(depth int) string {
	return g.container("{", "}", func() string { return g.name() + g.space() + ":" + g.space() + g.value(depth) })
}

// array draws an array of objects, mostly.
func (g generator) array(depth int) string {
	return g.container("[", "]", func() string {
		if rapid.IntRange(0, 39).Draw(g.T, "other") == 0 {
			return g.value(depth)
		}
		return g.object(depth)
	})
}

func (g generator) container(open, closing string, element func() string) string {
	var elements []string
	for range rapid.IntRange(0, 4).Draw(g.T, "length") {
		elements = append(elements, g.space()+element()+g.space())
	}
	return open + strings.Join(elements, ",") + closing
}

func (g generator) value(depth int) string {
	switch kind := rapid.IntRange(0, 9).Draw(g.T, "kind"); {
	case depth > 0 && kind < 2:
		return g.object(depth - 1)
	case depth > 0 && kind < 4:
		return g.array(depth - 1)
	default:
		return rapid.SampledFrom(g.scalars).Draw(g.T, "scalar")
	}
}

func TestEnrichEventsProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g := generator{
			r,
			[]string{"t", "s", "v", "d1", "d2", "u1", "type", "coaching_status", "vehicle", "eventDate", "lastUpdatedDate", "x", ""},
			[]string{`1`, `2`, `"1"`, `"A"`, `"\u0041"`, `7`, `1.0`, `null`, `true`, `""`, `"2026-08-09T00:00:00Z"`, noVehicle, `"x\"y"`},
		}
		checkEnriched(t, []byte(g.space()+g.array(2)+g.space()), smallJoin())
	})
}

func TestNormalizeOrdersProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g := generator{r, append([]string{"x", ""}, orderMembers...), []string{`1`, `"1"`, `"\u0031"`, `1e3`, `null`, `false`, `""`, `"é"`}}
		checkNormalized(t, [][]byte{[]byte(g.array(1)), []byte(g.array(1))})
	})
}

func TestUnwrapFuelReportProperty(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		g := generator{
			r,
			[]string{
				"report", "transactions", "transaction", "subTransactions", "subTransaction", "products", "product", "s", "",
				"startCode", "station", "transactionCount", "carrierCount", "truckStopCount",
			},
			[]string{`1`, `"1"`, `"A"`, `null`, `true`, `""`, `0.00`},
		}
		body := []byte(g.object(5))
		if transform.ValidateUnique(body) != nil {
			r.Skip("a decoded object knows nothing of members that come twice")
		}
		checkUnwrapped(t, body)
	})
}
