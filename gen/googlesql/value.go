package googlesql

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// sqlValue is an expression of GoogleSQL for Bigtable.
type sqlValue struct {
	expr  string
	typ   string // such as INT64; empty for a family
	about string // what the reader of a query must know; may be empty
}

// with returns the value with a remark.
func (v sqlValue) with(format string, args ...any) sqlValue {
	v.about = fmt.Sprintf(format, args...)
	return v
}

// call returns the result of a function.
func (v sqlValue) call(function, typ string) sqlValue {
	return sqlValue{function + "(" + v.expr + ")", typ, v.about}
}

// cast returns the value as another type.
func (v sqlValue) cast(typ string) sqlValue {
	if v.typ == typ {
		return v
	}
	return sqlValue{"CAST(" + v.expr + " AS " + typ + ")", typ, v.about}
}

// finite returns a number that is NULL if it is NaN or infinite: Bigtable leaves rows with such statistics out of materialized
// views.
func (v sqlValue) finite() sqlValue {
	const largest = "1.7976931348623157e308"
	return sqlValue{"CASE WHEN " + v.expr + " BETWEEN -" + largest + " AND " + largest + " THEN " + v.expr + " END", v.typ, v.about}
}

// micros returns a number of nanoseconds since 1970 as a time. GoogleSQL has no finer times.
func (v sqlValue) micros() sqlValue {
	return sqlValue{"TIMESTAMP_MICROS(DIV(" + v.expr + ", 1000))", "TIMESTAMP", v.about}.with("without nanoseconds.")
}

// minus returns a reversed number: the difference to the largest one.
func (v sqlValue) reversed(largest uint64) sqlValue {
	return sqlValue{"(" + strconv.FormatUint(largest, 10) + " - " + v.expr + ")", v.typ, v.about}
}

// cell returns the cell of a column.
func cell(family, qualifier string) sqlValue {
	literal := bytesLiteral(qualifier)
	if utf8.ValidString(qualifier) {
		literal = stringLiteral(qualifier)
	}
	return sqlValue{expr: backquoted(family) + "[" + literal + "]", typ: "BYTES"}
}

// decoded decodes a cell.
func (v sqlValue) decoded(l *layout.Layout, t *layout.Table, c *layout.Column) sqlValue {
	switch {
	case c.Field == layout.WholeEvent && t.Blob == layout.JSONText:
		return v.cast("STRING").with("the event in JSON.")
	case c.Field == layout.WholeEvent:
		return v.with("the event in protobuf, as message %s.%s.", l.Package, l.Name)
	case c.Field == layout.WrittenAt:
		return v.field(&layout.Field{Type: schema.Timestamp}, c.Values)
	case c.Was != nil:
		return v.field(c.Was, c.Values)
	}
	return v.field(&l.Fields[c.Field], c.Values)
}

// field decodes the value of a field. A value that GoogleSQL would change stays as it is stored.
func (v sqlValue) field(f *layout.Field, as codec.Values) sqlValue {
	switch as {
	case codec.TextValues:
		return valueTypes[f.Type].text(v.cast("STRING"))
	case codec.BigEndianValues:
		return v.with("a number of 4 bytes, big-endian.")
	case codec.LittleEndianValues:
		return v.with("a number in little-endian bytes.")
	}
	return valueTypes[f.Type].binary(v, f)
}

// maxCase is the number of values of an enum up to which a view has their names.
const maxCase = 100

// enum returns the name of an enum's value, of which v is the number.
func (v sqlValue) enum(f *layout.Field) sqlValue {
	if len(f.Enum) > maxCase {
		return v.with("the number of a value.")
	}
	var b strings.Builder
	b.WriteString("CASE " + v.expr)
	for _, value := range f.Enum {
		fmt.Fprintf(&b, " WHEN %d THEN %s", value.Number, stringLiteral(value.Name))
	}
	return sqlValue{b.String() + " END", "STRING", v.about}
}

// segment decodes a series value in the row key.
func (v sqlValue) segment(f *layout.Field, form codec.KeyForm) sqlValue {
	hex := form.Encoding == codec.KeyHex || form.Encoding == codec.KeyText && f.Type == schema.Bytes
	switch {
	case hex && f.Type == schema.String:
		return v.call("FROM_HEX", "BYTES").cast("STRING")
	case hex && f.Type == schema.Bytes:
		return v.call("FROM_HEX", "BYTES")
	case !hex && form.Encoding.Alphabet() != "": // GoogleSQL does not decode these alphabets
		return v.with("%s without padding.", form.Encoding)
	}
	switch f.Type {
	case schema.Bool:
		return v.cast("BOOL")
	case schema.Timestamp:
		v = v.cast("INT64")
		if form.Reverse {
			v = v.reversed(1<<63 - 1)
		}
		return v.micros()
	case schema.Duration:
		return v.number(f, form).with("nanoseconds.")
	case schema.Enum:
		if form.Encoding != codec.KeyText {
			return v.number(f, form).with("%s.", EnumValues(f))
		}
	}
	if f.Type.Traits().Integer() {
		return v.number(f, form)
	}
	return v
}

// number decodes a number in the row key. One that could exceed INT64 stays text.
func (v sqlValue) number(f *layout.Field, form codec.KeyForm) sqlValue {
	hex := form.Encoding == codec.KeyHex
	digits := 18 // of which all numbers fit
	if hex {
		digits = 15
	}
	switch wide := form.Pad > digits; {
	case f.Type == schema.Uint64 && (form.Pad == 0 || wide), wide && form.Reverse && (hex || form.Pad > 19):
		return v.with("the digits of the row key, since INT64 does not have all numbers.")
	}
	if hex {
		v.expr = "CONCAT('0x', " + v.expr + ")"
	}
	v = v.cast("INT64")
	if !form.Reverse {
		return v
	}
	base, largest := uint64(10), uint64(1)
	if hex {
		base = 16
	}
	for range form.Pad {
		largest *= base
	}
	if form.Pad == 19 {
		return v.reversed(1<<63 - 1)
	}
	return v.reversed(largest - 1)
}

// time decodes a time in the row key.
func (v sqlValue) time(f codec.TimeFormat) sqlValue {
	if f.Kind == codec.LayoutTime {
		format, ok := strptime(f.Layout)
		if !ok {
			return v
		}
		return sqlValue{"PARSE_TIMESTAMP('" + format + "', " + v.expr + ")", "TIMESTAMP", v.about}
	}
	function, digits := "", 0
	switch f.Kind {
	case codec.UnixSeconds:
		function, digits = "TIMESTAMP_SECONDS", 10
	case codec.UnixMillis:
		function, digits = "TIMESTAMP_MILLIS", 13
	case codec.UnixMicros:
		function, digits = "TIMESTAMP_MICROS", 16
	case codec.UnixNanos:
		digits = 19
	default:
		return v
	}
	n := v.cast("INT64")
	switch {
	case f.From == codec.MaxUint64:
		return v // of 20 digits
	case f.From != codec.Largest:
		n = n.reversed(f.From.Value())
	case f.Reverse:
		n = n.number19(digits)
	}
	if function == "" {
		return n.micros()
	}
	return n.call(function, "TIMESTAMP")
}

// number19 returns a reversed number of a time with that many digits.
func (v sqlValue) number19(digits int) sqlValue {
	if digits >= 19 {
		return v.reversed(1<<63 - 1)
	}
	largest := uint64(1)
	for range digits {
		largest *= 10
	}
	return v.reversed(largest - 1)
}

// strptime translates a layout of package time for PARSE_TIMESTAMP. It reports false if that has
// no equivalent.
func strptime(layout string) (string, bool) {
	var b strings.Builder
next:
	for layout != "" {
		for _, e := range timeElements {
			if rest, is := strings.CutPrefix(layout, e.layout); is {
				b.WriteString(e.format)
				layout = rest
				continue next
			}
		}
		if '0' <= layout[0] && layout[0] <= '9' { // another fraction, or the day of the year
			return "", false
		}
		b.WriteByte(layout[0])
		layout = layout[1:]
	}
	return b.String(), true
}

// timeElements are the elements of layouts, longer ones first.
var timeElements = []struct{ layout, format string }{
	{"2006", "%Y"}, {"05.000", "%E*S"}, {"01", "%m"}, {"02", "%d"}, {"15", "%H"}, {"04", "%M"}, {"05", "%S"},
}
