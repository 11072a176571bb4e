package transform_test

import (
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/transform"
)

// smallJoin is a join that fits on a line of a test.
func smallJoin() *transform.EventJoin {
	return &transform.EventJoin{
		Trigger:     "t",
		Status:      "s",
		Vehicle:     "v",
		EventDate:   []string{"d1", "d2"},
		LastUpdated: []string{"u1", "d2"},
		Triggers:    map[string][]byte{"1": []byte(`"Shock"`), "x\"y": []byte(`"Escaped"`), "": []byte(`"Nothing"`), "9": nil},
		Statuses:    map[string][]byte{"2": []byte(`"New"`)},
		Vehicles: map[string][]byte{
			"A": []byte(`{"dcVehicleId":"A","name":"Truck"}`),
			"7": []byte(`{"dcVehicleId":"7","name":"Seven"}`),

			"00000000-0000-0000-0000-000000000000": []byte(`{"dcVehicleId":"0","name":"Nobody's"}`),
		},
	}
}

const noVehicle = `"00000000-0000-0000-0000-000000000000"`

func TestEnrichEvents(t *testing.T) {
	// What is added to an event of which nothing is known, and to one of which
	// everything is.
	const (
		nothing = `"type":"Unknown","coaching_status":"Unknown","vehicle":{"dcVehicleId":"","name":""},"eventDate":"","lastUpdatedDate":""`
		all     = `"type":"Shock","coaching_status":"New","vehicle":{"dcVehicleId":"A","name":"Truck"},"eventDate":"E","lastUpdatedDate":"U"`
	)
	type misses = transform.JoinMisses
	tests := []struct {
		name   string
		body   string
		want   string
		misses misses
	}{
		{"no events", `[]`, `[]`, misses{}},
		{"no events, white space", " [ ] \n", `[]`, misses{}},
		{"empty event", `[{}]`, `[{` + nothing + `}]`, misses{1, 1, 1, 0}},
		{
			"everything known",
			`[{"t":1,"s":2,"v":"A","d1":"E","u1":"U"}]`,
			`[{"t":1,"s":2,"v":"A","d1":"E","u1":"U",` + all + `}]`,
			misses{Events: 1},
		},
		{
			"ids as strings and numbers",
			`[{"t":"1","s":"2","v":7,"d1":"E","u1":"U"}]`,
			`[{"t":"1","s":"2","v":7,"d1":"E","u1":"U",` + strings.Replace(all, `"A","name":"Truck"`, `"7","name":"Seven"`, 1) + `}]`,
			misses{Events: 1},
		},
		{
			"two events, order and spelling kept",
			`[{"z":0.00,"b":"\u0041","a":1e+2,"t":1},{"n":{"type":"kept","t":5},"t":1}]`,
			`[{"z":0.00,"b":"\u0041","a":1e+2,"t":1,` + strings.Replace(nothing, "Unknown", "Shock", 1) +
				`},{"n":{"type":"kept","t":5},"t":1,` + strings.Replace(nothing, "Unknown", "Shock", 1) + `}]`,
			misses{2, 0, 2, 0},
		},
		{
			"white space between members kept, elsewhere dropped",
			" [\n { \"a\" : 1 ,\n\"b\": [ 2 ] } , { \"type\" : 0 , \"c\":3 , \"vehicle\":4 , \"d\" : 5 } ] ",
			`[{"a" : 1 ,` + "\n" + `"b": [ 2 ],` + nothing + `},{"c":3,"d" : 5,` + nothing + `}]`,
			misses{2, 2, 2, 0},
		},
		{
			"own members dropped",
			`[{"type":1,"a":1,"coaching_status":2,"vehicle":{"x":[]},"b":2,"c":3,"eventDate":null,"lastUpdatedDate":4}]`,
			`[{"a":1,"b":2,"c":3,` + nothing + `}]`,
			misses{1, 1, 1, 0},
		},
		{"nothing but own members", `[{"type":"a","vehicle":null}]`, `[{` + nothing + `}]`, misses{1, 1, 1, 0}},
		{
			"names with escapes",
			`[{"\u0074ype":1,"\u0074":"1","\u0073":2,"v\u0065hicle":3,"\u0061":4}]`,
			`[{"\u0074":"1","\u0073":2,"\u0061":4,` + strings.NewReplacer(`"type":"Unknown"`, `"type":"Shock"`, `status":"Unknown"`, `status":"New"`).Replace(nothing) + `}]`,
			misses{Events: 1},
		},
		{
			"names that only look alike",
			`[{"Type":1,"type ":2,"typ":3,"T":1,"":4}]`,
			`[{"Type":1,"type ":2,"typ":3,"T":1,"":4,` + nothing + `}]`,
			misses{1, 1, 1, 0},
		},
		{
			"ids with escapes",
			`[{"t":"x\"y","v":"\u0041"}]`,
			`[{"t":"x\"y","v":"\u0041",` + strings.NewReplacer(`"type":"Unknown"`, `"type":"Escaped"`, `"","name":""`, `"A","name":"Truck"`).Replace(nothing) + `}]`,
			misses{1, 0, 1, 0},
		},
		{
			"unknown ids",
			`[{"t":5,"s":6,"v":"\u0042\"","d1":"E","u1":"U"}]`,
			`[{"t":5,"s":6,"v":"\u0042\"","d1":"E","u1":"U","type":"Unknown","coaching_status":"Unknown","vehicle":{"dcVehicleId":"\u0042\"","name":""},"eventDate":"E","lastUpdatedDate":"U"}]`,
			misses{1, 1, 1, 1},
		},
		{
			"unknown vehicle that is a number",
			`[{"v":12345678901234567890}]`,
			`[{"v":12345678901234567890,` + strings.Replace(nothing, `"dcVehicleId":""`, `"dcVehicleId":"12345678901234567890"`, 1) + `}]`,
			misses{1, 1, 1, 1},
		},
		{
			"no vehicle",
			`[{"v":` + noVehicle + `}]`,
			`[{"v":` + noVehicle + `,` + strings.Replace(nothing, `"dcVehicleId":""`, `"dcVehicleId":`+noVehicle, 1) + `}]`,
			misses{1, 1, 1, 0},
		},
		{"ids null", `[{"t":null,"s":null,"v":null}]`, `[{"t":null,"s":null,"v":null,` + nothing + `}]`, misses{1, 1, 1, 0}},
		{"ids empty", `[{"t":"","s":"","v":""}]`, `[{"t":"","s":"","v":"",` + nothing + `}]`, misses{1, 1, 1, 0}},
		{"ids of the wrong kind", `[{"t":[1],"s":{"s":2},"v":["A"]}]`, `[{"t":[1],"s":{"s":2},"v":["A"],` + nothing + `}]`, misses{1, 1, 1, 0}},
		{"another spelling of the number", `[{"t":1.0,"s":2e0}]`, `[{"t":1.0,"s":2e0,` + nothing + `}]`, misses{1, 1, 1, 0}},
		{"catalog entry without text", `[{"t":9}]`, `[{"t":9,` + nothing + `}]`, misses{1, 1, 1, 0}},
		{
			"the last of several counts",
			`[{"t":5,"s":2,"t":1,"s":null,"v":"B","v":"A","d1":"X","d1":"E","u1":"U"}]`,
			`[{"t":5,"s":2,"t":1,"s":null,"v":"B","v":"A","d1":"X","d1":"E","u1":"U",` + strings.Replace(all, `"New"`, `"Unknown"`, 1) + `}]`,
			misses{1, 0, 1, 0},
		},
		{
			"the second source of a date",
			`[{"d1":null,"d2":"D","u1":null}]`,
			`[{"d1":null,"d2":"D","u1":null,` + strings.NewReplacer(`"eventDate":""`, `"eventDate":"D"`, `"lastUpdatedDate":""`, `"lastUpdatedDate":"D"`).Replace(nothing) + `}]`,
			misses{1, 1, 1, 0},
		},
		{
			"the first source, wherever it is",
			`[{"d2":"D","u1":"U","d1":"E"}]`,
			`[{"d2":"D","u1":"U","d1":"E",` + strings.NewReplacer(`"eventDate":""`, `"eventDate":"E"`, `"lastUpdatedDate":""`, `"lastUpdatedDate":"U"`).Replace(nothing) + `}]`,
			misses{1, 1, 1, 0},
		},
		{
			"own dates when there is no source",
			`[{"eventDate":"O\u0031","a":1,"lastUpdatedDate":"O2","d1":null}]`,
			`[{"a":1,"d1":null,` + strings.NewReplacer(`"eventDate":""`, `"eventDate":"O\u0031"`, `"lastUpdatedDate":""`, `"lastUpdatedDate":"O2"`).Replace(nothing) + `}]`,
			misses{1, 1, 1, 0},
		},
		{
			"own dates when there is a source",
			`[{"eventDate":"O1","lastUpdatedDate":"O2","d1":"E","u1":"U"}]`,
			`[{"d1":"E","u1":"U",` + strings.NewReplacer(`"eventDate":""`, `"eventDate":"E"`, `"lastUpdatedDate":""`, `"lastUpdatedDate":"U"`).Replace(nothing) + `}]`,
			misses{1, 1, 1, 0},
		},
		{
			"dates that are no strings",
			`[{"d1":1754708292.50,"u1":{"a":1},"lastUpdatedDate":"O2"}]`,
			`[{"d1":1754708292.50,"u1":{"a":1},` + strings.Replace(nothing, `"eventDate":""`, `"eventDate":"1754708292.50"`, 1) + `}]`,
			misses{1, 1, 1, 0},
		},
		{"own dates that are no strings", `[{"eventDate":5,"lastUpdatedDate":["x"]}]`, `[{` + nothing + `}]`, misses{1, 1, 1, 0}},
	}
	for _, tt := range tests {
		t.Run("ok/"+tt.name, func(t *testing.T) {
			dst, misses, err := transform.EnrichEvents([]byte(dstPrefix), []byte(tt.body), smallJoin())
			if err != nil {
				t.Fatal(err)
			}
			if got := appended(t, dst, nil); string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if misses != tt.misses {
				t.Errorf("got %+v, want %+v", misses, tt.misses)
			}
			checkEnriched(t, []byte(tt.body), smallJoin())
		})
	}
}

func TestEnrichEventsFails(t *testing.T) {
	tests := []struct {
		name, body, reason string
		offset             int
	}{
		{"object", `{"events":[]}`, "not an array", 0},
		{"element is no object", `[{},5]`, "not an object", 4},
		{"element is null", `[null]`, "not an object", 1},
		{"error in a member that is dropped", `[{"type":01}]`, "unexpected character", 10},
		{"error in a member that is joined", `[{"t":tru}]`, "unexpected character", 9},
		{"error behind an event", `[{"t":1} {}]`, "unexpected character", 9},
		{"text behind", `[{"t":1}]x`, "text after the document", 9},
		{"name cut in an escape", `[{"t\u00`, "bad escape", 8},
	}
	for _, tt := range tests {
		t.Run("fail/"+tt.name, func(t *testing.T) {
			dst, misses, err := transform.EnrichEvents([]byte(dstPrefix), []byte(tt.body), smallJoin())
			checkSyntaxError(t, err, tt.reason, tt.offset)
			appended(t, dst, err)
			if misses != (transform.JoinMisses{}) {
				t.Errorf("got %+v, want no misses", misses)
			}
		})
	}
}

// TestEnrichEventsJoins has joins that no provider of today needs.
func TestEnrichEventsJoins(t *testing.T) {
	body := []byte(`[{"id":1,"eventDate":"O","type":"T","":"x","d":"D"}]`)
	many := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m"}
	tests := []struct {
		name string
		join transform.EventJoin
		want string
	}{
		{"nothing named", transform.EventJoin{}, `[{"id":1,"":"x","d":"D","type":"Unknown","coaching_status":"Unknown","vehicle":{"dcVehicleId":"","name":""},"eventDate":"O","lastUpdatedDate":""}]`},
		{
			"one member in every role",
			transform.EventJoin{
				Trigger: "id", Status: "id", Vehicle: "id", EventDate: []string{"id"}, LastUpdated: []string{"id"},
				Triggers: map[string][]byte{"1": []byte(`"T1"`)}, Statuses: map[string][]byte{"1": []byte(`"S1"`)},
			},
			`[{"id":1,"":"x","d":"D","type":"T1","coaching_status":"S1","vehicle":{"dcVehicleId":"1","name":""},"eventDate":"1","lastUpdatedDate":"1"}]`,
		},
		{
			"own names as sources",
			transform.EventJoin{Trigger: "type", EventDate: []string{"lastUpdatedDate", "eventDate"}, LastUpdated: []string{"type"}, Triggers: map[string][]byte{"T": []byte(`"Tee"`)}},
			`[{"id":1,"":"x","d":"D","type":"Tee","coaching_status":"Unknown","vehicle":{"dcVehicleId":"","name":""},"eventDate":"O","lastUpdatedDate":"T"}]`,
		},
		{
			"many sources",
			transform.EventJoin{EventDate: many, LastUpdated: many},
			`[{"id":1,"":"x","d":"D","type":"Unknown","coaching_status":"Unknown","vehicle":{"dcVehicleId":"","name":""},"eventDate":"D","lastUpdatedDate":"D"}]`,
		},
	}
	for _, tt := range tests {
		t.Run("ok/"+tt.name, func(t *testing.T) {
			dst, _, err := transform.EnrichEvents([]byte(dstPrefix), body, &tt.join)
			if got := appended(t, dst, err); string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestEnrichEventsGolden(t *testing.T) {
	body := upstream(t, "lytx/events.json")
	dst, misses, err := transform.EnrichEvents([]byte(dstPrefix), body, lytxJoin(t))
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "events.json", appended(t, dst, nil))
	if want := (transform.JoinMisses{Events: 6, Trigger: 2, Status: 1, Vehicle: 1}); misses != want {
		t.Errorf("got %+v, want %+v", misses, want)
	}
	checkEnriched(t, body, lytxJoin(t))
}

func TestEnrichEventsRecorded(t *testing.T) {
	body := recording(t, "lytx/video_safety_eventsWithMetadata.limit50.json")
	join := lytxJoin(t)
	join.Triggers = names(recording(t, "lytx/video_safety_events_triggers.json"))
	join.Statuses = names(recording(t, "lytx/video_safety_events_statuses.json"))
	join.Vehicles = vehicles(recording(t, "lytx/video_vehicles.page1of2.json"))

	dst, misses, err := transform.EnrichEvents([]byte(dstPrefix), body, join)
	if err != nil {
		t.Fatal(err)
	}
	if want := (transform.JoinMisses{Events: 50, Vehicle: 4}); misses != want {
		t.Errorf("got %+v, want %+v", misses, want)
	}
	checkEnriched(t, body, join)

	// Nothing is dropped, so what stands in front of the five is the event itself.
	in, out := gjson.ParseBytes(body).Array(), gjson.ParseBytes(appended(t, dst, nil)).Array()
	for i := range in {
		if want := strings.TrimSuffix(in[i].Raw, "}") + `,"type":`; !strings.HasPrefix(out[i].Raw, want) {
			t.Errorf("event %d was not copied byte for byte:\n%s", i, out[i].Raw)
		}
	}
}

func TestEnrichEventsAllocatesNothing(t *testing.T) {
	body := upstream(t, "lytx/events.json")
	join := lytxJoin(t)
	dst := make([]byte, 0, 4*len(body))
	allocs := testing.AllocsPerRun(100, func() {
		if _, _, err := transform.EnrichEvents(dst, body, join); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("got %v allocations, want 0", allocs)
	}
}

// checkEnriched compares EnrichEvents with an implementation that is slow and plain.
func checkEnriched(tb testing.TB, body []byte, j *transform.EventJoin) {
	tb.Helper()
	want, wantMisses, ok := enrich(tb, body, j)
	dst, misses, err := transform.EnrichEvents([]byte(dstPrefix), body, j)
	got := appended(tb, dst, err)
	if (err == nil) != ok {
		tb.Fatalf("got %v for %.2000q", err, body)
	}
	if err != nil {
		return
	}
	if v := decode(tb, got); !reflect.DeepEqual(v, want) {
		tb.Fatalf("got  %v\nwant %v\nfor %.2000q", v, want, body)
	}
	if misses != wantMisses {
		tb.Fatalf("got %+v, want %+v for %.2000q", misses, wantMisses, body)
	}
}

// enrich is EnrichEvents on decoded values.
func enrich(tb testing.TB, body []byte, j *transform.EventJoin) ([]any, transform.JoinMisses, bool) {
	events, ok := objects(tb, body)
	if !ok {
		return nil, transform.JoinMisses{}, false
	}
	misses := transform.JoinMisses{Events: len(events)}
	enriched := make([]any, 0, len(events))
	for _, event := range events {
		added := map[string]any{
			"type":            catalogName(tb, j.Triggers, event, j.Trigger, &misses.Trigger),
			"coaching_status": catalogName(tb, j.Statuses, event, j.Status, &misses.Status),
			"eventDate":       date(event, j.EventDate, "eventDate"),
			"lastUpdatedDate": date(event, j.LastUpdated, "lastUpdatedDate"),
		}
		id := valueOf(event, j.Vehicle)
		added["vehicle"] = map[string]any{"dcVehicleId": id, "name": ""}
		if id != "" && id != strings.Trim(noVehicle, `"`) {
			if vehicle := j.Vehicles[id]; len(vehicle) > 0 {
				added["vehicle"] = decode(tb, vehicle)
			} else {
				misses.Vehicle++
			}
		}
		maps.Copy(event, added)
		enriched = append(enriched, event)
	}
	return enriched, misses, true
}

func catalogName(tb testing.TB, catalog map[string][]byte, event map[string]any, member string, misses *int) any {
	id := valueOf(event, member)
	if name := catalog[id]; id != "" && len(name) > 0 {
		return decode(tb, name)
	}
	*misses++
	return "Unknown"
}

func date(event map[string]any, sources []string, own string) string {
	for _, source := range sources {
		if source != "" && event[source] != nil {
			return asText(event[source])
		}
	}
	s, _ := event[own].(string)
	return s
}

func valueOf(object map[string]any, member string) string {
	if member == "" {
		return ""
	}
	return asText(object[member])
}
