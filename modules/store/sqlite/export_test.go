package sqlite

import "testing"

// LimitPages keeps the open database from growing by more than a few pages, as a
// full disk does.
func LimitPages(t *testing.T, d *DB) {
	t.Helper()
	if _, err := d.writer.ExecContext(t.Context(), "PRAGMA max_page_count = 20"); err != nil {
		t.Fatal(err)
	}
}
