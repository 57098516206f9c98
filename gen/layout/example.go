package layout

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Picture draws the form of the row key: location#balloon_id#bucket.
func (t *Table) Picture(l *Layout) string {
	var parts []string
	for _, g := range t.Segments {
		parts = append(parts, t.SegmentName(l, g))
	}
	if t.Delimiter == "" {
		return strings.Join(parts, " ")
	}
	return strings.Join(parts, t.Delimiter)
}

// SegmentName is what a segment is called in pictures.
func (t *Table) SegmentName(l *Layout, g Segment) string {
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
	if !t.Pattern.Bucketed() || t.Bucket.Widest() == 0 { // a width may be missing, which is reported
		return at
	}
	switch first, end := t.Bucket.Min(), t.Bucket.Max(); {
	case at.Before(first):
		return first
	case !at.Before(end):
		return t.Bucket.Start(end.Add(-1))
	}
	return at
}

// ExampleKey returns a row key of the table for a made-up series, by the code
// that makes the keys of real events; empty if there is no such key.
func (t *Table) ExampleKey(l *Layout) string {
	key, _ := t.writeKey(l, t.exampleKey())
	return string(key)
}

// writeKey returns the row key with the values of k.
func (t *Table) writeKey(l *Layout, k exampleKey) ([]byte, error) {
	w := t.keyWriter()
	t.writeExamples(l, &w, t.Segments, k)
	return w.Key()
}

// KeyPart is a segment of an example key.
type KeyPart struct {
	Name  string // of the segment, as in pictures
	Bytes string // as they stand in the key, without the delimiter
}

// ExampleParts returns the segments of the example key; none if there is no such
// key.
func (t *Table) ExampleParts(l *Layout) []KeyPart { return t.keyParts(l, t.exampleKey()) }

// keyParts takes an example key apart: a segment is what it adds to the key.
func (t *Table) keyParts(l *Layout, k exampleKey) []KeyPart {
	var out []KeyPart
	before := 0
	for i, g := range t.Segments {
		w := t.keyWriter()
		t.writeExamples(l, &w, t.Segments[:i+1], k)
		prefix, err := w.Prefix()
		if err != nil {
			return nil
		}
		out = append(out, KeyPart{t.SegmentName(l, g), string(prefix[before : len(prefix)-len(t.Delimiter)])})
		before = len(prefix)
	}
	return out
}

// keyWriter returns a writer of the table's keys, or of their beginnings and ends.
func (t *Table) keyWriter() codec.KeyWriter {
	w := codec.NewKeyWriter(nil, t.Delimiter)
	if t.KeyFields != nil {
		w.Structured()
	}
	return w
}

// ownSalt stands for the salt that the values of a key have.
const ownSalt = -1

// exampleKey is what an example key has besides the values of its series.
type exampleKey struct {
	salt     int    // a salt, or ownSalt
	metric   string // empty where there is none
	at       time.Time
	sequence uint32
}

// exampleKey is that of the example time.
func (t *Table) exampleKey() exampleKey {
	k := exampleKey{salt: ownSalt, at: t.ExampleTime()}
	if t.Metrics() {
		k.metric = t.Columns[0].Qualifier
	}
	return k
}

// writeExamples writes segments of the key of a made-up series.
func (t *Table) writeExamples(l *Layout, w *codec.KeyWriter, segments []Segment, k exampleKey) {
	for _, g := range segments {
		switch g.Kind {
		case SeriesSegment:
			writeExample(w, &l.Series[g.Series], g.Form)
		case SaltSegment:
			if k.salt != ownSalt {
				w.SaltNumber(g.Buckets, k.salt)
				continue
			}
			w.BeginSalt(g.Buckets)
			for _, i := range g.Salted {
				writeExample(w, &l.Series[i], t.FormOf(i))
			}
			w.EndSalt()
		case SequenceSegment:
			w.Sequence(k.sequence)
		case MetricSegment:
			w.String("metric", k.metric)
		case ConstSegment:
			w.Const(g.Const)
		case BucketSegment:
			if t.Bucket.Widest() > 0 {
				w.Bucket(t.Bucket, k.at)
			}
		case TimeSegment:
			w.Time(t.TimeKey, k.at)
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

// writeExample writes the example of a series value.
func writeExample(w *codec.KeyWriter, f *Field, form codec.KeyForm) {
	switch v := exampleSeries(f, form).(type) {
	case string:
		writeExampleName(w, f, form, v)
	case []byte:
		w.BytesAs(f.Name, form, v)
	case bool:
		w.BoolAs(f.Name, form, v)
	case uint64:
		w.UintAs(f.Name, form, v, bits(f.Type))
	case int64:
		w.IntAs(f.Name, form, v, bits(f.Type))
	case time.Duration:
		w.DurationAs(f.Name, form, v)
	case time.Time:
		w.TimestampAs(f.Name, form, v)
	}
}

// writeExampleName is writeExample for the types whose values the schema writes as
// strings.
func writeExampleName(w *codec.KeyWriter, f *Field, form codec.KeyForm, v string) {
	switch f.Type {
	case schema.UUID:
		w.UUIDAs(f.Name, form, parsedUUID(v))
	case schema.Enum:
		w.EnumAs(f.Name, form, f.Enum, f.number(v))
	default:
		w.StringAs(f.Name, form, v)
	}
}

// bits is the size of a number.
func bits(t schema.Type) int {
	if t == schema.Int32 || t == schema.Uint32 {
		return 32
	}
	return 64
}

// ExampleSeries returns the series value with an index that examples of the table
// have, typed as Field.Default.
func (t *Table) ExampleSeries(l *Layout, series int) any {
	return exampleSeries(&l.Series[series], t.FormOf(series))
}

// exampleSeries returns the example of a series value, or a made-up one.
func exampleSeries(f *Field, form codec.KeyForm) any {
	if f.Example != nil {
		return f.Example
	}
	switch f.Type {
	case schema.String:
		return f.Name
	case schema.Bytes:
		return exampleBytes(form)
	case schema.Bool:
		return true
	case schema.Uint32, schema.Uint64:
		return uint64(3698)
	case schema.Duration:
		return time.Minute
	case schema.Timestamp:
		return time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)
	case schema.UUID:
		return "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"
	case schema.Enum:
		return f.Enum[0].Name
	}
	return int64(3698)
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

// CountBytes writes a number of bytes.
func CountBytes(n int) string {
	if n == 1 {
		return "1 byte"
	}
	return fmt.Sprintf("%d bytes", n)
}

// Describe says in words what a segment of the key is.
func (t *Table) Describe(l *Layout, g Segment) string {
	if g.Kind == SeriesSegment {
		return l.Series[g.Series].Name + ": " + t.Means(l, g)
	}
	return t.Means(l, g)
}

// Means is Describe without the name of a series value.
func (t *Table) Means(l *Layout, g Segment) string {
	switch g.Kind {
	case SeriesSegment:
		return fmt.Sprintf("%s, %s", l.Series[g.Series].Type, DescribeForm(g.Form))
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
	text := fmt.Sprintf("%s wide, labelled %s", schema.Span{Fixed: b.Every, Months: b.Months}, b.Label)
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

// Holds says in words what a row of the table and its cells hold.
func (t *Table) Holds(l *Layout) string {
	switch t.Pattern {
	case BucketNewColumns:
		holds := "A row holds one field of the events of a bucket: each value is a column without a value of its own, and the cell's timestamp is the event's time."
		if t.RowsPerEvent() > 1 {
			holds += " An event is several rows, so that it cannot be written with WriteOptions.IfAbsent."
		}
		return holds
	case BucketNewCells:
		return "A row holds the events of a bucket: each column has a cell for each event, and the cell's timestamp is the event's time."
	case BucketSerialized:
		return "A row holds the events of a bucket: each is a cell with all fields, and the cell's timestamp is the event's time."
	case BucketOffsets:
		return t.holdsOffsets(l)
	case SingleSerialized:
		return "A row holds one event, as a cell with all fields."
	}
	return "A row holds one event, with a column for each field."
}

// holdsOffsets is Holds for rows whose columns are named by time.
func (t *Table) holdsOffsets(l *Layout) string {
	holds := "the value"
	if t.Serialized() {
		holds = "all fields"
	}
	width := t.Offset(l).Width()
	bytes := fmt.Sprintf("%d bytes", width)
	if width == 1 {
		bytes = "1 byte"
	}
	return fmt.Sprintf("A row holds the events of a bucket: each is a column with %s, named by its time since the start of the bucket, in steps of %s, big-endian in %s.",
		holds, schema.FormatDuration(l.Precision), bytes)
}

// DescribeBucket says how wide the table's buckets are, as a schema does; empty if
// it has none.
func (t *Table) DescribeBucket() string {
	if !t.Pattern.Bucketed() {
		return ""
	}
	return schema.Span{Fixed: t.Bucket.Every, Months: t.Bucket.Months}.String()
}
