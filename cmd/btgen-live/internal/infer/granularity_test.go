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

// TestGranularity proposes schemas of tables whose timestamps are in microseconds, or could be. The comments, and the report
// of what the schema reads, name the granularity.
func TestGranularity(t *testing.T) {
	for _, c := range []struct {
		name         string
		known, finer bool
	}{{"millis", false, false}, {"micros", true, true}, {"micros, whose events have whole milliseconds", true, false}, {"micros, of which only the cells tell", false, true}} {
		sample := infer.Sample{Table: "events", Families: map[string]codec.GCRule{"n": {}}, Micros: c.known}
		found := map[string][]bigtable.ReadItem{}
		for i := range 40 {
			at := time.Date(2026, 1, 1+i/10, i%10, 0, 0, 0, time.UTC).UnixMicro()
			if c.finer {
				at += int64(i*123) % 1000
			}
			key := fmt.Sprintf("host%d#%s", i%2, codec.FromMicros(at).Format(time.DateOnly))
			found[key] = append([]bigtable.ReadItem{{Row: key, Column: "n:load", Timestamp: bigtable.Timestamp(at), Value: []byte("5")}}, found[key]...)
		}
		for _, cells := range found {
			sample.Rows = append(sample.Rows, bigtable.Row{"n": cells})
		}
		slices.SortFunc(sample.Rows, func(a, b bigtable.Row) int { return strings.Compare(a.Key(), b.Key()) })
		p, err := infer.Propose(sample)
		must(t, err)
		linted(t, p)
		if strings.Contains(string(p.Schema), "granularity MICROS") != (c.known || c.finer) || p.Report.Micros != c.finer || len(p.Report.Findings) > 0 {
			t.Errorf("%s: %+v\n%s", c.name, p.Report, p.Schema)
		}
	}
}
