package auth

import (
	"bufio"
	"io"
	"net"
	"net/http"

	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
)

// tracker notes whether a response was begun. It passes everything on at once.
type tracker struct {
	*caddyhttp.ResponseWriterWrapper

	wrote bool
}

// WriteHeader implements [http.ResponseWriter]. An informational status, other
// than a switch of protocols, is not the response yet.
func (t *tracker) WriteHeader(status int) {
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		t.wrote = true
	}
	t.ResponseWriterWrapper.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (t *tracker) Write(p []byte) (int, error) {
	t.wrote = true
	return t.ResponseWriterWrapper.Write(p)
}

// ReadFrom implements [io.ReaderFrom].
func (t *tracker) ReadFrom(r io.Reader) (int64, error) {
	t.wrote = true
	return t.ResponseWriterWrapper.ReadFrom(r)
}

// FlushError is found by [http.ResponseController]. A flush sends the header.
func (t *tracker) FlushError() error {
	t.wrote = true
	return http.NewResponseController(t.ResponseWriter).Flush()
}

// Hijack is found by [http.ResponseController].
func (t *tracker) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffer, err := http.NewResponseController(t.ResponseWriter).Hijack()
	if err == nil {
		t.wrote = true
	}
	return conn, buffer, err
}

// Interface guards
var (
	_ http.ResponseWriter = (*tracker)(nil)
	_ http.Hijacker       = (*tracker)(nil)
	_ io.ReaderFrom       = (*tracker)(nil)
)
