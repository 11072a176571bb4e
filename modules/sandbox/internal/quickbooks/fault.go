package quickbooks

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// fault is a refusal of the provider. It has three shapes: one for refusals of the
// accounting system itself, one for those of the gate before it, and one in XML.
type fault struct {
	status                int
	family                string // its type, such as ValidationFault
	code, message, detail string

	element string // the member that it is about
	named   bool   // an element is there even when it is empty
	timed   bool   // the time is there
	gate    bool   // it has the shape of the gate
	xml     bool   // it is XML whatever the caller accepts
}

// answer writes the fault in the shape that the call gets.
func (f *fault) answer(a *sim.Answer, c sim.Call, now time.Time) {
	a.Status, a.Body = f.status, a.Body[:0]
	if f.status == http.StatusUnauthorized {
		a.Header.Set("WWW-Authenticate", `Bearer realm="Intuit", error="invalid_token"`)
	}
	switch {
	case f.xml || c.Fault == sim.XML || c.Fault == sim.XMLThrottle || !acceptsJSON(c.Request):
		a.Header.Set("Content-Type", "application/xml")
		a.Body = f.appendXML(a.Body, now)
	case f.gate:
		a.Header.Set("Content-Type", "application/json")
		f.writeGate((*sim.JSON)(&a.Body), now)
	default:
		a.Header.Set("Content-Type", "application/json")
		f.write((*sim.JSON)(&a.Body), now)
	}
}

// acceptsJSON reports whether a caller asked for JSON. Like the provider's, faults are
// XML for those who did not.
func acceptsJSON(r *http.Request) bool {
	return strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "application/json")
}

func (f *fault) write(b *sim.JSON, now time.Time) {
	b.Open('{')
	b.Object("Fault")
	b.Array("Error")
	b.Open('{')
	b.Text("Message", f.message)
	b.Text("Detail", f.detail)
	b.Text("code", f.code)
	if f.element != "" || f.named {
		b.Text("element", f.element)
	}
	b.Close('}')
	b.Close(']')
	b.Text("type", f.family)
	b.Close('}')
	if f.timed {
		b.Text("time", timestamp(now))
	}
	b.Close('}')
}

func (f *fault) writeGate(b *sim.JSON, now time.Time) {
	b.Open('{')
	b.Raw("warnings", "null")
	b.Raw("intuitObject", "null")
	b.Object("fault")
	b.Array("error")
	b.Open('{')
	b.Text("message", f.message)
	if f.detail == "" {
		b.Raw("detail", "null")
	} else {
		b.Text("detail", f.detail)
	}
	b.Text("code", f.code)
	b.Raw("element", "null")
	b.Close('}')
	b.Close(']')
	b.Text("type", f.family)
	b.Close('}')
	b.Raw("report", "null")
	b.Raw("queryResponse", "null")
	b.Raw("batchItemResponse", "[]")
	b.Raw("attachableResponse", "[]")
	b.Raw("syncErrorResponse", "null")
	b.Raw("requestId", "null")
	b.Int("time", now.UnixMilli())
	b.Raw("status", "null")
	b.Raw("cdcresponse", "[]")
	b.Close('}')
}

var xmlText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func (f *fault) appendXML(b []byte, now time.Time) []byte {
	element := ""
	if f.element != "" {
		element = ` element="` + xmlText.Replace(f.element) + `"`
	}
	return fmt.Appendf(b, `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>`+"\n"+
		`<IntuitResponse time="%s" xmlns="http://schema.intuit.com/finance/v3"><Fault type="%s">`+
		`<Error code="%s"%s><Message>%s</Message><Detail>%s</Detail></Error></Fault></IntuitResponse>`+"\n",
		timestamp(now), f.family, f.code, element, xmlText.Replace(f.message), xmlText.Replace(f.detail))
}

// refusal is what most faults are.
func refusal(code, message, detail string) *fault {
	return &fault{status: http.StatusBadRequest, family: "ValidationFault", code: code, message: message, detail: detail}
}

// invalid is a refusal that tells the member and the time.
func invalid(element, code, message, detail string) *fault {
	f := refusal(code, message, detail)
	f.element, f.timed = element, true
	return f
}

// authenticationFailed repeats the token, as the provider does. A token that asks for
// it gets the fault in XML.
func authenticationFailed(token string) *fault {
	return &fault{
		status: http.StatusUnauthorized, family: "AUTHENTICATION", code: "3200",
		message: "message=AuthenticationFailed; errorCode=003200; statusCode=401",
		detail:  "Token expired: " + strings.ToValidUTF8(token, "?"),
		gate:    true, xml: strings.Contains(token, "-xml"),
	}
}

func authorizationFailed() *fault {
	return &fault{
		status: http.StatusForbidden, family: "SERVICE", code: "3100",
		message: "message=ApplicationAuthorizationFailed; errorCode=003100; statusCode=403",
		gate:    true,
	}
}

func throttled() *fault {
	return &fault{
		status: http.StatusTooManyRequests, family: "SERVICE", code: "3001",
		message: "message=ThrottleExceeded; errorCode=003001; statusCode=429",
		detail:  "The request limit was reached.  Try again later",
		timed:   true,
	}
}

func systemFailure() *fault {
	return &fault{
		status: http.StatusInternalServerError, family: "SystemFault", code: "10000",
		message: "An application error has occurred while processing your request",
		detail:  "System Failure Error: the sandbox was told to fail",
		timed:   true,
	}
}

func unsupported(what string) *fault {
	return refusal("500", "Unsupported Operation", "Operation "+strings.ToValidUTF8(what, "?")+" is not supported.")
}

func notFound() *fault {
	return invalid("", "610", "Object Not Found",
		"Object Not Found : Something you're trying to use has been made inactive. Check the fields with accounts, customers, items, vendors or employees.")
}

func invalidID(text string) *fault {
	f := refusal("2030", "Invalid ID", "Id should be a valid number. Supplied value:"+strings.ToValidUTF8(text, "?"))
	f.element = "Id"
	return f
}

func missing(element string) *fault {
	f := refusal("2020", "Required param missing, need to supply the required value for the API",
		"Required parameter "+element+" is missing in the request")
	f.element = element
	return f
}

// notJSON refuses a body whose JSON does not fit the entity; what names the place.
func notJSON(what string) *fault {
	return invalid("", "2010", "Request has invalid or unsupported property",
		"Property Name:"+what+" specified is unsupported or invalid")
}

func invalidRequestID(id string) *fault {
	return invalid("", "2130", "Invalid Request Id Format",
		"A requestid has at most "+strconv.Itoa(maxRequestID)+" characters. Supplied length: "+strconv.Itoa(utf8.RuneCountInString(id)))
}

func duplicateRequest() *fault {
	return invalid("", "600", "Duplicate Request",
		"The requestid was already used for a request with another body.")
}

func tooBig() *fault {
	return invalid("", "6030", "Upload request size exceeds allowed limit",
		"Upload requests should not exceed "+strconv.Itoa(maxBody)+" bytes.")
}

func stale() *fault {
	f := invalid("", "5010", "Stale Object Error",
		"Stale Object Error : You and another user were working on this at the same time. another user finished before you did, so your work was not saved.")
	f.named = true
	return f
}

// badReference refuses a reference to an object that is not there or not active.
func badReference(objects, id string) *fault {
	return invalid("", "2500", "Invalid Reference Id", "Invalid Reference Id : "+objects+" element id "+id+" not found")
}

func parseError(detail string) *fault {
	return refusal("4000", "Error parsing query", "QueryParserError: "+detail)
}

func queryError(detail string) *fault {
	return refusal("4001", "Invalid query", "QueryValidationError: "+detail)
}
