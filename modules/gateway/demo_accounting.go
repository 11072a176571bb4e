package gateway

import (
	"net/http"
	"net/url"
	"time"
)

// The first ids that the simulated accounting provider gives to new entities.
const (
	demoPurchase = "12001"
	demoVendor   = "1526"
)

// demoAccountingOrder says how the lines of [demoAccountingCalls] are to be used: an update
// that is pasted again is stale.
const demoAccountingOrder = "The accounting lines are meant to be pasted in this order, once."

// demoAccountingCalls are the ten operations of contract 4.1, in an order in which they
// can be pasted one after the other: what is created is updated, updated once more with
// a sync_token that is stale by then, and read. A create that is pasted again answers the
// same entity, as it has a key of its own.
func demoAccountingCalls(now time.Time) []demoCall {
	today := now.UTC().Format(time.DateOnly)
	query := "?realmId=4620816365001234560"
	filtered := func(filter string) string { return query + "&filter=" + url.QueryEscape(filter) }
	purchase := func(update, amount string) string {
		return `{` + update + `"payment_type":"Cash","account":{"id":"35","name":"Checking"},"currency":{"value":"USD"},` +
			`"lines":[{"detail_type":"AccountBasedExpenseLineDetail","amount":` + amount + `,"description":"Tyres",` +
			`"account_detail":{"account":{"id":"1","name":"Repairs"}}}]}`
	}
	update := `"id":"` + demoPurchase + `","sync_token":"0","total_amount":412.50,"txn_date":"` + today + `",`

	calls := []demoCall{
		{title: "Accounting: all accounts (contract 4.1 #1)", target: "/accounting/accounts/" + query},
		{title: "Accounting: one account (#2)", target: "/accounting/accounts/35/" + query},
		{title: "Accounting: the purchases since yesterday (#3)", target: "/accounting/purchases/" + filtered("TxnDate >= '"+now.UTC().AddDate(0, 0, -1).Format(time.DateOnly)+"'")},
		{title: "Accounting: create a purchase (#5)", method: http.MethodPost, target: "/accounting/purchases/" + query, headers: []string{"Idempotency-Key: demo-purchase-1"}, body: purchase("", "399.00")},
		{title: "Accounting: update it (#6)", method: http.MethodPut, target: "/accounting/purchases/update" + query, body: purchase(update, "412.50")},
		{title: "Accounting: update it with the same sync_token, which is stale now: 409 (#6)", method: http.MethodPut, target: "/accounting/purchases/update" + query, body: purchase(update, "1.00")},
		{title: "Accounting: read it (#4)", target: "/accounting/purchases/" + demoPurchase + "/" + query},
		{title: "Accounting: the inactive vendors (#7)", target: "/accounting/vendors/" + filtered("Active = false")},
		{title: "Accounting: create a vendor (#9)", method: http.MethodPost, target: "/accounting/vendors/" + query, headers: []string{"Idempotency-Key: demo-vendor-1"}, body: `{"display_name":"Lone Star Tyres","email":{"address":"billing@example.com"}}`},
		{title: "Accounting: update it (#10)", method: http.MethodPut, target: "/accounting/vendors/update" + query, body: `{"id":"` + demoVendor + `","sync_token":"0","display_name":"Lone Star Tyres and Service"}`},
		{title: "Accounting: read it (#8)", target: "/accounting/vendors/" + demoVendor + "/" + query},
	}
	for i := range calls {
		calls[i].headers = append(calls[i].headers, "access-token-accounting: demo-token")
	}
	return calls
}
