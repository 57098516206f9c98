package layout

import (
	"fmt"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/templates/codec"
)

// Picture draws the form of the row key: location#balloon_id#bucket.
func (t *Table) Picture(l *Layout) string {
	var parts []string
	for _, g := range t.Segments {
		parts = append(parts, t.segmentName(l, g))
	}
	return strings.Join(parts, t.Delimiter)
}

// segmentName is what a segment is called in pictures.
func (t *Table) segmentName(l *Layout, g Segment) string {
	switch g.Kind {
	case SeriesSegment:
		return l.Series[g.Series].Name
	case MetricSegment:
		return "metric"
	case ConstSegment:
		return g.Const
	case BucketSegment:
		return "bucket"
	default:
		return "time"
	}
}

// ExampleTime is an instant that the table can hold: an hour past noon, some
// days after the origin of its buckets if they have one.
func (t *Table) ExampleTime() time.Time {
	at := time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)
	if t.Pattern.Bucketed() && at.Before(t.Bucket.Min()) {
		return t.Bucket.Min()
	}
	return at
}

// ExampleKey returns a row key of the table for a made-up series, by the code
// that makes the keys of real events; empty if there is no such key.
func (t *Table) ExampleKey(l *Layout) string {
	w := codec.NewKeyWriter(nil, t.Delimiter)
	for _, g := range t.Segments {
		switch g.Kind {
		case SeriesSegment:
			writeExample(&w, &l.Series[g.Series])
		case MetricSegment:
			w.String("metric", t.Columns[0].Qualifier)
		case ConstSegment:
			w.Const(g.Const)
		case BucketSegment:
			w.Bucket(t.Bucket, t.ExampleTime())
		case TimeSegment:
			w.Time(t.TimeKey, t.ExampleTime())
		}
	}
	key, err := w.Key()
	if err != nil {
		return ""
	}
	return string(key)
}

// writeExample writes the example of a series value, or a made-up one.
func writeExample(w *codec.KeyWriter, f *Field) {
	switch f.Type {
	case schema.String:
		w.String(f.Name, exampleOf(f, f.Name))
	case schema.Bytes:
		w.Bytes(f.Name, exampleOf(f, []byte{0xca, 0xfe}))
	case schema.Bool:
		w.Bool(f.Name, exampleOf(f, true))
	case schema.Uint32, schema.Uint64:
		w.Uint(f.Name, exampleOf(f, uint64(3698)))
	case schema.Duration:
		w.Duration(f.Name, exampleOf(f, time.Minute))
	case schema.Timestamp:
		w.Timestamp(f.Name, exampleOf(f, time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)))
	case schema.UUID:
		w.String(f.Name, exampleOf(f, "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"))
	case schema.Enum:
		w.String(f.Name, exampleOf(f, f.Enum[0].Name))
	default:
		w.Int(f.Name, exampleOf(f, int64(3698)))
	}
}

// exampleOf returns the example of the schema, or otherwise.
func exampleOf[T any](f *Field, otherwise T) T {
	if v, ok := f.Example.(T); ok {
		return v
	}
	return otherwise
}

// Describe says in words what a segment of the key is.
func (t *Table) Describe(l *Layout, g Segment) string {
	switch g.Kind {
	case SeriesSegment:
		f := l.Series[g.Series]
		return fmt.Sprintf("%s, as text", f.Type)
	case MetricSegment:
		return "the column name of a field"
	case ConstSegment:
		return "fixed text"
	case BucketSegment:
		return "the bucket: " + describeBucket(t.Bucket)
	default:
		return "the time: " + t.TimeKey.String()
	}
}

// describeBucket says how wide a bucket is and how it is labelled.
func describeBucket(b codec.Bucket) string {
	width := schema.FormatDuration(b.Every)
	if b.Months > 0 {
		width = fmt.Sprintf("%dmo", b.Months)
	}
	text := fmt.Sprintf("%s wide, labelled %s", width, b.Label)
	if b.Label.Kind == codec.NumberLabel {
		text += " from " + b.Origin.Format("2006-01-02")
	}
	return text
}
