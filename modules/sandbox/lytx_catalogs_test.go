package sandbox

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/tidwall/gjson"
)

func TestLytxCatalogs(t *testing.T) {
	c := newClient(t, Options{})
	for name, file := range map[string]string{
		"triggers":        "lytx/video_safety_events_triggers.json",
		"statuses":        "lytx/video_safety_events_statuses.json",
		"triggersubtypes": "lytx/video_safety_events_triggersubtypes.json",
	} {
		t.Run("ok/"+name, func(t *testing.T) {
			a := c.lytx("/video/safety/events/" + name)
			a.expect(t, http.StatusOK, "")
			valid(t, a)
			got, want := gjson.Parse(a.body), recording(t, file)
			if got.Get("#.id").Raw != want.Get("#.id").Raw || got.Get("#.name").Raw != want.Get("#.name").Raw {
				t.Errorf("ids and names %s %s", got.Get("#.id"), got.Get("#.name"))
			}
			if shape(got) != shape(want) {
				t.Errorf("shape %s, want %s", shape(got), shape(want))
			}
		})
	}
	t.Run("ok/behaviors", func(t *testing.T) {
		valid(t, c.lytx("/video/safety/events/behaviors"))
	})
}

func TestLytxVehicles(t *testing.T) {
	c := newClient(t, Options{})
	pages := func(path, array, total string, size int) []gjson.Result {
		t.Helper()
		var rows []gjson.Result
		for page := 1; ; page++ {
			a := c.lytx(fmt.Sprintf(path, page))
			if a.status == http.StatusNoContent {
				return rows
			}
			a.expect(t, http.StatusOK, "")
			valid(t, a)
			if a.get(total).Int() != 800 {
				t.Fatalf("%s is %s", total, a.get(total))
			}
			got := a.get(array).Array()
			if len(got) == 0 {
				return rows
			}
			if len(got) != size && len(rows)+len(got) != 800 {
				t.Fatalf("page %d has %d rows", page, len(got))
			}
			rows = append(rows, got...)
		}
	}
	video := pages("/video/vehicles?PageNumber=%d", "vehicles", "totalCount", 50)
	details := pages("/vehicles/all?page=%d", "vehicles", "totalResults", 100)
	byID := make(map[string]gjson.Result)
	for _, v := range details {
		byID[v.Get("id").String()] = v
	}
	if len(video) != 800 || len(details) != 800 || len(byID) != 800 {
		t.Fatalf("%d and %d vehicles, %d of them different", len(video), len(details), len(byID))
	}
	plates := 0
	for _, v := range video {
		d := byID[v.Get("dcVehicleId").String()]
		if d.Get("name").String() != v.Get("name").String() || len(d.Get("vin").String()) != 17 {
			t.Errorf("vehicle %s and details %s", v.Get("name"), d)
		}
		if d.Get("licensePlateNumber").Type == gjson.String {
			plates++
		}
	}
	if plates == 0 || plates == 800 {
		t.Errorf("%d vehicles have plates", plates)
	}

	t.Run("ok/page size and name", func(t *testing.T) {
		a := c.lytx("/video/vehicles?PageSize=700&PageNumber=2")
		if a.get("vehicles.#").Int() != 100 || a.get("vehicles.0.name").String() != video[700].Get("name").String() {
			t.Errorf("%s vehicles from %s", a.get("vehicles.#"), a.get("vehicles.0.name"))
		}
		if a := c.lytx("/video/vehicles?VehicleName=trk-1001"); a.get("totalCount").Int() != 1 {
			t.Errorf("%s vehicles by name", a.get("totalCount"))
		}
		c.lytx("/vehicles/all?name=nobody").expect(t, http.StatusNoContent, "")
	})
	t.Run("ok/as recorded", func(t *testing.T) {
		want := recording(t, "lytx/video_vehicles.page1of2.json").Get("vehicles.0")
		without := slices.DeleteFunc(keys(video[0]), func(k string) bool { return k == "lastWakeAttempt" })
		if !slices.Equal(without, keys(want)) || shape(video[0].Get("devices")) != shape(want.Get("devices")) {
			t.Errorf("vehicle %s\nwant %s", shape(video[0]), shape(want))
		}
		row := recording(t, "lytx/vehicles_all.row_values.json").Get("vehicles.0")
		if !slices.Equal(keys(details[0]), keys(row)) {
			t.Errorf("members %q, want %q", keys(details[0]), keys(row))
		}
	})
}
