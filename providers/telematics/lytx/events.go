package lytx

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/outbound"
	"github.com/fleetgate/fleetgate/providers/telematics"
	"github.com/fleetgate/fleetgate/transform"
)

const pathEvents = "/video/safety/eventsWithMetadata"

// Members of an event. Lytx calls neither date as the contract does: its order by
// "lastUpdatedDate" is that of revisionDate.
var (
	fieldsLastUpdated = []string{"revisionDate", "creationDate"}
	fieldsRecorded    = []string{"recordDateUTC"}

	fields = telematics.Fields{
		Trigger:     "eventTriggerId",
		Status:      "eventStatusId",
		Vehicle:     "vehicleId",
		EventDate:   fieldsRecorded,
		LastUpdated: fieldsLastUpdated,
	}
)

// Bounds of a request for several drivers or vehicles.
const (
	callsAtOnce = 4
	maxCalls    = 200
)

// Events returns the events that match q (contract 4.3 #14), as Lytx sends them.
//
// Lytx takes one driver and one vehicle. For several, each driver with each vehicle is
// a call of its own, and the answers are merged in the order that q asks for, without
// duplicates. To find a later page of the merged events, all pages before it are
// fetched too; a request that takes more than 200 calls for that is refused, for its
// page or for its ids, and one whose answers together exceed max_body fails.
func (p *Provider) Events(ctx context.Context, cred telematics.Credential, q telematics.Query) (telematics.Events, error) {
	targets := targetsOf(q)
	var body []byte
	var err error
	if len(targets) == 1 {
		body, err = p.eventPage(ctx, cred.APIKey, q, targets[0], q.Page, nil)
	} else {
		body, err = p.mergedPage(ctx, cred.APIKey, q, targets)
	}
	if err != nil {
		return telematics.Events{}, err
	}
	return telematics.Events{Body: body, Fields: fields}, nil
}

// target is what one call can be narrowed to; an empty id stands for all.
type target struct{ driver, vehicle string }

// targetsOf pairs each driver with each vehicle. Ids that are given twice count once.
func targetsOf(q telematics.Query) []target {
	var targets []target
	for _, driver := range distinct(q.DriverIDs) {
		for _, vehicle := range distinct(q.VehicleIDs) {
			targets = append(targets, target{driver, vehicle})
		}
	}
	return targets
}

// distinct returns the ids without repetition, or the empty id for none.
func distinct(ids []string) []string {
	if len(ids) == 0 {
		return []string{""}
	}
	ids = slices.Sorted(slices.Values(ids))
	return slices.Compact(ids)
}

// eventPage returns one page of the events of a target, nil when it is empty.
func (p *Provider) eventPage(
	ctx context.Context, apiKey string, q telematics.Query, t target, page int, answers *outbound.Budget,
) ([]byte, error) {
	query := url.Values{
		"dateOption":       {q.DateOption},
		"sortDirection":    {q.SortDirection},
		"sortBy":           {q.SortBy},
		"includeSubgroups": {strconv.FormatBool(q.IncludeSubgroups)},
		"limit":            {strconv.Itoa(q.Limit)},
	}
	for name, value := range map[string]string{"driverId": t.driver, "vehicleId": t.vehicle} {
		if value != "" {
			query.Set(name, value)
		}
	}
	// Lytx wants the fraction and the zone, so it gets the contract's boundaries as
	// they are (contract part 8).
	if q.Start != "" {
		query.Set("from", q.Start+"T00:00:00.00Z")
	}
	if q.End != "" {
		query.Set("to", q.End+"T23:59:59.99Z")
	}
	if page > 0 {
		query.Set("page", strconv.Itoa(page))
	}
	return p.get(ctx, apiKey, &outbound.Request{Name: "events", Path: pathEvents, Query: query, Budget: answers})
}

// mergedPage returns the page of q of all targets' events together.
func (p *Provider) mergedPage(ctx context.Context, apiKey string, q telematics.Query, targets []target) ([]byte, error) {
	page := max(q.Page, 1)
	if len(targets) > maxCalls {
		if len(q.VehicleIDs) > len(q.DriverIDs) {
			return nil, invalid("vehicle_ids")
		}
		return nil, invalid("driver_ids")
	}
	budget := &budget{answers: p.NewBudget()}
	pages := make([][][]byte, len(targets))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(callsAtOnce)
	for i, t := range targets {
		g.Go(func() error {
			return outbound.Guard(p.logger, "events", func() (err error) {
				pages[i], err = p.eventPages(ctx, apiKey, q, t, page, budget)
				return err
			})
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}

	keys := fieldsLastUpdated
	if q.SortBy == telematics.FieldRecorded {
		keys = fieldsRecorded
	}
	merged, err := transform.MergeArrays(nil, slices.Concat(pages...), transform.Merge{
		ID:         "id",
		Keys:       keys,
		Descending: q.SortDirection != telematics.Ascending,
		Offset:     (page - 1) * q.Limit,
		Limit:      q.Limit,
	})
	if err != nil {
		return nil, invalidJSON(err)
	}
	return merged, nil
}

// eventPages returns the pages of a target up to the last one, as far as there are any:
// the events of that page of the merged answer are all among them.
func (p *Provider) eventPages(
	ctx context.Context, apiKey string, q telematics.Query, t target, last int, b *budget,
) ([][]byte, error) {
	var pages [][]byte
	for n := 1; n <= last; n++ {
		if b.calls.Add(1) > maxCalls {
			return nil, invalid("page")
		}
		body, err := p.eventPage(ctx, apiKey, q, t, n, b.answers)
		if err != nil {
			return nil, err
		}
		if body == nil {
			break
		}
		events, err := transform.ArrayLen(body)
		if err != nil {
			return nil, invalidJSON(err)
		}
		pages = append(pages, body)
		if events < q.Limit {
			break
		}
	}
	return pages, nil
}

// budget is what the calls for one merged page may cost together.
type budget struct {
	answers *outbound.Budget
	calls   atomic.Int64 // used so far
}

func invalid(field string) error {
	return &providers.Error{Kind: providers.KindInvalid, Message: field + " is invalid"}
}
