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
	"github.com/fleetgate/fleetgate/providers/outbound"
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
	c.patient = true
	body, err := p.do(ctx, c)
	if err != nil {
		return nil, err
	}
	return unwrap(body, entity)
}

// Create makes a purchase or a vendor and returns it, raw (contract 4.1 #5, #9).
func (p *Provider) Create(ctx context.Context, cred accounting.Credential, kind accounting.Kind, w accounting.Write) ([]byte, error) {
	return p.write(ctx, cred, kind, w, "create", createTargets[kind])
}

// Update changes a purchase or a vendor and returns it, raw (contract 4.1 #6, #10). It
// is a sparse update: what the input does not name stays as it is. The lines of a
// purchase are replaced as a whole: those with an id are changed, those without are new,
// and those that are missing are deleted.
func (p *Provider) Update(ctx context.Context, cred accounting.Credential, kind accounting.Kind, w accounting.Write) ([]byte, error) {
	return p.write(ctx, cred, kind, w, "update", updateTargets[kind])
}

// write posts what targets make of the input. It does not end with its caller, who
// could not tell then whether it was carried out: a repeat with the same key finds what
// became of it.
func (p *Provider) write(
	ctx context.Context, cred accounting.Credential, kind accounting.Kind, w accounting.Write,
	what string, targets []transform.Target,
) ([]byte, error) {
	if targets == nil {
		return nil, invalid("kind", nil)
	}
	if kind == accounting.KindPurchase && losesCredit(w.Body) {
		return nil, invalid("credit", nil)
	}
	body, err := transform.AppendMapped(nil, w.Body, targets)
	if err != nil {
		return nil, invalid("body", err)
	}
	if ctx.Err() != nil {
		return nil, outbound.ContextError(ctx)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(p.Timeout))
	defer cancel()

	c := newCall(cred, string(kind)+" "+what, "/"+string(kind), w.MinorVersion)
	c.Query.Set("requestid", requestID(w.Key))
	c.post("application/json", body)
	answer, err := p.do(ctx, c)
	if err != nil {
		return nil, err
	}
	return unwrap(answer, entities[kind])
}

// losesCredit reports whether a purchase is a refund that QuickBooks would book as a
// charge: it ignores Credit unless the payment type is CreditCard.
func losesCredit(body []byte) bool {
	return gjson.GetBytes(body, "credit").IsBool() && gjson.GetBytes(body, "credit").Bool() &&
		gjson.GetBytes(body, "payment_type").String() != "CreditCard"
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
