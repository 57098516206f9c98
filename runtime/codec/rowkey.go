package codec

import (
	"strconv"
	"time"
)

// Key describes the row keys of a table: the facts from which keys are built, parsed and
// selected. It is plain data. For the keys of
//
//	region#week1#device
//
// where the region is text and the device a number:
//
//	codec.Key{
//		Delimiter: "#",
//		Segments: []codec.Segment{
//			{Name: "region", Type: codec.StringSegment},
//			{Kind: codec.BucketSegment},
//			{Name: "device", Type: codec.Int64Segment, Series: 1},
//		},
//		Bucket: codec.Bucket{Every: 7 * 24 * time.Hour, Label: codec.Label{Kind: codec.NumberLabel, Prefix: "week"}},
//	}
//
// Every series value is in exactly one segment, in a form that [KeyForm.Validate] accepts; others are errors that wrap
// [ErrForm]. Values with a fixed number of bytes, such as those in [KeyBinary], may contain the delimiter. A joined
// segment ends without the delimiter, and the next one follows directly. It must not be empty and, if its width varies,
// all that follow have a fixed width.
//
// A key with an empty delimiter is binary. Its segments have fixed widths, except for strings and raw bytes, which may be
// empty: their 0x00 bytes are encoded as 0x00 0xff, and 0x00 0x01 ends them.
type Key struct {
	Delimiter string // between segments; empty for binary keys
	// Structured is set if a row key schema describes the keys. Writers then reject, with [ErrKeySchema], values that
	// Bigtable cannot parse with it. In a key with a delimiter, these are text segments with a byte less than or equal
	// to the delimiter's first byte; in a binary key, empty values.
	//
	// Source: Type.Struct.Encoding of google.bigtable.admin.v2, DelimitedBytes and OrderedCodeBytes in sorted mode.
	Structured bool
	Segments   []Segment
	Bucket     Bucket     // of rows with the events of a bucket; with an endless one, keys contain no time
	Time       TimeFormat // of rows with one event
}

// KeyValues points to the content of a row key, which building a key reads and [Key.Parse] sets.
// What is nil has no value, and Parse does not set it.
type KeyValues struct {
	// Series are pointers to the series values, at their numbers: to a string, []byte, bool,
	// int32, int64, uint32, uint64, time.Duration, time.Time, [UUID] or, for an enum, int64.
	Series   []any
	Metric   *string    // the column name of a field
	At       *time.Time // of the event, or any time in the bucket; when parsed, the start of the bucket
	Sequence *uint32    // distinguishes events of the same time, in 10 digits or, in a binary key, in 4 bytes
	Salt     int        // set by Parse; keys are built with the salt of their values
	Own      bool       // Parse copies strings, which otherwise are parts of the row key
}

// value returns a value; the zero value if there is none.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// set sets a value, if there is a place for it.
func set[T any](p *T, v T) {
	if p != nil {
		*p = v
	}
}

// series returns the pointer to a series value; nil if it is missing.
func (v *KeyValues) series(i int) any {
	if uint(i) >= uint(len(v.Series)) {
		return nil
	}
	return v.Series[i]
}

// Append appends the row key with the given values to dst. Errors are of type [*FieldError]. It rejects values that
// could not be read back: empty ones with [ErrEmpty], ones that contain the delimiter with [ErrDelimiter], ones that do
// not fit their form with [ErrRange], times that have no label or format with [ErrTimeRange], and keys longer than
// [MaxKey] with [ErrKeyTooLong].
func (k *Key) Append(dst []byte, v *KeyValues) ([]byte, error) {
	return k.AppendPart(dst, 0, len(k.Segments), v)
}

// AppendPart appends the segments [begin, end) of a row key to dst, without the delimiter after the last one.
func (k *Key) AppendPart(dst []byte, begin, end int, v *KeyValues) ([]byte, error) {
	w := k.writer(dst)
	w.write(begin, end, v, ownSalt)
	return w.finish(true)
}

// Prefix returns what the row keys with given series values, and a given metric, have in common: the segments before
// the time, with the delimiter after them. If keys contain no time, it is the whole key.
func (k *Key) Prefix(v *KeyValues) ([]byte, error) {
	w := k.writer(nil)
	w.write(0, k.before(), v, ownSalt)
	return w.finish(k.Endless())
}

// Parse sets v to the content of a row key, which need not have the salt of its values. Errors are
// of type [*FieldError] and wrap [ErrKey]. Parse accepts only what Append returns, with any salt.
func (k *Key) Parse(row string, v *KeyValues) error {
	r := k.reader(row)
	r.read(v)
	return r.close()
}

// Verify is like [Key.Parse], but rejects a key whose salt is not that of its values: reads of the
// series would not find the row.
func (k *Key) Verify(row string, v *KeyValues) error {
	r := k.reader(row)
	r.read(v)
	if i := k.index(SaltSegment); i >= 0 && r.err == nil {
		w := k.writer(nil)
		if salt := w.salt(&k.Segments[i], v); salt != v.Salt {
			r.fail(&k.Segments[i], strconv.Itoa(v.Salt), strconv.Itoa(salt)+", the salt of the key's values"+editedSalt)
		}
	}
	return r.close()
}

// Endless reports whether each series has one row, whose key does not contain the time.
func (k *Key) Endless() bool { return k.Bucket.Endless() }

// find returns the index of the first segment that is as wanted; -1 if there is none.
func (k *Key) find(is func(s *Segment) bool) int {
	for i := range k.Segments {
		if is(&k.Segments[i]) {
			return i
		}
	}
	return -1
}

// SegmentOf returns the index of the segment of a series value; -1 if there is none.
func (k *Key) SegmentOf(series int) int {
	return k.find(func(s *Segment) bool { return s.Kind == SeriesSegment && s.Series == series })
}

// SeriesNamed returns the number of the series value with a name; -1 if there is none.
func (k *Key) SeriesNamed(name string) int {
	i := k.find(func(s *Segment) bool { return s.Kind == SeriesSegment && s.Name == name })
	if i < 0 {
		return -1
	}
	return k.Segments[i].Series
}

// index returns the index of the first segment of a kind; -1 if there is none.
func (k *Key) index(kind SegmentKind) int {
	return k.find(func(s *Segment) bool { return s.Kind == kind })
}

// Has reports whether the key has a segment of a kind.
func (k *Key) Has(kind SegmentKind) bool { return k.index(kind) >= 0 }

// TimeIndex returns the index of the segment with the time or the bucket, or the number of
// segments if keys do not contain it; -1 if it is missing.
func (k *Key) TimeIndex() int {
	if k.Endless() {
		return len(k.Segments)
	}
	return k.find(func(s *Segment) bool { return s.Kind == TimeSegment || s.Kind == BucketSegment })
}

// before returns the number of segments before the time.
func (k *Key) before() int { return max(0, k.TimeIndex()) }

// after returns the index of the first segment after the time.
func (k *Key) after() int { return min(k.TimeIndex()+1, len(k.Segments)) }

// Width returns the number of bytes of a segment in every key, without the delimiter; 0 if it varies.
func (k *Key) Width(s *Segment) int {
	switch s.Kind {
	case SeriesSegment:
		return s.Form.Fixed(s.Type)
	case ConstSegment:
		return len(s.Const)
	case BucketSegment:
		return k.Bucket.Width()
	case TimeSegment:
		return k.Time.Width()
	case SaltSegment:
		return SaltWidth(s.Buckets, k.Delimiter)
	case SequenceSegment:
		return sequenceForm(k.Delimiter).Fixed(Uint32Segment)
	}
	return 0
}

// fits returns an error that wraps [ErrForm] unless a segment can have its form.
func (k *Key) fits(s *Segment) error {
	if s.Kind != SeriesSegment || s.Form == (KeyForm{}) && (k.Delimiter != "" || s.Type == StringSegment) {
		return nil // the default of the type
	}
	return s.Form.Validate(s.Type, k.Delimiter)
}

// variable reports whether the width of a segment varies.
func (k *Key) variable(s *Segment) bool { return s.Kind != ConstSegment && k.Width(s) == 0 }

// InBytes reports whether a segment has a fixed number of arbitrary bytes.
func (k *Key) InBytes(s *Segment) bool {
	switch s.Kind {
	case SeriesSegment:
		return s.Form.InBytes(s.Type)
	case SequenceSegment:
		return k.Delimiter == ""
	case BucketSegment:
		return k.Bucket.Label.Format.InBytes()
	case TimeSegment:
		return k.Time.InBytes()
	}
	return false
}

// Sorts reports whether keys sort by the value of a segment, a series value.
func (k *Key) Sorts(s *Segment) bool { return s.Form.Sorts(s.Type, k.Delimiter) }

// Terminated reports whether a binary key terminates the segment.
func (s *Segment) Terminated() bool { return s.Kind == SeriesSegment && s.Form.Terminated(s.Type) }

// DelimiterAfter returns what follows the i-th segment: the delimiter, unless the next one joins it or there is none.
func (k *Key) DelimiterAfter(i int) string {
	if i == len(k.Segments)-1 || k.Segments[i].Joined {
		return ""
	}
	return k.Delimiter
}

// TimeDelimiter returns what separates the time or the bucket from the next segment.
func (k *Key) TimeDelimiter() string {
	if i := k.TimeIndex(); k.Endless() || i >= 0 && k.Segments[i].Joined {
		return ""
	}
	return k.Delimiter
}

// bytesAfter returns the number of bytes of a key after the i-th segment, including delimiters,
// if all following segments have a fixed width.
func (k *Key) bytesAfter(i int) int {
	n := len(k.DelimiterAfter(i))
	for i++; i < len(k.Segments); i++ {
		n += k.Width(&k.Segments[i]) + len(k.DelimiterAfter(i))
	}
	return n
}

// Tail returns the number of bytes of a key after the i-th segment, if that is joined and of variable width; else 0.
func (k *Key) Tail(i int) int {
	if s := &k.Segments[i]; !s.Joined || k.Width(s) > 0 {
		return 0
	}
	return k.bytesAfter(i)
}

// Rest returns the number of bytes of the keys of a series from the time on, if a segment of variable width before it
// is joined, so that the keys of another series can have the same prefix; else 0.
func (k *Key) Rest() int {
	at := k.TimeIndex()
	if k.Endless() || at < 1 || !k.joinsVariable(at) {
		return 0
	}
	return k.bytesAfter(at-1) - len(k.DelimiterAfter(at-1)) // the delimiter belongs to the prefix
}

// joinsVariable reports whether one of the first n segments has a variable width and no delimiter after it.
func (k *Key) joinsVariable(n int) bool {
	for i := range n {
		if s := &k.Segments[i]; s.Joined && k.Width(s) == 0 {
			return true
		}
	}
	return false
}

// Ties returns the number of bytes of a key from the sequence number on, if the time is reversed and the sequence
// number follows it; else 0. Rows of the same time then sort in the opposite order to all others.
func (k *Key) Ties() int {
	first := k.index(SequenceSegment)
	if first < 0 || !k.Time.Reverse {
		return 0
	}
	return k.Width(&k.Segments[first]) + k.bytesAfter(first)
}

// SeriesWidth returns the number of bytes before the time in keys without delimiters, and 0 in
// others. It returns false if keys of unknown values do not show where those of a series begin.
func (k *Key) SeriesWidth() (width int, ok bool) {
	for i := range k.before() {
		s := &k.Segments[i]
		n := k.Width(s)
		if s.Joined || k.Delimiter == "" && (n == 0 || k.Structured) {
			return 0, false
		}
		if k.Delimiter == "" {
			width += n
		}
	}
	return width, true
}

// Splits returns split keys for a new table whose keys begin with a salt: one before each salt
// except the first, or as many as Bigtable allows, evenly distributed.
func (k *Key) Splits() []string {
	if len(k.Segments) == 0 || k.Segments[0].Kind != SaltSegment {
		return nil
	}
	buckets := k.Segments[0].Buckets
	parts := min(buckets, MaxSplits+1)
	var out []string
	for i := 1; i < parts; i++ {
		w := k.writer(nil)
		w.segment(&k.Segments[0], false, nil, i*buckets/parts)
		out = append(out, string(w.buf))
	}
	return out
}

// Title returns the name of the segment in drawings: that of the series value, the text of a
// constant, or that of the kind.
func (s *Segment) Title() string {
	switch s.Kind {
	case SeriesSegment:
		return s.Name
	case ConstSegment:
		return s.Const
	}
	return nameOf(s.Kind, []string{MetricSegment: metricField, BucketSegment: bucketField, TimeSegment: timeField, SaltSegment: saltField, SequenceSegment: sequenceField})
}
