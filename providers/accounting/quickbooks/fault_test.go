package quickbooks

import (
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/providers/outbound"
)

const otherToken = "eyJlbmMiOiJBMTI4Q0JDLUhTMjU2IiwiYWxnIjoiZGlyIn0..zq"

func xmlFault(kind, code, message, detail string) string {
	return `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n" +
		`<IntuitResponse time="2016-05-16T10:43:19.951-07:00" xmlns="http://schema.intuit.com/finance/v3"><Fault type="` + kind + `">` +
		`<Error code="` + code + `"><Message>` + message + `</Message><Detail>` + detail + `</Detail></Error></Fault></IntuitResponse>`
}

// latin1Fault has an é as one byte.
func latin1Fault(encoding string) string {
	return strings.Replace(xmlFault("ValidationFault", "2050", "Caf\xe9", ""), "UTF-8", encoding, 1)
}

const htmlPage = `<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN""http://www.w3.org/TR/html4/strict.dtd">
<HTML><HEAD><TITLE>Service Unavailable</TITLE></HEAD><BODY><h2>Service Unavailable</h2><hr><p>HTTP Error 503.</p></BODY></HTML>`

// faultCases are answers that are failures.
var faultCases = []struct {
	name    string
	status  int
	body    string
	kind    providers.Kind
	message string
}{
	// The codes of the documentation.
	{"2010", 400, appFault("2010", "Request has invalid or unsupported property", "Property Name:X"), providers.KindRejected, "Request has invalid or unsupported property: Property Name:X"},
	{"2020", 400, appFault("2020", "Required param missing", "Required parameter PaymentType is missing in the request"), providers.KindRejected, "Required param missing: Required parameter PaymentType is missing in the request"},
	{"2500", 400, appFault("2500", "Invalid Reference Id", "Invalid Reference Id : Accounts element id 7 not found"), providers.KindRejected, "Invalid Reference Id : Accounts element id 7 not found"},
	{"600", 400, appFault("600", "Duplicate", "requestid"), providers.KindConflict, "Duplicate: requestid"},
	{"500 in a 400", 400, appFault("500", "Unsupported Operation", "Operation is not supported"), providers.KindRejected, "Unsupported Operation: Operation is not supported"},
	{"610", 400, appFault("610", "Object Not Found", "Object Not Found : inactive"), providers.KindNotFound, "Object Not Found : inactive"},
	{"5010", 400, appFault("5010", "Stale Object Error", "Stale Object Error : reload"), providers.KindConflict, "Stale Object Error : reload"},
	{"6240", 400, appFault("6240", "Duplicate Name Exists Error", "The name supplied already exists. : null"), providers.KindConflict, "Duplicate Name Exists Error: The name supplied already exists. : null"},
	{"6140", 400, appFault("6140", "Duplicate Document Number Error", "DocNumber=1"), providers.KindConflict, "Duplicate Document Number Error: DocNumber=1"},
	{"3200", 401, tokenFault(otherToken), providers.KindAuth, "Token expired: ***"},
	{"3200 of the caller's token", 401, tokenFault(goodToken), providers.KindAuth, "Token expired: ***"},
	{"100", 401, xmlFault("AUTHENTICATION", "100", "General Authentication Error", "AuthenticationFailedException"), providers.KindAuth, "AuthenticationFailedException"},
	{"120", 401, appFault("120", "Authorization Failure", "User lost access"), providers.KindAuth, "User lost access"},
	{
		"3100", 403, strings.Replace(tokenFault("x"), `"detail":"Token expired: x","code":"3200"`, `"detail":null,"code":"3100"`, 1),
		providers.KindForbidden, "message=AuthenticationFailed; errorCode=003200; statusCode=401",
	},
	{"3001 in XML", 429, xmlFault("SERVICE", "3001", "message=ThrottleExceeded; errorCode=003001; statusCode=429", "The request limit was reached."), providers.KindThrottled, "message=ThrottleExceeded; errorCode=003001; statusCode=429: The request limit was reached."},
	{"3001 in a 403", 403, appFault("003001", "ThrottleExceeded", ""), providers.KindThrottled, "ThrottleExceeded"},
	{"10000", 500, xmlFault("SystemFault", "10000", "An application error has occurred", "System Failure Error"), providers.KindProvider, "An application error has occurred: System Failure Error"},

	// The shapes.
	{"inside a 200", 200, appFault("5010", "Stale Object Error", "late"), providers.KindConflict, "Stale Object Error: late"},
	{"the other shape inside a 200", 200, tokenFault("x"), providers.KindAuth, "Token expired: x"},
	{"XML inside a 200", 200, "\uFEFF \n" + xmlFault("ValidationFault", "4000", "Error parsing query", "line 1 &lt;x&gt; &amp;"), providers.KindRejected, "Error parsing query: line 1 <x> &"},
	{"XML in ISO-8859-1", 400, latin1Fault("ISO-8859-1"), providers.KindRejected, "Caf\u00e9"},
	{"XML in iso-8859-1", 400, latin1Fault("iso-8859-1"), providers.KindRejected, "Caf\u00e9"},
	{"XML in US-ASCII", 429, strings.Replace(xmlFault("SERVICE", "3001", "m", "d"), "UTF-8", "US-ASCII", 1), providers.KindThrottled, "m: d"},
	{"XML in another encoding", 400, latin1Fault("KOI8-R"), providers.KindInvalidJSON, ""},
	{"code that is none", 400, appFault("5010x", "m", "d"), providers.KindRejected, "m: d"},
	{"code that is too long", 400, appFault("0005010", "m", "d"), providers.KindRejected, "m: d"},
	{"code in the message alone", 401, `{"fault":{"error":[{"message":"message=AuthenticationFailed; errorCode=003200; statusCode=401","detail":null,"code":null}],"type":"AUTHENTICATION"}}`, providers.KindAuth, "message=AuthenticationFailed; errorCode=003200; statusCode=401"},
	{"code as a number", 400, `{"Fault":{"Error":[{"Message":"Stale","code":5010}]}}`, providers.KindConflict, "Stale"},
	{"one error without a list", 400, `{"Fault":{"Error":{"Message":"Stale","code":"5010"}}}`, providers.KindConflict, "Stale"},
	{
		"several errors", 400, `{"Fault":{"Error":[{"Message":"A","Detail":"a","code":"2020"},{"Message":"B","code":"6240"},{"Detail":"c"},{"Message":"A","Detail":"a"}],"type":"ValidationFault"}}`,
		providers.KindConflict, "A: a; B; c",
	},
	{"no errors", 400, `{"Fault":{"type":"ValidationFault"}}`, providers.KindRejected, "ValidationFault"},
	{"nothing but a fault", 400, `{"Fault":{}}`, providers.KindRejected, "Bad Request"},
	{"type alone: authentication", 400, `{"Fault":{"Error":[{"Message":"m"}],"type":"AuthenticationFault"}}`, providers.KindAuth, "m"},
	{"type alone: authorization", 400, `{"Fault":{"Error":[{"Message":"m"}],"type":"AuthorizationFault"}}`, providers.KindForbidden, "m"},
	{"type alone: system", 400, `{"Fault":{"Error":[{"Message":"m"}],"type":"SystemFault"}}`, providers.KindProvider, "m"},
	{"unknown code in a 401", 401, appFault("1", "m", "d"), providers.KindAuth, "d"},
	{"unknown code in a 403", 403, appFault("1", "m", "d"), providers.KindForbidden, "d"},
	{"unknown code in a 404", 404, appFault("1", "m", "d"), providers.KindNotFound, "m: d"},
	{"unknown code in a 409", 409, appFault("1", "m", "d"), providers.KindConflict, "m: d"},
	{"unknown code in a 503", 503, appFault("1", "m", "d"), providers.KindProvider, "m: d"},
	{"members of other types", 400, `{"Fault":{"Error":[{"Message":["x"],"Detail":{"y":1},"code":true},7,null]}}`, providers.KindRejected, "Bad Request"},

	// No fault.
	{"HTML in a 200", 200, htmlPage, providers.KindInvalidJSON, ""},
	{"HTML in a 400", 400, htmlPage, providers.KindInvalidJSON, ""},
	{"HTML in a 403", 403, htmlPage, providers.KindInvalidJSON, ""},
	{"HTML in a 404", 404, htmlPage, providers.KindInvalidJSON, ""},
	{"HTML in a 401", 401, htmlPage, providers.KindAuth, "Unauthorized"},
	{"HTML in a 429", 429, htmlPage, providers.KindThrottled, "Too Many Requests"},
	{"HTML in a 503", 503, htmlPage, providers.KindProvider, "Service Unavailable"},
	{"nothing in a 400", 400, "", providers.KindInvalidJSON, ""},
	{"other JSON in a 400", 400, `{"error":"x"}`, providers.KindRejected, "Bad Request"},
	{"other JSON in a 404", 404, `{}`, providers.KindNotFound, "Not Found"},
	{"a fault that is cut off", 400, appFault("5010", "m", "d")[:60], providers.KindInvalidJSON, ""},
	{"XML with entities of its own", 400, `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>` + xmlFault("ValidationFault", "5010", "&b;", "d"), providers.KindInvalidJSON, ""},
	{"XML that is long", 400, xmlFault("ValidationFault", "5010", strings.Repeat("x", maxXML), "d"), providers.KindInvalidJSON, ""},
	{"XML that is something else", 400, `<other><Fault type="ValidationFault"/></other>`, providers.KindInvalidJSON, ""},
}

func TestFaults(t *testing.T) {
	for _, tc := range faultCases {
		t.Run("fail/"+tc.name, func(t *testing.T) {
			// One provider for each, as a throttled call holds back those after it.
			fresh := func() *Provider {
				return open(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w, tc.status, tc.body) }), config{"timeout": 20 * time.Second})
			}
			_, read := fresh().Read(t.Context(), good, accounting.KindVendor, "1", accounting.Query{})
			_, list := listAll(t.Context(), fresh())
			_, create := fresh().Create(t.Context(), good, accounting.KindPurchase, accounting.Write{Body: purchaseInput(""), Key: "k"})
			for _, err := range []error{read, list, create} {
				pe := wantError(t, err, tc.kind, tc.message)
				if pe.Status != tc.status {
					t.Errorf("status is %d", pe.Status)
				}
				if wait := pe.RetryAfter; (tc.kind == providers.KindThrottled) != (wait == time.Minute) {
					t.Errorf("RetryAfter is %v", wait)
				}
			}
		})
	}
}

func TestMaskTokens(t *testing.T) {
	for _, tc := range []struct {
		name, message string
		credential    bool
		want          string
	}{
		{"short", "Token expired: REDACTED", true, "Token expired: REDACTED"},
		{"short, with a digit", "Token expired: 0123456789", true, "Token expired: 0123456789"},
		{"letters", "Token expired: " + strings.Repeat("x", 30), true, "Token expired: ***"},
		{"29 characters", "Token expired: " + strings.Repeat("x", 29), true, "Token expired: " + strings.Repeat("x", 29)},
		{"in refused data", "Token expired: " + otherToken, false, "Token expired: ***"},
		{"any case", "TOKEN is not valid:" + otherToken + " (try again)", false, "TOKEN is not valid:*** (try again)"},
		{"without the word", "Access denied for " + otherToken + ", sorry", true, "Access denied for *** sorry"},
		{"part of what was signed", "GET&https%3A%2F%2Fquickbooks.api.intuit.com&oauth_token%3Dabc123", true, "***"},
		{"names", "message=ApplicationAuthorizationFailed; errorCode=003100; statusCode=403", true, "message=ApplicationAuthorizationFailed; errorCode=003100; statusCode=403"},
		{"names in refused data", "com.intuit.schema.finance.v3.Invoice_with_digits", false, "com.intuit.schema.finance.v3.Invoice_with_digits"},
	} {
		t.Run("ok/"+tc.name, func(t *testing.T) {
			if got := maskTokens(tc.message, tc.credential); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// TestFaultLogged checks what logs show of a failure besides its message, whose words may
// quote the books.
func TestFaultLogged(t *testing.T) {
	long := strings.Repeat("1", 65)
	for _, tc := range []struct{ name, code, tid, cause, reference string }{
		{"ok/all", "005010", "1-68a1b2c3-tid", "fault code 5010", "1-68a1b2c3-tid"},
		{"ok/nothing", "", "", "", ""},
		{"ok/words for a code", "planted words", "t", "", "t"},
		{"ok/long", long, long, "", ""},
		{"ok/ids with blanks", "6240", "a b", "fault code 6240", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := open(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("intuit_tid", tc.tid)
				answer(w, 400, appFault(tc.code, "Stale", "secret detail"))
			}), nil)
			_, err := p.Read(t.Context(), good, accounting.KindVendor, "1", accounting.Query{})
			pe := providers.As(err)
			if pe.Cause() != tc.cause || pe.Reference() != tc.reference {
				t.Errorf("cause %q, reference %q, want %q, %q", pe.Cause(), pe.Reference(), tc.cause, tc.reference)
			}
		})
	}
	t.Run("ok/no fault", func(t *testing.T) {
		p := open(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("intuit_tid", "t")
			answer(w, 503, htmlPage)
		}), nil)
		_, err := p.Read(t.Context(), good, accounting.KindVendor, "1", accounting.Query{})
		if got := providers.As(err).Reference(); got != "t" {
			t.Errorf("reference is %q", got)
		}
	})
}

// TestThrottledHolds has a call throttled, and another one follow it.
func TestThrottledHolds(t *testing.T) {
	s := &script{answers: []http.HandlerFunc{func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "50")
		answer(w, 429, appFault("3001", "m", "d"))
	}, with(200, single("Vendor", `{"Id":"1"}`))}}
	p := open(t, s, config{"timeout": 20 * time.Second})
	write := accounting.Write{Body: []byte(fullVendor), Key: "k"}
	_, err := p.Create(t.Context(), good, accounting.KindVendor, write)
	wantError(t, err, providers.KindThrottled, "m: d")
	_, err = p.Read(t.Context(), good, accounting.KindVendor, "1", accounting.Query{})
	if pe := wantError(t, err, providers.KindUnavailable, ""); pe.RetryAfter <= 20*time.Second || pe.RetryAfter > 50*time.Second || !strings.Contains(pe.Cause(), "throttling") {
		t.Errorf("RetryAfter is %v, cause %q", pe.RetryAfter, pe.Cause())
	}
	if n := len(s.asked()); n != 1 {
		t.Errorf("%d calls", n)
	}
	// The pause is the company's, whoever calls, and no other company's.
	_, err = p.Create(t.Context(), bad, accounting.KindVendor, write)
	wantError(t, err, providers.KindUnavailable, "")
	if _, err := p.Create(t.Context(), accounting.Credential{AccessToken: goodToken, RealmID: "1"}, accounting.KindVendor, write); err != nil {
		t.Errorf("another company is held back, too: %v", err)
	}
}

// FuzzFault reads any body of any status as an answer. What is a failure has a message
// that can be shown.
func FuzzFault(f *testing.F) {
	for _, tc := range faultCases {
		f.Add(tc.status, []byte(tc.body))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if status < 200 || status > 599 {
			return
		}
		found := readFault(body)
		if found != nil && len(found.errors) > maxErrors {
			t.Fatalf("%d errors", len(found.errors))
		}
		if found == nil && status < 400 {
			return
		}
		e := found.failure(&outbound.Response{Status: status, Body: body}, goodToken)
		if len(e.Message) > 520 || !utf8.ValidString(e.Message) || strings.ContainsAny(e.Message, "\r\n\x00") || strings.Contains(e.Message, goodToken) {
			t.Fatalf("the message is %q", e.Message)
		}
		if e.Status != status || e.Kind == providers.KindThrottled && e.RetryAfter <= 0 {
			t.Fatalf("the error is %+v", e)
		}
		if e.Message == "" && e.Kind != providers.KindInvalidJSON && http.StatusText(status) != "" {
			t.Fatalf("no message for %v", e.Kind)
		}
	})
}
