package fleetrock

import (
	"slices"
	"strconv"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

const (
	orderCount = 600
	orderSpan  = 90 * day // the oldest order is so old

	// Of the orders, each of this many is seen twice, has numbers for amounts, or has
	// a total that its lines do not add up to. One has no amounts at all.
	doubledEvery   = 25
	numericEvery   = 7
	unequalEvery   = 40
	withoutAmounts = 10
)

// order is one row of the list.
type order struct {
	id, status string
	dates      [eventCount]time.Time // zero where it did not happen
	json       []byte
}

type vendor struct{ name, company, city, state, zip, zone string }

var vendors = []vendor{
	{"Crossroads Diesel Service", "CDS01", "Joplin", "MO", "64801", "Central Standard Time"},
	{"Panhandle Truck Repair", "PTR01", "Amarillo", "TX", "79101", "Central Standard Time"},
	{"Blue Ridge Fleet Care", "BRF02", "Knoxville", "TN", "37902", "Eastern Standard Time"},
	{"High Plains Tire & Trailer", "HPT01", "Laramie", "WY", "82070", "Mountain Standard Time"},
	{"O'Malley \"Roadside\" Repair", "OMR01", "Effingham", "IL", "62401", "Central Standard Time"},
	{"Taller Muñoz Hermanos", "TMH01", "Laredo", "TX", "78040", "Central Standard Time"},
}

// newOrders returns the orders of one day, newest first, as the customer's account
// sees them and some again as the vendor's does.
func newOrders(seed uint64, midnight time.Time) []order {
	rand := sim.NewRand(seed, "fleetrock")
	const step = orderSpan / orderCount
	rows := make([]order, 0, orderCount+orderCount/doubledEvery)
	for i := range orderCount {
		age := 30*time.Minute + time.Duration(i)*step + rand.Duration(0, step/2)
		o := order{id: strconv.Itoa(3_841_016 - 3*i)}
		o.live(rand, midnight.Add(-age).Truncate(time.Second), age)
		s := sheet{
			rand:    rand,
			order:   &o,
			vendor:  sim.Pick(rand, vendors),
			numeric: i%numericEvery == 3,
			unequal: i%unequalEvery == 17,
			empty:   i == withoutAmounts,
		}
		s.invent()
		o.json = s.render("Main", "Sandbox Freight > Main")
		rows = append(rows, o)
		if i%doubledEvery == 5 {
			o.json = s.render(s.vendor.company, s.vendor.name)
			rows = append(rows, o)
		}
	}
	return slices.Clip(rows)
}

// live fills in what happened to an order between its creation and midnight.
func (o *order) live(rand *sim.Rand, at time.Time, age time.Duration) {
	o.dates[created], o.dates[updated] = at, at
	o.dates[received] = at.Add(age / 50).Truncate(time.Second)
	o.status = "Not Started"
	switch {
	case rand.Chance(4):
		o.status = "Deleted"
		o.happen(updated, at.Add(age/3))
		o.happen(closed, at.Add(age/3))
		return
	case age < day && rand.Chance(60), rand.Chance(5):
		return
	case rand.Chance(6):
		o.status = "Waiting"
		return
	}
	steps := []struct {
		event  event
		status string
		after  time.Duration
		goesOn int // percent
	}{
		{started, "In Progress", rand.Duration(time.Hour, 30*time.Hour), 92},
		{finished, "Finished", rand.Duration(2*time.Hour, 70*time.Hour), 90},
		{invoiced, "Invoiced", rand.Duration(time.Hour, 80*time.Hour), 75},
		{paid, "Paid", rand.Duration(2*day, 25*day), 0},
	}
	left := age
	for _, s := range steps {
		if s.after >= left {
			return
		}
		left -= s.after
		at = at.Add(s.after)
		o.status = s.status
		o.happen(s.event, at)
		o.happen(updated, at)
		if s.event == paid {
			o.happen(closed, at)
		}
		if !rand.Chance(s.goesOn) {
			return
		}
	}
}

func (o *order) happen(e event, at time.Time) { o.dates[e] = at.Truncate(time.Second) }
