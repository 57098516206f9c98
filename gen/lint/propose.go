package lint

import (
	"cmp"
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
func (r reporter) newTable() block {
	if !r.t.Until.IsZero() {
		return nil // it is too late for one
	}
	lines := block(r.t.NewTable(r.schema, r.l, r.q.By))
	if r.q.Named.IsValid() {
		name := strings.TrimSuffix(strings.TrimSpace(lines[1]), ":")
		lines = append(lines, "queries:", "  "+r.q.Name+": {table: "+name+"}")
	}
	return lines
}

// segments proposes the segments entry of a key.
func segments(texts []string) string { return diag.Code(layout.SegmentsText(texts)) }

// withSegment proposes the segments of a key with g replaced by text.
func withSegment(t *layout.Table, g *codec.Segment, text string) string {
	out := t.SegmentTexts()
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
	return segments(slices.Insert(t.SegmentTexts(), max(0, behind), l.SaltText(of, layout.UsualSalt)))
}

// timeLast returns the segments of a key reordered: the time after all series values, and
// series values of type timestamp after the others.
func timeLast(l *layout.Layout, t *layout.Table) []codec.Segment {
	ranks := map[codec.SegmentKind]int{
		codec.ConstSegment: 0, codec.SaltSegment: 1, codec.SeriesSegment: 2, codec.MetricSegment: 4,
		codec.BucketSegment: 5, codec.TimeSegment: 5, codec.SequenceSegment: 6,
	}
	rank := func(g codec.Segment) int {
		if g.Kind == codec.SeriesSegment && l.Series[g.Series].Type == schema.Timestamp {
			return 3
		}
		return ranks[g.Kind]
	}
	out := slices.Clone(t.Segments)
	slices.SortStableFunc(out, func(a, b codec.Segment) int { return rank(a) - rank(b) })
	return out
}

// rowPerEvent is proposed where no bucket is narrow enough.
const rowPerEvent = "use a pattern with a row per event"

// narrower proposes the widest of the usual buckets that satisfies L03, L15 and T15, so that these rules agree on one
// proposal: size with room to grow, number of cells, and a width of at most the shortest time to live.
func (r reporter) narrower() string {
	return r.declared(cmp.Or(r.bucketThat(func(t *layout.Table, e estimate.Estimate) bool {
		return e.Row.Typical <= recommendedRowBytes/2 && e.CellsPerRow <= maxRowCells && (e.Shortest == 0 || t.Bucket.Widest() <= e.Shortest)
	}), rowPerEvent))
}

// bucketThat proposes the widest of the usual buckets that fits; empty if none does.
func (r reporter) bucketThat(fits func(other *layout.Table, e estimate.Estimate) bool) string {
	for _, width := range r.t.Narrower() {
		if other := r.t.WithBucket(r.l, width); width%r.l.Precision == 0 && fits(other, estimate.Of(r.l, other)) {
			return "use " + r.bucket(other)
		}
	}
	return ""
}

// declared extends a hint with how to declare the rate, if the rate is assumed.
func (r reporter) declared(hint string) string {
	const declare = "declare the rate, as in expect: {rate: 1/m}"
	line, block, isBlock := strings.Cut(hint, "\n")
	switch {
	case !r.l.Load().AssumedRate:
		return hint
	case isBlock:
		return declare + ", or " + line + "\n" + block
	}
	return line + "; or " + declare
}

// bucket proposes the bucket of the table with the width of other's. It keeps the label if that
// is unambiguous for the new width.
func (r reporter) bucket(other *layout.Table) string {
	s := r.written(r.t)
	out := schema.Bucket{Every: schema.Value[schema.Span]{V: schema.Span{Fixed: other.Bucket.Every}}}
	kept := r.t.Bucket
	kept.Every, kept.Months = other.Bucket.Every, 0
	apart := kept.Label.Kind != codec.NumberLabel && layout.CheckBucket(kept) == nil // week0001 does not label a day
	if apart {
		out.Origin, out.Label = s.Bucket.Origin, s.Bucket.Label
	}
	entry, texts := "bucket: "+out.String(), r.t.SegmentTexts()
	i := slices.IndexFunc(r.t.Segments, func(g codec.Segment) bool { return g.Kind == codec.BucketSegment })
	switch {
	case r.t.Endless():
		texts = append(texts, "bucket")
	case i >= 0 && texts[i] != "bucket" && !apart:
		texts[i] = "bucket"
	default:
		return diag.Code(entry)
	}
	return "buckets of " + schema.FormatDuration(other.Bucket.Every) + ":" + inTable(r.t.ID, entry, r.keyEntry(r.t, texts)).String()
}
