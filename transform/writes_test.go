package transform_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/fleetgate/fleetgate/transform"
)

const (
	create = transform.OpCreate
	modify = transform.OpUpdate
	both   = create | modify
)

// The input tables of contract 2.1 for purchases and vendors.
var (
	purchaseFields = []transform.Field{
		{Name: "id", Only: modify, Required: modify, Digits: true},
		{Name: "sync_token", Only: modify, Required: modify, Digits: true},
		{Name: "credit", Type: transform.TypeBoolean, Only: modify},
		{Name: "total_amount", Type: transform.TypeDecimal, Only: modify, Required: modify},
		{Name: "txn_date", Type: transform.TypeDate, Only: modify, Required: modify},
		{Name: "payment_type", Required: both, Allowed: []string{"Cash", "CreditCard", "Check"}},
		{Name: "account", Type: transform.TypeObject, Required: both, ByMembers: true, Fields: accountFields},
		{Name: "currency", Type: transform.TypeObject, Required: both, ByMembers: true, Fields: []transform.Field{
			{Name: "value", Required: both},
			{Name: "name"},
		}},
		{Name: "lines", Type: transform.TypeArray, Required: both, Max: 10_000, Fields: []transform.Field{
			{Name: "id", Only: modify, Digits: true},
			{Name: "detail_type", Required: both, Allowed: []string{"AccountBasedExpenseLineDetail"}},
			{Name: "amount", Type: transform.TypeDecimal, Required: both},
			{Name: "description", Max: 4000},
			{Name: "line_num", Type: transform.TypeInteger},
			{Name: "account_detail", Type: transform.TypeObject, Required: both, Fields: []transform.Field{
				{Name: "account", Type: transform.TypeObject, Required: both, ByMembers: true, Fields: accountFields},
				{Name: "tax_amount", Type: transform.TypeDecimal},
				{Name: "tax_inclusive_amount", Type: transform.TypeDecimal},
				{Name: "class", Type: transform.TypeObject, Fields: optionalStrings("id", "name")},
				{Name: "tax_code", Type: transform.TypeObject, Fields: optionalStrings("value", "name")},
				{Name: "markup_info", Type: transform.TypeObject, Fields: []transform.Field{
					{Name: "price_level", Type: transform.TypeObject, Fields: optionalStrings("value")},
					{Name: "percent", Type: transform.TypeDecimal},
					{Name: "mark_up_income_account", Type: transform.TypeObject, Fields: optionalStrings("value")},
				}},
				{Name: "billable_status", Allowed: []string{"Billable", "NotBillable", "HasBeenBilled"}},
				{Name: "customer", Type: transform.TypeObject, Fields: optionalStrings("id", "name")},
				{Name: "project", Type: transform.TypeObject, Fields: optionalStrings("value", "name")},
			}},
		}},
	}
	accountFields = []transform.Field{
		{Name: "id", Required: both, Digits: true},
		{Name: "name", Required: both},
	}
	vendorFields = slices.Concat(
		[]transform.Field{
			{Name: "id", Only: modify, Required: modify, Digits: true},
			{Name: "sync_token", Only: modify, Required: modify, Digits: true},
			{Name: "display_name", Required: both, Max: 500},
		},
		optionalStrings("account_num", "title", "given_name", "family_name", "suffix", "company_name", "print_on_check_name", "tax_identifier"),
		[]transform.Field{
			{Name: "bill_address", Type: transform.TypeObject, Fields: optionalStrings(
				"line1", "line2", "line3", "city", "state", "country", "postal", "latitude", "longitude",
			)},
			{Name: "phone", Type: transform.TypeObject, Fields: optionalStrings("number")},
			{Name: "mobile", Type: transform.TypeObject, Fields: optionalStrings("number")},
			{Name: "email", Type: transform.TypeObject, Fields: optionalStrings("address")},
			{Name: "website", Type: transform.TypeObject, Fields: optionalStrings("uri")},
		},
	)
)

func optionalStrings(names ...string) []transform.Field {
	fields := make([]transform.Field, len(names))
	for i, name := range names {
		fields[i].Name = name
	}
	return fields
}

// What an accounting provider makes of the two inputs, on an update.
var (
	purchaseTargets = []transform.Target{
		{Name: "Id", From: "id"},
		{Name: "SyncToken", From: "sync_token"},
		{Name: "sparse", Constant: "true"},
		{Name: "Credit", From: "credit"},
		{Name: "TotalAmt", From: "total_amount"},
		{Name: "TxnDate", From: "txn_date"},
		{Name: "PaymentType", From: "payment_type"},
		{Name: "AccountRef", Members: reference("account", "id")},
		{Name: "CurrencyRef", Members: reference("currency", "value")},
		{Name: "Line", From: "lines", Elements: []transform.Target{
			{Name: "Id", From: "id"},
			{Name: "LineNum", From: "line_num"},
			{Name: "Description", From: "description"},
			{Name: "Amount", From: "amount"},
			{Name: "DetailType", From: "detail_type"},
			{Name: "ProjectRef", Members: reference("account_detail.project", "value")},
			{Name: "AccountBasedExpenseLineDetail", Members: []transform.Target{
				{Name: "AccountRef", Members: reference("account_detail.account", "id")},
				{Name: "TaxAmount", From: "account_detail.tax_amount"},
				{Name: "TaxInclusiveAmt", From: "account_detail.tax_inclusive_amount"},
				{Name: "ClassRef", Members: reference("account_detail.class", "id")},
				{Name: "TaxCodeRef", Members: reference("account_detail.tax_code", "value")},
				{Name: "MarkupInfo", Members: []transform.Target{
					{Name: "PriceLevelRef", Members: []transform.Target{
						{Name: "value", From: "account_detail.markup_info.price_level.value"},
					}},
					{Name: "Percent", From: "account_detail.markup_info.percent"},
					{Name: "MarkUpIncomeAccountRef", Members: []transform.Target{
						{Name: "value", From: "account_detail.markup_info.mark_up_income_account.value"},
					}},
				}},
				{Name: "BillableStatus", From: "account_detail.billable_status"},
				{Name: "CustomerRef", Members: reference("account_detail.customer", "id")},
			}},
		}},
	}
	vendorTargets = []transform.Target{
		{Name: "Id", From: "id"},
		{Name: "SyncToken", From: "sync_token"},
		{Name: "sparse", Constant: "true"},
		{Name: "DisplayName", From: "display_name"},
		{Name: "AcctNum", From: "account_num"},
		{Name: "Title", From: "title"},
		{Name: "GivenName", From: "given_name"},
		{Name: "FamilyName", From: "family_name"},
		{Name: "Suffix", From: "suffix"},
		{Name: "CompanyName", From: "company_name"},
		{Name: "PrintOnCheckName", From: "print_on_check_name"},
		{Name: "TaxIdentifier", From: "tax_identifier"},
		{Name: "BillAddr", Members: []transform.Target{
			{Name: "Line1", From: "bill_address.line1"},
			{Name: "Line2", From: "bill_address.line2"},
			{Name: "Line3", From: "bill_address.line3"},
			{Name: "City", From: "bill_address.city"},
			{Name: "CountrySubDivisionCode", From: "bill_address.state"},
			{Name: "PostalCode", From: "bill_address.postal"},
			{Name: "Country", From: "bill_address.country"},
		}},
		{Name: "PrimaryPhone", Members: []transform.Target{{Name: "FreeFormNumber", From: "phone.number"}}},
		{Name: "Mobile", Members: []transform.Target{{Name: "FreeFormNumber", From: "mobile.number"}}},
		{Name: "PrimaryEmailAddr", Members: []transform.Target{{Name: "Address", From: "email.address"}}},
		{Name: "WebAddr", Members: []transform.Target{{Name: "URI", From: "website.uri"}}},
	}
)

func reference(from, id string) []transform.Target {
	return []transform.Target{{Name: "value", From: from + "." + id}, {Name: "name", From: from + ".name"}}
}

// inputRow is a row of a table of contract 2.1 and of its mapping (nothing: accepted and
// dropped). The tables above must amount to these rows.
type inputRow struct {
	path           string
	kind           string // of value, one of kinds
	create, update string // "required", "optional" or "-"
	target         string
}

var purchaseRows = []inputRow{
	{"id", "digits", "-", "required", "Id"},
	{"sync_token", "digits", "-", "required", "SyncToken"},
	{"credit", "boolean", "-", "optional", "Credit"},
	{"total_amount", "decimal", "-", "required", "TotalAmt"},
	{"txn_date", "date", "-", "required", "TxnDate"},
	{"payment_type", "payment type", "required", "required", "PaymentType"},
	{"account.id", "digits", "required", "required", "AccountRef.value"},
	{"account.name", "string", "required", "required", "AccountRef.name"},
	{"currency.value", "string", "required", "required", "CurrencyRef.value"},
	{"currency.name", "string", "optional", "optional", "CurrencyRef.name"},
	{"lines", "lines", "required", "required", "Line"},
	{"lines[0].id", "digits", "-", "optional", "Line[0].Id"},
	{"lines[0].detail_type", "detail type", "required", "required", "Line[0].DetailType"},
	{"lines[0].amount", "decimal", "required", "required", "Line[0].Amount"},
	{"lines[0].description", "string", "optional", "optional", "Line[0].Description"},
	{"lines[0].line_num", "integer", "optional", "optional", "Line[0].LineNum"},
	{"lines[0].account_detail", "object", "required", "required", "Line[0].AccountBasedExpenseLineDetail"},
	{"lines[0].account_detail.account.id", "digits", "required", "required", "Line[0].AccountBasedExpenseLineDetail.AccountRef.value"},
	{"lines[0].account_detail.account.name", "string", "required", "required", "Line[0].AccountBasedExpenseLineDetail.AccountRef.name"},
	{"lines[0].account_detail.tax_amount", "decimal", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.TaxAmount"},
	{"lines[0].account_detail.tax_inclusive_amount", "decimal", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.TaxInclusiveAmt"},
	{"lines[0].account_detail.class.id", "string", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.ClassRef.value"},
	{"lines[0].account_detail.class.name", "string", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.ClassRef.name"},
	{"lines[0].account_detail.tax_code.value", "string", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.TaxCodeRef.value"},
	{"lines[0].account_detail.tax_code.name", "string", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.TaxCodeRef.name"},
	{"lines[0].account_detail.markup_info.price_level.value", "string", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.MarkupInfo.PriceLevelRef.value"},
	{"lines[0].account_detail.markup_info.percent", "decimal", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.MarkupInfo.Percent"},
	{"lines[0].account_detail.markup_info.mark_up_income_account.value", "string", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.MarkupInfo.MarkUpIncomeAccountRef.value"},
	{"lines[0].account_detail.billable_status", "billable status", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.BillableStatus"},
	{"lines[0].account_detail.customer.id", "string", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.CustomerRef.value"},
	{"lines[0].account_detail.customer.name", "string", "optional", "optional", "Line[0].AccountBasedExpenseLineDetail.CustomerRef.name"},
	{"lines[0].account_detail.project.value", "string", "optional", "optional", "Line[0].ProjectRef.value"},
	{"lines[0].account_detail.project.name", "string", "optional", "optional", "Line[0].ProjectRef.name"},
}

var vendorRows = []inputRow{
	{"id", "digits", "-", "required", "Id"},
	{"sync_token", "digits", "-", "required", "SyncToken"},
	{"display_name", "string", "required", "required", "DisplayName"},
	{"account_num", "string", "optional", "optional", "AcctNum"},
	{"title", "string", "optional", "optional", "Title"},
	{"given_name", "string", "optional", "optional", "GivenName"},
	{"family_name", "string", "optional", "optional", "FamilyName"},
	{"suffix", "string", "optional", "optional", "Suffix"},
	{"company_name", "string", "optional", "optional", "CompanyName"},
	{"print_on_check_name", "string", "optional", "optional", "PrintOnCheckName"},
	{"tax_identifier", "string", "optional", "optional", "TaxIdentifier"},
	{"bill_address.line1", "string", "optional", "optional", "BillAddr.Line1"},
	{"bill_address.line2", "string", "optional", "optional", "BillAddr.Line2"},
	{"bill_address.line3", "string", "optional", "optional", "BillAddr.Line3"},
	{"bill_address.city", "string", "optional", "optional", "BillAddr.City"},
	{"bill_address.state", "string", "optional", "optional", "BillAddr.CountrySubDivisionCode"},
	{"bill_address.country", "string", "optional", "optional", "BillAddr.Country"},
	{"bill_address.postal", "string", "optional", "optional", "BillAddr.PostalCode"},
	{"bill_address.latitude", "string", "optional", "optional", ""},
	{"bill_address.longitude", "string", "optional", "optional", ""},
	{"phone.number", "string", "optional", "optional", "PrimaryPhone.FreeFormNumber"},
	{"mobile.number", "string", "optional", "optional", "Mobile.FreeFormNumber"},
	{"email.address", "string", "optional", "optional", "PrimaryEmailAddr.Address"},
	{"website.uri", "string", "optional", "optional", "WebAddr.URI"},
}

// kinds are values that each kind of row takes, the first one in bodies, and values that
// it does not.
var kinds = map[string]struct{ good, bad []string }{
	"string": {
		[]string{`"Fuel, diesel"`, `" "`, `"\u00e9\n\"é"`, `"null"`},
		[]string{`1`, `true`, `[]`, `{}`, `["a"]`},
	},
	"digits": {
		[]string{`"41"`, `"0"`, `"9223372036854775808123"`, `"\u0034"`},
		[]string{`41`, `"4a"`, `"-4"`, `"4.0"`, `" 4"`, `"4\n"`, `"٤"`, `true`, `[]`, `{}`},
	},
	"decimal": {
		[]string{`12.340`, `0`, `0.00`, `-1`, `-0.01`, `-125.50`, `739.00`, `999999999999999`, `1234567890.12345`, `123456789012345`},
		[]string{
			`"12.34"`, `""`, `1e400`, `1e2`, `1E+2`, `12.34e0`, `-0`, `-0.00`, `-0.00000`, `1234567890123456`, `1234567890123456789`,
			`12345678901.123456`, `0.123456`, `12345678901234.56789`, `true`, `[]`, `[1]`, `{}`,
		},
	},
	"integer": {
		[]string{`1`, `10`, `9223372036854775807`},
		[]string{`0`, `-1`, `-0`, `1.0`, `1e0`, `9223372036854775808`, `10000000000000000000`, `1e400`, `"1"`, `true`, `[]`, `{}`},
	},
	"boolean": {
		[]string{`true`, `false`},
		[]string{`0`, `1`, `"true"`, `""`, `[]`, `{}`},
	},
	"date": {
		[]string{`"2026-08-31"`, `"2024-02-29"`, `"0001-01-01"`, `"2026-01-0\u0031"`},
		[]string{
			`"2026-02-30"`, `"2026-02-29"`, `"2026-13-01"`, `"2026-00-10"`, `"2026-01-00"`, `"0000-01-01"`, `"2026-1-1"`, `"20260101"`, `"2026-08-31T00:00:00Z"`,
			`" 2026-08-31"`, `"26-08-31"`, `"-2026-08-31"`, `20260831`, `true`, `[]`, `{}`,
		},
	},
	"payment type": {
		[]string{`"CreditCard"`, `"Cash"`, `"Check"`, `"C\u0061sh"`},
		[]string{`"cash"`, `"Cash "`, `"Bitcoin"`, `1`, `true`, `[]`, `["Cash"]`, `{}`},
	},
	"detail type": {
		[]string{`"AccountBasedExpenseLineDetail"`},
		[]string{`"ItemBasedExpenseLineDetail"`, `1`, `true`, `[]`, `{}`},
	},
	"billable status": {
		[]string{`"Billable"`, `"NotBillable"`, `"HasBeenBilled"`},
		[]string{`"billable"`, `""`, `1`, `true`, `[]`, `{}`},
	},
	"lines":  {nil, []string{`"a"`, `""`, `1`, `true`, `{}`}},
	"object": {nil, []string{`"a"`, `""`, `1`, `true`, `[]`}},
}

// writeCase is one of the four inputs of contract 2.1.
type writeCase struct {
	name    string
	op      transform.Op
	fields  []transform.Field
	targets []transform.Target
	rows    []inputRow
}

var writeCases = []writeCase{
	{"purchase create", create, purchaseFields, without(purchaseTargets, "sparse"), purchaseRows},
	{"purchase update", modify, purchaseFields, purchaseTargets, purchaseRows},
	{"vendor create", create, vendorFields, without(vendorTargets, "sparse"), vendorRows},
	{"vendor update", modify, vendorFields, vendorTargets, vendorRows},
}

func without(targets []transform.Target, name string) []transform.Target {
	return slices.DeleteFunc(slices.Clone(targets), func(t transform.Target) bool { return t.Name == name })
}

// presence is what the contract says of a row.
func (w *writeCase) presence(r inputRow) string {
	if w.op == create {
		return r.create
	}
	return r.update
}

// body returns an input with all the members that are required, or also those that are
// optional.
func (w *writeCase) body(tb testing.TB, optional bool) []byte {
	tb.Helper()
	body := []byte("{}")
	for _, r := range w.rows {
		if good := kinds[r.kind].good; len(good) > 0 && (w.presence(r) == "required" || optional && w.presence(r) == "optional") {
			body = setRaw(tb, body, r.path, good[0])
		}
	}
	return body
}

var sjsonPath = strings.NewReplacer("[", ".", "]", "")

func setRaw(tb testing.TB, body []byte, path, raw string) []byte {
	tb.Helper()
	body, err := sjson.SetRawBytes(slices.Clone(body), sjsonPath.Replace(path), []byte(raw))
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

func deleted(tb testing.TB, body []byte, path string) []byte {
	tb.Helper()
	body, err := sjson.DeleteBytes(slices.Clone(body), sjsonPath.Replace(path))
	if err != nil {
		tb.Fatal(err)
	}
	return body
}

// leaves returns the raw text of all values in a valid document that are neither null
// nor an object nor an array, by path. Empty objects and arrays count as values.
func leaves(body []byte) map[string]string {
	all := make(map[string]string)
	var walk func(path string, v gjson.Result)
	walk = func(path string, v gjson.Result) {
		switch {
		case v.Type == gjson.Null:
		case v.Raw == "{}" || v.Raw == "[]" || !v.IsObject() && !v.IsArray():
			all[path] = v.Raw
		case v.IsArray():
			for i, element := range v.Array() {
				walk(fmt.Sprintf("%s[%d]", path, i), element)
			}
		default:
			v.ForEach(func(name, value gjson.Result) bool {
				walk(strings.TrimPrefix(path+"."+name.String(), "."), value)
				return true
			})
		}
	}
	walk("", gjson.ParseBytes(body))
	return all
}

// checkMapped checks that the members of an accepted input, and nothing else, are in
// what it was mapped to, spelled as they were.
func (w *writeCase) checkMapped(tb testing.TB, body, mapped []byte) {
	tb.Helper()
	targets := make(map[string]string)
	for _, r := range w.rows {
		targets[strings.Replace(r.path, "[0]", "[]", 1)] = r.target
	}
	want := make(map[string]string)
	for path, raw := range leaves(body) {
		index := ""
		if open := strings.Index(path, "["); open >= 0 {
			end := strings.Index(path, "]")
			index = path[open+1 : end]
			path = path[:open+1] + path[end:]
		}
		target, known := targets[path]
		if !known && raw != "{}" {
			tb.Errorf("no row for %s", path)
		}
		if target != "" && raw != "{}" {
			want[strings.Replace(target, "[0]", "["+index+"]", 1)] = raw
		}
	}
	if w.op == modify {
		want["sparse"] = "true"
	}
	if got := leaves(mapped); !maps.Equal(got, want) {
		tb.Errorf("%s\nbecame %s\ngot  %v\nwant %v", body, mapped, got, want)
	}
	if strings.Contains(string(mapped), "{}") {
		tb.Errorf("an empty object in %s", mapped)
	}
}

// bigPurchase returns an update with so many lines.
func bigPurchase(tb testing.TB, lines int) []byte {
	tb.Helper()
	w := writeCases[1]
	body := w.body(tb, true)
	line := gjson.GetBytes(body, "lines.0").Raw
	var b strings.Builder
	for i := range lines {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strings.Replace(line, `"id":"41"`, fmt.Sprintf(`"id":"%d"`, i+1), 1))
	}
	return setRaw(tb, body, "lines", "["+b.String()+"]")
}
