package quickbooks

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

// List returns all entities that match the filter (contract 4.1 #1, #3, #7), in the
// filter's order or else by Id. Without a condition on Active, QuickBooks leaves out
// inactive accounts and vendors.
//
// By QuickBooks' documentation a page that is shorter than asked for is the last one,
// but pages have been seen that were longer, so lengths are not taken on trust: the next
// page begins behind the rows that really came, and behind a short page one more call
// makes sure that nothing is left. Once a short page turns out not to have been the
// last, only an empty page ends the list.
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
		rows:         rowSet{entity: entity, seen: make(map[string]struct{})},
	}
	defer l.end()
	if err := l.readAll(ctx); err != nil {
		return accounting.Rows{}, err
	}
	return l.rows.Rows, nil
}

// lister reads one list.
type lister struct {
	*Provider
	cred                          accounting.Credential
	name, statement, minorVersion string

	rows  rowSet
	pages int   // that had rows
	bytes int64 // of these pages

	ahead   []*page // being fetched, in the order of their rows
	running sync.WaitGroup
}

// readAll fetches pages until the list is complete.
func (l *lister) readAll(ctx context.Context) error {
	position := 1  // of the next row
	last := false  // whether the page before was the last one by its length
	liars := false // whether a page was that, and was not the last
	l.fetchAhead(ctx, position, 0, 1)
	for {
		body, err := l.take()
		if err != nil {
			return err
		}
		received, added, err := l.rows.add(body)
		switch {
		case err != nil:
			return invalidJSON(err)
		case received == 0, added == 0 && last && !liars:
			return nil
		case added == 0:
			return &providers.Error{Kind: providers.KindProvider, Message: "a page of the list was repeated"}
		}
		if err := l.count(body); err != nil {
			return err
		}
		liars = liars || last
		last = received < l.PageSize
		position += received

		pages := min(2*l.pages, l.Parallel, l.MaxPages+1-l.pages)
		if last && !liars {
			pages = 1
		}
		l.fetchAhead(ctx, position, received, pages)
	}
}

// count counts a page that has rows, all of which are in l.rows already.
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
	return &providers.Error{Kind: providers.KindTooLarge, Message: "list exceeds " + most}
}

// page is a page that is being fetched.
type page struct {
	position int // of its first row
	cancel   context.CancelFunc
	done     chan struct{} // closed when body and err are set
	body     []byte
	err      error
}

// fetchAhead begins to fetch pages from position on, one for each length rows, until
// there are as many as given. Pages that were begun on another guess are dropped.
func (l *lister) fetchAhead(ctx context.Context, position, length, pages int) {
	if len(l.ahead) > 0 && l.ahead[0].position != position {
		l.drop()
	}
	for len(l.ahead) < pages {
		ctx, cancel := context.WithCancel(ctx)
		pg := &page{position: position + len(l.ahead)*length, cancel: cancel, done: make(chan struct{})}
		l.ahead = append(l.ahead, pg)
		l.running.Go(func() {
			defer close(pg.done)
			pg.body, pg.err = l.fetch(ctx, pg.position)
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
	c.patient = true
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
