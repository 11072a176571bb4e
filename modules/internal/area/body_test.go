package area

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/transform"
)

// posting returns a call with a body of unknown length.
func posting(contentType string, body io.Reader) *Call {
	r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(body))
	r.Header.Set("Content-Type", contentType)
	return newCall(httptest.NewRecorder(), r)
}

func TestBody(t *testing.T) {
	const mediaType = "application/json; charset=utf-8"
	for _, tc := range []struct {
		name        string
		contentType string
		body        io.Reader
		want        string // the body or the failure
		status      int
	}{
		{"ok/empty", mediaType, strings.NewReader(""), "", 0},
		{"ok/largest", mediaType, strings.NewReader("12345678"), "12345678", 0},
		{"ok/byte by byte", mediaType, iotest.OneByteReader(strings.NewReader("{ } ")), "{ } ", 0},
		{"ok/end with the last byte", mediaType, iotest.DataErrReader(strings.NewReader("12345678")), "12345678", 0},
		{"fail/one byte more", mediaType, strings.NewReader("123456789"), "body is larger than 8 bytes", 413},
		{"fail/much more", mediaType, strings.NewReader(strings.Repeat("x", 1<<20)), "body is larger than 8 bytes", 413},
		{"fail/lower limit of Caddy's", mediaType, http.MaxBytesReader(nil, io.NopCloser(strings.NewReader("123456")), 5), "body is larger than 5 bytes", 413},
		{
			"fail/lower limit of Caddy's, as it tells of it", mediaType,
			iotest.ErrReader(caddyhttp.Error(http.StatusRequestEntityTooLarge, &http.MaxBytesError{Limit: 5})), "body is larger than 5 bytes", 413,
		},
		{"fail/other type", "text/plain", strings.NewReader("{}"), "Content-Type must be application/json", 415},
		{"fail/other type and too large", "text/plain", strings.NewReader("123456789"), "Content-Type must be application/json", 415},
		{"fail/no type", "", strings.NewReader("{}"), "Content-Type must be application/json", 415},
		{"fail/ends early", mediaType, io.MultiReader(strings.NewReader("12"), iotest.ErrReader(io.ErrUnexpectedEOF)), "body is incomplete", 400},
		{"fail/connection lost", mediaType, iotest.ErrReader(errors.New("read tcp 10.0.0.1: reset")), "body is incomplete", 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := posting(tc.contentType, tc.body).Body(8)
			if tc.status == 0 {
				if err != nil || string(got) != tc.want {
					t.Errorf("Body = %q, %v", got, err)
				}
				return
			}
			f, ok := errors.AsType[*Failure](err)
			if !ok || f.Status != tc.status || f.Message != tc.want || len(got) > 0 {
				t.Errorf("Body = %q, %#v", got, err)
			}
		})
	}
}

// TestBodyIsNotRead expects that a client which waits for leave to send a body that is
// refused anyway gets none.
func TestBodyIsNotRead(t *testing.T) {
	for name, tc := range map[string]struct{ contentType, body string }{
		"fail/too large":  {"application/json", "123456789"},
		"fail/other type": {"text/plain", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			body := strings.NewReader(tc.body)
			c := posting(tc.contentType, body)
			c.Request.ContentLength = int64(len(tc.body))
			c.Request.Header.Set("Expect", "100-continue")
			if _, err := c.Body(8); err == nil {
				t.Error("the body was accepted")
			}
			if body.Len() != len(tc.body) {
				t.Error("the body was read")
			}
		})
	}
}

// TestRefusalsArrive has a client that reads no answer before it has sent all of its
// body. A server that closes the connection on the rest of it takes its answer along.
func TestRefusalsArrive(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := newCall(w, r)
		_, err := c.Body(1 << 10)
		f, ok := errors.AsType[*Failure](err)
		if !ok {
			t.Errorf("Body = %v", err)
			return
		}
		c.fail(f, Envelope)
	}))
	defer server.Close()
	const size = maxDrain - 1<<20
	body := bytes.Repeat([]byte("x"), size)
	for name, tc := range map[string]struct {
		header string
		chunks bool
		status int
	}{
		"fail/length known":   {"Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(size), false, 413},
		"fail/length unknown": {"Content-Type: application/json\r\nTransfer-Encoding: chunked", true, 413},
		"fail/other type":     {"Content-Type: text/plain\r\nContent-Length: " + strconv.Itoa(size), false, 415},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n", tc.header)
			if tc.chunks {
				fmt.Fprintf(conn, "%x\r\n%s\r\n", size, body)
				_, err = io.WriteString(conn, "0\r\n\r\n")
			} else {
				_, err = conn.Write(body)
			}
			if err != nil {
				t.Fatalf("sending: %v", err)
			}
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			answer, err := io.ReadAll(resp.Body)
			if err != nil || resp.StatusCode != tc.status || !strings.HasPrefix(string(answer), `{"status":"Error",`) {
				t.Errorf("answer is %d %s, %v", resp.StatusCode, answer, err)
			}
		})
	}
}

func TestBodyProblems(t *testing.T) {
	fields := []transform.Field{
		{Name: "a", Required: transform.OpCreate},
		{Name: "n", Type: transform.TypeDecimal, Only: transform.OpUpdate},
	}
	for _, tc := range []struct {
		name, body string
		op         transform.Op
		readable   bool
		want       string // messages
	}{
		{"ok/create", `{"a":"1"}`, transform.OpCreate, true, ""},
		{"ok/update", `{"n":1.50}`, transform.OpUpdate, true, ""},
		{"fail/members", `{"n":1,"x":[]}`, transform.OpCreate, true, "a is required; n is unknown; x is unknown"},
		{"fail/value", `{"n":"1"}`, transform.OpUpdate, true, "n is invalid"},
		{"fail/empty", ``, transform.OpCreate, false, "body is required"},
		{"fail/blank", " \t\r\n", transform.OpCreate, false, "body is required"},
		{"fail/array", `[{"a":"1"}]`, transform.OpCreate, false, "body must be a JSON object"},
		{"fail/null", `null`, transform.OpCreate, false, "body must be a JSON object"},
		{"fail/repeated", `{"a":"1","a":"1"}`, transform.OpCreate, false, "body repeats a member at offset 9"},
		{"fail/repeated in an array", `[{"a":"1","a":"1"}]`, transform.OpCreate, false, "body repeats a member at offset 10"},
		{"fail/repeated and cut off", `{"a":"1","a":"1"`, transform.OpCreate, false, "body is not valid JSON: unexpected end at offset 16"},
		{"fail/no JSON", `a=1`, transform.OpCreate, false, "body is not valid JSON: unexpected character at offset 0"},
		{"fail/not UTF-8", "{\"a\":\"\xff\"}", transform.OpCreate, false, "body is not valid JSON: not UTF-8 at offset 6"},
		{"fail/deep", strings.Repeat("[", 10_000), transform.OpCreate, false, "body is not valid JSON: nested too deeply at offset 256"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := new(Inputs)
			if got := in.Body([]byte(tc.body), fields, tc.op); got != tc.readable {
				t.Errorf("Body = %t", got)
			}
			var messages []string
			for _, p := range in.problems {
				messages = append(messages, p.Message)
				if !strings.HasPrefix(p.Message, p.Field+" ") {
					t.Errorf("field of %q is %q", p.Message, p.Field)
				}
			}
			if got := strings.Join(messages, "; "); got != tc.want {
				t.Errorf("problems are %q, want %q", got, tc.want)
			}
		})
	}
}
