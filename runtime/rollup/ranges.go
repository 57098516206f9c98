package rollup

import (
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Range is a range of times in a bucket: From <= time < To, as durations since its start.
type Range struct{ From, To time.Duration }

// Ranges are ranges in ascending order that do not touch. A deletion is stored as such ranges, in the protobuf message
//
//	message Deletion { repeated uint64 bounds = 1; } // from and to of each range, in nanoseconds
type Ranges []Range

// boundsField is the number of Deletion.bounds.
const boundsField = 1

// NewRanges returns the union of ranges in any order. It sorts them.
func NewRanges(all []Range) Ranges {
	all = slices.DeleteFunc(all, func(r Range) bool { return r.From < 0 || r.From >= r.To })
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n > 0 && r.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, r.To)
		} else {
			out = append(out, r)
		}
	}
	return Ranges(out)
}

// union returns the union with other ranges.
func (r Ranges) union(o Ranges) Ranges { return NewRanges(append(r, o...)) }

// Append appends the encoded ranges.
func (r Ranges) Append(dst []byte) []byte {
	var bounds []byte
	for _, one := range r {
		bounds = binary.AppendUvarint(binary.AppendUvarint(bounds, uint64(one.From)), uint64(one.To))
	}
	return protowire.AppendBytes(protowire.AppendTag(dst, boundsField, protowire.BytesType), bounds)
}

// ParseRanges parses encoded ranges; false if they are invalid.
func ParseRanges(encoded []byte) (out Ranges, ok bool) {
	number, typ, n := protowire.ConsumeTag(encoded)
	if n < 0 || number != boundsField || typ != protowire.BytesType {
		return nil, false
	}
	b, m := protowire.ConsumeBytes(encoded[n:])
	if m < 0 || n+m != len(encoded) {
		return nil, false
	}
	for len(b) > 0 {
		from, n := binary.Uvarint(b)
		if n <= 0 {
			return nil, false
		}
		to, m := binary.Uvarint(b[n:])
		if m <= 0 || from >= to || to > 1<<63-1 || len(out) > 0 && time.Duration(from) <= out[len(out)-1].To {
			return nil, false
		}
		out, b = append(out, Range{time.Duration(from), time.Duration(to)}), b[n+m:]
	}
	return out, true
}

// Cover reports whether the ranges contain all of a range, or some of it.
func (r Ranges) Cover(o Range) (all, some bool) {
	for _, one := range r {
		if one.From < o.To && o.From < one.To {
			some = true
			all = all || one.From <= o.From && o.To <= one.To
		}
	}
	return all, some
}
