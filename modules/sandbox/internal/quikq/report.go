package quikq

import (
	"math/bits"
	"strconv"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// demoCarrier stands in for start codes that are no numbers, because the start code
// of a transaction is one.
const demoCarrier = 1_000_001

// report writes the transactions that were completed in a window, both ends
// included, with each array member wrapped in its singular name.
func (d *dataset) report(b *sim.JSON, startCode string, from, to time.Time) {
	var rows []*transaction
	var stations, products uint64
	for i := range d.transactions {
		t := &d.transactions[i]
		if at := t.completed.Truncate(time.Second); !at.Before(from) && !at.After(to) {
			rows = append(rows, t)
			stations |= 1 << t.station
			products |= t.products
		}
	}
	carrier := carrierOf(startCode)
	carriers := min(len(rows), 1)

	b.Open('{')
	b.Text("status", "success")
	b.Object("data")
	b.Object("report")
	b.Int("transactionCount", int64(len(rows)))
	b.Int("carrierCount", int64(carriers))
	b.Int("truckStopCount", int64(bits.OnesCount64(stations)))
	b.Array("carriers")
	if carriers > 0 {
		b.Open('{')
		b.Object("carrier")
		b.Int("seq", 1)
		b.Int("startCode", carrier)
		b.Text("name", "Sandbox Freight")
		b.Close('}')
		b.Close('}')
	}
	b.Close(']')
	b.Array("truckStops")
	d.truckStops(b, stations)
	b.Close(']')
	b.Array("products")
	for i, p := range catalog {
		if products&(1<<i) != 0 {
			p.render(b)
		}
	}
	b.Close(']')
	b.Array("transactions")
	for i, t := range rows {
		b.Open('{')
		b.Object("transaction")
		b.Int("seq", int64(i+1))
		b.Int("startCode", carrier)
		b.Element(t.rest)
		b.Close('}')
		b.Close('}')
	}
	b.Close(']')
	b.Close('}')
	b.Close('}')
	b.Close('}')
}

func (d *dataset) truckStops(b *sim.JSON, stations uint64) {
	seq := int64(0)
	for i, s := range d.stations {
		if stations&(1<<i) == 0 {
			continue
		}
		seq++
		b.Open('{')
		b.Object("truckStop")
		b.Int("seq", seq)
		b.Text("station", s.code)
		b.Text("storeNumber", s.store)
		b.Text("city", s.city)
		b.Text("state", s.state)
		b.Close('}')
		b.Close('}')
	}
}

func carrierOf(startCode string) int64 {
	if n, err := strconv.ParseInt(startCode, 10, 64); err == nil && n > 0 {
		return n
	}
	return demoCarrier
}
