package transform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/transform"
)

// The least that EnrichEvents must be faster than the two obvious ways to write it.
// Being ratios, they hold on any machine; being less than half of what a quiet one
// measures, they hold on a busy one too.
const (
	fasterThanMaps  = 10
	fasterThanGjson = 1.2
)

// BenchmarkEnrichEvents enriches a page of 1,000 events, as long as recorded ones and
// a quarter as long. The two other ways do the same on the same body and report how
// many times as long they take.
func BenchmarkEnrichEvents(b *testing.B) {
	const events = 1_000
	join := benchmarkJoin()
	for _, size := range []struct {
		name  string
		short bool
	}{{"1900B", false}, {"480B", true}} {
		body := benchmarkEvents(events, size.short)
		dst := make([]byte, 0, 2*len(body))
		checkEnriched(b, body, join)
		var own float64 // nanoseconds per page

		b.Run(size.name+"/scanner", func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := transform.EnrichEvents(dst, body, join); err != nil {
					b.Fatal(err)
				}
			}
			own = float64(b.Elapsed()) / float64(b.N)
			b.ReportMetric(testing.AllocsPerRun(1, func() { _, _, _ = transform.EnrichEvents(dst, body, join) })/events, "allocs/event")
			b.ReportMetric(float64(len(body))/events, "B/event")
		})
		compare := func(name string, least float64, enrich func() error) {
			b.Run(size.name+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					if err := enrich(); err != nil {
						b.Fatal(err)
					}
				}
				if own == 0 {
					return // only this one was asked for
				}
				ratio := float64(b.Elapsed()) / float64(b.N) / own
				b.ReportMetric(ratio, "x-scanner")
				if ratio < least && b.N > 10 { // fewer rounds are no measurement
					b.Errorf("only %.1f times as long as the scanner, want %.1f", ratio, least)
				}
			})
		}
		compare("json-maps", fasterThanMaps, func() error { return enrichMaps(body, join) })
		compare("gjson-append", fasterThanGjson, func() error { return enrichGjson(dst, body, join) })
	}
}

// enrichMaps is the way of encoding/json.
func enrichMaps(body []byte, j *transform.EventJoin) error {
	var events []map[string]any
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	if err := d.Decode(&events); err != nil {
		return err
	}
	for _, event := range events {
		event["type"] = json.RawMessage(j.Triggers[string(event[j.Trigger].(json.Number))])
		event["coaching_status"] = json.RawMessage(j.Statuses[string(event[j.Status].(json.Number))])
		event["vehicle"] = json.RawMessage(j.Vehicles[event[j.Vehicle].(string)])
		event["eventDate"] = event["recordDateUTC"]
		event["lastUpdatedDate"] = event["revisionDate"]
	}
	_, err := json.Marshal(events)
	return err
}

// enrichGjson looks up members with gjson and appends, after checking the text.
func enrichGjson(dst, body []byte, j *transform.EventJoin) error {
	if !gjson.ValidBytes(body) {
		return transform.ErrInvalid
	}
	dst = append(dst, '[')
	gjson.ParseBytes(body).ForEach(func(_, event gjson.Result) bool {
		if len(dst) > 1 {
			dst = append(dst, ',')
		}
		dst = append(dst, event.Raw[:len(event.Raw)-1]...)
		dst = append(dst, `,"type":`...)
		dst = append(dst, j.Triggers[event.Get(j.Trigger).Raw]...)
		dst = append(dst, `,"coaching_status":`...)
		dst = append(dst, j.Statuses[event.Get(j.Status).Raw]...)
		dst = append(dst, `,"vehicle":`...)
		dst = append(dst, j.Vehicles[event.Get(j.Vehicle).Str]...)
		dst = append(dst, `,"eventDate":`...)
		dst = append(dst, event.Get("recordDateUTC").Raw...)
		dst = append(dst, `,"lastUpdatedDate":`...)
		dst = append(dst, event.Get("revisionDate").Raw...)
		dst = append(dst, '}')
		return true
	})
	return nil
}

func BenchmarkValidate(b *testing.B) {
	body := benchmarkEvents(1_000, false)
	for _, bm := range []struct {
		name  string
		valid func() bool
	}{
		{"Validate", func() bool { return transform.Validate(body) == nil }},
		{"ValidateUnique", func() bool { return transform.ValidateUnique(body) == nil }},
		{"gjson", func() bool { return gjson.ValidBytes(body) }},
		{"encoding-json", func() bool { return json.Valid(body) }},
	} {
		b.Run(bm.name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if !bm.valid() {
					b.Fatal("not valid")
				}
			}
		})
	}
}

func BenchmarkMergeArrays(b *testing.B) {
	body := benchmarkEvents(1_000, false)
	dst := make([]byte, 0, 2*len(body))
	merge := transform.Merge{ID: "id", Keys: []string{"recordDateUTC"}, Descending: true, Limit: 1_000}
	b.SetBytes(2 * int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := transform.MergeArrays(dst, [][]byte{body, body}, merge); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNormalizeOrders(b *testing.B) {
	orders := member(upstream(b, "fleetrock/repair_orders_august.json"), "repair_orders")
	arrays := make([][]byte, 200)
	size := 0
	for i := range arrays {
		arrays[i] = bytes.ReplaceAll(orders, []byte("51200"), fmt.Append(nil, 1_000+i))
		size += len(arrays[i])
	}
	dst := make([]byte, 0, size)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		if _, n, err := transform.NormalizeOrders(dst, arrays); err != nil || n != 3*len(arrays) {
			b.Fatal(n, err)
		}
	}
}

func BenchmarkUnwrapFuelReport(b *testing.B) {
	var body bytes.Buffer
	transactions := member(upstream(b, "quikq/report_wrapped.json"), "report.transactions")
	body.WriteString(`{"report":{"transactions":[`)
	for range 700 {
		body.Write(transactions[1 : len(transactions)-1])
		body.WriteByte(',')
	}
	body.WriteString(`{}]}}`)
	dst := make([]byte, 0, 2*body.Len())
	b.SetBytes(int64(body.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := transform.UnwrapFuelReport(dst, body.Bytes()); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkJoin is the recorded provider's join with catalogs of a realistic size.
func benchmarkJoin() *transform.EventJoin {
	j := &transform.EventJoin{
		Trigger:     "eventTriggerId",
		Status:      "eventStatusId",
		Vehicle:     "vehicleId",
		EventDate:   []string{"recordDateUTC"},
		LastUpdated: []string{"revisionDate", "creationDate"},
		Triggers:    make(map[string][]byte),
		Statuses:    make(map[string][]byte),
		Vehicles:    make(map[string][]byte),
	}
	for i := range 31 {
		j.Triggers[strconv.Itoa(2000+i)] = fmt.Appendf(nil, `"Trigger number %d"`, i)
	}
	for i := range 7 {
		j.Statuses[strconv.Itoa(1+i)] = fmt.Appendf(nil, `"Status number %d"`, i)
	}
	for i := range 800 {
		j.Vehicles[benchmarkVehicle(i)] = fmt.Appendf(nil,
			`{"dcVehicleId":%q,"name":"UNIT-%03d","vin":"1FUJGLDR0CSBA%04d","licensePlate":"TX-%04d","make":"FREIGHTLINER","model":"CASCADIA 126","year":2021}`,
			benchmarkVehicle(i), i, i, i)
	}
	return j
}

func benchmarkVehicle(i int) string {
	return fmt.Sprintf("7a10c0de-1f2e-4d3c-8b4a-%012x", i)
}

// benchmarkEvents returns n events in the recorded shape: 43 members each, every other
// event with notes. Short ones have the 13 members that carry most of the meaning.
func benchmarkEvents(n int, short bool) []byte {
	const (
		details = `"recordDateTZ":"CST ","recordDateUTCOffset":-360,"downloadedDate":"2026-08-09T02:59:01Z","score":0,"reviewedDate":null,` +
			`"erSerialNumber":"QX70000001","overDue":0.00,"groupId":"5100abcd-60b6-d9cd-a0c3-8e63f0d80000","forwardMax":0.03,"lateralMax":0.07,` +
			`"forwardThreshold":0.00,"lateralThreshold":0.00,"shockThreshold":0.00,"heading":231.50,"coachId":"00000000-0000-0000-0000-000000000000",` +
			`"coachedDate":"9999-01-01T00:00:00Z","notes":%[1]s,"eventNotes":[],"coachingSessionNotes":[],"reviewNotes":%[1]s,` +
			`"behaviors":[{"id":8,"name":"Food / Drink - Observed","creationDate":"2026-08-09T02:24:12.1023015Z","revisionDate":"2026-08-09T02:24:12.1023015Z"}],` +
			`"objectRevision":6,"coachEmployeeNum":null,"coachFirstName":"","coachLastName":"","driverEmployeeNum":null,"driverFirstName":"","driverLastName":"",` +
			`"coachingOverdueDate":"9999-01-01T00:00:00Z","isCoachable":false,`
		note = `[{"id":"5f00abcd-5bec-fe84-3d92-8e63f0480000","body":"2003:|A driver was seen eating at the wheel.|FD:|The driver kept one hand on the ` +
			`wheel and looked away from the road twice.|CI:|The view of the recorder is partly blocked. Ask the workshop to move the unit before the next trip ` +
			`and to clean the windscreen around it.","creationDate":"2026-08-09T02:24:11.5788748Z","authorUserId":"0000abcd-0000-4900-bbd8-afa589220000",` +
			`"firstName":"Robin","lastName":"Reviewer"}]`
	)
	random := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"5c0ffee0-%04x-4a1d-9000-%012x","customerEventId":"BBQZ%06d",`, i, random.Uint32(), i)
		fmt.Fprintf(&b, `"eventTriggerId":%d,"eventTriggerSubTypeId":%d,"eventStatusId":%d,`, 2000+random.IntN(31), 2000+random.IntN(31), 1+random.IntN(7))
		fmt.Fprintf(&b, `"recordDateUTC":"2026-08-%02dT02:58:%02dZ","vehicleId":%q,`, 1+random.IntN(28), random.IntN(60), benchmarkVehicle(random.IntN(800)))
		fmt.Fprintf(&b, `"driverId":"00000000-0000-0000-0000-000000000000","speed":%.14f,"latitude":%.6f,"longitude":%.6f,`,
			random.Float64()*30, random.Float64()*90, random.Float64()*180)
		if !short {
			fmt.Fprintf(&b, details, []string{"[]", note}[i%2])
		}
		b.WriteString(`"creationDate":"2026-08-09T02:59:00.9437631Z","revisionDate":"2026-08-09T02:59:03.0048159Z"}`)
	}
	b.WriteByte(']')
	return b.Bytes()
}
