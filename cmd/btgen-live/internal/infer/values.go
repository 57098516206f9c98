package infer

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// coding is a type of the schema language, and how its values are stored.
type coding struct {
	typ    string
	values string // text, binary, big_endian or little_endian; empty if it makes no difference
	doubt  string // a question about the type; empty if there is none
}

// values are what is known of the values of a column, which are examined one by one.
type values struct {
	n, empty  int
	total     int64 // bytes
	not       [kinds]bool
	example   []byte          // the first value that is not empty
	now       int64           // number of integers that are milliseconds of a plausible time
	exponents int             // binary numbers that end with the exponent of a little-endian float
	distinct  map[string]bool // some of the binary numbers
	numbers   int             // values that are numbers as text
	other     []byte          // the first that is no number
	zero      int             // binary numbers that are zero
	decimals  map[int]bool    // numbers of decimals of the values that are numbers as text
	rounded   []byte          // the first number as text that ends with zeros after the point, other than .0
	zoned     []byte          // the first time as text with an offset
}

// Kinds of values, in the order in which they are tried.
const (
	isText = iota // text without control characters
	isInt
	isFloat
	isBool
	isUUID
	isTime   // RFC 3339
	isJSON   // an object or an array
	isObject // if it is JSON
	isBinaryFloat64
	isBinaryInt64
	isBinaryNanos
	isLittleFloat64
	isLittleInt64
	isBinaryFloat32
	isBinaryInt32
	isLittleFloat32
	isLittleInt32
	isBinaryBool
	isBinaryUUID
	kinds
)

// identifiers are the types of IDs: hardly any other value looks like theirs.
var identifiers = []struct {
	typ          string
	text, binary int // kinds
}{
	{"uuid", isUUID, isBinaryUUID},
}

// identifier returns the type of an ID as text; empty if it is none.
func identifier(b []byte) string {
	for _, id := range identifiers {
		if len(b) > 0 && is(id.text, b) {
			return id.typ
		}
	}
	return ""
}

// binaryIdentifier returns the type of an ID in binary; empty if it is none.
func binaryIdentifier(b []byte) string {
	for _, id := range identifiers {
		if len(b) > 0 && is(id.binary, b) {
			return id.typ
		}
	}
	return ""
}

// identified returns the type of values that are all IDs of one type; empty if they are not.
func identified(values []string, of func(b []byte) string) string {
	typ := of([]byte(values[0]))
	if !all(values, func(v string) bool { return of([]byte(v)) == typ }) {
		return ""
	}
	return typ
}

// add examines one more value.
func (v *values) add(b []byte) {
	v.n++
	v.total += int64(len(b))
	if len(b) == 0 {
		v.empty++
		return
	}
	if v.example == nil {
		v.example = b
	}
	if len(b) == 4 || len(b) == 8 {
		v.addBinary(b)
	}
	if bytes.Count(b, []byte{0}) == len(b) {
		v.zero++
	}
	if v.zoned == nil && b[len(b)-1] != 'Z' && is(isTime, b) {
		v.zoned = b
	}
	if is(isInt, b) || is(isFloat, b) {
		v.numbers++
		v.addDecimals(b)
	} else if v.other == nil {
		v.other = b
	}
	for kind := range v.not {
		if !v.not[kind] {
			v.not[kind] = !is(kind, b)
		}
	}
	if n, err := strconv.ParseInt(string(b[:min(len(b), 20)]), 10, 64); !v.not[isInt] && err == nil && plausible(time.UnixMilli(n)) {
		v.now++
	}
}

// addDecimals examines the decimals of a number as text.
func (v *values) addDecimals(b []byte) {
	_, decimals, _ := strings.Cut(string(b), ".")
	if v.decimals == nil {
		v.decimals = map[int]bool{}
	}
	if len(v.decimals) < 2 {
		v.decimals[len(decimals)] = true
	}
	if v.rounded == nil && len(decimals) > 1 && decimals[len(decimals)-1] == '0' && isDigits(decimals) {
		v.rounded = b
	}
}

// addBinary examines the last byte of a binary number: that of a little-endian float is the
// sign and most of the exponent, which hardly varies.
func (v *values) addBinary(b []byte) {
	if last := b[len(b)-1] &^ 0x80; last >= 0x3d && last <= 0x42 || bytes.Count(b, []byte{0}) == len(b) {
		v.exponents++
	}
	if v.distinct == nil {
		v.distinct = map[string]bool{}
	}
	if len(v.distinct) < 4 {
		v.distinct[string(b)] = true
	}
}

// littleFloats reports whether numbers that could be integers are rather floats in the other
// order of bytes.
func (v *values) littleFloats() bool { return v.exponents == v.n && len(v.distinct) > 3 }

// is reports whether a value that is not empty is of a kind.
func is(kind int, b []byte) bool {
	switch kind {
	case isText:
		return text(b)
	case isInt:
		n, err := codec.TextInt64(b)
		return err == nil && strconv.FormatInt(n, 10) == string(b) // without leading zeros, as postal codes have them
	case isFloat:
		_, err := codec.TextFloat64(b)
		return err == nil && strings.ContainsAny(string(b[len(b)-1:]), "0123456789") && exact(string(b))
	case isBool:
		return string(b) == "true" || string(b) == "false"
	case isUUID:
		u, err := codec.ParseUUID(string(b))
		return err == nil && u.String() == string(b)
	case isTime:
		_, err := codec.TextTimestamp(b)
		return err == nil
	case isJSON:
		return (b[0] == '{' || b[0] == '[') && json.Valid(b)
	case isObject:
		return b[0] == '{' // if it is JSON
	case isBinaryBool:
		return len(b) == 1 && b[0] <= 1
	case isBinaryUUID:
		return len(b) == 16 && b[6]>>4 >= 1 && b[6]>>4 <= 8 && b[8]>>6 == 2
	}
	return isNumber(kind, b)
}

// exact reports whether a number is likely one that a float64 holds: one without leading zeros,
// as IDs and postal codes have them, without a plus sign, as phone numbers have it, with digits
// that a float64 keeps, and not like 12e5, which programs write as 1.2e+06.
func exact(s string) bool {
	if s[0] == '+' {
		return false
	}
	s = strings.TrimPrefix(s, "-")
	mantissa, exponent, has := strings.Cut(strings.ToLower(s), "e")
	if has && !strings.Contains(mantissa, ".") && strings.Trim(exponent[:1], "+-") != "" {
		return false
	}
	padded := len(mantissa) > 1 && mantissa[0] == '0' && mantissa[1] != '.'
	f, err := strconv.ParseFloat(mantissa, 64)
	return !padded && err == nil && significant(mantissa) == significant(strconv.FormatFloat(f, 'f', -1, 64))
}

// significant returns the digits of a number without an exponent, without zeros at both ends.
func significant(s string) string {
	return strings.Trim(strings.Replace(s, ".", "", 1), "0")
}

// isNumber reports whether a value is a plausible binary number.
func isNumber(kind int, b []byte) bool {
	switch len(b) {
	case 8:
		big, little := binary.BigEndian.Uint64(b), binary.LittleEndian.Uint64(b)
		switch kind {
		case isBinaryFloat64:
			return likely(math.Float64frombits(big))
		case isBinaryInt64:
			return small(int64(big))
		case isBinaryNanos:
			return big <= math.MaxInt64 && plausible(time.Unix(0, int64(big)))
		case isLittleFloat64:
			return likely(math.Float64frombits(little))
		case isLittleInt64:
			return small(int64(little))
		}
	case 4:
		big, little := binary.BigEndian.Uint32(b), binary.LittleEndian.Uint32(b)
		switch kind {
		case isBinaryFloat32:
			return likely(float64(math.Float32frombits(big)))
		case isBinaryInt32:
			return small(int64(int32(big)) << 28)
		case isLittleFloat32:
			return likely(float64(math.Float32frombits(little)))
		case isLittleInt32:
			return small(int64(int32(little)) << 28)
		}
	}
	return false
}

// likely reports whether a number is probably a measurement.
func likely(f float64) bool {
	return f == 0 || math.Abs(f) > 1e-12 && math.Abs(f) < 1e15
}

// small reports whether an integer has less than 53 bits.
func small(n int64) bool { return n > -1<<52 && n < 1<<52 }

// text reports whether b is text without control characters other than white space.
func text(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f {
			return false
		}
	}
	return utf8.Valid(b)
}

// coding returns the likeliest coding of the values.
func (v *values) coding() coding {
	if v.n == v.empty {
		return coding{typ: "string", doubt: "All values in the sample are empty. Which type is it?"}
	}
	if v.empty > 0 {
		doubt := fmt.Sprintf("%d of %d values are empty. What do they mean?", v.empty, v.n)
		if !v.not[isText] {
			return coding{typ: "string", doubt: doubt}
		}
		return coding{typ: "bytes", values: "binary", doubt: doubt}
	}
	for _, c := range []struct {
		kind int
		coding
	}{
		{isInt, coding{typ: "int64", values: "text"}},
		{isFloat, coding{typ: "float64", values: "text"}},
		{isBool, coding{typ: "bool", values: "text"}},
		{isUUID, coding{typ: "uuid", values: "text"}},
		{isTime, coding{typ: "timestamp", values: "text"}},
		{isJSON, coding{typ: "json"}},
		{isText, coding{typ: "string"}},
		{isBinaryFloat64, coding{typ: "float64", values: "binary"}},
		{isBinaryInt64, coding{typ: "int64", values: "binary"}},
		{isBinaryNanos, coding{typ: "timestamp", values: "binary", doubt: "Are these times, in nanoseconds since 1970?"}},
		{isLittleFloat64, coding{typ: "float64", values: "little_endian"}},
		{isLittleInt64, coding{typ: "int64", values: "little_endian"}},
		{isBinaryFloat32, coding{typ: "float32", values: "binary"}},
		{isBinaryInt32, coding{typ: "int32", values: "big_endian"}},
		{isLittleFloat32, coding{typ: "float32", values: "little_endian"}},
		{isLittleInt32, coding{typ: "int32", values: "little_endian"}},
		{isBinaryBool, coding{typ: "bool", values: "binary"}},
		{isBinaryUUID, coding{typ: "uuid", values: "binary"}},
	} {
		if !v.not[c.kind] {
			switch {
			case c.kind == isBinaryInt64 && !v.not[isLittleFloat64] && v.littleFloats():
				return coding{typ: "float64", values: "little_endian"}
			case c.kind == isBinaryInt32 && !v.not[isLittleFloat32] && v.littleFloats():
				return coding{typ: "float32", values: "little_endian"}
			}
			return v.doubted(c.coding)
		}
	}
	return coding{typ: "bytes", values: "binary", doubt: "What do these bytes mean? An example is " + show(v.example) + "."}
}

// doubted adds the question that a type raises.
func (v *values) doubted(c coding) coding {
	if c.typ == "string" && v.numbers*2 > v.n {
		c.doubt = fmt.Sprintf("%d of %d values are numbers, and others are not, such as %s. Is it a number, and what do the others mean?", v.numbers, v.n, show(v.other))
	}
	switch {
	case c.values != "text" && v.zero == v.n && c.typ != "json" && c.typ != "string":
		c.doubt = "All values in the sample are zero bytes. Is it an integer, a floating-point number or another type?"
	case c.typ == "float64" && c.values == "text" && v.rounded != nil && len(v.decimals) > 1:
		c.doubt = fmt.Sprintf("Values such as %s end with zeros, which a float64 does not keep. Are they numbers, or text such as versions?", show(v.rounded))
	case c.typ == "timestamp" && c.values == "text" && v.zoned != nil:
		c.doubt = fmt.Sprintf("Values such as %s have an offset, which a timestamp does not keep. Is the instant enough, or is it text?", show(v.zoned))
	}
	if c.typ == "int64" && c.values == "text" && v.now == int64(v.n) {
		c.doubt = "Are these milliseconds since 1970?"
	}
	return c
}

// show returns a value for a comment, shortened.
func show(b []byte) string {
	const most = 40
	s := strconv.QuoteToASCII(string(b[:min(len(b), most)]))
	if len(b) > most {
		s += "…"
	}
	return s
}

// isBlob reports whether all values are serialized events: JSON objects or protobuf messages.
func (v *values) isBlob() bool {
	return v.n > 0 && (!v.not[isJSON] && !v.not[isObject] || v.not[isText] && v.coding().typ == "bytes")
}

// cqlTypes are the types of fields for those of columns in CQL. The text of others is stored.
var cqlTypes = map[string]string{
	"ascii": "string", "text": "string", "varchar": "string", "bigint": "int64", "int": "int32", "smallint": "int32", "tinyint": "int32",
	"float": "float32", "double": "float64", "boolean": "bool", "blob": "bytes", "uuid": "uuid", "timeuuid": "uuid", "timestamp": "timestamp",
	"counter": "int64",
}

// cqlTimeID is the type of IDs in CQL that have a time.
const cqlTimeID = "timeuuid"

// cqlDate is the type of days in CQL.
const cqlDate = "date"

// cqlTimes are the types in CQL whose values are times of events, the likeliest first.
var cqlTimes = [][]string{{"timestamp", cqlTimeID}, {cqlDate}}
