package accounting

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/transform"
)

// The operations that a field of an input table is known to or required by.
const (
	create = transform.OpCreate
	update = transform.OpUpdate
	always = create | update
)

// input is the body of one of the four writes (contract 2.1).
type input struct {
	kind   accounting.Kind
	op     transform.Op
	fields []transform.Field
}

var (
	purchaseCreate = input{accounting.KindPurchase, create, purchaseFields} // 4.1 #5
	purchaseUpdate = input{accounting.KindPurchase, update, purchaseFields} // 4.1 #6
	vendorCreate   = input{accounting.KindVendor, create, vendorFields}     // 4.1 #9
	vendorUpdate   = input{accounting.KindVendor, update, vendorFields}     // 4.1 #10
)

// check notes all that is wrong with a body.
func (i *input) check(in *area.Inputs, body []byte) {
	if in.Body(body, i.fields, i.op) && i.kind == accounting.KindPurchase {
		checkCurrency(in, body)
	}
}

// fieldCurrency is the path of the one member with a rule that tables cannot state.
const fieldCurrency = "currency.value"

// checkCurrency notes a currency that is not spelled like a code of ISO 4217, in three
// capital letters. The table of fields has found one that is missing or no text.
func checkCurrency(in *area.Inputs, body []byte) {
	code := gjson.GetBytes(body, fieldCurrency)
	if code.Type == gjson.String && code.Str != "" && !isCurrency(code.Str) {
		in.Reject(fieldCurrency)
	}
}

func isCurrency(code string) bool {
	return len(code) == 3 && !strings.ContainsFunc(code, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// texts are the rows of members that are text and never required.
func texts(names ...string) []transform.Field {
	fields := make([]transform.Field, len(names))
	for i, name := range names {
		fields[i].Name = name
	}
	return fields
}
