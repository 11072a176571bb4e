package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
)

// envelope is the answer of every area but maps.
type envelope struct {
	Status  string          `json:"status"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// success checks that an answer is a success and decodes its data.
func success[T any](tb testing.TB, a answer) T {
	tb.Helper()
	var data T
	if a.status != http.StatusOK {
		tb.Fatalf("status %d, want 200; body: %.500s", a.status, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/json" {
		tb.Errorf("Content-Type %q, want application/json", got)
	}
	decodeSuccess(tb, a.body, &data)
	return data
}

func decodeSuccess(tb testing.TB, body string, data any) {
	tb.Helper()
	var e envelope
	if err := json.Unmarshal([]byte(body), &e); err != nil {
		tb.Fatalf("%v; body: %.500s", err, body)
	}
	if e.Status != "Success" || e.Message != "Success" {
		tb.Fatalf("status %q and message %q, want both Success", e.Status, e.Message)
	}
	if err := json.Unmarshal(e.Data, data); err != nil {
		tb.Fatalf("%v; data: %.500s", err, e.Data)
	}
}

// checkEvents checks a list of events that has some (contract 2.3).
func checkEvents(tb testing.TB, events []map[string]any) {
	tb.Helper()
	if len(events) == 0 {
		tb.Fatal("no events")
	}
	for i, event := range events {
		for _, name := range []string{"type", "coaching_status", "eventDate", "lastUpdatedDate"} {
			if s, ok := event[name].(string); !ok || s == "" || s == "Unknown" {
				tb.Fatalf("event %d: %s is %v, want a name or date", i, name, event[name])
			}
		}
		vehicle, ok := event["vehicle"].(map[string]any)
		if !ok {
			tb.Fatalf("event %d: vehicle is %v, want an object", i, event["vehicle"])
		}
		if id, known := event["vehicleId"]; vehicle["dcVehicleId"] != id || !known {
			tb.Errorf("event %d: vehicle %v does not belong to vehicleId %v", i, vehicle, id)
		}
		if s, ok := vehicle["name"].(string); !ok || s == "" {
			tb.Errorf("event %d: vehicle.name is %v, want a name", i, vehicle["name"])
		}
		for _, name := range []string{"id", "eventTriggerId", "eventStatusId", "driverId", "speed", "latitude", "longitude"} {
			if event[name] == nil {
				tb.Errorf("event %d has no %s", i, name)
			}
		}
	}
}

// fuelReport is contract 2.4 as far as it is checked.
type fuelReport struct {
	TransactionCount int              `json:"transactionCount"`
	CarrierCount     int              `json:"carrierCount"`
	TruckStopCount   int              `json:"truckStopCount"`
	Transactions     []map[string]any `json:"transactions"`
}

// checkReport checks a report that has transactions.
func checkReport(tb testing.TB, r fuelReport) {
	tb.Helper()
	if len(r.Transactions) == 0 || r.TransactionCount != len(r.Transactions) || r.CarrierCount != 1 || r.TruckStopCount == 0 {
		tb.Fatalf("%d transactions, counts %d, %d and %d; want some, counted, of one carrier at some truck stops",
			len(r.Transactions), r.TransactionCount, r.CarrierCount, r.TruckStopCount)
	}
	for i, transaction := range r.Transactions {
		for _, name := range []string{"seq", "startCode", "transNumber", "beginDate", "driver", "unit", "station", "dataCapture"} {
			if transaction[name] == nil {
				tb.Errorf("transaction %d has no %s, or still has its wrapper", i, name)
			}
		}
		sub := flat(tb, transaction, "subTransactions", "subTransNum")
		flat(tb, sub, "productDetails", "productCode")
	}
}

// flat returns the first element of an array, which must not be wrapped in an object
// of a single member.
func flat(tb testing.TB, object map[string]any, array, member string) map[string]any {
	tb.Helper()
	list, ok := object[array].([]any)
	if !ok || len(list) == 0 {
		tb.Fatalf("%s is %v, want a list with something in it", array, object[array])
	}
	first, ok := list[0].(map[string]any)
	if !ok || first[member] == nil {
		tb.Fatalf("%s[0] has no %s: %v", array, member, list[0])
	}
	return first
}

// checkOrders checks a list of repair orders that has some (contract 2.5): exactly
// seven members, all of them strings.
func checkOrders(tb testing.TB, orders []map[string]any) {
	tb.Helper()
	if len(orders) == 0 {
		tb.Fatal("no repair orders")
	}
	names := []string{"id", "unit_number", "vin", "vendor_name", "status", "grand_total", "date_created"}
	ids := make(map[any]bool)
	for i, order := range orders {
		if len(order) != len(names) {
			tb.Errorf("order %d has %d members, want %d: %v", i, len(order), len(names), order)
		}
		for _, name := range names {
			if _, ok := order[name].(string); !ok {
				tb.Errorf("order %d: %s is %v, want a string", i, name, order[name])
			}
		}
		if ids[order["id"]] {
			tb.Errorf("order %v is listed twice", order["id"])
		}
		ids[order["id"]] = true
	}
}
