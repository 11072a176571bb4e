package fleetrock

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/providers"
)

// texts spells windows as "start..end", with days alone.
func texts(t *testing.T, windows []window) []string {
	t.Helper()
	var out []string
	for _, w := range windows {
		start, okStart := strings.CutSuffix(w.start, startOfDay)
		end, okEnd := strings.CutSuffix(w.end, endOfDay)
		if w.start != "" && !okStart || w.end != "" && !okEnd {
			t.Errorf("window is %+v", w)
		}
		out = append(out, start+".."+end)
	}
	return out
}

func TestCut(t *testing.T) {
	// Late in the evening of the 19th, west of Greenwich: it is the 20th by UTC.
	now := time.Date(2026, 11, 19, 21, 0, 0, 0, time.FixedZone("", -5*60*60))
	for name, row := range map[string]struct{ start, end, want string }{
		"ok/open":                    {"", "", "[..]"},
		"ok/end alone":               {"", "2026-02-28", "[..2026-02-28]"},
		"ok/a day":                   {"2026-02-28", "2026-02-28", "[2026-02-28..2026-02-28]"},
		"ok/a month":                 {"2026-01-01", "2026-01-31", "[2026-01-01..2026-01-31]"},
		"ok/a month and a day":       {"2026-01-01", "2026-02-01", "[2026-01-01..2026-01-31 2026-02-01..2026-02-01]"},
		"ok/from a 31st":             {"2026-01-31", "2026-04-05", "[2026-01-31..2026-02-27 2026-02-28..2026-03-27 2026-03-28..2026-04-05]"},
		"ok/from a 31st, leap year":  {"2024-01-31", "2024-03-01", "[2024-01-31..2024-02-28 2024-02-29..2024-03-01]"},
		"ok/from a 30th, short next": {"2026-01-30", "2026-03-01", "[2026-01-30..2026-02-27 2026-02-28..2026-03-01]"},
		"ok/over new year":           {"2025-12-15", "2026-01-15", "[2025-12-15..2026-01-14 2026-01-15..2026-01-15]"},
		"ok/start alone":             {"2026-10-20", "", "[2026-10-20..2026-11-19 2026-11-20..2026-11-20]"},
		"ok/start today":             {"2026-11-20", "", "[2026-11-20..2026-11-20]"},
		"ok/start in the future":     {"2027-01-01", "", "[2027-01-01..2027-01-01]"},
		"ok/the last days there are": {"9999-12-30", "9999-12-31", "[9999-12-30..9999-12-31]"},
	} {
		t.Run(name, func(t *testing.T) {
			windows, err := cut(row.start, row.end, now)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(texts(t, windows)); got != row.want {
				t.Errorf("windows are %s\nwant %s", got, row.want)
			}
		})
	}

	t.Run("ok/60 months", func(t *testing.T) {
		windows, err := cut("2021-11-21", "2026-11-20", now)
		if err != nil || len(windows) != 60 {
			t.Errorf("%d windows, error %v", len(windows), err)
		}
	})
	for name, row := range map[string]struct{ start, end, want string }{
		"fail/60 months and a day":   {"2021-11-20", "2026-11-20", "start_date is invalid"},
		"fail/60 months until now":   {"2021-11-20", "", "start_date is invalid"},
		"fail/all the time there is": {"0001-01-01", "9999-12-31", "start_date is invalid"},
		"fail/backwards":             {"2026-02-02", "2026-02-01", "end_date is invalid"},
		"fail/start no day":          {"2026-02-30", "2026-03-01", "start_date is invalid"},
		"fail/end no day":            {"2026-02-01", "2026-02-30", "end_date is invalid"},
		"fail/end no day, alone":     {"", "2026-02-01T00:00:00Z", "end_date is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := cut(row.start, row.end, now)
			if pe := providers.As(err); pe.Kind != providers.KindInvalid || pe.Message != row.want {
				t.Errorf("error is %v, want %q", err, row.want)
			}
		})
	}
}

// TestCutProperties cuts random windows: the parts follow each other day by day, are
// the whole window and nothing else, and none is longer than a month by the calendar.
func TestCutProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		first := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, rapid.IntRange(0, 20_000).Draw(rt, "first"))
		last := first.AddDate(0, 0, rapid.IntRange(0, 1800).Draw(rt, "days"))
		windows, err := cut(first.Format(time.DateOnly), last.Format(time.DateOnly), time.Time{})
		if err != nil {
			rt.Fatal(err)
		}
		next := first
		for _, text := range texts(t, windows) {
			var from, to time.Time
			for i, day := range strings.Split(text, "..") {
				parsed, err := time.Parse(time.DateOnly, day)
				if err != nil {
					rt.Fatal(err)
				}
				*[]*time.Time{&from, &to}[i] = parsed
			}
			if !from.Equal(next) || to.Before(from) {
				rt.Fatalf("%s does not begin on %s", text, next.Format(time.DateOnly))
			}
			y, m, d := from.Date()
			lastOfNext := time.Date(y, m+2, 0, 0, 0, 0, 0, time.UTC)
			if limit := time.Date(y, m+1, min(d, lastOfNext.Day()), 0, 0, 0, 0, time.UTC); !to.Before(limit) {
				rt.Fatalf("%s is longer than a month", text)
			}
			next = to.AddDate(0, 0, 1)
		}
		if !next.AddDate(0, 0, -1).Equal(last) {
			rt.Fatalf("the last part does not end on %s", last.Format(time.DateOnly))
		}
	})
}
