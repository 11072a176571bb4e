package transform

// EventJoin says how driver performance events are joined to the catalogs (contract
// 2.3).
type EventJoin struct {
	// Trigger, Status and Vehicle name the members of an event that hold the ids.
	// An empty name stands for no member.
	Trigger, Status, Vehicle string

	// EventDate and LastUpdated name the members that eventDate and lastUpdatedDate
	// are made from; the first that is present and not null counts.
	EventDate, LastUpdated []string

	// Triggers, Statuses and Vehicles are the catalogs. Keys are the ids as the
	// events spell them, without quotes; values are JSON texts, written out as they
	// are: a string, a string and an object. A nil catalog knows nothing.
	Triggers, Statuses, Vehicles map[string][]byte
}

// JoinMisses counts what a join did not find.
type JoinMisses struct {
	Events  int // events in all
	Trigger int // events whose trigger is unknown or missing
	Status  int // events whose status is unknown or missing
	Vehicle int // events that name a vehicle that is unknown
}

// Where the values of an event that matter are kept while it is read. The first
// group are the members of the contract that the gateway writes itself.
const (
	slotNone = iota // not a slot
	slotType
	slotCoachingStatus
	slotVehicle
	slotEventDate
	slotLastUpdated
	slotTriggerID
	slotStatusID
	slotVehicleID
	slotSources // of eventDate, then of lastUpdatedDate
)

// noVehicle is the vehicle id of an event without a vehicle.
const noVehicle = "00000000-0000-0000-0000-000000000000"

// EnrichEvents appends the events in body, a JSON array of objects, with five members
// added at the end of each:
//
//   - type and coaching_status, the names of the trigger and the status, or "Unknown"
//   - vehicle, from the catalog, or {"dcVehicleId": <vehicle id>, "name": ""}
//   - eventDate and lastUpdatedDate, from the members that j names, else the event's
//     own member of that name when it is a string, else ""
//
// An upstream member with one of these names is dropped. All others are kept byte for
// byte in their order, also when a name comes twice: the last one then counts for the
// join. White space between the events and around dropped members is not kept.
//
// body is checked in the same pass; the error is a [*SyntaxError], also for a body
// that is empty or no array of objects. Nothing is allocated when dst has room, unless
// an event spells a name or an id with escapes.
func EnrichEvents(dst, body []byte, j *EventJoin) ([]byte, JoinMisses, error) {
	// Room for the usual join, so that it stays off the heap.
	var fields [slotSources + 8]joinField
	s := scan(body)
	e := enricher{scanner: &s, join: j, fields: appendFields(fields[:0], j)}
	e.index()

	start := len(dst)
	dst = append(dst, '[')
	for ok := e.enter('['); ok; ok = e.next(']') {
		if e.misses.Events > 0 {
			dst = append(dst, ',')
		}
		dst = e.appendMembers(dst)
		dst = e.appendJoin(dst)
		e.misses.Events++
	}
	dst = append(dst, ']')
	if err := e.end(); err != nil {
		return dst[:start], JoinMisses{}, err
	}
	return dst, e.misses, nil
}

// enricher is a scanner that keeps the values of the event it reads.
type enricher struct {
	*scanner
	join   *EventJoin
	fields []joinField // one per slot
	first  [64]int     // by hash of the name, the first slot of a chain
	misses JoinMisses
}

// joinField is a member of the events that the join reads.
type joinField struct {
	name  string
	next  int    // the next slot with the same hash
	value []byte // in the event that is being read, nil when missing
}

// appendFields appends the fields of all slots.
func appendFields(fields []joinField, j *EventJoin) []joinField {
	fields = append(
		fields,
		joinField{}, // slotNone
		joinField{name: "type"},
		joinField{name: "coaching_status"},
		joinField{name: "vehicle"},
		joinField{name: "eventDate"},
		joinField{name: "lastUpdatedDate"},
		joinField{name: j.Trigger},
		joinField{name: j.Status},
		joinField{name: j.Vehicle},
	)
	for _, name := range j.EventDate {
		fields = append(fields, joinField{name: name})
	}
	for _, name := range j.LastUpdated {
		fields = append(fields, joinField{name: name})
	}
	return fields
}

// index chains the fields by hash. A name may be in several slots.
func (e *enricher) index() {
	for slot := len(e.fields) - 1; slot > slotNone; slot-- {
		f := &e.fields[slot]
		if f.name != "" {
			h := nameHash(len(f.name), f.name[0])
			f.next, e.first[h] = e.first[h], slot
		}
	}
}

// nameHash tells most of the forty-odd members of an event from the few that matter.
func nameHash(length int, initial byte) int {
	return (length*5 + int(initial)) & 63
}

// keep stores the value of a member in its slots and reports whether the member is
// one that the gateway writes itself.
func (e *enricher) keep(name, value []byte) bool {
	if len(name) == 0 {
		return false
	}
	own := false
	for slot := e.first[nameHash(len(name), name[0])]; slot != slotNone; slot = e.fields[slot].next {
		if f := &e.fields[slot]; f.name == string(name) {
			f.value = value
			own = own || slot <= slotLastUpdated
		}
	}
	return own
}

// appendMembers reads one event and appends it without the members that the gateway
// writes itself and without its closing brace. Runs of members are copied in one go;
// each ends with a comma, because appendJoin always follows.
func (e *enricher) appendMembers(dst []byte) []byte {
	for slot := range e.fields {
		e.fields[slot].value = nil
	}
	dst = append(dst, '{')
	from, to := e.pos, e.pos // the run to copy is src[from:to]
	for ok := e.enter('{'); ok; ok = e.next('}') {
		start := e.pos
		name := e.name()
		value := e.value()
		switch {
		case e.keep(name, value):
			dst = e.appendRun(dst, from, to)
			from, to = start, start
		case from == to:
			from, to = start, e.pos
		default:
			to = e.pos
		}
	}
	return e.appendRun(dst, from, to)
}

func (e *enricher) appendRun(dst []byte, from, to int) []byte {
	if from == to {
		return dst
	}
	dst = append(dst, e.src[from:to]...)
	return append(dst, ',')
}

// appendJoin appends the members that the gateway writes, and the closing brace.
func (e *enricher) appendJoin(dst []byte) []byte {
	dst = append(dst, `"type":`...)
	dst = appendCatalogName(dst, e.join.Triggers, e.fields[slotTriggerID].value, &e.misses.Trigger)
	dst = append(dst, `,"coaching_status":`...)
	dst = appendCatalogName(dst, e.join.Statuses, e.fields[slotStatusID].value, &e.misses.Status)
	dst = append(dst, `,"vehicle":`...)
	dst = e.appendVehicle(dst, e.fields[slotVehicleID].value)

	updated := slotSources + len(e.join.EventDate)
	dst = append(dst, `,"eventDate":`...)
	dst = e.appendDate(dst, slotSources, updated, slotEventDate)
	dst = append(dst, `,"lastUpdatedDate":`...)
	dst = e.appendDate(dst, updated, len(e.fields), slotLastUpdated)
	return append(dst, '}')
}

// appendCatalogName appends the name that the catalog has for an id.
func appendCatalogName(dst []byte, catalog map[string][]byte, id []byte, misses *int) []byte {
	if key := text(id); len(key) > 0 {
		if name := catalog[string(key)]; len(name) > 0 {
			return append(dst, name...)
		}
	}
	*misses++
	return append(dst, `"Unknown"`...)
}

// appendVehicle appends the vehicle of an id. An id that is missing, or stands for no
// vehicle, is no miss.
func (e *enricher) appendVehicle(dst, id []byte) []byte {
	if key := text(id); len(key) > 0 && string(key) != noVehicle {
		if vehicle := e.join.Vehicles[string(key)]; len(vehicle) > 0 {
			return append(dst, vehicle...)
		}
		e.misses.Vehicle++
	}
	dst = append(dst, `{"dcVehicleId":`...)
	dst = appendText(dst, id)
	return append(dst, `,"name":""}`...)
}

// appendDate appends the first of the source slots that is not null, else the event's
// own value when it is a string, else an empty string.
func (e *enricher) appendDate(dst []byte, source, end, own int) []byte {
	for ; source < end; source++ {
		if value := e.fields[source].value; !isNull(value) {
			return appendText(dst, value)
		}
	}
	if value := e.fields[own].value; len(value) > 0 && value[0] == '"' {
		return append(dst, value...)
	}
	return append(dst, `""`...)
}
