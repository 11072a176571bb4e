// Package fleetrock simulates the API of Fleetrock: a session from a user name and a
// key, and the list of repair orders.
package fleetrock

import (
	"crypto/rand"
	"net/http"
	"strings"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// New returns a simulated Fleetrock.
func New(o sim.Options) sim.Provider {
	return &simulator{
		now:      o.Now,
		sessions: sim.NewSessions[account](o),
		data: sim.NewDaily(o.Now, func(midnight time.Time) []order {
			return newOrders(o.Seed, midnight)
		}),
	}
}

type simulator struct {
	now      func() time.Time
	sessions *sim.Sessions[account]
	data     *sim.Daily[[]order]
}

// account is what a session was opened with.
type account struct{ username, key string }

// takesRawKey reports whether the user's tenant is one of those that take the key
// itself for a token, and no token from a login.
func takesRawKey(username string) bool { return strings.HasPrefix(username, "rawkey") }

func (s *simulator) Serve(a *sim.Answer, c sim.Call) {
	operation := s.serveOrders
	switch c.Path {
	case "/API/GetToken":
		operation = s.serveToken
	case "/API/GetRO":
	default:
		s.Refuse(a, c, http.StatusNotFound)
		return
	}
	if c.Request.Method != http.MethodGet {
		a.Header.Set("Allow", http.MethodGet)
		s.Refuse(a, c, http.StatusMethodNotAllowed)
		return
	}
	operation(a, c)
}

// Refuse answers with a status of 400 or more in the shape of the provider's errors.
func (*simulator) Refuse(a *sim.Answer, _ sim.Call, status int) {
	a.Set(status, `{"result":"error","message":"`+http.StatusText(status)+`."}`)
}

// fail answers as the provider does to most mistakes, with a status of 200.
func fail(a *sim.Answer, message string) {
	a.Set(http.StatusOK, `{"result":"error","message":"`+message+`"}`)
}

// CredentialFault reads the key that the session of a list was opened with or that
// stands for one, and the user name.
func (s *simulator) CredentialFault(c sim.Call) string {
	if c.Path != "/API/GetRO" {
		return ""
	}
	token, username := c.Query.Get("token"), c.Query.Get("username")
	who, open := s.sessions.Get(token)
	if !open && takesRawKey(username) {
		who.key = token
	}
	return sim.CredentialFault(who.key, username)
}

func (s *simulator) serveToken(a *sim.Answer, c sim.Call) {
	who := account{username: c.Query.Get("username"), key: c.Query.Get("key")}
	if sim.Refused(who.username) || sim.Refused(who.key) {
		fail(a, "Invalid username or key.")
		return
	}
	var random [16]byte
	rand.Read(random[:])
	token := sim.FormatGUID(random)
	s.sessions.Open(token, who)
	a.Set(http.StatusOK, `{"token":"`+token+`"}`)
}

// authorized checks the token of a list against the user name.
func (s *simulator) authorized(c sim.Call) bool {
	token, username := c.Query.Get("token"), c.Query.Get("username")
	if c.Fault == sim.DropSession {
		s.sessions.Drop(token)
		return false
	}
	who, open := s.sessions.Get(token)
	if takesRawKey(username) {
		return !open && !sim.Refused(token)
	}
	return open && who.username == username
}

func (s *simulator) serveOrders(a *sim.Answer, c sim.Call) {
	if !s.authorized(c) {
		fail(a, "Invalid token.")
		return
	}
	f, problem := readFilter(c.Query, s.now())
	if problem != "" {
		fail(a, problem)
		return
	}
	a.Status = http.StatusOK
	b := (*sim.JSON)(&a.Body)
	b.Open('{')
	b.Array("repair_orders")
	orders := s.data.Get()
	for i := range orders {
		if f.passes(&orders[i]) {
			b.Element(orders[i].json)
		}
	}
	b.Close(']')
	b.Close('}')
}

// Interface guard
var _ sim.Provider = (*simulator)(nil)
