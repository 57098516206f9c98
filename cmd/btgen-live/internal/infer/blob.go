package infer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// maxBlobs is the number of serialized events that are examined.
const maxBlobs = 20_000

// member is a member of serialized events.
type member struct {
	name     string // of JSON
	number   int    // of protobuf
	n        int    // events that have it
	typ      string
	doubt    string
	example  string
	wire     protowire.Type
	repeated bool
	values   data
}

// setBlob sets the fields of serialized events, and their format; it returns false if values are not serialized.
func (d *draft) setBlob(values data) bool {
	if !values.isBlob() {
		return false
	}
	blobs, format := data(spread(values, maxBlobs)), "json"
	members := jsonMembers(blobs)
	if !blobs.all(isObject) {
		members, format = protoMembers(blobs), "protobuf"
		d.blobAsk = "What are the fields of the message called, and which integers are uint64, bool, enum or sint64? Protobuf does not store it."
	}
	for _, m := range members {
		if m.typ == "" || len(m.name) > 64 {
			d.blobAsk += fmt.Sprintf(" Field %s is not in the schema: %s", cmp.Or(m.name, fmt.Sprint(m.number)), m.doubt)
			continue
		}
		f := field{name: m.name, typ: m.typ, number: m.number, doubt: m.doubt, example: m.example, optional: m.n < len(blobs)}
		if m.number > 0 { // fields that are not optional are zero if they are absent
			f.name = fmt.Sprintf("field_%d", m.number)
			f.optional = f.optional && schema.ParseType(m.typ).Traits().ProtoZero
		}
		d.fields = append(d.fields, f)
	}
	if len(d.fields) == 0 || len(d.fields) > maxColumns {
		d.fields, d.blobAsk = nil, ""
		return false
	}
	d.blob = "format: " + format + "}"
	return true
}

// jsonMembers returns the members of JSON objects, in the order of the first that has each.
func jsonMembers(blobs data) []*member {
	found := map[string]*member{}
	for _, blob := range blobs {
		var object map[string]json.RawMessage
		if json.Unmarshal(blob, &object) != nil {
			continue
		}
		for name, value := range object {
			if string(value) == "null" {
				continue
			}
			if found[name] == nil {
				found[name] = &member{name: name, example: string(value)}
			}
			found[name].n++
			found[name].values = append(found[name].values, value)
		}
	}
	for _, m := range found {
		m.typ, m.doubt = jsonType(m.values)
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *member) int { return compareMembers(blobs, a, b) })
}

// compareMembers compares members by their first event and their place in it.
func compareMembers(blobs data, a, b *member) int {
	for _, blob := range blobs[:min(len(blobs), 100)] {
		i, j := bytes.Index(blob, quotedJSON(a.name)), bytes.Index(blob, quotedJSON(b.name))
		switch {
		case i >= 0 && j >= 0:
			return i - j
		case i >= 0:
			return -1
		case j >= 0:
			return 1
		}
	}
	return bytes.Compare([]byte(a.name), []byte(b.name))
}

// quotedJSON returns the name of a member in JSON.
func quotedJSON(name string) []byte {
	b, err := json.Marshal(name)
	if err != nil {
		return nil
	}
	return append(b, ':')
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
	kind := jsonKind(values[0])
	other := values.first(func(b []byte) bool { return jsonKind(b) != kind })
	if other == nil {
		return "json", "" // a float64 would lose digits
	}
	return "json", fmt.Sprintf("It has values of several types, such as %s and %s. Which is it?", show(values[0]), show(other))
}

// jsonKind tells strings, numbers, booleans and others apart.
func jsonKind(value []byte) byte {
	switch c := value[0]; c {
	case '"':
		return c
	case 't', 'f':
		return 't'
	case '{', '[':
		return '{'
	}
	return '0'
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

// maxNumber is the largest protobuf field number that is expected.
const maxNumber = 2000

// protoMembers returns the fields of protobuf messages, by number; nil if the values are not
// messages of one type.
func protoMembers(blobs data) (out []*member) {
	found := map[protowire.Number]*member{}
	for _, blob := range blobs {
		seen := map[protowire.Number]bool{}
		for b := blob; len(b) > 0; {
			number, wire, n := protowire.ConsumeTag(b)
			if n < 0 || number > maxNumber || protoCodings[wire] == nil {
				return nil
			}
			size := protowire.ConsumeFieldValue(number, wire, b[n:])
			if size < 0 {
				return nil
			}
			f := found[number]
			if f == nil {
				f = &member{number: int(number), wire: wire}
				found[number] = f
			}
			if f.wire != wire {
				return nil
			}
			f.n++
			f.repeated = f.repeated || seen[number]
			f.values = append(f.values, content(wire, b[n:n+size]))
			seen[number] = true
			b = b[n+size:]
		}
	}
	for _, number := range slices.Sorted(maps.Keys(found)) {
		f := found[number]
		f.example = f.shown()
		if c := codingOf(f.values, protoCodings[f.wire]); c != nil {
			f.typ, f.doubt = c.typ, c.doubt
		} else {
			f.doubt = "It has a fixed size, and is no float: the schema language has no such integers."
		}
		if f.repeated {
			f.doubt = "It is repeated: only the last value is read."
		}
		out = append(out, f)
	}
	return out
}

// content returns a value without its length.
func content(wire protowire.Type, b []byte) []byte {
	if wire == protowire.BytesType {
		b, _ = protowire.ConsumeBytes(b)
	}
	return b
}

// protoCodings are the hypotheses about fields of protobuf messages.
var protoCodings = map[protowire.Type][]coding{
	protowire.VarintType:  {{typ: "int64", reads: func([]byte) bool { return true }}},
	protowire.Fixed64Type: {littleFloat64},
	protowire.Fixed32Type: {littleFloat32},
	protowire.BytesType: slices.Concat([]coding{{typ: "timestamp", reads: isProtoTimestamp}, {typ: "string", reads: text}}, binaryIDs, []coding{
		{typ: "bytes", reads: func([]byte) bool { return true }, doubt: "Is it bytes or a message?"},
	}),
}

// shown returns the first value as an example.
func (f *member) shown() string {
	switch first := f.values[0]; f.wire {
	case protowire.VarintType:
		n, _ := protowire.ConsumeVarint(first)
		return fmt.Sprint(int64(n))
	case protowire.Fixed64Type:
		v, _ := codec.LittleEndian.Float64.Decode(first)
		return fmt.Sprint(v)
	case protowire.Fixed32Type:
		v, _ := codec.LittleEndian.Float32.Decode(first)
		return fmt.Sprint(float64(v))
	default:
		return show(first)
	}
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
