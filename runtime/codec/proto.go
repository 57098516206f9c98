package codec

import (
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

// AppendProtoBytes appends a field of type bytes, or one of type string with JSON, which must pass [Checker.JSON].
func AppendProtoBytes(dst []byte, number int, p Presence, v []byte) []byte {
	if p == Implicit && len(v) == 0 {
		return dst
	}
	dst = appendTag(dst, number, protowire.BytesType)
	return protowire.AppendBytes(dst, v)
}

// AppendProtoBool appends a field of type bool.
func AppendProtoBool(dst []byte, number int, p Presence, v bool) []byte {
	return AppendProtoInteger(dst, number, p, protowire.EncodeBool(v))
}

// AppendProtoInteger appends a field of an integer type, or of an enum type, whose numbers must fit an int32.
func AppendProtoInteger[T ~int | ~int32 | ~int64 | ~uint32 | ~uint64](dst []byte, number int, p Presence, v T) []byte {
	if p == Implicit && v == 0 {
		return dst
	}
	return protowire.AppendVarint(appendTag(dst, number, protowire.VarintType), uint64(v))
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

// appendSecondsNanos appends a Timestamp or a Duration. Both messages have the seconds
// as field 1 and the nanoseconds as field 2.
func appendSecondsNanos(dst []byte, number int, seconds, nanos int64) []byte {
	var buf [32]byte
	body := AppendProtoInteger(buf[:0], 1, Implicit, seconds)
	body = AppendProtoInteger(body, 2, Implicit, nanos)
	return AppendProtoBytes(dst, number, Explicit, body)
}

func appendTag(dst []byte, number int, t protowire.Type) []byte {
	return protowire.AppendTag(dst, protowire.Number(number), t)
}
