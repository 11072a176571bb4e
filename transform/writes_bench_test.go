package transform_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fleetgate/fleetgate/transform"
)

// BenchmarkWrite checks and maps purchases: the time per line stays the same.
func BenchmarkWrite(b *testing.B) {
	for _, lines := range []int{1, 1_000, 10_000} {
		body := bigPurchase(b, lines)
		dst := make([]byte, 0, 2*len(body))
		for _, bm := range []struct {
			name string
			call func() error
		}{
			{"check", func() error {
				problems, err := transform.CheckInput(body, purchaseFields, modify)
				if len(problems) > 0 {
					b.Fatal(problems)
				}
				return err
			}},
			{"map", func() error {
				_, err := transform.AppendMapped(dst, body, purchaseTargets)
				return err
			}},
		} {
			b.Run(fmt.Sprintf("%d-lines/%s", lines, bm.name), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					if err := bm.call(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(lines), "ns/line")
			})
		}
	}
}

// BenchmarkEachElement reads a page of 1,000 rows.
func BenchmarkEachElement(b *testing.B) {
	const rows = 1_000
	line := `{"Id":"1234","SyncToken":"0","TotalAmt":739.00,"Line":[{"Id":"1","Amount":739.00,"AccountBasedExpenseLineDetail":{"AccountRef":{"value":"13","name":"Meals"}}}]},`
	body := []byte(`{"QueryResponse":{"Vendor":[` + strings.TrimSuffix(strings.Repeat(line, rows), ",") + `]}}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if _, err := transform.EachElement(body, vendorPath, "Id", func(_, _ []byte) { n++ }); err != nil || n != rows {
			b.Fatal(n, err)
		}
	}
}
