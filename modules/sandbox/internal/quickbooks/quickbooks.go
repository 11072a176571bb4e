// Package quickbooks simulates the accounting API of QuickBooks Online: queries, reads
// by id, creates and updates, for any number of companies.
package quickbooks

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

const (
	root = "/v3/company/"

	// tidHeader is intuit_tid on the wire.
	tidHeader = "Intuit_tid"

	// maxBody bounds a statement and an entity.
	maxBody = 4 << 20

	// writePrefix begins the rest of a token whose fault concerns writes alone.
	writePrefix = "write-"
)

// pacific is the time zone of every company.
var pacific = time.FixedZone("", -7*60*60)

// New returns a simulated QuickBooks Online.
func New(o sim.Options) sim.Provider {
	return &simulator{
		now: o.Now,
		companies: newCompanies(o, sync.OnceValue(func() *dataset {
			return newDataset(o.Seed, o.Now().UTC().Truncate(24*time.Hour))
		})),
	}
}

type simulator struct {
	now       func() time.Time
	companies *companies
}

// target is what the path of a call names.
type target struct {
	realm string
	query bool
	kind  *kind  // nil for a query
	id    string // "" for none
}

// isWrite reports whether a call creates or updates an entity.
func isWrite(c sim.Call, t target) bool {
	return c.Request.Method == http.MethodPost && !t.query
}

// readPath returns what a path names, and false when it names nothing. Paths are case
// sensitive.
func readPath(path string) (target, bool) {
	rest, ok := strings.CutPrefix(path, root)
	if !ok {
		return target{}, false
	}
	parts := strings.Split(rest, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return target{}, false
	}
	t := target{realm: parts[0]}
	if parts[1] == "query" {
		t.query = true
		return t, len(parts) == 2
	}
	if t.kind = kindByPath(parts[1]); t.kind == nil {
		return t, false
	}
	if len(parts) == 3 {
		t.id = parts[2]
		return t, t.id != ""
	}
	return t, true
}

func (s *simulator) Serve(a *sim.Answer, c sim.Call) {
	a.Header.Set(tidHeader, newTID())
	if f := s.serve(a, c); f != nil {
		f.answer(a, c, s.now())
	}
}

func (s *simulator) serve(a *sim.Answer, c sim.Call) *fault {
	t, known := readPath(c.Path)
	if f := authenticate(c, t.realm); f != nil {
		return f
	}
	if !known {
		return unsupported(c.Request.Method + " " + c.Path)
	}
	if !isDigits(t.realm) {
		return authorizationFailed()
	}
	company := s.companies.get(t.realm)
	if !company.limit.take(s.now()) {
		return throttled()
	}
	method := c.Request.Method
	switch {
	case t.query && (method == http.MethodGet || method == http.MethodPost):
		return s.serveQuery(a, c, company)
	case t.id != "" && method == http.MethodGet:
		return s.serveRead(a, company, t)
	case t.kind != nil && t.kind.writable && t.id == "" && method == http.MethodPost:
		return s.serveWrite(a, c, company, t.kind)
	}
	return unsupported(method + " " + c.Path)
}

// Refuse answers with a status of 400 or more in the provider's shape for it.
func (s *simulator) Refuse(a *sim.Answer, c sim.Call, status int) {
	a.Header.Set(tidHeader, newTID())
	if status == http.StatusServiceUnavailable {
		a.Header.Set("Content-Type", "text/html; charset=us-ascii")
		a.Set(status, "<!DOCTYPE HTML>\n<HTML><HEAD><TITLE>Service Unavailable</TITLE></HEAD>\n"+
			"<BODY><H2>Service Unavailable</H2><P>HTTP Error 503.</P></BODY></HTML>\n")
		return
	}
	f := systemFailure()
	switch status {
	case http.StatusForbidden:
		f = authorizationFailed()
	case http.StatusTooManyRequests:
		f = throttled()
	}
	f.answer(a, c, s.now())
}

// CredentialFault reads the access token. Behind "write-" stands a fault that concerns
// only calls that create or update.
func (*simulator) CredentialFault(c sim.Call) string {
	wish := sim.CredentialFault(token(c.Request))
	if rest, ok := strings.CutPrefix(wish, writePrefix); ok {
		if t, known := readPath(c.Path); !known || !isWrite(c, t) {
			return ""
		}
		return rest
	}
	return wish
}

func token(r *http.Request) string {
	t, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return t
}

// authenticate checks the access token.
func authenticate(c sim.Call, realm string) *fault {
	t := token(c.Request)
	switch {
	case sim.Refused(t) || strings.HasPrefix(t, "expired") || c.Fault == sim.DropSession:
		return authenticationFailed(t)
	case realm != "" && strings.HasPrefix(t, "forbidden"):
		return authorizationFailed()
	}
	return nil
}

// serveQuery answers a statement, which a POST may carry in its body.
func (s *simulator) serveQuery(a *sim.Answer, c sim.Call, company *company) *fault {
	text := c.Query.Get("query")
	if text == "" && c.Request.Method == http.MethodPost {
		body, f := readBody(c.Request)
		if f != nil {
			return f
		}
		text = string(body)
	}
	st, f := parseStatement(text)
	if f != nil {
		return f
	}
	rows := st.filter(company.rows(st.kind))
	begin(a)
	b := (*sim.JSON)(&a.Body)
	b.Open('{')
	b.Object("QueryResponse")
	if st.count {
		b.Int("totalCount", int64(len(rows)))
	} else {
		st.sort(rows)
		st.writePage(b, rows, c.Fault)
	}
	b.Close('}')
	b.Text("time", timestamp(s.now()))
	b.Close('}')
	return nil
}

func (s *simulator) serveRead(a *sim.Answer, c *company, t target) *fault {
	id, f := readID(t.id)
	if f != nil {
		return f
	}
	r := c.find(t.kind, id)
	if r == nil {
		return notFound()
	}
	s.entity(a, t.kind, r)
	return nil
}

func (s *simulator) serveWrite(a *sim.Answer, c sim.Call, company *company, k *kind) *fault {
	body, f := readBody(c.Request)
	if f != nil {
		return f
	}
	if op := c.Query.Get("operation"); op != "" && op != "update" {
		return unsupported("Operation " + op)
	}
	requestID := c.Query.Get("requestid")
	if len(requestID) > maxRequestID {
		return invalidRequestID(requestID)
	}
	w := write{
		kind:               k,
		body:               body,
		at:                 s.now(),
		update:             c.Query.Get("operation") == "update",
		duplicateDocNumber: strings.Contains(c.Query.Get("include"), "allowduplicatedocnum"),
	}
	return company.once(requestID, &w, a, func() *fault {
		r, f := company.save(&w)
		if f != nil {
			return f
		}
		s.entity(a, k, r)
		return nil
	})
}

// entity answers with one entity, with the members that queries leave out.
func (s *simulator) entity(a *sim.Answer, k *kind, r *record) {
	v := parse(string(r.json))
	for name, value := range k.readOnlyReads {
		if v[name] == "" {
			v[name] = value
		}
	}
	begin(a)
	b := (*sim.JSON)(&a.Body)
	b.Open('{')
	b.Raw(k.name, k.class.render(v))
	b.Text("time", timestamp(s.now()))
	b.Close('}')
}

// begin prepares an answer of success.
func begin(a *sim.Answer) {
	a.Status, a.Body = http.StatusOK, a.Body[:0]
	a.Header.Set("Content-Type", "application/json;charset=UTF-8")
}

// readBody returns the body of a POST.
func readBody(r *http.Request) ([]byte, *fault) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return nil, unsupported("the body could not be read")
	}
	if len(body) > maxBody {
		return nil, tooBig()
	}
	return body, nil
}

// readID reads the id of an entity.
func readID(text string) (int64, *fault) {
	if !isDigits(text) {
		return 0, invalidID(text)
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, notFound() // no entity has so long an id
	}
	return id, nil
}

func isDigits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// newTID returns an identifier of a call, by which the provider's support finds it.
func newTID() string {
	var b [16]byte
	rand.Read(b[:])
	text := hex.EncodeToString(b[:])
	return "1-" + text[:8] + "-" + text[8:]
}

// timestamp spells the time of an answer.
func timestamp(t time.Time) string { return t.In(pacific).Format("2006-01-02T15:04:05.000-07:00") }

// metaTime spells the times in an entity's MetaData.
func metaTime(t time.Time) string { return t.In(pacific).Format(time.RFC3339) }

// Interface guard
var _ sim.Provider = (*simulator)(nil)
