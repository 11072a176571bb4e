package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is a way in which a simulated provider fails.
type Fault string

// The faults, in the order in which they are documented.
const (
	None        Fault = ""
	Throttle    Fault = "throttle"
	Error       Fault = "error"
	Unavailable Fault = "unavailable"
	Forbidden   Fault = "forbidden"
	Reset       Fault = "reset"
	Truncate    Fault = "truncate"
	InvalidJSON Fault = "invalid_json"
	HTML        Fault = "html"
	Empty       Fault = "empty"
	NotUTF8     Fault = "not_utf8"
	Deep        Fault = "deep"
	Huge        Fault = "huge"
	Shift       Fault = "shift"
	DropSession Fault = "drop_session"
	Lost        Fault = "lost"
	ShortPage   Fault = "short_page"
	LongPage    Fault = "long_page"
	RepeatPage  Fault = "repeat_page"
	Shrink      Fault = "shrink"
	Fault200    Fault = "fault_200"
	XML         Fault = "xml"
	XMLThrottle Fault = "xml_throttle"
)

var faults = []Fault{
	Throttle, Error, Unavailable, Forbidden, Reset, Truncate, InvalidJSON,
	HTML, Empty, NotUTF8, Deep, Huge, Shift, DropSession, Lost, ShortPage,
	LongPage, RepeatPage, Shrink, Fault200, XML, XMLThrottle,
}

// Kinds returns the names of all faults, in the order in which they are documented.
func Kinds() []string {
	names := make([]string, len(faults))
	for i, f := range faults {
		names[i] = string(f)
	}
	return names
}

// Known reports whether f is a fault.
func (f Fault) Known() bool { return slices.Contains(faults, f) }

// TakesRetryAfter reports whether the answer to f may carry a Retry-After header.
func (f Fault) TakesRetryAfter() bool { return f == Throttle || f == Unavailable }

// ParseFault reads a fault as callers spell it, in a header or after "fault-" in a
// credential: the kind and, for kinds with a Retry-After header, optionally a hyphen
// and its duration (throttle-30s).
func ParseFault(s string) (Fault, time.Duration, error) {
	kind, wait, timed := strings.Cut(s, "-")
	f := Fault(kind)
	if !f.Known() {
		return None, 0, fmt.Errorf("unknown fault; known are %s", strings.Join(Kinds(), ", "))
	}
	if !timed {
		return f, 0, nil
	}
	d, err := time.ParseDuration(wait)
	if err != nil || d <= 0 || !f.TakesRetryAfter() {
		return None, 0, fmt.Errorf("only %s and %s take a duration, such as throttle-30s", Throttle, Unavailable)
	}
	return f, d, nil
}

// CredentialFault returns what follows "fault-" in the first of the given credentials
// that begins so, else "".
func CredentialFault(credentials ...string) string {
	for _, c := range credentials {
		if wish, ok := strings.CutPrefix(c, "fault-"); ok {
			return wish
		}
	}
	return ""
}

// Refused reports whether a simulated provider refuses a secret: it takes any but an
// empty one and those that begin with "invalid" or "wrong".
func Refused(secret string) bool {
	return secret == "" || strings.HasPrefix(secret, "invalid") || strings.HasPrefix(secret, "wrong")
}
