package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/fleetgate/fleetgate/modules/sandbox"
)

// connections is how many clients call at the same time, each on one of its own.
const connections = 32

// loads are the operations that are measured.
var loads = []struct {
	name string

	path   string // of the operation at the gateway
	header map[string]string

	direct string // path of what the upstream sends for it
	body   func(tb testing.TB, provider http.Handler) []byte

	rows  string // path of the array in the gateway's answer
	count int    // of its elements
}{
	{
		name: "telematics/events=1000", path: "/api/telematics/driver-performance-events/?limit=1000", header: goodHeaders(),
		direct: "/lytx/video/safety/eventsWithMetadata", body: eventsBody(1000), rows: "data", count: 1000,
	},
	{
		name: "telematics/events=10", path: "/api/telematics/driver-performance-events/?limit=10", header: goodHeaders(),
		direct: "/lytx/video/safety/eventsWithMetadata", body: eventsBody(10), rows: "data", count: 10,
	},
	{
		name: "fuel/transactions=200", path: "/api/fuel/reports/transactions?start_date=2026-02-01&end_date=2026-02-08", header: goodHeaders(),
		direct: "/quikq/v1/reports/transactions/1001", body: reportBody(200), rows: "data.transactions", count: 200,
	},
	{
		name: "maintenance/orders=300", path: "/api/maintenance/repair-orders?start_date=2026-02-01&end_date=2026-02-20", header: goodHeaders(),
		direct: "/fleetrock/API/GetRO", body: ordersBody(300), rows: "data", count: 300,
	},
}

// BenchmarkCPU measures the CPU time of a request to each area, and of the same body
// through Caddy's reverse_proxy in a process of its own, both behind TLS. The upstream
// is in the process of the benchmark and speaks plain HTTP. Nothing is asserted about
// time.
func BenchmarkCPU(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("the CPU time of a process is read from /proc, which only Linux has")
	}
	var hot hotPath
	hot.provider = sandbox.NewSimulator(sandbox.Options{})
	root := upstream(b, &hot)

	g := newGateway(b, &shipped, globals+areas+`{$FLEETGATE_SITE} {
	gateway_health
	handle_path /api/* {
		import areas {$UPSTREAM}
	}
}`, "UPSTREAM="+root)
	g.start(b)
	g.open(b)
	proxy := newGateway(b, &shipped, globals+`{$FLEETGATE_SITE} {
	respond /readyz 200
	reverse_proxy {$UPSTREAM}
}`, "UPSTREAM="+root)
	proxy.start(b)
	proxy.token = noToken

	for _, load := range loads {
		b.Run(load.name, func(b *testing.B) {
			hot.serve(load.direct, load.body(b, hot.provider))
			through := request{path: load.path, header: load.header}
			past := request{path: load.direct, token: noToken}
			// Connections, catalogs and sessions are there when the measurement begins.
			g.burst(b, through, 2*connections)
			proxy.burst(b, past, 2*connections)
			a := g.do(b, through)
			if got := int(gjson.Get(a.body, load.rows+".#").Int()); a.status != http.StatusOK || got != load.count {
				b.Fatalf("status %d with %d rows, want 200 with %d", a.status, got, load.count)
			}

			b.SetBytes(int64(len(a.body)))
			b.ResetTimer()
			ours := g.cpu(b, func() { g.burst(b, through, b.N) })
			b.StopTimer()
			theirs := proxy.cpu(b, func() { proxy.burst(b, past, b.N) })

			b.ReportMetric(perRequest(ours, b.N), "cpu-µs/req")
			b.ReportMetric(perRequest(theirs, b.N), "proxy-cpu-µs/req")
			if ours > 0 && theirs > 0 { // the clock is too coarse for a few requests
				b.ReportMetric(float64(ours)/float64(theirs), "ratio")
			}
		})
	}
}

func perRequest(cpu time.Duration, requests int) float64 {
	return float64(cpu.Microseconds()) / float64(requests)
}

// burst makes so many requests, at most as many at a time as there are connections.
// All must succeed.
func (g *gateway) burst(b *testing.B, r request, requests int) {
	b.Helper()
	roots, err := g.roots()
	if err != nil {
		b.Fatal(err)
	}
	if g.bench == nil {
		g.bench = newClient(roots)
		transport := g.bench.Transport.(*http.Transport)
		transport.ForceAttemptHTTP2 = false // one connection for each request at a time
		transport.MaxIdleConnsPerHost = connections
		b.Cleanup(g.bench.CloseIdleConnections)
	}
	var left, failed atomic.Int64
	left.Store(int64(requests))
	var workers sync.WaitGroup
	for range min(connections, requests) {
		workers.Go(func() {
			for left.Add(-1) >= 0 {
				if err := g.drain(b, r); err != nil && failed.Add(1) == 1 {
					b.Error(err)
				}
			}
		})
	}
	workers.Wait()
}

// drain makes one request and throws the answer away.
func (g *gateway) drain(b *testing.B, r request) error {
	b.Helper()
	req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, "https://"+g.site+r.path, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+g.token)
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := g.bench.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", r.path, resp.Status)
	}
	return nil
}

// clockTick is the unit of times in /proc, the same on all machines that Go runs on.
const clockTick = 10 * time.Millisecond

// cpu returns the CPU time that the process takes while f runs.
func (g *gateway) cpu(b *testing.B, f func()) time.Duration {
	b.Helper()
	before := g.used(b)
	f()
	return g.used(b) - before
}

// used returns the CPU time that the process has taken, in user and in kernel mode.
func (g *gateway) used(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.process.cmd.Process.Pid))
	if err != nil {
		b.Fatal(err)
	}
	// The second field is the name in parentheses; utime and stime are fields 14, 15.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick
}

// hotPath serves one path from memory and the others by the simulated providers.
type hotPath struct {
	provider http.Handler

	current atomic.Pointer[hotBody]
}

type hotBody struct {
	path string
	body []byte
}

func (h *hotPath) serve(path string, body []byte) { h.current.Store(&hotBody{path, body}) }

func (h *hotPath) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if hot := h.current.Load(); hot != nil && r.URL.Path == hot.path {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(hot.body)))
		_, _ = w.Write(hot.body) // whoever does not read it fails the benchmark
		return
	}
	h.provider.ServeHTTP(w, r)
}

// fetch returns the body of an answer of the simulated providers.
func fetch(tb testing.TB, provider http.Handler, r *http.Request) []byte {
	tb.Helper()
	w := httptest.NewRecorder()
	provider.ServeHTTP(w, r)
	if w.Code != http.StatusOK || !json.Valid(w.Body.Bytes()) {
		tb.Fatalf("%s: status %d, body %.300s", r.URL.Path, w.Code, w.Body)
	}
	return w.Body.Bytes()
}

// eventsBody returns the maker of a page of n events.
func eventsBody(n int) func(testing.TB, http.Handler) []byte {
	return func(tb testing.TB, provider http.Handler) []byte {
		tb.Helper()
		r := httptest.NewRequest(http.MethodGet, "/lytx/video/safety/eventsWithMetadata?limit="+strconv.Itoa(n), http.NoBody)
		r.Header.Set("X-Apikey", "bench")
		return fetch(tb, provider, r)
	}
}

// reportBody returns the maker of a report of n transactions.
func reportBody(n int) func(testing.TB, http.Handler) []byte {
	return func(tb testing.TB, provider http.Handler) []byte {
		tb.Helper()
		login := httptest.NewRequest(http.MethodPost, "/quikq/v1/auth", strings.NewReader(`{"startCode":"1001","userId":"u","password":"p"}`))
		token := gjson.GetBytes(fetch(tb, provider, login), "data.token").Str
		r := httptest.NewRequest(http.MethodGet, "/quikq/v1/reports/transactions/1001?startCode=1001&startDt="+
			daysAgo(30)+"T00:00:00-00:00&endDt="+daysAgo(0)+"T23:59:59-00:00", http.NoBody)
		r.Header.Set("Authorization", "Bearer "+token)
		return cut(tb, fetch(tb, provider, r), "data.report.transactions", n)
	}
}

// ordersBody returns the maker of a list of n repair orders.
func ordersBody(n int) func(testing.TB, http.Handler) []byte {
	return func(tb testing.TB, provider http.Handler) []byte {
		tb.Helper()
		login := httptest.NewRequest(http.MethodGet, "/fleetrock/API/GetToken?username=u&key=k", http.NoBody)
		token := gjson.GetBytes(fetch(tb, provider, login), "token").Str
		all := fetch(tb, provider, httptest.NewRequest(http.MethodGet, "/fleetrock/API/GetRO?username=u&token="+token, http.NoBody))
		// Those that are listed twice would be one order less in the answer.
		seen := make(map[string]bool)
		var once [][]byte
		gjson.GetBytes(all, "repair_orders").ForEach(func(_, order gjson.Result) bool {
			if id := order.Get("id").String(); !seen[id] {
				seen[id] = true
				once = append(once, []byte(order.Raw))
			}
			return true
		})
		return cut(tb, fmt.Appendf(nil, `{"repair_orders":[%s]}`, bytes.Join(once, []byte(","))), "repair_orders", n)
	}
}

// cut shortens the array at a path to n elements.
func cut(tb testing.TB, body []byte, path string, n int) []byte {
	tb.Helper()
	array := gjson.GetBytes(body, path)
	elements := array.Array()
	if len(elements) < n {
		tb.Fatalf("%d elements at %s, want %d", len(elements), path, n)
	}
	last := elements[n-1]
	end := last.Index + len(last.Raw)
	rest := body[array.Index+len(array.Raw)-1:]
	return append(bytes.Clone(body[:end]), rest...)
}
