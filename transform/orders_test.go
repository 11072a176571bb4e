package transform_test

import (
	"reflect"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/transform"
)

func TestNormalizeOrders(t *testing.T) {
	const rest = `,"unit_number":"","vin":"","vendor_name":"","status":"","grand_total":"","date_created":""}`
	tests := []struct {
		name   string
		arrays []string
		want   string
		count  int
	}{
		{"no arrays", nil, `[]`, 0},
		{"empty arrays", []string{`[]`, ` [ ]`}, `[]`, 0},
		{"empty order", []string{`[{}]`}, `[{"id":""` + rest + `]`, 1},
		{
			"all members, in the contract's order",
			[]string{`[{"date_created":"9/1/2026 9:30:00 AM","x":{"id":"inner"},"grand_total":"205.00","status":"Paid","vendor_name":"S","vin":"V","unit_number":"U","id":"1"}]`},
			`[{"id":"1","unit_number":"U","vin":"V","vendor_name":"S","status":"Paid","grand_total":"205.00","date_created":"9/1/2026 9:30:00 AM"}]`, 1,
		},
		{
			"spelling kept",
			[]string{"[ { \"id\" : \"\\u0031\\/\" , \"vendor_name\":\"é\\u00e9\\\"\" , \"grand_total\" : 1204.50 , \"unit_number\":1e3, \"vin\":-0.0 } ]"},
			`[{"id":"\u0031\/","unit_number":"1e3","vin":"-0.0","vendor_name":"é\u00e9\"","status":"","grand_total":"1204.50","date_created":""}]`, 1,
		},
		{
			"a number too big for a float",
			[]string{`[{"id":9007199254740993,"grand_total":12345678901234567890.123456789}]`},
			`[{"id":"9007199254740993","unit_number":"","vin":"","vendor_name":"","status":"","grand_total":"12345678901234567890.123456789","date_created":""}]`, 1,
		},
		{
			"values of the wrong kind",
			[]string{`[{"id":true,"unit_number":false,"vin":null,"vendor_name":{"name":"x"},"status":["Paid"]}]`},
			`[{"id":"true","unit_number":"false","vin":"","vendor_name":"","status":"","grand_total":"","date_created":""}]`, 1,
		},
		{"names with escapes", []string{`[{"\u0069d":"1"}]`}, `[{"id":"1"` + rest + `]`, 1},
		{"the last of several counts", []string{`[{"id":"1","id":"2"}]`}, `[{"id":"2"` + rest + `]`, 1},
		{
			"the first of an id is kept",
			[]string{`[{"id":"1","vin":"A"},{"id":"2"},{"id":"1","vin":"B"}]`, `[{"id":2,"vin":"C"},{"id":"\u0031"},{"id":"3"}]`},
			`[{"id":"1","unit_number":"","vin":"A","vendor_name":"","status":"","grand_total":"","date_created":""},{"id":"2"` + rest + `,{"id":"3"` + rest + `]`, 3,
		},
		{
			"without an id all are kept",
			[]string{`[{"id":""},{"id":null}]`, `[{},{"id":[1]},{"id":""}]`},
			`[{"id":""` + rest + `,{"id":""` + rest + `,{"id":""` + rest + `,{"id":""` + rest + `,{"id":""` + rest + `]`, 5,
		},
	}
	for _, tt := range tests {
		t.Run("ok/"+tt.name, func(t *testing.T) {
			dst, count, err := transform.NormalizeOrders([]byte(dstPrefix), bodies(tt.arrays...))
			if err != nil {
				t.Fatal(err)
			}
			if got := appended(t, dst, nil); string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if count != tt.count {
				t.Errorf("got %d orders, want %d", count, tt.count)
			}
			checkNormalized(t, bodies(tt.arrays...))
		})
	}
}

func TestNormalizeOrdersFails(t *testing.T) {
	for name, arrays := range map[string][]string{
		"empty body":          {``},
		"provider's object":   {`{"repair_orders":[]}`},
		"order is no object":  {`[{"id":"1"},"2"]`},
		"order is null":       {`[null]`},
		"second array broken": {`[{"id":"1"}]`, `[{"id":"2"]`},
	} {
		t.Run("fail/"+name, func(t *testing.T) {
			dst, count, err := transform.NormalizeOrders([]byte(dstPrefix), bodies(arrays...))
			if err == nil || count != 0 {
				t.Fatalf("got %d, %v", count, err)
			}
			appended(t, dst, err)
		})
	}
}

func TestNormalizeOrdersGolden(t *testing.T) {
	arrays := [][]byte{
		member(upstream(t, "fleetrock/repair_orders_august.json"), "repair_orders"),
		member(upstream(t, "fleetrock/repair_orders_september.json"), "repair_orders"),
	}
	dst, count, err := transform.NormalizeOrders([]byte(dstPrefix), arrays)
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "repair_orders.json", appended(t, dst, nil))
	if count != 4 {
		t.Errorf("got %d orders, want 4", count)
	}
	checkNormalized(t, arrays)
}

func TestNormalizeOrdersRecorded(t *testing.T) {
	body := member(recording(t, "fleetrock/getro_200.json"), "repair_orders")
	dst, count, err := transform.NormalizeOrders([]byte(dstPrefix), [][]byte{body, body})
	if err != nil {
		t.Fatal(err)
	}
	if want := int(gjson.GetBytes(body, "#").Int()); count != want {
		t.Errorf("got %d orders, want %d", count, want)
	}
	for i, order := range gjson.ParseBytes(appended(t, dst, nil)).Array() {
		for _, name := range orderMembers {
			if got, want := order.Get(name), gjson.GetBytes(body, "@this").Array()[i].Get(name); got.Raw != want.Raw {
				t.Errorf("order %d: %s is %s, want %s", i, name, got.Raw, want.Raw)
			}
		}
	}
	checkNormalized(t, [][]byte{body})
}

// orderMembers are the members of contract 2.5.
var orderMembers = []string{"id", "unit_number", "vin", "vendor_name", "status", "grand_total", "date_created"}

// checkNormalized compares NormalizeOrders with an implementation that is slow and
// plain.
func checkNormalized(tb testing.TB, arrays [][]byte) {
	tb.Helper()
	want, seen, ok := []any{}, map[string]bool{}, true
	for _, array := range arrays {
		orders, isValid := objects(tb, array)
		ok = ok && isValid
		for _, order := range orders {
			id := asText(order["id"])
			if id != "" && seen[id] {
				continue
			}
			seen[id] = true
			normalized := map[string]any{}
			for _, name := range orderMembers {
				normalized[name] = asText(order[name])
			}
			want = append(want, normalized)
		}
	}
	dst, count, err := transform.NormalizeOrders([]byte(dstPrefix), arrays)
	got := appended(tb, dst, err)
	if (err == nil) != ok {
		tb.Fatalf("got %v for %.2000q", err, arrays)
	}
	if err != nil {
		return
	}
	if v := decode(tb, got); !reflect.DeepEqual(v, want) || count != len(want) {
		tb.Fatalf("got  %v\nwant %v\nfor %.2000q", v, want, arrays)
	}
}
