// Package quikq simulates the API of QuikQ: a login and the report of fuel
// transactions.
package quikq

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

const (
	loginPath  = "/v1/auth"
	reportPath = "/v1/reports/transactions/"

	// maxLogin bounds the body of a login.
	maxLogin = 64 << 10
)

// New returns a simulated QuikQ.
func New(o sim.Options) sim.Provider {
	return &simulator{
		sessions: sim.NewSessions[login](o),
		data: sim.NewDaily(o.Now, func(midnight time.Time) *dataset {
			return newDataset(o.Seed, midnight)
		}),
	}
}

type simulator struct {
	sessions *sim.Sessions[login]
	data     *sim.Daily[*dataset]
}

// login is what a caller sends to log in.
type login struct {
	StartCode string `json:"startCode"`
	UserID    string `json:"userId"`
	Password  string `json:"password"`
}

func (s *simulator) Serve(a *sim.Answer, c sim.Call) {
	startCode, isReport := strings.CutPrefix(c.Path, reportPath)
	switch {
	case c.Path == loginPath && c.Request.Method != http.MethodPost:
		a.Header.Set("Allow", http.MethodPost)
		s.Refuse(a, c, http.StatusMethodNotAllowed)
	case c.Path == loginPath:
		s.serveLogin(a, c.Request)
	case !isReport || startCode == "" || strings.Contains(startCode, "/"):
		s.Refuse(a, c, http.StatusNotFound)
	case c.Request.Method != http.MethodGet:
		a.Header.Set("Allow", http.MethodGet)
		s.Refuse(a, c, http.StatusMethodNotAllowed)
	default:
		s.serveReport(a, c, startCode)
	}
}

// Refuse answers with a status of 400 or more in the provider's envelope.
func (*simulator) Refuse(a *sim.Answer, _ sim.Call, status int) {
	word := "fail"
	if status >= http.StatusInternalServerError {
		word = "error"
	}
	refuse(a, status, word, http.StatusText(status))
}

func refuse(a *sim.Answer, status int, word, message string) {
	a.Status, a.Body = status, a.Body[:0]
	b := (*sim.JSON)(&a.Body)
	b.Open('{')
	b.Text("status", word)
	b.Text("message", message)
	b.Close('}')
}

// CredentialFault reads the password and the user that the session of a report was
// opened with.
func (s *simulator) CredentialFault(c sim.Call) string {
	if !strings.HasPrefix(c.Path, reportPath) {
		return ""
	}
	who, _ := s.sessions.Get(token(c.Request))
	return sim.CredentialFault(who.Password, who.UserID)
}

func token(r *http.Request) string {
	t, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return t
}

func (s *simulator) serveLogin(a *sim.Answer, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxLogin+1))
	var who login
	if err != nil || len(body) > maxLogin || json.Unmarshal(body, &who) != nil {
		refuse(a, http.StatusBadRequest, "fail", "The body is not a valid login")
		return
	}
	if who.StartCode == "" || who.UserID == "" || who.Password == "" {
		refuse(a, http.StatusBadRequest, "fail", "startCode, userId and password are required")
		return
	}
	if sim.Refused(who.StartCode) || sim.Refused(who.UserID) || sim.Refused(who.Password) {
		refuse(a, http.StatusUnauthorized, "fail", "Invalid credentials")
		return
	}
	t := rand.Text() + "." + rand.Text() + "." + rand.Text()
	s.sessions.Open(t, who)
	a.Set(http.StatusOK, `{"status":"success","data":{"token":"`+t+`"}}`)
}

func (s *simulator) serveReport(a *sim.Answer, c sim.Call, startCode string) {
	t := token(c.Request)
	if c.Fault == sim.DropSession {
		s.sessions.Drop(t)
	}
	who, ok := s.sessions.Get(t)
	if !ok {
		refuse(a, http.StatusUnauthorized, "fail", "Token expired or invalid")
		return
	}
	if startCode != who.StartCode || c.Query.Get("startcode") != startCode {
		refuse(a, http.StatusForbidden, "fail", "No access to this start code")
		return
	}
	var window [2]time.Time
	for i, name := range []string{"startDt", "endDt"} {
		window[i], ok = instant(c.Query.Get(strings.ToLower(name)))
		if !ok {
			refuse(a, http.StatusBadRequest, "fail", name+" must be given as YYYY-MM-DDTHH:MM:SS-00:00")
			return
		}
	}
	a.Status = http.StatusOK
	s.data.Get().report((*sim.JSON)(&a.Body), startCode, window[0], window[1])
}

// instant reads a date-time in the one format that the provider takes.
func instant(text string) (time.Time, bool) {
	local, ok := strings.CutSuffix(text, "-00:00")
	if !ok || len(local) != len("2006-01-02T15:04:05") {
		return time.Time{}, false
	}
	t, err := time.Parse("2006-01-02T15:04:05", local)
	return t, err == nil
}

// Interface guard
var _ sim.Provider = (*simulator)(nil)
