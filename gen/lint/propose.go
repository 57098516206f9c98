package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/sample"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// This file writes what messages propose: YAML that can be pasted.

// code writes a proposal.
func code(format string, args ...any) string { return diag.Code(fmt.Sprintf(format, args...)) }

// allow writes the excuse of a rule.
func allow(rule, reason string) string { return code("allow: {%s: %q}", rule, reason) }

// block writes a proposal of several lines after a hint: entries from the top of the
// schema on.
func block(hint string, lines ...string) string { return hint + ":\n" + strings.Join(lines, "\n") }

// inTable writes entries of a table, as lines from the top of the schema on.
func inTable(id string, entries ...string) []string {
	lines := []string{"tables:", "  " + schema.Quoted(id) + ":"}
	for _, e := range entries {
		lines = append(lines, "    "+e)
	}
	return lines
}

// written is a table as the schema has it.
func (r reporter) written(t *layout.Table) *schema.Table {
	i := slices.IndexFunc(r.schema.Tables, func(s schema.Table) bool { return s.Name.V == t.ID })
	return &r.schema.Tables[i]
}

// keyEntry writes the key of a table with other segments.
func (r reporter) keyEntry(t *layout.Table, segments []string) string {
	return "key: " + r.written(t).KeyText(segments)
}

// newTable proposes one more table for a query, which names it if it has named another.
func (r reporter) newTable(l *layout.Layout, q *layout.Query, hint string) string {
	lines := q.Table.NewTable(r.schema, l, q.By)
	if q.Named.IsValid() {
		name := strings.TrimSuffix(strings.TrimSpace(lines[1]), ":")
		lines = append(lines, "queries:", "  "+q.Name+": {table: "+name+"}")
	}
	return block(hint, lines...)
}

// segmentsOf returns the segments of a key as the schema has them, the tie-breaker of
// bucket_offsets at their end.
func segmentsOf(t *layout.Table) []string {
	var out []string
	for _, g := range t.Segments {
		out = append(out, g.Text)
	}
	if t.Sequence {
		out = append(out, "{sequence: true}")
	}
	return out
}

// segments writes the segments of a key.
func segments(texts []string) string { return diag.Code(layout.SegmentsText(texts)) }

// withSegment writes the segments of a key, one of them in another form.
func withSegment(t *layout.Table, g layout.Segment, text string) string {
	out := segmentsOf(t)
	for i := range t.Segments {
		if t.Segments[i].Pos == g.Pos {
			out[i] = text
		}
	}
	return segments(out)
}

// usualSalt is how many values a salt has that is proposed.
const usualSalt = 16

// salted writes the segments of a key behind a salt of some series values.
func salted(l *layout.Layout, t *layout.Table, of ...int) string {
	salt := layout.Segment{Kind: layout.SaltSegment, Text: l.SaltText(of, usualSalt)}
	return segments(segmentsOf(rewrite(t, behindConst(t.Segments, salt))))
}

// behindConst returns segments with one more in front, but for fixed text.
func behindConst(segments []layout.Segment, first layout.Segment) []layout.Segment {
	i := slices.IndexFunc(segments, func(g layout.Segment) bool { return g.Kind != layout.ConstSegment })
	return slices.Insert(slices.Clone(segments), max(0, i), first)
}

// timeLast returns the segments of a key in another order: the time after all series
// values, of which those of times are last.
func timeLast(l *layout.Layout, t *layout.Table) []layout.Segment {
	rank := func(g layout.Segment) int {
		switch g.Kind {
		case layout.ConstSegment:
			return 0
		case layout.SaltSegment:
			return 1
		case layout.SeriesSegment:
			if l.Series[g.Series].Type == schema.Timestamp {
				return 3
			}
			return 2
		case layout.MetricSegment:
			return 4
		case layout.BucketSegment, layout.TimeSegment:
			return 5
		}
		return 6
	}
	out := slices.Clone(t.Segments)
	slices.SortStableFunc(out, func(a, b layout.Segment) int { return rank(a) - rank(b) })
	return out
}

// rewrite returns a table with the segments of another key, for a look at what it would
// be.
func rewrite(t *layout.Table, segments []layout.Segment) *layout.Table {
	out := *t
	out.Segments = segments
	return &out
}

// suits reports whether rows of a bucket are as the rules want them: read by Bigtable
// with room to grow, of not too many cells, and no wider than what lives in them.
func suits(e sample.Estimate, width codec.Bucket) bool {
	return e.Row.Upper <= maxRowAdvised/2 && e.CellsPerRow <= maxRowCells && (e.Shortest == 0 || width.Widest() <= e.Shortest)
}

// narrower proposes the widest of the usual buckets with which no rule about the size of
// rows finds anything, so that all of them propose the same one.
func (r reporter) narrower(l *layout.Layout, t *layout.Table) string {
	for _, width := range t.Narrower() {
		if other := t.WithBucket(l, width); width%l.Precision == 0 && suits(sample.EstimateOf(l, other), other.Bucket) {
			return declared(l, "use "+r.bucket(t, other))
		}
	}
	return declared(l, "use a pattern with a row per event")
}

// declared adds to a hint how to declare the rate, if it is assumed.
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

// bucket writes the bucket of a table as wide as that of another. What the label says
// stays as far as it tells such buckets apart.
func (r reporter) bucket(t, other *layout.Table) string {
	s := r.written(t)
	out := schema.Bucket{Every: schema.Value[schema.Span]{V: schema.Span{Fixed: other.Bucket.Every}}}
	kept := t.Bucket
	kept.Every, kept.Months = other.Bucket.Every, 0
	apart := kept.Label.Kind != codec.NumberLabel && kept.Validate() == nil // week0001 is no day
	if apart {
		out.Origin, out.Label = s.Bucket.Origin, s.Bucket.Label
	}
	entry := "bucket: " + out.String()
	for _, g := range t.Segments {
		if g.Kind == layout.BucketSegment && g.Text != "bucket" && !apart {
			texts := segmentsOf(t)
			texts[slices.Index(texts, g.Text)] = "bucket"
			return block("buckets of "+schema.FormatDuration(other.Bucket.Every), inTable(t.ID, entry, r.keyEntry(t, texts))...)
		}
	}
	return diag.Code(entry)
}
