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
func ParseUUID(s string) (UUID, error) {
	var u UUID
	if len(s) != uuidLen || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return UUID{}, notA("UUID", s)
	}
	n := 0
	for i := 0; i < uuidLen; i += 2 {
		if s[i] == '-' {
			i++
		}
		hi, ok1 := unhex(s[i])
		lo, ok2 := unhex(s[i+1])
		if !ok1 || !ok2 {
			return UUID{}, notA("UUID", s)
		}
		u[n] = hi<<4 | lo
		n++
	}
	return u, nil
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
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

// notA returns the error for a stored string that is not a valid value of the named
// type.
func notA(kind, s string) error {
	if n := len(s); (n == word || n == len(UUID{})) && !isText([]byte(s)) { // as binary numbers and UUIDs have
		return fmt.Errorf("%w: %s is not a valid %s, but may have been stored as binary", ErrValue, quote(s), kind)
	}
	return fmt.Errorf("%w: %s is not a valid %s", ErrValue, quote(s), kind)
}
