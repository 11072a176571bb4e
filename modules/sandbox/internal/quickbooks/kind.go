package quickbooks

import (
	"cmp"
	"strings"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// kind is one kind of entity.
type kind struct {
	name     string // as in answers and statements
	path     string // as in paths
	class    *class
	writable bool
	listed   bool // it has a name, and can be made inactive

	// compare orders the rows of a query that names no order.
	compare func(a, b *record) int

	// readOnlyReads are members that queries leave out while they have these values.
	readOnlyReads values
}

var (
	accounts = &kind{name: "Account", path: "account", class: accountClass, listed: true, compare: byName}

	purchases = &kind{name: "Purchase", path: "purchase", class: purchaseClass, writable: true, compare: latestFirst}

	vendors = &kind{
		name: "Vendor", path: "vendor", class: vendorClass, writable: true, listed: true, compare: byName,
		readOnlyReads: values{"BillRate": "0", "CostRate": "0"},
	}
)

var kinds = []*kind{accounts, purchases, vendors}

func kindByPath(path string) *kind {
	for _, k := range kinds {
		if k.path == path {
			return k
		}
	}
	return nil
}

// kindByName finds a kind by its name in a statement, where case does not count.
func kindByName(name string) *kind {
	for _, k := range kinds {
		if strings.EqualFold(k.name, name) {
			return k
		}
	}
	return nil
}

func byName(a, b *record) int {
	return cmp.Or(strings.Compare(a.name, b.name), cmp.Compare(a.id, b.id))
}

func latestFirst(a, b *record) int {
	return cmp.Or(b.updated.Compare(a.updated), cmp.Compare(b.id, a.id))
}

// record is one entity. It does not change; a write puts another in its place.
type record struct {
	id      int64
	token   int64
	name    string // in lower case
	active  bool
	updated time.Time
	json    []byte // as a query answers it

	doc   string // DocNumber of a purchase
	lines int    // highest Id that a line of a purchase ever had
	taxID string // TaxIdentifier of a vendor as it was sent
}

// metaData spells when an entity was made and last changed.
func metaData(created, updated time.Time) string {
	var j sim.JSON
	j.Open('{')
	j.Text("CreateTime", metaTime(created))
	j.Text("LastUpdatedTime", metaTime(updated))
	j.Close('}')
	return string(j)
}

// deletedSuffix is what the provider appends to the name of what was made inactive.
const deletedSuffix = " (deleted)"

// accountClass is the class of accounts, which the simulator only reads.
var accountClass = &class{"Account", []field{
	{name: "Name", kind: label},
	{name: "SubAccount", kind: boolean},
	{name: "ParentRef", kind: group, class: reference},
	{name: "FullyQualifiedName", kind: plain},
	{name: "Active", kind: boolean},
	{name: "Classification", kind: plain},
	{name: "AccountType", kind: plain},
	{name: "AccountSubType", kind: plain},
	{name: "CurrentBalance", kind: decimal},
	{name: "CurrentBalanceWithSubAccounts", kind: decimal},
	{name: "CurrencyRef", kind: group, class: reference},
	{name: "domain", kind: anything},
	{name: "sparse", kind: anything},
	{name: "Id", kind: plain},
	{name: "SyncToken", kind: anything},
	{name: "MetaData", kind: anything},
}}
