package quickbooks

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/providers/accounting"
)

// purchases returns the pages of a list of 12,000 purchases of usual size, each of which
// begins with the last row of the one before, by position, and their bytes together.
func purchases(size int) (byPosition map[int]string, total int) {
	const count = 12_000
	byPosition = map[int]string{count + 1: pageOf("Purchase", 0, nil)}
	for position := 1; position < count; position += size - 1 {
		var rows []string
		for n := position; n < min(position+size, count+1); n++ {
			rows = append(rows, fmt.Sprintf(`{"AccountRef":{"value":"42","name":"Visa"},"PaymentType":"CreditCard","Credit":false,"TotalAmt":%d.50,`+
				`"PurchaseEx":{"any":[{"name":"{http://schema.intuit.com/finance/v3}NameValue","declaredType":"com.intuit.schema.finance.v3.NameValue",`+
				`"scope":"javax.xml.bind.JAXBElement$GlobalScope","value":{"Name":"TxnType","Value":"54"},"nil":false,"globalScope":true,"typeSubstituted":false}]},`+
				`"domain":"QBO","sparse":false,"Id":"%d","SyncToken":"0","MetaData":{"CreateTime":"2026-07-27T10:37:26-07:00","LastUpdatedTime":"2026-07-27T10:37:26-07:00"},`+
				`"CustomField":[],"TxnDate":"2026-07-27","CurrencyRef":{"value":"USD","name":"United States Dollar"},"Line":[{"Id":"1","Description":"Diesel, 120 gal",`+
				`"Amount":%d.50,"DetailType":"AccountBasedExpenseLineDetail","AccountBasedExpenseLineDetail":{"AccountRef":{"value":"7","name":"Fuel"},`+
				`"BillableStatus":"NotBillable","TaxCodeRef":{"value":"NON"}},"CustomExtensions":[]}]}`, n, n, n))
		}
		byPosition[position] = pageOf("Purchase", position, rows)
		total += len(byPosition[position])
	}
	return byPosition, total
}

// BenchmarkList lists 12,000 purchases from a service that takes no time. Its metrics
// are rows per second and the bytes that are allocated for each byte of the answer, the
// server's among them.
func BenchmarkList(b *testing.B) {
	byPosition, total := purchases(1000)
	s := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		words := strings.Fields(r.URL.Query().Get("query"))
		position, _ := strconv.Atoi(words[len(words)-3])
		body := byPosition[position]
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = io.WriteString(w, body)
	})
	p := open(b, s, nil)
	b.SetBytes(int64(total))
	b.ReportAllocs()
	rows := 0
	start := time.Now()
	for b.Loop() {
		list, err := p.List(b.Context(), good, accounting.KindPurchase, accounting.Query{})
		if err != nil {
			b.Fatal(err)
		}
		rows += list.Count
	}
	b.ReportMetric(float64(rows)/time.Since(start).Seconds(), "rows/s")
}

// BenchmarkRows collects the rows of 12,000 purchases from pages that are there.
func BenchmarkRows(b *testing.B) {
	byPosition, total := purchases(1000)
	var bodies [][]byte
	for position := 1; position < 12_000; position += 999 {
		bodies = append(bodies, []byte(byPosition[position]))
	}
	b.SetBytes(int64(total))
	b.ReportAllocs()
	for b.Loop() {
		set := newRowSet("Purchase")
		for _, body := range bodies {
			pg, err := set.parse(body)
			if err != nil {
				b.Fatal(err)
			}
			set.add(pg)
		}
	}
}
