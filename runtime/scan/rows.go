package scan

import (
	"iter"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// What is read in pages: how many requests at once, and how many rows each returns, of
// events and of buckets. A connection carries 100 streams, and a stream whose rows nobody
// takes keeps its place.
const (
	MaxStreams = 64
	PageEvents = 100
	PageRows   = 4
)

// maxUnsorted is how many buckets whose labels do not sort are read key by key without a
// lookup of those that exist; maxListed is how many others are, or by a range each, where
// the keys go on after the label.
const (
	maxUnsorted = 1000
	maxListed   = 50_000
)

// listing is how the buckets of a span are read.
type listing int

const (
	listBuckets listing = iota // by the ranges or keys of [codec.Span.Buckets]
	listStored                 // by the keys that a lookup finds: others may be very many
	listRange                  // by one range, of which the server returns what has the suffix
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

// Batches puts what is read one after the other into as few requests as Bigtable takes:
// ranges that are read in the same direction.
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

// apart reports whether the beginning of a key tells which of the spans it is of, and all
// that a range of it holds is of the span.
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
		if strings.HasPrefix(prefixes[i], prefixes[i-1]) {
			return false
		}
	}
	return true
}

// gather puts what is read of each span into one request, which returns all rows in the
// order of their keys; false where that is too much for a request.
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
