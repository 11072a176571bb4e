package sandbox

import (
	"bytes"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"

	"github.com/fleetgate/fleetgate/modules/sandbox/internal/sim"
)

// refusals are the faults that a provider answers with a status.
var refusals = map[sim.Fault]int{
	sim.Throttle:    http.StatusTooManyRequests,
	sim.Error:       http.StatusInternalServerError,
	sim.Unavailable: http.StatusServiceUnavailable,
	sim.Forbidden:   http.StatusForbidden,
	sim.XML:         http.StatusInternalServerError,
	sim.XMLThrottle: http.StatusTooManyRequests,
}

// pages are the faults whose answer has nothing to do with the request.
var pages = map[sim.Fault]func(http.ResponseWriter){
	sim.HTML: func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, "<!DOCTYPE html>\n<html><head><title>Service Unavailable</title></head>"+
			"<body><h1>We will be back soon</h1><p>The service is down for maintenance.</p></body></html>\n")
	},
	sim.Empty: func(w http.ResponseWriter) { send(w, &sim.Answer{Status: http.StatusOK}) },
	sim.Deep: func(w http.ResponseWriter) {
		const levels = 10_000
		send(w, &sim.Answer{
			Status: http.StatusOK,
			Body:   append(bytes.Repeat([]byte("["), levels), bytes.Repeat([]byte("]"), levels)...),
		})
	},
	sim.Huge: huge,
}

// spoilers are the faults that change the body of an answer.
var spoilers = map[sim.Fault]func(*sim.Answer){
	sim.Truncate:    truncate,
	sim.InvalidJSON: spoilJSON,
	sim.NotUTF8:     spoilText,
}

// huge streams an array of more than 64 MiB without a Content-Length, until the
// client has had enough.
func huge(w http.ResponseWriter) {
	const elements, size = 65, 1 << 20
	element := append(append([]byte{'"'}, bytes.Repeat([]byte("x"), size-3)...), '"', ',')
	setType(w)
	if _, err := io.WriteString(w, "["); err != nil {
		return
	}
	for range elements {
		if _, err := w.Write(element); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, "null]")
}

// send writes an answer. The response to a client that went away is lost, and nobody
// is there to be told.
func send(w http.ResponseWriter, a *sim.Answer) {
	setHeader(w, a)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
}

func setHeader(w http.ResponseWriter, a *sim.Answer) {
	maps.Copy(w.Header(), a.Header)
	if a.Status == http.StatusNoContent {
		return
	}
	if len(a.Body) > 0 && a.Header.Get("Content-Type") == "" {
		setType(w)
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(a.Body)))
}

func setType(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
}

// fillIn gives an answer without a body one that can be spoiled.
func fillIn(a *sim.Answer) {
	if len(a.Body) == 0 {
		a.Set(http.StatusOK, `[""]`)
	}
}

// truncate cuts the body in the middle.
func truncate(a *sim.Answer) {
	fillIn(a)
	a.Body = a.Body[:len(a.Body)/2]
}

// spoilJSON puts a comma before the last bracket.
func spoilJSON(a *sim.Answer) {
	fillIn(a)
	last := len(a.Body) - 1
	a.Body = append(a.Body[:last], ',', a.Body[last])
}

// spoilText begins the first string that is a value, or else the first string, with
// bytes that UTF-8 does not have.
func spoilText(a *sim.Answer) {
	fillIn(a)
	at := bytes.Index(a.Body, []byte(`:"`)) + 2
	if at < 2 {
		at = bytes.IndexByte(a.Body, '"') + 1
	}
	a.Body = slices.Insert(a.Body, at, 0xff, 0xfe)
}

// reset announces the whole body, sends half of it and resets the connection. Errors on
// the way are as good as what it is about to do.
func reset(w http.ResponseWriter, a *sim.Answer) {
	fillIn(a)
	setHeader(w, a)
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body[:len(a.Body)/2])
	if http.NewResponseController(w).Flush() != nil {
		panic(http.ErrAbortHandler)
	}
	drop(w)
}

// drop resets the connection. Where the connection cannot be had, as with HTTP/2, it
// ends the stream instead.
func drop(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	for {
		wrapped, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = wrapped.NetConn()
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
