package explain

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// usualWidths are the bucket widths that are compared with the chosen one.
var usualWidths = []time.Duration{time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour}

// Design is the only table of a schema with the events of another one.
type Design struct {
	Pattern, Bucket string // the bucket is empty for a pattern without buckets
	Layout          *layout.Layout
	Table           *layout.Table
}

// Designs returns the table of a schema with an index, and the same events with other patterns, as
// far as they are possible.
func Designs(s *schema.Schema, index int, l *layout.Layout) []Design {
	v := variants{schema: s, index: index, layout: l, table: l.Tables[index]}
	var out []Design
	for _, s := range append([]*schema.Schema{v.alone()}, v.others()...) {
		if l, found := resolved(s); !found.HasErrors() {
			pattern, bucket := designOf(&s.Tables[0])
			out = append(out, Design{pattern, bucket, l, l.Tables[0]})
		}
	}
	return out
}

// designOf returns the pattern and the bucket of a table.
func designOf(t *schema.Table) (pattern, bucket string) {
	if codec.ParsePattern(t.Pattern.V).Bucketed() {
		bucket = t.Bucket.Every.V.String()
	}
	return t.Pattern.V, bucket
}

// resolved resolves and checks a variant.
func resolved(s *schema.Schema) (*layout.Layout, diag.List) {
	l, found := layout.Resolve(s)
	if !found.HasErrors() {
		found = slices.Concat(found, lint.Check(s, l), lint.CheckShared([]*layout.Layout{l}))
	}
	return l, found
}

// variants derives schemas of the same events from a schema, with one table each.
type variants struct {
	schema *schema.Schema
	index  int // of the table
	layout *layout.Layout
	table  *layout.Table
}

// alone returns the schema with only this table, without its earlier layouts and columns,
// and the queries that it answers; queries of other tables are excluded.
func (v *variants) alone() *schema.Schema {
	out := *v.schema
	table := v.schema.Tables[v.index]
	table.Since, table.Before = schema.Value[time.Time]{}, nil
	out.Tables = []schema.Table{table}
	out.Queries = slices.DeleteFunc(slices.Clone(v.schema.Queries), func(q schema.Query) bool {
		return !slices.ContainsFunc(v.layout.Queries, func(other layout.Query) bool {
			return other.Name == q.Name.V && other.Table == v.table
		})
	})
	out.Fields = slices.Clone(v.schema.Fields)
	for i := range out.Fields {
		out.Fields[i].Was = nil
		if !slices.ContainsFunc(table.Families, func(f schema.Family) bool { return f.Name.V == out.Fields[i].Family.V }) {
			out.Fields[i].Family = schema.Value[string]{}
		}
	}
	return &out
}

// others returns the schemas with other patterns.
func (v *variants) others() []*schema.Schema {
	var out []*schema.Schema
	for _, p := range codec.Patterns() {
		if p != v.table.Pattern && !p.NewestOnly() {
			out = append(out, v.with(p, v.width(p)))
		}
	}
	return out
}

// width returns the bucket width for another pattern: that of the table or, if it has no
// buckets, the widest usual one with rows of moderate size.
func (v *variants) width(p codec.Pattern) schema.Span {
	switch {
	case !p.Bucketed():
		return schema.Span{}
	case v.table.Pattern.Bucketed() && !v.table.Endless():
		return schema.Span{Fixed: v.table.Bucket.Every, Months: v.table.Bucket.Months}
	}
	for _, width := range slices.Backward(usualWidths) {
		l, found := layout.Resolve(v.with(p, schema.Span{Fixed: width}))
		if !found.HasErrors() && moderate(l) {
			return schema.Span{Fixed: width}
		}
	}
	return schema.Span{Fixed: usualWidths[0]}
}

// with returns the schema with another pattern and bucket width.
func (v *variants) with(p codec.Pattern, width schema.Span) *schema.Schema {
	out := v.alone()
	t := &out.Tables[0]
	t.Pattern.V = p.String()
	v.reshapeBucket(t, p, width)
	t.Segments = v.segments(t, p)
	if layout.Serializes(p, t, len(out.Fields)) {
		serialize(out, t)
	} else {
		t.Blob = schema.Blob{}
	}
	return out
}

// reshapeBucket changes the bucket of a table. A label that is a number stays, since it
// counts buckets of any width.
func (v *variants) reshapeBucket(t *schema.Table, p codec.Pattern, width schema.Span) {
	if !p.Bucketed() {
		t.Bucket = schema.Bucket{}
		return
	}
	t.Bucket.Pos = t.Name.Pos
	t.Bucket.Every = schema.Value[schema.Span]{V: width, Pos: t.Name.Pos}
	if !v.isBucket(p, width) && !numbered(t.Bucket.Label.V) {
		t.Bucket.Label = schema.Value[string]{}
	}
}

// isBucket reports whether a pattern has the same buckets as the table.
func (v *variants) isBucket(p codec.Pattern, width schema.Span) bool {
	return p.Bucketed() && width == v.schema.Tables[v.index].Bucket.Every.V
}

// segments returns the segments of the key for another pattern.
func (v *variants) segments(t *schema.Table, p codec.Pattern) []schema.Segment {
	var out []schema.Segment
	isTime := func(g schema.Segment) bool { return g.Kind == schema.SegmentTime || g.Kind == schema.SegmentBucket }
	metric := func() {
		if p.RowPerField() {
			name := schema.Value[string]{V: "metric", Pos: t.Key}
			out = append(out, schema.Segment{Pos: t.Key, Kind: schema.SegmentName, Name: name})
		}
	}
	for _, g := range t.Segments {
		switch {
		case v.isMetric(g):
			continue // added before the time below
		case isTime(g):
			metric()
			if !v.isBucket(p, t.Bucket.Every.V) {
				g = retimed(g, p)
			}
			out = append(out, g)
		default:
			out = append(out, g)
		}
	}
	if !slices.ContainsFunc(t.Segments, isTime) && !(p.Bucketed() && t.Bucket.Every.V.Endless()) { // the table is without buckets, and the variant is not
		metric()
		kind := schema.SegmentTime
		if p.Bucketed() {
			kind = schema.SegmentBucket
		}
		out = append(out, schema.Segment{Pos: t.Key, Kind: kind})
	}
	return out
}

// isMetric reports whether a segment is the metric, and not a series value of that name.
func (v *variants) isMetric(g schema.Segment) bool {
	named := func(f schema.Field) bool { return f.Name.V == "metric" }
	return g.Kind == schema.SegmentName && g.Name.V == "metric" && !slices.ContainsFunc(v.schema.Series, named)
}

// serialize makes a table store events as one value, and numbers the fields.
func serialize(s *schema.Schema, t *schema.Table) {
	t.Values = schema.Value[string]{}
	if codec.ParsePattern(t.Pattern.V).Naming() == codec.NamedByTime {
		t.Blob.Column = schema.Value[string]{}
	}
	next := 1
	for _, f := range s.Fields {
		next = max(next, f.Number.V+1)
	}
	for i := range s.Fields {
		if !s.Fields[i].Number.IsSet() {
			s.Fields[i].Number = schema.Value[int]{V: next, Pos: s.Fields[i].Name.Pos}
			next++
		}
	}
}

// retimed returns the segment of the time or the bucket for another pattern or bucket
// width. A format that counts from 1970 fits buckets of all widths.
func retimed(g schema.Segment, p codec.Pattern) schema.Segment {
	wasBucket := g.Kind == schema.SegmentBucket
	switch {
	case !p.Bucketed() && wasBucket:
		g.Kind, g.Format = schema.SegmentTime, schema.Value[string]{}
	case !p.Bucketed(), counted(g.Format.V):
	case g.Reverse.V:
		g.Format = schema.Value[string]{V: "unix_s", Pos: g.Pos}
	default:
		g.Format = schema.Value[string]{}
	}
	if p.Bucketed() {
		g.Kind = schema.SegmentBucket
	}
	return g
}

// counted reports whether a time format counts from 1970.
func counted(format string) bool {
	f, err := layout.ParseTime(format)
	return err == nil && f.Kind != codec.LayoutTime
}

// numbered reports whether a label is a number.
func numbered(label string) bool { return slices.Contains([]byte(label), '%') }

// moderate reports whether the rows of a variant have a moderate size.
func moderate(l *layout.Layout) bool {
	e := estimate.Of(l, l.Tables[0])
	return e.Moderate()
}
