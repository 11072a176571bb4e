package transform

// set holds ids and codes that were met.
type set map[string]struct{}

// add puts key into the set and reports whether it is new there.
func (s set) add(key []byte) bool {
	if _, known := s[string(key)]; known {
		return false
	}
	s[string(key)] = struct{}{}
	return true
}
