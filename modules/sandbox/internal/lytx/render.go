package lytx

import (
	"strconv"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// The zones of the fleet; the provider pads their names to four characters.
var zones = []struct {
	name   string
	offset int64 // minutes
}{
	{"CST ", -360}, {"EST ", -300}, {"MST ", -420},
}

// render spells an event with its 43 members in the provider's order and with the
// decimals that the provider keeps.
func (e *event) render(rand *sim.Rand) []byte {
	zone := sim.Pick(rand, zones)
	coachable := e.status == statusFaceToFace || e.status == statusRemote || e.status == statusSelfCoaching
	reviewed, overdue, revision := "", noDate, 0
	if !e.reviewed.IsZero() {
		reviewed, revision = second(e.reviewed), rand.Int(2, 6)
	}
	if coachable {
		overdue = second(e.reviewed.Add(4 * day))
	}
	var j sim.JSON
	j.Open('{')
	j.Text("id", e.id)
	j.Text("customerEventId", e.code)
	j.Int("eventTriggerId", int64(e.trigger))
	j.Int("eventTriggerSubTypeId", int64(e.what.subTrigger))
	j.Int("eventStatusId", int64(e.status))
	j.Text("recordDateUTC", second(e.recorded))
	j.Text("recordDateTZ", zone.name)
	j.Int("recordDateUTCOffset", zone.offset)
	j.Text("downloadedDate", second(e.created))
	j.Int("score", e.score())
	nullable(&j, "reviewedDate", reviewed)
	j.Text("erSerialNumber", e.serial)
	if rand.Chance(1) {
		j.Raw("overDue", "739161.0")
	} else {
		j.Fixed("overDue", 0, 2)
	}
	nullable(&j, "vehicleId", e.vehicle)
	j.Text("groupId", e.group)
	j.Fixed("forwardMax", int64(rand.Int(0, 30)), 2)
	j.Fixed("lateralMax", int64(rand.Int(0, 40)), 2)
	j.Fixed("forwardThreshold", 0, 2)
	j.Fixed("lateralThreshold", 0, 2)
	j.Fixed("shockThreshold", 0, 2)
	j.Raw("speed", speed(rand.Int(-2000, 27300)))
	j.Fixed("latitude", int64(rand.Int(29_500_000, 44_500_000)), 6)
	j.Fixed("longitude", int64(-rand.Int(80_000_000, 118_000_000)), 6)
	j.Fixed("heading", int64(rand.Int(0, 3599))*10, 2)
	j.Text("driverId", e.driver)
	j.Text("coachId", noGUID)
	j.Text("coachedDate", noDate)
	j.Text("creationDate", finest(e.created))
	note := e.note(rand)
	j.Array("notes")
	if note != nil {
		j.Element(note)
	}
	j.Close(']')
	j.Array("eventNotes")
	j.Close(']')
	j.Array("coachingSessionNotes")
	j.Close(']')
	j.Array("reviewNotes")
	if note != nil {
		j.Element(note)
	}
	j.Close(']')
	j.Array("behaviors")
	for _, b := range behaviors {
		if b.id == e.behavior {
			b.render(&j, e.reviewed, e.reviewed)
		}
	}
	j.Close(']')
	j.Int("objectRevision", int64(revision))
	j.Text("revisionDate", finest(e.revised))
	j.Raw("coachEmployeeNum", "null")
	j.Text("coachFirstName", "")
	j.Text("coachLastName", "")
	nullable(&j, "driverEmployeeNum", e.employee)
	j.Text("driverFirstName", e.firstName)
	j.Text("driverLastName", e.surname)
	j.Text("coachingOverdueDate", overdue)
	j.Bool("isCoachable", coachable)
	j.Close('}')
	return j
}

// score rates an event in which a behavior was observed.
func (e *event) score() int64 {
	if e.behavior == 0 {
		return 0
	}
	return int64(3 + e.behavior%3)
}

// note is what the reviewer wrote, nil before the review.
func (e *event) note(rand *sim.Rand) []byte {
	if e.reviewed.IsZero() {
		return nil
	}
	var j sim.JSON
	j.Open('{')
	j.Text("id", rand.GUID())
	j.Text("body", e.what.finding)
	j.Text("creationDate", finest(e.reviewed.Add(-rand.Duration(0, time.Second))))
	j.Text("authorUserId", rand.GUID())
	j.Text("firstName", sim.Pick(rand, sim.FirstNames))
	j.Text("lastName", sim.Pick(rand, sim.LastNames))
	j.Close('}')
	return j
}

// speed spells thousandths of a metre per second as the provider does: as a binary
// number of single precision that was widened to double. Below zero is standstill.
func speed(thousandths int) string {
	if thousandths <= 0 {
		return "0.0"
	}
	return strconv.FormatFloat(float64(float32(thousandths)/1000), 'f', -1, 64)
}

// nullable writes a string, and null for an empty one.
func nullable(j *sim.JSON, name, value string) {
	if value == "" {
		j.Raw(name, "null")
		return
	}
	j.Text(name, value)
}
