package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// This file writes the YAML that hints propose.

// code formats a proposal.
func code(format string, args ...any) string { return diag.Code(fmt.Sprintf(format, args...)) }

// block is a proposal of several lines, indented as from the top level of the schema. It ends a hint.
type block []string

// String returns the lines, each after a line break.
func (b block) String() string { return "\n" + strings.Join(b, "\n") }

// inTable returns entries of a table as a block.
func inTable(id string, entries ...string) block {
	lines := block{"tables:", "  " + schema.Quoted(id) + ":"}
	for _, e := range entries {
		lines = append(lines, "    "+e)
	}
	return lines
}

// written returns the table as the schema declares it. An earlier layout of a table has an
// entry of its own, and may be in another table.
func (r reporter) written(t *layout.Table) *schema.Table {
	for i := range r.schema.Tables {
		for _, period := range r.schema.Tables[i].Periods() {
			if period.Name.Pos == t.Pos {
				return &period
			}
		}
	}
	return &schema.Table{}
}

// keyEntry returns the key entry of a table, with the given segments.
func (r reporter) keyEntry(t *layout.Table, segments []string) string {
	return "key: " + r.written(t).KeyText(segments)
}

// newTable proposes an additional table for a query. If the query names its table, the
// proposal names the new one.
func (r reporter) newTable(l *layout.Layout, q *layout.Query) block {
	lines := block(q.Table.NewTable(r.schema, l, q.By))
	if q.Named.IsValid() {
		name := strings.TrimSuffix(strings.TrimSpace(lines[1]), ":")
		lines = append(lines, "queries:", "  "+q.Name+": {table: "+name+"}")
	}
	return lines
}

// segmentsOf returns the segments of a key as the schema declares them. A tie-breaker that is in
// qualifiers is the last one.
func segmentsOf(t *layout.Table) []string {
	var out []string
	for _, g := range t.Segments {
		out = append(out, t.Source(&g).Text)
	}
	if t.Sequence {
		out = append(out, "{sequence: true}")
	}
	return out
}

// segments proposes the segments entry of a key.
func segments(texts []string) string { return diag.Code(layout.SegmentsText(texts)) }

// withSegment proposes the segments of a key with g replaced by text.
func withSegment(t *layout.Table, g *codec.Segment, text string) string {
	out := segmentsOf(t)
	for i := range t.Segments {
		if t.Source(&t.Segments[i]) == t.Source(g) {
			out[i] = text
		}
	}
	return segments(out)
}

// salted proposes the segments of a key with a salt of the given series values in front.
func salted(l *layout.Layout, t *layout.Table, of ...int) string {
	behind := slices.IndexFunc(t.Segments, func(g codec.Segment) bool { return g.Kind != codec.ConstSegment })
	return segments(slices.Insert(segmentsOf(t), max(0, behind), l.SaltText(of, layout.UsualSalt)))
}

// timeLast returns the segments of a key reordered: the time after all series values, and
// series values of type timestamp after the others.
func timeLast(l *layout.Layout, t *layout.Table) []codec.Segment {
	rank := func(g codec.Segment) int {
		switch g.Kind {
		case codec.ConstSegment:
			return 0
		case codec.SaltSegment:
			return 1
		case codec.SeriesSegment:
			if l.Series[g.Series].Type == schema.Timestamp {
				return 3
			}
			return 2
		case codec.MetricSegment:
			return 4
		case codec.BucketSegment, codec.TimeSegment:
			return 5
		}
		return 6
	}
	out := slices.Clone(t.Segments)
	slices.SortStableFunc(out, func(a, b codec.Segment) int { return rank(a) - rank(b) })
	return out
}

// suits reports whether the rows of a bucket satisfy L03, L15 and T15: size with room to
// grow, number of cells, and a width of at most the shortest time to live.
func suits(e estimate.Estimate, width codec.Bucket) bool {
	return e.Row.Typical <= recommendedRowBytes/2 && e.CellsPerRow <= maxRowCells && (e.Shortest == 0 || width.Widest() <= e.Shortest)
}

// narrower proposes the widest of the usual buckets that satisfies all rules about row
// size, so that these rules agree on one proposal.
func (r reporter) narrower(l *layout.Layout, t *layout.Table) string {
	for _, width := range t.Narrower() {
		if other := t.WithBucket(l, width); width%l.Precision == 0 && suits(estimate.Of(l, other), other.Bucket) {
			return declared(l, "use "+r.bucket(t, other))
		}
	}
	return declared(l, "use a pattern with a row per event")
}

// declared extends a hint with how to declare the rate, if the rate is assumed.
func declared(l *layout.Layout, hint string) string {
	if !l.Load().AssumedRate {
		return hint
	}
	line, block, isBlock := strings.Cut(hint, "\n")
	if isBlock {
		return "declare the rate, as in expect: {rate: 1/m}, or " + line + "\n" + block
	}
	return line + "; or declare the rate, as in expect: {rate: 1/m}"
}

// bucket proposes the bucket of t with the width of other's. It keeps the label if that
// is unambiguous for the new width.
func (r reporter) bucket(t, other *layout.Table) string {
	s := r.written(t)
	out := schema.Bucket{Every: schema.Value[schema.Span]{V: schema.Span{Fixed: other.Bucket.Every}}}
	kept := t.Bucket
	kept.Every, kept.Months = other.Bucket.Every, 0
	apart := kept.Label.Kind != codec.NumberLabel && kept.Validate() == nil // week0001 does not label a day
	if apart {
		out.Origin, out.Label = s.Bucket.Origin, s.Bucket.Label
	}
	entry, wider := "bucket: "+out.String(), "buckets of "+schema.FormatDuration(other.Bucket.Every)+":"
	if t.Endless() {
		return wider + inTable(t.ID, entry, r.keyEntry(t, append(segmentsOf(t), "bucket"))).String()
	}
	for i, g := range t.Segments {
		if g.Kind == codec.BucketSegment && t.Source(&g).Text != "bucket" && !apart {
			texts := segmentsOf(t)
			texts[i] = "bucket"
			return wider + inTable(t.ID, entry, r.keyEntry(t, texts)).String()
		}
	}
	return diag.Code(entry)
}
