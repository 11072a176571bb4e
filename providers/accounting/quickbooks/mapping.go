package quickbooks

import (
	"slices"

	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/transform"
)

// What becomes of the inputs of contract 2.1. A create has neither Id nor SyncToken,
// either of which would make an update of it.
var (
	createTargets = map[accounting.Kind][]transform.Target{
		accounting.KindPurchase: purchaseTargets,
		accounting.KindVendor:   vendorTargets,
	}
	updateTargets = map[accounting.Kind][]transform.Target{
		accounting.KindPurchase: slices.Concat(sparseTargets, purchaseTargets),
		accounting.KindVendor:   slices.Concat(sparseTargets, vendorTargets),
	}
)

// sparseTargets make an update of a write, and one that leaves alone what it does not
// name: the payee of a purchase, say, or that it is a refund.
var sparseTargets = []transform.Target{
	{Name: "Id", From: "id"},
	{Name: "SyncToken", From: "sync_token"},
	{Name: "sparse", Constant: "true"},
}

var purchaseTargets = []transform.Target{
	{Name: "Credit", From: "credit"},
	{Name: "TotalAmt", From: "total_amount"}, // QuickBooks sums the lines up itself
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
		// Beside the detail, as opposed to where the contract has it.
		{Name: "ProjectRef", Members: reference("account_detail.project", "value")},
		{Name: "AccountBasedExpenseLineDetail", Members: []transform.Target{
			{Name: "AccountRef", Members: reference("account_detail.account", "id")},
			{Name: "TaxAmount", From: "account_detail.tax_amount"},
			{Name: "TaxInclusiveAmt", From: "account_detail.tax_inclusive_amount"},
			{Name: "ClassRef", Members: reference("account_detail.class", "id")},
			{Name: "TaxCodeRef", Members: reference("account_detail.tax_code", "value")},
			{Name: "MarkupInfo", Members: []transform.Target{
				{Name: "PriceLevelRef", Members: value("account_detail.markup_info.price_level")},
				{Name: "Percent", From: "account_detail.markup_info.percent"},
				{Name: "MarkUpIncomeAccountRef", Members: value("account_detail.markup_info.mark_up_income_account")},
			}},
			{Name: "BillableStatus", From: "account_detail.billable_status"},
			{Name: "CustomerRef", Members: reference("account_detail.customer", "id")},
		}},
	}},
}

var vendorTargets = []transform.Target{
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
		{Name: "Lat", From: "bill_address.latitude"},
		{Name: "Long", From: "bill_address.longitude"},
	}},
	{Name: "PrimaryPhone", Members: []transform.Target{{Name: "FreeFormNumber", From: "phone.number"}}},
	{Name: "Mobile", Members: []transform.Target{{Name: "FreeFormNumber", From: "mobile.number"}}},
	{Name: "PrimaryEmailAddr", Members: []transform.Target{{Name: "Address", From: "email.address"}}},
	{Name: "WebAddr", Members: []transform.Target{{Name: "URI", From: "website.uri"}}},
}

// reference makes a reference of the object at from, whose id has the given name.
func reference(from, id string) []transform.Target {
	return []transform.Target{{Name: "value", From: from + "." + id}, {Name: "name", From: from + ".name"}}
}

// value makes a reference of an object that has no name.
func value(from string) []transform.Target {
	return []transform.Target{{Name: "value", From: from + ".value"}}
}
