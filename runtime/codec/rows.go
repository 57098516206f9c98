package codec

import (
	"iter"
	"slices"
	"time"
)

// Rows is what one request asks for: the keys from Start up to but without End,
// where an empty End is the end of the table; or, if there are Keys, exactly
// those, in rising order, each of which is sent as a range.
type Rows struct {
	Start, End string
	Keys       []string
	// Reverse says that the rows come in the order of time that was asked for if
	// they are read from the last key to the first.
	Reverse bool
}

// PrefixRows returns all keys that start with prefix.
func PrefixRows(prefix string) Rows { return Rows{Start: prefix, End: successor(prefix)} }

// After returns what is left of r when the rows up to the one with the key were
// read; false if nothing is.
func (r Rows) After(key string) (Rows, bool) {
	switch {
	case r.Keys != nil:
		r.Keys = slices.DeleteFunc(slices.Clone(r.Keys), func(k string) bool { return k == key || (k < key) != r.Reverse })
		return r, len(r.Keys) > 0
	case r.Reverse && (r.End == "" || key < r.End):
		r.End = key
	case !r.Reverse && key >= r.Start:
		r.Start = key + "\x00"
	}
	return r, r.End == "" || r.Start < r.End
}

// Past returns what is left of r when the rows of a part of it were read, and those
// that come before them; false if nothing is.
func (r Rows) Past(part Rows) (Rows, bool) {
	if r.Reverse {
		r.End = part.Start
		return r, r.Start < r.End
	}
	r.Start = part.End
	return r, r.Start != "" && (r.End == "" || r.Start < r.End)
}

// Behind returns what is left of r when all rows up to the one with the key were read,
// in the order of keys, however r is to be read; false if nothing is.
func (r Rows) Behind(key string) (Rows, bool) {
	if r.Keys != nil {
		r.Keys = slices.DeleteFunc(slices.Clone(r.Keys), func(k string) bool { return k <= key })
		return r, len(r.Keys) > 0
	}
	r.Start = max(r.Start, key+"\x00")
	return r, r.End == "" || r.Start < r.End
}

// MaxRowSet is the size in bytes that the ranges of one request are kept under.
// Bigtable takes requests of 512 KiB, with a filter of up to 20 KiB.
const MaxRowSet = 480 << 10

// rangeOverhead is what a range takes in a request besides its two keys, at most:
// three tags of one byte, and three lengths of up to two.
const rangeOverhead = 9

// RangeSize returns how many bytes a range takes in a request, at most.
func RangeSize(start, end string) int { return len(start) + len(end) + rangeOverhead }

// successor returns the first key after all that start with prefix; "", the end
// of the table, if there is none.
func successor(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}

// Span says which rows of a series to read, apart from their time. A key is made
// of Prefix, the time or bucket, Delimiter, Suffix, and any segments that follow:
//
//	us-west2#3698#week1                  Prefix "us-west2#3698#", Whole
//	us-west2#week1#…                     Prefix "us-west2#", Delimiter "#"
//	us-west2#week1#3698                  Prefix "us-west2#", Delimiter "#", Suffix "3698", Whole
//	us-west2#week1#3698#…                Prefix "us-west2#", Delimiter "#", Suffix "3698#"
type Span struct {
	Prefix    string // the segments before the time, from [KeyWriter.Prefix]
	Delimiter string // between the time and what follows it; empty in a binary key
	// Suffix holds the segments right after the time that are known: from
	// [KeyWriter.Key] if Whole is set, and else from [KeyWriter.Prefix]. Empty if
	// there are none.
	Suffix   string
	Whole    bool // nothing follows the suffix or, if that is empty, the time
	Newest   bool // the newest first
	MaxBytes int  // of the ranges of a list; 0 for no bound
}

// Buckets yields what must be read to see every bucket of b that overlaps [from,
// to), in order of time or, if s.Newest is set, against it. Buckets without a
// label hold nothing and are left out, and an empty or inverted range yields
// nothing.
//
// Where nothing is known to follow the label, and the labels sort, it is one
// range. Else it is a range for each bucket or, if the keys are known as a whole,
// lists of keys: a new one whenever a key does not sort as its time does (week9,
// week10), and before the ranges of a list pass s.MaxBytes.
//
// Labels of no fixed width, which do not sort, need a delimiter, unless s.Whole
// is set.
func (s Span) Buckets(b Bucket, from, to time.Time) iter.Seq[Rows] {
	return func(yield func(Rows) bool) {
		if rows, one := s.One(b, from, to); one {
			yield(rows)
			return
		}
		from, to := Later(from, b.Min()), earlier(to, b.Max())
		if !from.Before(to) {
			return
		}
		first, last := b.index(from), b.index(to.Add(-1))
		if s.Whole {
			s.lists(b, first, last, yield)
		} else {
			s.prefixes(b, first, last, yield)
		}
	}
}

// One returns what [Span.Buckets] yields if that is one thing; false else.
func (s Span) One(b Bucket, from, to time.Time) (rows Rows, one bool) {
	from, to = Later(from, b.Min()), earlier(to, b.Max())
	if !from.Before(to) {
		return rows, false
	}
	first, last := b.index(from), b.index(to.Add(-1))
	switch {
	case b.Sorted() && s.Suffix == "":
		return s.run(b, first, last), true
	case first != last:
		return rows, false
	case s.Whole:
		return Rows{Keys: []string{s.key(b, first)}, Reverse: s.reverse(b)}, true
	}
	rows = PrefixRows(s.key(b, first))
	rows.Reverse = s.reverse(b)
	return rows, true
}

// run returns the range of the buckets with the indexes from first to last.
func (s Span) run(b Bucket, first, last int64) Rows {
	low, high := first, last
	if b.Descending() {
		low, high = last, first
	}
	rows := Rows{Start: s.key(b, low), Reverse: s.reverse(b)}
	if s.Whole {
		rows.End = s.key(b, high) + "\x00"
	} else {
		rows.End = successor(s.key(b, high))
	}
	return rows
}

// prefixes yields the range of each bucket.
func (s Span) prefixes(b Bucket, first, last int64, yield func(Rows) bool) {
	for i := range s.indexes(first, last) {
		rows := PrefixRows(s.key(b, i))
		rows.Reverse = s.reverse(b)
		if !yield(rows) {
			return
		}
	}
}

// lists yields the keys of the buckets.
func (s Span) lists(b Bucket, first, last int64, yield func(Rows) bool) {
	KeyLists(func(yield func(string) bool) {
		for i := range s.indexes(first, last) {
			if !yield(s.key(b, i)) {
				return
			}
		}
	}, s.reverse(b), s.MaxBytes)(yield)
}

// KeyLists puts keys, in the order of reading, into lists that are read forwards or
// in reverse: a new one whenever a key does not sort as it is to be read, and before
// the ranges of a list pass maxBytes, if that is not 0.
func KeyLists(all iter.Seq[string], reverse bool, maxBytes int) iter.Seq[Rows] {
	return func(yield func(Rows) bool) {
		var keys []string
		size := 0
		flush := func() bool {
			list := keys
			keys, size = nil, 0
			if reverse {
				slices.Reverse(list)
			}
			return len(list) == 0 || yield(Rows{Keys: list, Reverse: reverse})
		}
		for key := range all {
			n, bytes := len(keys), RangeSize(key, key)+1
			turns := n > 0 && (key < keys[n-1]) != reverse
			if turns || maxBytes > 0 && size+bytes > maxBytes {
				if !flush() {
					return
				}
			}
			keys, size = append(keys, key), size+bytes
		}
		flush()
	}
}

// indexes yields the indexes from first to last in the order of reading.
func (s Span) indexes(first, last int64) iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := range last - first + 1 {
			index := first + i
			if s.Newest {
				index = last - i
			}
			if !yield(index) {
				return
			}
		}
	}
}

// reverse reports whether keys must be read from the last to the first.
func (s Span) reverse(b Bucket) bool { return s.Newest != b.Descending() }

// key returns the key, or what the keys begin with, of the bucket with the given
// index, which has a label.
func (s Span) key(b Bucket, index int64) string {
	var buf [64]byte
	key, _ := b.AppendLabel(append(buf[:0], s.Prefix...), b.start(index))
	if s.Suffix != "" || !s.Whole {
		key = append(append(key, s.Delimiter...), s.Suffix...)
	}
	return string(key)
}

// Times returns the keys made of s.Prefix and a time in [from, to) in the format
// f, whatever follows the time; false if there can be none. A key's time is the
// event's rounded down, so both ends are rounded up to the resolution: an event
// counts by the time that its key says. It looks at s.Prefix and s.Newest alone:
// what follows the time must be filtered.
func (s Span) Times(f TimeFormat, from, to time.Time) (Rows, bool) {
	from, end := f.ceil(Later(from, f.Min())), f.Max()
	if to.Before(end) {
		end = f.ceil(to)
	}
	if !from.Before(end) {
		return Rows{}, false
	}
	rows := Rows{Reverse: s.Newest != f.Reverse}
	switch {
	case f.Reverse:
		rows.Start, rows.End = f.key(s.Prefix, end.Add(-1)), successor(f.key(s.Prefix, from))
	case end.Before(f.Max()):
		rows.Start, rows.End = f.key(s.Prefix, from), f.key(s.Prefix, end)
	default:
		rows.Start, rows.End = f.key(s.Prefix, from), successor(f.key(s.Prefix, end.Add(-1)))
	}
	return rows, true
}

// Recent returns what is asked for of a span so as to see the rows of the bucket of b that
// holds t and of those after it, and the form of their keys if other rows are in that
// range; false if there are none.
func (s Span) Recent(b Bucket, t time.Time) (rows Rows, form KeyPieces, ok bool) {
	if labels, some := b.LabelsFrom(t); some {
		form = KeyPieces{}.and(KeyPiece{Any: true}).and(labels...)
		if !s.Whole || s.Suffix != "" {
			form = form.and(KeyPiece{Text: s.Delimiter + s.Suffix})
		}
		if !s.Whole {
			form = form.and(KeyPiece{Any: true})
		}
		return PrefixRows(s.Prefix), form, true
	}
	if !b.Sorted() || s.Suffix != "" {
		return rows, nil, false
	}
	s.Newest = true
	rows, ok = s.One(b, t, year10k)
	return rows, nil, ok
}

// Ends returns the label that sorts first and the one that sorts last of the
// buckets that overlap [from, to), where labels sort; false if there are none.
func (b Bucket) Ends(from, to time.Time) (low, high string, ok bool) {
	from, to = Later(from, b.Min()), earlier(to, b.Max())
	if !from.Before(to) {
		return "", "", false
	}
	label := func(t time.Time) string {
		text, _ := b.AppendLabel(nil, t) // it has one
		return string(text)
	}
	low, high = label(from), label(to.Add(-1))
	return min(low, high), max(low, high), true
}

// Ends returns the text that sorts first and the one that sorts last of the times
// in [from, to); false if there are none.
func (f TimeFormat) Ends(from, to time.Time) (low, high string, ok bool) {
	from, to = f.ceil(Later(from, f.Min())), earlier(to, f.Max())
	if !from.Before(to) {
		return "", "", false
	}
	low, high = f.key("", from), f.key("", to.Add(-1))
	return min(low, high), max(low, high), true
}

// Rows yields what must be read to see every bucket that overlaps [from, to), in
// order of time, where prefix followed by the bucket's label is the whole row
// key: [Span.Buckets] of a whole key.
func (b Bucket) Rows(prefix string, from, to time.Time, maxBytes int) iter.Seq[Rows] {
	return Span{Prefix: prefix, Whole: true, MaxBytes: maxBytes}.Buckets(b, from, to)
}

// Count returns how many buckets with a label overlap [from, to).
func (b Bucket) Count(from, to time.Time) int64 {
	from, to = Later(from, b.Min()), earlier(to, b.Max())
	if !from.Before(to) {
		return 0
	}
	return b.index(to.Add(-1)) - b.index(from) + 1
}

// Rows returns the keys made of prefix and a time in [from, to), whatever
// follows the time; false if there can be none: [Span.Times] of the prefix.
func (f TimeFormat) Rows(prefix string, from, to time.Time) (Rows, bool) {
	return Span{Prefix: prefix}.Times(f, from, to)
}

// key returns prefix and t, which the format can hold.
func (f TimeFormat) key(prefix string, t time.Time) string {
	var buf [64]byte
	key, _ := f.Append(append(buf[:0], prefix...), t)
	return string(key)
}
