package accounting

import (
	"context"

	"github.com/google/uuid"

	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

// Headers in their wire form, which is how messages spell them.
const (
	headerAccessToken    = "access-token-accounting"
	headerIdempotencyKey = "Idempotency-Key"
)

// The lengths of what callers may name, in bytes.
const (
	maxRealmID        = 20
	maxID             = 20
	maxMinorVersion   = 9
	maxFilter         = 4096
	maxIdempotencyKey = 255
)

// common reads the inputs of every operation of contract 4.1.
func common(c *area.Call) (in *area.Inputs, cred accounting.Credential, minorVersion string, err error) {
	in = c.Inputs()
	if err := in.Err(); err != nil {
		return nil, cred, "", err // of a query that does not parse, no parameter is missing
	}
	cred.RealmID = in.RequiredDigits("realmId", maxRealmID)
	cred.AccessToken = in.RequiredToken(headerAccessToken)
	return in, cred, in.Digits("minorversion", maxMinorVersion), nil
}

// list answers with all entities of a kind that match the filter.
func (h *Handler) list(c *area.Call, kind accounting.Kind) error {
	in, cred, minorVersion, err := common(c)
	if err != nil {
		return err
	}
	q := accounting.Query{Filter: in.Text("filter", maxFilter), MinorVersion: minorVersion}
	if err := in.Err(); err != nil {
		return err
	}

	stop := c.Upstream()
	rows, err := h.provider.List(c.Request.Context(), cred, kind, q)
	stop()
	if err != nil {
		return err
	}
	c.SucceedParts(rows.Parts)
	return nil
}

// read answers with the entity whose id is the segment of the path with the given name.
func (h *Handler) read(c *area.Call, kind accounting.Kind, segment string) error {
	in, cred, minorVersion, err := common(c)
	if err != nil {
		return err
	}
	id := c.Param(segment)
	if !area.IsDigits(id, maxID) {
		in.Reject(segment)
	}
	if err := in.Err(); err != nil {
		return err
	}

	stop := c.Upstream()
	entity, err := h.provider.Read(c.Request.Context(), cred, kind, id, accounting.Query{MinorVersion: minorVersion})
	stop()
	return succeed(c, entity, err)
}

// writing is one of the provider's two writes.
type writing func(context.Context, accounting.Credential, accounting.Kind, accounting.Write) ([]byte, error)

// write checks the inputs and the body, all at once, and answers with the entity that the
// provider has made of them. That a body is too large or of another type is said only
// when nothing else is wrong.
func (h *Handler) write(c *area.Call, input *input, do writing) error {
	in, cred, minorVersion, err := common(c)
	if err != nil {
		return err
	}
	key := in.Token(headerIdempotencyKey, maxIdempotencyKey)
	body, err := c.Body(h.MaxBody)
	if err == nil {
		input.check(in, body)
	}
	if problems := in.Err(); problems != nil {
		return problems
	}
	if err != nil {
		return err
	}
	if key == "" {
		key = uuid.NewString()
	}
	// In failures too: a caller that hears of a timeout can repeat the write safely.
	c.Writer.Header().Set(headerIdempotencyKey, key)

	stop := c.Upstream()
	entity, err := do(c.Request.Context(), cred, input.kind, accounting.Write{Body: body, MinorVersion: minorVersion, Key: key})
	stop()
	return succeed(c, entity, err)
}

// succeed answers with one entity, unless there is an error.
func succeed(c *area.Call, entity []byte, err error) error {
	if err != nil {
		return err
	}
	return c.Succeed(func(dst []byte) ([]byte, error) { return append(dst, entity...), nil })
}
