package area

import (
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

func TestUnmarshalMaxBody(t *testing.T) {
	const want = "max_body must be a size above zero and up to 1GiB, such as 1MiB, not "
	for _, tc := range []struct {
		name, option string
		before, size int64
		err          string
	}{
		{"ok/bytes", "max_body 1", 0, 1, ""},
		{"ok/binary unit", "max_body 2MiB", 0, 2 << 20, ""},
		{"ok/decimal unit", "max_body 2MB", 0, 2_000_000, ""},
		{"ok/largest", "max_body 1GiB", 0, 1 << 30, ""},
		{"fail/zero", "max_body 0", 0, 0, want + "'0'"},
		{"fail/negative", "max_body -1", 0, 0, want + "'-1'"},
		{"fail/too large", "max_body 1073741825", 0, 0, want + "'1073741825'"},
		{"fail/no size", "max_body big", 0, 0, want + "'big'"},
		{"fail/no argument", "max_body", 0, 0, "wrong argument count"},
		{"fail/two arguments", "max_body 1 MiB", 0, 0, "wrong argument count"},
		{"fail/twice", "max_body 1MiB", 5, 5, "option 'max_body' is given twice"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := caddyfile.NewTestDispenser(tc.option)
			d.Next()
			got := tc.before
			err := UnmarshalMaxBody(d, &got)
			if got != tc.size || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("UnmarshalMaxBody = %v with %d, want %q with %d", err, got, tc.err, tc.size)
			}
		})
	}
}

func TestCheckMaxBody(t *testing.T) {
	for size, ok := range map[int64]bool{-1: false, 0: false, 1: true, 1 << 30: true, 1<<30 + 1: false} {
		err := CheckMaxBody(size)
		if (err == nil) != ok || err != nil && err.Error() != "max_body must be between 1 and 1073741824 bytes" {
			t.Errorf("CheckMaxBody(%d) = %v", size, err)
		}
	}
}
