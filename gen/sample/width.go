package sample

import (
	"math"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// This file bounds the stored bytes of an event before compression, in which each cell is
// counted with its row key, family, qualifier, timestamp and value. The bounds differ only in
// the widths of values that the schema does not declare.

// The factors between an assumed average size and its bounds; our judgment. Numbers are
// assumed to be about as long as the example.
const (
	undeclaredText   = 4
	undeclaredNumber = 2
)

// RawEvent returns bounds of the bytes that an event with all fields takes in a table before
// compression.
func RawEvent(l *layout.Layout, t *layout.Table) Bounds {
	var out Bounds
	for _, c := range RawCells(l, t) {
		out = out.plus(c.Bytes)
	}
	return out
}

// RawCell is one cell of an event.
type RawCell struct {
	Column layout.Column
	Bytes  Bounds // with the row key
}

// RawCells is [RawEvent] for each cell of the event; none for an incomplete table.
func RawCells(l *layout.Layout, t *layout.Table) []RawCell {
	if !t.Complete() {
		return nil
	}
	load := l.Load()
	key := rawKey(l, t, load)
	var out []RawCell
	for _, c := range t.Columns {
		bytes := exactly(timestampBytes).plus(familyWidth(t, c)).plus(key)
		datum := rawDatum(l, t, c, load)
		switch {
		case t.Metrics() && c.Field != layout.WrittenAt: // the datum is the qualifier
			bytes = bytes.plus(exactly(float64(len(c.Qualifier) - len(t.Columns[0].Qualifier))))
		case t.HasPoints():
			bytes = bytes.plus(Bounds{2, float64(offsetBytes(l, t))})
		case t.Pattern == codec.BucketOffsets && c.Field != layout.WrittenAt:
			bytes = bytes.plus(exactly(float64(len(t.Offset(l).Append(nil, Time(t), 0)))))
		default:
			bytes = bytes.plus(exactly(float64(len(c.Qualifier))))
		}
		out = append(out, RawCell{c, bytes.plus(datum)})
	}
	return out
}

// familyWidth bounds the length of the name of a column's family: if events have classes,
// each class has its own.
func familyWidth(t *layout.Table, c layout.Column) Bounds {
	out := exactly(float64(len(t.Families[c.Family].Name)))
	if t.HasClasses() {
		for i := range t.Families {
			n := float64(len(t.Families[i].Name))
			out = Bounds{min(out.Lower, n), max(out.Upper, n)}
		}
	}
	return out
}

// rawDatum bounds what a cell stores of an event.
func rawDatum(l *layout.Layout, t *layout.Table, c layout.Column, load layout.Load) Bounds {
	switch c.Field {
	case layout.WrittenAt:
		if c.Values.Text() {
			return textTimestamp
		}
		return exactly(8)
	case layout.WholeEvent:
		return rawBlob(l, t.Blob, load)
	}
	return width(&l.Fields[c.Field], c.Values, load)
}

// exactly returns equal bounds.
func exactly(n float64) Bounds { return Bounds{n, n} }

// plus adds bounds.
func (b Bounds) plus(other Bounds) Bounds {
	return Bounds{b.Lower + other.Lower, b.Upper + other.Upper}
}

// varies reports whether values of a field differ in size, so that it can be declared.
func varies(f *layout.Field, as codec.Values) bool {
	if as == codec.OpenTSDBValues {
		return false // the size does not depend on the digits
	}
	b := typeWidth(f, as, layout.Load{ValueBytes: 1})
	return b.Lower != b.Upper || isVariable(f)
}

// isVariable reports whether values of the field have any length.
func isVariable(f *layout.Field) bool {
	return f.Type == schema.String || f.Type == schema.Bytes || f.Type == schema.JSON
}

// width bounds the average size of a field's value in a cell: the declared one or, without
// one, the shortest and the longest values of the type.
func width(f *layout.Field, as codec.Values, load layout.Load) Bounds {
	if n := load.Widths[f.Name]; n > 0 && varies(f, as) {
		return about(n)
	}
	return typeWidth(f, as, load)
}

// about bounds an average that was rounded to an integer.
func about(n int64) Bounds { return Bounds{float64(n) - 0.5, float64(n) + 0.5} }

// textTimestamp bounds the size of RFC 3339 with up to nanoseconds, in UTC.
var textTimestamp = Bounds{20, 30}

// typeWidth is width without sizes of single values.
func typeWidth(f *layout.Field, as codec.Values, load layout.Load) Bounds {
	switch {
	case as == codec.OpenTSDBValues && f.Type == schema.Int64:
		return Bounds{1, 8}
	case as == codec.OpenTSDBValues:
		return Bounds{4, 8}
	}
	text := as.Text()
	switch f.Type {
	case schema.String, schema.Bytes, schema.JSON:
		return variable(load)
	case schema.Enum:
		if text {
			return enumWidth(f.Enum)
		}
	case schema.Timestamp:
		if text {
			return textTimestamp
		}
	case schema.Duration:
		if text {
			return Bounds{2, 24}
		}
	case schema.Bool:
		if text {
			return Bounds{4, 5}
		}
	default:
		if text && f.Type != schema.UUID {
			return numberWidth(f, len(ShowValue(f, exampleValue(f, 0, exampleTime))))
		}
	}
	return exactly(float64(valueBytes(f, as, layout.Load{})))
}

// exampleTime is any time of an example event.
var exampleTime = time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)

// numberWidth bounds the average length of numbers as text, by that of an example.
func numberWidth(f *layout.Field, example int) Bounds {
	return Bounds{max(1, float64(example)/undeclaredNumber), min(float64(longestNumber[f.Type]), float64(example)*undeclaredNumber)}
}

// longestNumber is the number of characters of the longest numbers of a type.
var longestNumber = map[schema.Type]int{
	schema.Int32: 11, schema.Uint32: 10, schema.Int64: 20, schema.Uint64: 20, schema.Float32: 15, schema.Float64: 24,
}

// variable bounds the average size of values of any length.
func variable(load layout.Load) Bounds {
	n := float64(load.ValueBytes)
	if !load.AssumedValueBytes {
		return about(load.ValueBytes)
	}
	return Bounds{n / undeclaredText, n * undeclaredText}
}

// enumWidth bounds the length of an enum's names.
func enumWidth(e codec.Enum) Bounds {
	out := Bounds{math.Inf(1), 0}
	for _, v := range e {
		out.Lower, out.Upper = min(out.Lower, float64(len(v.Name))), max(out.Upper, float64(len(v.Name)))
	}
	if len(e) == 0 {
		return Bounds{}
	}
	return out
}

// rawBlob bounds the size of a serialized event.
func rawBlob(l *layout.Layout, format layout.Format, load layout.Load) Bounds {
	out := exactly(0)
	for i := range l.Fields {
		f := &l.Fields[i]
		if format == layout.JSONText {
			out = out.plus(exactly(float64(len(f.Name) + 4))).plus(jsonWidth(f, load)) // "name":value,
			continue
		}
		tag := float64(len(strconv.FormatInt(int64(f.Number)<<3, 2))+6) / 7
		out = out.plus(exactly(math.Floor(tag))).plus(protoWidth(f, load))
	}
	if format == layout.JSONText {
		return out.plus(exactly(1)) // two braces and one comma less than fields
	}
	return out
}

// jsonWidth bounds the size of a value in JSON. Escapes are not counted.
func jsonWidth(f *layout.Field, load layout.Load) Bounds {
	b := width(f, codec.TextValues, load)
	switch f.Type {
	case schema.String, schema.UUID, schema.Timestamp, schema.Duration, schema.Enum:
		return b.plus(exactly(2))
	case schema.Bytes:
		return Bounds{4 * math.Ceil(b.Lower/3), 4 * math.Ceil(b.Upper/3)}.plus(exactly(2))
	}
	return b
}

// protoWidth bounds the size of a value in protobuf, without its tag. Zero, which may take
// nothing, is not considered.
func protoWidth(f *layout.Field, load layout.Load) Bounds {
	switch f.Type {
	case schema.Float32, schema.Float64, schema.Bool:
		return exactly(float64(valueBytes(f, codec.BinaryValues, layout.Load{})))
	case schema.UUID:
		return exactly(17)
	case schema.String, schema.Bytes, schema.JSON:
		b := width(f, codec.BinaryValues, load)
		return Bounds{b.Lower + float64(lengthBytes(int64(b.Lower))), b.Upper + float64(lengthBytes(int64(b.Upper)))}
	case schema.Timestamp:
		return Bounds{7, 13} // a message of seconds since 1970 and, if not 0, nanoseconds
	case schema.Duration:
		if v, ok := exampleValue(f, 0, exampleTime).(time.Duration); ok && v%time.Second == 0 {
			return Bounds{3, 7} // as are most others
		}
		return Bounds{3, 13}
	case schema.Enum:
		out := exactly(1)
		for _, v := range f.Enum {
			out.Upper = max(out.Upper, float64(lengthBytes(v.Number)))
		}
		return out
	}
	if v, ok := exampleValue(f, 0, exampleTime).(int64); ok && v < 0 {
		return exactly(10) // as of all negative numbers
	}
	digits := width(f, codec.TextValues, load)
	return Bounds{varintBytes(digits.Lower - 1), varintBytes(digits.Upper)}
}

// varintBytes returns the size of the varints of 10 to some power.
func varintBytes(digits float64) float64 {
	return math.Ceil(max(1, min(digits*math.Log2(10), 64)) / 7)
}

// lengthBytes returns the size of a varint.
func lengthBytes(n int64) int64 {
	size := int64(1)
	for u := uint64(n); u >= 0x80; u >>= 7 {
		size++
	}
	return size
}

// rawKey bounds the average size of the row keys.
func rawKey(l *layout.Layout, t *layout.Table, load layout.Load) Bounds {
	out := exactly(0)
	for i := range t.Segments {
		out = out.plus(exactly(float64(len(t.DelimiterAfter(i)))))
	}
	for i, part := range KeyParts(l, t) {
		bytes := exactly(float64(len(part.Bytes)))
		if g := t.Segments[i]; g.Kind == layout.SeriesSegment {
			bytes = segmentWidth(&l.Series[g.Series], t, g, load, bytes)
		}
		out = out.plus(bytes)
	}
	return out
}

// segmentWidth bounds the average size of a series value in a key. example is the size of
// the example.
func segmentWidth(f *layout.Field, t *layout.Table, g layout.Segment, load layout.Load, example Bounds) Bounds {
	form := g.Form
	fixed := form.Pad > 0 || form.Encoding >= codec.KeyBinary && !isVariable(f)
	switch {
	case fixed, !isVariable(f) && f.Type != schema.Enum && longestNumber[f.Type] == 0:
		return example
	case load.Widths[f.Name] > 0 || isVariable(f) && !load.AssumedValueBytes:
		n := load.Widths[f.Name]
		if n == 0 {
			n = load.ValueBytes
		}
		return Bounds{encodedWidth(f, t, g, about(n).Lower), encodedWidth(f, t, g, about(n).Upper)}
	case f.Type == schema.Enum:
		return enumWidth(f.Enum)
	case isVariable(f):
		return Bounds{max(1, example.Lower/undeclaredText), example.Upper * undeclaredText}
	}
	return numberWidth(f, int(example.Upper))
}

// encodedWidth returns how many bytes a value of n bytes or digits takes in a key.
func encodedWidth(f *layout.Field, t *layout.Table, g layout.Segment, n float64) float64 {
	form := g.Form
	switch {
	case f.Type != schema.String && f.Type != schema.Bytes:
		return n
	case form.Encoding == codec.KeyBase64URL:
		return math.Ceil(4 * n / 3)
	case form.Encoding == codec.KeyHex, f.Type == schema.Bytes && form.Encoding != codec.KeyRaw:
		return 2 * n
	case t.Delimiter == "" && !g.Joined:
		return n + 2 // the end of the value
	}
	return n
}
