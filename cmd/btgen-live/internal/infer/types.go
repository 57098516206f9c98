package infer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// The type of values is a hypothesis that all of them must bear out: the codec reads each, and each is plausible for
// the type. Hypotheses are tried from the most specific to the least; what none explains are bytes.

// data are the values of a column, a member or a field, in the order of the sample.
type data [][]byte

// dataOf returns texts as data.
func dataOf(texts []string) data {
	out := make(data, len(texts))
	for i, s := range texts {
		out[i] = []byte(s)
	}
	return out
}

func (d data) all(has func(b []byte) bool) bool {
	return len(d) > 0 && !slices.ContainsFunc(d, func(b []byte) bool { return !has(b) })
}

// first returns the first value with a property; nil if there is none.
func (d data) first(has func(b []byte) bool) []byte {
	if i := slices.IndexFunc(d, has); i >= 0 {
		return d[i]
	}
	return nil
}

func (d data) count(has func(b []byte) bool) (n int) {
	for _, b := range d {
		if has(b) {
			n++
		}
	}
	return n
}

// distinct returns the different values in order: at most so many, of many more.
func (d data) distinct(most int) (out []string) {
	seen := map[string]bool{}
	for _, b := range d {
		if len(out) == most {
			break
		}
		if !seen[string(b)] {
			seen[string(b)] = true
			out = append(out, string(b))
		}
	}
	return out
}

func (d data) where(has func(b []byte) bool) data {
	return slices.DeleteFunc(slices.Clone(d), func(b []byte) bool { return !has(b) })
}

func isFull(b []byte) bool { return len(b) > 0 }

// example returns the first short value that is not empty.
func (d data) example() string {
	const longest = 64
	return string(d.first(func(b []byte) bool { return len(b) > 0 && len(b) <= longest }))
}

func (d data) bytes() int {
	total := 0
	for _, b := range d {
		total += len(b)
	}
	return total / max(1, len(d))
}

// coding is a hypothesis: a type of the schema language, and how its values are stored.
type coding struct {
	typ     string
	values  string // in the schema language; empty if it makes no difference
	reads   func(b []byte) bool
	certain func(d data) bool     // what values that all are read must have in common; nil for nothing
	text    func(b []byte) string // of a value that is read
	doubts  []doubt
}

// doubt is a question about the type of values that are all read, if they and one of them have some properties. %s stands for that one
// and %f for its float64.
type doubt struct {
	all  func(d data) bool
	some func(b []byte) bool
	ask  string
}

// but returns the hypothesis with doubts.
func (c coding) but(doubts ...doubt) coding {
	c.doubts = doubts
	return c
}

func anyData(data) bool { return true }

func anyValue([]byte) bool { return true }

func each(has func(b []byte) bool) func(data) bool { return func(d data) bool { return d.all(has) } }

func not(has func(b []byte) bool) func([]byte) bool { return func(b []byte) bool { return !has(b) } }

// codingOf returns the first of some hypotheses that all values bear out, and its first doubt about them; nil if there is none.
func codingOf(d data, hypotheses []coding) (c *coding, ask string) {
	i := slices.IndexFunc(hypotheses, func(c coding) bool { return d.all(c.reads) && (c.certain == nil || c.certain(d)) })
	if i < 0 {
		return nil, ""
	}
	for _, of := range hypotheses[i].doubts {
		if b := d.first(of.some); b != nil && of.all(d) {
			f, _ := strconv.ParseFloat(string(b), 64)
			return &hypotheses[i], strings.NewReplacer("%s", show(b), "%f", strconv.FormatFloat(f, 'g', -1, 64)).Replace(of.ask)
		}
	}
	return &hypotheses[i], ""
}

// stored returns the hypothesis that the codec reads values as those of a type, which are plausible.
func stored(typ schema.Type, as codec.Values, plausible func(v any, b []byte) bool) coding {
	f := &layout.Field{Type: typ}
	decode := value.Coding(f, as).Decode
	c := coding{typ: typ.String(), values: as.String()}
	if typ == schema.String || typ == schema.JSON {
		c.values = ""
	}
	c.reads = func(b []byte) bool {
		if len(b) == 0 {
			return false
		}
		v, err := decode(b)
		return err == nil && plausible(v, b)
	}
	c.text = func(b []byte) string {
		v, _ := decode(b)
		return string(value.Append(nil, f, codec.TextValues, v))
	}
	return c
}

// exact returns the hypothesis that values are what the codec writes.
func exact(typ schema.Type, as codec.Values) coding {
	write := value.Coding(&layout.Field{Type: typ}, as).Append
	return stored(typ, as, func(v any, b []byte) bool { return bytes.Equal(write(nil, v), b) })
}

// versions are the doubts about numbers that may be versions: they have different numbers of digits after the point, or there is one only.
var versions = []doubt{
	{data.haveDecimals, regexp.MustCompile(`\.[0-9]+0$`).Match, endWithZeros},
	{func(d data) bool { return len(d.distinct(2)) == 1 }, regexp.MustCompile(`\.[0-9]*[1-9]0+$`).Match, endWithZeros},
}

const endWithZeros = "Values such as %s end with zeros, which a float64 does not keep. Are they numbers, or text such as versions?"

// Hypotheses about texts. That of IDs hardly reads anything else.
var (
	intText = exact(schema.Int64, codec.TextValues).but( // without leading zeros, as postal codes have them
		doubt{each(isMillis), anyValue, "Are these milliseconds since 1970?"})
	floatText = stored(schema.Float64, codec.TextValues, func(_ any, b []byte) bool {
		return usualNumber.Match(b) && isDigits(string(b[len(b)-1:])) && !isRounded(b)
	}).but(versions...)
	boolText = exact(schema.Bool, codec.TextValues)
	idText   = exact(schema.UUID, codec.TextValues)
	timeText = stored(schema.Timestamp, codec.TextValues, func(any, []byte) bool { return true }).but(
		doubt{anyData, regexp.MustCompile(`[^Z]$`).Match, "Values such as %s have an offset, which a timestamp does not keep. Is the instant enough, or is it text?"})
	jsonText = stored(schema.JSON, codec.TextValues, func(_ any, b []byte) bool { return (b[0] == '{' || b[0] == '[') && json.Valid(b) })
	anyText  = stored(schema.String, codec.TextValues, func(_ any, b []byte) bool { return text(b) }).but(
		doubt{each(isNumber), not(floatText.reads), "All values are numbers, but a float64 does not keep %s. Is it text?"},
		doubt{func(d data) bool { return d.count(isNumber)*2 > len(d) }, not(isNumber), "Most values are numbers, and others are not, such as %s. Is it a number, and what do the others mean?"})
)

// Hypotheses about bytes. That of IDs requires the version and the variant of a UUID.
var (
	boolBytes     = exact(schema.Bool, codec.BinaryValues)
	idBytes       = stored(schema.UUID, codec.BinaryValues, func(_ any, b []byte) bool { return b[6]>>4 >= 1 && b[6]>>4 <= 8 && b[8]>>6 == 2 })
	littleFloat64 = stored(schema.Float64, codec.LittleEndianValues, isMeasurement)
	littleFloat32 = stored(schema.Float32, codec.LittleEndianValues, isMeasurement)
)

// cellTexts are the hypotheses about the values of a column that are texts, the most specific first.
var cellTexts = []coding{intText, floatText, boolText, idText, timeText, jsonText, anyText}

// binaryNumbers are the hypotheses about binary numbers. The bytes of a float may also be those of a small integer in the other order:
// see numberOf.
var binaryNumbers = []coding{
	stored(schema.Float64, codec.BinaryValues, isMeasurement),
	stored(schema.Int64, codec.BinaryValues, fewBits(52)),
	stored(schema.Timestamp, codec.BinaryValues, func(v any, _ []byte) bool { return plausible(v.(time.Time)) }),
	littleFloat64,
	stored(schema.Int64, codec.LittleEndianValues, fewBits(52)),
	stored(schema.Float32, codec.BinaryValues, isMeasurement),
	stored(schema.Int32, codec.BigEndianValues, fewBits(24)),
	littleFloat32,
	stored(schema.Int32, codec.LittleEndianValues, fewBits(24)),
}

// isMeasurement reports whether a number is probably a measurement.
func isMeasurement(v any, _ []byte) bool {
	f, _ := v.(float64)
	return f == 0 || math.Abs(f) > 1e-12 && math.Abs(f) < 1e15 || math.IsInf(f, 0) || math.IsNaN(f)
}

// fewBits returns whether an integer has so few bits that it is plausible.
func fewBits(bits int) func(v any, b []byte) bool {
	return func(v any, _ []byte) bool {
		n, _ := v.(int64)
		return n > -1<<bits && n < 1<<bits
	}
}

// numberOf returns the hypothesis about binary numbers that all values bear out, and that shows them with the fewest digits:
// 0, 1 and 0.5 rather than 0, 32831 and 63. If others are borne out, it has a question. It returns nil if there is none.
func (d data) numberOf() (first *coding, doubt string) {
	digits := func(c *coding) (n int) {
		for _, b := range d.distinct(100) {
			n += len(significant(c.text([]byte(b))))
		}
		return n
	}
	var second *coding
	for i := range binaryNumbers {
		c := &binaryNumbers[i]
		switch {
		case !d.all(c.reads):
		case first == nil || digits(c) < digits(first):
			first, second = c, first
		case second == nil:
			second = c
		}
	}
	example := d.first(func(b []byte) bool { return !isZero(b) })
	switch {
	case first != nil && first.typ == "timestamp":
		return first, "Are these times, in nanoseconds since 1970?"
	case second == nil || example == nil:
		return first, ""
	}
	return first, fmt.Sprintf("Values such as %s are %s here, and would be %s as %s, `values: %s`. Which is right?",
		show(example), first.text(example), second.text(example), second.typ, second.values)
}

func isZero(b []byte) bool { return bytes.Count(b, []byte{0}) == len(b) }

func isNumber(b []byte) bool { return intText.reads(b) || floatText.reads(b) }

// significant returns the digits of a number, without zeros at both ends.
func significant(s string) string {
	mantissa, _, _ := strings.Cut(strings.ToLower(s), "e")
	return strings.Trim(strings.Replace(mantissa, ".", "", 1), "-0")
}

// text reports whether b is text without control characters other than white space.
func text(b []byte) bool {
	return utf8.Valid(b) && !bytes.ContainsFunc(b, func(c rune) bool {
		return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7f
	})
}

func isText(s string) bool { return text([]byte(s)) }

// coding returns the coding of the values of a column, and a question about it.
func (d data) coding() (c coding, doubt string) {
	opaque := coding{typ: "bytes", values: "binary"}
	if empty := len(d) - d.count(isFull); empty == len(d) {
		return coding{typ: "string"}, "All values in the sample are empty. Which type is it?"
	} else if empty > 0 {
		if c = opaque; d.all(text) {
			c = coding{typ: "string"}
		}
		return c, fmt.Sprintf("%d of %d values are empty. What do they mean?", empty, len(d))
	}
	found, doubt := codingOf(d, cellTexts)
	if found == nil {
		found, doubt = d.numberOf()
	}
	if found == nil {
		found, doubt = codingOf(d, []coding{boolBytes, idBytes})
	}
	switch {
	case found == nil:
		return opaque, "What do these bytes mean? An example is " + show(d[0]) + "."
	case d.all(isZero):
		doubt = "All values in the sample are zero bytes. Is it an integer, a floating-point number or another type?"
	}
	return *found, doubt
}

// isMillis reports whether an integer is that of the milliseconds of a plausible time.
func isMillis(b []byte) bool {
	n, err := strconv.ParseInt(string(b), 10, 64)
	return err == nil && plausible(time.UnixMilli(n))
}

// haveDecimals reports whether numbers have different numbers of digits after the point.
func (d data) haveDecimals() bool {
	decimals := func(b []byte) int {
		_, after, _ := bytes.Cut(b, []byte("."))
		return len(after)
	}
	return slices.ContainsFunc(d, func(b []byte) bool { return decimals(b) != decimals(d[0]) })
}

// show returns a value for a comment, shortened.
func show[T ~string | ~[]byte](b T) string {
	const most = 40
	s := strconv.QuoteToASCII(string(b[:min(len(b), most)]))
	if len(b) > most {
		s += "…"
	}
	return s
}

// isBlob reports whether all values are serialized events: JSON objects or protobuf messages.
func (d data) isBlob() bool {
	if objects := d.all(isObject); objects || d.all(text) {
		return objects
	}
	c, _ := d.coding()
	return c.typ == "bytes"
}

func isObject(b []byte) bool { return jsonText.reads(b) && b[0] == '{' }

// Types in CQL whose values are times of events.
const (
	cqlTimestamp = "timestamp"
	cqlTimeID    = "timeuuid" // an ID that has a time
	cqlDate      = "date"
)

// cqlTypes are the types of fields for those of columns in CQL. The text of others is stored.
var cqlTypes = map[string]string{
	"ascii": "string", "text": "string", "varchar": "string", "bigint": "int64", "int": "int32", "smallint": "int32", "tinyint": "int32",
	"float": "float32", "double": "float64", "boolean": "bool", "blob": "bytes", "uuid": "uuid", cqlTimeID: "uuid", cqlTimestamp: "timestamp",
	"counter": "int64",
}

// member is a member of JSON, or a field of protobuf, of serialized events.
type member struct {
	name     string
	number   protowire.Number // 0 for JSON
	wire     protowire.Type
	values   data
	last     int  // the event of the last value
	repeated bool // whether events have several values, of which values has the last
}

// members are those of serialized events, by name.
type members map[string]*member

// add adds a value of an event. It returns false if the member has another wire type.
func (all members) add(event int, of member, value []byte) bool {
	m := all[of.name]
	if m == nil {
		m = &member{name: of.name, number: of.number, wire: of.wire, last: -1}
		all[of.name] = m
	}
	if m.last == event {
		m.values, m.repeated = m.values[:len(m.values)-1], true
	}
	m.values, m.last = append(m.values, value), event
	return m.wire == of.wire
}

// setBlob sets the fields of serialized events, and their format; it returns false if values are not serialized.
func (d *draft) setBlob(values data) bool {
	const most = 20_000 // events that are examined
	if !values.isBlob() {
		return false
	}
	blobs, format, ask := data(spread(values, most)), "json", ""
	found := jsonMembers(blobs)
	if !blobs.all(isObject) {
		format = "protobuf"
		found = protoMembers(blobs)
		ask = "What are the fields of the message called, and which integers are uint64, bool, enum or sint64? Protobuf does not store it."
	}
	var fields []field
	for _, m := range slices.SortedFunc(maps.Values(found), func(a, b *member) int {
		return cmp.Or(cmp.Compare(a.number, b.number), strings.Compare(a.name, b.name))
	}) {
		if f := m.field(len(blobs)); f.typ != "" && len(f.name) <= 64 {
			fields = append(fields, f)
		} else {
			ask += fmt.Sprintf(" Field %s is not in the schema: %s", strings.TrimPrefix(f.name, "field_"), f.doubt)
		}
	}
	if len(fields) == 0 || len(fields) > maxColumns {
		return false
	}
	d.fields, d.blob, d.blobAsk = fields, "format: "+format+"}", ask
	return true
}

// field returns the field that a member of so many events is. It has no type if the language has none.
func (m *member) field(events int) field {
	f := field{name: m.name, number: int(m.number), optional: len(m.values) < events}
	if m.number == 0 {
		f.was = m.name
		f.typ, f.doubt = jsonType(m.values)
		return f
	}
	f.doubt = "It has a fixed size, and is no float: the schema language has no such integers."
	if c, doubt := codingOf(m.values, protoCodings[m.wire]); c != nil {
		f.typ, f.doubt, f.example = c.typ, doubt, show(m.values[0])
		f.optional = f.optional && schema.ParseType(c.typ).Traits().ProtoZero // others are zero if they are absent
		if c.text != nil {
			f.example = c.text(m.values[0])
		}
	}
	if m.repeated {
		f.doubt = "It is repeated: only the last value is read."
	}
	return f
}

// jsonMembers returns the members of JSON objects.
func jsonMembers(blobs data) members {
	found := members{}
	for i, blob := range blobs {
		var object map[string]json.RawMessage
		if json.Unmarshal(blob, &object) != nil {
			continue
		}
		for name, value := range object {
			if string(value) != "null" {
				found.add(i, member{name: name}, value)
			}
		}
	}
	return found
}

// Hypotheses about JSON values that are strings, and about others.
var (
	stringCodings = []coding{timeText, idText, {typ: "string", reads: anyValue}}
	jsonCodings   = []coding{boolText, intText, floatText, jsonText}
)

// jsonType returns the type of JSON values other than null, and a question if they are of several.
func jsonType(values data) (typ, doubt string) {
	if texts := unquoted(values); texts != nil {
		c, _ := codingOf(texts, stringCodings)
		return c.typ, ""
	}
	if c, _ := codingOf(values, jsonCodings); c != nil {
		return c.typ, ""
	}
	kind := func(b []byte) int { return (strings.IndexByte(`""tf{[`, b[0]) + 2) / 2 } // of strings, booleans, objects and arrays, and numbers
	if other := values.first(func(b []byte) bool { return kind(b) != kind(values[0]) }); other != nil {
		return "json", fmt.Sprintf("It has values of several types, such as %s and %s. Which is it?", show(values[0]), show(other))
	}
	return "json", "" // a float64 would lose digits
}

// unquoted returns the strings that values are; nil if not all are strings.
func unquoted(values data) (out data) {
	for _, value := range values {
		var s string
		if value[0] != '"' || json.Unmarshal(value, &s) != nil {
			return nil
		}
		out = append(out, []byte(s))
	}
	return out
}

// protoMembers returns the fields of protobuf messages; nil if the values are not messages of one type.
func protoMembers(blobs data) members {
	const largest = 2000 // field number that is expected
	found := members{}
	for i, b := range blobs {
		for len(b) > 0 {
			number, wire, n := protowire.ConsumeTag(b)
			if n < 0 || number > largest || protoCodings[wire] == nil {
				return nil
			}
			size := protowire.ConsumeFieldValue(number, wire, b[n:])
			if size < 0 {
				return nil
			}
			value := b[n : n+size]
			if wire == protowire.BytesType { // without its length
				value, _ = protowire.ConsumeBytes(value)
			}
			if b = b[n+size:]; !found.add(i, member{name: fmt.Sprintf("field_%d", number), number: number, wire: wire}, value) {
				return nil
			}
		}
	}
	return found
}

// protoCodings are the hypotheses about fields of protobuf messages.
var protoCodings = map[protowire.Type][]coding{
	protowire.VarintType: {{typ: "int64", reads: anyValue, text: func(b []byte) string {
		n, _ := protowire.ConsumeVarint(b)
		return fmt.Sprint(int64(n))
	}}},
	protowire.Fixed64Type: {littleFloat64},
	protowire.Fixed32Type: {littleFloat32},
	protowire.BytesType: {
		{typ: "timestamp", reads: isProtoTimestamp}, {typ: "string", reads: text}, idBytes,
		coding{typ: "bytes", reads: anyValue}.but(doubt{anyData, anyValue, "Is it bytes or a message?"}),
	},
}

// isProtoTimestamp reports whether a message is a plausible google.protobuf.Timestamp.
func isProtoTimestamp(b []byte) bool {
	r := codec.NewProtoReader(append(protowire.AppendTag(nil, 1, protowire.BytesType), protowire.AppendBytes(nil, b)...))
	if !r.Next() {
		return false
	}
	t := r.Timestamp()
	return r.Err() == nil && len(b) > 0 && plausible(t) && t.After(time.Time{})
}
