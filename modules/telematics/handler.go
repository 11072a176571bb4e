// Package telematics adds the telematics area of the gateway to Caddy, as the HTTP
// handler http.handlers.gateway_telematics.
package telematics

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	"github.com/fleetgate/fleetgate/modules/internal/area"
	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/telematics"
	"github.com/fleetgate/fleetgate/transform"
)

func init() {
	caddy.RegisterModule(Handler{})
}

// Handler lists the safety events of a fleet's video telematics, enriched with the
// names of their triggers and coaching statuses and with their vehicles
// (contract 4.3 and 2.3).
//
// It sets these response headers besides the ones that every area sets:
//
// Header | Meaning
// -------|--------
// `X-Enrichment` | `partial; trigger=2, vehicle=1`: how many events could not be joined; absent when all were
// `Age` | seconds since the oldest catalog in use was fetched; absent when all are fresh
//
// Every failure is answered in the common envelope; nothing is left to
// `handle_errors`.
type Handler struct {
	// The provider of video telematics, a module in the namespace
	// `gateway.telematics`. Required.
	ProviderRaw json.RawMessage `json:"provider,omitempty" caddy:"namespace=gateway.telematics inline_key=name"`

	provider telematics.Provider
	logger   *zap.Logger
}

// CaddyModule returns the Caddy module information.
func (Handler) CaddyModule() caddy.ModuleInfo {
	return caddy.ModuleInfo{
		ID:  "http.handlers.gateway_telematics",
		New: func() caddy.Module { return new(Handler) },
	}
}

// Provision loads the provider.
func (h *Handler) Provision(ctx caddy.Context) error {
	h.logger = ctx.Logger()
	var err error
	h.provider, err = area.LoadProvider[telematics.Provider](ctx, h, h.ProviderRaw)
	return err
}

var contract = area.Area[*Handler]{
	Name: "telematics",
	Operations: []area.Operation[*Handler]{
		{Name: "events.list", Method: http.MethodGet, Path: "/telematics/driver-performance-events", Serve: (*Handler).listEvents}, // 4.3 #14
	},
	Shape:        area.Envelope,
	ProviderText: providerText,
	Provider:     func(h *Handler) string { return h.provider.DisplayName() },
}

// messageAPIKey is the row of contract 7.3 for a key that is missing here and for one
// that the provider refuses.
const messageAPIKey = "API key is missing or invalid."

func providerText(pe *providers.Error) string {
	if pe.Kind == providers.KindAuth {
		return messageAPIKey
	}
	return area.ProviderText(pe)
}

// ServeHTTP serves the operations of contract 4.3.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request, _ caddyhttp.Handler) error {
	return contract.ServeHTTP(h, w, r, h.logger)
}

// headerAPIKey carries the caller's key for the provider, on the wire api-key-eld.
const headerAPIKey = "Api-Key-Eld"

// maxIDs is how many drivers, and how many vehicles, one call may name. Each may cost
// a call to the provider.
const maxIDs = 100

// maxPage keeps page numbers within what any provider can hold.
const maxPage = 1_000_000

// listEvents is contract 4.3 #14.
func (h *Handler) listEvents(c *area.Call) error {
	in := c.Inputs()
	key, ok := in.Header(headerAPIKey)
	if !ok {
		return area.Invalid(messageAPIKey)
	}
	q := telematics.Query{
		DriverIDs:        in.IDs("driver_ids", maxIDs),
		VehicleIDs:       in.IDs("vehicle_ids", maxIDs),
		Page:             in.Int("page", 0, 1, maxPage),
		DateOption:       in.OneOf("dateOption", telematics.FieldLastUpdated, telematics.FieldLastUpdated, telematics.FieldRecorded),
		SortDirection:    in.OneOf("sortDirection", telematics.Descending, telematics.Ascending, telematics.Descending),
		SortBy:           in.OneOf("sortBy", telematics.FieldLastUpdated, telematics.FieldLastUpdated, telematics.FieldRecorded),
		IncludeSubgroups: in.Bool("includeSubgroups", true),
		Limit:            in.Int("limit", 1000, 1, 1000),
	}
	q.Start, q.End = in.Window("start_date", "end_date")
	if err := in.Err(); err != nil {
		return err
	}

	events, catalogs, err := h.fetch(c, telematics.Credential{APIKey: key}, q)
	if err != nil {
		return err
	}
	return c.Succeed(func(dst []byte) ([]byte, error) {
		return enrich(dst, c.Writer.Header(), events, catalogs)
	})
}

// fetch gets the events and the catalogs at the same time. Without events the
// catalogs are of no use, so that their wait ends with the events' failure.
func (h *Handler) fetch(c *area.Call, cred telematics.Credential, q telematics.Query) (telematics.Events, telematics.Catalogs, error) {
	defer c.Upstream()()
	ctx, cancel := context.WithCancel(c.Request.Context())
	defer cancel()

	catalogs := make(chan telematics.Catalogs, 1)
	go func() { catalogs <- h.catalogs(ctx, cred) }()
	events, err := h.provider.Events(ctx, cred, q)
	if err != nil {
		cancel()
		<-catalogs
		return events, telematics.Catalogs{}, err
	}
	return events, <-catalogs, nil
}

// catalogs asks the provider on a goroutine of its own, where a panic would end the
// process: no server recovers it there.
func (h *Handler) catalogs(ctx context.Context, cred telematics.Credential) (c telematics.Catalogs) {
	defer func() {
		if p := recover(); p != nil {
			h.logger.Error("provider panicked", zap.String("call", "catalogs"), zap.String("type", fmt.Sprintf("%T", p)), zap.Stack("stack"))
		}
	}()
	return h.provider.Catalogs(ctx, cred)
}

// enrich appends the events with what the catalogs know of them, and says in the
// headers what they did not know.
func enrich(dst []byte, h http.Header, events telematics.Events, catalogs telematics.Catalogs) ([]byte, error) {
	if len(events.Body) == 0 {
		return append(dst, "[]"...), nil
	}
	dst, misses, err := transform.EnrichEvents(dst, events.Body, &transform.EventJoin{
		Trigger:     events.Fields.Trigger,
		Status:      events.Fields.Status,
		Vehicle:     events.Fields.Vehicle,
		EventDate:   events.Fields.EventDate,
		LastUpdated: events.Fields.LastUpdated,
		Triggers:    catalogs.Triggers,
		Statuses:    catalogs.Statuses,
		Vehicles:    catalogs.Vehicles,
	})
	if err != nil {
		return nil, err
	}
	if partial := describe(misses, catalogs.DetailsMissing); partial != "" {
		h.Set(area.HeaderEnrichment, "partial; "+partial)
	}
	if catalogs.Age > 0 {
		h.Set("Age", strconv.Itoa(int(catalogs.Age.Seconds())))
	}
	return dst, nil
}

// describe lists what is missing from the events, or nothing.
func describe(m transform.JoinMisses, detailsMissing bool) string {
	var parts []string
	for _, p := range []struct {
		name  string
		count int
	}{{"trigger", m.Trigger}, {"status", m.Status}, {"vehicle", m.Vehicle}} {
		if p.count > 0 {
			parts = append(parts, p.name+"="+strconv.Itoa(p.count))
		}
	}
	if detailsMissing && m.Events > 0 {
		parts = append(parts, "vehicle_details="+strconv.Itoa(m.Events))
	}
	return strings.Join(parts, ", ")
}

// Interface guards
var (
	_ caddy.Provisioner           = (*Handler)(nil)
	_ caddyhttp.MiddlewareHandler = (*Handler)(nil)
)
