package accounting

import "github.com/fleetgate/fleetgate/transform"

// purchaseFields is the table "Purchase input" of contract 2.1, row by row. What it
// gives to updates alone is an unknown member of a create: nothing that a caller sends
// is dropped, because a refund that loses its credit is a charge.
var purchaseFields = []transform.Field{
	{Name: "id", Only: update, Required: update, Digits: true},
	{Name: "sync_token", Only: update, Required: update, Digits: true},
	{Name: "credit", Type: transform.TypeBoolean, Only: update},
	{Name: "total_amount", Type: transform.TypeDecimal, Only: update, Required: update},
	{Name: "txn_date", Type: transform.TypeDate, Only: update, Required: update},
	{Name: "payment_type", Required: always, Allowed: []string{"Cash", "CreditCard", "Check"}},
	{Name: "account", Type: transform.TypeObject, Required: always, ByMembers: true, Fields: accountFields},
	{Name: "currency", Type: transform.TypeObject, Required: always, ByMembers: true, Fields: []transform.Field{
		{Name: "value", Required: always}, // and see checkCurrency
		{Name: "name"},
	}},
	{Name: "lines", Type: transform.TypeArray, Required: always, Fields: []transform.Field{
		{Name: "id", Only: update, Digits: true}, // missing from the lines that are new
		{Name: "detail_type", Required: always, Allowed: []string{"AccountBasedExpenseLineDetail"}},
		{Name: "amount", Type: transform.TypeDecimal, Required: always},
		{Name: "description"},
		{Name: "line_num", Type: transform.TypeInteger},
		{Name: "account_detail", Type: transform.TypeObject, Required: always, Fields: accountDetailFields},
	}},
}

// accountDetailFields is the table of `lines[].account_detail` of contract 2.1.
var accountDetailFields = []transform.Field{
	{Name: "account", Type: transform.TypeObject, Required: always, ByMembers: true, Fields: accountFields},
	{Name: "tax_amount", Type: transform.TypeDecimal},
	{Name: "tax_inclusive_amount", Type: transform.TypeDecimal},
	{Name: "class", Type: transform.TypeObject, Fields: texts("id", "name")},
	{Name: "tax_code", Type: transform.TypeObject, Fields: texts("value", "name")},
	{Name: "markup_info", Type: transform.TypeObject, Fields: []transform.Field{
		{Name: "price_level", Type: transform.TypeObject, Fields: texts("value")},
		{Name: "percent", Type: transform.TypeDecimal},
		{Name: "mark_up_income_account", Type: transform.TypeObject, Fields: texts("value")},
	}},
	{Name: "billable_status", Allowed: []string{"Billable", "NotBillable", "HasBeenBilled"}},
	{Name: "customer", Type: transform.TypeObject, Fields: texts("id", "name")},
	{Name: "project", Type: transform.TypeObject, Fields: texts("value", "name")},
}

// accountFields are the members of an account, in the purchase and in each line.
var accountFields = []transform.Field{
	{Name: "id", Required: always, Digits: true},
	{Name: "name", Required: always},
}
