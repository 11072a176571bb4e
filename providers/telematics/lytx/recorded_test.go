package lytx

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/transform"
)

// recording reads a body that was recorded from the real service. The recordings lie
// beside the repository, not in it.
func recording(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		t.Fatal("there is no go.mod above the test")
	}
	body, err := os.ReadFile(filepath.Join(dir, "..", "shared", "recordings", "lytx", name))
	if os.IsNotExist(err) {
		t.Skip("the recordings are not beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// Of the 50 recorded events 46 are of vehicles on the first of two pages, the only one
// that was recorded.
func TestRecordedEvents(t *testing.T) {
	bodies := map[string]string{
		pathEvents:   recording(t, "video_safety_eventsWithMetadata.limit50.json"),
		pathTriggers: recording(t, "video_safety_events_triggers.json"),
		pathStatuses: recording(t, "video_safety_events_statuses.json"),
		pathVehicles: recording(t, "video_vehicles.page1of2.json"),
		pathDetails:  recording(t, "vehicles_all.row_values.json"),
	}
	s := newService(t)
	s.before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Query().Get("PageNumber") == "2" {
			answer(w, http.StatusOK, `{"totalCount":79,"vehicles":[]}`)
		} else {
			answer(w, http.StatusOK, bodies[r.URL.Path])
		}
		return true
	}
	b := newBench(t, s)
	events, err := b.Events(t.Context(), good, plain)
	if err != nil {
		t.Fatal(err)
	}
	c := b.catalogs(t)
	if len(c.Triggers) != 31 || len(c.Statuses) != 7 || len(c.Vehicles) != 50 || c.DetailsMissing {
		t.Errorf("%d triggers, %d statuses, %d vehicles, details missing %v", len(c.Triggers), len(c.Statuses), len(c.Vehicles), c.DetailsMissing)
	}
	if string(c.Statuses["7"]) != `"FYI Notify"` {
		t.Errorf("status 7 is %s", c.Statuses["7"])
	}
	_, misses, err := transform.EnrichEvents(nil, events.Body, &transform.EventJoin{
		Trigger: events.Fields.Trigger, Status: events.Fields.Status, Vehicle: events.Fields.Vehicle,
		EventDate: events.Fields.EventDate, LastUpdated: events.Fields.LastUpdated,
		Triggers: c.Triggers, Statuses: c.Statuses, Vehicles: c.Vehicles,
	})
	if err != nil {
		t.Fatal(err)
	}
	if misses.Events != 50 || misses.Trigger != 0 || misses.Status != 0 || misses.Vehicle != 4 {
		t.Errorf("misses are %+v, want 4 vehicles of 50 events", misses)
	}
}

func TestRecordedErrors(t *testing.T) {
	for _, tc := range []struct {
		file, message string
		status        int
		kind          providers.Kind
	}{
		{"error_400_safety_dates.json", "One or more validation errors occurred. to: Invalid date format.", 400, providers.KindRejected},
		{"error_400_vehicles_all.json", "One or more validation errors occurred. includeSubgroups: The value is not valid for IncludeSubgroups.", 400, providers.KindRejected},
		{"error_400_video_vehicles.json", "One or more validation errors occurred. pageSize: The value is not valid for PageSize.", 400, providers.KindRejected},
		{"error_401.json", "Unauthorized", 401, providers.KindAuth},
		{"error_404_no_route.json", "no Route matched with those values", 404, providers.KindNotFound},
	} {
		t.Run(tc.file, func(t *testing.T) {
			body := recording(t, tc.file)
			s := newService(t)
			s.before = func(w http.ResponseWriter, _ *http.Request) bool {
				answer(w, tc.status, body)
				return true
			}
			_, err := open(t, s).Events(t.Context(), good, plain)
			wantError(t, err, tc.kind, tc.message)
		})
	}
}

func TestRecordedNoEvents(t *testing.T) {
	body := recording(t, "events_204_empty_body.txt")
	s := newService(t)
	s.before = func(w http.ResponseWriter, _ *http.Request) bool {
		answer(w, http.StatusNoContent, body)
		return true
	}
	events, err := open(t, s).Events(t.Context(), good, plain)
	if err != nil || len(events.Body) != 0 {
		t.Errorf("events are %q, %v", events.Body, err)
	}
}
