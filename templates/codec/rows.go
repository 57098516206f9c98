package codec

import (
	"iter"
	"time"
)

// Rows is what one request asks for: the keys from Start up to but without End,
// where an empty End is the end of the table; or, if there are Keys, exactly
// those, in rising order.
type Rows struct {
	Start, End string
	Keys       []string
}

// PrefixRows returns all keys that start with prefix.
func PrefixRows(prefix string) Rows { return Rows{Start: prefix, End: successor(prefix)} }

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

// Rows yields what must be read to see every bucket that overlaps [from, to), in
// order of time, where prefix followed by the bucket's label is the whole row
// key. If the labels sort, that is one range. If they do not, it is lists of
// keys: a new one whenever the next label sorts before the last (week9, week10),
// and before the keys of a list pass maxBytes, unless that is zero. Buckets
// without a label hold nothing and are left out.
func (b Bucket) Rows(prefix string, from, to time.Time, maxBytes int) iter.Seq[Rows] {
	from, to = later(from, b.Min()), earlier(to, b.Max())
	return func(yield func(Rows) bool) {
		if !from.Before(to) {
			return
		}
		first, last := b.index(from), b.index(to.Add(-1))
		if b.Sorted() {
			yield(Rows{Start: b.key(prefix, first), End: b.key(prefix, last) + "\x00"})
			return
		}
		var keys []string
		size := 0
		for i := first; i <= last; i++ {
			key := b.key(prefix, i)
			if n := len(keys); n > 0 && (key < keys[n-1] || maxBytes > 0 && size+len(key) > maxBytes) {
				if !yield(Rows{Keys: keys}) {
					return
				}
				keys, size = nil, 0
			}
			keys, size = append(keys, key), size+len(key)
		}
		yield(Rows{Keys: keys})
	}
}

// Count returns how many buckets with a label overlap [from, to).
func (b Bucket) Count(from, to time.Time) int64 {
	from, to = later(from, b.Min()), earlier(to, b.Max())
	if !from.Before(to) {
		return 0
	}
	return b.index(to.Add(-1)) - b.index(from) + 1
}

// key returns the key of the bucket with the given index, which has a label.
func (b Bucket) key(prefix string, index int64) string {
	var buf [64]byte
	key, _ := b.AppendLabel(append(buf[:0], prefix...), b.start(index))
	return string(key)
}

// Rows returns the keys made of prefix and a time in [from, to), whatever
// follows the time; false if there can be none. A key's time is the event's
// rounded down, so both ends are rounded up to the resolution: an event counts
// by the time that its key says.
func (f TimeFormat) Rows(prefix string, from, to time.Time) (Rows, bool) {
	from, end := f.ceil(later(from, f.Min())), f.Max()
	if to.Before(end) {
		end = f.ceil(to)
	}
	if !from.Before(end) {
		return Rows{}, false
	}
	rows := Rows{Start: f.key(prefix, from)}
	if end.Before(f.Max()) {
		rows.End = f.key(prefix, end)
	} else {
		rows.End = successor(f.key(prefix, f.Max().Add(-1)))
	}
	return rows, true
}

// key returns prefix and t, which the format can hold.
func (f TimeFormat) key(prefix string, t time.Time) string {
	var buf [64]byte
	key, _ := f.Append(append(buf[:0], prefix...), t)
	return string(key)
}
