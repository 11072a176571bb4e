package area

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/fleetgate/fleetgate/transform"
)

const (
	// DefaultMaxBody is the size of the largest request body, in bytes, unless
	// max_body says otherwise.
	DefaultMaxBody = 1 << 20

	// MaxMaxBody is what max_body may be at most: bodies are held in memory.
	MaxMaxBody = 1 << 30

	// maxDrain is how much of a refused body is read and thrown away, in bytes.
	maxDrain = 8 << 20

	// fieldBody names the body as a whole in problems.
	fieldBody = "body"
)

// Body returns the request's body, of at most limit bytes, which has to be JSON
// according to its Content-Type (contract 4.1, rule 1). What is in it is not looked at:
// see [Inputs.Body].
func (c *Call) Body(limit int64) ([]byte, error) {
	r := c.Request
	if err := refuseBody(r, limit); err != nil {
		// A client that waits for leave to send its body sends none after a refusal.
		if r.Header.Get("Expect") == "" {
			drain(r.Body)
		}
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, limit+1))
	if int64(len(body)) > limit {
		drain(r.Body)
		return nil, bodyTooLarge(limit)
	}
	// Caddy's own request_body may have a lower limit.
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, bodyTooLarge(tooLarge.Limit)
	}
	if err != nil {
		return nil, Invalid(fieldBody + " is incomplete")
	}
	return body, nil
}

// refuseBody returns the failure of a body that need not be read to be refused.
func refuseBody(r *http.Request, limit int64) error {
	if !isJSON(r.Header.Values("Content-Type")) {
		return unsupportedMediaType()
	}
	if r.ContentLength > limit {
		return bodyTooLarge(limit)
	}
	return nil
}

func isJSON(contentType []string) bool {
	if len(contentType) != 1 {
		return false
	}
	mediaType, _, err := mime.ParseMediaType(contentType[0])
	return err == nil && mediaType == "application/json"
}

// drain reads on in a body that was refused. The server closes a connection on which
// there is much left to read, and a client that is still sending then may never get to
// see the answer.
func drain(body io.Reader) {
	_, _ = io.CopyN(io.Discard, body, maxDrain)
}

// Body checks the body of a request against the table of its fields, and notes all
// problems: those of [transform.CheckInput], or the one that the body as a whole has.
// It reports whether the body is an object, so that its members can be read.
func (in *Inputs) Body(body []byte, fields []transform.Field, op transform.Op) bool {
	problems, err := transform.CheckInput(body, fields, op)
	if err != nil {
		problems = []transform.Problem{{Field: fieldBody, Message: fieldBody + bodyFault(body)}}
	}
	in.problems = append(in.problems, problems...)
	return err == nil
}

// bodyFault says what is wrong with a body of which [transform.CheckInput] can make
// nothing.
func bodyFault(body []byte) string {
	if len(bytes.TrimSpace(body)) == 0 {
		return suffixRequired
	}
	if fault, ok := errors.AsType[*transform.SyntaxError](transform.Validate(body)); ok {
		return fmt.Sprintf(" is not valid JSON: %s at offset %d", fault.Reason, fault.Offset)
	}
	if fault, ok := errors.AsType[*transform.SyntaxError](transform.ValidateUnique(body)); ok {
		return fmt.Sprintf(" repeats a member at offset %d", fault.Offset)
	}
	return " must be a JSON object"
}
