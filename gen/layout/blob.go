package layout

import (
	"encoding/json"
	"time"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/templates/codec"
)

// Explicit reports whether protobuf writes the field even if it is zero: what
// lacks it is then known to be absent, and a UUID always has its 16 bytes.
func (f *Field) Explicit() bool {
	return f.Optional || f.Default != nil || f.Type == schema.Timestamp || f.Type == schema.Enum || f.Type == schema.UUID
}

// blobOf returns an event with these values as a serialized cell holds it.
func (l *Layout) blobOf(format Format, values []any) []byte {
	var out []byte
	if format == JSONText {
		out = append(out, '{')
	}
	for i, v := range values {
		f := &l.Fields[i]
		switch {
		case v == nil:
		case format == JSONText:
			if len(out) > 1 {
				out = append(out, ',')
			}
			out = append(append(appendJSON(out, f.Name), ':'), f.marshal(v)...)
		default:
			out = f.appendProto(out, v)
		}
	}
	if format == JSONText {
		out = append(out, '}')
	}
	return out
}

// appendProto appends the field as protobuf.
func (f *Field) appendProto(dst []byte, v any) []byte {
	p := codec.Presence(f.Explicit())
	switch v := v.(type) {
	case []byte:
		return codec.AppendProtoBytes(dst, f.Number, p, v)
	case bool:
		return codec.AppendProtoBool(dst, f.Number, p, v)
	case int64:
		return codec.AppendProtoInt64(dst, f.Number, p, v)
	case uint64:
		return codec.AppendProtoUint64(dst, f.Number, p, v)
	case float64:
		if f.Type == schema.Float32 {
			return codec.AppendProtoFloat32(dst, f.Number, p, float32(v))
		}
		return codec.AppendProtoFloat64(dst, f.Number, p, v)
	case time.Time:
		return codec.AppendProtoTimestamp(dst, f.Number, p, v)
	case time.Duration:
		return codec.AppendProtoDuration(dst, f.Number, p, v)
	case string:
		return f.appendProtoName(dst, p, v)
	}
	return dst
}

// appendProtoName is appendProto for the types whose values the schema writes as
// strings.
func (f *Field) appendProtoName(dst []byte, p codec.Presence, v string) []byte {
	switch f.Type {
	case schema.Enum:
		return codec.AppendProtoEnum(dst, f.Number, p, f.number(v))
	case schema.UUID:
		return codec.AppendProtoUUID(dst, f.Number, p, parsedUUID(v))
	case schema.JSON:
		return codec.AppendProtoJSON(dst, f.Number, p, json.RawMessage(v))
	}
	return codec.AppendProtoString(dst, f.Number, p, v)
}

// marshal returns a value as the JSON of an event has it.
func (f *Field) marshal(v any) []byte {
	switch w := v.(type) {
	case time.Duration:
		return appendJSON(nil, codec.JSONDuration(w))
	case float64:
		if f.Type == schema.Float32 {
			return appendJSON(nil, float32(w))
		}
	case string:
		switch f.Type {
		case schema.UUID:
			return appendJSON(nil, parsedUUID(w))
		case schema.JSON:
			return appendJSON(nil, json.RawMessage(w))
		}
	}
	return appendJSON(nil, v)
}

// appendJSON appends a value as encoding/json writes it.
func appendJSON(dst []byte, v any) []byte {
	b, _ := json.Marshal(v) // of numbers and texts
	return append(dst, b...)
}
