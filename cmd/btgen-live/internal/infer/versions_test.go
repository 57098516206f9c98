package infer_test

import (
	"fmt"
	"maps"
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
		sample.Rows = slices.SortedFunc(maps.Values(found), func(a, b bigtable.Row) int { return strings.Compare(a.Key(), b.Key()) })
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

// TestGranularity proposes schemas of tables whose timestamps are in microseconds, or could be. The comments, and the report
// of what the schema reads, name the granularity.
func TestGranularity(t *testing.T) {
	for _, c := range []struct {
		name         string
		known, finer bool
	}{{"millis", false, false}, {"micros", true, true}, {"micros, whose events have whole milliseconds", true, false}, {"micros, of which only the cells tell", false, true}} {
		cells := map[string][]bigtable.ReadItem{}
		for i := range 40 {
			us := time.Date(2026, 1, 1+i/10, i%10, 0, 0, 0, time.UTC).UnixMicro()
			if c.finer {
				us += int64(i*123) % 1000
			}
			key := fmt.Sprintf("host%d#%s", i%2, codec.FromMicros(us).Format(time.DateOnly))
			cells[key] = append([]bigtable.ReadItem{{Timestamp: bigtable.Timestamp(us), Value: []byte("5")}}, cells[key]...)
		}
		families := map[string]codec.GCRule{"n": {}}
		p, err := infer.Propose(infer.Sample{Table: "events", Families: families, Micros: c.known, Rows: rows("n", "load", cells)})
		must(t, err)
		linted(t, p)
		if strings.Contains(string(p.Schema), "granularity MICROS") != (c.known || c.finer) || p.Report.Micros != c.finer || len(p.Report.Findings) > 0 {
			t.Errorf("%s: %+v\n%s", c.name, p.Report, p.Schema)
		}
	}
}
