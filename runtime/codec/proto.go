package codec

import (
	"encoding/json"
	"math"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Presence determines whether zero values are written.
type Presence bool

const (
	// Implicit omits the zero value, as proto3 does for fields without a label. The
	// zero value of a float does not include negative zero.
	Implicit Presence = false
	// Explicit writes every value, as for a field declared optional.
	Explicit Presence = true
)

// AppendProtoString appends a field of type string. v must be valid UTF-8.
func AppendProtoString(dst []byte, number int, p Presence, v string) []byte {
	if p == Implicit && v == "" {
		return dst
	}
	dst = appendTag(dst, number, protowire.BytesType)
	return protowire.AppendString(dst, v)
}

// AppendProtoBytes appends a field of type bytes.
func AppendProtoBytes(dst []byte, number int, p Presence, v []byte) []byte {
	if p == Implicit && len(v) == 0 {
		return dst
	}
	dst = appendTag(dst, number, protowire.BytesType)
	return protowire.AppendBytes(dst, v)
}

// AppendProtoBool appends a field of type bool.
func AppendProtoBool(dst []byte, number int, p Presence, v bool) []byte {
	return AppendProtoUint64(dst, number, p, protowire.EncodeBool(v))
}

// AppendProtoInt32 appends a field of type int32.
func AppendProtoInt32(dst []byte, number int, p Presence, v int32) []byte {
	return AppendProtoInt64(dst, number, p, int64(v))
}

// AppendProtoInt64 appends a field of type int64.
func AppendProtoInt64(dst []byte, number int, p Presence, v int64) []byte {
	return AppendProtoUint64(dst, number, p, uint64(v))
}

// AppendProtoUint32 appends a field of type uint32.
func AppendProtoUint32(dst []byte, number int, p Presence, v uint32) []byte {
	return AppendProtoUint64(dst, number, p, uint64(v))
}

// AppendProtoUint64 appends a field of type uint64.
func AppendProtoUint64(dst []byte, number int, p Presence, v uint64) []byte {
	if p == Implicit && v == 0 {
		return dst
	}
	dst = appendTag(dst, number, protowire.VarintType)
	return protowire.AppendVarint(dst, v)
}

// AppendProtoFloat32 appends a field of type float.
func AppendProtoFloat32(dst []byte, number int, p Presence, v float32) []byte {
	bits := math.Float32bits(v)
	if p == Implicit && bits == 0 {
		return dst
	}
	dst = appendTag(dst, number, protowire.Fixed32Type)
	return protowire.AppendFixed32(dst, bits)
}

// AppendProtoFloat64 appends a field of type double.
func AppendProtoFloat64(dst []byte, number int, p Presence, v float64) []byte {
	bits := math.Float64bits(v)
	if p == Implicit && bits == 0 {
		return dst
	}
	dst = appendTag(dst, number, protowire.Fixed64Type)
	return protowire.AppendFixed64(dst, bits)
}

// AppendProtoTimestamp appends a field of type google.protobuf.Timestamp. Its zero
// value is the zero [time.Time], not the Unix epoch.
func AppendProtoTimestamp(dst []byte, number int, p Presence, v time.Time) []byte {
	if p == Implicit && v.IsZero() {
		return dst
	}
	return appendSecondsNanos(dst, number, v.Unix(), int64(v.Nanosecond()))
}

// AppendProtoDuration appends a field of type google.protobuf.Duration.
func AppendProtoDuration(dst []byte, number int, p Presence, v time.Duration) []byte {
	if p == Implicit && v == 0 {
		return dst
	}
	return appendSecondsNanos(dst, number, int64(v/time.Second), int64(v%time.Second))
}

// AppendProtoEnum appends a field of an enum type. v must fit an int32.
func AppendProtoEnum(dst []byte, number int, p Presence, v int64) []byte {
	return AppendProtoInt64(dst, number, p, v)
}

// AppendProtoJSON appends a field of type string that contains v. v must pass [Checker.JSON].
func AppendProtoJSON(dst []byte, number int, p Presence, v json.RawMessage) []byte {
	return AppendProtoBytes(dst, number, p, v)
}

// appendSecondsNanos appends a Timestamp or a Duration. Both messages have the seconds
// as field 1 and the nanoseconds as field 2.
func appendSecondsNanos(dst []byte, number int, seconds, nanos int64) []byte {
	var buf [32]byte
	body := AppendProtoInt64(buf[:0], 1, Implicit, seconds)
	body = AppendProtoInt64(body, 2, Implicit, nanos)
	return AppendProtoBytes(dst, number, Explicit, body)
}

func appendTag(dst []byte, number int, t protowire.Type) []byte {
	return protowire.AppendTag(dst, protowire.Number(number), t)
}
