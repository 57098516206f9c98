package codec

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// Rows is the row set of one request: the key range [Start, End), where an empty End is
// the end of the table, or, if Keys is not nil, exactly those keys, in ascending order.
type Rows struct {
	Start, End string
	Keys       []string
	// Reverse reports that the rows must be read in descending order of keys to get them in the requested order of time.
	Reverse bool
}

// PrefixRows returns the range of all keys that start with prefix.
func PrefixRows(prefix string) Rows { return Rows{Start: prefix, End: successor(prefix)} }

// After returns the rows of r that remain after a read up to and including key; false if there are none.
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

// Past returns the rows of r that remain after a read of part, a range in r, and of
// everything before it in reading order; false if there are none.
func (r Rows) Past(part Rows) (Rows, bool) {
	if r.Reverse {
		r.End = part.Start
		return r, r.Start < r.End
	}
	r.Start = part.End
	return r, r.Start != "" && (r.End == "" || r.Start < r.End)
}

// Behind returns the rows of r with keys greater than key, regardless of the reading order; false if there are none.
func (r Rows) Behind(key string) (Rows, bool) {
	ascending := r
	ascending.Reverse = false
	rest, ok := ascending.After(key)
	rest.Reverse = r.Reverse
	return rest, ok
}

// MaxRowSet limits the size in bytes of the row keys and ranges of one request. Bigtable accepts
// requests of up to 512 KiB, which include a filter of up to 20 KiB.
const MaxRowSet = 480 << 10

// rangeOverhead is the maximum size of a range in a request besides its two keys: three
// tags of one byte and three lengths of up to two bytes.
const rangeOverhead = 9

// keyOverhead is the maximum size of a key in a list of keys besides its bytes: a tag of one
// byte and a length of up to two bytes.
const keyOverhead = 3

// RangeSize returns the maximum size in bytes of a range in a request.
func RangeSize(start, end string) int { return len(start) + len(end) + rangeOverhead }

// successor returns the first key after all keys that start with prefix, or "", the end
// of the table, if there is none.
func successor(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}

// Span describes which rows of a series to read, independent of their time. A key consists of Prefix, the time or
// bucket label, Delimiter, Suffix, and possibly more segments:
//
//	us-west2#3698#week1                  Prefix "us-west2#3698#", Whole
//	us-west2#week1#…                     Prefix "us-west2#", Delimiter "#"
//	us-west2#week1#3698                  Prefix "us-west2#", Delimiter "#", Suffix "3698", Whole
//	us-west2#week1#3698#…                Prefix "us-west2#", Delimiter "#", Suffix "3698#"
type Span struct {
	Prefix    string // the segments before the time, from [Key.Prefix]
	Delimiter string // between the time and Suffix; empty in a binary key
	// Suffix holds the known segments right after the time, with the delimiter after them unless Whole is set. It may be
	// empty.
	Suffix   string
	Whole    bool // no segments follow Suffix or, if it is empty, the time
	Newest   bool // read the newest rows first
	MaxBytes int  // maximum size of a key list in a request; 0 for no limit
	// Rest is the number of bytes after Prefix in all keys of the series; keys of other lengths are those of other
	// series. It is 0 if all keys with the prefix are of the series, and then the times have a fixed width.
	Rest int
	// Exact reports that Prefix is a row key: the bucket is endless, and
	// the only row of the series has this key. Keys of other series may begin with it.
	Exact bool
	// From and Until are, if they are set, the range of keys to read at all times, instead of
	// all keys with Prefix, which they have in common.
	From, Until string
}

// Between returns the span of the keys that follow the beginning of low and precede high, which
// must have the same form; false if there are none.
func Between(low, high Span) (Span, bool) {
	s := low
	n := 0
	for n < len(low.Prefix) && n < len(high.Prefix) && low.Prefix[n] == high.Prefix[n] {
		n++
	}
	s.Prefix, s.From, s.Until = low.Prefix[:n], low.Prefix, high.Prefix
	return s, s.From < s.Until
}

// Has reports whether a row key is that of a row of the span, given that it is in the range of
// one of the spans that it is compared with.
func (s Span) Has(key string) bool {
	return key == s.Prefix || !s.Exact && strings.HasPrefix(key, s.Prefix)
}

// All returns the rows of all times.
func (s Span) All() Rows {
	switch {
	case s.Exact:
		return Rows{Start: s.Begin(), End: s.Prefix + "\x00"}
	case s.Until != "":
		return Rows{Start: s.Begin(), End: s.Until}
	}
	return PrefixRows(s.Prefix)
}

// Begin returns the start of the rows of all times, without their end.
func (s Span) Begin() string {
	if s.Until != "" && !s.Exact {
		return s.From
	}
	return s.Prefix
}

// Buckets yields the requests that together read every bucket of b that overlaps [from, to), in order of time or, if
// s.Newest is set, in reverse. It skips buckets that cannot have a label. An empty or inverted range yields nothing.
//
// If s.Suffix is empty and labels sort, there is one range. Otherwise there is one range per bucket or, if s.Whole is
// set, there are lists of keys. A new list begins where keys do not sort in order of time (week9, week10) and before
// a list exceeds s.MaxBytes.
//
// Labels of variable width, which do not sort, require a delimiter unless s.Whole is set.
func (s Span) Buckets(b Bucket, from, to time.Time) iter.Seq[Rows] {
	return func(yield func(Rows) bool) {
		if rows, one := s.One(b, from, to); one {
			yield(rows)
			return
		}
		first, last, ok := b.between(from, to)
		if ok && s.Whole {
			KeyLists(s.keys(b, first, last), s.reverse(b), s.MaxBytes)(yield)
			return
		}
		for k := range last - first + 1 {
			if !yield(s.one(b, s.nth(k, first, last))) {
				return
			}
		}
	}
}

// nth returns the k-th index from first to last in reading order.
func (s Span) nth(k, first, last int64) int64 {
	if s.Newest {
		return last - k
	}
	return first + k
}

// between returns the indexes of the first and the last bucket that overlaps [from, to) and has a label; false
// if there are none.
func (b *Bucket) between(from, to time.Time) (first, last int64, ok bool) {
	from, to = Later(from, b.Min()), Earlier(to, b.Max())
	if !from.Before(to) {
		return 0, -1, false
	}
	return b.index(from), b.index(to.Add(-1)), true
}

// One returns the only request that [Span.Buckets] yields; false unless it yields
// exactly one that is known without iterating.
func (s Span) One(b Bucket, from, to time.Time) (rows Rows, one bool) {
	first, last, ok := b.between(from, to)
	switch {
	case !ok:
		return rows, false
	case b.Sorted() && s.Suffix == "":
		low, high := first, last
		if b.Descending() {
			low, high = last, first
		}
		rows = Rows{Start: s.key(b, low), Reverse: s.reverse(b)}
		if s.Whole {
			rows.End = s.key(b, high) + "\x00"
		} else {
			rows.End = successor(s.key(b, high))
		}
		return rows, true
	case first != last:
		return rows, false
	}
	return s.one(b, first), true
}

// one returns the rows of the bucket with an index.
func (s Span) one(b Bucket, index int64) Rows {
	key := s.key(b, index)
	if s.Whole {
		return Rows{Keys: []string{key}, Reverse: s.reverse(b)}
	}
	return Rows{Start: key, End: successor(key), Reverse: s.reverse(b)}
}

// keys yields the keys of the buckets. Several share one string, which is a single allocation.
func (s Span) keys(b Bucket, first, last int64) iter.Seq[string] {
	return func(yield func(string) bool) {
		const most = 32
		var ends [most]int
		var memory []byte
		for from := int64(0); from <= last-first; from += most {
			n := min(most, last-first+1-from)
			memory = memory[:0]
			for k := range n {
				memory = s.appendKey(memory, b, s.nth(from+k, first, last))
				ends[k] = len(memory)
			}
			begin, all := 0, string(memory)
			for _, end := range ends[:n] {
				if !yield(all[begin:end]) {
					return
				}
				begin = end
			}
		}
	}
}

// KeyLists groups keys, given in reading order, into lists. A new list begins where keys do not sort in reading
// order, ascending or descending if reverse is set, and before a list exceeds maxBytes bytes in a request, unless
// that is 0. The keys of a reversed list are sent as ranges.
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
			n, bytes := len(keys), len(key)+keyOverhead
			if reverse {
				bytes = RangeSize(key, key) + 1
			}
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

// reverse reports whether keys must be read in descending order.
func (s Span) reverse(b Bucket) bool { return s.Newest != b.Descending() }

// key returns the key, or the prefix of the keys, of the bucket with the given index, which must have a label.
func (s Span) key(b Bucket, index int64) string {
	var buf [64]byte
	return string(s.appendKey(buf[:0], b, index))
}

// appendKey appends what key returns.
func (s Span) appendKey(dst []byte, b Bucket, index int64) []byte {
	dst, _ = b.AppendLabel(append(dst, s.Prefix...), b.start(index))
	if s.Suffix != "" || !s.Whole {
		dst = append(append(dst, s.Delimiter...), s.Suffix...)
	}
	return dst
}

// Times returns the range of keys that consist of s.Prefix, a time in [from, to) in the format f, and anything else;
// false if there are none. Keys hold event times rounded down, so Times rounds from and to up to the resolution and
// selects events by the time in their keys. It ignores the other fields of s except Newest: the caller must filter by
// what follows the time.
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

// Recent returns the rows of the bucket of b that contains t and of all later ones,
// newest first where labels sort. If the range also contains other rows, form is the
// pattern of the keys to read. It returns false if no range describes these rows.
func (s Span) Recent(b Bucket, t time.Time) (rows Rows, form KeyPieces, ok bool) {
	if labels, some := b.Within(t, b.Max().Add(1)); some && !b.Sorted() {
		form = append(make(KeyPieces, 0, len(labels)+3), KeyPiece{Any: true}).and(labels...)
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

// Within returns a pattern for the formatted times in [from, to); false if there are none.
func (f TimeFormat) Within(from, to time.Time) (KeyPieces, bool) {
	from, to = f.ceil(Later(from, f.Min())), Earlier(to, f.Max())
	if !from.Before(to) {
		return nil, false
	}
	return stringsBetween(f.key("", from), f.key("", to.Add(-1))), true
}

// Count returns the number of buckets that overlap [from, to) and have a label.
func (b Bucket) Count(from, to time.Time) int64 {
	first, last, _ := b.between(from, to)
	return last - first + 1
}

// key returns prefix followed by t, which f must be able to represent.
func (f TimeFormat) key(prefix string, t time.Time) string {
	var buf [64]byte
	key, _ := f.Append(append(buf[:0], prefix...), t)
	return string(key)
}
