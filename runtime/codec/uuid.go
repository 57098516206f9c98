package codec

import (
	"encoding/hex"
	"fmt"
)

// UUID is a universally unique identifier (RFC 9562) of any version.
type UUID [16]byte

// uuidLen is the length of the canonical form.
const uuidLen = 36

// String returns the canonical form: lowercase hex in groups of 8-4-4-4-12.
func (u UUID) String() string { return string(u.appendText(nil)) }

func (u UUID) appendText(dst []byte) []byte {
	dst = hex.AppendEncode(dst, u[:4])
	for _, group := range [][]byte{u[4:6], u[6:8], u[8:10], u[10:]} {
		dst = append(dst, '-')
		dst = hex.AppendEncode(dst, group)
	}
	return dst
}

// ParseUUID parses the canonical form, in upper or lower case. It rejects other
// notations, such as braces, "urn:uuid:" or no dashes. Errors wrap [ErrValue].
func ParseUUID(s string) (u UUID, err error) {
	var digits [2 * len(u)]byte
	if len(s) == uuidLen && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		text := append(append(append(digits[:0], s[:8]...), s[9:13]...), s[14:18]...)
		if _, err := hex.Decode(u[:], append(append(text, s[19:23]...), s[24:]...)); err == nil {
			return u, nil
		}
	}
	return UUID{}, notA("UUID", s)
}

// MarshalText implements [encoding.TextMarshaler] with the canonical form, so that JSON
// represents a UUID as a string.
func (u UUID) MarshalText() ([]byte, error) { return u.appendText(nil), nil }

// UnmarshalText implements [encoding.TextUnmarshaler] like [ParseUUID].
func (u *UUID) UnmarshalText(b []byte) error {
	v, err := ParseUUID(string(b))
	if err != nil {
		return err
	}
	*u = v
	return nil
}

func decodeUUIDBytes(b []byte) (UUID, error) {
	if len(b) != len(UUID{}) {
		return UUID{}, notBinary("UUID", b)
	}
	return UUID(b), nil
}

func decodeUUID(b []byte) (UUID, error) { return ParseUUID(string(b)) }

// AppendJSONUUID appends a member with the canonical form of v.
func AppendJSONUUID(dst []byte, name string, v UUID) []byte {
	dst = append(appendMember(dst, name), '"')
	return append(v.appendText(dst), '"')
}

// AppendProtoUUID appends a field of type bytes that holds the 16 bytes of v.
func AppendProtoUUID(dst []byte, number int, p Presence, v UUID) []byte {
	if p == Implicit && v == (UUID{}) {
		return dst
	}
	return AppendProtoBytes(dst, number, Explicit, v[:])
}

// UUID reads a field of type bytes that holds 16 bytes.
func (r *ProtoReader) UUID() UUID {
	b := r.bytes()
	if r.err != nil {
		return UUID{}
	}
	if len(b) != len(UUID{}) {
		r.fail(fmt.Errorf("%d bytes are not a UUID", len(b)))
		return UUID{}
	}
	return UUID(b)
}

// appendKey appends a UUID in a row key: in its canonical form, as 32 hex digits, or as 16 bytes.
func (u UUID) appendKey(dst []byte, f KeyForm) []byte {
	switch f.Encoding {
	case KeyText:
		return u.appendText(dst)
	case KeyHex:
		return hex.AppendEncode(dst, u[:])
	}
	return append(dst, u[:]...)
}

// parseKeyUUID is the inverse of appendKey. It returns what is wanted if the text is something else.
func parseKeyUUID(text string, f KeyForm) (u UUID, want string) {
	switch f.Encoding {
	case KeyText:
		var buf [uuidLen]byte
		u, err := ParseUUID(text)
		if err != nil || string(u.appendText(buf[:0])) != text {
			return u, "a lower-case UUID"
		}
		return u, ""
	case KeyHex:
		b, ok := decodeHex(text)
		if !ok || len(b) != len(u) {
			return u, "32 lower-case hex digits"
		}
		return UUID(b), ""
	}
	copy(u[:], text)
	return u, ""
}

// UUIDToString converts a UUID to its canonical form, in lower case.
func UUIDToString(v UUID) (string, error) { return v.String(), nil }
