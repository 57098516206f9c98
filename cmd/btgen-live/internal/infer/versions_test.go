package infer_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/infer"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestVersions checks that a schema is proposed for tables that keep a number of cells of each column although events may lack a
// field, such as one with the newest event of each series, and that questions say what is left out, without places in a file
// that nobody sees.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		name          string
		key           func(series int, at time.Time) string
		versions      int
		optional      bool
		ttl, question string // of the schema
	}{
		{"newest", func(n int, _ time.Time) string { return fmt.Sprintf("host%d", n) }, 1, true, "ttl: {max_age: 10d}", "pattern: latest and ttl: {any_of: [{max_age: 10d}, {max_versions: 1}]}, without bucket"},
		{"newest with all fields", func(n int, _ time.Time) string { return fmt.Sprintf("host%d", n) }, 1, false, "ttl: {any_of: [{max_age: 10d}, {max_versions: 1}]}", "pattern: latest"},
		{"days", func(n int, at time.Time) string { return fmt.Sprintf("host%d#%s", n, at.Format(time.DateOnly)) }, 5, true, "ttl: {max_age: 10d}", "leaves out max_versions: max_versions counts cells"},
	} {
		rule := codec.GCRule{Kind: codec.GCUnion, Rules: []codec.GCRule{{Kind: codec.GCMaxAge, MaxAge: 10 * 24 * time.Hour}, {Kind: codec.GCMaxVersions, MaxVersions: c.versions}}}
		sample := infer.Sample{Table: "events", Families: map[string]codec.GCRule{"n": rule}}
		found := map[string]bigtable.Row{}
		for i := range 12 {
			at := time.Date(2026, 1, 1+i/6, i, 0, 0, 0, time.UTC)
			key := c.key(i%3, at)
			cells := []bigtable.ReadItem{{Row: key, Column: "n:load", Timestamp: bigtable.Time(at), Value: []byte("5")}}
			if !c.optional || i%2 > 0 {
				cells = append(cells, bigtable.ReadItem{Row: key, Column: "n:temp", Timestamp: bigtable.Time(at), Value: []byte("5.5")})
			}
			if c.versions > 1 {
				cells = append(cells, found[key]["n"]...)
			}
			slices.SortStableFunc(cells, func(a, b bigtable.ReadItem) int { return strings.Compare(a.Column, b.Column) })
			found[key] = bigtable.Row{"n": cells}
		}
		for _, row := range found {
			sample.Rows = append(sample.Rows, row)
		}
		slices.SortFunc(sample.Rows, func(a, b bigtable.Row) int { return strings.Compare(a.Key(), b.Key()) })
		p, err := infer.Propose(sample)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		linted(t, p)
		asked := strings.Join(p.Questions, "\n")
		if !strings.Contains(string(p.Schema), c.ttl+"\n") || !strings.Contains(asked, c.question) || strings.Contains(asked, ".yaml") || len(p.Report.Findings) > 0 {
			t.Errorf("%s: %+v\n%s", c.name, p.Report, p.Schema)
		}
	}
}
