package quickbooks

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

const day = 24 * time.Hour

// dataset is what every company begins with.
type dataset struct {
	records   map[*kind][]*record // by id
	addresses int                 // how many addresses there are
}

// newDataset invents the data, as if it had been entered up to a midnight.
func newDataset(seed uint64, midnight time.Time) *dataset {
	d := &dataset{records: make(map[*kind][]*record, len(kinds))}
	d.records[accounts] = newAccounts(sim.NewRand(seed, "quickbooks/accounts"), midnight)
	d.inventVendors(sim.NewRand(seed, "quickbooks/vendors"), midnight)
	d.inventPurchases(sim.NewRand(seed, "quickbooks/purchases"), midnight)
	return d
}

// finish spells an entity whose members are otherwise complete.
func finish(k *kind, r *record, v values, created time.Time) *record {
	v["domain"], v["sparse"] = `"QBO"`, "false"
	v["Id"] = quote(strconv.FormatInt(r.id, 10))
	v["SyncToken"] = quote(strconv.FormatInt(r.token, 10))
	v["MetaData"] = metaData(created, r.updated)
	r.json = []byte(k.class.render(v))
	return r
}

// history invents when an entity was made and last changed, at least so long ago and
// at most so long ago.
func history(rand *sim.Rand, midnight time.Time, least, most time.Duration) (created, updated time.Time) {
	age := rand.Duration(least, most)
	created = midnight.Add(-age).Truncate(time.Second)
	updated = created
	if rand.Chance(30) {
		updated = created.Add(rand.Duration(0, age-least)).Truncate(time.Second)
	}
	return created, updated
}

// amount spells money in one of the ways that the provider does.
func amount(rand *sim.Rand, cents int64) string {
	switch {
	case cents%100 == 0 && rand.Chance(50):
		return strconv.FormatInt(cents/100, 10)
	case cents%10 == 0 && rand.Chance(50):
		return sim.Decimal(cents/10, 1)
	}
	return sim.Decimal(cents, 2)
}

const (
	vendorCount    = 1500 // active ones
	inactiveEvery  = 60   // each so many-th vendor is an inactive one more
	hugeIDsEvery   = 4000 // each so many-th purchase has an Id of 19 digits
	hugeID         = 1_152_921_504_606_846_977
	purchaseCount  = 12_000
	purchaseSpan   = 365 * day
	itemBasedEvery = 12
)

// awkwardNames are names that filters and encodings stumble over.
var awkwardNames = []string{
	"Abe's Bird & Truck Stop",
	"A+ Towing / Recovery",
	"100% Diesel",
	`Back\Slash Welding`,
	"Quote \"Q\" Signs",
	"Café de la Route",
	"Müller & Söhne Spedition",
	"株式会社トラック",
	"O'Brien's Tire, Inc.",
	"Pay-per-Mile <Leasing>",
	"Under_score Parts",
	"Emoji 🚚 Logistics",
}

var (
	vendorFirst  = []string{"Alder", "Beacon", "Cimarron", "Dakota", "Evergreen", "Flint Hills", "Granite", "Harbor", "Ironwood", "Juniper", "Keystone", "Lakeside", "Meridian", "Northgate", "Ozark", "Prairie", "Quarry", "Redwood", "Sagebrush", "Timberline"}
	vendorSecond = []string{"Truck Repair", "Tire Service", "Fuel Depot", "Auto Glass", "Insurance Agency", "Trailer Leasing", "Scale House", "Parts Supply", "Towing", "Body Shop", "Wash & Detail", "Permit Services"}
	cities       = []struct{ name, state, postal string }{
		{"Joplin", "MO", "64801"},
		{"Amarillo", "TX", "79101"},
		{"Effingham", "IL", "62401"},
		{"Laramie", "WY", "82070"},
		{"Salina", "KS", "67401"},
		{"Knoxville", "TN", "37902"},
		{"Valdosta", "GA", "31601"},
	}
)

// vendorNames returns n different names.
func vendorNames(n int) []string {
	names := slices.Clone(awkwardNames)
	for _, city := range cities {
		for _, second := range vendorSecond {
			for _, first := range vendorFirst {
				names = append(names, first+" "+second+" "+city.name)
			}
		}
	}
	return names[:n]
}

func (d *dataset) inventVendors(rand *sim.Rand, midnight time.Time) {
	const total = vendorCount + vendorCount/inactiveEvery
	rows := make([]*record, total)
	for i, display := range vendorNames(total) {
		created, updated := history(rand, midnight, 2*day, 900*day)
		r := &record{id: int64(i) + 1, updated: updated, active: i%(inactiveEvery+1) != inactiveEvery}
		if updated != created {
			r.token = int64(rand.Int(1, 4))
		}
		v := d.inventVendor(rand, display)
		v["V4IDPseudonym"] = quote(pseudonym("", r.id))
		v["Active"] = strconv.FormatBool(r.active)
		if !r.active {
			display += deletedSuffix
			v["DisplayName"] = quote(display)
		}
		r.name = strings.ToLower(display)
		rows[i] = finish(vendors, r, v, created)
	}
	d.records[vendors] = rows
}

func (d *dataset) inventVendor(rand *sim.Rand, display string) values {
	v := values{
		"DisplayName":      quote(display),
		"PrintOnCheckName": quote(display),
		"Balance":          "0",
		"Vendor1099":       strconv.FormatBool(rand.Chance(15)),
		"CurrencyRef":      dollars,
	}
	if rand.Chance(70) {
		v["CompanyName"] = quote(display)
	}
	if rand.Chance(25) {
		v["Balance"] = amount(rand, int64(rand.Int(100, 900_000)))
	}
	if v["Vendor1099"] == "true" {
		v["TaxIdentifier"] = quote("XXXXXX" + rand.String("0123456789", 4))
	}
	if rand.Chance(40) {
		v["AcctNum"] = quote(rand.String("0123456789", rand.Int(4, 21)))
	}
	if rand.Chance(15) {
		v["TermRef"] = `{"value":"` + strconv.Itoa(rand.Int(1, 4)) + `"}`
	}
	if rand.Chance(6) {
		v["BillRate"] = strconv.Itoa(rand.Int(35, 140))
	}
	if rand.Chance(40) {
		v["GivenName"], v["FamilyName"] = quote(sim.Pick(rand, sim.FirstNames)), quote(sim.Pick(rand, sim.LastNames))
	}
	if rand.Chance(60) {
		d.addresses++
		v["BillAddr"] = inventAddress(rand, d.addresses)
	}
	if rand.Chance(50) {
		v["PrimaryPhone"] = phone.render(values{"FreeFormNumber": quote("(555) 01" + rand.String("0123456789", 1) + "-" + rand.String("0123456789", 4))})
	}
	if rand.Chance(30) {
		v["PrimaryEmailAddr"] = emailAddress.render(values{"Address": quote("billing" + rand.String("0123456789", 4) + "@vendor.example")})
	}
	if rand.Chance(15) {
		v["WebAddr"] = website.render(values{"URI": quote("https://vendor" + rand.String("0123456789", 4) + ".example")})
	}
	return v
}

// inventAddress invents an address; the older half has coordinates.
func inventAddress(rand *sim.Rand, id int) string {
	city := sim.Pick(rand, cities)
	v := values{
		"Id":                     quote(strconv.Itoa(id)),
		"Line1":                  quote(strconv.Itoa(rand.Int(1, 9900)) + " " + sim.Pick(rand, []string{"Main St.", "Depot Rd.", "Highway 71", "P.O. Box 9"})),
		"City":                   quote(city.name),
		"CountrySubDivisionCode": quote(city.state),
		"PostalCode":             quote(city.postal),
	}
	if rand.Chance(50) {
		v["Lat"], v["Long"] = quote(sim.Decimal(int64(rand.Int(300_000_000, 450_000_000)), 7)), quote(sim.Decimal(-int64(rand.Int(800_000_000, 1_200_000_000)), 7))
		if rand.Chance(4) {
			v["Lat"], v["Long"] = quote("INVALID"), quote("INVALID")
		}
	}
	return address.render(v)
}

func (d *dataset) inventPurchases(rand *sim.Rand, midnight time.Time) {
	const step = purchaseSpan / purchaseCount
	from := make(map[string][]*record)
	var expenses, payees []*record
	for _, r := range d.records[accounts] {
		if !r.active {
			continue
		}
		switch kind := parse(string(r.json)).text("AccountType"); kind {
		case bank, card:
			from[kind] = append(from[kind], r)
		case "Expense":
			expenses = append(expenses, r)
		}
	}
	for _, r := range d.records[vendors] {
		if r.active {
			payees = append(payees, r)
		}
	}
	references := make(map[*record]string)
	for _, r := range expenses {
		references[r] = accountReference(r)
	}

	rows := make([]*record, purchaseCount)
	for i := range rows {
		at := midnight.Add(time.Duration(i+1)*step - purchaseSpan - rand.Duration(0, step)).Truncate(time.Second)
		r := &record{id: int64(i) + 1, active: true, updated: at}
		if rand.Chance(20) {
			r.token = int64(rand.Int(1, 3))
			r.updated = at.Add(rand.Duration(0, midnight.Sub(at))).Truncate(time.Second)
		}
		v := values{
			"CurrencyRef": dollars,
			"TxnDate":     quote(at.Add(-rand.Duration(0, 3*day)).In(pacific).Format(time.DateOnly)),
		}
		payment, source, transaction := creditCard, card, "54"
		switch n := rand.Int(1, 100); {
		case n <= 20:
			payment, source, transaction = check, bank, "3"
			r.doc = strconv.Itoa(10_001 + i)
			v["DocNumber"], v["PrintStatus"] = quote(r.doc), quote("NotSet")
		case n <= 40:
			payment, source, transaction = cash, bank, "31"
		case n <= 43:
			v["Credit"], transaction = "true", "11"
		default:
			v["Credit"] = "false"
		}
		v["PaymentType"] = quote(payment)
		v["AccountRef"] = accountReference(sim.Pick(rand, from[source]))
		v["PurchaseEx"] = purchaseEx(transaction)
		if rand.Chance(70) {
			v["EntityRef"] = payeeReference(sim.Pick(rand, payees))
		}
		if rand.Chance(10) {
			v["PrivateNote"] = quote(sim.Pick(rand, []string{"Monthly fleet card", "Paid at the pump\n", `Driver said "urgent"`, "Zündschlüssel ersetzt"}))
		}
		r.lines = rand.Int(1, 3)
		v["Line"], v["TotalAmt"] = inventLines(rand, r.lines, i%itemBasedEvery == 7, func() string { return references[sim.Pick(rand, expenses)] })
		if (i+1)%hugeIDsEvery == 0 {
			r.id = hugeID + int64(i)
		}
		rows[i] = finish(purchases, r, v, at)
	}
	slices.SortFunc(rows, func(a, b *record) int { return cmp.Compare(a.id, b.id) })
	d.records[purchases] = rows
}

var items = []string{"Drive tire", "Oil filter", "Brake pad set", "Coolant, 5 gal", "Head lamp"}

// inventLines returns the lines of a purchase and what they add up to.
func inventLines(rand *sim.Rand, count int, byItem bool, account func() string) (lines, total string) {
	var s sum
	var j sim.JSON
	j.Open('[')
	for n := range count {
		v := values{"Id": quote(strconv.Itoa(n + 1)), "CustomExtensions": "[]"}
		if byItem {
			price, quantity := int64(rand.Int(2, 400))*25, int64(rand.Int(1, 12))
			item := rand.Int(0, len(items)-1)
			v["Amount"] = amount(rand, price*quantity)
			v["Description"], v["DetailType"] = quote(items[item]), quote(itemLine)
			v[itemLine] = itemDetail.render(values{
				"BillableStatus": quote("NotBillable"),
				"ItemRef":        makeReference(strconv.Itoa(item+1), items[item]),
				"UnitPrice":      amount(rand, price),
				"Qty":            strconv.FormatInt(quantity, 10),
				"TaxCodeRef":     noTax,
			})
		} else {
			v["Amount"] = amount(rand, int64(rand.Int(1, 2500))*int64(sim.Pick(rand, []int{1, 10, 50, 100})))
			v["DetailType"] = quote(accountLine)
			if rand.Chance(40) {
				v["Description"] = quote("Unit " + strconv.Itoa(rand.Int(1001, 1180)))
			}
			v[accountLine] = accountDetail.render(values{
				"AccountRef":     account(),
				"BillableStatus": quote("NotBillable"),
				"TaxCodeRef":     noTax,
			})
		}
		s.add(v["Amount"])
		j.Element([]byte(line.render(v)))
	}
	j.Close(']')
	return string(j), s.String()
}
