package quikq

import (
	"fmt"
	"strconv"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// product is something that truck stops sell.
type product struct {
	code int64
	name string
	fuel bool
	low  int // lowest price of a unit in thousandths of the currency
	most int // greatest quantity in thousandths of a unit
}

var catalog = []product{
	{20, "Diesel #2", true, 3399, 180_000},
	{62, "DEF Bulk", true, 3299, 12_000},
	{21, "Reefer Diesel", true, 3349, 45_000},
	{33, "Motor Oil", false, 21_990, 3000},
	{41, "Washer Fluid", false, 4490, 2000},
	{50, "Scale Ticket", false, 14_500, 1000},
	{90, "Cash Advance", false, 40_000, 5000},
}

func (p product) render(b *sim.JSON) {
	b.Open('{')
	b.Object("product")
	b.Int("productCode", p.code)
	b.Text("productName", p.name)
	b.Close('}')
	b.Close('}')
}

// purchase renders one transaction.
type purchase struct {
	rand     *sim.Rand
	t        *transaction
	at       station
	number   int64
	midnight time.Time

	cashier string
	paid    int // sub-transactions so far
}

func (p *purchase) render() {
	unit := strconv.Itoa(p.rand.Int(1001, 1180))
	driver := "D" + strconv.Itoa(p.rand.Int(2001, 2300))
	trailer := ""
	if p.rand.Chance(60) {
		trailer = "T" + strconv.Itoa(p.rand.Int(501, 780))
	}
	p.cashier = fmt.Sprintf("%04d", p.rand.Int(1, 199))

	var j sim.JSON
	j.Int("transNumber", p.number)
	j.Text("beginDate", p.t.completed.Add(-p.rand.Duration(4*time.Minute, 25*time.Minute)).Format("2006-01-02-15:04:05"))
	j.Text("complete", stamp(p.t.completed))
	j.Text("cashier", p.cashier)
	j.Text("driver", driver)
	j.Text("unit", unit)
	j.Text("trailer", trailer)
	j.Text("station", p.at.code)
	j.Text("magCard", "************"+p.rand.String("0123456789", 4))
	j.Text("magCardType", sim.Pick(p.rand, []string{"FLEET", "FLEET", "DRIVER"}))
	j.Text("transType", "FUEL")
	j.Text("imageExists", strconv.FormatBool(p.rand.Chance(15)))
	j.Object("dataCapture")
	j.Text("driverCode", driver)
	j.Text("odometer", strconv.Itoa(p.rand.Int(90_000, 890_000)))
	j.Text("trailerNumber", trailer)
	j.Text("unitNumber", unit)
	prompted := unit
	if p.rand.Chance(3) {
		prompted = strconv.Itoa(p.rand.Int(1001, 1180))
	}
	j.Text("promptedUnit", prompted)
	j.Close('}')
	j.Array("subTransactions")
	p.subTransactions(&j)
	j.Close(']')
	p.t.rest = j
}

// subTransactions writes the tractor's fuel and, for some, the trailer's, other goods
// and a purchase that was voided.
func (p *purchase) subTransactions(j *sim.JSON) {
	tractor := []int{0}
	if p.rand.Chance(55) {
		tractor = append(tractor, 1)
	}
	p.subTransaction(j, tractor, false)
	if p.rand.Chance(20) {
		p.subTransaction(j, []int{2}, false)
	}
	if p.rand.Chance(15) {
		goods := []int{p.rand.Int(3, len(catalog)-1)}
		if goods[0] < len(catalog)-1 && p.rand.Chance(40) {
			goods = append(goods, goods[0]+1)
		}
		p.subTransaction(j, goods, false)
		if p.rand.Chance(15) {
			p.subTransaction(j, goods, true)
		}
	}
}

func (p *purchase) subTransaction(j *sim.JSON, goods []int, void bool) {
	p.paid++
	var details sim.JSON
	details.Open('[')
	var tax, sub, adjusted int64
	for i, g := range goods {
		l := p.line(catalog[g], void)
		l.render(&details, int64(i+1), catalog[g], p.at)
		tax, sub, adjusted = tax+l.tax, sub+l.total, adjusted+l.total-l.discount
		p.t.products |= 1 << g
	}
	details.Close(']')

	event := p.t.completed.Add(-p.rand.Duration(10*time.Second, 2*time.Minute)).Truncate(time.Second)
	posted := event.Add(p.rand.Duration(5*time.Second, 40*time.Second))
	if p.rand.Chance(5) { // posted late, though not later than yesterday
		posted = event.Add(p.rand.Duration(0, min(15*day, p.midnight.Sub(event))))
	}
	voided, credit, kind := "NO", "DB", "P"
	if void {
		voided, credit, kind = "YES", "CR", "V"
	}
	j.Open('{')
	j.Object("subTransaction")
	j.Int("seq", int64(p.paid))
	j.Int("subTransNum", int64(p.paid))
	j.Text("station", p.at.code)
	j.Text("cashier", p.cashier)
	j.Text("completion", "C")
	j.Text("confirmation", p.rand.String("0123456789", 6))
	j.Text("voided", voided)
	j.Text("eventType", kind)
	j.Text("eventDate", stamp(event))
	j.Text("postDate", stamp(posted.Truncate(time.Second)))
	j.Fixed("totalTax", tax, 2)
	j.Fixed("subTotal", sub, 2)
	j.Fixed("adjSubTotal", adjusted, 2)
	j.Text("creditType", credit)
	j.Int("purSubTranNum", int64(p.paid))
	j.Name("productDetails")
	*j = append(*j, details...)
	j.Close('}')
	j.Close('}')
}

// line is one product of a sub-transaction. Money is in hundredths of the currency.
type line struct {
	quantity, price        int64 // thousandths of a unit and of the currency
	total, discount, tax   int64
	fuelTotal, fee, pumped int64 // pumped is in hundredths of a litre
	adjustedPrice          int64 // ten-thousandths of the currency
}

func (p *purchase) line(what product, void bool) line {
	l := line{
		quantity: int64(p.rand.Int(what.most/4, what.most)),
		price:    int64(what.low + p.rand.Int(0, 900)),
	}
	if !what.fuel { // sold by the piece
		l.quantity = max(1000, l.quantity/1000*1000)
	}
	off := p.rand.Int(20, 450)      // discount on a unit in thousandths
	if p.at.canadian && what.fuel { // sold by the litre
		off /= 4
		l.quantity = l.quantity * 3785 / 1000
		l.price = l.price * 1000 / 2780
		l.pumped = (l.quantity + 5) / 10
	} else if what.fuel {
		l.pumped = (l.quantity*3_785_411_784 + 5_000_000_000) / 10_000_000_000
	}
	l.total = (l.quantity*l.price + 5000) / 10_000
	if what.fuel {
		l.fuelTotal = l.total
		if p.rand.Chance(80) {
			l.discount = (l.quantity*int64(off) + 5000) / 10_000
		}
	} else if p.rand.Chance(30) {
		l.fee = 150
	}
	if p.at.canadian {
		l.tax = (l.total*13 + 50) / 100
	}
	l.adjustedPrice = ((l.total-l.discount)*100_000 + l.quantity/2) / l.quantity
	if void {
		l.quantity, l.pumped = -l.quantity, -l.pumped
		l.total, l.discount, l.tax, l.fuelTotal, l.fee = -l.total, -l.discount, -l.tax, -l.fuelTotal, -l.fee
	}
	return l
}

func (l line) render(j *sim.JSON, seq int64, what product, at station) {
	unit, currency, rate := "G", "USD", int64(10_000)
	if at.canadian {
		unit, currency, rate = "L", "CAD", 13_642
	}
	j.Open('{')
	j.Object("productDetail")
	j.Int("seq", seq)
	j.Int("prodSeq", seq)
	j.Int("productIndex", seq)
	j.Int("productCode", what.code)
	j.Fixed("quantity", l.quantity, 3)
	j.Text("uom", unit)
	j.Fixed("unitCost", l.price, 3)
	j.Fixed("liters", l.pumped, 2)
	j.Text("exchange", currency)
	j.Fixed("exchRate", rate, 4)
	j.Fixed("discount", l.discount, 2)
	j.Fixed("tax1", l.tax, 2)
	j.Fixed("tax2", 0, 2)
	j.Fixed("productTotal", l.total, 2)
	j.Int("useGlobal", 0)
	j.Fixed("fuelTotal", l.fuelTotal, 2)
	j.Fixed("adjustedTotal", l.total-l.discount, 2)
	j.Fixed("adjustedPrice", l.adjustedPrice, 4)
	j.Fixed("adjustedDiscount", l.discount, 2)
	j.Text("priceUsed", "B")
	j.Fixed("carrierFee", l.fee, 2)
	j.Fixed("merchFee", 0, 2)
	j.Close('}')
	j.Close('}')
}

// stamp spells a time as the provider's database does.
func stamp(t time.Time) string { return t.Format("2006-01-02-15.04.05.000000") }
