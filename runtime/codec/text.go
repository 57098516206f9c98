package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// decodeString decodes a string, which must be valid UTF-8.
func decodeString(b []byte) (string, error) {
	if !utf8.Valid(b) {
		return "", fmt.Errorf("%w: %w: %s", ErrValue, ErrUTF8, quote(string(b)))
	}
	return string(b), nil
}

// base64url rejects nonzero trailing bits.
var base64url = base64.RawURLEncoding.Strict()

func appendBase64(dst, v []byte) []byte { return base64url.AppendEncode(dst, v) }

// decodeBase64 returns nil if b is empty.
func decodeBase64(b []byte) ([]byte, error) {
	v, err := base64url.AppendDecode(nil, b)
	// The decoder skips line breaks, which a cell must not contain.
	if err != nil || base64url.EncodedLen(len(v)) != len(b) {
		return nil, notA("base64url", string(b))
	}
	return v, nil
}

func decodeBool(b []byte) (bool, error) {
	v, err := strconv.ParseBool(string(b))
	if err != nil {
		return false, notA("bool", string(b))
	}
	return v, nil
}

func decodeInt32(b []byte) (int32, error) {
	v, err := decodeInt64(b)
	if err != nil || v != int64(int32(v)) {
		return 0, notA("int32", string(b))
	}
	return int32(v), nil
}

func decodeInt64(b []byte) (int64, error) {
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

func decodeUint32(b []byte) (uint32, error) {
	v, err := decodeUint64(b)
	if err != nil || v != uint64(uint32(v)) {
		return 0, notA("uint32", string(b))
	}
	return uint32(v), nil
}

func decodeUint64(b []byte) (uint64, error) {
	if v, ok := shortUint(b); ok {
		return v, nil
	}
	v, err := strconv.ParseUint(string(b), 10, 64)
	if err != nil {
		return 0, notA("uint64", string(b))
	}
	return v, nil
}

func decodeFloat32(b []byte) (float32, error) {
	if negative, digits, fraction, ok := shortDecimal(b, len(powers32)-1); ok {
		v := float32(digits) / powers32[fraction]
		if negative {
			v = -v
		}
		return v, nil
	}
	v, err := strconv.ParseFloat(string(b), 32)
	if err != nil {
		return 0, notA("float32", string(b))
	}
	return float32(v), nil
}

func decodeFloat64(b []byte) (float64, error) {
	if negative, digits, fraction, ok := shortDecimal(b, len(powers64)-1); ok {
		v := float64(digits) / powers64[fraction]
		if negative {
			v = -v
		}
		return v, nil
	}
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil {
		return 0, notA("float64", string(b))
	}
	return v, nil
}

// appendFloat32 appends the shortest decimal that reads back as v; see appendFloat64.
func appendFloat32(dst []byte, v float32) []byte { return appendFloat(dst, float64(v), 32) }

// appendFloat64 appends the shortest decimal that reads back as v. It is canonical, so a column can be named after
// it. As in JSON, it has an exponent only below 1e-6 and at or above 1e+21: 9.5, 94587, 1e+30. Zero keeps its sign.
func appendFloat64(dst []byte, v float64) []byte {
	if out, ok := appendShortFloat64(dst, v); ok {
		return out
	}
	return appendFloat(dst, v, 64)
}

func appendFloat(dst []byte, v float64, bits int) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}

// appendTime appends a time that passes [Checker.Timestamp].
func appendTime(dst []byte, v time.Time) []byte { return v.UTC().AppendFormat(dst, time.RFC3339Nano) }

// decodeTime decodes RFC 3339 with any offset and returns the time in UTC. It drops digits beyond the nanosecond.
func decodeTime(b []byte) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, string(b))
	t = t.UTC()
	if err != nil || t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}, notA("RFC 3339 time", string(b))
	}
	return t, nil
}

func appendDuration(dst []byte, v time.Duration) []byte { return append(dst, v.String()...) }

func decodeDuration(b []byte) (time.Duration, error) {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return 0, notA("duration", string(b))
	}
	return v, nil
}

// decodeJSON returns a copy of b, which must be valid JSON.
func decodeJSON(b []byte) (json.RawMessage, error) {
	if !json.Valid(b) {
		return nil, fmt.Errorf("%w: %w: %s", ErrValue, ErrJSON, quote(string(b)))
	}
	return bytes.Clone(b), nil
}

// TextEnum decodes the name of a value. For a name that is not in e, the error wraps [ErrEnum] as well as [ErrValue].
func TextEnum(b []byte, e Enum) (int64, error) {
	for i := range e {
		if e[i].Name == string(b) {
			return e[i].Number, nil
		}
	}
	return 0, fmt.Errorf("%w: %w: %s%s", ErrValue, ErrEnum, quote(string(b)), editedEnum)
}

// notA returns the error for a stored string that is not a valid value of the named type.
func notA(kind, s string) error {
	if n := len(s); (n == word || n == 2*word) && !isText([]byte(s)) { // as many binary values have
		return fmt.Errorf("%w: %s is not a valid %s, but may have been stored as binary", ErrValue, quote(s), kind)
	}
	return fmt.Errorf("%w: %s is not a valid %s", ErrValue, quote(s), kind)
}
