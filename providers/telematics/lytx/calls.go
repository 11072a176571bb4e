package lytx

import (
	"context"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/outbound"
	"github.com/fleetgate/fleetgate/transform"
)

// headerAPIKey carries the caller's key, on the wire X-APIKey.
const headerAPIKey = "X-Apikey"

// get makes one call with the key. It returns the body of a 200, which is valid JSON or
// not, and nil for a 204, by which Lytx says that there is nothing.
func (p *Provider) get(ctx context.Context, apiKey string, r *outbound.Request) ([]byte, error) {
	r.Header = http.Header{headerAPIKey: {apiKey}}
	resp, err := p.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	switch resp.Status {
	case http.StatusOK:
		if len(resp.Body) == 0 {
			return nil, invalidJSON(nil)
		}
		return resp.Body, nil
	case http.StatusNoContent:
		return nil, nil
	}
	return nil, outbound.StatusError(resp, message(resp.Body), apiKey)
}

// message finds the provider's words in the body of an error: "message" is written by
// the gateway in front of Lytx, "error" and "title" by its services. Validation errors
// have a title that says nothing without the first of the errors.
func message(body []byte) string {
	if transform.Validate(body) != nil {
		return ""
	}
	root := gjson.ParseBytes(body)
	for _, name := range []string{"message", "error"} {
		if m := root.Get(name); m.Type == gjson.String && m.Str != "" {
			return m.Str
		}
	}
	title := root.Get("title")
	if title.Type != gjson.String {
		return ""
	}
	text := title.Str
	if errs := root.Get("errors"); errs.IsObject() {
		errs.ForEach(func(field, reasons gjson.Result) bool {
			if reason := reasons.Get("0"); reason.Type == gjson.String {
				text += " " + field.Str + ": " + reason.Str
			}
			return false
		})
	}
	return text
}

func invalidJSON(cause error) error {
	return &providers.Error{Kind: providers.KindInvalidJSON, Status: http.StatusOK, Err: cause}
}
