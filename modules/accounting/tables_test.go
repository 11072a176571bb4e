package accounting

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/fleetgate/fleetgate/modules/internal/areatest"
	"github.com/fleetgate/fleetgate/transform"
)

// tableRow is a row of an input table of contract 2.1.
type tableRow struct {
	path           string
	kind           string // of value, one of kinds
	create, update string // "required", "optional" or "-"
}

// purchaseTable are both tables of the purchase input.
var purchaseTable = []tableRow{
	{"id", "digits", "-", "required"},
	{"sync_token", "digits", "-", "required"},
	{"credit", "boolean", "-", "optional"},
	{"total_amount", "decimal", "-", "required"},
	{"txn_date", "date", "-", "required"},
	{"payment_type", "payment type", "required", "required"},
	{"account.id", "digits", "required", "required"},
	{"account.name", "string", "required", "required"},
	{"currency.value", "currency", "required", "required"},
	{"currency.name", "string", "optional", "optional"},
	{"lines", "lines", "required", "required"},
	{"lines[0].id", "digits", "-", "optional"},
	{"lines[0].detail_type", "detail type", "required", "required"},
	{"lines[0].amount", "decimal", "required", "required"},
	{"lines[0].description", "string", "optional", "optional"},
	{"lines[0].line_num", "integer", "optional", "optional"},
	{"lines[0].account_detail", "object", "required", "required"},
	{"lines[0].account_detail.account.id", "digits", "required", "required"},
	{"lines[0].account_detail.account.name", "string", "required", "required"},
	{"lines[0].account_detail.tax_amount", "decimal", "optional", "optional"},
	{"lines[0].account_detail.tax_inclusive_amount", "decimal", "optional", "optional"},
	{"lines[0].account_detail.class.id", "string", "optional", "optional"},
	{"lines[0].account_detail.class.name", "string", "optional", "optional"},
	{"lines[0].account_detail.tax_code.value", "string", "optional", "optional"},
	{"lines[0].account_detail.tax_code.name", "string", "optional", "optional"},
	{"lines[0].account_detail.markup_info.price_level.value", "string", "optional", "optional"},
	{"lines[0].account_detail.markup_info.percent", "decimal", "optional", "optional"},
	{"lines[0].account_detail.markup_info.mark_up_income_account.value", "string", "optional", "optional"},
	{"lines[0].account_detail.billable_status", "billable status", "optional", "optional"},
	{"lines[0].account_detail.customer.id", "string", "optional", "optional"},
	{"lines[0].account_detail.customer.name", "string", "optional", "optional"},
	{"lines[0].account_detail.project.value", "string", "optional", "optional"},
	{"lines[0].account_detail.project.name", "string", "optional", "optional"},
}

// vendorTable is the table of the vendor input.
var vendorTable = []tableRow{
	{"id", "digits", "-", "required"},
	{"sync_token", "digits", "-", "required"},
	{"display_name", "string", "required", "required"},
	{"account_num", "string", "optional", "optional"},
	{"title", "string", "optional", "optional"},
	{"given_name", "string", "optional", "optional"},
	{"family_name", "string", "optional", "optional"},
	{"suffix", "string", "optional", "optional"},
	{"company_name", "string", "optional", "optional"},
	{"print_on_check_name", "string", "optional", "optional"},
	{"tax_identifier", "string", "optional", "optional"},
	{"bill_address.line1", "string", "optional", "optional"},
	{"bill_address.line2", "string", "optional", "optional"},
	{"bill_address.line3", "string", "optional", "optional"},
	{"bill_address.city", "string", "optional", "optional"},
	{"bill_address.state", "string", "optional", "optional"},
	{"bill_address.country", "string", "optional", "optional"},
	{"bill_address.postal", "string", "optional", "optional"},
	{"bill_address.latitude", "string", "optional", "optional"},
	{"bill_address.longitude", "string", "optional", "optional"},
	{"phone.number", "string", "optional", "optional"},
	{"mobile.number", "string", "optional", "optional"},
	{"email.address", "string", "optional", "optional"},
	{"website.uri", "string", "optional", "optional"},
}

// kinds are values that each kind of row takes, the first one in bodies, and values that
// it does not.
var kinds = map[string]struct{ good, bad []string }{
	"string":          {[]string{`"Fuel, \"diesel\" \u00e9"`, `" "`}, []string{`1`, `true`, `[]`, `{}`}},
	"digits":          {[]string{`"41"`, `"0"`, `"9223372036854775808123"`}, []string{`41`, `"4a"`, `"-4"`, `" 4"`, `"4\n"`, `true`, `[]`, `{}`}},
	"boolean":         {[]string{`true`, `false`}, []string{`0`, `"true"`, `[]`, `{}`}},
	"decimal":         {[]string{`12.340`, `0`, `-0.01`, `739.00`, `1234567890.12345`}, []string{`"12.34"`, `1e2`, `1e400`, `-0`, `-0.00`, `1234567890123456`, `0.123456`, `true`, `[]`, `{}`}},
	"integer":         {[]string{`1`, `9223372036854775807`}, []string{`0`, `-1`, `1.0`, `1e1`, `9223372036854775808`, `"1"`, `true`, `[]`, `{}`}},
	"date":            {[]string{`"2026-08-31"`, `"2024-02-29"`}, []string{`"2026-02-30"`, `"2026-1-1"`, `"2026-08-31T00:00:00Z"`, `20260831`, `true`, `[]`, `{}`}},
	"payment type":    {[]string{`"CreditCard"`, `"Cash"`, `"Check"`}, []string{`"cash"`, `"Cash "`, `"Bitcoin"`, `1`, `["Cash"]`, `{}`}},
	"detail type":     {[]string{`"AccountBasedExpenseLineDetail"`}, []string{`"ItemBasedExpenseLineDetail"`, `1`, `[]`, `{}`}},
	"billable status": {[]string{`"Billable"`, `"NotBillable"`, `"HasBeenBilled"`}, []string{`"billable"`, `""`, `1`, `[]`, `{}`}},
	"currency":        {[]string{`"USD"`, `"BRL"`, `"\u0055SD"`}, []string{`"US"`, `"USDT"`, `"usd"`, `"US1"`, `"U$D"`, `"ÄÖÜ"`, `" USD"`, `1`, `true`, `[]`, `{}`}},
	"lines":           {nil, []string{`"a"`, `1`, `true`, `{}`}},
	"object":          {nil, []string{`"a"`, `1`, `true`, `[]`}},
}

// writeCase is one of the four writes with its table.
type writeCase struct {
	*operation
	table    []tableRow
	presence func(tableRow) string
}

var writeCases = func() []writeCase {
	tables := map[string][]tableRow{"purchase": purchaseTable, "vendor": vendorTable}
	presences := map[string]func(tableRow) string{
		"create": func(r tableRow) string { return r.create },
		"update": func(r tableRow) string { return r.update },
	}
	var cases []writeCase
	for i := range rows {
		if op := &rows[i]; op.writes() {
			cases = append(cases, writeCase{op, tables[string(op.asked.Kind)], presences[op.asked.Call]})
		}
	}
	return cases
}()

// full returns an input with all the members that are required, or also those that are
// optional.
func (w *writeCase) full(tb testing.TB, optional bool) string {
	tb.Helper()
	body := "{}"
	for _, r := range w.table {
		if good := kinds[r.kind].good; good != nil && (w.presence(r) == "required" || optional && w.presence(r) == "optional") {
			body = set(tb, body, r.path, good[0])
		}
	}
	return body
}

// accepted expects that the provider gets the body byte for byte.
func (w *writeCase) accepted(name, body string) scenario {
	sc := w.scenario("ok/" + w.name() + " " + name)
	sc.Body = body
	sc.Check = w.check(func(a *asked) { a.Write.Body = []byte(body) })
	return sc
}

func (w *writeCase) rejected(name, body, answer string) scenario {
	sc := w.refused(name, w.path+"?realmId="+realm, headers(), 400, "invalid_request", answer)
	sc.Body = body
	return sc
}

var sjsonPath = strings.NewReplacer("[", ".", "]", "")

func set(tb testing.TB, body, path, raw string) string {
	tb.Helper()
	body, err := sjson.SetRaw(body, sjsonPath.Replace(path), raw)
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func without(tb testing.TB, body, path string) string {
	tb.Helper()
	body, err := sjson.Delete(body, sjsonPath.Replace(path))
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// TestTables goes through the rows of contract 2.1, one member at a time.
func TestTables(t *testing.T) {
	var scenarios []scenario
	for i := range writeCases {
		w := &writeCases[i]
		least, all := w.full(t, false), w.full(t, true)
		scenarios = append(scenarios, w.accepted("least", least), w.accepted("all", all))
		for _, r := range w.table {
			missing := []string{set(t, all, r.path, `null`), without(t, all, r.path)}
			values := kinds[r.kind]
			switch w.presence(r) {
			case "required":
				for _, body := range append(missing, emptied(t, all, r)...) {
					scenarios = append(scenarios, w.rejected(r.path+" missing", body, failure(r.path+required)))
				}
			case "optional":
				for _, body := range append(missing, set(t, least, r.path, `null`)) {
					scenarios = append(scenarios, w.accepted(r.path+" missing", body))
				}
			default:
				scenarios = append(scenarios, w.accepted(r.path+" null", set(t, all, r.path, `null`)))
				for _, value := range slices.Concat(values.good, values.bad) {
					scenarios = append(scenarios, w.rejected(r.path+" not known", set(t, all, r.path, value), failure(r.path+unknown)))
				}
				continue
			}
			for _, value := range values.good {
				scenarios = append(scenarios, w.accepted(r.path+" is "+value, set(t, least, r.path, value)))
			}
			for _, value := range values.bad {
				scenarios = append(scenarios, w.rejected(r.path+" is "+value, set(t, all, r.path, value), failure(r.path+invalid)))
			}
		}
	}
	suite.Run(t, scenarios)
}

// emptied returns bodies where a required row is there but empty.
func emptied(t *testing.T, body string, r tableRow) []string {
	t.Helper()
	switch r.kind {
	case "decimal", "object":
		return nil
	case "lines":
		return []string{set(t, body, r.path, `[]`)}
	default:
		return []string{set(t, body, r.path, `""`)}
	}
}

// TestTablesAreWhole compares the tables of the code with those of the contract by the
// paths that they know.
func TestTablesAreWhole(t *testing.T) {
	for i := range writeCases {
		w := &writeCases[i]
		in := map[string]input{
			"createpurchase": purchaseCreate, "updatepurchase": purchaseUpdate, "createvendor": vendorCreate, "updatevendor": vendorUpdate,
		}[w.asked.Call+string(w.asked.Kind)]
		t.Run("ok/"+w.name(), func(t *testing.T) {
			var want []string
			for _, r := range w.table {
				if kinds[r.kind].good != nil && w.presence(r) != "-" {
					want = append(want, r.path)
				}
			}
			got := paths("", in.fields, in.op)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("got  %q\nwant %q", got, want)
			}
		})
	}
}

// paths returns the paths of all fields that an operation knows and that have no fields
// of their own.
func paths(prefix string, fields []transform.Field, op transform.Op) []string {
	var all []string
	for _, f := range fields {
		switch {
		case f.Only != 0 && f.Only&op == 0:
		case f.Type == transform.TypeObject:
			all = append(all, paths(prefix+f.Name+".", f.Fields, op)...)
		case f.Type == transform.TypeArray:
			all = append(all, paths(prefix+f.Name+"[0].", f.Fields, op)...)
		default:
			all = append(all, prefix+f.Name)
		}
	}
	return all
}

// TestAllProblems expects that a caller learns everything at once.
func TestAllProblems(t *testing.T) {
	scenarios := []scenario{
		writeCases[0].rejected("empty", `{}`, failures(
			[2]string{"payment_type", required}, [2]string{"account.id", required}, [2]string{"account.name", required}, [2]string{"currency.value", required}, [2]string{"lines", required},
		)),
		writeCases[1].rejected("empty", ` { } `, failures(
			[2]string{"id", required}, [2]string{"sync_token", required}, [2]string{"total_amount", required}, [2]string{"txn_date", required}, [2]string{"payment_type", required},
			[2]string{"account.id", required}, [2]string{"account.name", required}, [2]string{"currency.value", required}, [2]string{"lines", required},
		)),
		writeCases[2].rejected("empty", `{}`, failure("display_name is required")),
		writeCases[3].rejected("empty", `{}`, failures([2]string{"id", required}, [2]string{"sync_token", required}, [2]string{"display_name", required})),
		writeCases[0].rejected(
			"at every level", `{"zzz":1,"credit":true,"total_amount":5,"txn_date":"2026-01-01","account":"Visa","currency":{"value":"dollars","sign":"$"},"payment_type":"Barter",`+
				`"lines":[`+line+`,{"id":"1","detail_type":"Other","amount":"1"},`+strings.Replace(line, `"id":"7",`, "", 1)+`,null]}`,
			failures(
				[2]string{"credit", unknown}, [2]string{"total_amount", unknown}, [2]string{"txn_date", unknown}, [2]string{"payment_type", invalid}, [2]string{"account", invalid},
				[2]string{"currency.sign", unknown}, [2]string{"lines[1].id", unknown}, [2]string{"lines[1].detail_type", invalid}, [2]string{"lines[1].amount", invalid},
				[2]string{"lines[1].account_detail", required}, [2]string{"lines[2].account_detail.account.id", required}, [2]string{"lines[3]", invalid},
				[2]string{"zzz", unknown}, [2]string{"currency.value", invalid},
			),
		),
		writeCases[3].rejected("names of the provider", `{"id":"1","sync_token":"0","display_name":"Joe","DisplayName":"Joe","sparse":false,"Active":null}`, failures(
			[2]string{"DisplayName", unknown}, [2]string{"sparse", unknown}, [2]string{"Active", unknown},
		)),
	}
	// Values are not quoted, as they may be secret.
	hidden := writeCases[2].rejected("a secret", `{"display_name":1,"tax_identifier":["`+areatest.Secret+`"]}`,
		failures([2]string{"display_name", invalid}, [2]string{"tax_identifier", invalid}))
	suite.Run(t, append(scenarios, hidden))
}

// FuzzBodies sends bodies to all four writes: what the provider gets is what was sent,
// an object without a member twice, and everything else is refused in the area's shape.
func FuzzBodies(f *testing.F) {
	for i := range writeCases {
		w := &writeCases[i]
		f.Add([]byte(w.full(f, false)))
		f.Add([]byte(w.full(f, true)))
	}
	for _, seed := range []string{
		"", "[]", "{}", "null", `{"id":"1","id":"2"}`, `{"credit":true}`, `{"lines":[null,[],{"account_detail":{"account":null}}]}`,
		`{"total_amount":1e400}`, `{"currency":{"value":"\ud800"}}`, "{\"\xff\":1}", strings.Repeat(`{"account":`, 300), `{"currency":[{"value":"x"}]}`,
	} {
		f.Add([]byte(seed))
	}
	h, fake, _ := suite.Load(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		for i := range writeCases {
			w := &writeCases[i]
			fake.calls, fake.last = 0, asked{}
			sc := w.scenario("")
			sc.Body = string(body)
			rec, broken := suite.Serve(t, h, sc)
			if broken != nil {
				t.Errorf("%s: %q", w.name(), broken)
			}
			switch {
			case rec.Code == 200 && fake.calls == 1:
				w.obeys(t, body, fake.last.Write.Body)
			case rec.Code == 400 && fake.calls == 0:
			default:
				t.Errorf("%s: status %d and %d calls", w.name(), rec.Code, fake.calls)
			}
		}
	})
}

// obeys checks a body that was accepted by other means than the code's own.
func (w *writeCase) obeys(t *testing.T, sent, got []byte) {
	t.Helper()
	if string(got) != string(sent) {
		t.Errorf("%s: the provider got %q", w.name(), got)
	}
	if err := transform.ValidateUnique(sent); err != nil {
		t.Errorf("%s: %v", w.name(), err)
	}
	doc := gjson.ParseBytes(sent)
	for _, r := range w.table {
		value := doc.Get(sjsonPath.Replace(r.path))
		switch presence := w.presence(r); {
		case presence == "required" && (value.Type == gjson.Null || value.Raw == `""`),
			presence == "-" && value.Type != gjson.Null,
			slices.Contains(kinds[r.kind].bad, value.Raw):
			t.Errorf("%s: accepted %s = %s", w.name(), r.path, value.Raw)
		}
	}
}
