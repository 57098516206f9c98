package compress

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Measure measures how the events of a table compress in its layout, and would compress with
// other patterns, as far as these can store them. It returns nil if there are no events, or if the
// table stores none of them.
func Measure(s *schema.Schema, l *layout.Layout, table string, events []sample.Event) *explain.Compression {
	i := slices.IndexFunc(l.Tables, func(t *layout.Table) bool { return t.ID == table })
	if i < 0 || len(events) == 0 || l.Tables[i].Pattern.NewestOnly() { // which has too few
		return nil
	}
	out := explain.CompressionOf(l, l.Tables[i])
	out.Events, out.BlockBytes = len(events), BlockBytes
	for k, d := range explain.Designs(s, i, l) {
		sizes, stored := of(d.Layout, d.Table, events)
		switch {
		case stored == 0 && k == 0:
			return nil
		case stored == 0:
			continue
		}
		n := float64(stored)
		out.Designs = append(out.Designs, explain.Compressed{
			Pattern: d.Pattern, Bucket: d.Bucket, Stored: float64(sizes.Stored) / n, Zstd: float64(sizes.Zstd) / n, Snappy: float64(sizes.Snappy) / n,
		})
	}
	return out
}

// of returns the sizes of events in a table, and how many of them it stores.
func of(l *layout.Layout, t *layout.Table, events []sample.Event) (Sizes, int) {
	b := NewBlocks()
	stored := map[int]bool{}
	for _, row := range sample.Rows(l, t, events) {
		for _, c := range row.Cells {
			b.Add(row.Key, t.Families[c.Family].Name, c.Qualifier, c.Micros, c.Value)
			stored[c.Event] = true
		}
	}
	return b.Sizes(), len(stored)
}
