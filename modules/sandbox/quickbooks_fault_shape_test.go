package sandbox

import (
	"encoding/xml"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// timeMember is what differs from call to call.
var timeMember = regexp.MustCompile(`"time":("[^"]*"|\d+)`)

func TestQuickBooksFaultsLookRecorded(t *testing.T) {
	c := newCompany(t)
	query := func(statement string) answer {
		return c.books(http.MethodGet, "/query?query="+url.QueryEscape(statement), "")
	}
	created := c.books(http.MethodPost, "/vendor", `{"DisplayName":"Twice Ltd"}`).get("Vendor.Id").String()
	update := `{"Id":"` + created + `","SyncToken":"0","DisplayName":"Twice & Co"}`
	c.books(http.MethodPost, "/vendor", update)
	for name, tc := range map[string]struct {
		answer answer
		status int
	}{
		"fault_2020_http400_paymenttype.json":  {c.books(http.MethodPost, "/purchase", `{"Id":"1","SyncToken":"0","sparse":true,"PrivateNote":"x"}`), 400},
		"fault_2030_invalid_id_http400.json":   {c.books(http.MethodGet, "/account/1.5", ""), 400},
		"fault_3200_http401_lowercase.json":    {c.books(http.MethodGet, "/account/1", "", "Authorization", "Bearer expired-REDACTED"), 401},
		"fault_4000_http400.json":              {query("SELECT * FROM Account ORDER TxnDate"), 400},
		"fault_4001_http400_bad_property.json": {query("SELECT * FROM Purchase WHERE NoSuchField = '1'"), 400},
		"fault_5010_from_batch.json":           {c.books(http.MethodPost, "/vendor", update), 400},
		"fault_6240_http400.json":              {c.books(http.MethodPost, "/vendor", `{"DisplayName":"TWICE & co"}`), 400},
		"empty_query.resp.json":                {query("SELECT * FROM Vendor WHERE Id = '999999'"), 200},
	} {
		t.Run("ok/"+name, func(t *testing.T) {
			want := timeMember.ReplaceAllString(recording(t, "quickbooks/"+name).Get("@ugly").Raw, `"time":0`)
			got := timeMember.ReplaceAllString(strings.Replace(tc.answer.body, "expired-REDACTED", "REDACTED", 1), `"time":0`)
			if tc.answer.status != tc.status || got != want {
				t.Errorf("status %d\n got %s\nwant %s", tc.answer.status, got, want)
			}
		})
	}
	t.Run("ok/unknown member", func(t *testing.T) {
		want := recording(t, "quickbooks/fault_2010_http400.json")
		a := c.books(http.MethodPost, "/vendor", `{"DisplayName":"x","BadJson":1}`)
		a.expectFault(t, 400, "2010", `Property Name:Unrecognized field "BadJson" (class com.intuit.schema.finance.v3.Vendor), not marked as ignorable (30 known properties: "BillAddr", "TermRef"`)
		if got := gjson.Parse(a.body); shape(got) != shape(want) || !strings.HasSuffix(got.Get("Fault.Error.0.Detail").String(), `"WebAddr"])`+"\n specified is unsupported or invalid") {
			t.Errorf("body %s", a.body)
		}
	})
	for file, a := range map[string]answer{
		"fault_3001_http429.xml":  c.books(http.MethodGet, "/account/1", "", faultHeader, "xml_throttle"),
		"fault_10000_system.xml":  c.books(http.MethodGet, "/account/1", "", faultHeader, "xml"),
		"fault_3200_http401.xml":  c.books(http.MethodGet, "/account/1", "", "Authorization", "Bearer expired-xml"),
		"fault_3001_http429.xml ": c.books(http.MethodGet, "/account/1", "", faultHeader, "throttle", "Accept", "*/*"),
	} {
		t.Run("ok/"+file, func(t *testing.T) {
			got, want := readXML(t, a.body), readXML(t, raw(t, strings.TrimSpace(file)))
			if got.Fault.Type != want.Fault.Type || got.Fault.Error.Code != want.Fault.Error.Code || got.XMLName != want.XMLName {
				t.Errorf("%+v\nwant %+v", got, want)
			}
			if got.Fault.Error.Code == "3001" && got.Fault.Error != want.Fault.Error {
				t.Errorf("%+v\nwant %+v", got.Fault.Error, want.Fault.Error)
			}
			if a.header.Get("Content-Type") != "application/xml" || strconv.Itoa(a.status) != map[string]string{"3001": "429", "10000": "500", "3200": "401"}[want.Fault.Error.Code] {
				t.Errorf("status %d, type %s", a.status, a.header.Get("Content-Type"))
			}
		})
	}
}

type faultXML struct {
	XMLName xml.Name `xml:"http://schema.intuit.com/finance/v3 IntuitResponse"`
	Fault   struct {
		Type  string `xml:"type,attr"`
		Error struct {
			Code    string `xml:"code,attr"`
			Message string
			Detail  string
		}
	}
}

func readXML(t *testing.T, body string) faultXML {
	t.Helper()
	var f faultXML
	if err := xml.Unmarshal([]byte(body), &f); err != nil {
		t.Fatalf("%v in %.300s", err, body)
	}
	return f
}
