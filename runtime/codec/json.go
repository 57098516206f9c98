package codec

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
	"time"
	"unicode/utf8"
)

// An event is stored as a JSON object with one member per field. The AppendJSON functions append a member that begins
// with a comma; [EndJSON] turns the members into an object. Their values must pass the [Checker]. Fields of type JSON
// are copied byte for byte.

// EndJSON turns the members in dst[begin:] into an object by replacing the first comma
// with a brace. Without members, it appends {}.
func EndJSON(dst []byte, begin int) []byte {
	if len(dst) == begin {
		return append(dst, "{}"...)
	}
	dst[begin] = '{'
	return append(dst, '}')
}

// appendMember appends a comma and the name of a member.
func appendMember(dst []byte, name string) []byte {
	return append(appendQuoted(append(dst, ','), name), ':')
}

// appendQuoted appends text, which must be valid UTF-8, as a JSON string.
func appendQuoted[T ~string | ~[]byte](dst []byte, text T) []byte {
	dst = append(dst, '"')
	from := 0
	for i := range len(text) {
		c := text[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, text[from:]...), '"')
}

// AppendJSONString appends a member with a string.
func AppendJSONString(dst []byte, name, v string) []byte {
	return appendQuoted(appendMember(dst, name), v)
}

// AppendJSONBytes appends a member with v in base64 (RFC 4648, section 4).
func AppendJSONBytes(dst []byte, name string, v []byte) []byte {
	dst = append(appendMember(dst, name), '"')
	return append(base64.StdEncoding.AppendEncode(dst, v), '"')
}

// AppendJSONBool appends a member with true or false.
func AppendJSONBool(dst []byte, name string, v bool) []byte {
	return strconv.AppendBool(appendMember(dst, name), v)
}

// AppendJSONInt appends a member with a number.
func AppendJSONInt[T int32 | int64](dst []byte, name string, v T) []byte {
	return strconv.AppendInt(appendMember(dst, name), int64(v), 10)
}

// AppendJSONUint appends a member with a number.
func AppendJSONUint[T uint32 | uint64](dst []byte, name string, v T) []byte {
	return strconv.AppendUint(appendMember(dst, name), uint64(v), 10)
}

// AppendJSONFloat32 appends a member with the shortest number that reads back as v.
func AppendJSONFloat32(dst []byte, name string, v float32) []byte {
	return appendFloat32(appendMember(dst, name), v)
}

// AppendJSONFloat64 appends a member with the shortest number that reads back as v.
func AppendJSONFloat64(dst []byte, name string, v float64) []byte {
	return appendFloat64(appendMember(dst, name), v)
}

// AppendJSONTimestamp appends a member with v in RFC 3339 and UTC.
func AppendJSONTimestamp(dst []byte, name string, v time.Time) []byte {
	dst = append(appendMember(dst, name), '"')
	return append(appendTime(dst, v), '"')
}

// AppendJSONDuration appends a member with v in Go's format, such as "1h2m3s".
func AppendJSONDuration(dst []byte, name string, v time.Duration) []byte {
	dst = append(appendMember(dst, name), '"')
	return append(appendDuration(dst, v), '"')
}

// AppendJSONEnum appends a member with the name of v.
func AppendJSONEnum(dst []byte, name string, e Enum, v int64) []byte {
	text, _ := e.Name(v)
	return appendQuoted(appendMember(dst, name), text)
}

// AppendJSONJSON appends a member with v unchanged.
func AppendJSONJSON(dst []byte, name string, v json.RawMessage) []byte {
	return append(appendMember(dst, name), v...)
}

// JSONDuration is a duration that JSON represents in Go's format, such as "1h2m3s".
type JSONDuration time.Duration

// UnmarshalText parses a duration in Go's format.
func (d *JSONDuration) UnmarshalText(b []byte) error {
	v, err := decodeDuration(b)
	*d = JSONDuration(v)
	return err
}

// JSONTime returns a copy of t in UTC, or nil if t is nil.
func JSONTime(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}

// ParseJSON unmarshals a stored event into v. b must be a JSON object. Errors wrap [ErrValue].
func ParseJSON(b []byte, v any) error {
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%w: %w", ErrValue, err)
	}
	if bytes.TrimLeft(b, jsonSpace)[0] != '{' {
		return fmt.Errorf("%w: %s is not an object", ErrValue, quote(string(b)))
	}
	if utf8.Valid(b) {
		return nil
	}
	for name, text := range members(b) { // Unmarshal replaces invalid UTF-8 in strings
		if bytes.TrimLeft(text, jsonSpace)[0] == '"' && !utf8.Valid(text) {
			return fmt.Errorf("%w: %w: %s", ErrValue, ErrUTF8, name)
		}
	}
	return nil
}

// MemberJSON returns the member of the stored event b that has exactly the given name,
// byte for byte, including surrounding white space. If there is none, it returns v, the
// value that [ParseJSON] found. It may reuse the memory of v.
func MemberJSON(b []byte, name string, v json.RawMessage) json.RawMessage {
	if len(v) == 0 {
		return v
	}
	if value := member(b, name); value != nil {
		v = append(v[:0], value...)
	}
	return v
}

// jsonSpace is the white space of JSON.
const jsonSpace = " \t\r\n"

// members yields the members of a valid object: the quoted name, and everything between
// the colon and the next comma or brace.
func members(b []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		var name []byte
		begin, depth := 0, 0
		for i := 0; i < len(b); i++ {
			switch c := b[i]; {
			case c == '"':
				end := i + 1
				for b[end] != '"' {
					if b[end] == '\\' {
						end++
					}
					end++
				}
				if depth == 1 && name == nil {
					name = b[i : end+1]
				}
				i = end
			case c == ':' && depth == 1:
				begin = i + 1
			case c == '{' || c == '[':
				depth++
			case c == ',' && depth == 1, c == '}' && depth == 1 && name != nil:
				if !yield(name, b[begin:i]) {
					return
				}
				name = nil
			case c == '}' || c == ']':
				depth--
			}
		}
	}
}

// MissingField returns the error for a serialized event that lacks a required field.
func MissingField(name string) error { return &FieldError{Field: name, Err: ErrMissing} }
