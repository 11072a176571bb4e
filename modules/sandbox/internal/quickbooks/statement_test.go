package quickbooks

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestParseStatement(t *testing.T) {
	for text, want := range map[string]statement{
		"SELECT * FROM Purchase":                            {kind: purchases, start: 1, size: 100},
		"select*from vendor":                                {kind: vendors, start: 1, size: 100},
		"SELECT COUNT(*) FROM Account":                      {kind: accounts, count: true, start: 1, size: 100},
		"SELECT count ( * )\n\tFROM Account":                {kind: accounts, count: true, start: 1, size: 100},
		"SELECT * FROM Vendor STARTPOSITION 7 MAXRESULTS 9": {kind: vendors, start: 7, size: 9},
		"SELECT * FROM Vendor maxresults 9 StartPosition 7": {kind: vendors, start: 7, size: 9},
		"SELECT * FROM Vendor MAXRESULTS 1000":              {kind: vendors, start: 1, size: 1000},
		"SELECT * FROM Vendor STARTPOSITION 2147483647":     {kind: vendors, start: maxInt, size: 100},
		"SELECT * FROM Vendor ORDERBY Id DESC":              {kind: vendors, order: &property{"Id", byID}, descending: true, start: 1, size: 100},
		"SELECT * FROM Vendor ORDER BY displayname ASC MAXRESULTS 5": {
			kind: vendors, order: &property{"DisplayName", byText}, start: 1, size: 5,
		},
	} {
		t.Run("ok/"+text, func(t *testing.T) {
			st, f := parseStatement(text)
			if f != nil {
				t.Fatal(f.detail)
			}
			if st.kind != want.kind || st.count != want.count || st.start != want.start || st.size != want.size || st.descending != want.descending ||
				len(st.conditions) != 0 || (st.order == nil) != (want.order == nil) || st.order != nil && *st.order != *want.order {
				t.Errorf("%+v", st)
			}
		})
	}
	for where, want := range map[string][]condition{
		"Id = '7'":                        {{property{"Id", byID}, "=", []operand{{text: "7", id: 7}}}},
		`DisplayName LIKE '%it\'s \\ a%'`: {{property{"DisplayName", byText}, "LIKE", []operand{{text: `%it's \ a%`}}}},
		"Active IN (true,FALSE)":          {{property{"Active", byTruth}, "IN", []operand{{text: "true"}, {text: "false"}}}},
		"Active = 'true'":                 {{property{"Active", byTruth}, "=", []operand{{text: "true"}}}},
		"GivenName>='A' AND GivenName<'b'": {
			{property{"GivenName", byText}, ">=", []operand{{text: "a"}}},
			{property{"GivenName", byText}, "<", []operand{{text: "b"}}},
		},
		"metadata.createtime <= '2026-01-02'": {{
			property{"MetaData.CreateTime", byTime},
			"<=",
			[]operand{{text: "2026-01-02", time: time.Date(2026, 1, 2, 0, 0, 0, 0, pacific)}},
		}},
		"CompanyName = ''": {{property{"CompanyName", byText}, "=", []operand{{}}}},
	} {
		t.Run("ok/"+where, func(t *testing.T) {
			st, f := parseStatement("SELECT * FROM Vendor WHERE " + where + " MAXRESULTS 3")
			if f != nil {
				t.Fatal(f.detail)
			}
			if len(st.conditions) != len(want) {
				t.Fatalf("%+v", st.conditions)
			}
			for i, c := range st.conditions {
				if c.property != want[i].property || c.operator != want[i].operator || len(c.operands) != len(want[i].operands) {
					t.Fatalf("%+v, want %+v", c, want[i])
				}
				for j, o := range c.operands {
					if w := want[i].operands[j]; o.text != w.text || o.id != w.id || !o.time.Equal(w.time) {
						t.Errorf("%+v, want %+v", o, w)
					}
				}
			}
		})
	}
}

func TestParseStatementRejects(t *testing.T) {
	for text, want := range map[string]string{
		"":                                                                  `4000 QueryParserError: Encountered "<EOF>" at line 1, column 1.`,
		"SELECT":                                                            `4000 QueryParserError: Encountered "<EOF>" at line 1, column 7.`,
		"DELETE FROM Vendor":                                                `4000 QueryParserError: Encountered " <IDENTIFIER> "DELETE "" at line 1, column 1.`,
		"SELECT Id, DisplayName FROM Vendor":                                `4000 QueryParserError: Encountered " <IDENTIFIER> "Id "" at line 1, column 8.`,
		"SELECT COUNT(Id) FROM Vendor":                                      `4000 QueryParserError: Encountered " <IDENTIFIER> "Id "" at line 1, column 14.`,
		"SELECT * FROM":                                                     `4000 QueryParserError: Encountered "<EOF>" at line 1, column 14.`,
		"SELECT * FROM WHERE":                                               `4000 QueryParserError: Encountered " "where" "WHERE "" at line 1, column 15.`,
		"SELECT * FROM 'Vendor'":                                            `4000 QueryParserError: Encountered " <STRING> "'Vendor' "" at line 1, column 15.`,
		"SELECT * FROM Vendor, Account":                                     `4000 QueryParserError: Encountered " "," ", "" at line 1, column 21.`,
		"SELECT * FROM Vendor v":                                            `4000 QueryParserError: Encountered " <IDENTIFIER> "v "" at line 1, column 22.`,
		"SELECT * FROM Vendor;":                                             `4000 QueryParserError: Lexical error at line 1, column 21.  Encountered: ";" (59), after : ""`,
		"SELECT * FROM Vendor WHERE":                                        `4000 QueryParserError: Encountered "<EOF>" at line 1, column 27.`,
		"SELECT * FROM Account ORDER TxnDate":                               `4000 QueryParserError: Encountered " <IDENTIFIER> "TxnDate "" at line 1, column 29.`,
		"SELECT * FROM Vendor WHERE Id":                                     `4000 QueryParserError: Encountered "<EOF>" at line 1, column 30.`,
		"SELECT * FROM Vendor\nWHERE Id = 7":                                `4000 QueryParserError: Encountered " <INTEGER> "7 "" at line 2, column 12.`,
		"SELECT * FROM Vendor WHERE Id '='":                                 `4000 QueryParserError: Encountered " <STRING> "'=' "" at line 1, column 31.`,
		"SELECT * FROM Vendor WHERE Id != '7'":                              `4000 QueryParserError: Lexical error at line 1, column 31.  Encountered: "!" (33), after : ""`,
		"SELECT * FROM Vendor WHERE Id <> '7'":                              `4000 QueryParserError: Encountered " ">" "> "" at line 1, column 32.`,
		"SELECT * FROM Vendor WHERE Id ( '7'":                               `4000 QueryParserError: Encountered " "(" "( "" at line 1, column 31.`,
		"SELECT * FROM Vendor WHERE Id = '7":                                `4000 QueryParserError: Lexical error at line 1, column 35.  Encountered: <EOF> after : "'7"`,
		`SELECT * FROM Vendor WHERE Id = '7\'`:                              `4000 QueryParserError: Lexical error at line 1, column 37.  Encountered: <EOF> after : "'7\\'"`,
		"SELECT * FROM Vendor WHERE Id = ’7’":                               `4000 QueryParserError: Lexical error at line 1, column 33.  Encountered: "\u2019" (8217), after : ""`,
		"SELECT * FROM Vendor WHERE Id = '7' OR Id = '8'":                   `4000 QueryParserError: Encountered " <IDENTIFIER> "OR "" at line 1, column 37.`,
		"SELECT * FROM Vendor WHERE Id = '7' AND":                           `4000 QueryParserError: Encountered "<EOF>" at line 1, column 40.`,
		"SELECT * FROM Vendor WHERE Id IN '7'":                              `4000 QueryParserError: Encountered " <STRING> "'7' "" at line 1, column 34.`,
		"SELECT * FROM Vendor WHERE Id IN ()":                               `4000 QueryParserError: Encountered " ")" ") "" at line 1, column 35.`,
		"SELECT * FROM Vendor WHERE Id IN ('7',":                            `4000 QueryParserError: Encountered "<EOF>" at line 1, column 39.`,
		"SELECT * FROM Vendor WHERE Id IN ('7'":                             `4000 QueryParserError: Encountered "<EOF>" at line 1, column 38.`,
		"SELECT * FROM Vendor WHERE Id = '7' WHERE Id = '8'":                `4000 QueryParserError: Encountered " "where" "WHERE "" at line 1, column 37.`,
		"SELECT * FROM Vendor ORDERBY":                                      `4000 QueryParserError: Encountered "<EOF>" at line 1, column 29.`,
		"SELECT * FROM Vendor ORDERBY Id, DisplayName":                      `4000 QueryParserError: Encountered " "," ", "" at line 1, column 32.`,
		"SELECT * FROM Vendor MAXRESULTS 5 ORDERBY Id":                      `4000 QueryParserError: Encountered " "orderby" "ORDERBY "" at line 1, column 35.`,
		"SELECT * FROM Vendor MAXRESULTS 5 MAXRESULTS 6":                    `4000 QueryParserError: Encountered " "maxresults" "MAXRESULTS "" at line 1, column 35.`,
		"SELECT * FROM Vendor STARTPOSITION 1 MAXRESULTS 5 STARTPOSITION 2": `4000 QueryParserError: Encountered " "startposition" "STARTPOSITION "" at line 1, column 51.`,
		"SELECT * FROM Vendor MAXRESULTS '5'":                               `4000 QueryParserError: Encountered " <STRING> "'5' "" at line 1, column 33.`,
		"SELECT * FROM Vendor MAXRESULTS":                                   `4000 QueryParserError: Encountered "<EOF>" at line 1, column 32.`,
		"SELECT * FROM Vendor GROUP BY Id":                                  `4000 QueryParserError: Encountered " <IDENTIFIER> "GROUP "" at line 1, column 22.`,

		"SELECT * FROM Vendor STARTPOSITION 0":                    `4001 QueryValidationError: value 0 is too small. Min allowed value is 1`,
		"SELECT * FROM Vendor STARTPOSITION -1":                   `4001 QueryValidationError: value -1 is too small. Min allowed value is 1`,
		"SELECT * FROM Vendor STARTPOSITION 99999999999999999999": `4001 QueryValidationError: value 99999999999999999999 is too large. Max allowed value is 2147483647`,
		"SELECT * FROM Vendor MAXRESULTS 0":                       `4001 QueryValidationError: value 0 is too small. Min allowed value is 1`,
		"SELECT * FROM Vendor MAXRESULTS 1001":                    `4001 QueryValidationError: value 1001 is too large. Max allowed value is 1000`,
		"SELECT * FROM Customers":                                 `4001 QueryValidationError: Invalid context declaration: Customers`,
		"SELECT * FROM Purchase WHERE NoSuchField = '1'":          `4001 QueryValidationError: Property NoSuchField not found for Entity Purchase`,
		"SELECT * FROM Purchase WHERE AccountRef = '1'":           `4001 QueryValidationError: property 'AccountRef' is not queryable`,
		"SELECT * FROM Purchase WHERE DepartmentRef = '1'":        `4001 QueryValidationError: property 'DepartmentRef' is not queryable`,
		"SELECT * FROM Purchase WHERE AccountRef.value = '1'":     `4001 QueryValidationError: property 'AccountRef.value' is not queryable`,
		"SELECT * FROM Purchase WHERE Line.Id = '1'":              `4001 QueryValidationError: property 'Line.Id' is not queryable`,
		"SELECT * FROM Purchase WHERE MetaData.X = '1'":           `4001 QueryValidationError: property 'MetaData.X' is not queryable`,
		"SELECT * FROM Purchase WHERE TxnDate.x = '1'":            `4001 QueryValidationError: Property TxnDate.x not found for Entity Purchase`,
		"SELECT * FROM Purchase WHERE Active = true":              `4001 QueryValidationError: Property Active not found for Entity Purchase`,
		"SELECT * FROM Purchase WHERE TxnDate = '2026-02-30'":     `4001 QueryValidationError: Invalid value '2026-02-30' for property TxnDate`,
		"SELECT * FROM Purchase WHERE TotalAmt > '1e9'":           `4001 QueryValidationError: Invalid value '1e9' for property TotalAmt`,
		"SELECT * FROM Purchase WHERE Id > 'x'":                   `4001 QueryValidationError: Invalid value 'x' for property Id`,
		"SELECT * FROM Purchase WHERE TotalAmt LIKE '1%'":         `4001 QueryValidationError: Operator LIKE is not supported for property TotalAmt`,
		"SELECT * FROM Vendor WHERE Active > false":               `4001 QueryValidationError: Operator > is not supported for property Active`,
		"SELECT * FROM Vendor WHERE Active = 'perhaps'":           `4001 QueryValidationError: Invalid value 'perhaps' for property Active`,
		"SELECT * FROM Vendor WHERE MetaData.CreateTime > 'now'":  `4001 QueryValidationError: Invalid value 'now' for property MetaData.CreateTime`,
		"SELECT * FROM Vendor ORDERBY BillAddr":                   `4001 QueryValidationError: property 'BillAddr' is not queryable`,
		"SELECT * FROM Vendor WHERE Id = '\xff'":                  "500 Operation Invalid byte in a UTF-8 sequence is not supported.",
	} {
		t.Run("fail/"+text, func(t *testing.T) {
			_, f := parseStatement(text)
			if f == nil {
				t.Fatal("accepted")
			}
			if got := f.code + " " + f.detail; got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		})
	}
}

func FuzzParseStatement(f *testing.F) {
	for _, seed := range []string{
		"SELECT * FROM Purchase WHERE TxnDate > '2026-01-01' AND TotalAmt < '9.5' ORDERBY Id DESC STARTPOSITION 1 MAXRESULTS 10",
		`select count(*) from Vendor where DisplayName like '%\'%' and Active in (true, false)`,
		"SELECT * FROM Account WHERE MetaData.CreateTime >= '2026-01-01T00:00:00-07:00'",
		"SELECT * FROM Vendor WHERE Id = ’7’",
		"'", `'\`, "-", "\n\n", "SELECT * FROM Vendor MAXRESULTS -0",
	} {
		f.Add(seed)
	}
	r := &record{id: 7, active: true, updated: time.Unix(0, 0), json: []byte(`{"TotalAmt":1.5,"DisplayName":"A'b","TxnDate":"2026-01-02","MetaData":{"CreateTime":"2026-01-02T03:04:05-07:00"}}`)}
	f.Fuzz(func(t *testing.T, text string) {
		st, refused := parseStatement(text)
		if refused != nil {
			if refused.code != "4000" && refused.code != "4001" && refused.code != "500" || !utf8.ValidString(refused.detail) {
				t.Errorf("%q gave %s %q", text, refused.code, refused.detail)
			}
			return
		}
		if st.kind == nil || st.start < 1 || st.size < 1 || st.size > maxPage || !strings.HasPrefix(strings.ToLower(strings.TrimLeft(text, " \t\r\n")), "select") {
			t.Errorf("%q gave %+v", text, st)
		}
		for _, c := range st.conditions {
			if len(c.operands) == 0 || c.operator != "IN" && len(c.operands) != 1 {
				t.Errorf("%q gave %+v", text, c)
			}
		}
		rows := st.filter([]*record{r})
		st.sort(rows)
	})
}
