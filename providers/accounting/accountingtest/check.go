package accountingtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/fleetgate/fleetgate/providers/accounting"
)

// entity is what the suite looks at of an entity (contract 2.1).
type entity struct {
	ID        string `json:"Id"`
	SyncToken string `json:"SyncToken"`
}

// parse reads an entity, which must be a JSON object with an id.
func parse(t *testing.T, raw []byte) entity {
	t.Helper()
	var e entity
	if err := json.Unmarshal(raw, &e); err != nil || !utf8.Valid(raw) || e.ID == "" {
		t.Errorf("the entity is no JSON object with an Id (%v): %s", err, raw)
	}
	return e
}

// list reads a list, which must succeed, and returns its rows by id.
func (h Harness) list(t *testing.T, b *bench, kind accounting.Kind, q accounting.Query) map[string]entity {
	t.Helper()
	rows, err := b.List(t.Context(), h.Good, kind, q)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	entities, err := split(rows)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	byID := make(map[string]entity, len(entities))
	for _, e := range entities {
		if _, twice := byID[e.ID]; twice {
			t.Errorf("%s: %s is in the list twice", kind, e.ID)
		}
		byID[e.ID] = e
	}
	return byID
}

// split takes rows apart.
func split(rows accounting.Rows) ([]entity, error) {
	if slices.ContainsFunc(rows.Parts, func(part []byte) bool { return len(part) == 0 }) {
		return nil, errors.New("a part of the rows is empty")
	}
	text := slices.Concat([]byte("["), bytes.Join(rows.Parts, []byte(",")), []byte("]"))
	var entities []entity
	if err := json.Unmarshal(text, &entities); err != nil {
		return nil, fmt.Errorf("the parts make no JSON array of objects: %w", err)
	}
	if !utf8.Valid(text) {
		return nil, errors.New("the parts are not UTF-8")
	}
	if len(entities) != rows.Count {
		return nil, fmt.Errorf("%d rows are said to be %d", len(entities), rows.Count)
	}
	if slices.ContainsFunc(entities, func(e entity) bool { return e.ID == "" }) {
		return nil, errors.New("a row has no Id")
	}
	return entities, nil
}
