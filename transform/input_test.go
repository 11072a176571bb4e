package transform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/transform"
)

// check returns the messages of all problems, after making sure that each is made of its
// field.
func check(tb testing.TB, body []byte, fields []transform.Field, op transform.Op) []string {
	tb.Helper()
	problems, err := transform.CheckInput(body, fields, op)
	if err != nil {
		tb.Fatalf("%v in %.2000q", err, body)
	}
	return messages(tb, problems)
}

func messages(tb testing.TB, problems []transform.Problem) []string {
	tb.Helper()
	all := make([]string, len(problems))
	for i, p := range problems {
		rest, ok := strings.CutPrefix(p.Message, p.Field)
		if !ok || p.Field == "" || !slices.Contains([]string{" is required", " is invalid", " is unknown"}, rest) {
			tb.Errorf("got problem %+v", p)
		}
		all[i] = p.Message
	}
	return all
}

func expect(tb testing.TB, body []byte, got []string, want ...string) {
	tb.Helper()
	if !slices.Equal(got, want) {
		tb.Errorf("got %q, want %q for %.2000s", got, want, body)
	}
}

// TestCheckInputRows goes through the rows of contract 2.1, one member at a time.
func TestCheckInputRows(t *testing.T) {
	for _, w := range writeCases {
		least, all := w.body(t, false), w.body(t, true)
		t.Run("ok/"+w.name, func(t *testing.T) {
			expect(t, least, check(t, least, w.fields, w.op))
			expect(t, all, check(t, all, w.fields, w.op))
		})
		for _, r := range w.rows {
			name := w.name + "/" + r.path
			switch w.presence(r) {
			case "required":
				t.Run("fail/missing/"+name, func(t *testing.T) {
					for _, body := range [][]byte{deleted(t, all, r.path), setRaw(t, all, r.path, `null`)} {
						expect(t, body, check(t, body, w.fields, w.op), r.path+" is required")
					}
					switch r.kind {
					case "string", "digits", "date", "payment type", "detail type":
						body := setRaw(t, all, r.path, `""`)
						expect(t, body, check(t, body, w.fields, w.op), r.path+" is required")
					case "lines":
						body := setRaw(t, all, r.path, ` [ ] `)
						expect(t, body, check(t, body, w.fields, w.op), r.path+" is required")
					}
				})
			case "optional":
				t.Run("ok/missing/"+name, func(t *testing.T) {
					bodies := [][]byte{deleted(t, all, r.path), setRaw(t, all, r.path, `null`), setRaw(t, least, r.path, `null`)}
					if r.kind == "string" {
						bodies = append(bodies, setRaw(t, all, r.path, `""`))
					}
					for _, body := range bodies {
						expect(t, body, check(t, body, w.fields, w.op))
					}
				})
			default:
				t.Run("fail/unknown/"+name, func(t *testing.T) {
					for _, value := range slices.Concat(kinds[r.kind].good, kinds[r.kind].bad) {
						body := setRaw(t, all, r.path, value)
						expect(t, body, check(t, body, w.fields, w.op), r.path+" is unknown")
					}
				})
				t.Run("ok/null/"+name, func(t *testing.T) {
					body := setRaw(t, all, r.path, `null`)
					expect(t, body, check(t, body, w.fields, w.op))
				})
				continue
			}
			t.Run("ok/values/"+name, func(t *testing.T) {
				for _, value := range kinds[r.kind].good {
					body := setRaw(t, least, r.path, value)
					expect(t, body, check(t, body, w.fields, w.op))
				}
			})
			t.Run("fail/values/"+name, func(t *testing.T) {
				for _, value := range kinds[r.kind].bad {
					if value == `""` && w.presence(r) == "required" && r.kind == "string" {
						continue
					}
					body := setRaw(t, all, r.path, value)
					expect(t, body, check(t, body, w.fields, w.op), r.path+" is invalid")
				}
			})
		}
	}
}

// TestCheckInputTypes puts a value of every wrong type at every field of the tables,
// objects included.
func TestCheckInputTypes(t *testing.T) {
	wrong := map[transform.FieldType][]string{
		transform.TypeString:  {`1`, `true`, `{}`, `[]`},
		transform.TypeDate:    {`1`, `true`, `{}`, `[]`},
		transform.TypeDecimal: {`"1"`, `true`, `{}`, `[]`},
		transform.TypeInteger: {`"1"`, `true`, `{}`, `[]`},
		transform.TypeBoolean: {`"true"`, `1`, `{}`, `[]`},
		transform.TypeObject:  {`"{}"`, `1`, `true`, `[]`, `[{}]`},
		transform.TypeArray:   {`"[]"`, `1`, `true`, `{}`},
	}
	for _, w := range writeCases {
		all := w.body(t, true)
		tried := 0
		var walk func(t *testing.T, prefix string, fields []transform.Field)
		walk = func(t *testing.T, prefix string, fields []transform.Field) {
			t.Helper()
			for _, f := range fields {
				if f.Only != 0 && f.Only&w.op == 0 {
					continue
				}
				path := prefix + f.Name
				t.Run("fail/"+w.name+"/"+path, func(t *testing.T) {
					for _, value := range wrong[f.Type] {
						body := setRaw(t, all, path, value)
						expect(t, body, check(t, body, w.fields, w.op), path+" is invalid")
						tried++
					}
				})
				switch f.Type {
				case transform.TypeObject:
					walk(t, path+".", f.Fields)
				case transform.TypeArray:
					walk(t, path+"[0].", f.Fields)
				default:
				}
			}
		}
		walk(t, "", w.fields)
		if tried < 4*20 {
			t.Errorf("%s: only %d values tried", w.name, tried)
		}
	}
}

func TestCheckInput(t *testing.T) {
	const line = `{"detail_type":"AccountBasedExpenseLineDetail","amount":1,"account_detail":{"account":{"id":"7","name":"Fuel"}}}`
	purchase := func(members string) string {
		return `{"payment_type":"Cash","account":{"id":"1","name":"Bank"},"currency":{"value":"USD"}` + members + `}`
	}
	lines := func(members string) string { return purchase(`,"lines":[` + line[:len(line)-1] + members + `}]`) }
	detail := func(members string) string {
		return purchase(`,"lines":[` + line[:len(line)-2] + members + `}}]`)
	}
	tests := []struct {
		name string
		op   transform.Op
		body string
		want []string
	}{
		{"ok/white space everywhere", create, strings.NewReplacer(`:`, " :\n", `,`, "\t, ", `{`, "{ ", `}`, " } ", `[`, "[\r", `]`, " ]").Replace(purchase(`,"lines":[` + line + `]`)), nil},
		{"ok/names with escapes", create, strings.Replace(purchase(`,"lines":[`+line+`]`), `"payment_type"`, `"p\u0061yment_type"`, 1), nil},
		{"ok/members in another order", create, `{"lines":[` + line + `],"currency":{"value":"USD"},"account":{"name":"Bank","id":"1"},"payment_type":"Cash"}`, nil},
		{"ok/optional objects null", create, detail(`,"class":null,"markup_info":null,"project":null`), nil},
		{"ok/optional objects empty", create, detail(`,"class":{},"markup_info":{},"project":{}`), nil},
		{"ok/nulls in optional objects", create, detail(`,"class":{"id":null,"name":null},"markup_info":{"price_level":{"value":null},"percent":null,"mark_up_income_account":null}`), nil},
		{"ok/longest description", create, lines(`,"description":"` + strings.Repeat(`é`, 3999) + `\u00e9"`), nil},
		{"fail/too long description", create, lines(`,"description":"` + strings.Repeat(`é`, 4001) + `"`), []string{"lines[0].description is invalid"}},

		{
			"fail/empty create", create, `{}`,
			[]string{"payment_type is required", "account.id is required", "account.name is required", "currency.value is required", "lines is required"},
		},
		{
			"fail/empty update", modify, ` { } `,
			[]string{
				"id is required", "sync_token is required", "total_amount is required", "txn_date is required", "payment_type is required",
				"account.id is required", "account.name is required", "currency.value is required", "lines is required",
			},
		},
		{
			"fail/all null", create, `{"payment_type":null,"account":null,"currency":null,"lines":null}`,
			[]string{"payment_type is required", "account.id is required", "account.name is required", "currency.value is required", "lines is required"},
		},
		{
			"fail/required objects empty", create, `{"payment_type":"Cash","account":{},"currency":{"name":null},"lines":[{}]}`,
			[]string{
				"account.id is required", "account.name is required", "currency.value is required",
				"lines[0].detail_type is required", "lines[0].amount is required", "lines[0].account_detail is required",
			},
		},
		{
			"fail/line with an empty detail", create, purchase(`,"lines":[` + line + `,{"detail_type":"AccountBasedExpenseLineDetail","amount":1,"account_detail":{}}]`),
			[]string{"lines[1].account_detail.account.id is required", "lines[1].account_detail.account.name is required"},
		},
		{
			"fail/elements that are no objects", create, purchase(`,"lines":[` + line + `,null,"a",[],1,[` + line + `],` + line + `]`),
			[]string{"lines[1] is invalid", "lines[2] is invalid", "lines[3] is invalid", "lines[4] is invalid", "lines[5] is invalid"},
		},
		{
			"fail/problems in the order of the table", create,
			`{"zzz":1,"lines":[{"amount":"1","xxx":0},` + line + `,{"account_detail":{"project":{"id":1},"account":{"name":"","id":"x"}},"amount":1,` +
				`"detail_type":"Other"}],"account":"Bank","yyy":null,"payment_type":"Barter"}`,
			[]string{
				"payment_type is invalid", "account is invalid", "currency.value is required",
				"lines[0].detail_type is required", "lines[0].amount is invalid", "lines[0].account_detail is required", "lines[0].xxx is unknown",
				"lines[2].detail_type is invalid", "lines[2].account_detail.account.id is invalid", "lines[2].account_detail.account.name is required",
				"lines[2].account_detail.project.id is unknown", "zzz is unknown", "yyy is unknown",
			},
		},
		{
			"fail/unknown members at every level", create,
			strings.Replace(detail(`,"class":{"value":null},"markup_info":{"price_level":{"name":{"a":[1]}},"Percent":1},"Project":{}`), `"Bank"`, `"Bank","type":"Bank"`, 1),
			[]string{
				"account.type is unknown", "lines[0].account_detail.class.value is unknown", "lines[0].account_detail.markup_info.price_level.name is unknown",
				"lines[0].account_detail.markup_info.Percent is unknown", "lines[0].account_detail.Project is unknown",
			},
		},
		{"fail/other letter case", create, lines(`,"Amount":2`), []string{"lines[0].Amount is unknown"}},
		{"fail/path as a name", create, lines(`,"account_detail.class.id":"1"`), []string{"lines[0].account_detail.class.id is unknown"}},
		{"fail/empty name", create, lines(`,"":1`), []string{`lines[0]."" is unknown`}},
		{"fail/name with control characters", create, lines(`,"a\u0000\nb\u202ec\ud800é":1`), []string{"lines[0].a??b?c\ufffdé is unknown"}},
		{"fail/long name", create, lines(`,"` + strings.Repeat("é", 40) + `":1`), []string{"lines[0]." + strings.Repeat("é", 32) + " is unknown"}},
		{"fail/long name cut between characters", create, lines(`,"a` + strings.Repeat("é", 40) + `":1`), []string{"lines[0].a" + strings.Repeat("é", 31) + " is unknown"}},
		{"fail/name as long as may be", create, lines(`,"` + strings.Repeat("a", 64) + `":1`), []string{"lines[0]." + strings.Repeat("a", 64) + " is unknown"}},
		{"fail/lines of an update in a create", create, purchase(`,"lines":[{"id":"1",` + line[1:] + `]`), []string{"lines[0].id is unknown"}},
		{"ok/null id of a line in a create", create, purchase(`,"lines":[{"id":null,` + line[1:] + `]`), nil},
		{"ok/10,000 lines", create, purchase(`,"lines":[` + strings.Repeat(line+",", 9_999) + line + `]`), nil},
		{"fail/10,001 lines", create, purchase(`,"lines":[` + strings.Repeat(line+",", 10_000) + line + `]`), []string{"lines is invalid"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, []byte(tt.body), check(t, []byte(tt.body), purchaseFields, tt.op), tt.want...)
		})
	}
}

// TestCheckInputOptionalObject has what the contract has not: an optional object with
// members that it needs.
func TestCheckInputOptionalObject(t *testing.T) {
	fields := []transform.Field{{Name: "a", Type: transform.TypeObject, Fields: []transform.Field{
		{Name: "b", Required: both},
		{Name: "c", Type: transform.TypeObject, Fields: []transform.Field{{Name: "d"}, {Name: "e", Required: create}}},
		{Name: "f", Type: transform.TypeObject, Required: both},
		{Name: "g", Type: transform.TypeArray, Fields: []transform.Field{{Name: "h", Required: both}}},
	}}}
	tests := []struct {
		body string
		want []string
	}{
		{`{}`, nil},
		{`{"a":null}`, nil},
		{`{"a":{}}`, nil},
		{`{"a":{"b":null,"c":{"d":null,"e":null},"f":null,"g":null}}`, nil},
		{`{"a":{"b":""}}`, []string{"a.b is required", "a.f is required"}},
		{`{"a":{"b":"1","f":{}}}`, nil},
		{`{"a":{"c":{"d":"1"}}}`, []string{"a.b is required", "a.c.e is required", "a.f is required"}},
		{`{"a":{"c":{"d":null},"b":"1"}}`, []string{"a.f is required"}},
		{`{"a":{"g":[],"b":"1","f":{}}}`, nil},
		{`{"a":{"g":[{},{"h":"1"},{"h":null}],"b":"1","f":{}}}`, []string{"a.g[0].h is required", "a.g[2].h is required"}},
		{`{"a":{"x":{"y":0}}}`, []string{"a.b is required", "a.f is required", "a.x is unknown"}},
	}
	for i, tt := range tests {
		name := "ok/"
		if tt.want != nil {
			name = "fail/"
		}
		t.Run(fmt.Sprint(name, i), func(t *testing.T) {
			expect(t, []byte(tt.body), check(t, []byte(tt.body), fields, create), tt.want...)
		})
	}
}

func TestCheckInputErrors(t *testing.T) {
	for _, d := range documents {
		if d.reason == "" {
			continue
		}
		t.Run("fail/grammar/"+d.name, func(t *testing.T) {
			problems, err := transform.CheckInput([]byte(d.body), purchaseFields, create)
			if len(problems) > 0 {
				t.Errorf("got problems %v", problems)
			}
			checkSyntaxError(t, err, d.reason, d.offset)
		})
	}
	tests := []struct {
		name, body, reason string
		offset             int
	}{
		{"array", ` [{}]`, "not an object", 1},
		{"null", `null`, "not an object", 0},
		{"string", `"{}"`, "not an object", 0},
		{"number", `1`, "not an object", 0},
		{"same name twice", `{"payment_type":"Cash","payment_type":"Cash"}`, "duplicate member name", 23},
		{"same name twice with escapes", `{"id":"1","\u0069d":"2"}`, "duplicate member name", 10},
		{"same name twice in a line", `{"lines":[{"amount":1,"amount":2}]}`, "duplicate member name", 22},
		{"same name twice in an unknown member", `{"x":{"y":{"z":1,"z":1}}}`, "duplicate member name", 17},
		{"NaN", `{"total_amount":NaN}`, "unexpected character", 16},
		{"infinity", `{"total_amount":-Infinity}`, "unexpected character", 17},
		{"leading zero", `{"total_amount":01}`, "unexpected character", 17},
		{"point at the end", `{"total_amount":1.}`, "unexpected character", 18},
		{"plus", `{"total_amount":+1}`, "unexpected character", 16},
		{"10,000 levels", `{"lines":` + nested(10_000) + `}`, "nested too deeply", 9 + transform.MaxDepth - 1},
	}
	for _, tt := range tests {
		t.Run("fail/"+tt.name, func(t *testing.T) {
			_, err := transform.CheckInput([]byte(tt.body), purchaseFields, modify)
			checkSyntaxError(t, err, tt.reason, tt.offset)
		})
	}
}

// TestCheckInputBig gives bodies of 2 MB, and asks for at most 100 problems.
func TestCheckInputBig(t *testing.T) {
	const size = 2 << 20
	repeated := func(s string) string { return strings.Repeat(s, size/len(s)) }
	tests := []struct {
		name, body string
		problems   int
		last       string
	}{
		{"one string", `{"payment_type":"` + repeated("é") + `"}`, 9, "lines is required"},
		{"one number", `{"total_amount":` + repeated("9") + `}`, 9, "lines is required"},
		{"unknown members", manyNames(150_000, ""), 100, "nnnnnn89 is unknown"},
		{"long unknown name", `{"` + repeated("ab") + `":1}`, 10, strings.Repeat("ab", 32) + " is unknown"},
		{"nulls in place of lines", `{"lines":[` + repeated("null,") + `null]}`, 9, "lines is invalid"},
		{"empty lines", `{"lines":[` + strings.Repeat("{},", 9_000) + `{}]}`, 100, "lines[30].amount is required"},
		{"nulls far below", `{"account":` + strings.Repeat(`{"a":`, 250) + `[` + repeated("null,") + `null]` + strings.Repeat("}", 251), 10, "lines is required"},
	}
	for _, tt := range tests {
		t.Run("fail/"+tt.name, func(t *testing.T) {
			got := check(t, []byte(tt.body), purchaseFields, modify)
			if len(got) != tt.problems || got[len(got)-1] != tt.last {
				t.Errorf("got %d problems, the last one %.100q, want %d and %q", len(got), got[len(got)-1], tt.problems, tt.last)
			}
		})
	}
	t.Run("ok/lines", func(t *testing.T) {
		if body := bigPurchase(t, 2_500); len(body) < size || check(t, body, purchaseFields, modify) != nil {
			expect(t, body[:2_000], check(t, body, purchaseFields, modify))
		}
	})
}

// TestCheckInputOrder shuffles the members of an input with problems: neither their
// number nor their order changes.
func TestCheckInputOrder(t *testing.T) {
	members := []string{
		`"id":1`, `"sync_token":"a"`, `"credit":"true"`, `"total_amount":1e3`, `"payment_type":"Cash"`, `"account":{"name":1,"id":2}`,
		`"currency":{}`, `"lines":[{"amount":null},{"line_num":0}]`, `"x":0`,
	}
	want := []string{
		"id is invalid", "sync_token is invalid", "credit is invalid", "total_amount is invalid", "txn_date is required",
		"account.id is invalid", "account.name is invalid", "currency.value is required",
		"lines[0].detail_type is required", "lines[0].amount is required", "lines[0].account_detail is required",
		"lines[1].detail_type is required", "lines[1].amount is required", "lines[1].line_num is invalid", "lines[1].account_detail is required",
		"x is unknown",
	}
	rapid.Check(t, func(r *rapid.T) {
		body := []byte("{" + strings.Join(rapid.Permutation(members).Draw(r, "members"), ",") + "}")
		problems, err := transform.CheckInput(body, purchaseFields, modify)
		if got := messages(t, problems); err != nil || !slices.Equal(got, want) {
			r.Errorf("got %q, %v for %s", got, err, body)
		}
	})
}

func FuzzCheckInput(f *testing.F) {
	addSeeds(f, "", "quikq/report_flat.json")
	for i := range writeCases {
		f.Add(writeCases[i].body(f, false))
		f.Add(writeCases[i].body(f, true))
	}
	f.Add(bigPurchase(f, 3))
	f.Add([]byte(`{"lines":[{"account_detail":{"class":{"id":null}},"amount":-0.00,"x\n\ud800":1e400},null],"account":[],"\u0061":"\u0062"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, w := range writeCases {
			problems, err := transform.CheckInput(body, w.fields, w.op)
			if invalid := transform.ValidateUnique(body) != nil; (err != nil) != (invalid || !gjson.ParseBytes(body).IsObject()) {
				t.Fatalf("got %v", err)
			}
			if err != nil {
				checkInvalid(t, err)
				if problems != nil {
					t.Errorf("problems in spite of %v", err)
				}
				continue
			}
			if len(problems) > 100 {
				t.Errorf("%d problems", len(problems))
			}
			for _, message := range messages(t, problems) {
				if strings.ContainsFunc(message, func(r rune) bool { return !unicode.IsPrint(r) }) || len(message) > 500 {
					t.Errorf("got %q", message)
				}
			}
			dst, err := transform.AppendMapped([]byte(dstPrefix), body, w.targets)
			mapped := appended(t, dst, err)
			if problems != nil {
				continue
			}
			if err != nil {
				t.Errorf("accepted, but not mapped: %v", err)
			}
			w.checkMapped(t, body, mapped)
		}
	})
}
