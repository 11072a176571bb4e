package quickbooks

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// The values of PaymentType.
const (
	cash       = "Cash"
	check      = "Check"
	creditCard = "CreditCard"
)

// The values of a line's DetailType, which are also the names of the details.
const (
	accountLine = "AccountBasedExpenseLineDetail"
	itemLine    = "ItemBasedExpenseLineDetail"
)

// maxLines is how many lines the provider takes.
const maxLines = 10_000

var purchaseClass = &class{"Purchase", []field{
	{name: "AccountRef", kind: group, class: reference},
	{name: "PaymentType", allowed: []string{cash, check, creditCard}},
	{name: "PaymentMethodRef", kind: group, class: reference},
	{name: "EntityRef", kind: group, class: reference},
	{name: "RemitToAddr", kind: group, class: address},
	{name: "Credit", kind: boolean},
	{name: "TotalAmt", kind: decimal, readOnly: true},
	{name: "PrintStatus", allowed: []string{"NotSet", "NeedToPrint", "PrintComplete"}},
	{name: "GlobalTaxCalculation", allowed: []string{"TaxExcluded", "TaxInclusive", "NotApplicable"}},
	{name: "PurchaseEx", kind: anything, readOnly: true},
	{name: "domain", kind: anything, readOnly: true},
	{name: "sparse", kind: anything, readOnly: true},
	{name: "Id", readOnly: true},
	{name: "SyncToken", kind: anything, readOnly: true},
	{name: "MetaData", kind: anything, readOnly: true},
	{name: "CustomField", kind: anything, readOnly: true},
	{name: "DocNumber", max: 21},
	{name: "TxnDate", kind: date},
	{name: "DepartmentRef", kind: group, class: reference},
	{name: "CurrencyRef", kind: group, class: reference},
	{name: "ExchangeRate", kind: decimal},
	{name: "PrivateNote", max: 4000},
	{name: "LinkedTxn", kind: anything, readOnly: true},
	{name: "Line", kind: groups, class: line},
	{name: "TxnTaxDetail", kind: anything},
	{name: "ProjectRef", kind: group, class: reference},
}}

var line = &class{"Line", []field{
	{name: "Id"},
	{name: "LineNum", kind: decimal},
	{name: "Description", max: 4000},
	{name: "Amount", kind: decimal},
	{name: "LinkedTxn", kind: anything, readOnly: true},
	{name: "DetailType", allowed: []string{accountLine, itemLine}},
	{name: accountLine, kind: group, class: accountDetail},
	{name: itemLine, kind: group, class: itemDetail},
	{name: "ProjectRef", kind: group, class: reference},
	{name: "CustomExtensions", kind: anything, readOnly: true},
}}

var accountDetail = &class{accountLine, []field{
	{name: "CustomerRef", kind: group, class: reference},
	{name: "ClassRef", kind: group, class: reference},
	{name: "AccountRef", kind: group, class: reference},
	{name: "BillableStatus", allowed: billableStatuses},
	{name: "MarkupInfo", kind: group, class: markup},
	{name: "TaxAmount", kind: decimal},
	{name: "TaxCodeRef", kind: group, class: reference},
	{name: "TaxInclusiveAmt", kind: decimal},
}}

var itemDetail = &class{itemLine, []field{
	{name: "BillableStatus", allowed: billableStatuses},
	{name: "ItemRef", kind: group, class: reference},
	{name: "CustomerRef", kind: group, class: reference},
	{name: "ClassRef", kind: group, class: reference},
	{name: "MarkupInfo", kind: group, class: markup},
	{name: "UnitPrice", kind: decimal},
	{name: "Qty", kind: decimal},
	{name: "TaxCodeRef", kind: group, class: reference},
	{name: "TaxInclusiveAmt", kind: decimal},
}}

var markup = &class{"MarkupInfo", []field{
	{name: "PriceLevelRef", kind: group, class: reference},
	{name: "Percent", kind: decimal},
	{name: "MarkUpIncomeAccountRef", kind: group, class: reference, readOnly: true},
}}

var billableStatuses = []string{"Billable", "NotBillable", "HasBeenBilled"}

// paidFrom are the types of the accounts that each type of payment may come from.
var paidFrom = map[string][]string{
	cash:       {bank, "Other Current Asset"},
	check:      {bank},
	creditCard: {card},
}

// completePurchase checks a purchase as a whole and fills in what the provider does.
// The caller holds c.mu.
func (c *company) completePurchase(r *record, v values, w *write) *fault {
	payment := v.text("PaymentType")
	if w.sent["PaymentType"] == "" {
		return missing("PaymentType")
	}
	if v["AccountRef"] == "" {
		return missing("AccountRef")
	}
	if f := c.completeHead(v, payment, w.at); f != nil {
		return f
	}
	r.doc = v.text("DocNumber")
	if other := c.withDocNumber(r); other != nil && !w.duplicateDocNumber {
		return duplicateDocNumber(r.doc, other.id)
	}
	if f := c.completeLines(r, v); f != nil {
		return f
	}

	transaction := map[string]string{cash: "31", check: "3", creditCard: "54"}[payment]
	if payment == creditCard {
		if v["Credit"] == "" {
			v["Credit"] = "false"
		}
		if v["Credit"] == "true" {
			transaction = "11"
		}
	} else {
		v["Credit"] = ""
	}
	if payment == check && v["PrintStatus"] == "" {
		v["PrintStatus"] = quote("NotSet")
	}
	v["PurchaseEx"] = purchaseEx(transaction)
	return nil
}

// completeHead resolves the references of a purchase and fills in its date.
func (c *company) completeHead(v values, payment string, at time.Time) *fault {
	account, f := c.account(v["AccountRef"])
	if f != nil {
		return f
	}
	if accountType := parse(string(account.json)).text("AccountType"); !slices.Contains(paidFrom[payment], accountType) {
		return invalid("", "6430", "Invalid account type used",
			"Invalid account type: a purchase by "+payment+" cannot be paid from an account of type "+accountType)
	}
	v["AccountRef"] = accountReference(account)
	if v["CurrencyRef"], f = currency(v["CurrencyRef"]); f != nil {
		return f
	}
	if v["TxnDate"] == "" {
		v["TxnDate"] = quote(at.In(pacific).Format(time.DateOnly))
	}
	payee := v["EntityRef"]
	if kind := gjson.Get(payee, "type").String(); payee == "" || kind != "" && kind != "Vendor" {
		return nil // other kinds of payees are not simulated
	}
	id := gjson.Get(payee, "value").String()
	vendor := c.lookUp(vendors, id)
	if vendor == nil || !vendor.active {
		return badReference("Names", id)
	}
	v["EntityRef"] = payeeReference(vendor)
	return nil
}

// completeLines replaces the lines of a purchase by those that it was sent, gives Ids
// to new ones, and adds the amounts up.
func (c *company) completeLines(r *record, v values) *fault {
	lines := gjson.Parse(v["Line"]).Array()
	switch {
	case v["Line"] == "":
		return missing("Line")
	case len(lines) == 0:
		return invalid("Line", "2250", "Missing lines", "You must enter at least one split line.")
	case len(lines) > maxLines:
		return invalid("Line", "6030", "Upload request size exceeds allowed limit", "A transaction has at most "+strconv.Itoa(maxLines)+" lines.")
	}
	var known map[string]bool
	if old := c.tables[purchases].find(r.id); old != nil {
		known = lineIDs(old)
	}
	var total sum
	var j sim.JSON
	j.Open('[')
	for _, one := range lines {
		l := parse(one.Raw)
		if f := c.completeLine(l); f != nil {
			return f
		}
		id := l.text("Id")
		if !known[id] {
			r.lines++
			id = strconv.Itoa(r.lines)
		}
		delete(known, id) // a second line with the Id is a new one
		l["Id"] = quote(id)
		total.add(l["Amount"])
		j.Element([]byte(line.render(l)))
	}
	j.Close(']')
	v["Line"], v["TotalAmt"] = string(j), total.String()
	return nil
}

func lineIDs(r *record) map[string]bool {
	ids := make(map[string]bool)
	for _, id := range gjson.GetBytes(r.json, "Line.#.Id").Array() {
		ids[id.String()] = true
	}
	return ids
}

// completeLine checks one line and fills in what the provider does.
func (c *company) completeLine(l values) *fault {
	if l["Amount"] == "" {
		return missing("Amount")
	}
	kind := l.text("DetailType")
	if kind == "" {
		return missing("DetailType")
	}
	if l[kind] == "" {
		return missing(kind)
	}
	detail, class := parse(l[kind]), accountDetail
	if kind == accountLine {
		if detail["AccountRef"] == "" {
			return missing("AccountRef")
		}
		account, f := c.account(detail["AccountRef"])
		if f != nil {
			return f
		}
		detail["AccountRef"] = accountReference(account)
	} else {
		class = itemDetail
		if detail["ItemRef"] == "" {
			return missing("ItemRef")
		}
	}
	if detail["BillableStatus"] == "" {
		detail["BillableStatus"] = quote("NotBillable")
		if detail["CustomerRef"] != "" {
			detail["BillableStatus"] = quote("Billable")
		}
	}
	if detail["TaxCodeRef"] == "" {
		detail["TaxCodeRef"] = noTax
	}
	for _, other := range []string{accountLine, itemLine} {
		l[other] = ""
	}
	l[kind] = class.render(detail)
	l["CustomExtensions"] = "[]"
	return nil
}

const noTax = `{"value":"NON"}`

// account finds the active account that a reference names.
func (c *company) account(ref string) (*record, *fault) {
	id := gjson.Get(ref, "value").String()
	r := c.lookUp(accounts, id)
	if r == nil || !r.active {
		return nil, badReference("Accounts", id)
	}
	return r, nil
}

// accountReference refers to an account by the name that includes its parents'.
func accountReference(account *record) string {
	return makeReference(strconv.FormatInt(account.id, 10), gjson.GetBytes(account.json, "FullyQualifiedName").String())
}

func payeeReference(vendor *record) string {
	return reference.render(values{
		"value": quote(strconv.FormatInt(vendor.id, 10)),
		"name":  gjson.GetBytes(vendor.json, "DisplayName").Raw,
		"type":  quote("Vendor"),
	})
}

// withDocNumber returns another purchase with the DocNumber of r, if there is one.
func (c *company) withDocNumber(r *record) *record {
	if r.doc == "" {
		return nil
	}
	for other := range c.tables[purchases].all() {
		if other.doc == r.doc && other.id != r.id {
			return other
		}
	}
	return nil
}

func duplicateDocNumber(doc string, id int64) *fault {
	return invalid("", "6140", "Duplicate Document Number Error",
		"Duplicate Document Number Error : You must specify a different number. This number has already been used. DocNumber="+doc+
			" is assigned to TxnType=Purchase with TxnId="+strconv.FormatInt(id, 10))
}

// purchaseEx is the member that tells the type of a transaction.
func purchaseEx(transaction string) string {
	return `{"any":[{"name":"{http://schema.intuit.com/finance/v3}NameValue",` +
		`"declaredType":"com.intuit.schema.finance.v3.NameValue",` +
		`"scope":"javax.xml.bind.JAXBElement$GlobalScope",` +
		`"value":{"Name":"TxnType","Value":"` + transaction + `"},` +
		`"nil":false,"globalScope":true,"typeSubstituted":false}]}`
}

// sum adds decimals exactly. It has as many decimals as the longest of them.
type sum struct {
	total    big.Rat
	decimals int
}

// add adds a number as isDecimal allows it.
func (s *sum) add(number string) {
	var r big.Rat
	r.SetString(number)
	s.total.Add(&s.total, &r)
	_, fraction, _ := strings.Cut(number, ".")
	s.decimals = max(s.decimals, len(fraction))
}

func (s *sum) String() string { return s.total.FloatString(s.decimals) }
