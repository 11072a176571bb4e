package outbound

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fleetgate/fleetgate/providers"
)

func TestGuard(t *testing.T) {
	boom := errors.New("boom")
	for _, tc := range []struct {
		name   string
		f      func() error
		err    error  // as returned
		logged string // empty for nothing
	}{
		{"ok/nil", func() error { return nil }, nil, ""},
		{"fail/error", func() error { return boom }, boom, ""},
		{"fail/panic with a text", func() error { panic("planted") }, nil, "string"},
		{"fail/panic with an error", func() error { panic(fmt.Errorf("planted: %w", boom)) }, nil, "*fmt.wrapError"},
		{"fail/panic of the runtime", func() error { return []error{}[len(boom.Error())] }, nil, "runtime.boundsError"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var l logs
			logger := zap.New(zapcore.NewCore(
				zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.Lock(&l), zapcore.DebugLevel))
			err := Guard(logger, "list", tc.f)
			if tc.logged == "" {
				if !errors.Is(err, tc.err) || l.Len() > 0 {
					t.Errorf("error %v, want %v; logged %s", err, tc.err, l.String())
				}
				return
			}
			pe := wantError(t, err, providers.KindProvider, "")
			for _, want := range []string{`"call":"list"`, `"type":"` + tc.logged + `"`, "TestGuard.func"} {
				if !strings.Contains(l.String(), want) {
					t.Errorf("the log lacks %s: %s", want, l.String())
				}
			}
			wantNone(t, "the log", l.String(), "planted")
			wantNone(t, "the error", fmt.Sprint(err, pe.Err), "planted")
		})
	}
}
