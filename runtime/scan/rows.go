package scan

import (
	"iter"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Limits of paginated reads: the number of concurrent streams, and of rows per page in tables of events and of
// buckets. A connection carries 100 streams, and a stream whose rows are not consumed occupies its place.
const (
	MaxStreams = 64
	PageEvents = 100
	PageRows   = 4
)

// maxUnsorted is the largest number of buckets whose labels do not sort that a read
// requests by key; for more, it first looks up which rows exist. maxListed is the same
// for ranges of sorted labels that segments follow; for more, it reads one range.
const (
	maxUnsorted = 1000
	maxListed   = 50_000
)

// listing is a way to read the buckets of a span.
type listing int

const (
	listBuckets listing = iota // the ranges or keys of [codec.Span.Buckets]
	listStored                 // the keys that a lookup finds, because there may be too many others
	listRange                  // one range, in which a filter selects the suffix
)

// listing returns how the buckets of a span are read.
func (p *Part) listing(span int) listing {
	s, b := p.read.Spans[span], p.table.Offset.Bucket
	n := b.Count(p.From, p.To)
	switch {
	case !b.Sorted() && n > maxUnsorted:
		return listStored
	case b.Sorted() && n > maxListed && s.Suffix != "":
		return listRange
	}
	return listBuckets
}

// Batches groups ranges, given in reading order, into the fewest requests that
// Bigtable's size limit allows. All ranges of a request have the same direction.
func Batches(all iter.Seq[codec.Rows]) iter.Seq[[]codec.Rows] {
	return func(yield func([]codec.Rows) bool) {
		var batch []codec.Rows
		size := 0
		for rows := range all {
			n := codec.RangeSize(rows.Start, rows.End)
			fits := rows.Keys == nil && len(batch) > 0 && batch[0].Keys == nil && batch[0].Reverse == rows.Reverse && size+n <= codec.MaxRowSet
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

// apart reports whether the spans are different row keys, or disjoint key prefixes without a
// suffix, so that the start of a key tells its span.
func apart(spans []codec.Span) bool {
	prefixes := make([]string, len(spans))
	for i, span := range spans {
		if span.Suffix != "" {
			return false
		}
		prefixes[i] = span.Prefix
	}
	slices.Sort(prefixes)
	for i := 1; i < len(prefixes); i++ {
		if prefixes[i] == prefixes[i-1] || !spans[0].Exact && strings.HasPrefix(prefixes[i], prefixes[i-1]) {
			return false
		}
	}
	return true
}

// gather combines the rows of all spans in one request, which returns them in key
// order; false if the request would be too large.
func gather(ofSpans [][]codec.Rows) (all []codec.Rows, ok bool) {
	size := 0
	for _, rows := range ofSpans {
		for _, r := range rows {
			for _, key := range r.Keys {
				all = append(all, codec.Rows{Start: key, End: key + "\x00"})
			}
			if r.Keys == nil {
				all = append(all, codec.Rows{Start: r.Start, End: r.End})
			}
		}
	}
	for _, r := range all {
		size += codec.RangeSize(r.Start, r.End)
	}
	return all, size <= codec.MaxRowSet
}
