// Package lytx simulates the API of Lytx that is authenticated by an API key: safety
// events, their catalogs and vehicles.
package lytx

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// New returns a simulated Lytx.
func New(o sim.Options) sim.Provider {
	return &simulator{data: sim.NewDaily(o.Now, func(midnight time.Time) *dataset {
		return newDataset(o.Seed, midnight)
	})}
}

// keyHeader carries the API key; on the wire it is spelled X-APIKey.
const keyHeader = "X-Apikey"

type simulator struct{ data *sim.Daily[*dataset] }

// operations are the calls that the simulator answers, all with GET.
var operations = map[string]func(*dataset, *sim.Answer, sim.Call){
	"/video/safety/eventsWithMetadata":     (*dataset).serveEvents,
	"/video/safety/events":                 (*dataset).serveEventIDs,
	"/video/safety/events/triggers":        serveTriggers,
	"/video/safety/events/statuses":        serveStatuses,
	"/video/safety/events/triggersubtypes": serveSubTriggers,
	"/video/safety/events/behaviors":       serveBehaviors,
	"/video/vehicles":                      (*dataset).serveVideoVehicles,
	"/vehicles/all":                        (*dataset).serveVehicles,
}

func (s *simulator) Serve(a *sim.Answer, c sim.Call) {
	operation, ok := operations[c.Path]
	switch {
	case !ok || c.Request.Method != http.MethodGet:
		s.Refuse(a, c, http.StatusNotFound)
	case sim.Refused(c.Request.Header.Get(keyHeader)) || c.Fault == sim.DropSession:
		s.Refuse(a, c, http.StatusUnauthorized)
	default:
		operation(s.data.Get(), a, c)
	}
}

// Refuse answers as the API gateway in front of Lytx does, and for other statuses
// without a body.
func (*simulator) Refuse(a *sim.Answer, _ sim.Call, status int) {
	switch status {
	case http.StatusUnauthorized:
		a.Set(status, `{"message":"Unauthorized"}`)
	case http.StatusNotFound:
		a.Set(status, `{"message":"no Route matched with those values"}`)
	case http.StatusTooManyRequests:
		a.Set(status, `{"message":"API rate limit exceeded"}`)
	default:
		a.Set(status, "")
	}
}

// CredentialFault reads the API key: "fault-<kind>" concerns the events, and
// "fault-catalogs-<kind>" all that is joined to them.
func (*simulator) CredentialFault(c sim.Call) string {
	wish := sim.CredentialFault(c.Request.Header.Get(keyHeader))
	wish, forCatalogs := strings.CutPrefix(wish, "catalogs-")
	ofEvents := c.Path == "/video/safety/eventsWithMetadata" || c.Path == "/video/safety/events"
	if forCatalogs == ofEvents {
		return ""
	}
	return wish
}

// problems collects what is wrong with a query, in the shape of the provider's
// answer: messages by parameter.
type problems struct {
	body sim.JSON
}

func (p *problems) add(field, message string) {
	if len(p.body) == 0 {
		p.body.Open('{')
		p.body.Object("errors")
	}
	p.body.Array(field)
	p.body.TextElement(message)
	p.body.Close(']')
}

// invalid adds a parameter whose value cannot be read. The provider spells the
// parameter with a capital in the message.
func (p *problems) invalid(field string) {
	p.add(field, "The value is not valid for "+strings.ToUpper(field[:1])+field[1:]+".")
}

// refused answers 400 when there was a problem, and reports whether it did. The call
// that lists vehicles with their devices leaves out the members that are null.
func (p *problems) refused(a *sim.Answer, withNulls bool) bool {
	if len(p.body) == 0 {
		return false
	}
	b := &p.body
	b.Close('}')
	if withNulls {
		b.Raw("type", "null")
	}
	b.Text("title", "One or more validation errors occurred.")
	b.Int("status", http.StatusBadRequest)
	if withNulls {
		b.Raw("detail", "null")
		b.Raw("instance", "null")
	}
	b.Object("extensions")
	b.Close('}')
	b.Close('}')
	a.Set(http.StatusBadRequest, string(*b))
	return true
}

// number reads a parameter that must be an integer from 1 to high.
func (p *problems) number(q sim.Query, field string, absent, high int) int {
	text := q.Get(strings.ToLower(field))
	if text == "" {
		return absent
	}
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		p.invalid(field)
	case n < 1 || n > high:
		p.add(field, "The field "+strings.ToUpper(field[:1])+field[1:]+" must be between 1 and "+strconv.Itoa(high)+".")
	default:
		return n
	}
	return absent
}

// boolean reads a parameter that must be true or false.
func (p *problems) boolean(q sim.Query, field string, absent bool) bool {
	switch strings.ToLower(q.Get(strings.ToLower(field))) {
	case "":
		return absent
	case "true":
		return true
	case "false":
		return false
	}
	p.invalid(field)
	return absent
}

// choice reads a parameter that must be one of two words, and reports whether it is
// the other than the default.
func (p *problems) choice(q sim.Query, field, preset, other string) bool {
	switch v := q.Get(strings.ToLower(field)); {
	case v == "" || strings.EqualFold(v, preset):
		return false
	case strings.EqualFold(v, other):
		return true
	}
	p.invalid(field)
	return false
}

// guid reads a parameter that must be one GUID; a list of them is none.
func (p *problems) guid(q sim.Query, field string) string {
	v := strings.ToLower(q.Get(strings.ToLower(field)))
	if v != "" && !guidPattern.MatchString(v) {
		p.invalid(field)
		return ""
	}
	return v
}

// numbers reads a parameter that may be repeated, each time with an integer.
func (p *problems) numbers(q sim.Query, field string) []int {
	var list []int
	for _, v := range q[strings.ToLower(field)] {
		n, err := strconv.Atoi(v)
		if err != nil {
			p.invalid(field)
			return nil
		}
		list = append(list, n)
	}
	return list
}

// Interface guard
var _ sim.Provider = (*simulator)(nil)
