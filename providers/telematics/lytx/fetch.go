package lytx

import (
	"bytes"
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"golang.org/x/sync/errgroup"

	"github.com/fleetgate/fleetgate/providers"
	"github.com/fleetgate/fleetgate/providers/outbound"
	"github.com/fleetgate/fleetgate/transform"
)

// detailPageSize is the largest page of /vehicles/all.
const detailPageSize = 1000

// fetchNames fetches the catalog of triggers or statuses.
func (p *Provider) fetchNames(ctx context.Context, apiKey string, k kind, path string) (*table, error) {
	body, err := p.get(ctx, apiKey, &outbound.Request{Name: k.String(), Path: path})
	if err != nil {
		return nil, err
	}
	list, err := parseList(body, "")
	if err != nil {
		return nil, err
	}
	t := p.newTable(time.Duration(p.CatalogTTL), time.Duration(p.Stale))
	for _, item := range list {
		if name := item.Get("name"); name.Type == gjson.String {
			t.put(idOf(item.Get("id")), []byte(name.Raw))
		}
	}
	return t, nil
}

// fetchVehicles fetches the vehicles with their two required members.
func (p *Provider) fetchVehicles(ctx context.Context, apiKey string) (*table, error) {
	t := p.newTable(time.Duration(p.VehicleTTL), time.Duration(p.Stale))
	err := p.allPages(ctx, func(ctx context.Context, n int) (page, error) {
		body, err := p.get(ctx, apiKey, &outbound.Request{
			Name: vehicles.String(),
			Path: "/video/vehicles",
			Query: url.Values{
				"PageNumber": {strconv.Itoa(n)},
				"PageSize":   {strconv.Itoa(p.PageSize)},
			},
		})
		if err != nil {
			return page{}, err
		}
		return parsePage(body, "totalCount")
	}, func(item gjson.Result) error {
		id := idOf(item.Get("dcVehicleId"))
		vehicle := appendVehicle(nil, item)
		t.put(id, vehicle)
		t.put(foldID(id), vehicle)
		return t.check()
	})
	t.weight *= 2 // what is joined from it lives as long
	return t, err
}

// fetchDetails fetches the optional members of the vehicles. A tenant, or a key, that
// has no access to them has none: that is no failure, unless it shows in the middle of
// the list, or had says that there were some before.
func (p *Provider) fetchDetails(ctx context.Context, apiKey string, had bool) (*table, error) {
	t := p.newTable(time.Duration(p.VehicleTTL), time.Duration(p.Stale))
	begun := had
	err := p.allPages(ctx, func(ctx context.Context, n int) (page, error) {
		body, err := p.get(ctx, apiKey, &outbound.Request{
			Name: details.String(),
			Path: "/vehicles/all",
			Query: url.Values{
				"limit": {strconv.Itoa(detailPageSize)},
				"page":  {strconv.Itoa(n)},
			},
		})
		if err != nil {
			return page{}, err
		}
		return parsePage(body, "totalResults")
	}, func(item gjson.Result) error {
		begun = true
		if members := appendDetails(nil, item); members != nil {
			t.put(foldID(idOf(item.Get("id"))), members)
		}
		return t.check()
	})
	t.weight *= 2
	switch {
	case begun:
	case errors.Is(err, providers.ErrForbidden), errors.Is(err, providers.ErrNotFound):
		return t, nil
	case errors.Is(err, providers.ErrAuth):
		// The same answer as to a wrong key, which may soon be a right one.
		t.fresh, t.keep = retryPause, retryPause
		return t, nil
	}
	return t, err
}

// check fails when the table alone would exceed the memory for all.
func (t *table) check() error {
	if t.weight > maxWeight {
		return outbound.TooLarge()
	}
	return nil
}

// page is one page of a list of vehicles.
type page struct {
	total int64 // how many the list is said to have, 0 when it is not said
	items []gjson.Result
}

func parsePage(body []byte, total string) (page, error) {
	items, err := parseList(body, "vehicles")
	if err != nil {
		return page{}, err
	}
	return page{total: gjson.GetBytes(body, total).Int(), items: items}, nil
}

// parseList returns the items of a JSON array, or of the array that is the named
// member of an object. Without a body or for null there are none.
func parseList(body []byte, member string) ([]gjson.Result, error) {
	if body == nil {
		return nil, nil
	}
	if err := transform.Validate(body); err != nil {
		return nil, invalidJSON(err)
	}
	list := gjson.ParseBytes(body)
	if member != "" {
		list = list.Get(member)
	}
	if isNull := list.Exists() && list.Type == gjson.Null; isNull {
		return nil, nil
	}
	if !list.IsArray() {
		return nil, invalidJSON(errors.New("the list is missing"))
	}
	return list.Array(), nil
}

const (
	pagesAtOnce = 4
	maxPages    = 100_000
)

// allPages adds each item of a list of pages once. How long the pages really are, and
// which one is the last, shows in what arrives: the server may send less than it was
// asked for, and the list may change meanwhile. So pages are fetched until there are as
// many items as the list is said to have, or until one is empty or the last one here brings
// nothing new: one before it may repeat what has moved.
func (p *Provider) allPages(
	ctx context.Context, get func(ctx context.Context, n int) (page, error), add func(gjson.Result) error,
) error {
	seen := make(map[string]struct{})
	addAll := func(items []gjson.Result) (added int, err error) {
		for _, item := range items {
			id := identity(item)
			if _, ok := seen[id]; ok {
				continue
			}
			seen[strings.Clone(id)] = struct{}{}
			added++
			if err := add(item); err != nil {
				return added, err
			}
		}
		return added, nil
	}

	first, err := get(ctx, 1)
	if err != nil {
		return err
	}
	added, err := addAll(first.items)
	if err != nil || added == 0 {
		return err
	}
	for next := 2; int64(len(seen)) != first.total; {
		if next > maxPages {
			return &providers.Error{Kind: providers.KindProvider, Message: "the list of vehicles does not end"}
		}
		pages := make([]page, pagesAhead(first, len(seen)))
		g, gctx := errgroup.WithContext(ctx)
		for i := range pages {
			g.Go(func() error {
				return outbound.Guard(p.logger, "page of vehicles", func() (err error) {
					pages[i], err = get(gctx, next+i)
					return err
				})
			})
		}
		if err := g.Wait(); err != nil {
			return err
		}
		over := false
		for _, pg := range pages {
			if added, err = addAll(pg.items); err != nil {
				return err
			}
			over = over || len(pg.items) == 0
		}
		if over || added == 0 {
			return nil
		}
		next += len(pages)
	}
	return nil
}

// pagesAhead returns how many pages to fetch at once when the first page is known and
// have items are here: no more than seem to be missing, and one when none seems to be.
func pagesAhead(first page, have int) int {
	length := int64(len(first.items))
	missing := first.total - int64(have)
	return int(min(max((missing+length-1)/length, 1), pagesAtOnce))
}

// identity tells the items of a list apart.
func identity(item gjson.Result) string {
	if id := item.Get("id"); id.Exists() && id.Type != gjson.Null {
		return id.Raw
	}
	return item.Raw
}

// idOf returns an id as a catalog's key: a string without its quotes, a number as it
// is spelled. What is neither has the empty id, which no table keeps.
func idOf(r gjson.Result) string {
	switch r.Type {
	case gjson.String:
		return strings.Clone(r.Str) // apart from the whole body's text
	case gjson.Number:
		return strings.Clone(r.Raw)
	default:
		return ""
	}
}

// foldID makes ids of different spelling comparable: /vehicles/all is another service
// than /video/vehicles, and a GUID is the same in either case.
func foldID(id string) string { return strings.ToLower(id) }

// appendVehicle appends a vehicle object with the two members that contract 2.3
// requires.
func appendVehicle(dst []byte, item gjson.Result) []byte {
	dst = append(dst, `{"dcVehicleId":`...)
	dst = appendText(dst, item.Get("dcVehicleId"))
	dst = append(dst, `,"name":`...)
	dst = appendText(dst, item.Get("name"))
	return append(dst, '}')
}

// appendText appends a value as a JSON string; what is no text reads as empty.
func appendText(dst []byte, r gjson.Result) []byte {
	switch r.Type {
	case gjson.String:
		return append(dst, r.Raw...)
	case gjson.Number:
		dst = append(dst, '"')
		dst = append(dst, r.Raw...)
		return append(dst, '"')
	default:
		return append(dst, `""`...)
	}
}

// detailMembers are the optional members of contract 2.3 and their names in
// /vehicles/all.
var detailMembers = []struct{ name, source string }{
	{"vin", "vin"},
	{"licensePlate", "licensePlateNumber"},
	{"make", "make"},
	{"model", "model"},
	{"year", "year"},
}

// appendDetails appends the optional members that have a value, as they are, each after
// a comma.
func appendDetails(dst []byte, item gjson.Result) []byte {
	for _, m := range detailMembers {
		if v := item.Get(m.source); v.Type == gjson.String || v.Type == gjson.Number {
			dst = append(dst, `,"`+m.name+`":`...)
			dst = append(dst, v.Raw...)
		}
	}
	return dst
}

// withDetails returns the vehicle with the members that appendDetails made.
func withDetails(vehicle, members []byte) []byte {
	if len(members) == 0 {
		return vehicle
	}
	joined := make([]byte, 0, len(vehicle)+len(members))
	joined = append(joined, bytes.TrimSuffix(vehicle, []byte("}"))...)
	joined = append(joined, members...)
	return append(joined, '}')
}
