package telematicstest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fleetgate/fleetgate/providers/telematics"
)

// event is what the suite looks at of an event.
type event struct {
	text                     string
	trigger, status, vehicle string // keys of the catalogs
}

// parse reads the events and checks that their declared fields are there.
func parse(answer telematics.Events) ([]event, error) {
	if len(answer.Body) == 0 {
		return nil, nil
	}
	if !utf8.Valid(answer.Body) {
		return nil, errors.New("the events are not UTF-8")
	}
	var objects []map[string]json.RawMessage
	if err := json.Unmarshal(answer.Body, &objects); err != nil {
		return nil, fmt.Errorf("the events are no JSON array of objects: %w", err)
	}
	if objects == nil {
		return nil, errors.New("the events are null")
	}
	f := answer.Fields
	events := make([]event, len(objects))
	for i, o := range objects {
		text, err := json.Marshal(o) // with sorted members
		if err != nil {
			return nil, err
		}
		events[i] = event{string(text), key(o[f.Trigger]), key(o[f.Status]), key(o[f.Vehicle])}
		if !present(o, f.EventDate) || !present(o, f.LastUpdated) {
			return nil, fmt.Errorf("an event has none of %v or none of %v: %s", f.EventDate, f.LastUpdated, text)
		}
	}
	return events, nil
}

// key is an id as the catalogs are keyed.
func key(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func present(o map[string]json.RawMessage, names []string) bool {
	for _, name := range names {
		if v, ok := o[name]; ok && string(v) != "null" {
			return true
		}
	}
	return false
}

// checkCatalogs checks that the values can be written into the answer as they are.
func checkCatalogs(t *testing.T, c telematics.Catalogs) {
	t.Helper()
	for name, catalog := range map[string]map[string][]byte{"trigger": c.Triggers, "status": c.Statuses} {
		for id, value := range catalog {
			var s *string
			if !utf8.Valid(value) || json.Unmarshal(value, &s) != nil || s == nil {
				t.Errorf("%s %q is no JSON string: %s", name, id, value)
			}
		}
	}
	for id, value := range c.Vehicles {
		var v struct {
			ID    *string          `json:"dcVehicleId"`
			Name  *string          `json:"name"`
			VIN   *json.RawMessage `json:"vin"`
			Plate *json.RawMessage `json:"licensePlate"`
			Make  *json.RawMessage `json:"make"`
			Model *json.RawMessage `json:"model"`
			Year  *json.RawMessage `json:"year"`
		}
		d := json.NewDecoder(strings.NewReader(string(value)))
		d.DisallowUnknownFields()
		if err := d.Decode(&v); err != nil || d.More() || !utf8.Valid(value) {
			t.Errorf("vehicle %q is not the contract's object: %v: %s", id, err, value)
		} else if v.ID == nil || v.Name == nil {
			t.Errorf("vehicle %q lacks dcVehicleId or name: %s", id, value)
		}
	}
	if c.Age < 0 {
		t.Errorf("the age is %v", c.Age)
	}
}
