package quickbooks

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

var vendorClass = &class{"Vendor", []field{
	{name: "BillAddr", kind: group, class: address},
	{name: "TermRef", kind: group, class: reference},
	{name: "TaxIdentifier", max: 20},
	{name: "Balance", kind: decimal, readOnly: true},
	{name: "BillRate", kind: decimal},
	{name: "AcctNum", max: 100},
	{name: "Vendor1099", kind: boolean},
	{name: "CurrencyRef", kind: group, class: reference},
	{name: "CostRate", kind: decimal},
	{name: "domain", kind: anything, readOnly: true},
	{name: "sparse", kind: anything, readOnly: true},
	{name: "Id", readOnly: true},
	{name: "SyncToken", kind: anything, readOnly: true},
	{name: "MetaData", kind: anything, readOnly: true},
	{name: "Title", kind: label, max: 16},
	{name: "GivenName", kind: label, max: 100},
	{name: "MiddleName", kind: label, max: 100},
	{name: "FamilyName", kind: label, max: 100},
	{name: "Suffix", kind: label, max: 16},
	{name: "CompanyName", kind: label, max: 100},
	{name: "DisplayName", kind: label, max: 500},
	{name: "PrintOnCheckName", kind: label, max: 100},
	{name: "Active", kind: boolean},
	{name: "V4IDPseudonym", kind: anything, readOnly: true},
	{name: "PrimaryPhone", kind: group, class: phone},
	{name: "AlternatePhone", kind: group, class: phone},
	{name: "Mobile", kind: group, class: phone},
	{name: "Fax", kind: group, class: phone},
	{name: "PrimaryEmailAddr", kind: group, class: emailAddress},
	{name: "WebAddr", kind: group, class: website},
}}

var address = &class{"PhysicalAddress", []field{
	{name: "Id", readOnly: true},
	{name: "Line1", max: 500},
	{name: "Line2", max: 500},
	{name: "Line3", max: 500},
	{name: "Line4", max: 500},
	{name: "Line5", max: 500},
	{name: "City", max: 255},
	{name: "Country", max: 255},
	{name: "CountrySubDivisionCode", max: 255},
	{name: "PostalCode", max: 30},
	{name: "Lat", readOnly: true},
	{name: "Long", readOnly: true},
}}

var phone = &class{"TelephoneNumber", []field{{name: "FreeFormNumber", max: 30}}}

var emailAddress = &class{"EmailAddress", []field{{name: "Address", kind: email, max: 100}}}

var website = &class{"WebSiteAddress", []field{{name: "URI", max: 1000}}}

// nameParts are the members that a DisplayName is made of when none is sent.
var nameParts = []string{"Title", "GivenName", "MiddleName", "FamilyName", "Suffix"}

// completeVendor checks a vendor as a whole and fills in what the provider does. The
// caller holds c.mu.
func (c *company) completeVendor(r *record, v, had values, w *write) *fault {
	if w.sparse() {
		for _, name := range []string{"DisplayName", "PrintOnCheckName"} {
			setDefault(v, name, had[name]) // a sparse update cannot remove them
		}
	}
	if f := c.completeName(r, v); f != nil {
		return f
	}
	var f *fault
	if v["CurrencyRef"], f = currency(v["CurrencyRef"]); f != nil {
		return f
	}
	setDefault(v, "Vendor1099", "false")
	setDefault(v, "Balance", "0")
	setDefault(v, "BillRate", "0")
	setDefault(v, "CostRate", "0")
	for name, value := range vendors.readOnlyReads {
		if v[name] == value {
			v[name] = ""
		}
	}
	c.completeAddress(v, had)
	// Whether the identifier has changed cannot be seen from its mask.
	if id := w.sent["TaxIdentifier"]; id != "" {
		r.taxID = w.sent.text("TaxIdentifier")
		v["TaxIdentifier"] = quote(mask(r.taxID))
	} else if v["TaxIdentifier"] == "" {
		r.taxID = ""
	}
	setDefault(v, "V4IDPseudonym", quote(pseudonym(c.realm, r.id)))
	return nil
}

// completeName fills in the names of a vendor, and checks that no other active one has
// the same. What is made inactive gets a mark in its name, and loses it when it
// becomes active again.
func (c *company) completeName(r *record, v values) *fault {
	display := strings.TrimSpace(v.text("DisplayName"))
	if display == "" {
		var parts []string
		for _, part := range nameParts {
			if p := v.text(part); p != "" {
				parts = append(parts, p)
			}
		}
		if display = strings.Join(parts, " "); display == "" {
			return invalid("", "6080", "No Name Provided",
				"At least one of Title, GivenName, MiddleName, FamilyName, DisplayName, Suffix must be given.")
		}
	}
	setDefault(v, "Active", "true")
	r.active = v["Active"] == "true"
	display = strings.TrimSuffix(display, deletedSuffix)
	setDefault(v, "PrintOnCheckName", v["CompanyName"])
	setDefault(v, "PrintOnCheckName", quote(display))
	if r.active {
		if c.hasVendor(strings.ToLower(display), r.id) {
			f := refusal("6240", "Duplicate Name Exists Error", "The name supplied already exists. : null")
			f.timed = true
			return f
		}
	} else {
		display += deletedSuffix
	}
	v["DisplayName"] = quote(display)
	r.name = strings.ToLower(display)
	return nil
}

// hasVendor reports whether an active vendor other than the one with the id has a name.
func (c *company) hasVendor(name string, id int64) bool {
	for r := range c.tables[vendors].all() {
		if r.active && r.id != id && r.name == name {
			return true
		}
	}
	return false
}

// completeAddress gives an address its Id. An address that stays what it was keeps its
// coordinates, which callers cannot set.
func (c *company) completeAddress(v, had values) {
	if v["BillAddr"] == "" {
		return
	}
	given, old := parse(v["BillAddr"]), parse(had["BillAddr"])
	same := had["BillAddr"] != ""
	for i := range address.fields {
		fd := &address.fields[i]
		if fd.readOnly {
			given[fd.name] = ""
		} else if given[fd.name] != old[fd.name] {
			same = false
		}
	}
	switch {
	case same:
		v["BillAddr"] = had["BillAddr"]
		return
	case address.render(given) == "":
		v["BillAddr"] = ""
		return
	}
	if given["Id"] = old["Id"]; given["Id"] == "" {
		c.addresses++
		given["Id"] = quote(strconv.Itoa(c.addresses))
	}
	v["BillAddr"] = address.render(given)
}

func setDefault(v values, name, value string) {
	if v[name] == "" {
		v[name] = value
	}
}

// mask hides a tax identifier but for its last characters, at most four, and none of
// the first four.
func mask(id string) string {
	const visible = 4
	r := []rune(id)
	return "XXXXXX" + string(r[max(len(r)-visible, min(len(r), visible)):])
}

// pseudonym is an identifier that is the same for the same vendor each time.
func pseudonym(realm string, id int64) string {
	digest := sha256.Sum256([]byte(realm + "/" + strconv.FormatInt(id, 10)))
	return "002098" + hex.EncodeToString(digest[:16])
}
