package quikq

import (
	"slices"
	"strconv"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

const (
	day              = 24 * time.Hour
	transactionCount = 2000
	transactionSpan  = 90 * day // the oldest transaction is so old
	stationCount     = 60       // fits the bits of a uint64
)

// dataset is the invented fuel purchases of one day and those before it.
type dataset struct {
	stations     []station
	transactions []transaction // oldest first
}

type station struct {
	code, store, city, state string
	canadian                 bool
}

// transaction is one stop at a truck stop.
type transaction struct {
	completed time.Time
	station   int    // index into the stations
	products  uint64 // bit for each index into the products
	rest      []byte // the members that follow seq and startCode, without braces
}

var places = []struct{ city, state string }{
	{"Joplin", "MO"},
	{"Amarillo", "TX"},
	{"Effingham", "IL"},
	{"Laramie", "WY"},
	{"Salina", "KS"},
	{"Knoxville", "TN"},
	{"Valdosta", "GA"},
	{"Sayre", "OK"},
	{"Kearney", "NE"},
	{"Windsor", "ON"},
}

func newDataset(seed uint64, midnight time.Time) *dataset {
	rand := sim.NewRand(seed, "quikq")
	d := &dataset{
		stations:     make([]station, stationCount),
		transactions: make([]transaction, transactionCount),
	}
	for i := range d.stations {
		p := sim.Pick(rand, places)
		store := strconv.Itoa(301 + i*7)
		d.stations[i] = station{"ST0" + store, store, p.city, p.state, p.state == "ON"}
	}
	const step = transactionSpan / transactionCount
	for i := range d.transactions {
		t := &d.transactions[i]
		age := transactionSpan - time.Duration(i)*step - rand.Duration(0, step/2)
		t.completed = midnight.Add(-age).Truncate(time.Microsecond)
		t.station = rand.Int(0, stationCount-1)
		p := purchase{rand: rand, t: t, at: d.stations[t.station], number: int64(90_000_001 + i), midnight: midnight}
		p.render()
	}
	slices.SortStableFunc(d.transactions, func(a, b transaction) int { return a.completed.Compare(b.completed) })
	return d
}
