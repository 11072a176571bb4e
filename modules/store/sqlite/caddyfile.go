package sqlite

import (
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// UnmarshalCaddyfile sets up the backend from Caddyfile tokens. Syntax:
//
//	store sqlite [<path>]
//
//	store sqlite {
//	    path <path>
//	}
func (b *Backend) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // consume the backend's name
	if d.NextArg() {
		b.Path = d.Val()
		if b.Path == "" {
			return d.Err("the path is empty")
		}
	}
	if d.NextArg() {
		return d.Errf("unexpected argument '%s': 'store sqlite' takes one path", d.Val())
	}
	for d.NextBlock(0) {
		switch d.Val() {
		case "path":
			if b.Path != "" {
				return d.Err("the path is given twice")
			}
			if !d.NextArg() {
				return d.Err("'path' takes one argument, the path of the database file")
			}
			b.Path = d.Val()
			if b.Path == "" {
				return d.Err("the path is empty")
			}
			if d.NextArg() {
				return d.Errf("unexpected argument '%s': 'path' takes one path", d.Val())
			}
		default:
			return d.Errf("unrecognized subdirective '%s' of 'store sqlite': use path", d.Val())
		}
	}
	return nil
}

// Interface guards
var _ caddyfile.Unmarshaler = (*Backend)(nil)
