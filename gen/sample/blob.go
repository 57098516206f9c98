package sample

import (
	"encoding/json"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// blobOf returns the serialized cell of an event with the given values.
func blobOf(l *layout.Layout, format layout.Format, values []any) []byte {
	var out []byte
	for i, v := range values {
		f := &l.Fields[i]
		switch {
		case v == nil:
		case format == layout.JSONText:
			out = appendJSON(f, out, v)
		default:
			out = appendProto(f, out, v)
		}
	}
	if format == layout.JSONText {
		return codec.EndJSON(out, 0)
	}
	return out
}

// appendProto appends the field in protobuf encoding.
func appendProto(f *layout.Field, dst []byte, v any) []byte {
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
		return appendProtoName(f, dst, p, v)
	}
	return dst
}

// appendProtoName is appendProto for types whose values schemas write as strings.
func appendProtoName(f *layout.Field, dst []byte, p codec.Presence, v string) []byte {
	switch f.Type {
	case schema.Enum:
		return codec.AppendProtoEnum(dst, f.Number, p, enumNumber(f, v))
	case schema.UUID:
		return codec.AppendProtoUUID(dst, f.Number, p, parsedUUID(v))
	case schema.JSON:
		return codec.AppendProtoJSON(dst, f.Number, p, json.RawMessage(v))
	}
	return codec.AppendProtoString(dst, f.Number, p, v)
}

// appendJSON appends the field as JSON.
func appendJSON(f *layout.Field, dst []byte, v any) []byte {
	switch v := v.(type) {
	case []byte:
		return codec.AppendJSONBytes(dst, f.Name, v)
	case bool:
		return codec.AppendJSONBool(dst, f.Name, v)
	case int64:
		return codec.AppendJSONInt64(dst, f.Name, v)
	case uint64:
		return codec.AppendJSONUint64(dst, f.Name, v)
	case float64:
		if f.Type == schema.Float32 {
			return codec.AppendJSONFloat32(dst, f.Name, float32(v))
		}
		return codec.AppendJSONFloat64(dst, f.Name, v)
	case time.Time:
		return codec.AppendJSONTimestamp(dst, f.Name, v)
	case time.Duration:
		return codec.AppendJSONDuration(dst, f.Name, v)
	case string:
		return appendJSONName(f, dst, v)
	}
	return dst
}

// appendJSONName is appendJSON for types whose values schemas write as strings.
func appendJSONName(f *layout.Field, dst []byte, v string) []byte {
	switch f.Type {
	case schema.Enum:
		return codec.AppendJSONEnum(dst, f.Name, f.Enum, enumNumber(f, v))
	case schema.UUID:
		return codec.AppendJSONUUID(dst, f.Name, parsedUUID(v))
	case schema.JSON:
		return codec.AppendJSONJSON(dst, f.Name, json.RawMessage(v))
	}
	return codec.AppendJSONString(dst, f.Name, v)
}
