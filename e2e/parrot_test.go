package e2e

import (
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// mark begins each planted secret, so that they are found in one pass over a text.
const mark = "zqx7"

// telling is how much of a secret gives it away, from its beginning on.
const telling = len(mark) + 12

// secrets are what no sink may show.
type secrets struct {
	mu      sync.Mutex
	planted map[string]string // what it is, by its beginning
	other   map[string]string // what it is, by value, without a mark
}

// plant makes a secret and returns it behind a prefix, which is none.
func (s *secrets) plant(what, prefix string) string {
	value := mark + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.planted == nil {
		s.planted = make(map[string]string)
	}
	s.planted[value[:telling]] = what
	return prefix + value
}

// add adds a secret that somebody else made.
func (s *secrets) add(what, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.other == nil {
		s.other = make(map[string]string)
	}
	s.other[value] = what
}

// in returns what of the secrets a text shows.
func (s *secrets) in(text string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []string
	for rest := text; ; {
		at := strings.Index(rest, mark)
		if at < 0 || len(rest) < at+telling {
			break
		}
		if what := s.planted[rest[at:at+telling]]; what != "" {
			found = append(found, what)
		}
		rest = rest[at+1:]
	}
	for value, what := range s.other {
		if strings.Contains(text, value) {
			found = append(found, what)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// parrot is an upstream of all four protocols. What it does is said by the secret of
// the credential, up to the first dash: "good", or one of the moods below, also with
// "login" before for those protocols that log in. Whenever it fails, it repeats
// whatever it was sent, everywhere that it can.
type parrot struct {
	planted   *secrets
	elsewhere string // where it redirects to

	mu       sync.Mutex
	sessions map[string]string // what was sent to open each
}

// moods are the ways in which a parrot fails, by status. One answers 200 with
// something that is not JSON, one leads to another host.
var moods = map[string]int{
	"400":      http.StatusBadRequest,
	"401":      http.StatusUnauthorized,
	"404":      http.StatusNotFound,
	"409":      http.StatusConflict,
	"429":      http.StatusTooManyRequests,
	"500":      http.StatusInternalServerError,
	"503":      http.StatusServiceUnavailable,
	"fail":     http.StatusOK,
	"text":     http.StatusOK,
	"redirect": http.StatusTemporaryRedirect,
}

// parrotCry begins whatever a parrot repeats.
const parrotCry = "no luck with"

func (p *parrot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var login struct{ Password string }
	_ = json.Unmarshal(body, &login) // the password is empty then
	query := r.URL.Query()
	sent := strings.Join([]string{
		r.URL.String(), string(body), r.Header.Get("Authorization"), r.Header.Get("X-Apikey"),
		query.Get("username"), query.Get("key"), query.Get("token"),
	}, " ")

	if strings.HasPrefix(r.URL.Path, "/quickbooks/") {
		mood, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "-")
		if moods[mood] != 0 {
			p.fail(w, mood, sent)
			return
		}
		reply(w, http.StatusOK, map[string]any{"QueryResponse": map[string]any{}, "Vendor": map[string]any{"Id": "1"}})
		return
	}

	session := query.Get("token") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	opened := p.sessions[session]
	p.mu.Unlock()

	secret := r.Header.Get("X-Apikey") + query.Get("key") + login.Password
	isLogin := session == "" && r.Header.Get("X-Apikey") == ""
	mood, _, _ := strings.Cut(secret, "-")
	if session != "" {
		mood, _, _ = strings.Cut(opened, "-")
		sent += " " + opened
	}
	mood, atLogin := strings.CutPrefix(mood, "login")
	switch {
	case moods[mood] != 0 && (isLogin == atLogin || r.Header.Get("X-Apikey") != ""):
		p.fail(w, mood, sent)
	case isLogin:
		token := p.planted.plant("the provider's session", "")
		p.mu.Lock()
		if p.sessions == nil {
			p.sessions = make(map[string]string)
		}
		p.sessions[token] = secret
		p.mu.Unlock()
		reply(w, http.StatusOK, map[string]any{"status": "success", "token": token, "data": map[string]any{"token": token}})
	case strings.HasPrefix(r.URL.Path, "/lytx/"):
		w.WriteHeader(http.StatusNoContent)
	default:
		reply(w, http.StatusOK, map[string]any{
			"status": "success", "data": map[string]any{"transactions": []any{}}, "repair_orders": []any{},
		})
	}
}

func (p *parrot) fail(w http.ResponseWriter, mood, sent string) {
	cry := parrotCry + " " + sent
	header := w.Header()
	header.Set("X-Echo", strings.ReplaceAll(cry, "\n", " "))
	header.Set("Set-Cookie", "echo="+strings.NewReplacer(" ", "", ";", "", `"`, "").Replace(sent))
	header.Set("Retry-After", "7")
	switch mood {
	case "text":
		_, _ = io.WriteString(w, cry)
	case "redirect":
		header.Set("Location", p.elsewhere+"/?sent="+strings.ReplaceAll(sent, " ", "+"))
		fallthrough
	default:
		reply(w, moods[mood], map[string]any{
			"status": "fail", "result": "error", "message": cry, "title": cry, "error": cry,
			"errors": map[string]any{"key": []any{cry}},
			"Fault":  map[string]any{"type": "ValidationFault", "Error": []any{map[string]any{"Message": cry, "Detail": sent, "code": sent}}},
		})
	}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
