package codec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// KeyReader parses a row key that a [KeyWriter] built, segment by segment. It accepts only what the writer writes:
// encoding the values again yields the same key. It keeps the first error, a [*FieldError] that wraps [ErrKey]; after
// an error all methods return zero values. See [KeyReader.Kind] for keys of other kinds of rows.
type KeyReader struct {
	rest  string
	delim string
	done  bool // no segments are left
	lost  bool // after an error, it is unknown where the next segment begins
	other bool // the key is that of another kind of rows; see Kind
	// joined is set by Join until the next segment is read, and tail is the number of bytes
	// that follow the segment, for one of variable width.
	joined bool
	tail   int
	err    *FieldError
}

// NewKeyReader returns a reader of key. An empty delimiter means that the key is binary.
func NewKeyReader(key, delimiter string) KeyReader {
	r := KeyReader{rest: key, delim: delimiter}
	if len(key) > MaxKey {
		r.lose(keyField, key, "at most 4096 bytes")
	}
	return r
}

// Join makes the next segment end as after [KeyWriter.Join]. tail is the number of bytes
// of the key that follow it, for a segment of variable width; 0 for the last segment of a key.
func (r *KeyReader) Join(tail int) { r.joined, r.tail = true, tail }

// String reads what [KeyWriter.String] wrote.
func (r *KeyReader) String(segment string, f KeyForm) string {
	v, ok := r.take(segment, f, StringSegment)
	if ok && f.Encoding != KeyText {
		b, valid := keyEncodings[f.Encoding].decode(v)
		if !valid {
			return fail[string](r, segment, v, "lower-case "+f.Encoding.String())
		}
		v = string(b)
	}
	if ok && !utf8.ValidString(v) {
		return fail[string](r, segment, v, "valid UTF-8")
	}
	return v
}

// Bytes reads what [KeyWriter.Bytes] wrote.
func (r *KeyReader) Bytes(segment string, f KeyForm) []byte {
	v, ok := r.take(segment, f, BytesSegment)
	if !ok {
		return nil
	}
	switch f.Encoding {
	case KeyRaw:
		return []byte(v)
	case KeyText:
		f.Encoding = KeyHex
	}
	b, ok := keyEncodings[f.Encoding].decode(v)
	if !ok {
		return fail[[]byte](r, segment, v, f.Encoding.String())
	}
	return b
}

// Bool reads what [KeyWriter.Bool] wrote.
func (r *KeyReader) Bool(segment string, f KeyForm) bool {
	no, yes := "false", "true"
	if f.Encoding == KeyBinary {
		no, yes = "\x00", "\x01"
	}
	v, ok := r.take(segment, f, BoolSegment)
	if ok && v != yes && v != no {
		return fail[bool](r, segment, v, strconv.Quote(yes)+" or "+strconv.Quote(no))
	}
	return v == yes
}

// Int reads what [KeyWriter.Int] wrote: an integer of 32 or 64 bits.
func (r *KeyReader) Int(segment string, f KeyForm, bits int) int64 {
	v, ok := r.take(segment, f, intSegment(bits))
	if !ok {
		return 0
	}
	return int64(r.number(segment, f, v, bits, true))
}

// Uint reads what [KeyWriter.Uint] wrote: an integer of 32 or 64 bits.
func (r *KeyReader) Uint(segment string, f KeyForm, bits int) uint64 {
	v, ok := r.take(segment, f, intSegment(bits)+(Uint32Segment-Int32Segment))
	if !ok {
		return 0
	}
	return r.number(segment, f, v, bits, false)
}

// number reads what [KeyWriter.number] wrote.
func (r *KeyReader) number(segment string, f KeyForm, v string, bits int, signed bool) uint64 {
	switch {
	case f.inBinary():
		n := f.parseBinary(v) ^ f.flipped(bits, signed)
		if signed && bits <= 32 {
			return uint64(int32(n))
		}
		return n
	case f.Pad > 0:
		n, ok := f.parsePadded(v)
		if most := n >> (bits - 1); !ok || most > 1 || signed && most > 0 {
			return fail[uint64](r, segment, v, "a padded number in range")
		}
		return n
	}
	var n uint64
	var err error
	if signed {
		var i int64
		i, err = strconv.ParseInt(v, 10, bits)
		n = uint64(i)
	} else {
		n, err = strconv.ParseUint(v, 10, bits)
	}
	if err != nil || !canonical(v) {
		return fail[uint64](r, segment, v, "a decimal number in range")
	}
	return n
}

// canonical reports whether a valid number is written as a writer writes it: without leading zeros and a plus sign.
func canonical(number string) bool {
	return number == "0" || strings.TrimPrefix(number, "-")[0] >= '1'
}

// Timestamp reads what [KeyWriter.Timestamp] wrote. The time is in UTC.
func (r *KeyReader) Timestamp(segment string, f KeyForm) time.Time {
	if !r.accepts(segment, f, TimestampSegment) {
		return time.Time{}
	}
	return r.time(segment, f.timestamp())
}

// Enum reads what [KeyWriter.Enum] wrote: the name or number of a value of e.
func (r *KeyReader) Enum(segment string, f KeyForm, e Enum) int64 {
	v, ok := r.take(segment, f, EnumSegment)
	if !ok {
		return 0
	}
	if f.Encoding == KeyText {
		n, ok := e.Number(v)
		if !ok {
			return fail[int64](r, segment, v, "a name of the enum"+editedEnum)
		}
		return n
	}
	n := int64(r.number(segment, f, v, f.enumBits(), true))
	if _, ok := e.Name(n); r.err == nil && !ok {
		return fail[int64](r, segment, v, "a number of the enum"+editedEnum)
	}
	return n
}

// Sequence reads what [KeyWriter.Sequence] wrote.
func (r *KeyReader) Sequence() uint32 {
	return uint32(r.Uint(sequenceField, SequenceForm(r.delim), 32))
}

// Const reads what [KeyWriter.Const] wrote and rejects any other string.
func (r *KeyReader) Const(text string) {
	if r.lost {
		return
	}
	rest, ok := strings.CutPrefix(r.rest, text)
	joined := r.joined
	r.joined = false
	switch {
	case ok && joined && !r.done:
		r.rest = rest
	case ok && rest == "" && !r.done:
		r.rest, r.done = "", true
	case ok && strings.HasPrefix(rest, r.delim) && !r.done:
		r.rest = rest[len(r.delim):]
	default:
		r.lose(keyField, r.rest, strconv.Quote(text)+editedKey)
	}
}

// ErrKind is the error for the key of a row of another kind; see [KeyReader.Kind].
var ErrKind = errors.New("the row is of another kind")

// Kind is [KeyReader.Const] for text that distinguishes kinds of rows in a table. If a key
// has other text there, [KeyReader.Close] returns an error that wraps [ErrKind], even if
// the values before it do not have the forms of this kind.
func (r *KeyReader) Kind(text string) {
	if r.lost {
		return
	}
	r.Const(text)
	r.other = r.lost
}

// Bucket reads what [KeyWriter.Bucket] wrote and returns the bucket's start.
func (r *KeyReader) Bucket(b *Bucket) time.Time {
	if r.err == nil && r.delim == "" && b.Label.width() == 0 {
		r.misfit(bucketField, b.Label.String(), ErrForm)
	}
	v, ok := r.piece(bucketField, b.Label.width(), b.inBytes())
	if !ok {
		return time.Time{}
	}
	t, err := b.ParseLabel(v)
	if err != nil {
		return fail[time.Time](r, bucketField, v, b.wantedLabel(v))
	}
	return t
}

// Time reads what [KeyWriter.Time] wrote. The time is in UTC and has the resolution of the format.
func (r *KeyReader) Time(f TimeFormat) time.Time { return r.time(timeField, f) }

func (r *KeyReader) time(segment string, f TimeFormat) time.Time {
	v, ok := r.piece(segment, f.Width(), f.InBytes())
	if !ok {
		return time.Time{}
	}
	t, err := f.Parse(v)
	if err != nil {
		return fail[time.Time](r, segment, v, "a time of the form "+f.String()+editedTime)
	}
	return t
}

// Close returns the first error. Unread segments are an error.
func (r *KeyReader) Close() error {
	if r.err == nil && !r.done {
		r.fail(keyField, r.rest, "nothing more"+editedKey)
	}
	switch {
	case r.other:
		r.err.Err = fmt.Errorf("%w: %w", r.err.Err, ErrKind)
		return r.err
	case r.err != nil:
		return r.err
	}
	return nil
}

// accepts reports whether the next segment can be consumed as a value of type t in the form
// f. If the type cannot have the form, accepts records the error.
func (r *KeyReader) accepts(segment string, f KeyForm, t SegmentType) bool {
	if r.lost || f == (KeyForm{}) && r.delim != "" {
		return !r.lost // every type has a default
	}
	if err := f.Validate(t, r.delim); err != nil {
		r.misfit(segment, "", err)
	}
	return !r.lost
}

// misfit records an error about the form of a segment, which wraps [ErrForm].
func (r *KeyReader) misfit(segment, value string, err error) {
	if r.lost = true; r.err == nil {
		r.err = &FieldError{Field: segment, Value: value, Err: fmt.Errorf("%w: %w", ErrKey, err)}
	}
}

// take consumes the next segment, a value of type t, and returns it unescaped; false after an error.
func (r *KeyReader) take(segment string, f KeyForm, t SegmentType) (string, bool) {
	if !r.accepts(segment, f, t) {
		return "", false
	}
	if r.delim == "" && f.Terminated(t) && !r.joined {
		v, rest, ok := cutTerminated(r.rest)
		if !ok {
			return r.lose(segment, r.rest, "a value that ends with 0x00 0x01")
		}
		return r.advance(segment, v, rest)
	}
	v, ok := r.piece(segment, f.Fixed(t), f.InBytes(t))
	if !ok || !f.Escape {
		return v, ok
	}
	plain, ok := unescape(v, r.delim[0]+1)
	if !ok {
		r.fail(segment, v, "escapes")
	}
	return plain, ok
}

// piece consumes the next segment: exactly width bytes if the value is in bytes or the
// key is binary, else up to the delimiter. It returns false after an error.
func (r *KeyReader) piece(segment string, width int, inBytes bool) (string, bool) {
	switch {
	case r.lost:
		return "", false
	case r.joined:
		return r.join(segment, width)
	case !inBytes && r.delim != "":
		return r.next(segment)
	case len(r.rest) < width:
		return r.lose(segment, r.rest, strconv.Itoa(width)+" bytes")
	}
	return r.advance(segment, r.rest[:width], r.rest[width:])
}

// join consumes a segment after which the next one begins directly: exactly width bytes
// or, if that is 0, all but the last ones of the key.
func (r *KeyReader) join(segment string, width int) (string, bool) {
	n := width
	if n == 0 {
		n = len(r.rest) - r.tail
	}
	if n <= 0 || n > len(r.rest) {
		return r.lose(segment, r.rest, "a value that is followed by "+strconv.Itoa(r.tail)+" bytes"+editedKey)
	}
	v := r.rest[:n]
	r.joined, r.rest, r.done = false, r.rest[n:], width == 0 && r.tail == 0 // nothing follows
	return v, r.err == nil
}

// advance continues after the segment v, where the key must end or have the delimiter.
func (r *KeyReader) advance(segment, v, rest string) (string, bool) {
	next, ok := strings.CutPrefix(rest, r.delim)
	if rest != "" && !ok {
		return r.lose(segment, rest, "the delimiter "+strconv.Quote(r.delim)+editedKey)
	}
	r.rest, r.done = next, rest == ""
	return v, r.err == nil
}

// next consumes the next segment up to the delimiter; false after an error.
func (r *KeyReader) next(segment string) (string, bool) {
	v, rest, more := strings.Cut(r.rest, r.delim)
	switch {
	case r.done || v == "":
		return r.lose(segment, "", "a value"+editedKey)
	case !more && r.runsInto(v):
		return r.lose(segment, v, "a value that does not end with a part of the delimiter")
	}
	r.rest, r.done = rest, !more
	return v, r.err == nil
}

// runsInto reports whether v followed by the delimiter contains an earlier delimiter,
// as "a:" does before "::". The writer rejects such values.
func (r *KeyReader) runsInto(v string) bool {
	return len(r.delim) > 1 && strings.Index(v+r.delim, r.delim) != len(v)
}

func (r *KeyReader) fail(field, value, want string) {
	if r.err != nil {
		return
	}
	e := &FieldError{Field: field, Err: fmt.Errorf("%w: want %s", ErrKey, want)}
	if value != "" {
		e.Value = quote(value)
	}
	r.err = e
}

// lose records an error after which it is unknown where the next segment begins.
func (r *KeyReader) lose(segment, value, want string) (string, bool) {
	r.fail(segment, value, want)
	r.lost = true
	return "", false
}

// fail records an error and returns the zero value.
func fail[T any](r *KeyReader, segment, value, want string) (zero T) {
	r.fail(segment, value, want)
	return zero
}

// Keep returns a copy of text, a substring of a key, so that the caller does not retain
// the whole key. If text equals last, it returns last instead.
func Keep(last, text string) string {
	if last == text {
		return last
	}
	return strings.Clone(text)
}
