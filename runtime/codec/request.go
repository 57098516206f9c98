package codec

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// MaxRowSet is the size in bytes that the ranges of one request are kept under.
// Bigtable takes requests of 512 KiB, with a filter of up to 20 KiB.
const MaxRowSet = 480 << 10

// rangeOverhead is what a range takes in a request besides its two keys, at most:
// three tags of one byte, and three lengths of up to two.
const rangeOverhead = 9

// rangeSize is what a range takes in a request, at most.
func rangeSize(start, end string) int { return len(start) + len(end) + rangeOverhead }

// maxUnsorted is how many buckets whose labels do not sort are read key by key
// without looking first which of them there are; maxListed is how many others are,
// or by a range each, where the keys go on after the label.
const (
	maxUnsorted = 1000
	maxListed   = 50_000
)

// What is read in turns: how many requests at once, and how many rows each asks
// for, of events and of buckets. A connection carries 100 streams, and a stream
// whose rows nobody takes keeps its place.
const (
	MaxStreams = 64
	PageEvents = 100
	PageRows   = 4
)

// Listing is how a reader asks for the buckets of a span.
type Listing int

const (
	ListBuckets Listing = iota // by the ranges or keys of [Span.Buckets]
	ListStored                 // by the keys that there are, for which it looks first: others may be very many
	ListRange                  // by one range, of which the server passes on what has the suffix
)

// Listing returns how to ask for the buckets that overlap [from, to).
func (s Span) Listing(b Bucket, from, to time.Time) Listing {
	n := b.Count(from, to)
	switch {
	case !b.Sorted() && n > maxUnsorted:
		return ListStored
	case b.Sorted() && n > maxListed && s.Suffix != "":
		return ListRange
	}
	return ListBuckets
}

// Batches puts what is asked for one after the other into as few requests as
// Bigtable takes: ranges that are read in the same direction.
func Batches(all iter.Seq[Rows]) iter.Seq[[]Rows] {
	return func(yield func([]Rows) bool) {
		var batch []Rows
		size := 0
		for rows := range all {
			n := rangeSize(rows.Start, rows.End)
			fits := rows.Keys == nil && len(batch) > 0 && batch[0].Keys == nil && batch[0].Reverse == rows.Reverse && size+n <= MaxRowSet
			if len(batch) > 0 && !fits {
				if !yield(batch) {
					return
				}
				batch, size = nil, 0
			}
			batch, size = append(batch, rows), size+n
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// MaxGathered is how many bytes of the rows of several spans are held in memory so as
// to ask for all of them at once: what comes after is asked for span by span, and held
// no longer than it takes to bring it into its order.
const MaxGathered = 4 << 20

// Apart reports whether the beginning of a key tells which of the spans it is of, and
// all that a range of it holds is of the span.
func Apart(spans []Span) bool {
	prefixes := make([]string, len(spans))
	for i, span := range spans {
		if span.Suffix != "" {
			return false
		}
		prefixes[i] = span.Prefix
	}
	slices.Sort(prefixes)
	for i := 1; i < len(prefixes); i++ {
		if strings.HasPrefix(prefixes[i], prefixes[i-1]) {
			return false
		}
	}
	return true
}

// Gather puts what is asked for of each span into one request, which reads all in the
// order of their keys; false where that is too much for a request.
func Gather(asked [][]Rows) (all []Rows, ok bool) {
	size := 0
	for _, rows := range asked {
		for _, r := range rows {
			for _, key := range r.Keys {
				all = append(all, Rows{Start: key, End: key + "\x00"})
			}
			if r.Keys == nil {
				all = append(all, Rows{Start: r.Start, End: r.End})
			}
		}
	}
	for _, r := range all {
		size += rangeSize(r.Start, r.End)
	}
	return all, size <= MaxRowSet
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
