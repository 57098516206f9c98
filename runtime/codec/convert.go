package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// The functions below convert values of the type that a field had in older events to the type that it has now. None
// changes a value: they return an error that wraps [ErrInexact] for one that has no exact equivalent.

// maxExact is the largest integer up to which float64 has all integers.
const maxExact = 1 << 53

// Converted returns a coding that decodes values of another type and converts them. It cannot encode.
func Converted[From, To any](from Coding[From], convert func(From) (To, error)) Coding[To] {
	return Coding[To]{Decode: func(datum []byte) (to To, err error) {
		v, err := from.Decode(datum)
		if err != nil {
			return to, err
		}
		return convert(v)
	}}
}

// EnumNames returns a coding that decodes the values of an enum to their names. It cannot encode.
func EnumNames(in Values, names Enum) Coding[string] {
	return Converted(EnumAs[int64](in, names), func(v int64) (string, error) {
		name, _ := names.Name(v) // the coding has checked the value
		return name, nil
	})
}

// ToInt64 converts an integer.
func ToInt64[T int32 | uint32](v T) (int64, error) { return int64(v), nil }

// ToUint64 converts an integer.
func ToUint64(v uint32) (uint64, error) { return uint64(v), nil }

// ToFloat64 converts an integer of at most 32 bits, or a float.
func ToFloat64[T int32 | uint32 | float32](v T) (float64, error) { return float64(v), nil }

// ExactFloat64 converts an integer from -2^53 to 2^53; not all larger ones are a float64.
func ExactFloat64[T int64 | uint64](v T) (float64, error) {
	if v > maxExact || v < 0 && int64(v) < -maxExact {
		return 0, fmt.Errorf("%w: %w: %d is beyond 2^53", ErrValue, ErrInexact, v)
	}
	return float64(v), nil
}

// BoolToInteger converts false to 0 and true to 1.
func BoolToInteger[T int32 | int64 | uint32 | uint64](v bool) (T, error) {
	if v {
		return 1, nil
	}
	return 0, nil
}

// IntegerToString converts an integer to decimal digits.
func IntegerToString[T int32 | int64 | uint32 | uint64](v T) (string, error) {
	if v < 0 {
		return strconv.FormatInt(int64(v), 10), nil
	}
	return strconv.FormatUint(uint64(v), 10), nil
}

// StringToBytes converts a string to its bytes in UTF-8.
func StringToBytes(v string) ([]byte, error) { return []byte(v), nil }

// EnumMember returns a function that checks that a string is the name of an enum value.
func EnumMember(names Enum) func(v string) (string, error) {
	return func(v string) (string, error) {
		_, err := TextEnum([]byte(v), names)
		return v, err
	}
}

// Unchanged converts nothing, for a field whose type has not changed.
func Unchanged[T any](v T) (T, error) { return v, nil }

// OlderMember sets a field of a stored event b that lacks it under its present name and
// has it under an older one. *to is nil if the event lacks the field; it stays nil if the
// event lacks the older member, too. Errors wrap [ErrValue].
func OlderMember[From, To any](b []byte, name string, to **To, convert func(From) (To, error)) error {
	if *to != nil {
		return nil
	}
	var from *From
	if text := member(b, name); text == nil {
		return nil
	} else if err := json.Unmarshal(text, &from); err != nil {
		return &FieldError{Field: name, Err: fmt.Errorf("%w: %w", ErrValue, err)}
	}
	if from == nil { // null
		return nil
	}
	v, err := convert(*from)
	if err != nil {
		return &FieldError{Field: name, Err: err}
	}
	*to = &v
	return nil
}

// OlderJSON returns v, the value of a field of type JSON in a stored event b or, if that is
// empty, the member with an older name, byte for byte; nil if the event lacks both.
func OlderJSON(b []byte, name string, v json.RawMessage) json.RawMessage {
	if len(v) > 0 {
		return v
	}
	return bytes.Clone(member(b, name))
}

// member returns the member of a valid object that has exactly the given name, byte for
// byte; nil if there is none. The last of several wins, as in encoding/json.
func member(b []byte, name string) (value []byte) {
	quoted := appendQuoted(nil, name)
	for text, v := range members(b) {
		if bytes.Equal(text, quoted) {
			value = v
		}
	}
	return value
}
