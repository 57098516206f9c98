package codec

import (
	"bytes"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// MaxKey is Bigtable's limit for the length of a row key, in bytes.
const MaxKey = 4096

// The field names of errors in segments that have no name in the schema.
const (
	keyField      = "key"
	metricField   = "metric"
	bucketField   = "bucket"
	timeField     = "time"
	saltField     = "salt"
	sequenceField = "sequence"
)

// keyWriter builds a row key, or a part of one. It rejects values that could not be read back, and keeps the first error.
type keyWriter struct {
	key   *Key
	buf   []byte // dst, then the segments, each followed by the delimiter
	base  int    // where the key starts in buf
	ended int    // number of bytes of the delimiter at the end of buf
	err   *FieldError
}

// usualKey is the initial capacity for a key, in bytes. Most keys fit.
const usualKey = 64

// ownSalt is the salt that is computed from the values of a key.
const ownSalt = -1

// writer returns a writer of keys, or of parts of them.
func (k *Key) writer(dst []byte) keyWriter {
	if dst == nil {
		dst = make([]byte, 0, usualKey)
	}
	return keyWriter{key: k, buf: dst, base: len(dst)}
}

// write writes the segments [begin, end), with a given salt or ownSalt.
func (w *keyWriter) write(begin, end int, v *KeyValues, salt int) {
	for i := begin; i < end; i++ {
		s := &w.key.Segments[i]
		if s.Kind == SaltSegment && salt == ownSalt {
			w.segment(s, s.Joined, v, w.salt(s, v))
		} else {
			w.segment(s, s.Joined, v, salt)
		}
	}
}

// salt returns the salt of the series values.
func (w *keyWriter) salt(salt *Segment, v *KeyValues) int {
	start, hash := len(w.buf), uint64(fnvOffset)
	for _, series := range salt.Salted {
		if i := w.key.SegmentOf(series); i >= 0 && w.err == nil {
			w.segment(&w.key.Segments[i], false, v, 0)
			hash = addSalt(hash, w.buf[start:max(start, len(w.buf)-w.ended)])
			w.buf = w.buf[:start]
		}
	}
	return foldSalt(hash, salt.Buckets)
}

// segment writes a segment and what ends it: the delimiter or, in a binary key, the terminator of a value of variable
// width. Nothing ends one that is joined.
func (w *keyWriter) segment(s *Segment, joined bool, v *KeyValues, salt int) {
	if w.err != nil {
		return
	}
	start, delimiter := len(w.buf), w.key.Delimiter
	buf := w.value(s, v, salt)
	if n := len(buf) - start; delimiter == "" && !joined && w.key.variable(s) {
		if n == 0 && w.key.Structured {
			w.fail(s, "", ErrKeySchema)
		}
		buf = terminate(buf, start)
	}
	n := len(buf) - start
	if w.ended = 0; !joined {
		buf, w.ended = append(buf, delimiter...), len(delimiter)
	}
	switch value := buf[start : start+n]; {
	case w.err != nil, s.Kind == ConstSegment, delimiter == "" && !joined, w.key.InBytes(s): // a reader knows where it ends
	case n == 0:
		w.fail(s, "", ErrEmpty)
	case s.Joined: // as does the width of what follows
	case firstIndex(buf[start:], delimiter) != n:
		w.fail(s, quote(string(value)), ErrDelimiter)
	case w.key.Structured && slices.Min(value) <= delimiter[0]:
		w.fail(s, quote(string(value)), ErrKeySchema)
	}
	w.buf = buf
}

// firstIndex is [bytes.Index] for a delimiter, most of which are one byte.
func firstIndex(b []byte, delimiter string) int {
	if len(delimiter) == 1 {
		return bytes.IndexByte(b, delimiter[0])
	}
	return bytes.Index(b, []byte(delimiter))
}

// value appends the value of a segment.
func (w *keyWriter) value(s *Segment, v *KeyValues, salt int) []byte {
	switch s.Kind {
	case MetricSegment:
		return append(w.buf, value(v.Metric)...)
	case ConstSegment:
		return append(w.buf, s.Const...)
	case BucketSegment:
		b := &w.key.Bucket
		if b.Every < time.Second && b.Months <= 0 {
			w.fail(s, "without a width", ErrForm)
			return w.buf
		}
		out, err := b.AppendLabel(w.buf, value(v.At))
		return w.timed(s, out, value(v.At), err)
	case TimeSegment:
		return w.time(s, w.key.Time, value(v.At))
	case SaltSegment:
		if w.key.Delimiter == "" {
			return appendBig(w.buf, uint64(salt), SaltWidth(s.Buckets, ""))
		}
		return saltForm(s.Buckets, w.key.Delimiter).appendPadded(w.buf, uint64(salt))
	case SequenceSegment:
		return w.number(s, sequenceForm(w.key.Delimiter), uint64(value(v.Sequence)), 32, false)
	}
	return w.series(s, v.series(s.Series))
}

// text appends a string.
func (w *keyWriter) text(s *Segment, v string) []byte {
	if !utf8.ValidString(v) {
		w.fail(s, quote(v), ErrUTF8)
	}
	return characters(w, s, v)
}

// characters appends a string or bytes.
func characters[T ~string | ~[]byte](w *keyWriter, s *Segment, v T) []byte {
	encode := keyEncodings[s.encoding()].append
	switch f := s.Form; {
	case encode != nil:
		return encode(w.buf, []byte(v))
	case f.Pad > 0 && f.Pad != len(v):
		w.fail(s, quote(string(v)), ErrRange)
	case f.Escape:
		return appendEscaped(w.buf, v, w.key.Delimiter[0]+1)
	}
	return append(w.buf, v...)
}

func (w *keyWriter) bool(s *Segment, v bool) []byte {
	if s.Form.Encoding == KeyBinary {
		return appendBit(w.buf, v)
	}
	return strconv.AppendBool(w.buf, v)
}

// number appends an integer, given its 64 bits and the width of its type.
func (w *keyWriter) number(s *Segment, f KeyForm, v uint64, bits int, signed bool) []byte {
	switch {
	case f.inBinary():
		return f.appendBinary(w.buf, v^f.flipped(bits, signed), bits)
	case f.Pad == 0:
		return appendDecimal(w.buf, v, signed)
	case signed && int64(v) < 0 || v > f.largest():
		w.fail(s, string(appendDecimal(nil, v, signed)), ErrRange)
		return w.buf
	}
	return f.appendPadded(w.buf, v)
}

// appendDecimal appends the 64 bits of an integer as a decimal number.
func appendDecimal(dst []byte, v uint64, signed bool) []byte {
	if signed {
		return strconv.AppendInt(dst, int64(v), 10)
	}
	return strconv.AppendUint(dst, v, 10)
}

// enum appends the name of a value, or its number.
func (w *keyWriter) enum(s *Segment, v int64) []byte {
	name, ok := s.Enum.Name(v)
	switch bits := s.Form.enumBits(); {
	case w.err != nil:
	case !ok:
		shown, err := notInEnum(v)
		w.fail(s, shown, err)
	case s.Form.Encoding == KeyText:
		return append(w.buf, name...)
	case v<<(64-bits)>>(64-bits) != v:
		w.fail(s, strconv.FormatInt(v, 10), ErrRange)
	default:
		return w.number(s, s.Form, uint64(v), bits, true)
	}
	return w.buf
}

func (w *keyWriter) time(s *Segment, f TimeFormat, t time.Time) []byte {
	out, err := f.Append(w.buf, t)
	return w.timed(s, out, t, err)
}

// timed returns what was appended for a time.
func (w *keyWriter) timed(s *Segment, out []byte, t time.Time, err error) []byte {
	if err != nil {
		w.fail(s, showTime(t), err)
	}
	return out
}

// open removes the delimiter or the terminator of the last segment, which then is a prefix of values.
func (w *keyWriter) open() {
	end := w.ended
	if w.key.Delimiter == "" {
		end = len(terminator)
	}
	w.buf, w.ended = w.buf[:len(w.buf)-end], 0
}

// fail records an error, unless there already is one.
func (w *keyWriter) fail(s *Segment, value string, err error) {
	if w.err == nil {
		w.err = &FieldError{Field: s.field(), Value: value, Err: err}
	}
}

// finish returns dst with the key if it is whole, or else with the segments appended, each followed by the delimiter: a
// prefix of exactly those keys that begin with these segments and have at least one more.
func (w *keyWriter) finish(whole bool) ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	switch key := w.buf[:len(w.buf)-w.ended]; {
	case whole && len(key) == w.base:
		return nil, &FieldError{Field: keyField, Err: ErrEmpty}
	case len(key)-w.base > MaxKey:
		return nil, &FieldError{Field: keyField, Value: quote(string(key[w.base:])), Err: ErrKeyTooLong}
	case whole:
		return key, nil
	}
	return w.buf, nil
}

func showTime(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// KeyString formats a row key for display: unchanged if it is printable, else quoted.
// If err is not nil, it returns a message with err instead.
func KeyString(key []byte, err error) string {
	if err != nil {
		return "no row key: " + err.Error()
	}
	if quoted := strconv.Quote(string(key)); quoted[1:len(quoted)-1] != string(key) {
		return quoted
	}
	return string(key)
}
