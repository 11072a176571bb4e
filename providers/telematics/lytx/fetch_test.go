package lytx

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tidwall/gjson"
	"go.uber.org/zap"
	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/providers"
)

// Whatever the server says about the length of its list and of its pages, every
// vehicle arrives once.
func TestAllPages(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count := rapid.IntRange(0, 300).Draw(t, "vehicles")
		var pages [][]int // the vehicles on each page
		for have := 0; have < count; {
			longest := count
			if len(pages) > 0 {
				longest = len(pages[0])
			}
			n := min(rapid.IntRange(1, min(longest, 60)).Draw(t, "page"), count-have)
			var vehicles []int
			if len(pages) > 0 && rapid.Bool().Draw(t, "shifted") {
				vehicles = append(vehicles, have-1) // it moved here from the page before
			}
			for range n {
				vehicles = append(vehicles, have)
				have++
			}
			pages = append(pages, vehicles)
		}
		// The truth, too many, or what cannot be right after the first page.
		total := int64(count)
		switch rapid.IntRange(0, 3).Draw(t, "lie") {
		case 0:
			total += rapid.Int64Range(1, 1<<40).Draw(t, "more")
		case 1:
			total = rapid.Int64Range(-5, 0).Draw(t, "none")
		}

		var mu sync.Mutex
		calls := 0
		got := make(map[string]int)
		err := newPager().allPages(context.Background(), func(_ context.Context, n int) (page, error) {
			mu.Lock()
			calls++
			mu.Unlock()
			pg := page{total: total}
			if n <= len(pages) {
				for _, v := range pages[n-1] {
					pg.items = append(pg.items, gjson.Parse(fmt.Sprintf(`{"id":%d}`, v)))
				}
			}
			return pg, nil
		}, func(item gjson.Result) error {
			got[item.Get("id").Raw]++
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := make(map[string]int)
		for v := range count {
			want[strconv.Itoa(v)] = 1
		}
		if !maps.Equal(got, want) {
			t.Fatalf("got %d vehicles of %d, or some not once: %v", len(got), count, got)
		}
		if limit := len(pages) + pagesAtOnce; calls > limit {
			t.Fatalf("%d calls for %d pages", calls, len(pages))
		}
	})
}

func TestAllPagesCalls(t *testing.T) {
	for _, tc := range []struct {
		name                string
		count, length, want int
	}{
		{"ok/none", 0, 50, 1},
		{"ok/one page", 50, 50, 1},
		{"ok/two pages", 51, 50, 2},
		{"ok/as recorded", 79, 50, 2},
		{"ok/large fleet", 6891, 50, 138},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newService(t)
			s.pageCap, s.vehicles = tc.length, nil
			for i := range tc.count {
				s.vehicles = append(s.vehicles, fakeVehicle{ID: int64(i), GUID: vehicleID(i)})
			}
			b := newBench(t, s, `"page_size":1000`)
			if c := b.catalogs(t); len(c.Vehicles) != tc.count {
				t.Errorf("%d vehicles, want %d", len(c.Vehicles), tc.count)
			}
			if n := s.count(pathVehicles); n != tc.want {
				t.Errorf("%d calls, want %d", n, tc.want)
			}
		})
	}
}

// newPager returns a provider that has what allPages needs.
func newPager() *Provider { return &Provider{logger: zap.NewNop()} }

// Of the pages that are fetched together one may repeat what another one has.
func TestAllPagesRepeated(t *testing.T) {
	for _, tc := range []struct {
		name   string
		pages  []string
		want   int
		number int // of calls
	}{
		{"ok/repeated before a new one", []string{`[1,2]`, `[1,2]`, `[3,4]`, `[5,6]`}, 6, 4},
		{"ok/the last one repeated", []string{`[1,2]`, `[3,4]`, `[1,2]`, `[5,6]`}, 4, 3},
		{"ok/empty before a new one", []string{`[1,2]`, `[]`, `[3,4]`, `[5,6]`}, 4, 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var calls atomic.Int64
			got := 0
			err := newPager().allPages(t.Context(), func(_ context.Context, n int) (page, error) {
				calls.Add(1)
				return page{total: 6, items: gjson.Parse(tc.pages[n-1]).Array()}, nil
			}, func(gjson.Result) error {
				got++
				return nil
			})
			if err != nil || got != tc.want || calls.Load() != int64(tc.number) {
				t.Errorf("%d vehicles in %d calls, %v; want %d in %d", got, calls.Load(), err, tc.want, tc.number)
			}
		})
	}
}

func TestAllPagesPanic(t *testing.T) {
	err := newPager().allPages(t.Context(), func(_ context.Context, n int) (page, error) {
		if n > 1 {
			panic("planted")
		}
		return page{total: 9, items: gjson.Parse(`[1,2]`).Array()}, nil
	}, func(gjson.Result) error { return nil })
	wantError(t, err, providers.KindProvider, "")
}

// A server that ignores the page number must not keep us for ever.
func TestAllPagesSamePage(t *testing.T) {
	calls := 0
	items := gjson.Parse(`[{"id":1},{"id":2},{"name":"without id"},7]`).Array()
	err := newPager().allPages(t.Context(), func(context.Context, int) (page, error) {
		calls++
		return page{items: items}, nil
	}, func(gjson.Result) error { return nil })
	if err != nil || calls != 2 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

func TestAllPagesFail(t *testing.T) {
	one := page{total: 9, items: gjson.Parse(`[{"id":1}]`).Array()}
	boom := &providers.Error{Kind: providers.KindProvider, Message: "boom"}

	for _, failing := range []int{1, 2, 5} {
		err := newPager().allPages(t.Context(), func(ctx context.Context, n int) (page, error) {
			switch {
			case n == failing:
				return page{}, boom
			case n > failing:
				<-ctx.Done() // the failure of one page ends the calls for others
				return page{}, ctx.Err()
			}
			pg := one
			if n > 1 {
				pg.items = gjson.Parse(fmt.Sprintf(`[{"id":%d}]`, n)).Array()
			}
			return pg, nil
		}, func(gjson.Result) error { return nil })
		wantError(t, err, providers.KindProvider, "boom")
	}

	err := newPager().allPages(t.Context(), func(context.Context, int) (page, error) { return one, nil },
		func(gjson.Result) error { return boom })
	wantError(t, err, providers.KindProvider, "boom")

	err = newPager().allPages(t.Context(), func(_ context.Context, n int) (page, error) {
		return page{items: gjson.Parse(fmt.Sprintf(`[{"id":%d}]`, n)).Array()}, nil
	}, func(gjson.Result) error { return nil })
	wantError(t, err, providers.KindProvider, "the list of vehicles does not end")
}

func FuzzParsePage(f *testing.F) {
	f.Add(`{"totalCount":1,"vehicles":[{"id":1,"dcVehicleId":"a","name":"b","vin":"c","year":2016}]}`)
	f.Add(`{"vehicles":[{"id":"a","licensePlateNumber":"\ud83d\ude00"},[],{},null,1]}`)
	f.Add(`{"vehicles":null}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, body string) {
		pg, err := parsePage([]byte(body), "totalCount")
		if err != nil {
			return
		}
		for _, item := range pg.items {
			vehicle := withDetails(appendVehicle(nil, item), appendDetails(nil, item))
			if !gjson.ValidBytes(vehicle) || !strings.HasPrefix(string(vehicle), `{"dcVehicleId":"`) {
				t.Fatalf("the vehicle is %s", vehicle)
			}
			idOf(item.Get("id"))
		}
	})
}
