package codec

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
)

// The text encoding of cells is readable in cbt. Encoders write one canonical string
// per value. Decoders also accept what strconv accepts ("+5", "9.50"), because other
// tools may write the tables. They reject everything else and return copies. Their
// errors wrap [ErrValue].

// AppendTextString appends the bytes of v.
func AppendTextString(dst []byte, v string) []byte { return append(dst, v...) }

// TextString decodes what [AppendTextString] wrote. The bytes must be valid UTF-8.
func TextString(b []byte) (string, error) { return BinaryString(b) }

// base64url rejects nonzero trailing bits.
var base64url = base64.RawURLEncoding.Strict()

// AppendTextBytes appends v in base64url (RFC 4648, section 5) without padding.
func AppendTextBytes(dst []byte, v []byte) []byte { return base64url.AppendEncode(dst, v) }

// TextBytes decodes what [AppendTextBytes] wrote. It returns nil if b is empty.
func TextBytes(b []byte) ([]byte, error) {
	v, err := base64url.AppendDecode(nil, b)
	// The decoder skips line breaks, which a cell must not contain.
	if err != nil || base64url.EncodedLen(len(v)) != len(b) {
		return nil, notA("base64url", string(b))
	}
	return v, nil
}

// AppendTextBool appends true or false.
func AppendTextBool(dst []byte, v bool) []byte { return strconv.AppendBool(dst, v) }

// TextBool decodes what [strconv.ParseBool] accepts.
func TextBool(b []byte) (bool, error) {
	v, err := strconv.ParseBool(string(b))
	if err != nil {
		return false, notA("bool", string(b))
	}
	return v, nil
}

// AppendTextInt32 appends v in decimal.
func AppendTextInt32(dst []byte, v int32) []byte { return AppendTextInt64(dst, int64(v)) }

// TextInt32 decodes a decimal number.
func TextInt32(b []byte) (int32, error) {
	if v, ok := shortInt(b); ok && v == int64(int32(v)) {
		return int32(v), nil
	}
	v, err := strconv.ParseInt(string(b), 10, 32)
	if err != nil {
		return 0, notA("int32", string(b))
	}
	return int32(v), nil
}

// AppendTextInt64 appends v in decimal.
func AppendTextInt64(dst []byte, v int64) []byte { return strconv.AppendInt(dst, v, 10) }

// TextInt64 decodes a decimal number.
func TextInt64(b []byte) (int64, error) {
	if isWord(b) {
		if v, ok := wordUint(wordOf(b), len(b)); ok {
			return int64(v), nil
		}
	}
	if v, ok := shortInt(b); ok {
		return v, nil
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil {
		return 0, notA("int64", string(b))
	}
	return v, nil
}

// AppendTextUint32 appends v in decimal.
func AppendTextUint32(dst []byte, v uint32) []byte { return AppendTextUint64(dst, uint64(v)) }

// TextUint32 decodes a decimal number.
func TextUint32(b []byte) (uint32, error) {
	if v, ok := shortUint(b); ok && v == uint64(uint32(v)) {
		return uint32(v), nil
	}
	v, err := strconv.ParseUint(string(b), 10, 32)
	if err != nil {
		return 0, notA("uint32", string(b))
	}
	return uint32(v), nil
}

// AppendTextUint64 appends v in decimal.
func AppendTextUint64(dst []byte, v uint64) []byte { return strconv.AppendUint(dst, v, 10) }

// TextUint64 decodes a decimal number.
func TextUint64(b []byte) (uint64, error) {
	if v, ok := shortUint(b); ok {
		return v, nil
	}
	v, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil {
		return 0, notA("uint64", string(b))
	}
	return v, nil
}

// AppendTextFloat32 appends the shortest decimal that reads back as v; see
// [AppendTextFloat64].
func AppendTextFloat32(dst []byte, v float32) []byte { return appendFloat(dst, float64(v), 32) }

// TextFloat32 decodes what [strconv.ParseFloat] accepts. It rejects numbers that
// overflow.
func TextFloat32(b []byte) (float32, error) {
	if v, ok := shortFloat32(b); ok {
		return v, nil
	}
	v, err := strconv.ParseFloat(string(b), 32)
	if err != nil {
		return 0, notA("float32", string(b))
	}
	return float32(v), nil
}

// AppendTextFloat64 appends the shortest decimal that reads back as v. It is canonical,
// so a column can be named after it. As in JSON, it has an exponent only below 1e-6 and
// at or above 1e+21: 9.5, 94587, 1e+30. Zero keeps its sign.
func AppendTextFloat64(dst []byte, v float64) []byte {
	if out, ok := appendShortFloat64(dst, v); ok {
		return out
	}
	return appendFloat(dst, v, 64)
}

// TextFloat64 decodes what [strconv.ParseFloat] accepts. It rejects numbers that
// overflow.
func TextFloat64(b []byte) (float64, error) {
	if v, ok := shortFloat64(b); ok {
		return v, nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return 0, notA("float64", string(b))
	}
	return v, nil
}

func appendFloat(dst []byte, v float64, bits int) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}

// AppendTextTimestamp appends v in RFC 3339 and UTC, without trailing zeros in the
// fraction. v must pass [Checker.Timestamp].
func AppendTextTimestamp(dst []byte, v time.Time) []byte {
	return v.UTC().AppendFormat(dst, time.RFC3339Nano)
}

// TextTimestamp decodes RFC 3339 with any offset and returns the time in UTC. It drops
// digits beyond the nanosecond.
func TextTimestamp(b []byte) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, string(b))
	t = t.UTC()
	if err != nil || t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}, notA("RFC 3339 time", string(b))
	}
	return t, nil
}

// AppendTextDuration appends v in Go's format, such as 1h2m3s.
func AppendTextDuration(dst []byte, v time.Duration) []byte { return append(dst, v.String()...) }

// TextDuration decodes what [time.ParseDuration] accepts.
func TextDuration(b []byte) (time.Duration, error) {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return 0, notA("duration", string(b))
	}
	return v, nil
}

// AppendTextJSON appends v unchanged. v must pass [Checker.JSON].
func AppendTextJSON(dst []byte, v json.RawMessage) []byte { return append(dst, v...) }

// TextJSON returns a copy of b, which must be valid JSON.
func TextJSON(b []byte) (json.RawMessage, error) { return BinaryJSON(b) }

// AppendTextEnum appends the name of v, which must be a value of e; see [Checker.Enum].
// For any other it appends the number, which cannot be read back.
func AppendTextEnum(dst []byte, e Enum, v int64) []byte {
	if name, ok := e.Name(v); ok {
		return append(dst, name...)
	}
	return strconv.AppendInt(dst, v, 10)
}

// TextEnum decodes the name of a value. For a name that is not in e, the error wraps
// [ErrEnum] as well as [ErrValue].
func TextEnum(b []byte, e Enum) (int64, error) {
	for i := range e {
		if e[i].Name == string(b) {
			return e[i].Number, nil
		}
	}
	return 0, fmt.Errorf("%w: %w: %s%s", ErrValue, ErrEnum, quote(string(b)), editedEnum)
}

// notA returns the error for a stored string that is not a valid value of the named
// type.
func notA(kind, s string) error {
	if n := len(s); (n == word || n == 2*word) && !isText([]byte(s)) { // as many binary values have
		return fmt.Errorf("%w: %s is not a valid %s, but may have been stored as binary", ErrValue, quote(s), kind)
	}
	return fmt.Errorf("%w: %s is not a valid %s", ErrValue, quote(s), kind)
}
