package store

import (
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// part is a part of a range of time that is read.
type part struct {
	codec.Part
	rows  int           // how many rows are enough; 0 for all
	read  string        // those up to this key, in the order of keys, were read
	turns chan struct{} // holds one for each request that is under way, where they take turns; else nil
}

// parts cuts a range at the buckets that are not whole in it, where the times of
// events stand in qualifiers alone. It adds the parts to dst.
func (r *Reader[E]) parts(dst []codec.Part, q *Query[E], from, to time.Time) []codec.Part {
	if r.layout.Kind != BucketOffsets || q.Untimed || r.layout.stamped() {
		return append(dst, codec.Part{From: from, To: to})
	}
	return append(dst, r.layout.offset().CutBuckets(from, to)...)
}

// columnsOf adds to a filter that the columns are those of a part, in all families.
func (l *Layout[E]) columnsOf(p codec.Part, filter bigtable.Filter) bigtable.Filter {
	if p.Begin == "" && p.End == "" {
		return filter
	}
	ranges := make([]bigtable.Filter, len(l.Table.Families))
	for i, f := range l.Table.Families {
		ranges[i] = bigtable.ColumnRangeFilter(f.Name, p.Begin, p.End)
	}
	return chain(filter, interleave(ranges...))
}
