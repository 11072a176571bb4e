package lytx

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

const vehicleCount = 800

// vehicle is one vehicle as the two calls that list vehicles spell it.
type vehicle struct {
	id, group, name, serial string
	video                   []byte // row of /video/vehicles
	details                 []byte // row of /vehicles/all
}

// The vehicles of the fleet are trucks of these kinds; the prefix begins the VIN.
var models = []struct{ prefix, make, model string }{
	{"1FUJGLDR", "FREIGHTLINER", "CASCADIA"},
	{"1XKYD49X", "KENWORTH", "T680"},
	{"1XPBDP9X", "PETERBILT", "579"},
	{"4V4NC9EH", "VOLVO", "VNL 760"},
	{"3HSDZAPR", "INTERNATIONAL", "LT625"},
	{"1M1AN4GY", "MACK", "ANTHEM"},
	{"54DC4W1B", "ISUZU", "NPR-HD"},
	{"1FDUF5HT", "FORD", "F-550"},
}

var commands = []string{
	"checkinv1", "clipdatav1", "datareqv1", "filerequestv1", "locationv1", "moduleupdatev1", "performupdatev1",
	"pingv1", "propertiesv1", "requestversionsv1", "settingsv1", "snapshotv2", "statev1", "timelinev1", "videostatev1",
}

func newVehicles(rand *sim.Rand, groups []string, midnight time.Time) []vehicle {
	list := make([]vehicle, vehicleCount)
	for i := range list {
		v := &list[i]
		v.id = rand.GUID()
		v.group = sim.Pick(rand, groups)
		v.name = "TRK-" + strconv.Itoa(1001+i)
		v.serial = "QM7" + rand.String("0123456789", 7)
		seen := midnight.Add(-rand.Duration(time.Minute, 20*day))
		v.video = v.renderVideo(rand, seen)
		v.details = v.renderDetails(rand, seen)
	}
	return list
}

func (v *vehicle) renderVideo(rand *sim.Rand, seen time.Time) []byte {
	var j sim.JSON
	id := int64(7_000_000_000 + rand.Int(0, 9_999_999))
	status := sim.Pick(rand, []int64{11, 11, 11, 11, 11, 11, 11, 10, 16})
	j.Open('{')
	j.Int("id", id)
	j.Text("groupId", v.group)
	j.Text("name", v.name)
	j.Int("status", status)
	j.Bool("isWaking", false)
	j.Bool("wakeable", status == 11)
	if rand.Chance(12) {
		j.Text("lastWakeAttempt", finest(seen.Add(-rand.Duration(day, 300*day))))
	}
	j.Text("lastCommunication", finest(seen))
	j.Array("devices")
	j.Open('{')
	j.Int("id", id+10_000_000)
	j.Text("serialNumber", v.serial)
	j.Text("lastCommunication", finest(seen))
	j.Int("onlineStatus", status)
	j.Array("views")
	for i, view := range [][2]string{{"FORWARD", "Outside"}, {"REAR", "Inside"}} {
		j.Open('{')
		j.Int("id", id+20_000_000+int64(i))
		j.Text("name", view[0])
		j.Text("label", view[1])
		j.Close('}')
	}
	j.Close(']')
	j.Array("capabilities")
	j.Close(']')
	j.Int("roleId", 1)
	j.Array("supportedCommands")
	for _, c := range commands {
		j.TextElement(c)
	}
	j.Close(']')
	j.Text("hardwarePlatform", sim.Pick(rand, []string{"SF300", "SF400", "SF400", "SF400"}))
	j.Close('}')
	j.Close(']')
	j.Text("dcVehicleId", v.id)
	j.Close('}')
	return j
}

func (v *vehicle) renderDetails(rand *sim.Rand, seen time.Time) []byte {
	model := sim.Pick(rand, models)
	state := sim.Pick(rand, []string{"TX", "OK", "MO", "TN", "OH", "GA", "KS"})
	var j sim.JSON
	j.Open('{')
	j.Text("id", v.id)
	j.Text("name", v.name)
	j.Int("type", 2)
	j.Int("status", 2)
	if rand.Chance(90) {
		j.Text("licensePlateNumber", rand.String("ABCDEFGHJKLMNPRSTVWXYZ", 3)+rand.String("0123456789", 4))
		j.Text("countrySubdivision", "US-"+state)
	} else {
		j.Raw("licensePlateNumber", "null")
		j.Raw("countrySubdivision", "null")
	}
	j.Text("lastConnected", finest(seen))
	j.Text("driverId", noGUID)
	j.Text("groupId", v.group)
	j.Text("vin", rand.VIN(model.prefix))
	j.Int("seatbeltType", 1)
	j.Text("make", model.make)
	j.Text("model", model.model)
	j.Int("year", int64(rand.Int(2014, 2025)))
	j.Text("deviceId", rand.GUID())
	j.Close('}')
	return j
}

// serveVideoVehicles answers the call that lists vehicles with their devices. No
// limit of its page size is known.
func (d *dataset) serveVideoVehicles(a *sim.Answer, c sim.Call) {
	var p problems
	// This call names its parameters in camel case when it complains about them.
	group := p.guid(c.Query, "groupId")
	page := p.positive(c.Query, "pageNumber", 1)
	size := p.positive(c.Query, "pageSize", 50)
	if p.refused(a, false) {
		return
	}
	rows := d.selectVehicles(group, true, c.Query.Get("vehiclename"))
	a.Status = http.StatusOK
	b := (*sim.JSON)(&a.Body)
	b.Open('{')
	b.Int("totalCount", int64(len(rows)))
	b.Array("vehicles")
	for _, v := range pageOf(rows, page, size, c.Fault) {
		b.Element(v.video)
	}
	b.Close(']')
	b.Close('}')
}

// serveVehicles answers the call that lists vehicles with plate, VIN and make.
func (d *dataset) serveVehicles(a *sim.Answer, c sim.Call) {
	var p problems
	group := p.guid(c.Query, "groupId")
	subgroups := p.boolean(c.Query, "includeSubgroups", true)
	limit := p.number(c.Query, "limit", 100, 1000)
	page := p.number(c.Query, "page", 1, math.MaxInt32)
	if p.refused(a, true) {
		return
	}
	rows := d.selectVehicles(group, subgroups, c.Query.Get("name"))
	shown := pageOf(rows, page, limit, c.Fault)
	if len(shown) == 0 {
		a.Status = http.StatusNoContent
		return
	}
	a.Status = http.StatusOK
	b := (*sim.JSON)(&a.Body)
	b.Open('{')
	b.Array("vehicles")
	for _, v := range shown {
		b.Element(v.details)
	}
	b.Close(']')
	b.Int("totalResults", int64(len(rows)))
	b.Close('}')
}

// positive reads a parameter that must be an integer above zero.
func (p *problems) positive(q sim.Query, field string, absent int) int {
	text := q.Get(strings.ToLower(field))
	if text == "" {
		return absent
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		p.invalid(field)
		return absent
	}
	return int(n)
}

// selectVehicles returns the vehicles of a group whose name contains a text, both
// only where they are given.
func (d *dataset) selectVehicles(group string, subgroups bool, name string) []*vehicle {
	var rows []*vehicle
	name = strings.ToUpper(name)
	for i := range d.vehicles {
		v := &d.vehicles[i]
		if d.inGroup(v.group, group, subgroups) && strings.Contains(v.name, name) {
			rows = append(rows, v)
		}
	}
	return rows
}

func pageOf[T any](rows []T, page, size int, f sim.Fault) []T {
	from := min(sim.Offset(page, size, f), len(rows))
	return rows[from : from+min(size, len(rows)-from)]
}
