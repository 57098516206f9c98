package hotspot

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// FanOut returns how many salts the events of a query have, if it gives one value for each of
// its series values: the number of key ranges that a call reads. It counts simulated keys.
func FanOut(l *layout.Layout, q *layout.Query) int {
	i := slices.IndexFunc(q.Table.Segments, isSalt)
	if i < 0 {
		return 1
	}
	load := l.Load()
	load.Series = max(load.Series, int64(100*q.Table.Segments[i].Buckets))
	all := population(nil, l, q.Table, load, Seed, 100*q.Table.Segments[i].Buckets)
	given := seriesValues(l, q.Table, all[0].number, uint64(load.Series))
	salts := map[string]bool{}
	for _, w := range all {
		values := seriesValues(l, q.Table, w.number, uint64(load.Series))
		for _, by := range q.By {
			values[by] = given[by]
		}
		if salt, err := q.Table.AppendPart(nil, i, i+1, &codec.KeyValues{Series: value.Pointers(l, values, nil)}); err == nil {
			salts[string(salt)] = true
		}
	}
	return len(salts)
}
