package sim

import (
	"sync"
	"sync/atomic"
	"time"
)

// Daily keeps a value that is made once for each day of UTC, so that invented dates
// stay a fixed number of days old.
type Daily[T any] struct {
	now   func() time.Time
	build func(midnight time.Time) T

	current atomic.Pointer[dated[T]]
	mu      sync.Mutex // held while a value is made
}

type dated[T any] struct {
	midnight time.Time
	value    T
}

// NewDaily returns a Daily that is empty until it is first used. The function is
// given the midnight that the day began with.
func NewDaily[T any](now func() time.Time, build func(midnight time.Time) T) *Daily[T] {
	return &Daily[T]{now: now, build: build}
}

// Get returns the value of the current day.
func (d *Daily[T]) Get() T {
	midnight := d.now().UTC().Truncate(24 * time.Hour)
	if c := d.current.Load(); c != nil && c.midnight.Equal(midnight) {
		return c.value
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if c := d.current.Load(); c != nil && c.midnight.Equal(midnight) {
		return c.value
	}
	c := &dated[T]{midnight, d.build(midnight)}
	d.current.Store(c)
	return c.value
}
