package layout

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/templates/codec"
)

// Picture draws the form of the row key: location#balloon_id#bucket.
func (t *Table) Picture(l *Layout) string {
	var parts []string
	for _, g := range t.Segments {
		parts = append(parts, t.segmentName(l, g))
	}
	if t.Delimiter == "" {
		return strings.Join(parts, " ")
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
	case SaltSegment:
		return "salt"
	case SequenceSegment:
		return "sequence"
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
	metric := ""
	if t.Metrics() {
		metric = t.Columns[0].Qualifier
	}
	t.writeExamples(l, &w, t.Segments, ownSalt, metric)
	key, err := w.Key()
	if err != nil {
		return ""
	}
	return string(key)
}

// ownSalt stands for the salt that the values of a key have.
const ownSalt = -1

// writeExamples writes segments of the key of a made-up series.
func (t *Table) writeExamples(l *Layout, w *codec.KeyWriter, segments []Segment, salt int, metric string) {
	for _, g := range segments {
		switch g.Kind {
		case SeriesSegment:
			writeExample(w, &l.Series[g.Series], g.Form)
		case SaltSegment:
			if salt != ownSalt {
				w.SaltNumber(g.Buckets, salt)
				continue
			}
			w.BeginSalt(g.Buckets)
			for _, i := range g.Salted {
				writeExample(w, &l.Series[i], t.FormOf(i))
			}
			w.EndSalt()
		case SequenceSegment:
			w.Sequence(0)
		case MetricSegment:
			w.String("metric", metric)
		case ConstSegment:
			w.Const(g.Const)
		case BucketSegment:
			w.Bucket(t.Bucket, t.ExampleTime())
		case TimeSegment:
			w.Time(t.TimeKey, t.ExampleTime())
		}
	}
}

// ShowKey shows a key or a picture of one on a line: as it is or, where it has
// characters that cannot be shown or is no text at all, as Go quotes it.
func ShowKey(key string) string {
	if key == "" || strings.ContainsFunc(key, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return strconv.Quote(key)
	}
	return key
}

// FormOf returns how a series value is written in the key.
func (t *Table) FormOf(series int) codec.KeyForm {
	for _, g := range t.Segments {
		if g.Kind == SeriesSegment && g.Series == series {
			return g.Form
		}
	}
	return codec.KeyForm{}
}

// writeExample writes the example of a series value, or a made-up one.
func writeExample(w *codec.KeyWriter, f *Field, form codec.KeyForm) {
	switch f.Type {
	case schema.String:
		w.StringAs(f.Name, form, exampleOf(f, f.Name))
	case schema.Bytes:
		w.BytesAs(f.Name, form, exampleOf(f, exampleBytes(form)))
	case schema.Bool:
		w.BoolAs(f.Name, form, exampleOf(f, true))
	case schema.Uint32:
		w.UintAs(f.Name, form, exampleOf(f, uint64(3698)), 32)
	case schema.Uint64:
		w.UintAs(f.Name, form, exampleOf(f, uint64(3698)), 64)
	case schema.Duration:
		w.DurationAs(f.Name, form, exampleOf(f, time.Minute))
	case schema.Timestamp:
		w.TimestampAs(f.Name, form, exampleOf(f, time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)))
	case schema.UUID:
		id, _ := codec.ParseUUID(exampleOf(f, "f81d4fae-7dec-41d0-a765-00a0c91e6bf6")) // the schema has checked it
		w.UUIDAs(f.Name, form, id)
	case schema.Enum:
		number, _ := f.Enum.Number(exampleOf(f, f.Enum[0].Name)) // likewise
		w.EnumAs(f.Name, form, f.Enum, number)
	case schema.Int32:
		w.IntAs(f.Name, form, exampleOf(f, int64(3698)), 32)
	default:
		w.IntAs(f.Name, form, exampleOf(f, int64(3698)), 64)
	}
}

// exampleBytes returns as many bytes as a form wants.
func exampleBytes(form codec.KeyForm) []byte {
	out := []byte{0xca, 0xfe}
	for len(out) < form.Pad {
		out = append(out, 0)
	}
	if form.Pad > 0 {
		out = out[:form.Pad]
	}
	return out
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
		return fmt.Sprintf("%s, %s", f.Type, DescribeForm(g.Form))
	case SaltSegment:
		return l.describeSalt(g)
	case SequenceSegment:
		return "the sequence: the tie-breaker of events of one time"
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

// describeSalt says what a salt is made from.
func (l *Layout) describeSalt(g Segment) string {
	var names []string
	for _, i := range g.Salted {
		names = append(names, l.Series[i].Name)
	}
	return fmt.Sprintf("the salt: the hash of %s, one of %d", strings.Join(names, " and "), g.Buckets)
}

// DescribeForm says in words how a value is written in a key.
func DescribeForm(f codec.KeyForm) string {
	text := "as " + f.Encoding.String()
	if f.Pad > 0 {
		text += fmt.Sprintf(", padded to %d", f.Pad)
	}
	if f.Escape {
		text += ", escaped"
	}
	if f.Reverse {
		text += ", the largest first"
	}
	return text
}
