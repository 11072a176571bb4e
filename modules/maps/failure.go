package maps

import (
	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/transform"
)

// appendFailure appends the area's own error shape: erro and msg (contract 7.2).
func appendFailure(dst []byte, f *area.Failure) []byte {
	dst = append(dst, `{"erro":true,"msg":`...)
	dst = transform.AppendString(dst, f.Message)
	return append(dst, '}')
}
