package codec

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"
)

// SegmentKind is the kind of a key segment.
type SegmentKind int

const (
	SeriesSegment   SegmentKind = iota // a series value
	MetricSegment                      // the column name of a field
	ConstSegment                       // a constant string
	BucketSegment                      // the label of the bucket
	TimeSegment                        // the time of the event
	SaltSegment                        // a hash of series values
	SequenceSegment                    // the sequence number of the event
)

// Segment describes one segment of a row key.
type Segment struct {
	Kind   SegmentKind
	Joined bool // the next segment follows directly; see [Key]

	// Of a series value: its name, type and encoding, its number among the series values, and the names of an enum.
	Name   string
	Type   SegmentType
	Form   KeyForm
	Series int
	Enum   Enum

	// Of a constant: its text, and whether rows with other text are of another kind: Parse then returns an error that wraps
	// [ErrKind], even if the values before it do not have the forms of this kind.
	Const string
	Tells bool

	// Of a salt: its number of values, and the numbers of the hashed series values.
	Buckets int
	Salted  []int
}

// field returns the name of the segment in errors.
func (s *Segment) field() string {
	if s.Kind == ConstSegment {
		return keyField
	}
	return s.Title()
}

// encoding returns the encoding of a value, which is hex by default if it is bytes.
func (s *Segment) encoding() KeyEncoding {
	if s.Type == BytesSegment && s.Form.Encoding == KeyText {
		return KeyHex
	}
	return s.Form.Encoding
}

// series appends a series value, given a pointer to it.
func (w *keyWriter) series(s *Segment, value any) []byte {
	if err := w.key.fits(s); err != nil {
		w.fail(s, "", err)
		return w.buf
	}
	switch s.Type {
	case StringSegment:
		return w.text(s, load[string](w, s, value))
	case BytesSegment:
		return characters(w, s, load[[]byte](w, s, value))
	case BoolSegment:
		return w.bool(s, load[bool](w, s, value))
	case Int32Segment:
		return w.number(s, s.Form, uint64(load[int32](w, s, value)), 32, true)
	case Int64Segment:
		return w.number(s, s.Form, uint64(load[int64](w, s, value)), 64, true)
	case Uint32Segment:
		return w.number(s, s.Form, uint64(load[uint32](w, s, value)), 32, false)
	case Uint64Segment:
		return w.number(s, s.Form, load[uint64](w, s, value), 64, false)
	case DurationSegment:
		return w.number(s, s.Form, uint64(load[time.Duration](w, s, value)), 64, true)
	case TimestampSegment:
		return w.time(s, s.Form.timestamp(), load[time.Time](w, s, value))
	case UUIDSegment:
		return load[UUID](w, s, value).appendKey(w.buf, s.Form)
	}
	return w.enum(s, load[int64](w, s, value))
}

// load returns what value points to. If that is of another type, w fails.
func load[T any](w *keyWriter, s *Segment, value any) (v T) {
	if p, ok := value.(*T); ok {
		return *p
	}
	w.fail(s, "", s.mistyped())
	return v
}

// series sets a series value, given a pointer to it. A string is a part of the key, unless own is set.
func (r *keyReader) series(s *Segment, text string, value any, own bool) {
	switch s.Type {
	case StringSegment:
		v := r.text(s, text)
		if p, ok := value.(*string); ok && own {
			v = Keep(*p, v)
		}
		store(r, s, value, v)
	case BytesSegment:
		store(r, s, value, r.bytes(s, text))
	case BoolSegment:
		store(r, s, value, r.bool(s, text))
	case Int32Segment:
		store(r, s, value, int32(r.number(s, s.Form, text, 32, true)))
	case Int64Segment:
		store(r, s, value, int64(r.number(s, s.Form, text, 64, true)))
	case Uint32Segment:
		store(r, s, value, uint32(r.number(s, s.Form, text, 32, false)))
	case Uint64Segment:
		store(r, s, value, r.number(s, s.Form, text, 64, false))
	case DurationSegment:
		store(r, s, value, time.Duration(r.number(s, s.Form, text, 64, true)))
	case TimestampSegment:
		store(r, s, value, r.time(s, s.Form.timestamp(), text))
	case UUIDSegment:
		v, want := parseKeyUUID(text, s.Form)
		if want != "" {
			r.fail(s, text, want)
		}
		store(r, s, value, v)
	case EnumSegment:
		store(r, s, value, r.enum(s, text))
	}
}

// store sets what value points to. If that is of another type, r fails.
func store[T any](r *keyReader, s *Segment, value any, v T) {
	if p, ok := value.(*T); ok {
		*p = v
		return
	}
	r.misfit(s, s.mistyped())
}

// mistyped returns the error for a value that is not of the type of the segment. It does not
// mention the value, which then need not be in the heap.
func (s *Segment) mistyped() error {
	return fmt.Errorf("%w: the series value is not given as a pointer to a value of type %s", ErrForm, s.Type)
}

// SameSeriesValue reports whether two pointers to series values point to equal ones.
func SameSeriesValue(a, b any) bool {
	switch a := a.(type) {
	case *[]byte:
		b, ok := b.(*[]byte)
		return ok && bytes.Equal(*a, *b)
	case *time.Time:
		b, ok := b.(*time.Time)
		return ok && a.Equal(*b)
	case *string:
		return same(a, b)
	case *bool:
		return same(a, b)
	case *int32:
		return same(a, b)
	case *int64:
		return same(a, b)
	case *uint32:
		return same(a, b)
	case *uint64:
		return same(a, b)
	case *time.Duration:
		return same(a, b)
	case *UUID:
		return same(a, b)
	}
	return false
}

// same reports whether b points to the same value as a.
func same[T comparable](a *T, b any) bool {
	other, ok := b.(*T)
	return ok && *a == *other
}

// AppendSeriesValue appends bytes that differ between different values of a type, given a pointer to one; see
// [KeyValues]. None are the beginning of those of another value, so that those of several values tell series apart.
// They are not those of row keys.
func AppendSeriesValue(dst []byte, v any) []byte {
	switch v := v.(type) {
	case *string:
		return append(binary.AppendUvarint(dst, uint64(len(*v))), *v...)
	case *[]byte:
		return append(binary.AppendUvarint(dst, uint64(len(*v))), *v...)
	case *bool:
		if *v {
			return append(dst, 1)
		}
		return append(dst, 0)
	case *int32:
		return binary.AppendVarint(dst, int64(*v))
	case *int64:
		return binary.AppendVarint(dst, *v)
	case *uint32:
		return binary.AppendUvarint(dst, uint64(*v))
	case *uint64:
		return binary.AppendUvarint(dst, *v)
	case *time.Duration:
		return binary.AppendVarint(dst, int64(*v))
	case *time.Time:
		return binary.AppendVarint(binary.AppendVarint(dst, v.Unix()), int64(v.Nanosecond()))
	case *UUID:
		return append(dst, v[:]...)
	}
	return dst
}
