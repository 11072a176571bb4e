package gateway

import (
	"strings"
	"time"
)

// demoCall is one operation of the contract, as the demo shows it.
type demoCall struct {
	title   string
	method  string // default GET
	target  string // below the API root
	headers []string
	body    string // JSON
}

// demoFleetCalls are the operations of contract 4.3 to 4.5, with windows that end today,
// since the simulated providers always have something recent.
func demoFleetCalls(now time.Time) []demoCall {
	day := func(ago int) string { return now.UTC().AddDate(0, 0, -ago).Format(time.DateOnly) }
	return []demoCall{
		{
			title:   "Telematics: the five latest safety events of the last week (contract 4.3 #14)",
			target:  "/telematics/driver-performance-events/?start_date=" + day(7) + "&end_date=" + day(0) + "&limit=5",
			headers: []string{"api-key-eld: demo-key"},
		},
		{
			title:   "Fuel: the transactions of the last two days (contract 4.4 #15)",
			target:  "/fuel/reports/transactions?start_date=" + day(2) + "&end_date=" + day(0),
			headers: []string{"startCode: 1000001", "userId: demo-user", "password: demo-password"},
		},
		{
			title:   "Maintenance: the repair orders of the last two weeks (contract 4.5 #16)",
			target:  "/maintenance/repair-orders?start_date=" + day(14) + "&end_date=" + day(0),
			headers: []string{"api-key-eld: demo-key", "username: demo-user"},
		},
	}
}

// curl returns the call as a line to paste into a shell.
func (c demoCall) curl(root, cert, token string) string {
	args := []string{"curl", "--cacert", quote(cert)}
	if c.method != "" {
		args = append(args, "-X", c.method)
	}
	args = append(args, "-H", quote("Authorization: Bearer "+token))
	for _, h := range c.headers {
		args = append(args, "-H", quote(h))
	}
	if c.body != "" {
		args = append(args, "-H", quote("Content-Type: application/json"), "-d", quote(c.body))
	}
	return strings.Join(append(args, quote(root+c.target)), " ")
}

// quote makes s one word of a POSIX shell.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// quoteToken makes s one token of a Caddyfile.
func quoteToken(s string) string {
	return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"`
}
