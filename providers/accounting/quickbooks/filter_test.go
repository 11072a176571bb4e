package quickbooks

import (
	"strings"
	"testing"

	"github.com/fleetgate/fleetgate/providers"
)

func TestClauseOf(t *testing.T) {
	for _, tc := range []struct{ name, filter, want string }{
		{"ok/none", "", " ORDERBY Id"},
		{"ok/blank", "  ", " ORDERBY Id"},
		{"ok/WHERE alone", " where ", " ORDERBY Id"},
		{"ok/condition", "TxnDate > '2024-01-01'", " WHERE TxnDate > '2024-01-01' ORDERBY Id"},
		{"ok/WHERE", "WHERE TxnDate > '2024-01-01'", " WHERE TxnDate > '2024-01-01' ORDERBY Id"},
		{"ok/where, any case", " wHeRe  Active = false ", " WHERE Active = false ORDERBY Id"},
		{"ok/WHERE without a space", "WHERE(Active = true)", " WHERE (Active = true) ORDERBY Id"},
		{"ok/only one WHERE", "WHERE WHERE a = 'b'", " WHERE WHERE a = 'b' ORDERBY Id"},
		{"ok/not a WHERE", "WHEREABOUTS = 'x'", " WHERE WHEREABOUTS = 'x' ORDERBY Id"},
		{"ok/order of its own", "Active = true ORDERBY DisplayName DESC", " WHERE Active = true ORDERBY DisplayName DESC"},
		{"ok/order in two words", "Active = true order by DisplayName", " WHERE Active = true order by DisplayName"},
		{"ok/order alone", "ORDERBY TxnDate", " ORDERBY TxnDate"},
		{"ok/order alone in two words", "Order By TxnDate", " Order By TxnDate"},
		{"ok/order alone behind WHERE", "WHERE ORDERBY TxnDate", " ORDERBY TxnDate"},
		{"ok/order in a string", "Name = 'ORDERBY x'", " WHERE Name = 'ORDERBY x' ORDERBY Id"},
		{"ok/order without by", "Order = '1'", " WHERE Order = '1' ORDERBY Id"},
		{"ok/by alone", "a = 'order' AND by = 'x'", " WHERE a = 'order' AND by = 'x' ORDERBY Id"},
		{"ok/keywords in strings", "Name = '; SELECT STARTPOSITION 1 MAXRESULTS 2 -- /* \" `'", " WHERE Name = '; SELECT STARTPOSITION 1 MAXRESULTS 2 -- /* \" `' ORDERBY Id"},
		{"ok/keywords in words", "SELECTED = 1 AND MAXRESULTS_ = 2 AND XSTARTPOSITION = 3", " WHERE SELECTED = 1 AND MAXRESULTS_ = 2 AND XSTARTPOSITION = 3 ORDERBY Id"},
		{"ok/escaped quote", `DisplayName = 'Amy\'s Bird Sanctuary'`, ` WHERE DisplayName = 'Amy\'s Bird Sanctuary' ORDERBY Id`},
		{"ok/escaped backslash", `DisplayName = 'a\\' AND Active = true`, ` WHERE DisplayName = 'a\\' AND Active = true ORDERBY Id`},
		{"ok/empty string", "DisplayName = ''", " WHERE DisplayName = '' ORDERBY Id"},
		{"ok/list", "Id IN ('1', '2')", " WHERE Id IN ('1', '2') ORDERBY Id"},
		{"ok/operators", "a<='1' AND b>=2 AND c LIKE '%x%' AND MetaData.CreateTime < '2024-01-01T00:00:00+02:00'", " WHERE a<='1' AND b>=2 AND c LIKE '%x%' AND MetaData.CreateTime < '2024-01-01T00:00:00+02:00' ORDERBY Id"},
		{"ok/not ASCII", "DisplayName = 'Müller 東京'", " WHERE DisplayName = 'Müller 東京' ORDERBY Id"},
		{"ok/nonsense", "= ) AND ((", " WHERE = ) AND (( ORDERBY Id"},
		{"ok/as long as it may be", "a = '" + strings.Repeat("x", maxFilter-6) + "'", " WHERE a = '" + strings.Repeat("x", maxFilter-6) + "' ORDERBY Id"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := clauseOf(tc.filter)
			if err != nil || got != tc.want {
				t.Errorf("got %q, %v\nwant %q", got, err, tc.want)
			}
		})
	}

	for name, filter := range map[string]string{
		"fail/second statement":            "Active = true; SELECT * FROM Vendor",
		"fail/semicolon":                   "Active = true;",
		"fail/SELECT":                      "Id IN (SELECT Id FROM Vendor)",
		"fail/select":                      "select",
		"fail/STARTPOSITION":               "Active = true STARTPOSITION 5",
		"fail/startPosition":               "startPosition 5",
		"fail/MAXRESULTS":                  "Active = true MAXRESULTS 5",
		"fail/maxresults behind a string":  "a = 'b'maxresults 5",
		"fail/maxresults behind a number":  "a = 1maxresults 5",
		"fail/maxresults behind a decimal": "a = 1.5maxresults 5",
		"fail/maxresults in parentheses":   "(MAXRESULTS)",
		"fail/WHERE STARTPOSITION":         "WHERE STARTPOSITION 1",
		"fail/open quote":                  "DisplayName = 'a",
		"fail/quote that is escaped":       `DisplayName = 'a\'`,
		"fail/one quote":                   "'",
		"fail/one quote behind WHERE":      "WHERE '",
		"fail/three quotes":                "a = '''",
		"fail/string closed by an escape":  `a = 'x\\' MAXRESULTS 1 AND b = '`,
		"fail/newline":                     "Active = true\nAND Id = '1'",
		"fail/newline in a string":         "DisplayName = 'a\nb'",
		"fail/newline at the end":          "Active = true\n",
		"fail/tab":                         "Active\t= true",
		"fail/NUL":                         "Active = true\x00",
		"fail/C1 control":                  "Active = true\u0085",
		"fail/not UTF-8":                   "DisplayName = '\xff'",
		"fail/double quotes":               `a = "'" STARTPOSITION 1 "'"`,
		"fail/backquote":                   "a = `b`",
		"fail/line comment":                "Active = true --",
		"fail/block comment":               "Active = true /* ",
		"fail/too long":                    "a = '" + strings.Repeat("x", maxFilter-5) + "'",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := clauseOf(filter)
			wantError(t, err, providers.KindInvalid, "filter is invalid")
			if got != "" {
				t.Errorf("got %q beside the error", got)
			}
		})
	}
}

// FuzzClauseOf takes the strings out of what is accepted, by another way than the
// tokenizer's, and looks for what must not be left.
func FuzzClauseOf(f *testing.F) {
	for _, seed := range []string{
		"", "WHERE TxnDate > '2024-01-01'", `DisplayName = 'Amy\'s \\' ORDERBY Id`, "order by x", "a = 'x'''", "1STARTPOSITION 1", "where'a'", "ſelect", "select00", "a--b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, filter string) {
		clause, err := clauseOf(filter)
		if err != nil {
			wantError(t, err, providers.KindInvalid, "filter is invalid")
			return
		}
		if !strings.Contains(clause, strings.TrimSpace(filter)) {
			first := strings.TrimSpace(filter)[:len("WHERE")]
			if !strings.EqualFold(first, "WHERE") || !strings.Contains(clause, strings.TrimSpace(strings.TrimSpace(filter)[len(first):])) {
				t.Fatalf("%q became %q", filter, clause)
			}
		}
		var open strings.Builder
		inside, escaped := false, false
		for _, r := range clause {
			switch {
			case escaped:
				escaped = false
			case inside && r == '\\':
				escaped = true
			case r == '\'':
				inside = !inside
				open.WriteByte(' ')
			case !inside:
				open.WriteRune(r)
			}
		}
		if inside {
			t.Fatalf("a string of %q is open", clause)
		}
		rest := strings.ToUpper(open.String())
		if strings.ContainsAny(rest, ";\"`\n\r\t\x00") || strings.Contains(rest, "--") || strings.Contains(rest, "/*") {
			t.Fatalf("%q was accepted", filter)
		}
		for _, word := range strings.FieldsFunc(rest, func(r rune) bool { return r != '_' && !isDigit(r) && (r < 'A' || r > 'Z') && r < 0x80 }) {
			word = strings.TrimLeft(word, "0123456789")
			if word == "SELECT" || word == "STARTPOSITION" || word == "MAXRESULTS" {
				t.Fatalf("%q was accepted", filter)
			}
		}
		if !strings.Contains(rest, "ORDERBY") && !strings.Contains(rest, "ORDER") {
			t.Fatalf("%q has no order", clause)
		}
	})
}
