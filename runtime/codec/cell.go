package codec

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"time"
	"unicode/utf8"
)

// The binary encoding of cells is that of Bigtable counters and GoogleSQL: 8 bytes of
// big-endian two's complement for every integer, and IEEE 754 big-endian for floats.
// Decoders accept exactly what the encoders write and return copies. Their errors wrap
// [ErrValue].

// AppendBinaryString appends the bytes of v.
func AppendBinaryString(dst []byte, v string) []byte { return append(dst, v...) }

// BinaryString decodes what [AppendBinaryString] wrote. The bytes must be valid UTF-8.
func BinaryString(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%w: %w: %s", ErrValue, ErrUTF8, quote(string(b)))
	}
	return string(b), nil
}

// AppendBinaryBytes appends v unchanged.
func AppendBinaryBytes(dst []byte, v []byte) []byte { return append(dst, v...) }

// BinaryBytes returns a copy of b, or nil if b is empty. The error is always nil.
func BinaryBytes(b []byte) ([]byte, error) { return append([]byte(nil), b...), nil }

// AppendBinaryBool appends one byte, 0 or 1.
func AppendBinaryBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// BinaryBool decodes what [AppendBinaryBool] wrote.
func BinaryBool(b []byte) (bool, error) {
	if len(b) != 1 || b[0] > 1 {
		return false, notBinary("bool", b)
	}
	return b[0] == 1, nil
}

// AppendBinaryInt32 appends v in 8 bytes.
func AppendBinaryInt32(dst []byte, v int32) []byte { return AppendBinaryInt64(dst, int64(v)) }

// BinaryInt32 decodes what [AppendBinaryInt32] wrote. It rejects numbers that do not
// fit an int32.
func BinaryInt32(b []byte) (int32, error) {
	v, err := BinaryInt64(b)
	if err != nil || v != int64(int32(v)) {
		return 0, notBinary("int32", b)
	}
	return int32(v), nil
}

// AppendBinaryInt64 appends v in 8 bytes.
func AppendBinaryInt64(dst []byte, v int64) []byte { return AppendBinaryUint64(dst, uint64(v)) }

// BinaryInt64 decodes what [AppendBinaryInt64] wrote.
func BinaryInt64(b []byte) (int64, error) {
	if len(b) != 8 {
		return 0, notBinary("int64", b)
	}
	return int64(binary.BigEndian.Uint64(b)), nil
}

// AppendBinaryUint32 appends v in 8 bytes.
func AppendBinaryUint32(dst []byte, v uint32) []byte { return AppendBinaryUint64(dst, uint64(v)) }

// BinaryUint32 decodes what [AppendBinaryUint32] wrote. It rejects numbers that do not
// fit a uint32.
func BinaryUint32(b []byte) (uint32, error) {
	v, err := BinaryUint64(b)
	if err != nil || v > math.MaxUint32 {
		return 0, notBinary("uint32", b)
	}
	return uint32(v), nil
}

// AppendBinaryUint64 appends v in 8 bytes.
func AppendBinaryUint64(dst []byte, v uint64) []byte { return binary.BigEndian.AppendUint64(dst, v) }

// BinaryUint64 decodes what [AppendBinaryUint64] wrote.
func BinaryUint64(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, notBinary("uint64", b)
	}
	return binary.BigEndian.Uint64(b), nil
}

// AppendBinaryFloat32 appends v in 4 bytes.
func AppendBinaryFloat32(dst []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(dst, math.Float32bits(v))
}

// BinaryFloat32 decodes what [AppendBinaryFloat32] wrote.
func BinaryFloat32(b []byte) (float32, error) {
	if len(b) != 4 {
		return 0, notBinary("float32", b)
	}
	return math.Float32frombits(binary.BigEndian.Uint32(b)), nil
}

// AppendBinaryFloat64 appends v in 8 bytes.
func AppendBinaryFloat64(dst []byte, v float64) []byte {
	return AppendBinaryUint64(dst, math.Float64bits(v))
}

// BinaryFloat64 decodes what [AppendBinaryFloat64] wrote.
func BinaryFloat64(b []byte) (float64, error) {
	if len(b) != 8 {
		return 0, notBinary("float64", b)
	}
	return math.Float64frombits(binary.BigEndian.Uint64(b)), nil
}

// AppendBinaryTimestamp appends the nanoseconds since the Unix epoch in 8 bytes. v must
// pass [Checker.Timestamp].
func AppendBinaryTimestamp(dst []byte, v time.Time) []byte {
	return AppendBinaryInt64(dst, v.UnixNano())
}

// BinaryTimestamp decodes what [AppendBinaryTimestamp] wrote. The time is in UTC.
func BinaryTimestamp(b []byte) (time.Time, error) {
	v, err := BinaryInt64(b)
	if err != nil {
		return time.Time{}, notBinary("timestamp", b)
	}
	return time.Unix(0, v).UTC(), nil
}

// AppendBinaryDuration appends the nanoseconds in 8 bytes.
func AppendBinaryDuration(dst []byte, v time.Duration) []byte {
	return AppendBinaryInt64(dst, int64(v))
}

// BinaryDuration decodes what [AppendBinaryDuration] wrote.
func BinaryDuration(b []byte) (time.Duration, error) {
	v, err := BinaryInt64(b)
	if err != nil {
		return 0, notBinary("duration", b)
	}
	return time.Duration(v), nil
}

// AppendBinaryJSON appends v unchanged. v must pass [Checker.JSON].
func AppendBinaryJSON(dst []byte, v json.RawMessage) []byte { return append(dst, v...) }

// BinaryJSON returns a copy of b, which must be valid JSON.
func BinaryJSON(b []byte) (json.RawMessage, error) {
	if !json.Valid(b) {
		return nil, fmt.Errorf("%w: %w: %s", ErrValue, ErrJSON, quote(string(b)))
	}
	return bytes.Clone(b), nil
}

// AppendBinaryEnum appends the number v in 8 bytes. v must be a value of e; see
// [Checker.Enum].
func AppendBinaryEnum(dst []byte, _ Enum, v int64) []byte { return AppendBinaryInt64(dst, v) }

// BinaryEnum decodes what [AppendBinaryEnum] wrote. For a number that is not in e, the
// error wraps [ErrEnum] as well as [ErrValue].
func BinaryEnum(b []byte, e Enum) (int64, error) {
	v, err := BinaryInt64(b)
	if err != nil {
		return 0, notBinary("enum", b)
	}
	if _, ok := e.Name(v); !ok {
		return 0, fmt.Errorf("%w: %w: %d%s", ErrValue, ErrEnum, v, editedEnum)
	}
	return v, nil
}

// notBinary returns the error for bytes that do not encode the named type.
func notBinary(kind string, b []byte) error {
	hint := ""
	if isText(b) {
		hint = ", but may have been stored as text"
	}
	if len(b) > 16 {
		return fmt.Errorf("%w: %d bytes are not a binary %s%s", ErrValue, len(b), kind, hint)
	}
	return fmt.Errorf("%w: 0x%x is not a binary %s%s", ErrValue, b, kind, hint)
}

// isText reports whether b has printable ASCII characters only, and at least one.
func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return len(b) > 0
}
