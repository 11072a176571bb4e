package area

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/transform"
)

// Response headers that carry what the contract's frozen bodies cannot.
const (
	HeaderErrorCode    = "X-Error-Code"
	HeaderRequestID    = "X-Request-Id"
	HeaderServerTiming = "Server-Timing"
	HeaderEnrichment   = "X-Enrichment"
)

// Call is one request on its way through an operation.
type Call struct {
	Request *http.Request
	Writer  http.ResponseWriter

	params   map[string]string
	start    time.Time
	upstream time.Duration
	wrote    bool // the status is out
}

func newCall(w http.ResponseWriter, r *http.Request) *Call {
	if id := r.Header.Get(HeaderRequestID); id != "" {
		r = r.WithContext(providers.WithRequestID(r.Context(), id))
	}
	return &Call{Request: r, Writer: w, start: time.Now()}
}

// Param returns what the {name} segment of the operation's path matched.
func (c *Call) Param(name string) string { return c.params[name] }

// Upstream starts the clock of the upstream part of Server-Timing and returns the
// function that stops it.
func (c *Call) Upstream() func() {
	start := time.Now()
	return func() { c.upstream += time.Since(start) }
}

// buffers hold answers while they are put together. A buffer that had to grow past
// maxPooled is left to the collector, so that one large answer does not stay in
// memory for ever.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

const maxPooled = 8 << 20

// Succeed answers 200 with the success envelope around the JSON value that data
// appends. When data fails, nothing was written.
func (c *Call) Succeed(data func(dst []byte) ([]byte, error)) error {
	buf := buffers.Get().(*[]byte)
	defer func() {
		if cap(*buf) <= maxPooled {
			buffers.Put(buf)
		}
	}()

	body, err := data(transform.AppendSuccessHead((*buf)[:0]))
	if err != nil {
		return err
	}
	body = transform.AppendSuccessTail(body)
	*buf = body
	c.write(http.StatusOK, body)
	return nil
}

// SucceedParts answers 200 with the success envelope around an array. parts are its
// elements, each one of them or several with commas between them; none make the empty
// array. They are written from where they are, so that a list of any size is in memory
// once.
func (c *Call) SucceedParts(parts [][]byte) {
	head, comma, tail := append(transform.AppendSuccessHead(nil), '['), []byte(","), transform.AppendSuccessTail([]byte("]"))
	length := len(head) + len(tail) + max(0, len(parts)-1)*len(comma)
	for _, part := range parts {
		length += len(part)
	}
	c.begin(http.StatusOK, length)
	if !c.send(head) {
		return
	}
	for i, part := range parts {
		if i > 0 && !c.send(comma) || !c.send(part) {
			return
		}
	}
	c.send(tail)
}

// fail answers with the failure in the area's shape.
func (c *Call) fail(f *Failure, shape func([]byte, *Failure) []byte) {
	h := c.Writer.Header()
	h.Set(HeaderErrorCode, f.Code)
	if f.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
	}
	if f.Allow != "" {
		h.Set("Allow", f.Allow)
	}
	if f.Code == CodeUnauthenticated {
		h.Set("WWW-Authenticate", "Bearer")
	}
	c.write(f.Status, shape(nil, f))
}

func (c *Call) write(status int, body []byte) {
	c.begin(status, len(body))
	c.send(body)
}

// begin writes the head of an answer whose body has so many bytes.
func (c *Call) begin(status, length int) {
	total := time.Since(c.start)
	h := c.Writer.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(length))
	h.Set("Cache-Control", "no-store")
	h.Set(HeaderServerTiming, "gateway;dur="+millis(total-c.upstream)+", upstream;dur="+millis(c.upstream))
	c.wrote = true
	c.Writer.WriteHeader(status)
}

// send writes a piece of the body and reports whether the caller still takes more.
func (c *Call) send(piece []byte) bool {
	if _, err := c.Writer.Write(piece); err != nil {
		// The status is out and the caller is gone; there is nobody to tell.
		c.log(zap.String("write_error", "caller went away"))
		return false
	}
	return true
}

func millis(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 3, 64)
}

// log adds fields to the access log line of the request.
func (c *Call) log(fields ...zap.Field) {
	extra := extraFields(c.Request)
	if extra == nil {
		return
	}
	for _, f := range fields {
		extra.Set(f)
	}
}

// Envelope is the error shape of every area but maps: the common envelope.
func Envelope(dst []byte, f *Failure) []byte {
	return transform.AppendError(dst, f.Message, f.Problems)
}
