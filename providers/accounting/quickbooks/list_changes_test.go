package quickbooks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/fleetgate/fleetgate/providers"
)

// changing is a list whose rows come and go.
type changing struct {
	mu   sync.Mutex
	ids  []int // in their order
	next int   // Id of the next new row
	stay map[int]bool
}

func newChanging(total int) *changing {
	c := &changing{next: total + 1, stay: make(map[int]bool, total)}
	for id := 1; id <= total; id++ {
		c.ids = append(c.ids, id)
		c.stay[id] = true
	}
	return c
}

// remove deletes count rows from the index on.
func (c *changing) remove(index, count int) {
	index = min(index, len(c.ids))
	end := min(index+count, len(c.ids))
	for _, id := range c.ids[index:end] {
		delete(c.stay, id)
	}
	c.ids = slices.Delete(c.ids, index, end)
}

// insert adds count rows at the end.
func (c *changing) insert(count int) {
	for range count {
		c.ids = append(c.ids, c.next)
		c.next++
	}
}

// move moves a row to the end, as an edit does where rows are ordered by their last one.
// Such a row may come wherever it was seen.
func (c *changing) move(index int) {
	id := c.ids[index]
	delete(c.stay, id)
	c.ids = append(slices.Delete(c.ids, index, index+1), id)
}

// page returns a page and calls change behind it.
func (c *changing) page(position, size int, change func()) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var rows []string
	from := min(position-1, len(c.ids))
	for _, id := range c.ids[from:min(from+size, len(c.ids))] {
		rows = append(rows, fmt.Sprintf(`{"Id":"%d"}`, id))
	}
	change()
	return pageOf("Purchase", position, rows)
}

// check reports rows that stayed and are not in the list or out of order, and any that
// are there twice. A row that was deleted may be in a page that was fetched ahead.
func (c *changing) check(t interface{ Errorf(string, ...any) }, parts [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	missing := make(map[int]bool, len(c.stay))
	for id := range c.stay {
		missing[id] = true
	}
	before, seen := 0, make(map[int]bool)
	for _, r := range parsed([]byte("[" + string(bytes.Join(parts, []byte(","))) + "]")).Array() {
		id := int(r.Get("Id").Int())
		if seen[id] {
			t.Errorf("row %d is there twice", id)
		}
		seen[id] = true
		if c.stay[id] {
			if id < before {
				t.Errorf("row %d is behind row %d", id, before)
			}
			before = id
			delete(missing, id)
		}
	}
	if len(missing) > 0 {
		t.Errorf("%d of %d rows are missing: %v", len(missing), len(c.stay), missing)
	}
}

// TestListChanges changes a list behind one of its pages.
func TestListChanges(t *testing.T) {
	for _, tc := range []struct {
		name   string
		total  int
		behind int // position of the page
		change func(c *changing)
	}{
		{"ok/a row of the first page", 25, 1, func(c *changing) { c.remove(2, 1) }},
		{"ok/the last row of the first page", 25, 1, func(c *changing) { c.remove(9, 1) }},
		{"ok/the whole first page", 25, 1, func(c *changing) { c.remove(0, 10) }},
		{"ok/all but the last row", 25, 1, func(c *changing) { c.remove(0, 24) }},
		{"ok/all rows", 25, 1, func(c *changing) { c.remove(0, 25) }},
		{"ok/rows behind the page", 25, 1, func(c *changing) { c.remove(10, 15) }},
		{"ok/one deleted and one new", 25, 1, func(c *changing) { c.remove(0, 1); c.insert(1) }},
		{"ok/half a page much later", 200, 100, func(c *changing) { c.remove(90, 5) }},
		{"ok/many pages much later", 200, 100, func(c *changing) { c.remove(20, 60) }},
		{"ok/the last row of the page and another moved to the end", 15, 1, func(c *changing) { c.move(9); c.move(2) }},
		{"ok/new behind the end", 5, 1, func(c *changing) { c.insert(30) }},
		{"ok/deleted and new behind the end", 5, 1, func(c *changing) { c.remove(1, 2); c.insert(30) }},
	} {
		for _, parallel := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/%d", tc.name, parallel), func(t *testing.T) {
				c := newChanging(tc.total)
				var once sync.Once
				s := &pages{answer: func(position, size int) string {
					return c.page(position, size, func() {
						if position == tc.behind {
							once.Do(func() { tc.change(c) })
						}
					})
				}}
				rows, err := listAll(t.Context(), open(t, s, config{"page_size": 10, "parallel": parallel}))
				if err != nil {
					t.Fatal(err)
				}
				c.check(t, rows.Parts)
				if calls := len(s.asked()); calls > c.next/9+15 {
					t.Errorf("%d calls: %v", calls, s.asked())
				}
			})
		}
	}
}

// TestListChangesProperty deletes rows anywhere and adds rows at the end behind any page.
func TestListChangesProperty(t *testing.T) {
	s := &pages{}
	byParallel := map[int]*Provider{}
	for _, parallel := range []int{1, 4} {
		byParallel[parallel] = open(t, s, config{"page_size": 10, "parallel": parallel})
	}
	complete := 0
	rapid.Check(t, func(t *rapid.T) {
		c := newChanging(rapid.IntRange(0, 300).Draw(t, "total"))
		seed := rapid.IntRange(0, 1_000_000).Draw(t, "seed")
		rate := rapid.IntRange(1, 20).Draw(t, "rate")
		deletes, inserts := rapid.IntRange(0, 12).Draw(t, "deletes"), rapid.IntRange(0, 12).Draw(t, "inserts")
		calls := 0
		s.set(func(position, size int) string {
			return c.page(position, size, func() {
				if calls++; mix(seed, calls)%rate > 0 {
					return
				}
				c.remove(mix(seed+1, calls)%(len(c.ids)+1), mix(seed+2, calls)%(deletes+1))
				c.insert(mix(seed+3, calls) % (inserts + 1))
			})
		})
		rows, err := listAll(context.Background(), byParallel[rapid.SampledFrom([]int{1, 4}).Draw(t, "parallel")])
		if err == nil {
			complete++
			c.check(t, rows.Parts)
			return
		}
		// A list that grows without end may be too large or run into a bound.
		if !errors.Is(err, providers.ErrProvider) && !errors.Is(err, providers.ErrRejected) {
			t.Errorf("the error is %v", err)
		}
	})
	if complete == 0 {
		t.Error("no list came back")
	}
}
