package codec

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// KeyReader takes apart a row key that a [KeyWriter] made, segment by segment.
// It accepts only what the writer writes: encoding what was read gives the same
// key again. The first error sticks, a [*FieldError] that wraps [ErrKey]; after
// it every method returns the zero value.
type KeyReader struct {
	rest  string
	delim string
	done  bool // the last segment was taken
	err   *FieldError
}

// NewKeyReader returns a reader of key.
func NewKeyReader(key, delimiter string) KeyReader {
	r := KeyReader{rest: key, delim: delimiter}
	if len(key) > MaxKey {
		r.fail(keyField, key, "at most 4096 bytes")
	}
	return r
}

// String reads what [KeyWriter.String] wrote.
func (r *KeyReader) String(segment string) string {
	v, ok := r.next(segment)
	if ok && !utf8.ValidString(v) {
		return fail[string](r, segment, v, "valid UTF-8")
	}
	return v
}

// Bytes reads what [KeyWriter.Bytes] wrote.
func (r *KeyReader) Bytes(segment string) []byte {
	v, ok := r.next(segment)
	if !ok {
		return nil
	}
	b, err := hex.DecodeString(v)
	if err != nil || strings.ContainsAny(v, "ABCDEF") {
		return fail[[]byte](r, segment, v, "lower-case hex")
	}
	return b
}

// Bool reads what [KeyWriter.Bool] wrote.
func (r *KeyReader) Bool(segment string) bool {
	v, ok := r.next(segment)
	if ok && v != "true" && v != "false" {
		return fail[bool](r, segment, v, "true or false")
	}
	return v == "true"
}

// Int reads what [KeyWriter.Int] wrote: a canonical decimal number that fits the
// given number of bits.
func (r *KeyReader) Int(segment string, bits int) int64 {
	v, ok := r.next(segment)
	if !ok {
		return 0
	}
	var buf [20]byte
	n, err := strconv.ParseInt(v, 10, bits)
	if err != nil || string(strconv.AppendInt(buf[:0], n, 10)) != v {
		return fail[int64](r, segment, v, "a decimal number in range")
	}
	return n
}

// Uint reads what [KeyWriter.Uint] wrote: a canonical decimal number that fits
// the given number of bits.
func (r *KeyReader) Uint(segment string, bits int) uint64 {
	v, ok := r.next(segment)
	if !ok {
		return 0
	}
	var buf [20]byte
	n, err := strconv.ParseUint(v, 10, bits)
	if err != nil || string(strconv.AppendUint(buf[:0], n, 10)) != v {
		return fail[uint64](r, segment, v, "a decimal number in range")
	}
	return n
}

// Duration reads what [KeyWriter.Duration] wrote.
func (r *KeyReader) Duration(segment string) time.Duration {
	return time.Duration(r.Int(segment, 64))
}

// Timestamp reads what [KeyWriter.Timestamp] wrote, in UTC.
func (r *KeyReader) Timestamp(segment string) time.Time {
	return r.time(segment, TimeFormat{Kind: UnixNanos})
}

// UUID reads what [KeyWriter.UUID] wrote.
func (r *KeyReader) UUID(segment string) UUID {
	v, ok := r.next(segment)
	if !ok {
		return UUID{}
	}
	var buf [uuidLen]byte
	u, err := ParseUUID(v)
	if err != nil || string(u.appendText(buf[:0])) != v {
		return fail[UUID](r, segment, v, "a lower-case UUID")
	}
	return u
}

// Enum reads what [KeyWriter.Enum] wrote: the name of a value of e.
func (r *KeyReader) Enum(segment string, e Enum) int64 {
	v, ok := r.next(segment)
	if !ok {
		return 0
	}
	n, ok := e.Number(v)
	if !ok {
		return fail[int64](r, segment, v, "a name of the enum")
	}
	return n
}

// Const reads what [KeyWriter.Const] wrote: exactly this text.
func (r *KeyReader) Const(text string) {
	if r.err != nil {
		return
	}
	rest, ok := strings.CutPrefix(r.rest, text)
	switch {
	case ok && rest == "" && !r.done:
		r.rest, r.done = "", true
	case ok && strings.HasPrefix(rest, r.delim) && !r.done:
		r.rest = rest[len(r.delim):]
	default:
		r.fail(keyField, r.rest, strconv.Quote(text))
	}
}

// Bucket reads what [KeyWriter.Bucket] wrote and returns the bucket's start.
func (r *KeyReader) Bucket(b Bucket) time.Time {
	v, ok := r.next(bucketField)
	if !ok {
		return time.Time{}
	}
	t, err := b.ParseLabel(v)
	if err != nil {
		return fail[time.Time](r, bucketField, v, "a label of the form "+b.Label.String())
	}
	return t
}

// Time reads what [KeyWriter.Time] wrote: the time to the format's resolution,
// in UTC.
func (r *KeyReader) Time(f TimeFormat) time.Time { return r.time(timeField, f) }

func (r *KeyReader) time(segment string, f TimeFormat) time.Time {
	v, ok := r.next(segment)
	if !ok {
		return time.Time{}
	}
	t, err := f.Parse(v)
	if err != nil {
		return fail[time.Time](r, segment, v, "a time of the form "+f.String())
	}
	return t
}

// Close returns the first error, or an error if part of the key was not read.
func (r *KeyReader) Close() error {
	if r.err == nil && !r.done {
		r.fail(keyField, r.rest, "nothing more")
	}
	if r.err != nil {
		return r.err
	}
	return nil
}

// next takes the next segment; false after an error.
func (r *KeyReader) next(segment string) (string, bool) {
	if r.err != nil {
		return "", false
	}
	v, rest, more := strings.Cut(r.rest, r.delim)
	switch {
	case r.done || v == "":
		r.fail(segment, "", "a value")
		return "", false
	case !more && r.runsInto(v):
		r.fail(segment, v, "no part of the delimiter at the end")
		return "", false
	}
	r.rest, r.done = rest, !more
	return v, true
}

// runsInto reports whether v followed by the delimiter holds the delimiter too
// early, which the writer refuses: "a:" before "::".
func (r *KeyReader) runsInto(v string) bool {
	return len(r.delim) > 1 && strings.Index(v+r.delim, r.delim) != len(v)
}

func (r *KeyReader) fail(field, value, want string) {
	e := &FieldError{Field: field, Err: fmt.Errorf("%w: want %s", ErrKey, want)}
	if value != "" {
		e.Value = quote(value)
	}
	r.err = e
}

// fail records an error and returns the zero value.
func fail[T any](r *KeyReader, segment, value, want string) (zero T) {
	r.fail(segment, value, want)
	return zero
}
