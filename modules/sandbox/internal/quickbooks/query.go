package quickbooks

import (
	"cmp"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// property is a member that rows can be compared and ordered by.
type property struct {
	name string // as its path in the entity
	kind comparison
}

// comparison is how the values of a property compare.
type comparison int

const (
	byText comparison = iota
	byID
	byNumber
	byTime
	byTruth
)

// operand is a value that rows are compared with, or a value of a row.
type operand struct {
	text   string // in lower case
	id     int64
	number *big.Rat
	time   time.Time
}

// property finds a member by its name, where case does not count. Members that are
// objects cannot be compared, except the times in MetaData.
func (k *kind) property(name string) (property, *fault) {
	for _, p := range []property{
		{"Id", byID},
		{"MetaData.CreateTime", byTime},
		{"MetaData.LastUpdatedTime", byTime},
	} {
		if strings.EqualFold(p.name, name) {
			return p, nil
		}
	}
	first, _, nested := strings.Cut(name, ".")
	for i := range k.class.fields {
		fd := &k.class.fields[i]
		if !strings.EqualFold(fd.name, first) {
			continue
		}
		p := property{name: fd.name}
		switch fd.kind {
		case group, groups, anything:
			return p, queryError("property '" + name + "' is not queryable")
		case decimal:
			p.kind = byNumber
		case boolean:
			p.kind = byTruth
		default:
		}
		if !nested {
			return p, nil
		}
	}
	return property{}, queryError("Property " + name + " not found for Entity " + k.name)
}

// operand reads a value of a statement.
func (p property) operand(operator, text string) (operand, *fault) {
	if operator == "LIKE" && p.kind != byText || p.kind == byTruth && operator != "=" && operator != "IN" {
		return operand{}, queryError("Operator " + operator + " is not supported for property " + p.name)
	}
	o, ok := p.read(text)
	if !ok {
		return o, queryError("Invalid value '" + text + "' for property " + p.name)
	}
	return o, nil
}

// read reads a value, and reports false when it is none for the property.
func (p property) read(text string) (operand, bool) {
	o := operand{text: strings.ToLower(text)}
	var err error
	switch p.kind {
	case byID:
		o.id, err = strconv.ParseInt(text, 10, 64)
	case byNumber:
		o.number = new(big.Rat)
		if !isDecimal(text) {
			return o, false
		}
		o.number.SetString(text)
	case byTime:
		return o, o.readTime(text)
	case byTruth:
		return o, o.text == "true" || o.text == "false"
	case byText:
		if p.name == "TxnDate" {
			_, err = time.Parse(time.DateOnly, text)
		}
	}
	return o, err == nil
}

// readTime reads a date or a date-time, with a zone or in that of the company.
func (o *operand) readTime(text string) bool {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, pacific); err == nil {
			o.time = t
			return true
		}
	}
	return false
}

// of returns the value of a row, and false when it has none.
func (p property) of(r *record) (operand, bool) {
	switch {
	case p.kind == byID:
		return operand{id: r.id}, true
	case p.name == "MetaData.LastUpdatedTime":
		return operand{time: r.updated}, true
	}
	v := gjson.GetBytes(r.json, p.name)
	if !v.Exists() {
		return operand{}, false
	}
	text := v.Raw
	if v.Type == gjson.String {
		text = v.Str
	}
	return p.read(text)
}

// compare orders two values of the property.
func (p property) compare(a, b operand) int {
	switch p.kind {
	case byID:
		return cmp.Compare(a.id, b.id)
	case byNumber:
		return a.number.Cmp(b.number)
	case byTime:
		return a.time.Compare(b.time)
	default:
		return strings.Compare(a.text, b.text)
	}
}

func (c *condition) holds(r *record) bool {
	v, ok := c.property.of(r)
	if !ok {
		return false
	}
	if c.operator == "LIKE" {
		return like(v.text, c.operands[0].text)
	}
	return slices.ContainsFunc(c.operands, func(o operand) bool {
		d := c.property.compare(v, o)
		switch c.operator {
		case "<":
			return d < 0
		case ">":
			return d > 0
		case "<=":
			return d <= 0
		case ">=":
			return d >= 0
		default:
			return d == 0
		}
	})
}

// like matches a text with a pattern in which % stands for any characters.
func like(text, pattern string) bool {
	parts := strings.Split(pattern, "%")
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return text == pattern
	}
	if !strings.HasPrefix(text, first) || !strings.HasSuffix(text[len(first):], last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		_, after, ok := strings.Cut(text, part)
		if !ok {
			return false
		}
		text = after
	}
	return true
}

// filter returns the rows for which all conditions hold. Of what can be made inactive,
// only what is active is returned unless a condition asks for that member.
func (st *statement) filter(rows []*record) []*record {
	everything := !st.kind.listed || slices.ContainsFunc(st.conditions, func(c condition) bool { return c.property.name == "Active" })
	return slices.DeleteFunc(rows, func(r *record) bool {
		if !everything && !r.active {
			return true
		}
		for i := range st.conditions {
			if !st.conditions[i].holds(r) {
				return true
			}
		}
		return false
	})
}

// sort orders the rows as the statement says; rows without a value come first.
func (st *statement) sort(rows []*record) {
	if st.order == nil {
		slices.SortFunc(rows, st.kind.compare)
		return
	}
	type keyed struct {
		row   *record
		value operand
		set   int
	}
	keys := make([]keyed, len(rows))
	for i, r := range rows {
		v, ok := st.order.of(r)
		keys[i] = keyed{row: r, value: v}
		if ok {
			keys[i].set = 1
		}
	}
	slices.SortFunc(keys, func(a, b keyed) int {
		d := cmp.Compare(a.set, b.set)
		if d == 0 && a.set == 1 {
			d = st.order.compare(a.value, b.value)
		}
		if st.descending {
			d = -d
		}
		return cmp.Or(d, cmp.Compare(a.row.id, b.row.id))
	})
	for i, k := range keys {
		rows[i] = k.row
	}
}

// writePage writes the page of the rows that the statement asks for, or the one that a
// fault makes of it. A page without rows has no members at all.
func (st *statement) writePage(b *sim.JSON, rows []*record, fault sim.Fault) {
	from, size := st.start-1, st.size
	switch fault {
	case sim.Shift:
		if size > 1 {
			from -= from / size * max(1, size/10)
		}
	case sim.Shrink:
		if size > 1 {
			from += from / size * max(1, size/10)
		}
	case sim.RepeatPage:
		from = 0
	case sim.LongPage:
		size++
	default:
	}
	rows = rows[min(from, len(rows)):]
	rows = rows[:min(size, len(rows))]
	if fault == sim.ShortPage && len(rows) > 1 {
		rows = rows[:len(rows)-max(1, len(rows)/10)]
	}
	if len(rows) == 0 {
		return
	}
	b.Array(st.kind.name)
	for _, r := range rows {
		b.Element(r.json)
	}
	b.Close(']')
	b.Int("startPosition", int64(st.start))
	b.Int("maxResults", int64(len(rows)))
}
