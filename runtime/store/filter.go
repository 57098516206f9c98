package store

import (
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// endsByRows reports whether a read with a limit is over after so many rows, each
// of which has an event: not if events of several rows are sorted, or left out.
func (l *Layout[E]) endsByRows(q *Query[E], o ReadOptions) bool {
	sorted := o.TimeOrder && q.Several && l.Kind != SingleRows
	return o.Limit > 0 && (!o.LatestOnly || !q.Several) && !sorted
}

// stamped reports whether a range of time is asked for as one of timestamps: where
// nothing else says when events are, and in the columns of a bucket if garbage
// collection goes by it too. Elsewhere cells may have any timestamps, as those of
// other programs do.
func (l *Layout[E]) stamped() bool {
	switch l.Kind {
	case SingleRows:
		return false
	case BucketOffsets:
		return !slices.ContainsFunc(l.Table.Families, func(f Family) bool { return !f.Life.Dated() })
	}
	return true
}

// partFilter returns the filter of a part; false if no cell can be alive.
func (r *Reader[E]) partFilter(q *Query[E], keys *codec.KeyPattern, p codec.Part, now time.Time, o ReadOptions) (bigtable.Filter, bool) {
	newest := 0
	if o.LatestOnly && (r.layout.Kind == BucketCells || r.layout.Kind == BucketColumns) {
		newest = 1
	}
	filter, alive := r.timeFilter(p, now, newest)
	if !alive {
		return nil, false
	}
	filter = r.layout.columnsOf(p, filter)
	if keys == nil {
		return filter, true
	}
	rows, some := r.layout.keysFilter(q, keys, p)
	return chain(rows, filter), some
}

// timeFilter returns the filter of the cells of a part by their timestamps; false
// if no cell can be alive.
func (r *Reader[E]) timeFilter(p codec.Part, now time.Time, newest int) (bigtable.Filter, bool) {
	switch {
	case !r.layout.stamped():
		return r.filter(now, time.Time{}, codec.Endless, newest) // rows and columns say when
	case r.layout.Precision%time.Millisecond == 0:
		return r.filter(now, p.From, p.To, newest)
	}
	// Of the first and the last millisecond the columns say what is in the range.
	var branches []bigtable.Filter
	for _, m := range r.layout.offset().CutMilliseconds(p.From, p.To) {
		if filter, alive := r.filter(now, codec.Truncate(m.From, time.Millisecond), m.To, newest); alive {
			branches = append(branches, r.layout.columnsOf(m, filter))
		}
	}
	return either(branches)
}

// keysFilter returns the filter of row keys; false if there are none. Where rows of
// all times are asked for and the timestamps of cells do not say when their events
// are, the keys do and, in the buckets that the part cuts, the columns.
func (l *Layout[E]) keysFilter(q *Query[E], keys *codec.KeyPattern, p codec.Part) (bigtable.Filter, bool) {
	if !q.Untimed || l.stamped() {
		return rowKeyFilter(keys.At(codec.AnyTime(l.keyTimes()))), true
	}
	parts := []codec.Part{p}
	if l.Kind == BucketOffsets {
		parts = l.offset().CutBuckets(p.From, p.To)
	}
	var branches []bigtable.Filter
	for _, p := range parts {
		if times, some := codec.TimesIn(l.keyTimes(), p.From, p.To); some {
			branches = append(branches, l.columnsOf(p, rowKeyFilter(keys.At(times))))
		}
	}
	return either(branches)
}

// matching adds to a filter that the key has the suffix of a span, for rows that
// are asked for by a range of time: among them are those of other series.
func (l *Layout[E]) matching(span codec.Span, filter bigtable.Filter) bigtable.Filter {
	if span.Suffix == "" {
		return filter
	}
	return bigtable.ChainFilters(rowKeyFilter(span.Pattern(codec.AnyTime(l.keyTimes()))), filter)
}

// rowKeyFilter returns the filter of the keys that have these pieces.
func rowKeyFilter(p codec.KeyPieces) bigtable.Filter { return bigtable.RowKeyFilter(p.Regexp()) }

// keyTimes is how times stand in the keys.
func (l *Layout[E]) keyTimes() codec.KeyTimes {
	if l.Kind == SingleRows {
		return l.TimeKey
	}
	return l.Bucket
}

// filter returns the filter of a read of [from, to): of each family the cells
// that garbage collection would have left. The time range comes first and a
// limit to the newest cells last, since the other way round loses cells. It
// reports false if no cell can be alive.
func (r *Reader[E]) filter(now, from, to time.Time, newest int) (bigtable.Filter, bool) {
	families, windows := make([]bigtable.Filter, 0, usualFamilies), make([][]codec.Window, 0, usualFamilies)
	names := make([]string, 0, usualFamilies)
	for i, f := range r.layout.Table.Families {
		end := r.layout.rest(f, now, from, to)
		if end.After(to) {
			newest = 0 // the newest may be past the range
		}
		w := f.Life.Windows(now, from, end)
		same := slices.IndexFunc(windows, func(other []codec.Window) bool { return slices.Equal(w, other) })
		switch {
		case len(w) == 0:
		case same >= 0:
			names[same] += "|" + quote(f.Name)
			families[same] = bigtable.FamilyFilter(names[same])
		default:
			families, names, windows = append(families, r.families[i]), append(names, quote(f.Name)), append(windows, w)
		}
	}
	if len(families) == 0 {
		return nil, false
	}
	out := interleaved(len(families), func(i int) bigtable.Filter {
		return chain(families[i], windowsFilter(windows[i]))
	})
	if newest > 0 {
		out = chain(out, bigtable.LatestNFilter(newest))
	}
	return out, true
}

// familyFilters returns the filters that pass one family each.
func familyFilters(families []Family) []bigtable.Filter {
	filters := make([]bigtable.Filter, len(families))
	for i, f := range families {
		filters[i] = bigtable.FamilyFilter(quote(f.Name))
	}
	return filters
}

// usualFamilies is for how many families no memory is needed.
const usualFamilies = 4

// rest returns until when the cells of a family must be read for a range up to a
// time: other rows than those of buckets have no rest.
func (l *Layout[E]) rest(f Family, now, from, to time.Time) time.Time {
	if l.Kind != BucketCells {
		return to
	}
	return f.Life.Retention.Rest(l.Bucket, now, from, to)
}

// ranksEnd returns until when the ranks that a read of [from, to) sees are good.
func (r *Reader[E]) ranksEnd(now, from, to time.Time) time.Time {
	for _, f := range r.layout.Table.Families {
		if len(f.Life.Retention) > 1 && r.layout.rest(f, now, from, to).Equal(to) {
			return now.Add(codec.LongRead)
		}
	}
	return farFuture
}

// windowsFilter returns the filter for the windows of a family; nil if they do
// not limit anything.
func windowsFilter(windows []codec.Window) bigtable.Filter {
	for _, w := range windows {
		if _, limits := windowFilter(w); !limits {
			return nil
		}
	}
	return interleaved(len(windows), func(i int) bigtable.Filter {
		filter, _ := windowFilter(windows[i])
		return filter
	})
}

// chain applies filters one after the other; a nil filter passes all. The server
// refuses a chain of one.
func chain(a, b bigtable.Filter) bigtable.Filter {
	if b == nil {
		return a
	}
	return bigtable.ChainFilters(a, b)
}

// interleave passes what any of the filters passes. The server refuses to
// interleave one.
func interleave(filters ...bigtable.Filter) bigtable.Filter {
	return interleaved(len(filters), func(i int) bigtable.Filter { return filters[i] })
}

// interleaved passes what any of n filters passes, of which there is one at least.
func interleaved(n int, filter func(i int) bigtable.Filter) bigtable.Filter {
	if n == 1 {
		return filter(0)
	}
	filters := make([]bigtable.Filter, n)
	for i := range filters {
		filters[i] = filter(i)
	}
	return bigtable.InterleaveFilters(filters...)
}

// either passes what any of the filters passes; false if there are none.
func either(filters []bigtable.Filter) (bigtable.Filter, bool) {
	if len(filters) == 0 {
		return nil, false
	}
	return interleave(filters...), true
}

// windowFilter returns the filter for one window, and whether it limits
// anything. The newest cells of a column are counted before the time range is
// cut out, for that is how garbage collection counts them.
func windowFilter(w codec.Window) (filter bigtable.Filter, limits bool) {
	bounded := w.From > 0 || w.To > 0
	if bounded {
		filter = bigtable.TimestampRangeFilterMicros(bigtable.Timestamp(w.From), bigtable.Timestamp(w.To))
	}
	if w.Versions > 0 {
		filter = chain(bigtable.LatestNFilter(w.Versions), filter)
	}
	return filter, bounded || w.Versions > 0
}

// quote escapes a family name for the filter, which is a regular expression:
// of the characters that Bigtable allows in a name only the dot means something.
func quote(family string) string { return strings.ReplaceAll(family, ".", `\.`) }
