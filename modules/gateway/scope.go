package gateway

import (
	"fmt"
	"slices"
	"strings"
)

// readSuffix narrows a scope to calls that change nothing upstream.
const readSuffix = ":read"

// areas are the names that a scope may start with, in the order of the contract.
var areas = []string{"accounting", "maps", "telematics", "fuel", "maintenance"}

// Scopes are the areas that a token may use: "maps" allows everything in the
// area, "maps:read" everything that writes nothing. No scopes at all means every
// area, reading and writing.
type Scopes []string

// ParseScopes validates the scopes asked for when a token is issued and returns
// them sorted and without repetition. An empty list is valid and allows
// everything, so callers that take scopes from a user should refuse an empty
// string instead of dropping it.
func ParseScopes(raw []string) (Scopes, error) {
	scopes := make(Scopes, 0, len(raw))
	for _, s := range raw {
		area := strings.TrimSuffix(s, readSuffix)
		if !slices.Contains(areas, area) {
			return nil, fmt.Errorf("unknown scope %q: use one of %s, with or without %s", s, strings.Join(areas, ", "), readSuffix)
		}
		scopes = append(scopes, s)
	}
	slices.Sort(scopes)
	return slices.Compact(scopes), nil
}

// Allows reports whether the scopes cover a call to area. A call that writes
// needs the plain area; a call that reads is content with "area:read" as well.
func (s Scopes) Allows(area string, write bool) bool {
	if len(s) == 0 {
		return true
	}
	for _, scope := range s {
		if scope == area {
			return true
		}
		if !write && len(scope) == len(area)+len(readSuffix) && strings.HasPrefix(scope, area) && strings.HasSuffix(scope, readSuffix) {
			return true
		}
	}
	return false
}
