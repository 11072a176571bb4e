package lytx

import (
	"sync/atomic"
	"time"

	"github.com/fleetgate/fleetgate/providers"
)

// What a table and each of its entries take in memory besides their bytes, roughly.
const (
	tableWeight = 512
	entryWeight = 96
)

// table is a catalog in memory. It does not change once it is cached.
type table struct {
	entries map[string][]byte
	weight  int

	failed  bool // it could not be had; there are no entries
	fetched time.Time
	fresh   time.Duration // how long it is used without renewing it
	keep    time.Duration // how long it is used at all

	// join is the latest of what joined returned.
	join atomic.Pointer[join]
}

type join struct {
	details *table
	entries map[string][]byte
}

// newTable returns an empty table to be filled.
func (p *Provider) newTable(ttl, stale time.Duration) *table {
	return &table{
		entries: make(map[string][]byte),
		weight:  tableWeight,
		fetched: p.now(),
		fresh:   ttl,
		keep:    ttl + stale,
	}
}

// failedTable returns what stands for a table that could not be had because of err, for
// the pause until the next attempt.
func (p *Provider) failedTable(pause time.Duration, err error) *table {
	t := p.newTable(min(max(pause, providers.As(err).RetryAfter), retryPause), failureMemory)
	t.failed = true
	return t
}

// put adds an entry unless its id is empty or there already.
func (t *table) put(id string, value []byte) {
	if _, ok := t.entries[id]; ok || id == "" {
		return
	}
	t.entries[id] = value
	t.weight += len(id) + len(value) + entryWeight
}

func (t *table) all() map[string][]byte {
	if t == nil {
		return nil
	}
	return t.entries
}

// joined returns the vehicles of t with the details that d has of them. It is computed
// once for each pair of tables.
func (t *table) joined(d *table) map[string][]byte {
	if len(d.all()) == 0 {
		return t.entries
	}
	if j := t.join.Load(); j != nil && j.details == d {
		return j.entries
	}
	entries := make(map[string][]byte, len(t.entries))
	for id, vehicle := range t.entries {
		entries[id] = withDetails(vehicle, d.entries[foldID(id)])
	}
	t.join.Store(&join{details: d, entries: entries})
	return entries
}
