package storetest

import (
	"testing"
	"time"

	"github.com/fleetgate/fleetgate/modules/store"
)

func testToken(t *testing.T, s store.Store) {
	create(t, s, "a1")
	token := newToken("t1", "a1")
	token.Scopes = []string{"accounting:read", "maps"}
	token.Expires = at.Add(24 * time.Hour)
	issue(t, s, token)

	got, err := s.TokenByHash(t.Context(), token.Hash)
	if err != nil {
		t.Fatal(err)
	}
	token.Account, token.Created, token.Expires = "name-a1", token.Created.UTC(), token.Expires.UTC()
	equal(t, "token", got, token)
}

func testPlainToken(t *testing.T, s store.Store) {
	create(t, s, "a1")
	issue(t, s, newToken("t1", "a1"))
	got, err := s.TokenByHash(t.Context(), newToken("t1", "a1").Hash)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Scopes) != 0 || !got.Expires.IsZero() || !got.LastUsed.IsZero() || !got.Revoked.IsZero() {
		t.Fatalf("token has what it was not given: %+v", got)
	}
}

func testTokens(t *testing.T, s store.Store) {
	create(t, s, "a1", "a2")
	later := newToken("a-later", "a1")
	later.Created = at.Add(time.Second)
	issue(t, s, later)
	issue(t, s, newToken("z-first", "a1"))
	issue(t, s, newToken("y-second", "a2"))

	list, err := s.Tokens(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, token := range list {
		ids = append(ids, token.ID)
	}
	equal(t, "order", ids, []string{"z-first", "y-second", "a-later"})
}

func testRevoke(t *testing.T, s store.Store) {
	create(t, s, "a1")
	issue(t, s, newToken("t1", "a1"))
	for _, when := range []time.Time{at.Add(time.Hour), at.Add(2 * time.Hour)} {
		got, err := s.RevokeToken(t.Context(), "t1", when)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "revoked", got.Revoked, at.Add(time.Hour).UTC())
		equal(t, "account", got.Account, "name-a1")
	}
	got, err := s.TokenByHash(t.Context(), newToken("t1", "a1").Hash)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "read back", got.Revoked, at.Add(time.Hour).UTC())
	changes, err := s.TokenChanges(t.Context(), 0)
	if err != nil || len(changes) != 1 {
		t.Fatalf("changes after revoking twice: %v, %v", changes, err)
	}
}

func testChanges(t *testing.T, s store.Store) {
	create(t, s, "a1")
	last, err := s.TokenSequence(t.Context())
	if err != nil || last != 0 {
		t.Fatalf("TokenSequence of a new store: %d, %v", last, err)
	}
	ids := []string{"t3", "t1", "t2"}
	for _, id := range ids {
		issue(t, s, newToken(id, "a1"))
	}
	for _, id := range ids {
		if _, err := s.RevokeToken(t.Context(), id, at); err != nil {
			t.Fatal(err)
		}
	}

	changes, err := s.TokenChanges(t.Context(), 0)
	if err != nil || len(changes) != len(ids) {
		t.Fatalf("TokenChanges: %v, %v", changes, err)
	}
	for i, change := range changes {
		if change.TokenID != ids[i] || change.Hash != newToken(ids[i], "").Hash {
			t.Errorf("change %d: %+v, want token %s", i, change, ids[i])
		}
		if change.Seq <= last {
			t.Errorf("change %d: sequence %d does not grow from %d", i, change.Seq, last)
		}
		last = change.Seq
	}
	rest, err := s.TokenChanges(t.Context(), changes[1].Seq)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "rest", rest, changes[2:])
	seq, err := s.TokenSequence(t.Context())
	if err != nil || seq != last {
		t.Fatalf("TokenSequence: %d, %v, want %d", seq, err, last)
	}
	rest, err = s.TokenChanges(t.Context(), seq)
	if err != nil || len(rest) != 0 {
		t.Fatalf("changes after the last: %v, %v", rest, err)
	}
}

func testTouch(t *testing.T, s store.Store) {
	create(t, s, "a1")
	issue(t, s, newToken("t1", "a1"))
	issue(t, s, newToken("t2", "a1"))
	steps := [][]store.TokenUse{
		{{TokenID: "t1", Time: at.Add(time.Minute)}, {TokenID: "gone", Time: at}},
		{{TokenID: "t1", Time: at}},
		nil,
	}
	for _, uses := range steps {
		if err := s.TouchTokens(t.Context(), uses); err != nil {
			t.Fatalf("TouchTokens(%v): %v", uses, err)
		}
	}
	for id, want := range map[string]time.Time{"t1": at.Add(time.Minute).UTC(), "t2": {}} {
		got, err := s.TokenByHash(t.Context(), newToken(id, "a1").Hash)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "last use of "+id, got.LastUsed, want)
	}
	changes, err := s.TokenChanges(t.Context(), 0)
	if err != nil || len(changes) != 0 {
		t.Fatalf("a use is no change: %v, %v", changes, err)
	}
}

func testTokenExists(t *testing.T, s store.Store) {
	create(t, s, "a1")
	issue(t, s, newToken("t1", "a1"))
	sameHash := newToken("t2", "a1")
	sameHash.Hash = newToken("t1", "a1").Hash
	sameID := newToken("t1", "a1")
	sameID.Hash = newToken("t2", "a1").Hash
	for _, token := range []store.Token{sameHash, sameID} {
		isError(t, "CreateToken", s.CreateToken(t.Context(), token), store.ErrExists)
	}
	list, err := s.Tokens(t.Context())
	if err != nil || len(list) != 1 {
		t.Errorf("tokens: %v, %v", list, err)
	}
}
