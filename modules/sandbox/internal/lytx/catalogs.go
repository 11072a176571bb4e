package lytx

import (
	"net/http"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// entry is a row of a catalog. Ids and names are those of the provider.
type entry struct {
	id   int
	name string
}

var triggers = []entry{
	{1, "Manual"},
	{2, "Erratic"},
	{3, "Shock"},
	{4, "Remote"},
	{5, "Safety - Open"},
	{6, "Safety - Close"},
	{7, "Fail"},
	{11, "Smart Trigger"},
	{12, "Speed Policy"},
	{15, "Lane Departure"},
	{16, "Critical Distance"},
	{17, "CS Warning"},
	{18, "Following Distance"},
	{19, "In Lane Fitness"},
	{22, "Posted Speed"},
	{24, "Smart Trigger - Soft Deleted"},
	{26, "Rolling Stop"},
	{27, "Roll Stability"},
	{28, "Pedestrian"},
	{30, "FLEX Smart Trigger (auto upload)"},
	{31, "FLEX Smart Trigger (shock)"},
	{32, "FLEX Smart Trigger (Soft Delete)"},
	{2001, "Handheld Device"},
	{2002, "No Seat Belt"},
	{2003, "Food or Drink"},
	{2004, "Driver Smoking"},
	{2005, "Inattentive"},
	{2006, "Lens Obstruction"},
	{2008, "Policy Speed"},
	{2009, "Parked-Highway/Ramp"},
	{2010, "Fatigue"},
}

var statuses = []entry{
	{statusNew, "New"},
	{statusFaceToFace, "Face-To-Face Coaching"},
	{statusResolved, "Resolved"},
	{statusSelfCoaching, "Self Coaching"},
	{statusFYI, "FYI Notify"},
	{statusInternal, "Internal Notify"},
	{statusRemote, "Remote Coaching"},
}

const (
	statusNew          = 1
	statusFaceToFace   = 2
	statusResolved     = 3
	statusSelfCoaching = 6
	statusFYI          = 7
	statusInternal     = 8
	statusRemote       = 9
)

var subTriggers = []entry{
	{1, "Not Specified"},
	{2, "Driver Tagged"},
	{39, "Rough/Uneven Surface"},
	{51, "Cornering"},
	{52, "Braking"},
	{53, "Accelerating"},
	{57, "Other"},
	{123, "Speeding"},
	{1015, "Lane Departure"},
	{1016, "Critical Distance"},
	{1018, "Following Distance"},
	{1019, "In Lane Fitness"},
	{1026, "Rolling Stop"},
	{1027, "Roll Stability"},
	{1028, "Pedestrian"},
	{2001, "Handheld Device"},
	{2002, "No Seat Belt"},
	{2003, "Food or Drink"},
	{2004, "Driver Smoking"},
	{2005, "Inattentive"},
	{2006, "Lens Obstruction"},
	{2009, "Parked-Highway/Ramp"},
	{2010, "Fatigue"},
}

var behaviors = []entry{
	{8, "Food / Drink - Observed"},
	{10, "Other Distraction"},
	{63, "Food / Drink - Distraction"},
	{68, "Following Distance: < 1 second"},
	{69, "Following Distance: ≥ 1 sec to < 2 sec"},
	{85, "Company Premises"},
	{91, "Camera Issue"},
	{119, "Electronic Device - Observed"},
}

var (
	triggerBody    = catalog(triggers)
	statusBody     = catalog(statuses)
	subTriggerBody = catalog(subTriggers)
	behaviorBody   = catalog(behaviors)
)

func serveTriggers(_ *dataset, a *sim.Answer, _ sim.Call)    { a.Set(http.StatusOK, triggerBody) }
func serveStatuses(_ *dataset, a *sim.Answer, _ sim.Call)    { a.Set(http.StatusOK, statusBody) }
func serveSubTriggers(_ *dataset, a *sim.Answer, _ sim.Call) { a.Set(http.StatusOK, subTriggerBody) }
func serveBehaviors(_ *dataset, a *sim.Answer, _ sim.Call)   { a.Set(http.StatusOK, behaviorBody) }

// catalog renders a catalog. Catalogs are years old and do not change with the seed.
func catalog(entries []entry) string {
	rand := sim.NewRand(1, "lytx catalogs")
	founded := time.Date(2014, 3, 1, 8, 0, 0, 0, time.UTC)
	var j sim.JSON
	j.Open('[')
	for _, e := range entries {
		created := founded.Add(rand.Duration(0, 5*365*day))
		e.render(&j, created, created.Add(rand.Duration(0, 365*day)))
	}
	j.Close(']')
	return string(j)
}

func (e entry) render(j *sim.JSON, created, revised time.Time) {
	j.Open('{')
	j.Int("id", int64(e.id))
	j.Text("name", e.name)
	j.Text("creationDate", finest(created))
	j.Text("revisionDate", finest(revised))
	j.Close('}')
}

const day = 24 * time.Hour

// finest spells a time as the provider does where it keeps fractions: up to seven
// digits, without trailing zeros.
func finest(t time.Time) string { return t.Format("2006-01-02T15:04:05.9999999Z") }

// second spells a time as the provider does elsewhere.
func second(t time.Time) string { return t.Format("2006-01-02T15:04:05Z") }
