package quickbooks

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/transform"
)

// entities are the names of the kinds in statements and answers. In paths it is the
// kinds' own, which are lower-case there.
var entities = map[accounting.Kind]string{
	accounting.KindAccount:  "Account",
	accounting.KindPurchase: "Purchase",
	accounting.KindVendor:   "Vendor",
}

// Read returns one entity, raw (contract 4.1 #2, #4, #8). Of what QuickBooks names
// inactive it is found, too.
func (p *Provider) Read(ctx context.Context, cred accounting.Credential, kind accounting.Kind, id string, q accounting.Query) ([]byte, error) {
	entity, ok := entities[kind]
	if !ok {
		return nil, invalid("kind", nil)
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.Timeout))
	defer cancel()
	c := newCall(cred, string(kind)+" read", "/"+string(kind)+"/"+url.PathEscape(id), q.MinorVersion)
	body, err := p.do(ctx, c)
	if err != nil {
		return nil, err
	}
	return unwrap(body, entity)
}

// unwrap cuts the entity out of an answer.
func unwrap(body []byte, entity string) ([]byte, error) {
	if err := transform.Validate(body); err != nil {
		return nil, invalidJSON(err)
	}
	v := gjson.GetBytes(body, entity)
	if !v.IsObject() {
		return nil, invalidJSON(errors.New("the entity is missing"))
	}
	// Cut from the body instead of v.Raw, which would have to be copied again.
	return body[v.Index : v.Index+len(v.Raw)], nil
}

// invalidJSON is the error of an answer that is not what the protocol promises.
func invalidJSON(cause error) *providers.Error {
	return &providers.Error{Kind: providers.KindInvalidJSON, Status: http.StatusOK, Err: cause}
}

// invalid is the error of an input that is refused without a call.
func invalid(name string, cause error) *providers.Error {
	return &providers.Error{Kind: providers.KindInvalid, Message: name + " is invalid", Err: cause}
}
