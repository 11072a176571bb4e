package quickbooks

import (
	"cmp"
	"container/list"
	"crypto/sha256"
	"iter"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

const (
	// maxCompanies bounds the memory of companies that were written to; the one that
	// was not used for longest is forgotten.
	maxCompanies = 1000

	// maxRequests is how many requestids a company remembers.
	maxRequests = 1000

	maxRequestID = 50
)

// companies are the companies that were used, each with its own data.
type companies struct {
	base  func() *dataset
	rate  int
	mu    sync.Mutex
	known map[string]*list.Element // of *company
	used  *list.List               // latest first
}

func newCompanies(o sim.Options, base func() *dataset) *companies {
	return &companies{base: base, rate: o.Throttle, known: make(map[string]*list.Element), used: list.New()}
}

// get returns the company of a realm. Each begins with the same data.
func (cs *companies) get(realm string) *company {
	base := cs.base()
	cs.mu.Lock()
	defer cs.mu.Unlock()
	if e := cs.known[realm]; e != nil {
		cs.used.MoveToFront(e)
		return e.Value.(*company)
	}
	if cs.used.Len() >= maxCompanies {
		oldest := cs.used.Back()
		cs.used.Remove(oldest)
		delete(cs.known, oldest.Value.(*company).realm)
	}
	c := &company{
		realm:     realm,
		limit:     &bucket{rate: cs.rate},
		tables:    make(map[*kind]*table, len(kinds)),
		addresses: base.addresses,
		requests:  make(map[string]request),
	}
	for _, k := range kinds {
		c.tables[k] = newTable(base.records[k])
	}
	cs.known[realm] = cs.used.PushFront(c)
	return c
}

// company is the data of one realm: what all begin with, and its own changes.
type company struct {
	realm string
	limit *bucket

	mu        sync.RWMutex
	tables    map[*kind]*table
	addresses int                // highest Id of an address
	requests  map[string]request // by requestid
	order     []string           // the requestids, oldest first
}

// request is a write that succeeded.
type request struct {
	digest [sha256.Size]byte
	body   []byte
}

// table is the entities of one kind.
type table struct {
	base    []*record // by id, shared by all companies
	changed map[int64]*record
	added   []*record
	next    int64 // id of the next new entity
}

// newTable returns a table without changes. The ids of new entities go on after the
// number of those that are there.
func newTable(base []*record) *table {
	return &table{base: base, changed: make(map[int64]*record), next: int64(len(base)) + 1}
}

func (t *table) find(id int64) *record {
	if r := t.changed[id]; r != nil {
		return r
	}
	if i, ok := slices.BinarySearchFunc(t.base, id, func(r *record, id int64) int {
		return cmp.Compare(r.id, id)
	}); ok {
		return t.base[i]
	}
	return nil
}

// all goes through the entities in no order that callers should rely on.
func (t *table) all() iter.Seq[*record] {
	return func(yield func(*record) bool) {
		for _, r := range t.base {
			if len(t.changed) > 0 {
				if changed := t.changed[r.id]; changed != nil {
					r = changed
				}
			}
			if !yield(r) {
				return
			}
		}
		for _, r := range t.added {
			if !yield(t.changed[r.id]) {
				return
			}
		}
	}
}

// put stores an entity in the place of the one with the same id, or as a new one.
func (t *table) put(r *record, isNew bool) {
	t.changed[r.id] = r
	if isNew {
		t.added = append(t.added, r)
		t.next++
	}
}

// find returns an entity, and nil when there is none with the id.
func (c *company) find(k *kind, id int64) *record {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.tables[k].find(id)
}

// lookUp returns the entity with an id that a caller sent. The caller holds c.mu.
func (c *company) lookUp(k *kind, id string) *record {
	n, f := readID(id)
	if f != nil {
		return nil
	}
	return c.tables[k].find(n)
}

// rows returns all entities of a kind.
func (c *company) rows(k *kind) []*record {
	c.mu.RLock()
	defer c.mu.RUnlock()
	t := c.tables[k]
	return slices.AppendSeq(make([]*record, 0, len(t.base)+len(t.added)), t.all())
}

// write is one create or update.
type write struct {
	kind               *kind
	body               []byte
	sent               values // what the body says
	at                 time.Time
	update             bool // the caller said so; otherwise the body's Id does
	duplicateDocNumber bool // allowed
}

// sparse reports whether members that were not sent stay as they are.
func (w *write) sparse() bool { return w.sent.text("sparse") == "true" }

// once carries out a write, unless one with the same requestid was carried out before:
// then the answer is that of the earlier one. A write that was refused does not count.
func (c *company) once(requestID string, w *write, a *sim.Answer, do func() *fault) *fault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if requestID == "" {
		return do()
	}
	digest := sha256.Sum256(append([]byte(w.kind.path+"\n"), w.body...))
	if earlier, ok := c.requests[requestID]; ok {
		if earlier.digest != digest {
			return duplicateRequest()
		}
		begin(a)
		a.Body, a.Replay = append(a.Body, earlier.body...), true
		return nil
	}
	if f := do(); f != nil {
		return f
	}
	if len(c.order) >= maxRequests {
		delete(c.requests, c.order[0])
		c.order = c.order[1:]
	}
	c.requests[requestID] = request{digest, slices.Clone(a.Body)}
	c.order = append(c.order, requestID)
	return nil
}

// save creates or updates an entity and returns it. The caller holds c.mu.
func (c *company) save(w *write) (*record, *fault) {
	object, f := readObject(w.body)
	if f != nil {
		return nil, f
	}
	if w.sent, f = w.kind.class.read(object); f != nil {
		return nil, f
	}
	old, f := c.updated(w)
	if f != nil {
		return nil, f
	}
	t := c.tables[w.kind]
	next := &record{id: t.next, active: true}
	var had values
	if old != nil {
		*next = *old
		had = parse(string(old.json))
	}
	v := w.kind.class.merge(w.sent, had, w.sparse())
	v["Id"] = quote(strconv.FormatInt(next.id, 10))
	v["domain"], v["sparse"] = `"QBO"`, "false"
	if w.kind == purchases {
		f = c.completePurchase(next, v, w)
	} else {
		f = c.completeVendor(next, v, had, w)
	}
	if f != nil {
		return nil, f
	}
	if old != nil {
		if w.kind.class.render(v) == string(old.json) && next.taxID == old.taxID {
			return old, nil
		}
		next.token++
	}
	next.updated = w.at.Truncate(time.Second)
	created := next.updated
	if old != nil {
		created, _ = time.Parse(time.RFC3339, gjson.GetBytes(old.json, "MetaData.CreateTime").String())
	}
	v["SyncToken"] = quote(strconv.FormatInt(next.token, 10))
	v["MetaData"] = metaData(created, next.updated)
	next.json = []byte(w.kind.class.render(v))
	t.put(next, old == nil)
	return next, nil
}

// updated returns the entity that a write updates, and nil when it creates one.
func (c *company) updated(w *write) (*record, *fault) {
	id := w.sent.text("Id")
	if id == "" {
		if w.update {
			return nil, missing("Id")
		}
		return nil, nil //nolint:nilnil // a write that creates has nothing to update
	}
	n, f := readID(id)
	if f != nil {
		return nil, f
	}
	old := c.tables[w.kind].find(n)
	if old == nil {
		return nil, notFound()
	}
	token := w.sent.text("SyncToken")
	if token == "" {
		return nil, missing("SyncToken")
	}
	if token != strconv.FormatInt(old.token, 10) {
		return nil, stale()
	}
	return old, nil
}

// bucket allows so many calls at once, and as many again in each second.
type bucket struct {
	rate int // negative for any number

	mu   sync.Mutex
	full time.Time // when it will hold all calls again
}

// take reports whether a call may be made now.
func (b *bucket) take(now time.Time) bool {
	if b.rate < 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.full.Before(now) {
		b.full = now
	}
	next := b.full.Add(time.Second / time.Duration(b.rate))
	if next.Sub(now) > time.Second {
		return false
	}
	b.full = next
	return true
}
