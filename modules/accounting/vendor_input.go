package accounting

import "github.com/fleetgate/fleetgate/transform"

// vendorFields is the table "Vendor input" of contract 2.1, row by row.
var vendorFields = []transform.Field{
	{Name: "id", Only: update, Required: update, Digits: true},
	{Name: "sync_token", Only: update, Required: update, Digits: true},
	{Name: "display_name", Required: always},
	{Name: "account_num"},
	{Name: "title"},
	{Name: "given_name"},
	{Name: "family_name"},
	{Name: "suffix"},
	{Name: "company_name"},
	{Name: "print_on_check_name"},
	{Name: "tax_identifier"},
	{Name: "bill_address", Type: transform.TypeObject, Fields: texts(
		"line1", "line2", "line3", "city", "state", "country", "postal", "latitude", "longitude",
	)},
	{Name: "phone", Type: transform.TypeObject, Fields: texts("number")},
	{Name: "mobile", Type: transform.TypeObject, Fields: texts("number")},
	{Name: "email", Type: transform.TypeObject, Fields: texts("address")},
	{Name: "website", Type: transform.TypeObject, Fields: texts("uri")},
}
