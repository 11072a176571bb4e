package fleetrock

import (
	"strconv"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// sheet is the paper of one order. Money is in cents.
type sheet struct {
	rand                    *sim.Rand
	order                   *order
	vendor                  vendor
	numeric, unequal, empty bool // see the constants in orders.go

	vin, unit, kind, author string
	miles, hours, charges   int64
	tasks                   []task
	note                    string
}

type task struct {
	kind, complaint   string
	rate, labourHours int64 // labourHours in tenths of an hour
	parts             []part
}

type part struct {
	number, description, kind, tire string
	price, quantity                 int64
}

var jobs = []struct {
	kind, complaint string
	part            part
}{
	{"Repair", "Air leak at the trailer hose", part{"AH-4410", "Air hose 3/8 in", "Part", "", 2750, 2}},
	{"Maintenance", "Oil and filter change", part{"OF-1102", "Oil filter", "Part", "", 3899, 1}},
	{"Repair", "Front brakes worn", part{"BP-7731", "Brake pad set", "Part", "", 18_450, 2}},
	{"Tire", "Tread below 4/32 in", part{"TR-2255", "Drive tire", "Tire", "295/75R22.5", 41_200, 4}},
	{"Inspection", "Yearly inspection", part{"", "Inspection form", "Part", "", 0, 1}},
	{"Repair", "Left head lamp dark", part{"HL-0090", "Head lamp assembly", "Part", "", 27_995, 1}},
	{"Repair", "Coolant smell in the cab", part{"HC-5150", "Heater core", "Part", "", 22_310, 1}},
}

func (s *sheet) invent() {
	s.vin = s.rand.VIN("1FUJGLDR")
	s.unit = strconv.Itoa(s.rand.Int(1001, 1180))
	s.kind = sim.Pick(s.rand, []string{"Truck", "Truck", "Trailer"})
	s.author = sim.Pick(s.rand, sim.FirstNames) + " " + sim.Pick(s.rand, sim.LastNames)
	s.miles, s.hours = int64(s.rand.Int(90_000, 890_000)), int64(s.rand.Int(2000, 18_000))
	for range s.rand.Int(1, 3) {
		job := sim.Pick(s.rand, jobs)
		t := task{kind: job.kind, complaint: job.complaint, rate: int64(s.rand.Int(95, 165)) * 100, labourHours: int64(s.rand.Int(5, 60))}
		t.parts = append(t.parts, job.part)
		if s.rand.Chance(35) {
			t.parts = append(t.parts, part{"SH-0001", "Shop supplies", "Part", "", int64(s.rand.Int(199, 2499)), 1})
		}
		s.tasks = append(s.tasks, t)
	}
	if s.rand.Chance(30) {
		s.charges = int64(s.rand.Int(500, 9500))
	}
	if s.rand.Chance(35) {
		s.note = sim.Pick(s.rand, []string{"Driver waits at the shop.", "Parts ordered,\nback on Monday.", "Called dispatch; approved."})
	}
}

func (t task) labour() int64 { return (t.rate*t.labourHours + 5) / 10 }

func (p part) subtotal() int64 { return p.price * p.quantity }

// render spells the order with its header members in the provider's order, as the
// account of one group sees it.
func (s *sheet) render(group, hierarchy string) []byte {
	o := s.order
	var labour, parts int64
	for _, t := range s.tasks {
		labour += t.labour()
		for _, p := range t.parts {
			parts += p.subtotal()
		}
	}
	total := labour + parts + s.charges
	if s.unequal {
		total += 1234
	}
	settled := int64(0)
	if o.status == "Paid" {
		settled = total
	}

	var j sim.JSON
	j.Open('{')
	j.Text("id", o.id)
	j.Text("group", group)
	j.Text("ro_group_hierarchy", hierarchy)
	j.Text("vin", s.vin)
	j.Text("unit_number", s.unit)
	j.Text("unit_type", s.kind)
	j.Text("custom_asset_id", "")
	j.Text("vendor_name", s.vendor.name)
	j.Text("vendor_company_id", s.vendor.company)
	j.Text("vendor_city", s.vendor.city)
	j.Text("vendor_state", s.vendor.state)
	j.Text("vendor_province", "")
	j.Text("vendor_zip_code", s.vendor.zip)
	j.Text("vendor_timezone", s.vendor.zone)
	j.Text("customer_name", "Sandbox Freight")
	j.Text("customer_company_id", "SBF01")
	j.Text("odometer_miles", strconv.FormatInt(s.miles, 10))
	j.Text("engine_hours", strconv.FormatInt(s.hours, 10))
	j.Text("priority_code", "")
	j.Text("cost_center", "")
	j.Text("tag", "")
	j.Text("status", o.status)
	j.Text("created_by", s.author)
	j.Text("date_created", date(o.dates[created]))
	j.Text("date_started", date(o.dates[started]))
	j.Text("date_expected_finish", "")
	j.Text("date_finished", date(o.dates[finished]))
	j.Text("date_invoiced", date(o.dates[invoiced]))
	j.Text("date_invoice_paid", date(o.dates[paid]))
	j.Text("po_number", "")
	s.amount(&j, "labor_total", labour)
	s.amount(&j, "part_total", parts)
	s.amount(&j, "additional_charges", s.charges)
	j.Text("additional_charges_tax_rate", "0")
	s.amount(&j, "tax_total", 0)
	s.amount(&j, "credit_amount", 0)
	j.Text("estimate", "")
	j.Text("estimate_accept_amount", "")
	s.amount(&j, "grand_total", total)
	s.amount(&j, "paid_amount", settled)
	j.Text("remit_to", "")
	j.Text("remit_to_company_id", "")
	s.renderNotes(&j)
	j.Array("tasks")
	for i, t := range s.tasks {
		s.renderTask(&j, i+1, t)
	}
	j.Close(']')
	j.Close('}')
	return j
}

func (s *sheet) renderNotes(j *sim.JSON) {
	j.Array("notes")
	if s.note != "" {
		j.Open('{')
		j.Text("note_id", "1")
		j.Text("note", s.note)
		j.Text("added_by", s.author)
		j.Text("date_added", date(s.order.dates[received]))
		j.Close('}')
	}
	j.Close(']')
}

func (s *sheet) renderTask(j *sim.JSON, id int, t task) {
	added := date(s.order.dates[created])
	j.Open('{')
	j.Text("task_id", strconv.Itoa(id))
	j.Text("labor_type", t.kind)
	s.amount(j, "labor_hourly_rate", t.rate)
	j.Text("labor_hours", sim.Decimal(t.labourHours, 1))
	s.amount(j, "labor_subtotal", t.labour())
	j.Text("labor_tax_rate", "0")
	j.Text("labor_warranty_savings", "")
	j.Text("labor_complaint", t.complaint)
	j.Text("labor_cause_code", "")
	j.Text("labor_correction_code", "")
	j.Text("labor_system_code", "")
	j.Text("labor_system_component_code", "")
	j.Text("scheduled_maintenance_id", "")
	j.Text("issue_id", "")
	j.Text("assigned_to", "")
	j.Text("date_added", added)
	j.Array("parts")
	for i, p := range t.parts {
		j.Open('{')
		j.Text("task_part_id", strconv.Itoa(i+1))
		j.Text("part_id", "")
		j.Text("part_number", p.number)
		j.Text("part_description", p.description)
		j.Text("part_system_code", "")
		j.Text("part_type", p.kind)
		s.amount(j, "part_price", p.price)
		j.Text("part_quantity", strconv.FormatInt(p.quantity, 10))
		s.amount(j, "part_subtotal", p.subtotal())
		j.Text("part_tax_rate", "0")
		j.Text("part_warranty_savings", "")
		j.Text("part_location", "")
		j.Text("tire_brand", "")
		j.Text("tire_product_line", "")
		j.Text("tire_size", p.tire)
		j.Text("tire_type", "")
		j.Text("date_added", added)
		j.Close('}')
	}
	j.Close(']')
	j.Close('}')
}

// amount writes money the way that this order has it: as a string, as a number, or
// not at all.
func (s *sheet) amount(j *sim.JSON, name string, cents int64) {
	switch {
	case s.empty:
		j.Text(name, "")
	case s.numeric:
		j.Fixed(name, cents, 2)
	default:
		j.Text(name, sim.Decimal(cents, 2))
	}
}

// date spells a time as the provider does, and the zero time as an empty text.
func date(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("1/2/2006 3:04:05 PM")
}
