package quickbooks

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/outbound"
	"github.com/fleetgate/fleetgate/transform"
)

// fault is what QuickBooks says of a call that failed.
type fault struct {
	kind   string // such as ValidationFault
	errors []faultError
}

type faultError struct{ code, message, detail string }

// maxErrors is how many of a fault's errors are read.
const maxErrors = 10

// Member names of the two JSON shapes: that of the application, and that of the gateway
// in front of it, which checks tokens.
var jsonFaults = []struct{ fault, kind, errors, code, message, detail string }{
	{"Fault", "type", "Error", "code", "Message", "Detail"},
	{"fault", "type", "error", "code", "message", "detail"},
}

// faultEnd is in every JSON body that has a fault, and in few others.
var faultEnd = []byte(`ault"`)

// readFault returns the fault in the body of an answer, whatever its status, and nil if
// there is none. A body that is neither valid JSON nor valid XML has none.
func readFault(body []byte) *fault {
	if start := bytes.TrimLeft(body, " \t\r\n\uFEFF"); bytes.HasPrefix(start, []byte("<")) {
		return readXMLFault(start)
	}
	if !bytes.Contains(body, faultEnd) || transform.Validate(body) != nil {
		return nil
	}
	for _, names := range jsonFaults {
		root := gjson.GetBytes(body, names.fault)
		if !root.IsObject() {
			continue // the second shape may be an envelope of nulls
		}
		f := &fault{kind: text(root.Get(names.kind))}
		add := func(_, e gjson.Result) bool {
			f.errors = append(f.errors, faultError{text(e.Get(names.code)), text(e.Get(names.message)), text(e.Get(names.detail))})
			return len(f.errors) < maxErrors
		}
		if list := root.Get(names.errors); list.IsArray() {
			list.ForEach(add)
		} else if list.IsObject() {
			add(gjson.Result{}, list)
		}
		return f
	}
	return nil
}

// text returns a string or a number, as it is spelled, and "" for all else.
func text(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
		return v.Str
	case gjson.Number:
		return v.Raw
	default:
		return ""
	}
}

// maxXML is more than any fault in XML takes, in bytes.
const maxXML = 64 << 10

// readXMLFault reads the shape that comes when JSON was asked for in vain. The decoder
// knows no entities but XML's own, so none can expand.
func readXMLFault(body []byte) *fault {
	var doc struct {
		XMLName xml.Name `xml:"IntuitResponse"`
		Fault   *struct {
			Kind   string `xml:"type,attr"`
			Errors []struct {
				Code    string `xml:"code,attr"`
				Message string `xml:"Message"`
				Detail  string `xml:"Detail"`
			} `xml:"Error"`
		} `xml:"Fault"`
	}
	if len(body) > maxXML {
		return nil
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	d.CharsetReader = readLatin1
	if d.Decode(&doc) != nil || doc.Fault == nil {
		return nil
	}
	f := &fault{kind: doc.Fault.Kind}
	for _, e := range doc.Fault.Errors[:min(len(doc.Fault.Errors), maxErrors)] {
		f.errors = append(f.errors, faultError{e.Code, strings.TrimSpace(e.Message), strings.TrimSpace(e.Detail)})
	}
	return f
}

// readLatin1 makes UTF-8 of the encodings, besides UTF-8 itself, that QuickBooks has for
// the books of companies in the US.
func readLatin1(charset string, in io.Reader) (io.Reader, error) {
	if charset = strings.ToLower(charset); charset != "iso-8859-1" && charset != "us-ascii" {
		return nil, errors.New("unknown charset")
	}
	raw, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	runes := make([]rune, len(raw))
	for i, b := range raw {
		runes[i] = rune(b) // Unicode begins with the characters of ISO-8859-1
	}
	return strings.NewReader(string(runes)), nil
}

// Codes that decide whether a write is tried again, or what became of it.
const (
	codeSystem          = "10000" // a failure that another try may mend
	codeDuplicateNumber = "6140"
	codeDuplicateName   = "6240"
)

// kinds are what the codes mean that do not follow from the status.
var kinds = map[string]providers.Kind{
	"100":  providers.KindAuth,
	"120":  providers.KindAuth,
	"3200": providers.KindAuth,
	"3100": providers.KindForbidden,
	"610":  providers.KindNotFound,
	"600":  providers.KindConflict, // requestid of another write, or of one under way
	"5010": providers.KindConflict, // stale SyncToken

	codeDuplicateNumber: providers.KindConflict,
	codeDuplicateName:   providers.KindConflict,

	"3001":     providers.KindThrottled,
	codeSystem: providers.KindProvider,
}

// codeError is the cause of an error that has a code.
type codeError string

func (e codeError) Error() string { return "fault code " + string(e) }

// codeInMessage finds the code in messages such as "message=AuthenticationFailed;
// errorCode=003200; statusCode=401".
var codeInMessage = regexp.MustCompile(`\berrorCode=(\d+)`)

// codeText is what a code looks like. Codes are logged, so all else is not taken as one.
var codeText = regexp.MustCompile(`^\d{1,6}$`)

// number returns the error's code as the documentation spells it, and "" if it has none.
func (e *faultError) number() string {
	code := e.code
	if code == "" {
		if found := codeInMessage.FindStringSubmatch(e.message); found != nil {
			code = found[1]
		}
	}
	if !codeText.MatchString(code) {
		return ""
	}
	return strings.TrimLeft(code, "0")
}

// meaning returns the kind of a fault and the code that tells it, if one does: that of
// the first error with a code of a meaning of its own, or else of the first error.
func (f *fault) meaning(status int) (kind providers.Kind, code string) {
	for i := range f.errors {
		n := f.errors[i].number()
		if kind, ok := kinds[n]; ok {
			return kind, n
		}
		if code == "" {
			code = n
		}
	}
	switch fold := strings.ToLower(f.kind); {
	case status == http.StatusTooManyRequests:
		return providers.KindThrottled, code
	case status == http.StatusUnauthorized, strings.HasPrefix(fold, "authentication"):
		return providers.KindAuth, code
	case status == http.StatusForbidden, strings.HasPrefix(fold, "authorization"):
		return providers.KindForbidden, code
	case status >= 500, strings.HasPrefix(fold, "system"):
		return providers.KindProvider, code
	case status == http.StatusNotFound:
		return providers.KindNotFound, code
	case status == http.StatusConflict:
		return providers.KindConflict, code
	}
	return providers.KindRejected, code
}

// defaultRetryAfter is how long QuickBooks' documentation asks to wait, which its
// answers do not.
const defaultRetryAfter = time.Minute

// failure is what an answer means that is not what was asked for. There may be no fault
// in it. token is the caller's.
func (f *fault) failure(resp *outbound.Response, token string) *providers.Error {
	e := f.explained(resp, token)
	e.Ref = resp.Header.Get(headerTransactionID)
	if e.Kind == providers.KindThrottled && e.RetryAfter == 0 {
		e.RetryAfter = defaultRetryAfter
	}
	return e
}

func (f *fault) explained(resp *outbound.Response, token string) *providers.Error {
	if f == nil {
		return unexplained(resp)
	}
	kind, code := f.meaning(resp.Status)
	message := f.message(kind)
	if message == "" {
		message = f.kind
	}
	e := outbound.StatusError(resp, message, token)
	e.Kind = kind
	if code != "" {
		e.Err = providers.SafeCause(codeError(code))
	}
	return e
}

// unexplained is what an error status means by itself.
func unexplained(resp *outbound.Response) *providers.Error {
	e := outbound.StatusError(resp, "")
	plain := e.Kind == providers.KindAuth || e.Kind == providers.KindThrottled || e.Kind == providers.KindProvider
	if plain || transform.Validate(resp.Body) == nil {
		return e
	}
	// A page of something in front of QuickBooks, which says nothing of the request.
	return &providers.Error{Kind: providers.KindInvalidJSON, Status: resp.Status}
}

// message returns the provider's words: of refused credentials the detail, which says
// why, and of refused data the message with its detail. Tokens in them are masked.
func (f *fault) message(kind providers.Kind) string {
	credential := kind == providers.KindAuth || kind == providers.KindForbidden
	var texts []string
	seen := make(map[string]bool)
	for _, e := range f.errors {
		t := e.text(credential)
		if t != "" && !seen[t] {
			seen[t] = true
			texts = append(texts, t)
		}
	}
	return maskTokens(strings.Join(texts, "; "), credential)
}

func (e *faultError) text(credential bool) string {
	switch {
	case e.detail == "":
		return e.message
	case credential, e.message == "", strings.HasPrefix(e.detail, e.message):
		return e.detail
	}
	return e.message + ": " + e.detail
}

// echoedToken is how a refused token is quoted: "Token expired: eyJ…".
var echoedToken = regexp.MustCompile(`(?i)(\btoken\b[^:]{0,40}:\s*)\S{30,}`)

// longWord is what a token looks like that is quoted otherwise, or is part of something
// else that was signed.
var longWord = regexp.MustCompile(`\S{30,}`)

const mask = "***"

// maskTokens masks what may be a token, be it the caller's or another one. credential is
// whether the text is of a refused credential: nothing else quotes tokens, and in texts
// of refused data long words are names.
func maskTokens(message string, credential bool) string {
	message = echoedToken.ReplaceAllString(message, "${1}"+mask)
	if !credential {
		return message
	}
	return longWord.ReplaceAllStringFunc(message, func(word string) string {
		if strings.ContainsAny(word, "0123456789") {
			return mask
		}
		return word
	})
}
