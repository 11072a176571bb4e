package transform_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/transform"
)

func TestUnwrapFuelReport(t *testing.T) {
	const counts = `"transactionCount":0,"carrierCount":0,"truckStopCount":0`
	tests := []struct {
		name string
		body string
		want string
	}{
		{"empty object", `{}`, `{` + counts + `,"transactions":[]}`},
		{"empty report", `{"report":{}}`, `{` + counts + `,"transactions":[]}`},
		{"report null", `{"report":null}`, `{` + counts + `,"transactions":[]}`},
		{"transactions null", `{"a":1,"transactions":null,"b":2}`, `{` + counts + `,"a":1,"transactions":[],"b":2}`},
		{"transactions an empty string", `{"transactions":""}`, `{` + counts + `,"transactions":[]}`},
		{"report among other members", `{"status":1,"report":{"transactions":[],` + counts + `},"x":{"report":{"y":1}}}`, `{"transactions":[],` + counts + `}`},
		{"the last report counts", `{"report":5,"\u0072eport":{"transactions":[],` + counts + `}}`, `{"transactions":[],` + counts + `}`},
		{"the last report is null", `{"report":{"transactions":[{"a":1}]},"report":null}`, `{` + counts + `,"transactions":[]}`},
		{"the last report of two", `{"report":{"x":1,"transactions":[{}]},"x":2,"report":{"transactions":[],` + counts + `},"x":3}`, `{"transactions":[],` + counts + `}`},
		{
			"white space dropped, spelling kept",
			" { \"transactions\" : [ { \"a\\u0062\" : \" x\\ty \" , \"n\" : -0.00 , \"e\" : 1E+2 , \"o\" : { } , \"l\" : [ ] } ] ,\n\t" + strings.ReplaceAll(counts, ":", " : ") + " } ",
			`{"transactions":[{"a\u0062":" x\ty ","n":-0.00,"e":1E+2,"o":{},"l":[]}],` + counts + `}`,
		},
		{
			"wrappers at any depth",
			`{` + counts + `,"transactions":[{"transaction":{"subTransactions":[{"subTransaction":{"productDetails":[{"productDetail":{"n":1}},{"productDetail":{"n":2}}]}}]}}]}`,
			`{` + counts + `,"transactions":[{"subTransactions":[{"productDetails":[{"n":1},{"n":2}]}]}]}`,
		},
		{
			"wrappers of side tables",
			`{` + counts + `,"transactions":[],"products":[{"product":{"c":20}}],"truckStops":[{"truckStop":{"s":1}}],"carriers":[{"carrier":{}}],"o":{"things":[{"thing":{"a":[{"":{}}]}}]}}`,
			`{` + counts + `,"transactions":[],"products":[{"c":20}],"truckStops":[{"s":1}],"carriers":[{}],"o":{"things":[{"a":[{"":{}}]}]}}`,
		},
		{
			"element by element",
			`{` + counts + `,"transactions":[{"transaction":{"a":1}},{"a":2},{"transaction":{"a":{"b":3}},"c":4},{"c":5,"transaction":{}},null,"x",[{"transaction":{}}]]}`,
			`{` + counts + `,"transactions":[{"a":1},{"a":2},{"transaction":{"a":{"b":3}},"c":4},{"c":5,"transaction":{}},null,"x",[{"transaction":{}}]]}`,
		},
		{
			"not a wrapper",
			`{` + counts + `,"transactions":[{"transaction":5},{"transaction":null},{"transaction":[{"a":1}]},{"Transaction":{}},{"transactions":{"a":1}},{}],"s":[{"":{}}],"data":[{"dat":{}}]}`,
			`{` + counts + `,"transactions":[{"transaction":5},{"transaction":null},{"transaction":[{"a":1}]},{"Transaction":{}},{"transactions":[{"a":1}]},{}],"s":[{"":{}}],"data":[{"dat":{}}]}`,
		},
		{"a wrapper in a wrapper goes once", `{` + counts + `,"transactions":[{"transaction":{"transaction":{"a":1}}}]}`, `{` + counts + `,"transactions":[{"transaction":{"a":1}}]}`},
		{"names with escapes", `{` + counts + `,"\u0074ransactions":[{"transac\u0074ion":{"a":1}}]}`, `{` + counts + `,"\u0074ransactions":[{"a":1}]}`},
		{
			"single objects",
			`{` + counts + `,"transactions":{"transaction":{"subTransactions":{"subTransaction":{"productDetails":{"productDetail":{"n":1}}}}}}}`,
			`{` + counts + `,"transactions":[{"subTransactions":[{"productDetails":[{"n":1}]}]}]}`,
		},
		{
			"single objects without wrappers",
			`{` + counts + `,"transactions":{"a":1,"subTransactions":{"productDetails":{}}},"products":{"product":{"a":1}}}`,
			`{` + counts + `,"transactions":[{"a":1,"subTransactions":[{"productDetails":[{}]}]}],"products":{"product":{"a":1}}}`,
		},
		{
			"counted",
			`{"a":1,"transactions":[{"transaction":{"startCode":1,"station":"A"}},{"transaction":{"startCode":1,"station":"B"}},{"startCode":2,"station":"A"},{"station":null},{"startCode":"2","station":""},7]}`,
			`{"transactionCount":6,"carrierCount":2,"truckStopCount":2,"a":1,"transactions":[{"startCode":1,"station":"A"},{"startCode":1,"station":"B"},{"startCode":2,"station":"A"},{"station":null},{"startCode":"2","station":""},7]}`,
		},
		{
			"only what is missing is counted",
			`{"carrierCount":9,"transactions":[{"startCode":1,"station":"A"}],"truckStopCount":null}`,
			`{"transactionCount":1,"truckStopCount":1,"carrierCount":9,"transactions":[{"startCode":1,"station":"A"}]}`,
		},
		{
			"given counts are believed and stay where they are",
			`{"transactions":[{}],"truckStopCount":"3","x":0,"carrierCount":2,"transactionCount":1.0}`,
			`{"transactions":[{}],"truckStopCount":"3","x":0,"carrierCount":2,"transactionCount":1.0}`,
		},
		{
			"members twice",
			`{"transactions":[{"station":"A","station":"B"}],"transactions":[{"station":"B"},{"station":"C","station":"B"}],"x":1,"x":2}`,
			`{"transactionCount":2,"carrierCount":0,"truckStopCount":1,"transactions":[{"station":"A","station":"B"}],"transactions":[{"station":"B"},{"station":"C","station":"B"}],"x":1,"x":2}`,
		},
		{"the deepest there can be", `{` + counts + `,"transactions":[` + nested(transform.MaxDepth-2) + `]}`, `{` + counts + `,"transactions":[` + nested(transform.MaxDepth-2) + `]}`},
	}
	for _, tt := range tests {
		t.Run("ok/"+tt.name, func(t *testing.T) {
			dst, err := transform.UnwrapFuelReport([]byte(dstPrefix), []byte(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := appended(t, dst, nil); string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			checkUnwrapped(t, []byte(tt.body))
		})
	}
}

func TestUnwrapFuelReportFails(t *testing.T) {
	tests := []struct {
		name, body, reason string
		offset             int
	}{
		{"array", `[]`, "not an object", 0},
		{"report is an array", `{"a":1,"report":[{}]}`, "not an object", 16},
		{"report is a string", `{"report":"none"}`, "not an object", 10},
		{"the last report is a number", `{"report":{"transactions":[]},"report":5}`, "not an object", 39},
		{"broken behind the report", `{"report":{"transactions":[]}`, "unexpected end", 29},
		{"transactions are a string", `{"report":{"transactions":"none"}}`, "transactions are not a list", 26},
		{"transactions are a number", `{"a":{},"transactions":0}`, "transactions are not a list", 23},
		{"broken beside the report", `{"report":{},"x":01}`, "unexpected character", 18},
		{"one level too many", `{"transactions":[` + nested(transform.MaxDepth-1) + `]}`, "nested too deeply", 16 + transform.MaxDepth - 1},
	}
	for _, tt := range tests {
		t.Run("fail/"+tt.name, func(t *testing.T) {
			dst, err := transform.UnwrapFuelReport([]byte(dstPrefix), []byte(tt.body))
			checkSyntaxError(t, err, tt.reason, tt.offset)
			appended(t, dst, err)
		})
	}
}

// TestUnwrapFuelReportGolden has all spellings of one report come out the same.
func TestUnwrapFuelReportGolden(t *testing.T) {
	for name, golden := range map[string]string{
		"report_wrapped.json":                "fuel_report.json",
		"report_wrapped_without_counts.json": "fuel_report.json",
		"report_flat.json":                   "fuel_report.json",
		"report_single.json":                 "fuel_report_single.json",
	} {
		t.Run("ok/"+name, func(t *testing.T) {
			body := upstream(t, "quikq/"+name)
			dst, err := transform.UnwrapFuelReport([]byte(dstPrefix), body)
			if err != nil {
				t.Fatal(err)
			}
			checkGolden(t, golden, appended(t, dst, nil))
			checkUnwrapped(t, body)
		})
	}
}

func TestUnwrapFuelReportFlatStays(t *testing.T) {
	body := upstream(t, "quikq/report_flat.json")
	got, err := transform.UnwrapFuelReport(nil, body)
	if err != nil || string(got) != string(body) {
		t.Errorf("got %s, %v", got, err)
	}
}

func TestUnwrapFuelReportRecorded(t *testing.T) {
	body := member(recording(t, "quikq/report_200_wrapped.json"), "data")
	dst, err := transform.UnwrapFuelReport([]byte(dstPrefix), body)
	if err != nil {
		t.Fatal(err)
	}
	got := appended(t, dst, nil)
	checkUnwrapped(t, body)
	wrapped := "report.transactions.0.transaction.subTransactions.0.subTransaction.productDetails.0.productDetail."
	flat := "transactions.0.subTransactions.0.productDetails.0."
	for _, name := range []string{"quantity", "exchRate", "adjustedPrice", "tax1"} {
		if got, want := gjson.GetBytes(got, flat+name).Raw, gjson.GetBytes(body, wrapped+name).Raw; got != want || want == "" {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if strings.Contains(string(got), `"transaction":`) || strings.Contains(string(got), `"report":`) {
		t.Errorf("wrappers left in %s", got)
	}
}

// checkUnwrapped compares UnwrapFuelReport with an implementation that is slow and
// plain.
func checkUnwrapped(tb testing.TB, body []byte) {
	tb.Helper()
	want, ok := unwrapReport(tb, body)
	dst, err := transform.UnwrapFuelReport([]byte(dstPrefix), body)
	got := appended(tb, dst, err)
	if (err == nil) != ok {
		tb.Fatalf("got %v for %.2000q", err, body)
	}
	if err != nil {
		return
	}
	if v := decode(tb, got); !reflect.DeepEqual(v, any(want)) {
		tb.Fatalf("got  %v\nwant %v\nfor %.2000q", v, want, body)
	}
}

// unwrapReport is UnwrapFuelReport on decoded values.
func unwrapReport(tb testing.TB, body []byte) (map[string]any, bool) {
	if !valid(body) {
		return nil, false
	}
	report, ok := decode(tb, body).(map[string]any)
	if !ok {
		return nil, false
	}
	if inner, has := report["report"]; has && inner == nil {
		report = map[string]any{}
	} else if has {
		if report, ok = inner.(map[string]any); !ok {
			return nil, false
		}
	}
	switch list := report["transactions"].(type) {
	case []any, map[string]any:
	default:
		if list != nil && list != "" {
			return nil, false
		}
		report["transactions"] = []any{}
	}
	unwrapMembers(report)

	list := report["transactions"].([]any)
	carriers, stations := map[string]bool{"": true}, map[string]bool{"": true}
	for _, element := range list {
		if transaction, isObject := element.(map[string]any); isObject {
			carriers[asText(transaction["startCode"])] = true
			stations[asText(transaction["station"])] = true
		}
	}
	for name, n := range map[string]int{"transactionCount": len(list), "carrierCount": len(carriers) - 1, "truckStopCount": len(stations) - 1} {
		if report[name] == nil {
			report[name] = json.Number(strconv.Itoa(n))
		}
	}
	return report, true
}

func unwrapMembers(object map[string]any) {
	for name, value := range object {
		if single, isObject := value.(map[string]any); isObject && (name == "transactions" || name == "subTransactions" || name == "productDetails") {
			value = []any{single}
		}
		object[name] = unwrapValue(name, value)
	}
}

func unwrapValue(name string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		unwrapMembers(value)
	case []any:
		wrapper, plural := strings.CutSuffix(name, "s")
		for i, element := range value {
			object, isObject := element.(map[string]any)
			if isObject && plural && wrapper != "" && len(object) == 1 {
				if inner, isObject := object[wrapper].(map[string]any); isObject {
					unwrapMembers(inner)
					value[i] = inner
					continue
				}
			}
			value[i] = unwrapValue("", element)
		}
	}
	return value
}
