package area

import (
	"fmt"

	"github.com/dustin/go-humanize"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// UnmarshalMaxBody reads the subdirective at the cursor, whose syntax is
//
//	max_body <size>
//
// into target, in bytes. A size is a number of bytes with or without a unit, such as
// 1MiB.
func UnmarshalMaxBody(d *caddyfile.Dispenser, target *int64) error {
	if *target != 0 {
		return d.Err("option 'max_body' is given twice")
	}
	var text string
	if !d.AllArgs(&text) {
		return d.ArgErr()
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > MaxMaxBody {
		return d.Errf("max_body must be a size above zero and up to 1GiB, such as 1MiB, not '%s'", text)
	}
	*target = int64(n)
	return nil
}

// CheckMaxBody checks the option max_body after defaults are filled in.
func CheckMaxBody(n int64) error {
	if n < 1 || n > MaxMaxBody {
		return fmt.Errorf("max_body must be between 1 and %d bytes", MaxMaxBody)
	}
	return nil
}
