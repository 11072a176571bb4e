package quickbooks

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
	"github.com/fleetgate/fleetgate/providers/outbound"
)

// List returns all entities that match the filter (contract 4.1 #1, #3, #7), in the
// filter's order or else by Id. Without a condition on Active, QuickBooks leaves out
// inactive accounts and vendors.
//
// QuickBooks knows pages by position alone, and rows that go away while a list is read
// move all later ones. So each page begins with the last row of the one before. Where
// it does not, the list is read again from further back; a list that changes too much
// for that is an error. Each row that was there all the time is returned once.
//
// By QuickBooks' documentation a page that is shorter than asked for is the last one,
// but pages have been seen that were longer, so lengths are not taken on trust: the next
// page is sought where the rows that really came end, and behind a short page one more
// call makes sure that nothing is left.
func (p *Provider) List(ctx context.Context, cred accounting.Credential, kind accounting.Kind, q accounting.Query) (accounting.Rows, error) {
	entity, ok := entities[kind]
	if !ok {
		return accounting.Rows{}, invalid("kind", nil)
	}
	clause, err := clauseOf(q.Filter)
	if err != nil {
		return accounting.Rows{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.Timeout))
	defer cancel()
	l := &lister{
		Provider:     p,
		cred:         cred,
		name:         string(kind) + " list",
		statement:    "SELECT * FROM " + entity + clause,
		minorVersion: q.MinorVersion,
		rows:         newRowSet(entity),
	}
	defer l.end()
	if err := l.readAll(ctx); err != nil {
		return accounting.Rows{}, err
	}
	return l.rows.Rows, nil
}

// maxBacks is how often in a row a list is read again from further back.
const maxBacks = 4

// lister reads one list.
type lister struct {
	*Provider
	cred                          accounting.Credential
	name, statement, minorVersion string

	rows  rowSet
	pages int   // that had new rows
	bytes int64 // of these pages

	last     int    // position of the last row of the page before; 0 before the first one
	lastKey  []byte // of that row
	received int    // rows of the page before
	furthest int    // the highest that last has been
	backs    int    // since there were new rows
	liars    bool   // whether a short page was not the last one

	ahead   []*page // being fetched, in the order of their rows
	running sync.WaitGroup
}

// readAll fetches pages until the list is complete.
func (l *lister) readAll(ctx context.Context) error {
	var behind *rowPage // what came when a short page should have been the last
	position := 1
	for {
		pg, err := l.read(ctx, position)
		if err != nil {
			return err
		}
		switch {
		case position > l.last && l.last > 0:
			if !l.liars && l.last >= l.furthest && !l.rows.hasNew(pg) {
				return nil
			}
			// Rows may have moved since the page before. Whether they have is seen where
			// that one ended.
			l.liars, behind, position = true, pg, l.last
			continue
		case !l.connects(pg, position):
			behind = nil
			if position, err = l.back(); err != nil {
				return err
			}
			continue
		case len(pg.rows) == 0:
			return nil
		case behind != nil && bytes.Equal(pg.rows[len(pg.rows)-1].key, l.lastKey):
			// The page has one row only, or is one of those that repeat rows, but
			// confirms that the rows behind it have not moved.
			if len(behind.rows) == 0 {
				return nil
			}
			pg, position = behind, l.last+1
		}
		behind = nil
		if err := l.accept(pg, position); err != nil {
			return err
		}
		position = l.last
		if l.received < 2 || l.received < l.PageSize && !l.liars {
			position++
		}
	}
}

// read returns the page at position, and fetches those ahead that are likely to follow.
func (l *lister) read(ctx context.Context, position int) (*rowPage, error) {
	pages := 1
	if position == l.last && l.received > 1 {
		pages = max(1, min(2*l.pages, l.Parallel, l.MaxPages+1-l.pages))
	}
	l.fetchAhead(ctx, position, l.received-1, pages)
	body, err := l.take()
	if err != nil {
		return nil, err
	}
	pg, err := l.rows.parse(body)
	if err != nil {
		return nil, invalidJSON(err)
	}
	return pg, nil
}

// connects reports whether no row is missing between the rows so far and those of a
// page. None is if the page begins with a known row and has the last one, which may have
// moved within it; further back, where the last row itself may be gone, a known first
// row will do.
func (l *lister) connects(pg *rowPage, position int) bool {
	if position == 1 {
		return true
	}
	if len(pg.rows) == 0 || !l.rows.has(pg.rows[0]) {
		return false
	}
	return position < l.last || slices.ContainsFunc(pg.rows, func(r row) bool { return bytes.Equal(r.key, l.lastKey) })
}

// back returns where to read again after rows have moved: half a page further back,
// then four times as far each time.
func (l *lister) back() (position int, err error) {
	if l.backs == maxBacks {
		return 0, &providers.Error{Kind: providers.KindProvider, Message: "the list changed while it was read"}
	}
	step := max(1, l.PageSize/2) << (2 * l.backs)
	l.backs++
	return max(1, l.last-step), nil
}

// accept adds a page to the rows.
func (l *lister) accept(pg *rowPage, position int) error {
	l.received = len(pg.rows)
	l.last = position + l.received - 1
	l.lastKey = pg.rows[l.received-1].key
	if l.rows.add(pg) > 0 {
		l.backs = 0
		l.furthest = max(l.furthest, l.last)
		return l.count(pg.body)
	}
	// Only after going back, and where the list ends, is there nothing new.
	if l.last > l.furthest && (l.liars || l.received >= l.PageSize) {
		return &providers.Error{Kind: providers.KindProvider, Message: "a page of the list was repeated"}
	}
	return nil
}

// count counts a page that had new rows, which are in l.rows already.
func (l *lister) count(body []byte) error {
	l.pages++
	l.bytes += int64(len(body))
	var most string
	switch {
	case l.rows.Count > l.MaxRows:
		most = fmt.Sprintf("%d rows", l.MaxRows)
	case l.pages > l.MaxPages:
		most = fmt.Sprintf("%d pages", l.MaxPages)
	case l.bytes > l.MaxBytes:
		most = humanize.IBytes(uint64(l.MaxBytes)) //nolint:gosec // not negative, see Validate
	default:
		return nil
	}
	// A refusal, as the caller can mend it by a narrower filter.
	return &providers.Error{Kind: providers.KindRejected, Message: "list exceeds " + most}
}

// page is a page that is being fetched.
type page struct {
	position int // of its first row
	cancel   context.CancelFunc
	done     chan struct{} // closed when body and err are set
	body     []byte
	err      error
}

// fetchAhead begins to fetch pages from position on, one for each step rows, until there
// are as many as given. Pages that were begun on another guess are dropped.
func (l *lister) fetchAhead(ctx context.Context, position, step, pages int) {
	if len(l.ahead) > 0 && l.ahead[0].position != position {
		l.drop()
	}
	for len(l.ahead) < pages {
		ctx, cancel := context.WithCancel(ctx)
		pg := &page{position: position + len(l.ahead)*step, cancel: cancel, done: make(chan struct{})}
		l.ahead = append(l.ahead, pg)
		l.running.Go(func() {
			defer close(pg.done)
			pg.err = outbound.Guard(l.logger, l.name, func() (err error) {
				pg.body, err = l.fetch(ctx, pg.position)
				return err
			})
		})
	}
}

// take waits for the first of the pages that are being fetched.
func (l *lister) take() ([]byte, error) {
	pg := l.ahead[0]
	l.ahead = l.ahead[1:]
	<-pg.done
	pg.cancel()
	return pg.body, pg.err
}

// drop cancels the pages that are being fetched.
func (l *lister) drop() {
	for _, pg := range l.ahead {
		pg.cancel()
	}
	l.ahead = nil
}

// end drops all that is being fetched and waits until nothing is.
func (l *lister) end() {
	l.drop()
	l.running.Wait()
}

// maxGet is the length of the longest query of a GET, in bytes. QuickBooks takes longer
// statements in the body of a POST.
const maxGet = 2 << 10

// fetch returns the page that begins with the row at position.
func (l *lister) fetch(ctx context.Context, position int) ([]byte, error) {
	statement := l.statement + " STARTPOSITION " + strconv.Itoa(position) + " MAXRESULTS " + strconv.Itoa(l.PageSize)
	c := newCall(l.cred, l.name, "/query", l.minorVersion)
	if query := (url.Values{"query": {statement}}); len(query.Encode())+1+len(c.Query.Encode()) <= maxGet {
		c.Query["query"] = query["query"]
	} else {
		c.post("application/text", []byte(statement))
	}
	body, err := l.do(ctx, c)
	if err != nil {
		return nil, err
	}
	// The buffer that a body of unknown length was read into may be twice as large, and
	// would be held until the list is answered.
	if cap(body)-len(body) > len(body)/8 {
		body = bytes.Clone(body)
	}
	return body, nil
}
