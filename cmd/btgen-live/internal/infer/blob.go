package infer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// maxBlobs is the number of serialized events that are examined.
const maxBlobs = 20_000

// member is a member of serialized events.
type member struct {
	name    string // of JSON
	number  int    // of protobuf
	n       int    // events that have it
	typ     string
	doubt   string
	example string
}

// jsonMembers returns the members of JSON objects, in the order of the first that has each.
func jsonMembers(blobs [][]byte) []*member {
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
			typ := jsonType(value)
			m := found[name]
			if m == nil {
				m = &member{name: name, typ: typ, example: string(value)}
				found[name] = m
			}
			m.n++
			if both := common(m.typ, typ); both != m.typ || both != typ {
				if both == "json" && m.doubt == "" {
					m.doubt = fmt.Sprintf("It has values of several types, such as %s and %s. Which is it?", show([]byte(m.example)), show(value))
				}
				m.typ = both
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *member) int { return compareMembers(blobs, a, b) })
}

// compareMembers compares members by their first event and their place in it.
func compareMembers(blobs [][]byte, a, b *member) int {
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

// jsonType returns the type of a JSON value other than null.
func jsonType(value []byte) string {
	switch value[0] {
	case '"':
		var s string
		if json.Unmarshal(value, &s) != nil {
			return "json"
		}
		if s != "" && is(isTime, []byte(s)) {
			return "timestamp"
		}
		return cmp.Or(identifier([]byte(s)), "string")
	case 't', 'f':
		return "bool"
	case '{', '[':
		return "json"
	}
	if !bytes.ContainsAny(value, ".eE") && is(isInt, value) {
		return "int64"
	}
	if !exact(string(value)) {
		return "json" // a float64 would lose digits
	}
	return "float64"
}

// common returns the type that includes two types.
func common(a, b string) string {
	if a == b {
		return a
	}
	numbers, texts := []string{"int64", "float64"}, []string{"string", "timestamp"}
	for _, id := range identifiers {
		texts = append(texts, id.typ)
	}
	switch {
	case slices.Contains(numbers, a) && slices.Contains(numbers, b):
		return "float64"
	case slices.Contains(texts, a) && slices.Contains(texts, b):
		return "string"
	}
	return "json"
}

// maxNumber is the largest protobuf field number that is expected.
const maxNumber = 2000

// protoMembers returns the fields of protobuf messages, by number; false if the values are not
// messages of one type.
func protoMembers(blobs [][]byte) ([]*member, bool) {
	found := map[int]*protoField{}
	for _, blob := range blobs {
		seen := map[int]bool{}
		for b := blob; len(b) > 0; {
			number, typ, n := protowire.ConsumeTag(b)
			if n < 0 || number > maxNumber {
				return nil, false
			}
			size := protowire.ConsumeFieldValue(number, typ, b[n:])
			if size < 0 || typ > protowire.Fixed32Type || typ == protowire.StartGroupType || typ == protowire.EndGroupType {
				return nil, false
			}
			f := found[int(number)]
			if f == nil {
				f = &protoField{wire: typ, ids: map[string]int{}, member: &member{number: int(number)}}
				found[int(number)] = f
			}
			if f.wire != typ {
				return nil, false
			}
			f.add(b[n:n+size], seen[int(number)])
			seen[int(number)] = true
			b = b[n+size:]
		}
	}
	var out []*member
	for _, number := range slices.Sorted(maps.Keys(found)) {
		out = append(out, found[number].decide())
	}
	return out, len(out) > 0
}

// protoField is a field of protobuf messages.
type protoField struct {
	*member
	wire                protowire.Type
	repeated            bool
	odd, times, strings int            // fixed numbers that are no floats; bytes that are Timestamps, strings
	ids                 map[string]int // bytes that are IDs, by type
}

// add examines one more value, in wire format without its tag.
func (f *protoField) add(b []byte, again bool) {
	f.n++
	f.repeated = f.repeated || again
	switch f.wire {
	case protowire.VarintType:
		v, _ := protowire.ConsumeVarint(b)
		f.show(fmt.Sprint(int64(v)))
	case protowire.Fixed64Type:
		v, _ := protowire.ConsumeFixed64(b)
		f.float(math.Float64frombits(v))
	case protowire.Fixed32Type:
		v, _ := protowire.ConsumeFixed32(b)
		f.float(float64(math.Float32frombits(v)))
	default:
		v, _ := protowire.ConsumeBytes(b)
		if text(v) {
			f.strings++
		}
		if typ := binaryIdentifier(v); typ != "" {
			f.ids[typ]++
		}
		if timestamped(v) {
			f.times++
		}
		f.show(show(v))
	}
}

// float examines a number of fixed size.
func (f *protoField) float(v float64) {
	if !likely(v) {
		f.odd++
	}
	f.show(fmt.Sprint(v))
}

// show keeps the first value as the example.
func (f *protoField) show(s string) {
	if f.n == 1 {
		f.example = s
	}
}

// timestamped reports whether a message is a plausible google.protobuf.Timestamp.
func timestamped(b []byte) bool {
	r := codec.NewProtoReader(append(protowire.AppendTag(nil, 1, protowire.BytesType), protowire.AppendBytes(nil, b)...))
	if !r.Next() {
		return false
	}
	t := r.Timestamp()
	return r.Err() == nil && len(b) > 0 && plausible(t) && t.After(time.Time{})
}

// identified returns the type of the IDs that all values are; empty if they are not.
func (f *protoField) identified() string {
	for _, id := range identifiers {
		if f.ids[id.typ] == f.n {
			return id.typ
		}
	}
	return ""
}

// decide sets the type of the field.
func (f *protoField) decide() *member {
	f.typ = map[protowire.Type]string{protowire.VarintType: "int64", protowire.Fixed64Type: "float64", protowire.Fixed32Type: "float32", protowire.BytesType: "bytes"}[f.wire]
	switch {
	case f.wire == protowire.BytesType && f.times == f.n:
		f.typ = "timestamp"
	case f.wire == protowire.BytesType && f.strings == f.n:
		f.typ = "string"
	case f.wire == protowire.BytesType && f.identified() != "":
		f.typ = f.identified()
	case f.wire == protowire.BytesType:
		f.doubt = "Is it bytes or a message?"
	case f.odd > 0:
		f.typ, f.doubt = "", "It has a fixed size, and is no float: the schema language has no such integers."
	}
	if f.repeated {
		f.doubt = "It is repeated: only the last value is read."
	}
	return f.member
}
