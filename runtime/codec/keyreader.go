package codec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ErrKind is the error for the key of a row of another kind; see [Segment].Tells.
var ErrKind = errors.New("the row is of another kind")

// keyReader parses a row key segment by segment. It accepts only what a keyWriter writes. It keeps the first error, a
// [*FieldError] that wraps [ErrKey].
type keyReader struct {
	key   *Key
	rest  string
	done  bool // no segments are left
	lost  bool // after an error, it is unknown where the next segment begins
	other bool // the key is that of another kind of rows
	err   *FieldError
}

// reader returns a reader of a row key.
func (k *Key) reader(row string) keyReader {
	r := keyReader{key: k, rest: row}
	if len(row) > MaxKey {
		r.lose(keyField, row, "at most 4096 bytes")
	}
	return r
}

// read reads all segments.
func (r *keyReader) read(v *KeyValues) {
	k := r.key
	for i := range k.Segments {
		s := &k.Segments[i]
		if s.Kind == ConstSegment {
			r.constant(s)
		} else if text, ok := r.next(s, i); ok && r.err == nil {
			r.value(s, text, v)
		}
	}
	if k.Endless() {
		set(v.At, k.Bucket.Min())
	}
}

// constant reads a constant.
func (r *keyReader) constant(s *Segment) {
	if r.lost {
		return
	}
	rest, ok := strings.CutPrefix(r.rest, s.Const)
	switch {
	case r.done || !ok:
	case s.Joined:
		r.rest = rest
		return
	case r.advance(rest):
		return
	}
	r.lose(keyField, r.rest, strconv.Quote(s.Const)+editedKey)
	r.other = s.Tells
}

// advance continues after a segment, where the key must end or have the delimiter.
func (r *keyReader) advance(rest string) bool {
	next, ok := strings.CutPrefix(rest, r.key.Delimiter)
	if rest != "" && !ok {
		return false
	}
	r.rest, r.done = next, rest == ""
	return true
}

// next consumes the text of the i-th segment: exactly the bytes of a fixed width if the value is in bytes or the key is
// binary, else up to the delimiter. It returns false if there is no such segment.
func (r *keyReader) next(s *Segment, i int) (text string, ok bool) {
	if r.lost || !r.fits(s) {
		return "", false
	}
	binary := r.key.Delimiter == ""
	if !s.Joined && !binary && !r.key.InBytes(s) {
		return r.delimited(s)
	}
	width, rest := r.key.Width(s), ""
	switch {
	case s.Joined:
		return r.join(s, width, r.key.Tail(i))
	case binary && width == 0:
		if text, rest, ok = cutTerminated(r.rest); !ok {
			return r.lose(s.field(), r.rest, "a value that ends with 0x00 0x01")
		}
	case len(r.rest) < width:
		return r.lose(s.field(), r.rest, strconv.Itoa(width)+" bytes")
	default:
		text, rest = r.rest[:width], r.rest[width:]
	}
	if !r.advance(rest) {
		return r.lose(s.field(), rest, "the delimiter "+strconv.Quote(r.key.Delimiter)+editedKey)
	}
	return text, true
}

// fits reports whether a segment can have its form. If it cannot, fits records the error.
func (r *keyReader) fits(s *Segment) bool {
	if err := r.key.fits(s); err != nil {
		r.misfit(s, err)
	}
	return !r.lost
}

// misfit records an error about a segment of the key, which wraps [ErrForm].
func (r *keyReader) misfit(s *Segment, err error) {
	if r.lost = true; r.err == nil {
		r.err = &FieldError{Field: s.field(), Err: fmt.Errorf("%w: %w", ErrKey, err)}
	}
}

// join consumes a segment after which the next one begins directly: exactly width bytes
// or, if that is 0, all but the last ones of the key.
func (r *keyReader) join(s *Segment, width, tail int) (string, bool) {
	n := width
	if n == 0 {
		n = len(r.rest) - tail
	}
	if n <= 0 || n > len(r.rest) {
		return r.lose(s.field(), r.rest, "a value that is followed by "+strconv.Itoa(tail)+" bytes"+editedKey)
	}
	text := r.rest[:n]
	r.rest, r.done = r.rest[n:], width == 0 && tail == 0 // nothing follows
	return text, true
}

// delimited consumes a segment up to the delimiter.
func (r *keyReader) delimited(s *Segment) (string, bool) {
	text, rest, more := strings.Cut(r.rest, r.key.Delimiter)
	switch {
	case r.done || text == "":
		return r.lose(s.field(), "", "a value"+editedKey)
	case !more && r.runsInto(text):
		return r.lose(s.field(), text, "a value that does not end with a part of the delimiter")
	}
	r.rest, r.done = rest, !more
	return text, true
}

// runsInto reports whether v followed by the delimiter contains an earlier delimiter,
// as "a:" does before "::". The writer rejects such values.
func (r *keyReader) runsInto(v string) bool {
	delimiter := r.key.Delimiter
	return len(delimiter) > 1 && strings.Index(v+delimiter, delimiter) != len(v)
}

// value sets the value of a segment.
func (r *keyReader) value(s *Segment, text string, v *KeyValues) {
	switch s.Kind {
	case MetricSegment:
		set(v.Metric, r.text(s, text))
	case BucketSegment:
		at, err := r.key.Bucket.ParseLabel(text)
		if err != nil {
			r.fail(s, text, r.key.Bucket.wantedLabel(text))
		}
		set(v.At, at)
	case TimeSegment:
		set(v.At, r.time(s, r.key.Time, text))
	case SaltSegment:
		salt, ok := saltForm(s.Buckets, r.key.Delimiter).parse(text)
		if v.Salt = int(salt); !ok || salt >= uint64(s.Buckets) {
			r.fail(s, text, "a salt of "+strconv.Itoa(s.Buckets)+" buckets"+editedSalt)
		}
	case SequenceSegment:
		set(v.Sequence, uint32(r.number(s, sequenceForm(r.key.Delimiter), text, 32, false)))
	default:
		r.series(s, text, v.series(s.Series), v.Own)
	}
}

// text reads a string.
func (r *keyReader) text(s *Segment, text string) string {
	switch f := s.Form; {
	case f.Escape:
		text = r.unescaped(s, text)
	case f.Encoding != KeyText:
		b, ok := keyEncodings[f.Encoding].decode(text)
		if !ok {
			r.fail(s, text, "lower-case "+f.Encoding.String())
		}
		text = string(b)
	}
	if !utf8.ValidString(text) {
		r.fail(s, text, "valid UTF-8")
	}
	return text
}

func (r *keyReader) bytes(s *Segment, text string) []byte {
	decode := keyEncodings[s.encoding()].decode
	switch {
	case s.Form.Escape:
		return []byte(r.unescaped(s, text))
	case decode == nil:
		return []byte(text)
	}
	b, ok := decode(text)
	if !ok {
		r.fail(s, text, s.encoding().String())
	}
	return b
}

func (r *keyReader) unescaped(s *Segment, text string) string {
	plain, ok := unescape(text, r.key.Delimiter[0]+1)
	if !ok {
		r.fail(s, text, "escapes")
	}
	return plain
}

func (r *keyReader) bool(s *Segment, text string) bool {
	no, yes := "false", "true"
	if s.Form.Encoding == KeyBinary {
		no, yes = "\x00", "\x01"
	}
	if text != yes && text != no {
		r.fail(s, text, strconv.Quote(yes)+" or "+strconv.Quote(no))
	}
	return text == yes
}

// number reads what [keyWriter.number] wrote.
func (r *keyReader) number(s *Segment, f KeyForm, text string, bits int, signed bool) (n uint64) {
	var err error
	switch {
	case f.inBinary():
		n, _ = f.parse(text)
		if n ^= f.flipped(bits, signed); signed && bits <= 32 {
			n = uint64(int32(n))
		}
		return n
	case f.Pad > 0:
		n, ok := f.parse(text)
		if most := n >> (bits - 1); !ok || most > 1 || signed && most > 0 {
			r.fail(s, text, "a padded number in range")
		}
		return n
	case signed:
		var i int64
		i, err = strconv.ParseInt(text, 10, bits)
		n = uint64(i)
	default:
		n, err = strconv.ParseUint(text, 10, bits)
	}
	if err != nil || !canonical(text) {
		r.fail(s, text, "a decimal number in range")
	}
	return n
}

// canonical reports whether a valid number is written as a writer writes it: without leading zeros and a plus sign.
func canonical(number string) bool {
	return number == "0" || strings.TrimPrefix(number, "-")[0] >= '1'
}

func (r *keyReader) time(s *Segment, f TimeFormat, text string) time.Time {
	t, err := f.Parse(text)
	if err != nil {
		r.fail(s, text, "a time of the form "+f.String()+editedTime)
	}
	return t
}

// enum reads the name or the number of a value.
func (r *keyReader) enum(s *Segment, text string) int64 {
	if s.Form.Encoding == KeyText {
		n, ok := s.Enum.Number(text)
		if !ok {
			r.fail(s, text, "a name of the enum"+editedEnum)
		}
		return n
	}
	n := int64(r.number(s, s.Form, text, s.Form.enumBits(), true))
	if _, ok := s.Enum.Name(n); !ok {
		r.fail(s, text, "a number of the enum"+editedEnum)
	}
	return n
}

// close returns the first error. Unread segments are an error.
func (r *keyReader) close() error {
	if r.err == nil && !r.done {
		r.err = unwanted(keyField, r.rest, "nothing more"+editedKey)
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

// fail records that the text of a segment is not what is wanted, unless there already is an error.
func (r *keyReader) fail(s *Segment, text, want string) {
	if r.err == nil {
		r.err = unwanted(s.field(), text, want)
	}
}

// lose records an error after which it is unknown where the next segment begins.
func (r *keyReader) lose(field, text, want string) (string, bool) {
	if r.lost = true; r.err == nil {
		r.err = unwanted(field, text, want)
	}
	return "", false
}

func unwanted(field, text, want string) *FieldError {
	e := &FieldError{Field: field, Err: fmt.Errorf("%w: want %s", ErrKey, want)}
	if text != "" {
		e.Value = quote(text)
	}
	return e
}

// Keep returns a copy of text, a substring of a key, so that the caller does not retain
// the whole key. If text equals last, it returns last instead.
func Keep(last, text string) string {
	if last == text {
		return last
	}
	return strings.Clone(text)
}
