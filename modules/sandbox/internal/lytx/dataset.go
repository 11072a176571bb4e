package lytx

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

const (
	eventCount = 5000
	eventSpan  = 60 * day // the oldest event is so old

	// The newest events carry ids that the catalogs know. Of the others, each of this
	// many carries a trigger that they lack, some of these a status or a vehicle too,
	// and one no vehicle at all.
	completeEvents = 1000
	orphanEvery    = 400

	unknownTrigger = 9901
	unknownStatus  = 99

	noGUID = "00000000-0000-0000-0000-000000000000"
	noDate = "9999-01-01T00:00:00Z"
)

// dataset is the invented fleet on one day.
type dataset struct {
	root       string // the group above all others
	vehicles   []vehicle
	byRevised  []*event // newest first
	byRecorded []*event // newest first
}

// event is one safety event. The fields are those that filters and order need.
type event struct {
	recorded, revised        time.Time
	id, driver, group        string
	vehicle, serial          string // vehicle is empty where the event has none
	what                     occurrence
	trigger, status          int
	behavior                 int // 0 where none was observed
	reviewed, created        time.Time
	code, firstName, surname string
	employee                 string
	json                     []byte
}

type driver struct{ id, employee, firstName, surname string }

// occurrence is a kind of event.
type occurrence struct {
	trigger, subTrigger int
	behaviors           []int // that a reviewer may observe; 0 stands for none
	finding             string
}

// The kinds of events, as often as they occur.
var occurrences = []occurrence{
	{2003, 2003, []int{8, 63}, "FD:|Eating or drinking was seen while the vehicle moved.|"},
	{2003, 2003, []int{8}, "FD:|A cup was in the driver's hand while the vehicle moved.|"},
	{2003, 2003, []int{63}, "FDR:|A meal took the driver's attention from the road.|"},
	{18, 1018, []int{69}, "FTC2:|The gap to the vehicle ahead was between one and two seconds.|"},
	{18, 1018, []int{68, 69}, "HWW:|The gap to the vehicle ahead was short for several seconds.|"},
	{16, 1016, []int{68}, "FCW:|The gap to the vehicle ahead was below one second.|"},
	{30, 52, []int{0}, "BR:|The vehicle braked hard.|"},
	{30, 51, []int{0}, "CO:|The vehicle cornered hard.|"},
	{2001, 2001, []int{119}, "HH:|A phone was in the driver's hand.|"},
	{2002, 2002, []int{0, 85}, "SB:|The seat belt was not fastened.|"},
	{2005, 2005, []int{10}, "ODR:|The driver looked away from the road \"for more than two seconds\".|"},
	{2006, 2006, []int{91}, "LO:|The view of the camera was blocked.|"},
	{12, 123, []int{0}, "SP:|The vehicle was faster than the fleet allows.|"},
	{26, 1026, []int{0}, "RS:|The vehicle rolled through a stop.|"},
}

func newDataset(seed uint64, midnight time.Time) *dataset {
	rand := sim.NewRand(seed, "lytx")
	d := &dataset{root: rand.GUID()}
	groups := make([]string, 8)
	for i := range groups {
		groups[i] = rand.GUID()
	}
	d.vehicles = newVehicles(rand, groups, midnight)
	drivers := make([]driver, 300)
	for i := range drivers {
		drivers[i] = driver{rand.GUID(), strconv.Itoa(400_100 + i), sim.Pick(rand, sim.FirstNames), sim.Pick(rand, sim.LastNames)}
	}

	events := make([]event, eventCount)
	d.byRevised = make([]*event, eventCount)
	const step = eventSpan / eventCount
	for i := range events {
		// Even the newest event lies back so far that what happens to it within
		// minutes is still in the past.
		age := 10*time.Minute + time.Duration(i)*step + rand.Duration(0, step/2)
		events[i].invent(rand, midnight, age.Truncate(time.Second), &d.vehicles[rand.Int(0, vehicleCount-1)], drivers)
		d.byRevised[i] = &events[i]
	}
	d.byRecorded = slices.Clone(d.byRevised)
	slices.SortStableFunc(d.byRevised, func(a, b *event) int { return b.revised.Compare(a.revised) })
	slices.SortStableFunc(d.byRecorded, func(a, b *event) int {
		return cmp.Or(b.recorded.Compare(a.recorded), cmp.Compare(a.id, b.id))
	})
	for n, i := 0, completeEvents; i < eventCount; n, i = n+1, i+orphanEvery {
		d.byRevised[i].orphan(rand, n)
	}
	for _, e := range d.byRevised {
		e.json = e.render(rand)
	}
	return d
}

// invent fills in what happened to an event that was recorded so long before
// midnight.
func (e *event) invent(rand *sim.Rand, midnight time.Time, age time.Duration, v *vehicle, drivers []driver) {
	e.id = rand.GUID()
	e.code = "AA" + rand.String("ABCDEFGHJKLMNPQRSTUVWXYZ", 3) + rand.String("0123456789", 5)
	e.vehicle, e.group, e.serial = v.id, v.group, v.serial
	e.driver = noGUID
	if rand.Chance(44) {
		by := sim.Pick(rand, drivers)
		e.driver, e.employee, e.firstName, e.surname = by.id, by.employee, by.firstName, by.surname
	}
	e.what = sim.Pick(rand, occurrences)
	e.trigger = e.what.trigger
	e.recorded = midnight.Add(-age)
	e.created = e.recorded.Add(rand.Duration(30*time.Second, time.Minute))

	e.status = statusNew
	e.revised = e.created.Add(rand.Duration(300*time.Millisecond, 3*time.Second))
	if age < day && rand.Chance(70) || rand.Chance(8) {
		return
	}
	e.status = sim.Pick(rand, []int{
		statusResolved, statusResolved, statusResolved, statusFYI, statusFYI, statusFYI,
		statusFaceToFace, statusFaceToFace, statusSelfCoaching, statusInternal, statusRemote,
	})
	e.behavior = sim.Pick(rand, e.what.behaviors)
	e.reviewed = e.created.Add(rand.Duration(time.Minute, min(72*time.Hour, age/2)))
	e.revised = e.reviewed.Add(rand.Duration(300*time.Millisecond, 3*time.Second))
}

// orphan takes away what the catalogs know of the n-th such event.
func (e *event) orphan(rand *sim.Rand, n int) {
	e.trigger = unknownTrigger
	if n%2 == 0 {
		e.status = unknownStatus
	}
	switch {
	case n == 1:
		e.vehicle = ""
	case n%3 == 0:
		e.vehicle = rand.GUID()
	}
}
