package transform

import (
	"bytes"
	"slices"
	"strconv"
)

// Members of the fuel report (contract 2.4) that are more than copied.
const (
	memberReport       = "report"
	memberTransactions = "transactions"
	memberStartCode    = "startCode"
	memberStation      = "station"
)

// countMembers are the counts of the report, in the contract's order.
var countMembers = [...]string{"transactionCount", "carrierCount", "truckStopCount"}

// UnwrapFuelReport appends the fuel report of contract 2.4. body is a JSON object that
// is the report or holds it as "report", where null stands for an empty one. What is
// changed:
//
//   - An array element that is an object with a single member, named like the array
//     less its final "s", gives way to that member's value if it is an object. This
//     holds at any depth: {"transactions":[{"transaction":{…}}]} becomes
//     {"transactions":[{…}]}.
//   - An object in place of the array transactions, subTransactions or productDetails
//     becomes an array of one.
//   - transactions that is missing, null or "" becomes [].
//   - transactionCount, carrierCount and truckStopCount that are missing or null are
//     counted, the latter two as the distinct startCode and station of the
//     transactions, and put first.
//
// Everything else is kept byte for byte in its order, but for white space between
// tokens, which is dropped. The error is a [*SyntaxError], also for a body or a report
// that is no object and for transactions that are no list.
func UnwrapFuelReport(dst, body []byte) ([]byte, error) {
	u := unwrapper{scanner: scan(body), dst: dst}
	at := u.pos // of the report
	for ok := u.enter('{'); ok; ok = u.next('}') {
		if string(u.name()) != memberReport {
			u.value()
			continue
		}
		at = u.pos
		u.dst = u.dst[:len(dst)] // what an earlier report left there
		if u.peek() == '{' {
			u.report()
		} else {
			u.value()
		}
	}
	if err := u.end(); err == nil && len(u.dst) == len(dst) {
		// Nothing was copied yet: the body itself is the report, or the last report is
		// null or no object.
		u.scanner = scanner{src: body, pos: at}
		if u.peek() == 'n' {
			u.scanner = scan([]byte("{}"))
		}
		u.report()
	}
	if u.err != nil {
		return u.dst[:len(dst)], u.err
	}
	return u.dst, nil
}

// unwrapper is a scanner that copies what it reads to dst.
type unwrapper struct {
	scanner
	dst []byte
}

// report copies the report and completes it.
func (u *unwrapper) report() {
	head := len(u.dst) + 1
	members := 0
	var counted [len(countMembers)]bool // counts that the report has
	var list []byte                     // the transactions as copied

	u.dst = append(u.dst, '{')
	for ok := u.enter('{'); ok; ok = u.next('}') {
		raw := u.str()
		name := u.unescape(raw)
		u.colon()
		if i := slices.Index(countMembers[:], string(name)); i >= 0 {
			if u.peek() == 'n' {
				u.value()
				continue
			}
			counted[i] = true
		}
		u.appendName(raw, members)
		members++
		if string(name) != memberTransactions {
			u.copyValue(name)
			continue
		}
		start := len(u.dst)
		u.copyTransactions(name)
		list = u.dst[start:]
	}
	if list == nil {
		u.appendName([]byte(memberTransactions), members)
		u.dst = append(u.dst, "[]"...)
	}
	u.dst = append(u.dst, '}')

	if u.err == nil && slices.Contains(counted[:], false) {
		u.dst = slices.Insert(u.dst, head, appendCounts(nil, list, counted)...)
	}
}

// copyTransactions copies the value of the member with the given name as an array.
func (u *unwrapper) copyTransactions(name []byte) {
	switch start := u.pos; u.peek() {
	case '[', '{':
		u.copyValue(name)
	default:
		if value := u.value(); !isNull(value) && string(value) != `""` {
			u.pos = start
			u.fail("transactions are not a list")
		}
		u.dst = append(u.dst, "[]"...)
	}
}

// copyValue copies the value of the member with the given name, nil if it is none.
func (u *unwrapper) copyValue(name []byte) {
	wrapper, plural := bytes.CutSuffix(name, []byte("s"))
	if !plural {
		wrapper = nil
	}
	switch u.peek() {
	case '{':
		switch string(name) {
		case memberTransactions, "subTransactions", "productDetails":
			u.dst = append(u.dst, '[')
			u.copyElement(wrapper)
			u.dst = append(u.dst, ']')
		default:
			u.copyObject()
		}
	case '[':
		u.dst = append(u.dst, '[')
		first := true
		for ok := u.enter('['); ok; ok = u.next(']') {
			if !first {
				u.dst = append(u.dst, ',')
			}
			first = false
			u.copyElement(wrapper)
		}
		u.dst = append(u.dst, ']')
	default:
		u.dst = append(u.dst, u.value()...)
	}
}

// copyElement copies an element of an array and takes off its wrapper. An empty
// wrapper is none.
func (u *unwrapper) copyElement(wrapper []byte) {
	if u.peek() != '{' {
		u.copyValue(nil)
		return
	}
	start := len(u.dst)
	name, at := u.copyObject()
	if len(wrapper) > 0 && bytes.Equal(name, wrapper) && u.dst[at] == '{' {
		u.dst = slices.Delete(u.dst[:len(u.dst)-1], start, at)
	}
}

// copyObject copies an object. If it has a single member, its name is returned and
// where in dst its value starts.
func (u *unwrapper) copyObject() (name []byte, at int) {
	members := 0
	u.dst = append(u.dst, '{')
	for ok := u.enter('{'); ok; ok = u.next('}') {
		raw := u.str()
		name = u.unescape(raw)
		u.colon()
		u.appendName(raw, members)
		members++
		at = len(u.dst)
		u.copyValue(name)
	}
	u.dst = append(u.dst, '}')
	if members != 1 {
		return nil, 0
	}
	return name, at
}

// appendName appends the name of a member that follows so many others.
func (u *unwrapper) appendName(raw []byte, others int) {
	if others > 0 {
		u.dst = append(u.dst, ',')
	}
	u.dst = append(u.dst, '"')
	u.dst = append(u.dst, raw...)
	u.dst = append(u.dst, '"', ':')
}

// appendCounts appends the countMembers that are not counted yet, each with a comma.
// list is the array of transactions, nil for none.
func appendCounts(dst, list []byte, counted [len(countMembers)]bool) []byte {
	transactions := 0
	carriers := make(set)
	stations := make(set)
	if list != nil {
		s := scan(list)
		for ok := s.enter('['); ok; ok = s.next(']') {
			transactions++
			if s.peek() != '{' {
				s.value()
				continue
			}
			var carrier, station []byte
			for ok := s.enter('{'); ok; ok = s.next('}') {
				switch name := s.name(); string(name) {
				case memberStartCode:
					carrier = text(s.value())
				case memberStation:
					station = text(s.value())
				default:
					s.value()
				}
			}
			if len(carrier) > 0 {
				carriers.add(carrier)
			}
			if len(station) > 0 {
				stations.add(station)
			}
		}
	}
	for i, n := range [...]int{transactions, len(carriers), len(stations)} {
		if !counted[i] {
			dst = AppendString(dst, countMembers[i])
			dst = append(dst, ':')
			dst = strconv.AppendInt(dst, int64(n), 10)
			dst = append(dst, ',')
		}
	}
	return dst
}
