package transform_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/transform"
)

func TestMergeArrays(t *testing.T) {
	byKey := transform.Merge{ID: "id", Keys: []string{"k", "l"}}
	tests := []struct {
		name   string
		arrays []string
		merge  transform.Merge
		want   string
	}{
		{"no arrays", nil, byKey, `[]`},
		{"empty arrays", []string{`[]`, ` [ ] `}, byKey, `[]`},
		{"not sorted without keys", []string{`[{"k":"2026-01-02T00:00:00Z"}]`, `[{"k":"2026-01-01T00:00:00Z"}]`}, transform.Merge{}, `[{"k":"2026-01-02T00:00:00Z"},{"k":"2026-01-01T00:00:00Z"}]`},
		{
			"copied byte for byte",
			[]string{" [ { \"a\" : 0.00 , \"\\u0061\":[ 1e5 ] } , {} ] ", `[{"b":"\u0041"}]`},
			byKey,
			"[{ \"a\" : 0.00 , \"\\u0061\":[ 1e5 ] },{},{\"b\":\"\\u0041\"}]",
		},
		{
			"instants, not text",
			[]string{`[{"k":"2026-08-09T00:00:03.004Z"},{"k":"2026-08-09T00:00:03Z"}]`, `[{"k":"2026-08-09T02:00:02.9999999+02:00"}]`},
			byKey,
			`[{"k":"2026-08-09T02:00:02.9999999+02:00"},{"k":"2026-08-09T00:00:03Z"},{"k":"2026-08-09T00:00:03.004Z"}]`,
		},
		{
			"nine digits",
			[]string{`[{"k":"2026-08-09T00:00:03.000000002Z"},{"k":"2026-08-09T00:00:03.000000001Z"},{"k":"2026-08-08T19:00:03-05:00"}]`},
			byKey,
			`[{"k":"2026-08-08T19:00:03-05:00"},{"k":"2026-08-09T00:00:03.000000001Z"},{"k":"2026-08-09T00:00:03.000000002Z"}]`,
		},
		{
			"equal instants stay in order",
			[]string{`[{"k":"2026-08-09T00:00:03.00Z","n":1},{"k":"2026-08-09T00:00:02Z","n":2}]`, `[{"k":"2026-08-09T00:00:03Z","n":3},{"k":"2026-08-09T01:00:03+01:00","n":4}]`},
			byKey,
			`[{"k":"2026-08-09T00:00:02Z","n":2},{"k":"2026-08-09T00:00:03.00Z","n":1},{"k":"2026-08-09T00:00:03Z","n":3},{"k":"2026-08-09T01:00:03+01:00","n":4}]`,
		},
		{
			"descending, equal instants stay in order",
			[]string{`[{"k":"2026-08-09T00:00:02Z"},{"k":"2026-08-09T00:00:03Z","n":1}]`, `[{"k":"2026-08-09T00:00:03Z","n":2},{"k":"9999-01-01T00:00:00Z"}]`},
			transform.Merge{Keys: []string{"k"}, Descending: true},
			`[{"k":"9999-01-01T00:00:00Z"},{"k":"2026-08-09T00:00:03Z","n":1},{"k":"2026-08-09T00:00:03Z","n":2},{"k":"2026-08-09T00:00:02Z"}]`,
		},
		{
			"without an instant last",
			[]string{`[{"n":1},{"k":"soon"},{"k":5},{"k":"2026-08-09 00:00:03Z"},{"k":"2026-08-09T00:00:03"},{"k":"2026-02-30T00:00:00Z"},{"k":null},{"k":"0001-01-01T00:00:00Z"}]`},
			byKey,
			`[{"k":"0001-01-01T00:00:00Z"},{"n":1},{"k":"soon"},{"k":5},{"k":"2026-08-09 00:00:03Z"},{"k":"2026-08-09T00:00:03"},{"k":"2026-02-30T00:00:00Z"},{"k":null}]`,
		},
		{
			"without an instant last, descending",
			[]string{`[{"n":1},{"k":"0001-01-01T00:00:00Z"},{"n":2},{"k":"2026-08-09T00:00:03Z"}]`},
			transform.Merge{Keys: []string{"k"}, Descending: true},
			`[{"k":"2026-08-09T00:00:03Z"},{"k":"0001-01-01T00:00:00Z"},{"n":1},{"n":2}]`,
		},
		{
			"the second key when the first is missing or null",
			[]string{`[{"k":"2026-01-03T00:00:00Z","l":"2026-01-01T00:00:00Z"},{"l":"2026-01-02T00:00:00Z"},{"l":"2026-01-01T00:00:00Z","k":null}]`},
			byKey,
			`[{"l":"2026-01-01T00:00:00Z","k":null},{"l":"2026-01-02T00:00:00Z"},{"k":"2026-01-03T00:00:00Z","l":"2026-01-01T00:00:00Z"}]`,
		},
		{
			"not the second key when the first is no instant",
			[]string{`[{"k":"soon","l":"2026-01-01T00:00:00Z"},{"l":"2026-01-02T00:00:00Z"}]`},
			byKey,
			`[{"l":"2026-01-02T00:00:00Z"},{"k":"soon","l":"2026-01-01T00:00:00Z"}]`,
		},
		{
			"names and keys with escapes",
			[]string{`[{"\u006b":"2026-01-02T00:00:00\u005a"},{"k":"2026-01-01T00:00:00Z"}]`},
			byKey,
			`[{"k":"2026-01-01T00:00:00Z"},{"\u006b":"2026-01-02T00:00:00\u005a"}]`,
		},
		{
			"the first of an id is kept",
			[]string{`[{"id":"a","n":1},{"id":"b","n":2},{"id":"a","n":3}]`, `[{"id":"b","n":4},{"\u0069d":"c","n":5},{"id":"c","n":6}]`},
			byKey,
			`[{"id":"a","n":1},{"id":"b","n":2},{"\u0069d":"c","n":5}]`,
		},
		{
			"ids differ by spelling, none is no id",
			[]string{`[{"id":5},{"id":"5"},{"id":5.0},{"id":null},{"id":null},{},{},{"id":"x","id":5}]`},
			byKey,
			`[{"id":5},{"id":"5"},{"id":5.0},{"id":null},{"id":null},{},{}]`,
		},
		{"ids do not count without ID", []string{`[{"id":1},{"id":1},{"":1},{"":1}]`}, transform.Merge{}, `[{"id":1},{"id":1},{"":1},{"":1}]`},
		{"offset and limit", []string{`[{"id":1},{"id":2}]`, `[{"id":2},{"id":3},{"id":4}]`}, transform.Merge{ID: "id", Offset: 1, Limit: 2}, `[{"id":2},{"id":3}]`},
		{"limit beyond the end", []string{`[{"id":1},{"id":2}]`}, transform.Merge{Offset: 1, Limit: 5}, `[{"id":2}]`},
		{"offset beyond the end", []string{`[{"id":1},{"id":2}]`}, transform.Merge{Offset: 3, Limit: 1}, `[]`},
		{"negative offset and limit", []string{`[{"id":1},{"id":2}]`}, transform.Merge{Offset: -1, Limit: -1}, `[{"id":1},{"id":2}]`},
	}
	for _, tt := range tests {
		t.Run("ok/"+tt.name, func(t *testing.T) {
			dst, err := transform.MergeArrays([]byte(dstPrefix), bodies(tt.arrays...), tt.merge)
			if err != nil {
				t.Fatal(err)
			}
			if got := appended(t, dst, nil); string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestMergeArraysFails(t *testing.T) {
	for name, arrays := range map[string][]string{
		"empty body":          {`[]`, ``},
		"first array broken":  {`[{}`, `[]`},
		"second array broken": {`[{"id":1}]`, `[{"id":01}]`},
		"no object":           {`[{"id":1},2]`},
	} {
		t.Run("fail/"+name, func(t *testing.T) {
			dst, err := transform.MergeArrays([]byte(dstPrefix), bodies(arrays...), transform.Merge{ID: "id", Keys: []string{"id"}})
			if err == nil {
				t.Fatal("no error")
			}
			appended(t, dst, err)
		})
	}
}

func bodies(texts ...string) [][]byte {
	var all [][]byte
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}

// TestMergeArraysOrder sorts generated instants, spelled in every way that RFC 3339
// has, and compares with the sort of the instants they were made from.
func TestMergeArraysOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type entry struct {
			id int
			at time.Time
		}
		var entries []entry
		var arrays [][]byte
		for range rapid.IntRange(0, 4).Draw(t, "arrays") {
			var elements []string
			for range rapid.IntRange(0, 5).Draw(t, "elements") {
				at := time.Unix(rapid.Int64Range(0, 3).Draw(t, "seconds"), rapid.Int64Range(0, 3).Draw(t, "nanoseconds"))
				zone := rapid.SampledFrom([]int{0, 3600, -5 * 3600, 19800}).Draw(t, "zone")
				layout := rapid.SampledFrom([]string{time.RFC3339Nano, "2006-01-02T15:04:05.000000000Z07:00"}).Draw(t, "layout")
				elements = append(elements, fmt.Sprintf(`{"id":%d,"at":%q}`, len(entries), at.In(time.FixedZone("", zone)).Format(layout)))
				entries = append(entries, entry{len(entries), at})
			}
			arrays = append(arrays, []byte("["+strings.Join(elements, ",")+"]"))
		}
		descending := rapid.Bool().Draw(t, "descending")
		slices.SortStableFunc(entries, func(a, b entry) int {
			if descending {
				return b.at.Compare(a.at)
			}
			return a.at.Compare(b.at)
		})
		offset := rapid.IntRange(0, 5).Draw(t, "offset")
		limit := rapid.IntRange(0, 5).Draw(t, "limit")
		entries = entries[min(offset, len(entries)):]
		if limit > 0 {
			entries = entries[:min(limit, len(entries))]
		}

		dst, err := transform.MergeArrays(nil, arrays, transform.Merge{ID: "id", Keys: []string{"at"}, Descending: descending, Offset: offset, Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		got := gjson.ParseBytes(dst).Array()
		if len(got) != len(entries) {
			t.Fatalf("got %d elements, want %d", len(got), len(entries))
		}
		for i, e := range entries {
			if int(got[i].Get("id").Int()) != e.id {
				t.Fatalf("element %d has id %s, want %d", i, got[i].Get("id"), e.id)
			}
		}
	})
}

func TestMergeArraysRecorded(t *testing.T) {
	body := recording(t, "lytx/video_safety_eventsWithMetadata.limit50.json")
	events := gjson.ParseBytes(body).Array()

	// Two overlapping halves, as two drivers' events would come.
	array := func(part []gjson.Result) []byte {
		var raw []string
		for _, event := range part {
			raw = append(raw, event.Raw)
		}
		return []byte("[" + strings.Join(raw, ",") + "]")
	}
	merge := transform.Merge{ID: "id", Keys: []string{"revisionDate", "creationDate"}, Descending: true}
	got, err := transform.MergeArrays([]byte(dstPrefix), [][]byte{array(events[20:]), array(events[:30])}, merge)
	if err != nil {
		t.Fatal(err)
	}
	if got := appended(t, got, nil); string(got) != string(body) {
		t.Error("the halves do not make the page that they are from")
	}
}
