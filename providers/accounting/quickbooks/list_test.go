package quickbooks

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

// pages is a service that answers queries with rows of its own choosing.
type pages struct {
	// answer returns the body of the page that begins at position.
	answer func(position, size int) string

	mu         sync.Mutex
	positions  []int // that were asked for
	requests   []*http.Request
	statements []string
	open, most int // calls at the same time
}

func (s *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	statement := statementOf(r)
	words := strings.Fields(statement)
	position, _ := strconv.Atoi(words[len(words)-3])
	size, _ := strconv.Atoi(words[len(words)-1])
	s.mu.Lock()
	s.positions = append(s.positions, position)
	s.requests = append(s.requests, r)
	s.statements = append(s.statements, statement)
	s.open++
	s.most = max(s.most, s.open)
	body := s.answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open--
	}()
	answer(w, http.StatusOK, body(position, size))
}

// set gives the service another list.
func (s *pages) set(answer func(position, size int) string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer = answer
}

// asked returns the positions that were asked for, in their order.
func (s *pages) asked() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(slices.Values(s.positions))
}

// rowsFrom returns count rows of a list of total from position on, as a page.
func rowsFrom(position, count, total int) string {
	var rows []string
	for n := position; n < min(position+count, total+1); n++ {
		rows = append(rows, fmt.Sprintf(`{"Id":"%d","TotalAmt":%d.00}`, n, n))
	}
	return pageOf("Purchase", position, rows)
}

// honest answers with the rows that were asked for.
func honest(total int) *pages {
	return &pages{answer: func(position, size int) string { return rowsFrom(position, size, total) }}
}

func listAll(ctx context.Context, p *Provider) (accounting.Rows, error) {
	return p.List(ctx, good, accounting.KindPurchase, accounting.Query{})
}

// checkComplete checks that rows are those of a list of total, in order and once, raw.
func checkComplete(t interface{ Errorf(string, ...any) }, rows accounting.Rows, total int) {
	var want []string
	for n := 1; n <= total; n++ {
		want = append(want, fmt.Sprintf(`{"Id":"%d","TotalAmt":%d.00}`, n, n))
	}
	got := string(bytes.Join(rows.Parts, []byte(",")))
	if rows.Count != total || got != strings.Join(want, ",") {
		t.Errorf("%d rows, want %d: %.200s", rows.Count, total, got)
	}
}

// TestListProperty reads lists of any length from a service whose pages are as long as
// it likes.
func TestListProperty(t *testing.T) {
	s := &pages{}
	p := open(t, s, config{"max_pages": mostPages})
	lies := map[string]func(seed int) func(position, size int) int{
		"honest": func(int) func(int, int) int { return func(_, size int) int { return size } },
		"capped": func(seed int) func(int, int) int { return func(_, size int) int { return min(size, 100+seed%900) } },
		"longer": func(seed int) func(int, int) int { return func(_, size int) int { return size + 1 + seed%3 } },
		"any": func(seed int) func(int, int) int {
			return func(position, _ int) int { return 1 + mix(seed, position)%1500 }
		},
		"seldom": func(seed int) func(int, int) int {
			return func(position, size int) int { return size - mix(seed, position)%8/7 }
		},
		"stutter": func(seed int) func(int, int) int {
			return func(position, size int) int { return size/2 + mix(seed, position)%2*size }
		},
	}
	rapid.Check(t, func(t *rapid.T) {
		total := rapid.IntRange(0, 10_000).Draw(t, "total")
		lie := rapid.SampledFrom(slices.Sorted(maps.Keys(lies))).Draw(t, "lie")
		length := lies[lie](rapid.IntRange(0, 1_000_000).Draw(t, "seed"))
		s.set(func(position, size int) string { return rowsFrom(position, length(position, size), total) })
		rows, err := listAll(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		checkComplete(t, rows, total)
	})
}

// mix returns a number that looks random but is the same each time a page is asked for.
func mix(seed, position int) int {
	x := uint64(seed)*0x9E3779B97F4A7C15 + uint64(position)*0xBF58476D1CE4E5B9
	x ^= x >> 31
	return int(x * 0x94D049BB133111EB >> 33)
}

// TestListCalls checks what lists of honest pages cost.
func TestListCalls(t *testing.T) {
	for _, tc := range []struct {
		total, size int
		want        []int // positions, sorted
		parts       int
	}{
		{0, 10, []int{1}, 0},
		{1, 10, []int{1, 2}, 1},
		{9, 10, []int{1, 10}, 1},
		{10, 10, []int{1, 10, 11}, 1},
		{15, 10, []int{1, 10, 16}, 2},
		{30, 10, []int{1, 10, 19, 28, 31}, 4},
		{0, 1, []int{1}, 0},
		{3, 1, []int{1, 1, 2, 2, 3, 3, 4}, 3},
	} {
		t.Run(fmt.Sprintf("ok/%d by %d", tc.total, tc.size), func(t *testing.T) {
			s := honest(tc.total)
			rows, err := listAll(t.Context(), open(t, s, config{"page_size": tc.size, "parallel": 1}))
			if err != nil {
				t.Fatal(err)
			}
			checkComplete(t, rows, tc.total)
			if len(rows.Parts) != tc.parts {
				t.Errorf("%d parts, want %d", len(rows.Parts), tc.parts)
			}
			if got := s.asked(); !slices.Equal(got, tc.want) {
				t.Errorf("positions are %v, want %v", got, tc.want)
			}
		})
	}
}

// TestListAhead has each page wait until as many are asked for as may be at once.
func TestListAhead(t *testing.T) {
	var arrived sync.WaitGroup
	arrived.Add(3)
	s := &pages{}
	s.answer = func(position, size int) string {
		if 28 <= position && position < 55 { // pages 4 to 6
			arrived.Done()
			arrived.Wait()
		}
		return rowsFrom(position, size, 200)
	}
	rows, err := listAll(t.Context(), open(t, s, config{"page_size": 10, "parallel": 3}))
	if err != nil {
		t.Fatal(err)
	}
	checkComplete(t, rows, 200)
	if s.most > 3 {
		t.Errorf("%d pages at once", s.most)
	}
}

// TestListEndsEarly drops pages that hang behind the end of the list, and does not mind
// their failures.
func TestListEndsEarly(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	s := &pages{}
	s.answer = func(position, size int) string {
		if position > 50 {
			<-release
		}
		return rowsFrom(position, size, 45)
	}
	rows, err := listAll(t.Context(), open(t, s, config{"page_size": 10}))
	if err != nil {
		t.Fatal(err)
	}
	checkComplete(t, rows, 45)
}

// overlapping returns an answer of pages, each of which is said to begin with the last
// row of the one before, and then of that row alone.
func overlapping(entity string, pages []string) func(position, size int) string {
	byPosition := make(map[int]string)
	position := 1
	for _, p := range pages {
		byPosition[position] = p
		set := newRowSet(entity)
		if pg, err := set.parse([]byte(p)); err == nil && len(pg.rows) > 1 {
			position += len(pg.rows) - 1
			byPosition[position] = pageOf(entity, position, []string{string(pg.rows[len(pg.rows)-1].text)})
		}
	}
	return func(position, _ int) string {
		if p, ok := byPosition[position]; ok {
			return p
		}
		return pageOf(entity, position, nil)
	}
}

// TestListRows checks what becomes of single rows.
func TestListRows(t *testing.T) {
	page := func(rows ...string) string { return pageOf("Purchase", 1, rows) }
	for _, tc := range []struct {
		name  string
		pages []string // by number; an empty one follows
		parts []string
		count int
	}{
		{
			name:  "ok/raw",
			pages: []string{`{"QueryResponse":{"startPosition":1,"Purchase":[ {"Id":"9223372036854775809","A":10.0,"B":739.00,"Ü":[1e400]} ,` + "\n" + `{"x":"\u00fc","Id":"2"} ],"maxResults":2},"time":"t"}`},
			parts: []string{`{"Id":"9223372036854775809","A":10.0,"B":739.00,"Ü":[1e400]} ,` + "\n" + `{"x":"\u00fc","Id":"2"}`},
			count: 2,
		},
		{
			name:  "ok/duplicates",
			pages: []string{page(`{"Id":"1"}`, `{"Id":"2"}`), page(`{"Id":"2"}`, `{"Id":"3"}`), page(`{"Id":"1"}`, `{"Id":"4"}`, `{"Id":"3"}`, `{"Id":"5"}`, `{"Id":"6"}`)},
			parts: []string{`{"Id":"1"},{"Id":"2"}`, `{"Id":"3"}`, `{"Id":"4"}`, `{"Id":"5"},{"Id":"6"}`},
			count: 6,
		},
		{
			name:  "ok/the same Id in other members",
			pages: []string{page(`{"Id":"1","Line":[{"Id":"2"}]}`, `{"Line":[{"Id":"1"}],"Id":"2"}`)},
			parts: []string{`{"Id":"1","Line":[{"Id":"2"}]},{"Line":[{"Id":"1"}],"Id":"2"}`},
			count: 2,
		},
		{
			name:  "ok/without an Id",
			pages: []string{page(`{"a":1}`, `{"Id":null,"a":1}`, `{"a":1}`, `{"a":2}`)},
			parts: []string{`{"a":1},{"Id":null,"a":1}`, `{"a":2}`},
			count: 3,
		},
		{
			name:  "ok/two arrays",
			pages: []string{`{"QueryResponse":{"Purchase":[{"Id":"1"}],"Purchase":[{"Id":"2"}]}}`},
			parts: []string{`{"Id":"1"}`, `{"Id":"2"}`},
			count: 2,
		},
		{name: "ok/empty array", pages: []string{`{"QueryResponse":{"Purchase":[]}}`}},
		{name: "ok/fault in a row", pages: []string{page(`{"Id":"1","Fault":{"Error":[]}}`)}, parts: []string{`{"Id":"1","Fault":{"Error":[]}}`}, count: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &pages{answer: overlapping("Purchase", tc.pages)}
			rows, err := listAll(t.Context(), open(t, s, config{"page_size": 2}))
			if err != nil {
				t.Fatal(err)
			}
			var parts []string
			for _, p := range rows.Parts {
				parts = append(parts, string(p))
			}
			if rows.Count != tc.count || !slices.Equal(parts, tc.parts) {
				t.Errorf("%d rows in parts %q, want %d in %q", rows.Count, parts, tc.count, tc.parts)
			}
		})
	}
}

func TestListFailures(t *testing.T) {
	page := func(from, to int) string { return rowsFrom(from, to-from+1, to) }
	for _, tc := range []struct {
		name    string
		options config
		answer  func(position, size int) string
		kind    providers.Kind
		message string
		calls   int // at most
	}{
		{"fail/the first page again", config{}, func(int, int) string { return page(1, 10) }, providers.KindProvider, "a page of the list was repeated", 3},
		{"fail/a later page again", config{}, func(position, _ int) string { return page(min(position, 41), min(position, 41)+9) }, providers.KindProvider, "a page of the list was repeated", 12},
		{"fail/rows that never stay", config{}, func(position, size int) string { return rowsFrom(position*1000, size, 1_000_000) }, providers.KindProvider, "the list changed while it was read", 16},
		{
			"fail/a short page again, after short pages that were not the last",
			config{},
			func(position, _ int) string { return page(min(position, 9), min(position, 9)+3) }, providers.KindProvider, "a page of the list was repeated", 10,
		},
		{"fail/max_rows", config{"max_rows": 25}, func(position, size int) string { return rowsFrom(position, size, 26) }, providers.KindRejected, "list exceeds 25 rows", 6},
		{"fail/max_pages", config{"max_pages": 3}, func(position, size int) string { return rowsFrom(position, size, 29) }, providers.KindRejected, "list exceeds 3 pages", 4},
		{"fail/max_bytes", config{"max_bytes": 1024}, func(position, size int) string { return rowsFrom(position, size, 1000) }, providers.KindRejected, "list exceeds 1.0 KiB", 8},
		{"fail/max_body", config{"max_body": 512}, func(position, size int) string { return rowsFrom(position, 10*size, 1000) }, providers.KindTooLarge, "response too large", 2},
		{"fail/no QueryResponse", config{}, func(int, int) string { return `{"time":"t"}` }, providers.KindInvalidJSON, "", 1},
		{"fail/QueryResponse null", config{}, func(int, int) string { return `{"QueryResponse":null}` }, providers.KindInvalidJSON, "", 1},
		{"fail/no array", config{}, func(int, int) string { return `{"QueryResponse":{"Purchase":{"Id":"1"}}}` }, providers.KindInvalidJSON, "", 1},
		{"fail/rows that are no objects", config{}, func(int, int) string { return `{"QueryResponse":{"Purchase":["1"]}}` }, providers.KindInvalidJSON, "", 1},
		{"fail/cut off", config{}, func(int, int) string { return page(1, 5)[:40] }, providers.KindInvalidJSON, "", 1},
		{
			"fail/fault in a later page", config{}, func(position, size int) string {
				if position > 20 {
					return appFault("4001", "Invalid query", "QueryValidationError: Property X not found")
				}
				return rowsFrom(position, size, 100)
			}, providers.KindRejected, "Invalid query: QueryValidationError: Property X not found", 8,
		},
		{
			"fail/fault beside rows", config{}, func(int, int) string {
				return strings.TrimSuffix(page(1, 3), "}") + "," + strings.TrimPrefix(appFault("5020", "Permission Error", "No right"), "{")
			}, providers.KindRejected, "Permission Error: No right", 1,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := &pages{answer: tc.answer}
			options := config{"page_size": 10}
			maps.Copy(options, tc.options)
			rows, err := listAll(t.Context(), open(t, s, options))
			wantError(t, err, tc.kind, tc.message)
			if rows.Count != 0 || rows.Parts != nil {
				t.Errorf("%d rows beside the error", rows.Count)
			}
			if got := s.asked(); len(got) > tc.calls {
				t.Errorf("%d calls, want %d at most: %v", len(got), tc.calls, got)
			}
		})
	}
}

// TestListBounds has lists that are just as long as they may be.
func TestListBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		options config
		total   int
	}{
		"ok/max_rows":  {config{"page_size": 10, "max_rows": 30}, 30},
		"ok/max_pages": {config{"page_size": 10, "max_pages": 3}, 28},
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := listAll(t.Context(), open(t, honest(tc.total), tc.options))
			if err != nil {
				t.Fatal(err)
			}
			checkComplete(t, rows, tc.total)
		})
	}
	// Pages by any position of the same few rows: a service that knows no positions.
	t.Run("ok/the only page again", func(t *testing.T) {
		s := &pages{answer: func(int, int) string { return rowsFrom(1, 5, 5) }}
		rows, err := listAll(t.Context(), open(t, s, config{"page_size": 10}))
		if err != nil {
			t.Fatal(err)
		}
		checkComplete(t, rows, 5)
	})
}
