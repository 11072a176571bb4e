package fleetrock

import (
	"time"

	"github.com/fleetgate/fleetgate/providers"
)

// maxMonths is the longest window that is fetched, part by part, for one request.
const maxMonths = 60

// window is one part of the caller's window as Fleetrock is asked for it. A bound that
// is empty is not sent.
type window struct {
	start, end string
}

// Fleetrock takes days and UTC times alike, but whether a day given as the end is part
// of the window is not documented. The last millisecond of that day is, either way.
const (
	startOfDay = "T00:00:00.000Z"
	endOfDay   = "T23:59:59.999Z"
)

// cut splits the days from start to end, both included, into consecutive windows that
// Fleetrock accepts: each ends before the day on which it would be a month old. The
// days are YYYY-MM-DD; an empty end is the day of now in UTC, and an empty start
// leaves the window open and whole. A window of more than maxMonths is a start_date that
// is too early.
func cut(start, end string, now time.Time) ([]window, error) {
	last, err := day("end_date", end)
	if err != nil {
		return nil, err
	}
	if start == "" {
		var w window
		if end != "" {
			w.end = end + endOfDay
		}
		return []window{w}, nil
	}
	first, err := day("start_date", start)
	if err != nil {
		return nil, err
	}
	switch {
	case end == "":
		// A start in the future still is a window, of one day.
		last = latest(now.UTC().Truncate(24*time.Hour), first)
	case last.Before(first):
		return nil, invalid("end_date")
	}
	if !last.Before(monthsAfter(first, maxMonths)) {
		return nil, invalid("start_date")
	}

	var windows []window
	for from := first; !from.After(last); {
		next := monthsAfter(from, 1)
		to := next.AddDate(0, 0, -1)
		if to.After(last) {
			to = last
		}
		windows = append(windows, window{
			start: from.Format(time.DateOnly) + startOfDay,
			end:   to.Format(time.DateOnly) + endOfDay,
		})
		from = next
	}
	return windows, nil
}

// monthsAfter returns the same day of the month n months later, or the last day of
// that month if it is shorter.
func monthsAfter(t time.Time, n int) time.Time {
	y, m, d := t.Date()
	lastDay := time.Date(y, m+time.Month(n)+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(y, m+time.Month(n), min(d, lastDay), 0, 0, 0, 0, time.UTC)
}

// day parses a day of the query; an empty one is the zero time.
func day(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, invalid(field)
	}
	return t, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func invalid(field string) error {
	return &providers.Error{Kind: providers.KindInvalid, Message: field + " is invalid"}
}
