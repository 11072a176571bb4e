package transform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/transform"
)

func TestAppendMappedRows(t *testing.T) {
	for _, w := range writeCases {
		for _, body := range [][]byte{w.body(t, false), w.body(t, true)} {
			t.Run("ok/"+w.name, func(t *testing.T) {
				dst, err := transform.AppendMapped([]byte(dstPrefix), body, w.targets)
				w.checkMapped(t, body, appended(t, dst, err))
			})
		}
		all := w.body(t, true)
		for _, r := range w.rows {
			if r.kind == "lines" || r.kind == "object" || w.presence(r) != "optional" {
				continue
			}
			t.Run("ok/null/"+w.name+"/"+r.path, func(t *testing.T) {
				body := setRaw(t, all, r.path, `null`)
				dst, err := transform.AppendMapped([]byte(dstPrefix), body, w.targets)
				w.checkMapped(t, body, appended(t, dst, err))
			})
			for _, value := range kinds[r.kind].good {
				t.Run("ok/"+w.name+"/"+r.path+"/"+value, func(t *testing.T) {
					body := setRaw(t, all, r.path, value)
					dst, err := transform.AppendMapped([]byte(dstPrefix), body, w.targets)
					w.checkMapped(t, body, appended(t, dst, err))
				})
			}
		}
	}
}

func TestAppendMappedPurchase(t *testing.T) {
	const body = `{
		"lines": [
			{
				"account_detail": {
					"project": {"value": "39298034", "name": null},
					"tax_amount": null,
					"markup_info": {"price_level": {"value": null}, "percent": 10.00, "mark_up_income_account": null},
					"class": {"id": null, "name": null},
					"customer": {},
					"account": {"id": "13", "name": "Meals \u0026 \"more\""}
				},
				"amount": 12.340, "detail_type": "AccountBasedExpenseLineDetail", "id": "1", "line_num": 1
			},
			{"detail_type": "AccountBasedExpenseLineDetail", "amount": -0.50, "account_detail": {"account": {"name": "Fuel", "id": "7"}}}
		],
		"credit": true, "currency": {"name": null, "value": "USD"}, "account": {"id": "42", "name": "Visa"},
		"payment_type": "CreditCard", "txn_date": "2026-08-31", "total_amount": 11.840, "sync_token": "0", "id": "252"
	}`
	const want = `{"Id":"252","SyncToken":"0","sparse":true,"Credit":true,"TotalAmt":11.840,"TxnDate":"2026-08-31","PaymentType":"CreditCard",` +
		`"AccountRef":{"value":"42","name":"Visa"},"CurrencyRef":{"value":"USD"},"Line":[` +
		`{"Id":"1","LineNum":1,"Amount":12.340,"DetailType":"AccountBasedExpenseLineDetail","ProjectRef":{"value":"39298034"},` +
		`"AccountBasedExpenseLineDetail":{"AccountRef":{"value":"13","name":"Meals \u0026 \"more\""},"MarkupInfo":{"Percent":10.00}}},` +
		`{"Amount":-0.50,"DetailType":"AccountBasedExpenseLineDetail","AccountBasedExpenseLineDetail":{"AccountRef":{"value":"7","name":"Fuel"}}}]}`
	expect(t, []byte(body), check(t, []byte(body), purchaseFields, modify))
	dst, err := transform.AppendMapped([]byte(dstPrefix), []byte(body), purchaseTargets)
	if got := appended(t, dst, err); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// mappedTargets have what the accounting tables have not: constants within objects and
// elements, arrays in arrays, a source that is both copied and taken apart.
var mappedTargets = []transform.Target{
	{Name: "A", From: "a"},
	{Name: `"q"`, From: "o.x"},
	{Name: "O", From: "o"},
	{Name: "W", Members: []transform.Target{{Name: "k", Constant: `[1]`}, {Name: "V", Members: []transform.Target{{Name: "Y", From: "o.y.z"}}}}},
	{Name: "L", From: "p.l", Elements: []transform.Target{
		{Name: "c", Constant: `"c"`},
		{Name: "B", From: "b"},
		{Name: "M", From: "m", Elements: []transform.Target{{Name: "N", From: "n.n"}, {Name: "B", From: "b"}}},
		{Name: "D", From: "d"},
	}},
}

func TestAppendMapped(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"nothing", `{}`, `{}`},
		{"nothing known", `{"z":1,"A":2,"":3,"o.x":4}`, `{}`},
		{"nulls", `{"a":null,"o":null,"p":{"l":null}}`, `{}`},
		{"spelling kept", `{"a": [ 1.0, "\u0061\/" , {"b" :1e+5} ] }`, `{"A":[ 1.0, "\u0061\/" , {"b" :1e+5} ]}`},
		{"false, zero and empty are not null", `{"a":false,"o":{"x":0,"y":{"z":""}}}`, `{"A":false,"\"q\"":0,"O":{"x":0,"y":{"z":""}},"W":{"k":[1],"V":{"Y":""}}}`},
		{"copied and taken apart", `{"o":{"x":1,"w":2}}`, `{"\"q\"":1,"O":{"x":1,"w":2}}`},
		{"nothing but a constant is no object", `{"o":{"y":{"z":null}}}`, `{"O":{"y":{"z":null}}}`},
		{"names with escapes", `{"\u0061":1,"\u006f":{"\u0078":2}}`, `{"A":1,"\"q\"":2,"O":{"\u0078":2}}`},
		{"empty array", `{"p":{"l":[]}}`, `{"L":[]}`},
		{"elements without content", `{"p":{"l":[null,{},{"b":null},{"b":1},{"m":null},{"x":1}]}}`, `{"L":[{"c":"c","B":1}]}`},
		{
			"arrays in arrays", ` { "p" : { "l" : [ {"m":[{"n":{"n":1}},{"n":null},{"b":2}],"b":3} , {"d":{},"m":[]} , {"m":[null,{"n":{"n":4}}]} ] } } `,
			`{"L":[{"c":"c","B":3,"M":[{"N":1},{"B":2}]},{"c":"c","M":[],"D":{}},{"c":"c","M":[{"N":4}]}]}`,
		},
		{"the last of the same name", `{"a":1,"a":2,"p":{"l":[{"b":1},{"b":2,"b":null,"d":3}]}}`, `{"A":2,"L":[{"c":"c","B":1},{"c":"c","D":3}]}`},
		{"the last object of the same name", `{"o":{"x":1},"o":{"y":{"z":2}},"p":{"l":[]},"p":null}`, `{"O":{"y":{"z":2}},"W":{"k":[1],"V":{"Y":2}}}`},
	}
	for _, tt := range tests {
		t.Run("ok/"+tt.name, func(t *testing.T) {
			dst, err := transform.AppendMapped([]byte(dstPrefix), []byte(tt.body), mappedTargets)
			if got := appended(t, dst, err); string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	t.Run("ok/no targets", func(t *testing.T) {
		dst, err := transform.AppendMapped([]byte(dstPrefix), []byte(`{"a":1}`), nil)
		if got := appended(t, dst, err); string(got) != `{}` {
			t.Errorf("got %s", got)
		}
	})
	t.Run("ok/only constants", func(t *testing.T) {
		dst, err := transform.AppendMapped([]byte(dstPrefix), []byte(`{}`), []transform.Target{{Name: "sparse", Constant: "true"}, {Name: "n", Constant: "0"}})
		if got := appended(t, dst, err); string(got) != `{"sparse":true,"n":0}` {
			t.Errorf("got %s", got)
		}
	})
}

func TestAppendMappedErrors(t *testing.T) {
	tests := []struct {
		name, body, reason string
		offset             int
	}{
		{"empty", ``, "not an object", 0},
		{"null", `null`, "not an object", 0},
		{"array", `[{}]`, "not an object", 0},
		{"text behind", `{} {}`, "text after the document", 3},
		{"not an object on the way", `{"a":1,"o":"x"}`, "not an object", 11},
		{"not an object further on the way", `{"o":{"y":[]}}`, "not an object", 10},
		{"not an array", `{"p":{"l":{}}}`, "not an array", 10},
		{"not an object in an array", `{"p":{"l":[{}, "a"]}}`, "not an object", 15},
		{"not an array in an array", `{"p":{"l":[{"m":1}]}}`, "not an array", 16},
		{"not an object in an array in an array", `{"p":{"l":[{"m":[{"n":[]}]},{"m":1}]}}`, "not an object", 22},
	}
	for _, tt := range tests {
		t.Run("fail/"+tt.name, func(t *testing.T) {
			dst, err := transform.AppendMapped([]byte(dstPrefix), []byte(tt.body), mappedTargets)
			appended(t, dst, err)
			checkSyntaxError(t, err, tt.reason, tt.offset)
		})
	}
	for _, d := range documents {
		if d.reason == "" {
			continue
		}
		t.Run("fail/grammar/"+d.name, func(t *testing.T) {
			dst, err := transform.AppendMapped([]byte(dstPrefix), []byte(`{"z":[`+d.body+`,]}`), mappedTargets)
			if err == nil {
				t.Fatal("no error")
			}
			appended(t, dst, err)
		})
	}
}

func TestAppendMappedTruncated(t *testing.T) {
	body := bigPurchase(t, 2)
	for n := range body {
		dst, err := transform.AppendMapped([]byte(dstPrefix), body[:n], purchaseTargets)
		if err == nil {
			t.Fatalf("cut at %d: no error", n)
		}
		appended(t, dst, err)
		if problems, err := transform.CheckInput(body[:n], purchaseFields, modify); err == nil || problems != nil {
			t.Fatalf("cut at %d: got problems %v, %v", n, problems, err)
		}
	}
}

func TestAppendMappedManyLines(t *testing.T) {
	const lines = 10_000
	body := bigPurchase(t, lines)
	dst, err := transform.AppendMapped([]byte(dstPrefix), body, purchaseTargets)
	got := gjson.GetBytes(appended(t, dst, err), "Line").Array()
	if len(got) != lines {
		t.Fatalf("got %d lines", len(got))
	}
	for i, line := range got {
		if want := fmt.Sprintf(`"%d"`, i+1); line.Get("Id").Raw != want || line.Get("Amount").Raw != "12.340" {
			t.Fatalf("got line %s at %d", line.Raw, i)
		}
	}
}

// TestAppendMappedProperty draws inputs that the tables allow, and checks that each of
// their values arrives, in its place and as it was spelled.
func TestAppendMappedProperty(t *testing.T) {
	for _, w := range writeCases {
		t.Run("ok/"+w.name, func(t *testing.T) {
			rapid.Check(t, func(r *rapid.T) {
				in := inputGenerator{generator{T: r}, w}
				body := []byte(in.object(w.fields, "", true))
				problems, err := transform.CheckInput(body, w.fields, w.op)
				if problems != nil || err != nil {
					t.Fatalf("got %v, %v for %s", problems, err, body)
				}
				dst, err := transform.AppendMapped([]byte(dstPrefix), body, w.targets)
				w.checkMapped(t, body, appended(t, dst, err))
			})
		})
	}
}

// inputGenerator draws inputs that are accepted.
type inputGenerator struct {
	generator
	input writeCase
}

// object draws an object with its members in any order. full is whether it may not be
// left without those that are required.
func (g inputGenerator) object(fields []transform.Field, path string, full bool) string {
	var members []string
	for _, f := range fields {
		presence := rapid.IntRange(0, 3).Draw(g.T, "presence")
		known := f.Only == 0 || f.Only&g.input.op != 0
		needed := full && f.Required&g.input.op != 0
		var value string
		switch {
		case !needed && presence == 0:
			continue
		case !needed && presence == 1 || !known:
			value = "null"
		case f.Type == transform.TypeObject:
			value = g.object(f.Fields, path+f.Name+".", needed || presence > 1)
		case f.Type == transform.TypeArray:
			var elements []string
			for range rapid.IntRange(1, 3).Draw(g.T, "lines") {
				elements = append(elements, g.space()+g.object(f.Fields, path+f.Name+"[0].", true)+g.space())
			}
			value = "[" + strings.Join(elements, ",") + "]"
		default:
			i := slices.IndexFunc(g.input.rows, func(r inputRow) bool { return r.path == path+f.Name })
			if i < 0 {
				g.Fatalf("no row for %s", path+f.Name)
			}
			value = rapid.SampledFrom(kinds[g.input.rows[i].kind].good).Draw(g.T, "value")
		}
		g.names = []string{f.Name}
		members = append(members, g.space()+g.name()+g.space()+":"+g.space()+value+g.space())
	}
	if len(members) > 0 {
		members = rapid.Permutation(members).Draw(g.T, "members")
	}
	return "{" + strings.Join(members, ",") + "}"
}

func FuzzAppendMapped(f *testing.F) {
	addSeeds(f, "")
	f.Add([]byte(`{"a":1,"o":{"x":1,"y":{"z":2}},"p":{"l":[null,{"b":1,"m":[{"n":{"n":1}}]},{"d":{}}]}}`))
	f.Add([]byte(`{"o":null,"o":{"\u0078":1},"p":{"l":[]},"p":{"l":{}},"p":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		dst, err := transform.AppendMapped([]byte(dstPrefix), body, mappedTargets)
		got := appended(t, dst, err)
		if err == nil && !valid(body) {
			t.Fatal("not valid, and no error")
		}
		if err != nil || transform.ValidateUnique(body) != nil {
			return
		}
		for source, target := range map[string]string{"a": "A", "o": "O", "o.x": `"q"`, "o.y.z": "W.V.Y"} {
			want, has := gjson.GetBytes(body, source), gjson.GetBytes(got, target)
			if want.Type == gjson.Null {
				want.Raw = ""
			}
			if has.Raw != want.Raw {
				t.Errorf("%s is %s, want %s", target, has.Raw, want.Raw)
			}
		}
	})
}
