package outbound

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/fleetgate/fleetgate/providers"
)

// Guard runs f and turns a panic in it into an error of [providers.KindProvider]. Every
// goroutine that a provider starts runs under it: nobody above such a goroutine recovers,
// so that a panic there would end the process with all its requests. The panic is
// written to logger with the name of the call, its type and the stack, but without its
// value, which may be a credential.
func Guard(logger *zap.Logger, call string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			logger.Error("provider panicked", zap.String("call", call), zap.String("type", fmt.Sprintf("%T", p)), zap.Stack("stack"))
			err = &providers.Error{Kind: providers.KindProvider, Err: fmt.Errorf("%s panicked with a %T", call, p)}
		}
	}()
	return f()
}
