package quickbooks

import (
	"strconv"
	"strings"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// The types of the accounts that purchases are paid from.
const (
	bank = "Bank"
	card = "Credit Card"
)

const (
	expenseParents   = 20
	bankAccounts     = 6
	cardAccounts     = 20
	accountCount     = 200 // active ones
	inactiveAccounts = 8
)

// ledgerAccount is one account of the chart.
type ledgerAccount struct {
	name, parent                  string
	parentID                      int64
	classification, kind, subtype string
	inactive, carriesBalance      bool
}

var expenseNames = []string{
	"Advertising", "Bank Charges", "Drivers' Meals", "Dues & Subscriptions", "Fuel", "Insurance", "Job Supplies",
	"Legal & Professional Fees", "Licences and Permits", "Lodging", "Lubricants", "Office Supplies", "Parking",
	"Rent or Lease", "Repairs", "Tires", "Tolls", "Training", "Uniforms", "Utilities",
}

// fixedAccounts are accounts that exist once.
var fixedAccounts = []ledgerAccount{
	{name: "Accounts Payable (A/P)", classification: "Liability", kind: "Accounts Payable", subtype: "AccountsPayable", carriesBalance: true},
	{name: "Accounts Receivable (A/R)", classification: "Asset", kind: "Accounts Receivable", subtype: "AccountsReceivable", carriesBalance: true},
	{name: "Undeposited Funds", classification: "Asset", kind: "Other Current Asset", subtype: "UndepositedFunds", carriesBalance: true},
	{name: "Trucks", classification: "Asset", kind: "Fixed Asset", subtype: "Vehicles", carriesBalance: true},
	{name: "Trailers", classification: "Asset", kind: "Fixed Asset", subtype: "Vehicles", carriesBalance: true},
	{name: "Notes Payable", classification: "Liability", kind: "Long Term Liability", subtype: "NotesPayable", carriesBalance: true},
	{name: "Opening Balance Equity", classification: "Equity", kind: "Equity", subtype: "OpeningBalanceEquity", carriesBalance: true},
	{name: "Retained Earnings", classification: "Equity", kind: "Equity", subtype: "RetainedEarnings"},
	{name: "Freight Income", classification: "Revenue", kind: "Income", subtype: "ServiceFeeIncome"},
	{name: "Fuel Surcharge Income", classification: "Revenue", kind: "Income", subtype: "ServiceFeeIncome"},
}

// chart returns the accounts in the order of their Ids: expenses first, the banks from
// 35 and the cards from 41.
func chart() []ledgerAccount {
	expense := func(name, parent string, parentID int64) ledgerAccount {
		return ledgerAccount{name: name, parent: parent, parentID: parentID, classification: "Expense", kind: "Expense", subtype: "OtherMiscellaneousServiceCost"}
	}
	var all, branches []ledgerAccount
	for _, n := range expenseNames {
		all = append(all, expense(n, "", 0))
	}
	for _, city := range cities {
		for id, parent := range expenseNames {
			branches = append(branches, expense(parent+" "+city.name, parent, int64(id)+1))
		}
	}
	const beforeBanks = 34 - expenseParents
	all = append(all, branches[:beforeBanks]...)
	for i := range bankAccounts {
		all = append(all, ledgerAccount{
			name: "Checking " + strconv.Itoa(i+1), classification: "Asset", kind: bank, subtype: "Checking", carriesBalance: true,
		})
	}
	for i := range cardAccounts {
		all = append(all, ledgerAccount{
			name: "Fleet Card " + strconv.Itoa(i+1), classification: "Liability", kind: card, subtype: "CreditCard", carriesBalance: true,
		})
	}
	all = append(all, fixedAccounts...)
	all = append(all, branches[beforeBanks:]...)
	for i := 1; len(all) < accountCount; i++ {
		all = append(all, ledgerAccount{
			name: "Unit " + strconv.Itoa(1000+i) + " Running Cost", classification: "Expense", kind: "Other Expense", subtype: "OtherMiscellaneousExpense",
		})
	}
	for i := range inactiveAccounts {
		all = append(all, ledgerAccount{
			name: "Closed Card " + strconv.Itoa(i+1), classification: "Liability", kind: card, subtype: "CreditCard", inactive: true,
		})
	}
	return all
}

func newAccounts(rand *sim.Rand, midnight time.Time) []*record {
	all := chart()
	rows := make([]*record, len(all))
	for i, account := range all {
		created, updated := history(rand, midnight, 400*day, 900*day)
		r := &record{id: int64(i) + 1, active: !account.inactive, updated: updated}
		if updated != created {
			r.token = int64(rand.Int(1, 3))
		}
		title := account.name
		if account.inactive {
			title += deletedSuffix
		}
		r.name = strings.ToLower(title)
		v := values{
			"Name":               quote(title),
			"SubAccount":         strconv.FormatBool(account.parent != ""),
			"FullyQualifiedName": quote(title),
			"Active":             strconv.FormatBool(r.active),
			"Classification":     quote(account.classification),
			"AccountType":        quote(account.kind),
			"AccountSubType":     quote(account.subtype),
			"CurrentBalance":     "0",
			"CurrencyRef":        dollars,
		}
		if account.parent != "" {
			v["ParentRef"] = `{"value":"` + strconv.FormatInt(account.parentID, 10) + `"}`
			v["FullyQualifiedName"] = quote(account.parent + ":" + title)
		}
		if account.carriesBalance {
			cents := int64(rand.Int(10_000, 90_000_000))
			if account.classification == "Liability" {
				cents = -cents
			}
			v["CurrentBalance"] = amount(rand, cents)
		}
		v["CurrentBalanceWithSubAccounts"] = v["CurrentBalance"]
		rows[i] = finish(accounts, r, v, created)
	}
	return rows
}
