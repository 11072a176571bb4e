package outbound

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

// Option is a subdirective that one provider has besides those of every provider.
type Option struct {
	Name string
	Read func(d *caddyfile.Dispenser) error // the cursor is at the name
}

// UnmarshalBlock reads a provider's block, from in front of its name on:
//
//	<name> {
//	    base_url     <url>
//	    display_name <name>
//	    timeout      <duration>
//	    max_body     <size>
//	    transport http {
//	        <options of reverse_proxy's http transport>
//	    }
//	    <own options>
//	}
func (c *Client) UnmarshalBlock(d *caddyfile.Dispenser, own ...Option) error {
	d.Next() // the provider's name
	if d.NextArg() {
		return d.ArgErr()
	}
	options := slices.Concat(own, c.options())
	for d.NextBlock(0) {
		i := slices.IndexFunc(options, func(o Option) bool { return o.Name == d.Val() })
		if i < 0 {
			return unrecognized(d, options)
		}
		if err := options[i].Read(d); err != nil {
			return err
		}
	}
	return nil
}

// options are those that every provider has.
func (c *Client) options() []Option {
	return []Option{
		{"base_url", c.unmarshalBaseURL},
		{"display_name", func(d *caddyfile.Dispenser) error { return OneString(d, &c.Display) }},
		{"timeout", func(d *caddyfile.Dispenser) error { return OneDuration(d, &c.Timeout) }},
		{"max_body", func(d *caddyfile.Dispenser) error { return OneSize(d, &c.MaxBody) }},
		{"transport", c.unmarshalTransport},
	}
}

func unrecognized(d *caddyfile.Dispenser, options []Option) error {
	names := make([]string, len(options))
	for i, o := range options {
		names[i] = o.Name
	}
	return d.Errf("unrecognized subdirective '%s'; allowed are %s", d.Val(), strings.Join(names, ", "))
}

// unmarshalBaseURL checks the URL at once, where the line is known, unless it holds
// placeholders, whose values are not.
func (c *Client) unmarshalBaseURL(d *caddyfile.Dispenser) error {
	if err := OneString(d, &c.BaseURL); err != nil || strings.Contains(c.BaseURL, "{") {
		return err
	}
	if _, err := parseBase(c.BaseURL); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

func (c *Client) unmarshalTransport(d *caddyfile.Dispenser) error {
	if c.TransportRaw != nil {
		return duplicate(d)
	}
	if !d.NextArg() {
		return d.ArgErr()
	}
	if d.Val() != "http" {
		return d.Errf("transport '%s' is not allowed here; only 'http' is", d.Val())
	}
	if d.CountRemainingArgs() > 0 {
		return d.ArgErr() // Caddy would ignore them
	}
	mod, err := caddyfile.UnmarshalModule(d, "http.reverse_proxy.transport.http")
	if err != nil {
		return err
	}
	c.TransportRaw = caddyconfig.JSONModuleObject(mod, "protocol", "http", nil)
	return nil
}

// OneString reads the single argument of the option at the cursor into target, which
// must still be empty: an option given twice is an error.
func OneString(d *caddyfile.Dispenser, target *string) error {
	text, err := argument(d, *target != "")
	if err != nil {
		return err
	}
	if text == "" {
		return d.Err("the value must not be empty")
	}
	*target = text
	return nil
}

// OneDuration reads the single argument of the option at the cursor, a duration above
// zero such as 30s, into target, which must still be zero.
func OneDuration(d *caddyfile.Dispenser, target *caddy.Duration) error {
	option := d.Val()
	text, err := argument(d, *target != 0)
	if err != nil {
		return err
	}
	dur, err := caddy.ParseDuration(text)
	if err != nil || dur <= 0 {
		return d.Errf("%s must be a duration above zero, such as 30s, not '%s'", option, text)
	}
	*target = caddy.Duration(dur)
	return nil
}

// OneSize reads the single argument of the option at the cursor, a number of bytes above
// zero such as 64MiB, into target, which must still be zero.
func OneSize(d *caddyfile.Dispenser, target *int64) error {
	option := d.Val()
	text, err := argument(d, *target != 0)
	if err != nil {
		return err
	}
	n, err := humanize.ParseBytes(text)
	if err != nil || n == 0 || n > maxMaxBody {
		return d.Errf("%s must be a size above zero, such as 64MiB, not '%s'", option, text)
	}
	*target = int64(n)
	return nil
}

// OneNumber reads the single argument of the option at the cursor, a whole number from 1
// to most, into target, which must still be zero.
func OneNumber(d *caddyfile.Dispenser, target *int, most int) error {
	option := d.Val()
	text, err := argument(d, *target != 0)
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return d.Errf("%s must be a number from 1 to %d, not '%s'", option, most, text)
	}
	*target = n
	return nil
}

// argument returns the single argument of the option at the cursor. given says that the
// option was read before.
func argument(d *caddyfile.Dispenser, given bool) (string, error) {
	if given {
		return "", duplicate(d)
	}
	var text string
	if !d.AllArgs(&text) {
		return "", d.ArgErr()
	}
	return text, nil
}

func duplicate(d *caddyfile.Dispenser) error {
	return d.Errf("option '%s' is given twice", d.Val())
}
