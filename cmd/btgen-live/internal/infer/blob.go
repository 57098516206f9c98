package infer

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// members are the values of each member of JSON, or of each field of protobuf, of serialized events.
type members map[member]data

// member is a member of serialized events.
type member struct {
	name   string // of JSON
	number protowire.Number
	wire   protowire.Type
}

// setBlob sets the fields of serialized events, and their format; it returns false if values are not serialized.
func (d *draft) setBlob(values data) bool {
	const most = 20_000 // events that are examined
	if !values.isBlob() {
		return false
	}
	blobs, format, ask := data(spread(values, most)), "json", ""
	found, repeated := jsonMembers(blobs), map[protowire.Number]bool(nil)
	if !blobs.all(isObject) {
		format = "protobuf"
		found, repeated = protoMembers(blobs)
		ask = "What are the fields of the message called, and which integers are uint64, bool, enum or sint64? Protobuf does not store it."
	}
	var fields []field
	for _, m := range slices.SortedFunc(maps.Keys(found), func(a, b member) int {
		return int(a.number-b.number) + strings.Compare(a.name, b.name)
	}) {
		f := m.field(found[m], len(blobs))
		if repeated[m.number] {
			f.doubt = "It is repeated: only the last value is read."
		}
		if f.typ == "" || len(f.name) > 64 {
			ask += fmt.Sprintf(" Field %s is not in the schema: %s", strings.TrimPrefix(f.name, "field_"), f.doubt)
			continue
		}
		fields = append(fields, f)
	}
	if len(fields) == 0 || len(fields) > maxColumns {
		return false
	}
	d.fields, d.blob, d.blobAsk = fields, "format: "+format+"}", ask
	return true
}

// field returns the field that a member of so many events is. It has no type if the language has none.
func (m member) field(values data, events int) field {
	f := field{name: m.name, number: int(m.number), optional: len(values) < events}
	if m.number == 0 {
		f.typ, f.doubt = jsonType(values)
		return f
	}
	f.name, f.doubt = fmt.Sprintf("field_%d", m.number), "It has a fixed size, and is no float: the schema language has no such integers."
	if c := codingOf(values, protoCodings[m.wire]); c != nil {
		f.typ, f.doubt, f.example = c.typ, c.doubt, show(values[0])
		f.optional = f.optional && schema.ParseType(c.typ).Traits().ProtoZero // others are zero if they are absent
		if c.text != nil {
			f.example = c.text(values[0])
		}
	}
	return f
}

// jsonMembers returns the members of JSON objects.
func jsonMembers(blobs data) members {
	found := members{}
	for _, blob := range blobs {
		var object map[string]json.RawMessage
		if json.Unmarshal(blob, &object) != nil {
			continue
		}
		for name, value := range object {
			if string(value) != "null" {
				m := member{name: name}
				found[m] = append(found[m], value)
			}
		}
	}
	return found
}

// Hypotheses about JSON values that are strings, and about others.
var (
	stringCodings = slices.Concat([]coding{timeText}, textIDs, []coding{{typ: "string", reads: func([]byte) bool { return true }}})
	jsonCodings   = []coding{boolText, intText, floatText, jsonText}
)

// jsonType returns the type of JSON values other than null, and a question if they are of several.
func jsonType(values data) (typ, doubt string) {
	if texts := unquoted(values); texts != nil {
		return codingOf(texts, stringCodings).typ, ""
	}
	if c := codingOf(values, jsonCodings); c != nil {
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

// protoMembers returns the fields of protobuf messages, and which are repeated: their values are the last ones. It returns nil if the
// values are not messages of one type.
func protoMembers(blobs data) (found members, repeated map[protowire.Number]bool) {
	const largest = 2000 // field number that is expected
	found, repeated = members{}, map[protowire.Number]bool{}
	wires, last := map[protowire.Number]protowire.Type{}, map[protowire.Number]int{}
	for i, b := range blobs {
		for len(b) > 0 {
			number, wire, n := protowire.ConsumeTag(b)
			if n < 0 || number > largest || protoCodings[wire] == nil {
				return nil, nil
			}
			size := protowire.ConsumeFieldValue(number, wire, b[n:])
			if of, known := wires[number]; size < 0 || known && of != wire {
				return nil, nil
			}
			value := b[n : n+size]
			if wire == protowire.BytesType { // without its length
				value, _ = protowire.ConsumeBytes(value)
			}
			m := member{number: number, wire: wire}
			if _, known := wires[number]; known && last[number] == i {
				found[m], repeated[number] = found[m][:len(found[m])-1], true
			}
			wires[number], last[number], found[m], b = wire, i, append(found[m], value), b[n+size:]
		}
	}
	return found, repeated
}

// protoCodings are the hypotheses about fields of protobuf messages.
var protoCodings = map[protowire.Type][]coding{
	protowire.VarintType: {{typ: "int64", reads: func([]byte) bool { return true }, text: func(b []byte) string {
		n, _ := protowire.ConsumeVarint(b)
		return fmt.Sprint(int64(n))
	}}},
	protowire.Fixed64Type: {littleFloat64},
	protowire.Fixed32Type: {littleFloat32},
	protowire.BytesType: slices.Concat([]coding{{typ: "timestamp", reads: isProtoTimestamp}, {typ: "string", reads: text}}, binaryIDs, []coding{
		{typ: "bytes", reads: func([]byte) bool { return true }, doubt: "Is it bytes or a message?"},
	}),
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
