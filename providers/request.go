package providers

import "context"

type requestIDKey struct{}

// WithRequestID returns a context that carries the id of the caller's request.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id of the caller's request, to be sent to the provider as
// X-Request-Id. It is empty in calls that the gateway makes on its own account.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
