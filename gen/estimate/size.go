package estimate

import (
	"math"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// This file bounds the sizes of the cells of an event.

// The factors between an assumed average size and its bounds; our judgment. Numbers are
// assumed to be about as long as the example.
const (
	undeclaredText   = 4
	undeclaredNumber = 2
)

// CellSize is the size of one cell of an event, and how long it is stored.
type CellSize struct {
	Key, Family, Qualifier, Value Bounds
	Datum                         Bounds // the part of Qualifier that is data
	// Shortest and Longest are how long the cell is live; they differ between TTL classes.
	// They are 0 if it is forever. The row of a series can keep a number of versions: then
	// they are at most the time in which so many events arrive.
	Shortest, Longest time.Duration
}

// Bytes returns the size of the cell.
func (c *CellSize) Bytes() Bounds {
	return exactly(timestampBytes).Plus(c.Key).Plus(c.Family).Plus(c.Qualifier).Plus(c.Value)
}

// events returns how many events of a series with this cell are live at an age of the table,
// and how many are stored until garbage collection, at events per second.
func (c *CellSize) events(age time.Duration, rate float64) (live, kept float64) {
	least, most := age, age
	if c.Longest > 0 {
		least, most = min(age, c.Shortest), min(age, c.Longest+CollectionLag)
	}
	return rate * least.Seconds(), rate * most.Seconds()
}

// stored returns the size of the cells of a series at an age of the table. The lower bound
// includes only live ones, the others also those that expired within the last week.
func (c *CellSize) stored(age time.Duration, rate float64) Bounds {
	live, kept := c.events(age, rate)
	out := c.Bytes().times(kept)
	out.Lower = c.Bytes().Lower * live
	return out
}

// cellsOf returns the cells of an event with all fields in a complete table.
func cellsOf(l *layout.Layout, t *layout.Table, load layout.Load) []CellSize {
	key := keyWidth(l, t, load)
	var out []CellSize
	for _, c := range t.Columns {
		cell := CellSize{Key: key, Family: familyWidth(t, c), Qualifier: exactly(float64(len(c.Qualifier))), Value: datumWidth(l, t, c, load)}
		cell.Shortest, cell.Longest = t.ColumnHorizons(c, load.Rate)
		if t.Pattern.RowPerField() && c.Field != layout.WrittenAt {
			cell.Key = key.Plus(exactly(float64(len(c.Qualifier) - len(t.Columns[0].Qualifier)))) // the key contains the metric
		}
		switch naming := t.Pattern.Naming(); {
		case c.Field == layout.WrittenAt:
		case naming == codec.NamedByValue:
			cell.Qualifier, cell.Datum, cell.Value = cell.Value, cell.Value, Bounds{}
		case naming == codec.NamedByTime:
			cell.Qualifier = offsetWidth(l, t)
			cell.Datum = cell.Qualifier
		}
		out = append(out, cell)
	}
	if sums := t.SumFamily(); sums != nil {
		sum := CellSize{Key: key, Family: exactly(float64(len(sums.Name))), Qualifier: exactly(3), Value: exactly(8)}
		sum.Shortest, sum.Longest = t.ColumnHorizons(t.Columns[0], load.Rate)
		out = append(out, sum)
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
			out.Lower, out.Upper = min(out.Lower, n), max(out.Upper, n)
		}
	}
	return out
}

// offsetWidth bounds the size of the name of a column that is named after a time.
func offsetWidth(l *layout.Layout, t *layout.Table) Bounds {
	return exactly(float64(len(t.Offset(l).Append(nil, sample.Time(t), 0))))
}

// datumWidth bounds what a cell stores of an event.
func datumWidth(l *layout.Layout, t *layout.Table, c layout.Column, load layout.Load) Bounds {
	switch c.Field {
	case layout.WrittenAt:
		if c.Values.Text() {
			return bounds(schema.Timestamp.Traits().TextWidth)
		}
		return exactly(8)
	case layout.WholeEvent:
		return blobWidth(l, t.Blob, load)
	}
	return width(&l.Fields[c.Field], c.Values, load)
}

// varies reports whether values of a field differ in size, so that it can be declared.
func varies(f *layout.Field, as codec.Values) bool {
	b := typeWidth(f, as, layout.Load{Expect: schema.Expect{ValueBytes: 1}})
	return b.Lower != b.Upper || f.Type.Traits().Variable
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
func about(n int64) Bounds { return Bounds{float64(n) - 0.5, float64(n), float64(n) + 0.5} }

// typeWidth is width without sizes of single values.
func typeWidth(f *layout.Field, as codec.Values, load layout.Load) Bounds {
	switch own := f.Type.Traits(); {
	case own.Variable:
		return variable(load)
	case as.Text() && f.Type == schema.Enum:
		return enumWidth(f.Enum)
	case as.Text() && own.TextWidth.Usual == 0:
		return numberWidth(f, len(sample.ShowValue(f, sample.Value(f, 0, exampleTime))))
	case as.Text():
		return bounds(own.TextWidth)
	case (as == codec.BigEndianValues || as == codec.LittleEndianValues) && own.Sized > 0:
		return exactly(float64(own.Sized))
	default:
		return exactly(float64(own.Width))
	}
}

// bounds returns widths as bounds.
func bounds(w schema.Widths) Bounds { return Bounds{w.Least, w.Usual, w.Most} }

// exampleTime is any time of an example event.
var exampleTime = time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)

// numberWidth bounds the average length of numbers as text, by that of an example.
func numberWidth(f *layout.Field, example int) Bounds {
	n := float64(example)
	return Bounds{max(1, n/undeclaredNumber), n, min(f.Type.Traits().TextWidth.Most, n*undeclaredNumber)}
}

// variable bounds the average size of values of any length.
func variable(load layout.Load) Bounds {
	n := float64(load.ValueBytes)
	if !load.AssumedValueBytes {
		return about(load.ValueBytes)
	}
	return Bounds{n / undeclaredText, n, n * undeclaredText}
}

// enumWidth bounds the length of an enum's names.
func enumWidth(e codec.Enum) Bounds {
	if len(e) == 0 {
		return Bounds{}
	}
	out, total := Bounds{Lower: math.Inf(1)}, 0
	for _, v := range e {
		n := float64(len(v.Name))
		out.Lower, out.Upper = min(out.Lower, n), max(out.Upper, n)
		total += len(v.Name)
	}
	out.Typical = float64(total) / float64(len(e))
	return out
}

// blobWidth bounds the size of a serialized event.
func blobWidth(l *layout.Layout, format layout.Format, load layout.Load) Bounds {
	out := exactly(0)
	for i := range l.Fields {
		f := &l.Fields[i]
		if format == layout.JSONText {
			out = out.Plus(exactly(float64(len(f.Name) + 4))).Plus(jsonWidth(f, load)) // "name":value,
			continue
		}
		tag := float64(len(strconv.FormatInt(int64(f.Number)<<3, 2))+6) / 7
		out = out.Plus(exactly(math.Floor(tag))).Plus(protoWidth(f, load))
	}
	if format == layout.JSONText {
		return out.Plus(exactly(1)) // two braces and one comma less than fields
	}
	return out
}

// jsonWidth bounds the size of a value in JSON. Escapes are not counted.
func jsonWidth(f *layout.Field, load layout.Load) Bounds {
	b := width(f, codec.TextValues, load)
	switch {
	case f.Type.Traits().Quoted:
		return b.Plus(exactly(2))
	case f.Type == schema.Bytes:
		return b.each(func(n float64) float64 { return 4*math.Ceil(n/3) + 2 })
	}
	return b
}

// protoWidth bounds the size of a value in protobuf, without its tag. Zero, which may take
// nothing, is not considered.
func protoWidth(f *layout.Field, load layout.Load) Bounds {
	switch own := f.Type.Traits(); {
	case own.Variable:
		return width(f, codec.BinaryValues, load).each(func(n float64) float64 { return n + float64(lengthBytes(int64(n))) })
	case f.Type == schema.Duration:
		if v, ok := sample.Value(f, 0, exampleTime).(time.Duration); ok && v%time.Second == 0 {
			return Bounds{3, 5, 7} // as are most others
		}
		return bounds(own.ProtoWidth)
	case own.ProtoWidth.Most > 0:
		return bounds(own.ProtoWidth)
	case f.Type == schema.Enum:
		out := exactly(1)
		for _, v := range f.Enum {
			out.Upper = max(out.Upper, float64(lengthBytes(v.Number)))
		}
		return out
	}
	if v, ok := sample.Value(f, 0, exampleTime).(int64); ok && v < 0 {
		return exactly(10) // as of all negative numbers
	}
	digits := width(f, codec.TextValues, load)
	return Bounds{varintBytes(digits.Lower - 1), varintBytes(digits.Typical), varintBytes(digits.Upper)}
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

// keyWidth bounds the average size of the row keys.
func keyWidth(l *layout.Layout, t *layout.Table, load layout.Load) Bounds {
	out := exactly(0)
	for i := range t.Segments {
		out = out.Plus(exactly(float64(len(t.DelimiterAfter(i)))))
	}
	for i, part := range sample.KeyParts(l, t) {
		bytes := exactly(float64(len(part.Bytes)))
		if g := t.Segments[i]; g.Kind == codec.SeriesSegment {
			bytes = segmentWidth(&l.Series[g.Series], t, g, load, bytes)
		}
		out = out.Plus(bytes)
	}
	return out.each(func(n float64) float64 { return min(n, codec.MaxKey) }) // longer ones are refused
}

// segmentWidth bounds the average size of a series value in a key. example is the size of
// the example.
func segmentWidth(f *layout.Field, t *layout.Table, g codec.Segment, load layout.Load, example Bounds) Bounds {
	form, own := g.Form, f.Type.Traits()
	fixed := form.Pad > 0 || form.Encoding >= codec.KeyBinary && !own.Variable
	switch {
	case fixed, !own.Variable && f.Type != schema.Enum && own.Number == schema.NoNumber:
		return example
	case load.Widths[f.Name] > 0 || own.Variable && !load.AssumedValueBytes:
		n := load.Widths[f.Name]
		if n == 0 {
			n = load.ValueBytes
		}
		return about(n).each(func(n float64) float64 { return encodedWidth(f, t, g, n) })
	case f.Type == schema.Enum:
		return enumWidth(f.Enum)
	case own.Variable:
		return Bounds{max(1, example.Lower/undeclaredText), example.Typical, example.Upper * undeclaredText}
	}
	return numberWidth(f, int(example.Upper))
}

// encodedWidth returns how many bytes a value of n bytes or digits takes in a key.
func encodedWidth(f *layout.Field, t *layout.Table, g codec.Segment, n float64) float64 {
	form := g.Form
	switch {
	case f.Type != schema.String && f.Type != schema.Bytes:
		return n
	case form.Encoding.Alphabet() != "":
		return math.Ceil(8 * n / math.Log2(float64(len(form.Encoding.Alphabet()))))
	case f.Type == schema.Bytes && form.Encoding != codec.KeyRaw:
		return 2 * n
	case t.Delimiter == "" && !g.Joined:
		return n + 2 // the end of the value
	}
	return n
}
