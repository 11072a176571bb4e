package sandbox

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

const (
	purchaseBody = `{"PaymentType":"CreditCard","Credit":true,"AccountRef":{"value":"42","name":"anything"},"TxnDate":"2026-09-15","CurrencyRef":{"value":"USD"},` +
		`"PrivateNote":"first","EntityRef":{"value":"56"},"TotalAmt":999,"Line":[` + firstLine + `,` + secondLine + `]}`
	firstLine  = `{"DetailType":"AccountBasedExpenseLineDetail","Amount":12.340,"Description":"fuel","LineNum":1,"AccountBasedExpenseLineDetail":{"AccountRef":{"value":"5"}},"ProjectRef":{"value":"9"}}`
	secondLine = `{"DetailType":"AccountBasedExpenseLineDetail","Amount":0.1,"AccountBasedExpenseLineDetail":{"AccountRef":{"value":"7"},"CustomerRef":{"value":"20","name":"Customer"}}}`
)

// save writes an entity and returns it.
func (c client) save(path, body string) gjson.Result {
	c.t.Helper()
	a := c.books(http.MethodPost, path, body)
	if a.status != http.StatusOK || !gjson.Valid(a.body) {
		c.t.Fatalf("answered %d %.600s\nto %.600s", a.status, a.body, body)
	}
	entity := a.get("Purchase")
	if !entity.Exists() {
		entity = a.get("Vendor")
	}
	return entity
}

// set changes members of a body; pairs are a path and a JSON text, "" to remove it.
func set(t *testing.T, body string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		var err error
		if pairs[i+1] == "" {
			body, err = sjson.Delete(body, pairs[i])
		} else {
			body, err = sjson.SetRaw(body, pairs[i], pairs[i+1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return body
}

// is checks members of an entity; pairs are a path and the JSON text that is there, ""
// for none.
func is(t *testing.T, entity gjson.Result, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := entity.Get(pairs[i]).Raw; got != pairs[i+1] {
			t.Errorf("%s is %s, want %s; in %.900s", pairs[i], got, pairs[i+1], entity.Raw)
		}
	}
}

func TestQuickBooksWritesLookRecorded(t *testing.T) {
	c := newCompany(t)
	t.Run("ok/vendor create", func(t *testing.T) {
		want := recording(t, "quickbooks/vendor_create.resp.json")
		got := gjson.Parse(c.books(http.MethodPost, "/vendor?minorversion=75", raw(t, "vendor_create.req.json")).body)
		if shape(got) != shape(want) {
			t.Errorf("%s\nwant %s", got.Raw, want.Raw)
		}
		for _, path := range []string{"BillAddr.Country", "Balance", "Vendor1099", "CurrencyRef|@ugly", "sparse", "SyncToken", "PrintOnCheckName", "Active", "PrimaryPhone|@ugly", "PrimaryEmailAddr|@ugly"} {
			is(t, got.Get("Vendor"), path, want.Get("Vendor."+path).Raw)
		}
		if p := got.Get("Vendor.V4IDPseudonym").String(); len(p) != len(want.Get("Vendor.V4IDPseudonym").String()) {
			t.Errorf("pseudonym %s", p)
		}
	})
	t.Run("ok/vendor full update", func(t *testing.T) {
		v := c.save("/vendor", `{"DisplayName":"Before","GivenName":"Gina","AcctNum":"7","BillAddr":{"City":"Joplin"},"PrimaryPhone":{"FreeFormNumber":"1"},"TaxIdentifier":"12-3456789"}`)
		is(t, v, "TaxIdentifier", `"XXXXXX6789"`)
		want := recording(t, "quickbooks/vendor_update_min.resp.json").Get("Vendor")
		body := set(t, raw(t, "vendor_update_min.req.json"), "Id", v.Get("Id").Raw, "SyncToken", `"0"`)
		if got := c.save("/vendor", body); shape(got) != shape(want) || got.Get("PrintOnCheckName").String() != "Test Update" {
			t.Errorf("%s\nwant %s", got.Raw, want.Raw)
		}
	})
	t.Run("ok/vendor documented", func(t *testing.T) {
		body := raw(t, "doc_vendor_full_update.req.json")
		token := c.books(http.MethodGet, "/vendor/30", "").get("Vendor.SyncToken").String()
		v := c.save("/vendor", set(t, body, "SyncToken", `"`+token+`"`))
		is(t, v, "GivenName", `"Bessie"`, "WebAddr.URI", `"http://www.booksbybessie.co"`, "BillAddr.Lat", "", "MetaData.CreateTime", c.books(http.MethodGet, "/vendor/30", "").get("Vendor.MetaData.CreateTime").Raw)
	})
	t.Run("ok/purchase with null references", func(t *testing.T) {
		p := c.save("/purchase", raw(t, "purchase_create_tax_nullrefs.req.json"))
		is(t, p, "DepartmentRef", "", "Line.0.AccountBasedExpenseLineDetail.CustomerRef", "", "TotalAmt", "0.89", "EntityRef.type", `"Vendor"`,
			"Line.0.AccountBasedExpenseLineDetail.TaxCodeRef.value", `"17"`, "Line.0.AccountBasedExpenseLineDetail.TaxAmount", "0.11")
	})
	t.Run("fail/project inside the detail", func(t *testing.T) {
		body := raw(t, "doc_purchase_create.req.json")
		c.books(http.MethodPost, "/purchase", body).expectFault(t, 400, "2010", `"ProjectRef" (class com.intuit.schema.finance.v3.AccountBasedExpenseLineDetail)`)
		hoisted := set(t, body, "Line.0.AccountBasedExpenseLineDetail.ProjectRef", "", "Line.0.ProjectRef", `{"value":"42991284"}`)
		is(t, c.save("/purchase", hoisted), "Line.0.ProjectRef.value", `"42991284"`, "TotalAmt", "10.0", "Line.0.Amount", "10.0", "Credit", "false")
	})
}

func TestQuickBooksPurchases(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	p := c.save("/purchase?minorversion=75", purchaseBody)
	id := p.Get("Id").String()
	sparse := `{"sparse":true,"Id":"` + id + `","SyncToken":"0","PaymentType":"CreditCard"}`

	t.Run("ok/create", func(t *testing.T) {
		is(t, p, "Id", `"12001"`, "SyncToken", `"0"`, "sparse", "false", "domain", `"QBO"`, "TotalAmt", "12.440", "Credit", "true", "TxnDate", `"2026-09-15"`,
			"AccountRef", `{"value":"42","name":"Fleet Card 2"}`, "CurrencyRef", `{"value":"USD","name":"United States Dollar"}`,
			"EntityRef.name", c.books(http.MethodGet, "/vendor/56", "").get("Vendor.DisplayName").Raw, "EntityRef.type", `"Vendor"`,
			"Line.#.Id", `["1","2"]`, "Line.0.Amount", "12.340", "Line.0.LineNum", "1", "Line.0.ProjectRef", `{"value":"9"}`,
			"Line.0.AccountBasedExpenseLineDetail", `{"AccountRef":{"value":"5","name":"Fuel"},"BillableStatus":"NotBillable","TaxCodeRef":{"value":"NON"}}`,
			"Line.1.AccountBasedExpenseLineDetail.BillableStatus", `"Billable"`, "Line.1.CustomExtensions", "[]",
			"PurchaseEx.any.0.value.Value", `"11"`, "MetaData.CreateTime", `"2026-09-30T04:22:33-07:00"`, "MetaData.LastUpdatedTime", `"2026-09-30T04:22:33-07:00"`)
		if read := c.books(http.MethodGet, "/purchase/"+id, "").get("Purchase").Raw; read != p.Raw {
			t.Errorf("read %s\nwant %s", read, p.Raw)
		}
		if rows := c.query("select * from Purchase maxresults 1"); rows[0].Raw != p.Raw {
			t.Errorf("the latest purchase is %s", rows[0].Raw)
		}
		is(t, c.save("/purchase", set(t, purchaseBody, "PaymentType", `"Check"`, "AccountRef.value", `"35"`, "TxnDate", "null", "EntityRef", "")),
			"Credit", "", "PrintStatus", `"NotSet"`, "TxnDate", `"2026-09-30"`, "EntityRef", "", "PurchaseEx.any.0.value.Value", `"3"`)
	})
	t.Run("ok/nothing changes", func(t *testing.T) {
		if again := c.save("/purchase", sparse); again.Raw != p.Raw {
			t.Errorf("%s\nwant %s", again.Raw, p.Raw)
		}
		if again := c.save("/purchase", p.Raw); again.Raw != p.Raw {
			t.Errorf("%s\nwant %s", again.Raw, p.Raw)
		}
		base := c.books(http.MethodGet, "/purchase/1", "").get("Purchase")
		if again := c.save("/purchase", base.Raw); again.Raw != base.Raw {
			t.Errorf("%s\nwant %s", again.Raw, base.Raw)
		}
	})
	t.Run("ok/sparse update", func(t *testing.T) {
		lines := `[{"Id":"2","DetailType":"AccountBasedExpenseLineDetail","Amount":0.2,"AccountBasedExpenseLineDetail":{"AccountRef":{"value":"8"}}},` + firstLine + `,` +
			set(t, firstLine, "Id", `"77"`) + `,` + set(t, secondLine, "Id", `"2"`) + `]`
		p = c.save("/purchase?operation=update", set(t, sparse, "Line", lines, "PrivateNote", "null"))
		is(t, p, "SyncToken", `"1"`, "Credit", "true", "PrivateNote", "", "EntityRef.value", `"56"`, "TxnDate", `"2026-09-15"`,
			"Line.#.Id", `["2","3","4","5"]`, "Line.#.Amount", "[0.2,12.340,12.340,0.1]", "TotalAmt", "24.980", "Line.0.AccountBasedExpenseLineDetail.CustomerRef", "", "sparse", "false")
	})
	t.Run("ok/full update", func(t *testing.T) {
		p = c.save("/purchase", `{"Id":"`+id+`","SyncToken":1,"PaymentType":"CreditCard","AccountRef":{"value":"41"},"Line":[`+set(t, firstLine, "Id", `"4"`)+`]}`)
		is(t, p, "SyncToken", `"2"`, "Credit", "false", "EntityRef", "", "Line.#.Id", `["4"]`, "TxnDate", `"2026-09-30"`, "AccountRef.value", `"41"`)
		is(t, c.save("/purchase", set(t, sparse, "SyncToken", `"2"`, "Line", "["+firstLine+"]")), "Line.#.Id", `["6"]`)
	})
	t.Run("ok/item lines", func(t *testing.T) {
		item := `{"DetailType":"ItemBasedExpenseLineDetail","Amount":"7.50","ItemBasedExpenseLineDetail":{"ItemRef":{"value":"5","name":"Pump"},"UnitPrice":2.5,"Qty":3}}`
		is(t, c.save("/purchase", set(t, purchaseBody, "Line", "["+item+"]")), "TotalAmt", "7.50", "Line.0.ItemBasedExpenseLineDetail",
			`{"BillableStatus":"NotBillable","ItemRef":{"value":"5","name":"Pump"},"UnitPrice":2.5,"Qty":3,"TaxCodeRef":{"value":"NON"}}`)
	})
	t.Run("ok/exact totals", func(t *testing.T) {
		lines := strings.TrimSuffix(strings.Repeat(set(t, firstLine, "Amount", "0.1")+",", 1000), ",")
		is(t, c.save("/purchase", set(t, purchaseBody, "Line", "["+lines+"]")), "TotalAmt", "100.0")
		big := set(t, firstLine, "Amount", "9999999999999.99") + "," + set(t, firstLine, "Amount", "-0.01")
		is(t, c.save("/purchase", set(t, purchaseBody, "Line", "["+big+"]")), "TotalAmt", "9999999999999.98")
	})
	t.Run("ok/document numbers", func(t *testing.T) {
		c.save("/purchase", set(t, purchaseBody, "DocNumber", `"D-1"`))
		c.books(http.MethodPost, "/purchase", set(t, purchaseBody, "DocNumber", `"D-1"`)).expectFault(t, 400, "6140", "DocNumber=D-1 is assigned")
		c.save("/purchase?include=allowduplicatedocnum", set(t, purchaseBody, "DocNumber", `"D-1"`))
	})

	detail := "Line.0.AccountBasedExpenseLineDetail"
	for name, tc := range map[string]struct{ body, code, detail string }{
		"no payment type":        {set(t, purchaseBody, "PaymentType", ""), "2020", "PaymentType"},
		"null payment type":      {set(t, purchaseBody, "PaymentType", "null"), "2020", "PaymentType"},
		"payment type":           {set(t, purchaseBody, "PaymentType", `"Barter"`), "2170", "Invalid Enumeration : Barter"},
		"no account":             {set(t, purchaseBody, "AccountRef", ""), "2020", "AccountRef"},
		"null account":           {set(t, purchaseBody, "AccountRef.value", "null"), "2020", "AccountRef"},
		"unknown account":        {set(t, purchaseBody, "AccountRef.value", `"777"`), "2500", "Accounts element id 777 not found"},
		"inactive account":       {set(t, purchaseBody, "AccountRef.value", `"201"`), "2500", "Accounts element id 201 not found"},
		"account not a number":   {set(t, purchaseBody, "AccountRef.value", `"x"`), "2500", "Accounts element id x not found"},
		"bank for a card":        {set(t, purchaseBody, "AccountRef.value", `"35"`), "6430", "Invalid account type"},
		"unknown payee":          {set(t, purchaseBody, "EntityRef.value", `"99999"`), "2500", "Names element id 99999 not found"},
		"unknown currency":       {set(t, purchaseBody, "CurrencyRef.value", `"XYZ"`), "2500", "Currency element id XYZ not found"},
		"no lines":               {set(t, purchaseBody, "Line", ""), "2020", "Line"},
		"empty lines":            {set(t, purchaseBody, "Line", "[]"), "2250", "split line"},
		"lines not an array":     {set(t, purchaseBody, "Line", "{}"), "2010", "Line: an array was expected"},
		"line not an object":     {set(t, purchaseBody, "Line", "[1]"), "2010", "a Line was expected"},
		"empty line":             {set(t, purchaseBody, "Line", "[{}]"), "2020", "Amount"},
		"no amount":              {set(t, purchaseBody, "Line.0.Amount", ""), "2020", "Amount"},
		"amount in words":        {set(t, purchaseBody, "Line.0.Amount", `"ten"`), "2110", "Supplied value:ten"},
		"amount with exponent":   {set(t, purchaseBody, "Line.0.Amount", "1e400"), "2110", "Supplied value:1e400"},
		"amount too long":        {set(t, purchaseBody, "Line.0.Amount", "1234567890123.456"), "2110", "at most 15 digits"},
		"no detail type":         {set(t, purchaseBody, "Line.0.DetailType", ""), "2020", "DetailType"},
		"detail type":            {set(t, purchaseBody, "Line.0.DetailType", `"SalesItemLineDetail"`), "2170", "SalesItemLineDetail"},
		"no detail":              {set(t, purchaseBody, detail, ""), "2020", "AccountBasedExpenseLineDetail"},
		"no line account":        {set(t, purchaseBody, detail+".AccountRef", "", detail+".TaxAmount", "1"), "2020", "AccountRef"},
		"unknown line account":   {set(t, purchaseBody, detail+".AccountRef.value", `"888"`), "2500", "Accounts element id 888 not found"},
		"no item":                {set(t, purchaseBody, "Line.0.DetailType", `"ItemBasedExpenseLineDetail"`, "Line.0.ItemBasedExpenseLineDetail", `{"Qty":1}`), "2020", "ItemRef"},
		"billable status":        {set(t, purchaseBody, detail+".BillableStatus", `"Maybe"`), "2170", "Maybe"},
		"department in detail":   {set(t, purchaseBody, detail+".DepartmentRef", `{"value":"1"}`), "2010", `"DepartmentRef" (class com.intuit.schema.finance.v3.AccountBasedExpenseLineDetail)`},
		"date":                   {set(t, purchaseBody, "TxnDate", `"2026-02-30"`), "2060", "2026-02-30"},
		"credit":                 {set(t, purchaseBody, "Credit", `"maybe"`), "2230", "maybe"},
		"object for a text":      {set(t, purchaseBody, "PrivateNote", `{}`), "2010", "PrivateNote"},
		"long note":              {set(t, purchaseBody, "PrivateNote", `"`+strings.Repeat("é", 4001)+`"`), "2050", "Max:4000 supported. Supplied length:4001"},
		"wrapped":                {`{"Purchase":` + purchaseBody + `}`, "2010", `Unrecognized field "Purchase"`},
		"not an object":          {`[1]`, "2010", "failed to parse json object"},
		"not JSON":               {`{"PaymentType":`, "2010", "failed to parse json object"},
		"empty":                  {``, "2010", "failed to parse json object"},
		"not UTF-8":              {"{\"PrivateNote\":\"\xff\"}", "500", "Invalid byte"},
		"too big":                {`{"PrivateNote":"` + strings.Repeat("x", 4<<20) + `"}`, "6030", "exceed"},
		"too many lines":         {set(t, purchaseBody, "Line", "["+strings.Repeat("{},", 10_000)+"{}]"), "6030", "at most 10000 lines"},
		"unknown id":             {set(t, sparse, "Id", `"5000000"`), "610", "Object Not Found"},
		"id not a number":        {set(t, sparse, "Id", `"1a"`), "2030", "Supplied value:1a"},
		"no token":               {set(t, sparse, "SyncToken", ""), "2020", "SyncToken"},
		"stale":                  {sparse, "5010", "Stale Object Error : "},
		"token from the future":  {set(t, sparse, "SyncToken", `"99"`), "5010", "Stale Object Error : "},
		"sparse without payment": {set(t, sparse, "PaymentType", "", "SyncToken", `"3"`), "2020", "PaymentType"},
	} {
		t.Run("fail/"+name, func(t *testing.T) {
			before := c.books(http.MethodGet, "/purchase/"+id, "").get("Purchase").Raw
			c.books(http.MethodPost, "/purchase", tc.body).expectFault(t, http.StatusBadRequest, tc.code, tc.detail)
			if after := c.books(http.MethodGet, "/purchase/"+id, "").get("Purchase").Raw; after != before {
				t.Errorf("a refused write changed %s\nto %s", before, after)
			}
		})
	}
	t.Run("fail/operations", func(t *testing.T) {
		c.books(http.MethodPost, "/purchase?operation=delete", sparse).expectFault(t, 400, "500", "Operation delete")
		c.books(http.MethodPost, "/purchase?operation=update", purchaseBody).expectFault(t, 400, "2020", "Id")
	})
}

func TestQuickBooksVendors(t *testing.T) {
	clock := newClock()
	c := newClient(t, Options{Throttle: unthrottled, Now: clock.Now})
	v := c.save("/vendor", `{"DisplayName":"  Zeta Haulage ","TaxIdentifier":"123456789","PrimaryPhone":{"FreeFormNumber":"555"},"BillAddr":{"Line1":"1 Main","Lat":"1","Id":"5"},"Suffix":null,"WebAddr":{"URI":null}}`)
	id := v.Get("Id").String()
	sparse := `{"sparse":true,"Id":"` + id + `","SyncToken":"0","DisplayName":"Zeta Haulage"}`
	t.Run("ok/create", func(t *testing.T) {
		is(t, v, "Id", `"1526"`, "DisplayName", `"Zeta Haulage"`, "PrintOnCheckName", `"Zeta Haulage"`, "TaxIdentifier", `"XXXXXX6789"`, "BillAddr.Lat", "", "WebAddr", "", "BillRate", "0")
		if address := v.Get("BillAddr.Id").Int(); address < 500 {
			t.Errorf("address %d", address)
		}
	})
	t.Run("ok/nothing changes", func(t *testing.T) {
		clock.Advance(time.Minute)
		is(t, c.save("/vendor", set(t, sparse, "TaxIdentifier", `"123456789"`, "BillAddr", `{"Line1":"1 Main"}`)), "SyncToken", `"0"`, "BillAddr", v.Get("BillAddr").Raw, "MetaData", v.Get("MetaData").Raw)
		for _, other := range []string{"1", "61", "77"} {
			base := c.books(http.MethodGet, "/vendor/"+other, "").get("Vendor")
			if again := c.save("/vendor", set(t, base.Raw, "TaxIdentifier", "", "sparse", "true")); again.Raw != base.Raw {
				t.Errorf("%s\nwant %s", again.Raw, base.Raw)
			}
		}
	})
	t.Run("ok/tax identifier with the same end", func(t *testing.T) {
		is(t, c.save("/vendor", set(t, sparse, "TaxIdentifier", `"000006789"`)), "SyncToken", `"1"`, "TaxIdentifier", `"XXXXXX6789"`, "MetaData.CreateTime", v.Get("MetaData.CreateTime").Raw, "MetaData.LastUpdatedTime", `"2026-09-30T04:23:33-07:00"`)
	})
	t.Run("ok/names stay", func(t *testing.T) {
		is(t, c.save("/vendor", set(t, sparse, "SyncToken", `"1"`, "DisplayName", "null", "PrintOnCheckName", "null", "AcctNum", `"9"`)), "SyncToken", `"2"`, "DisplayName", `"Zeta Haulage"`, "PrintOnCheckName", `"Zeta Haulage"`, "PrimaryPhone.FreeFormNumber", `"555"`)
		is(t, c.save("/vendor", `{"GivenName":"Ada","FamilyName":"Lane","Title":"Dr."}`), "DisplayName", `"Dr. Ada Lane"`)
	})
	t.Run("ok/inactive and back", func(t *testing.T) {
		off := c.save("/vendor", set(t, sparse, "SyncToken", `"2"`, "Active", "false"))
		is(t, off, "DisplayName", `"Zeta Haulage (deleted)"`, "Active", "false", "SyncToken", `"3"`)
		if n := len(c.query("select * from Vendor where DisplayName like 'Zeta%'")); n != 0 {
			t.Errorf("%d rows", n)
		}
		if n := len(c.query("select * from Vendor where DisplayName like 'Zeta%' and Active in (true,false)")); n != 1 {
			t.Errorf("%d rows", n)
		}
		other := c.save("/vendor", `{"DisplayName":"Zeta Haulage"}`)
		c.books(http.MethodPost, "/vendor", set(t, sparse, "SyncToken", `"3"`, "Active", "true")).expectFault(t, 400, "6240", "The name supplied already exists")
		c.save("/vendor", `{"sparse":true,"Id":`+other.Get("Id").Raw+`,"SyncToken":"0","DisplayName":"Eta Haulage"}`)
		is(t, c.save("/vendor", set(t, sparse, "SyncToken", `"3"`, "DisplayName", "", "Active", "true")), "DisplayName", `"Zeta Haulage"`)
	})
	for name, tc := range map[string]struct{ body, code, detail string }{
		"no name":        {`{"CompanyName":"x"}`, "6080", "DisplayName"},
		"empty name":     {`{"DisplayName":" "}`, "6080", "DisplayName"},
		"colon":          {`{"DisplayName":"a:b"}`, "2040", "colon"},
		"tab":            {`{"DisplayName":"ab","GivenName":"a\tb"}`, "2040", "tab"},
		"newline":        {`{"DisplayName":"ab","PrintOnCheckName":"a\nb"}`, "2040", "newline"},
		"e-mail":         {`{"DisplayName":"ab","PrimaryEmailAddr":{"Address":"nobody"}}`, "2210", "Supplied value:nobody"},
		"e-mail no dot":  {`{"DisplayName":"ab","PrimaryEmailAddr":{"Address":"nobody@home"}}`, "2210", "nobody@home"},
		"string website": {`{"DisplayName":"ab","WebAddr":"http://x"}`, "2010", "a WebSiteAddress was expected"},
		"duplicate":      {`{"DisplayName":"ZETA haulage"}`, "6240", "The name supplied already exists. : null"},
		"duplicate seed": {`{"DisplayName":"100% diesel"}`, "6240", "already exists"},
		"stale":          {sparse, "5010", "Stale"},
	} {
		t.Run("fail/"+name, func(t *testing.T) {
			c.books(http.MethodPost, "/vendor", tc.body).expectFault(t, http.StatusBadRequest, tc.code, tc.detail)
		})
	}
	for member, most := range map[string]int{
		"Title": 16, "Suffix": 16, "GivenName": 100, "FamilyName": 100, "CompanyName": 100, "PrintOnCheckName": 100, "DisplayName": 500,
		"PrimaryPhone.FreeFormNumber": 30, "Mobile.FreeFormNumber": 30, "WebAddr.URI": 1000, "AcctNum": 100, "TaxIdentifier": 20,
		"BillAddr.Line1": 500, "BillAddr.City": 255, "BillAddr.CountrySubDivisionCode": 255, "BillAddr.Country": 255, "BillAddr.PostalCode": 30,
	} {
		t.Run("fail/length of "+member, func(t *testing.T) {
			body := `{"DisplayName":"Length of ` + member + `"}`
			c.save("/vendor", set(t, body, member, `"`+strings.Repeat("ü", most)+`"`))
			c.books(http.MethodPost, "/vendor", set(t, body, member, `"`+strings.Repeat("ü", most+1)+`"`)).
				expectFault(t, http.StatusBadRequest, "2050", "Max:"+strconv.Itoa(most)+" supported. Supplied length:"+strconv.Itoa(most+1))
		})
	}
}
