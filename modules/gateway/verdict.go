package gateway

import "context"

// Reason says why a [Verdict] lets a caller in or not.
type Reason uint8

// The reasons. The zero value refuses, so that a verdict that nobody filled in
// lets nobody through.
const (
	// ReasonRefused is the zero value: nobody decided, so the caller is refused.
	ReasonRefused Reason = iota

	// ReasonOK means that the token is known, live and belongs to the account.
	ReasonOK

	// ReasonMissing means that the request carries no Authorization header.
	ReasonMissing

	// ReasonMalformed means that the header or the token in it has the wrong form;
	// the store was not asked.
	ReasonMalformed

	// ReasonUnknown means that the token is well-formed but was never issued.
	ReasonUnknown

	// ReasonExpired means that the token's lifetime is over.
	ReasonExpired

	// ReasonRevoked means that an operator revoked the token.
	ReasonRevoked

	// ReasonUnavailable means that the store cannot be asked and that the token was
	// not seen recently enough to be used without it. Areas answer 503.
	ReasonUnavailable
)

// String returns the word used in logs.
func (r Reason) String() string {
	switch r {
	case ReasonOK:
		return "ok"
	case ReasonMissing:
		return "missing"
	case ReasonMalformed:
		return "malformed"
	case ReasonUnknown:
		return "unknown"
	case ReasonExpired:
		return "expired"
	case ReasonRevoked:
		return "revoked"
	case ReasonUnavailable:
		return "unavailable"
	default:
		return "refused"
	}
}

// Verdict is what gateway_auth found out about the caller of one request. Area
// handlers read it and refuse in their own shape (contract 7.1 to 7.5). Verdicts
// are shared between requests: never change one.
type Verdict struct {
	// AccountID and Account are the account's id and name; empty unless the caller
	// is authenticated.
	AccountID string
	Account   string

	// TokenID is the id of the token, never its value; empty unless the caller is
	// authenticated.
	TokenID string

	// Scopes limit the areas; none = all.
	Scopes Scopes

	// Reason is [ReasonOK] for an authenticated caller and says what is wrong for
	// any other.
	Reason Reason
}

// Authenticated reports whether the caller holds a live token. A nil verdict is
// not authenticated.
func (v *Verdict) Authenticated() bool {
	return v != nil && v.Reason == ReasonOK
}

// Unavailable reports whether the caller is refused only because the store
// cannot be asked: the call may succeed later.
func (v *Verdict) Unavailable() bool {
	return v != nil && v.Reason == ReasonUnavailable
}

// Allows reports whether the caller is authenticated and the token's scopes
// cover a call to area ("accounting", "maps", …); write is true for calls that
// change something upstream.
func (v *Verdict) Allows(area string, write bool) bool {
	return v.Authenticated() && v.Scopes.Allows(area, write)
}

// refusals are the verdicts that hold nothing but their reason, shared by every
// request, so that refusing costs nothing.
var refusals = func() (verdicts [ReasonUnavailable + 1]Verdict) {
	for reason := range verdicts {
		verdicts[reason].Reason = Reason(reason)
	}
	return verdicts
}()

// Refuse returns the verdict that refuses the caller for that reason;
// [ReasonOK] and unknown reasons give the verdict of [ReasonRefused].
func Refuse(reason Reason) *Verdict {
	if reason == ReasonOK || int(reason) >= len(refusals) {
		reason = ReasonRefused
	}
	return &refusals[reason]
}

// verdictKey is the context key of the verdict; unexported, so that nothing else
// in the process can plant one by name.
type verdictKey struct{}

// WithVerdict returns a context that carries v.
func WithVerdict(ctx context.Context, v *Verdict) context.Context {
	return context.WithValue(ctx, verdictKey{}, v)
}

// VerdictFrom returns the verdict of the request, or nil, which refuses, when
// gateway_auth did not run in front of the caller.
func VerdictFrom(ctx context.Context) *Verdict {
	v, _ := ctx.Value(verdictKey{}).(*Verdict)
	return v
}
