package quickbooks

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/accounting"
)

// request is what a script was asked.
type request struct {
	method, path, contentType, body string
	query                           url.Values
}

// script answers calls by its functions, one after the other, the last one for good.
type script struct {
	answers []http.HandlerFunc

	mu       sync.Mutex
	requests []request
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.requests = append(s.requests, request{r.Method, r.URL.Path, r.Header.Get("Content-Type"), string(body), r.URL.Query()})
	next := s.answers[min(len(s.requests), len(s.answers))-1]
	s.mu.Unlock()
	next(w, r)
}

// asked returns what the script was asked so far.
func (s *script) asked() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func with(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { answer(w, status, body) }
}

func lost(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

func TestRead(t *testing.T) {
	const raw = `{"Id":"9223372036854775809","Balance":10.0,"B":739.00,"any":[1e400,"\u00fc"],"Fault":"none" }`
	for kind, entity := range entities {
		t.Run("ok/"+string(kind), func(t *testing.T) {
			s := &script{answers: []http.HandlerFunc{with(200, `{"time":"t", "`+entity+`" : `+raw+` }`)}}
			got, err := open(t, s, nil).Read(t.Context(), good, kind, "9223372036854775809", accounting.Query{MinorVersion: "99"})
			if err != nil || string(got) != raw {
				t.Errorf("got %s, %v", got, err)
			}
			r := s.asked()[0]
			if r.method != "GET" || r.path != "/v3/company/"+realm+"/"+string(kind)+"/9223372036854775809" || r.query.Encode() != "minorversion=99" {
				t.Errorf("request is %+v", r)
			}
		})
	}
	t.Run("fail/unknown kind", func(t *testing.T) {
		s := &script{}
		_, err := open(t, s, nil).Read(t.Context(), good, "invoice", "1", accounting.Query{})
		wantError(t, err, providers.KindInvalid, "kind is invalid")
	})
	for name, body := range map[string]string{
		"fail/another entity": `{"Vendor":{"Id":"1"}}`,
		"fail/null":           `{"Account":null}`,
		"fail/array":          `{"Account":[{"Id":"1"}]}`,
		"fail/text behind":    `{"Account":{"Id":"1"}} x`,
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{answers: []http.HandlerFunc{with(200, body)}}
			_, err := open(t, s, nil).Read(t.Context(), good, accounting.KindAccount, "1", accounting.Query{})
			wantError(t, err, providers.KindInvalidJSON, "")
		})
	}
}
