package lytx

import (
	"math"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

var (
	guidPattern = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

	// The provider insists on fractional seconds and a zone.
	instantPattern = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+(Z|[+-]\d\d:\d\d)$`)
)

// filter is the query of the two calls that list events.
type filter struct {
	from, to                           time.Time
	byRecorded, sortRecorded, oldFirst bool
	driver, vehicle, group, device     string
	subgroups                          bool
	triggers, statuses, behaviors      []int
	limit, page                        int
}

func readFilter(q sim.Query) (filter, problems) {
	var p problems
	f := filter{
		to:           p.instant(q, "to"),
		from:         p.instant(q, "from"),
		byRecorded:   p.choice(q, "dateOption", "lastUpdatedDate", "recordDate"),
		group:        p.guid(q, "groupId"),
		triggers:     p.numbers(q, "triggers"),
		statuses:     p.numbers(q, "statuses"),
		behaviors:    p.numbers(q, "behaviors"),
		driver:       p.guid(q, "driverId"),
		vehicle:      p.guid(q, "vehicleId"),
		device:       q.Get("deviceid"),
		oldFirst:     p.choice(q, "sortDirection", "desc", "asc"),
		sortRecorded: p.choice(q, "sortBy", "lastUpdatedDate", "recordDate"),
		subgroups:    p.boolean(q, "includeSubgroups", true),
		limit:        p.number(q, "limit", 1000, 1000),
		page:         p.number(q, "page", 1, math.MaxInt32),
	}
	if len(f.device) > 50 {
		p.invalid("deviceId")
	}
	return f, p
}

// instant reads a parameter that must be a date-time of the provider's pattern.
func (p *problems) instant(q sim.Query, field string) time.Time {
	text := q.Get(field)
	if text == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !instantPattern.MatchString(text) {
		p.add(field, "Invalid date format.")
	}
	return t
}

// matching yields the events that pass the filter, in its order.
func (d *dataset) matching(f filter) func(yield func(*event) bool) {
	order := d.byRevised
	if f.sortRecorded {
		order = d.byRecorded
	}
	return func(yield func(*event) bool) {
		for i := range order {
			if f.oldFirst {
				i = len(order) - 1 - i
			}
			if e := order[i]; d.passes(e, f) && !yield(e) {
				return
			}
		}
	}
}

func (d *dataset) passes(e *event, f filter) bool {
	at := e.revised
	if f.byRecorded {
		at = e.recorded
	}
	return (f.from.IsZero() || !at.Before(f.from)) &&
		(f.to.IsZero() || !at.After(f.to)) &&
		(f.driver == "" || f.driver == e.driver) &&
		(f.vehicle == "" || f.vehicle == e.vehicle) &&
		(f.device == "" || f.device == e.serial) &&
		(len(f.triggers) == 0 || slices.Contains(f.triggers, e.trigger)) &&
		(len(f.statuses) == 0 || slices.Contains(f.statuses, e.status)) &&
		(len(f.behaviors) == 0 || slices.Contains(f.behaviors, e.behavior)) &&
		d.inGroup(e.group, f.group, f.subgroups)
}

// inGroup reports whether a row of one group belongs to the group asked for. All
// groups lie directly under the root.
func (d *dataset) inGroup(group, asked string, subgroups bool) bool {
	return asked == "" || asked == group || asked == d.root && subgroups
}

func (d *dataset) serveEvents(a *sim.Answer, c sim.Call) {
	f, p := readFilter(c.Query)
	if p.refused(a, true) {
		return
	}
	b := (*sim.JSON)(&a.Body)
	skip, shown := sim.Offset(f.page, f.limit, c.Fault), 0
	for e := range d.matching(f) {
		if skip > 0 {
			skip--
			continue
		}
		if shown == 0 {
			b.Open('[')
		}
		b.Element(e.json)
		if shown++; shown == f.limit {
			break
		}
	}
	if shown == 0 {
		a.Status = http.StatusNoContent
		return
	}
	a.Status = http.StatusOK
	b.Close(']')
}

func (d *dataset) serveEventIDs(a *sim.Answer, c sim.Call) {
	f, p := readFilter(c.Query)
	if p.refused(a, true) {
		return
	}
	var matches []*event
	for e := range d.matching(f) {
		matches = append(matches, e)
	}
	page := pageOf(matches, f.page, f.limit, c.Fault)
	if len(page) == 0 {
		a.Status = http.StatusNoContent
		return
	}
	a.Status = http.StatusOK
	b := (*sim.JSON)(&a.Body)
	b.Open('{')
	b.Int("totalCount", int64(len(matches)))
	b.Array("eventsIds")
	for _, e := range page {
		b.TextElement(e.id)
	}
	b.Close(']')
	b.Close('}')
}
