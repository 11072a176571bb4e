package fleetrock

import (
	"strings"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

const (
	day = 24 * time.Hour

	// longestWindow is what the simulator takes for the month that the provider
	// allows.
	longestWindow = 31 * day
)

// filter is the query of the list. Its zero members are not applied.
type filter struct {
	id, status string
	event      event
	from, to   time.Time
}

// statuses are the texts of the values that the status filter may take.
var statuses = map[string]string{
	"notstarted": "Not Started",
	"waiting":    "Waiting",
	"started":    "In Progress",
	"inprogress": "In Progress",
	"finished":   "Finished",
	"invoiced":   "Invoiced",
	"paid":       "Paid",
	"deleted":    "Deleted",
}

// event is something that happens to an order, as an index into its dates.
type event int

const (
	created event = iota
	started
	finished
	invoiced
	paid
	updated
	closed
	received
	eventCount
)

var events = map[string]event{
	"created":  created,
	"started":  started,
	"finished": finished,
	"invoiced": invoiced,
	"paid":     paid,
	"updated":  updated,
	"closed":   closed,
	"received": received,
}

// readFilter returns the filter of a query, or what is wrong with it in the
// provider's words.
func readFilter(q sim.Query, now time.Time) (filter, string) {
	f := filter{id: q.Get("id")}
	if v := q.Get("status"); v != "" {
		status, ok := statuses[strings.ToLower(v)]
		if !ok {
			return f, "Invalid status."
		}
		f.status = status
	}
	if v := q.Get("event"); v != "" {
		e, ok := events[strings.ToLower(v)]
		if !ok {
			return f, "Invalid event."
		}
		f.event = e
	}
	start, end := q.Get("start"), q.Get("end")
	if start == "" && end == "" {
		return f, ""
	}
	var ok bool
	if start != "" {
		if f.from, ok = instant(start, 0); !ok {
			return f, "Invalid start date."
		}
	}
	f.to = now
	if end != "" {
		if f.to, ok = instant(end, day-time.Nanosecond); !ok {
			return f, "Invalid end date."
		}
	}
	// The time of day of the end does not count, and a window without a start has no
	// length.
	if start != "" && f.to.Truncate(day).Sub(f.from) > longestWindow {
		return f, "Date range cannot exceed one month."
	}
	return f, ""
}

// instant reads a date, to which it adds a time of day, or a date-time in UTC.
func instant(text string, ofDay time.Duration) (time.Time, bool) {
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		return t.Add(ofDay), true
	}
	t, err := time.Parse("2006-01-02T15:04:05Z", text)
	return t, err == nil
}

// passes reports whether the filter's event happened to an order inside its window;
// without an event, the order's creation counts.
func (f filter) passes(o *order) bool {
	at := o.dates[f.event]
	return (f.id == "" || f.id == o.id) &&
		(f.status == "" || f.status == o.status) &&
		!at.IsZero() && !at.Before(f.from) &&
		(f.to.IsZero() || !at.After(f.to))
}
