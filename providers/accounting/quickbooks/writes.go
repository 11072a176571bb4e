package quickbooks

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/providers/outbound"
	"github.com/fleetgate/fleetgate/transform"
)

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

// write posts what targets make of the input. A write that waits for the rate ends with
// its caller. Once it is sent it does not, as the caller could not tell whether it was
// carried out: it goes on to its end unless the process ends, and a repeat with the same
// key finds what became of it. The same write that is under way already is joined; one
// with the same key that differs is left to QuickBooks to refuse.
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
	c := newCall(cred, string(kind)+" "+what, "/"+string(kind), w.MinorVersion)
	c.Query.Set("requestid", requestID(w.Key))
	c.post("application/json", body)

	deadline := time.Now().Add(time.Duration(p.Timeout))
	if err := p.admitWrite(ctx, c, deadline); err != nil {
		return nil, err
	}
	same := outbound.Digest(cred.AccessToken, c.Path, c.Query.Encode(), string(body))
	answer, err, shared := p.writes.Do(same, func() (any, error) {
		ctx, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
		defer cancel()
		return p.carryOut(ctx, c, entities[kind])
	})
	if err != nil {
		return nil, err
	}
	if shared {
		return bytes.Clone(answer.([]byte)), nil
	}
	return answer.([]byte), nil
}

// admitWrite waits for the rate on the caller's time. Nothing was sent when it fails,
// which a timeout would not say.
func (p *Provider) admitWrite(ctx context.Context, c *call, deadline time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	err := p.admit(ctx, c)
	if errors.Is(err, providers.ErrTimeout) {
		return unavailable(0, context.DeadlineExceeded)
	}
	return err
}

// carryOut sends a write, and once more if it is not known what became of the first try.
// The error then is the first one, unless the second tells for certain that nothing was
// written: a caller that takes the write as not carried out may book it twice.
func (p *Provider) carryOut(ctx context.Context, c *call, entity string) ([]byte, error) {
	answer, lost := p.sendWrite(ctx, c, entity)
	if !isLost(lost) {
		return answer, lost
	}
	if p.admit(ctx, c) != nil {
		return nil, lost
	}
	answer, err := p.sendWrite(ctx, c, entity)
	if err != nil && !isCertain(err) {
		return nil, withRef(lost, err)
	}
	return answer, err
}

// withRef gives the error of a first try, whose answer was lost and its id with it, the
// id of the second.
func withRef(first, second error) error {
	e := *providers.As(first)
	e.Ref = cmp.Or(e.Ref, providers.As(second).Ref)
	return &e
}

func (p *Provider) sendWrite(ctx context.Context, c *call, entity string) ([]byte, error) {
	body, err := p.send(ctx, c)
	if err != nil {
		return nil, err
	}
	return unwrap(body, entity)
}

// isCertain reports whether a write failed because of its data, as every try of it does.
// A conflict of requestids or of SyncTokens may be one with the first try.
func isCertain(err error) bool {
	switch code := codeOf(err); code {
	case "", "130", "140", "150", "5020", "5030", "6030":
		// Without a code it may be another's refusal than QuickBooks'. With one of these
		// it is due to the company's state or the user's rights, which change.
		return false
	case codeDuplicateNumber, codeDuplicateName:
		return true
	default:
		return errors.Is(err, providers.ErrRejected) || errors.Is(err, providers.ErrNotFound)
	}
}

// losesCredit reports whether a purchase is a refund that QuickBooks would book as a
// charge: it ignores Credit unless the payment type is CreditCard.
func losesCredit(body []byte) bool {
	return gjson.GetBytes(body, "credit").IsBool() && gjson.GetBytes(body, "credit").Bool() &&
		gjson.GetBytes(body, "payment_type").String() != "CreditCard"
}

// maxRequestID is the length of the longest requestid that QuickBooks takes.
const maxRequestID = 50

// requestID makes a requestid of a write's key. It is the same in every process.
func requestID(key string) string {
	if len(key) <= maxRequestID {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])[:maxRequestID]
}
