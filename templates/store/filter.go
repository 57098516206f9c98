package store

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/templates/codec"
)

// longRead is how long the ranks that a read has seen are good for.
const longRead = time.Hour

// fetched returns which columns have the fields; nil for all of them.
func (l *Layout[E]) fetched(fields []Field) ([]bool, error) {
	if fields == nil || l.Kind == BucketOffsets || slices.ContainsFunc(l.Columns, func(c Column) bool { return c.Whole }) {
		return nil, nil
	}
	fetch := make([]bool, len(l.Columns))
	for _, f := range fields {
		i := slices.IndexFunc(l.Columns, func(c Column) bool { return c.Name == string(f) })
		if i < 0 {
			return nil, fmt.Errorf("table %s has no field %q", l.Table.ID, f)
		}
		fetch[i] = true
	}
	return fetch, nil
}

// columnsFilter returns the filter of the columns to fetch; nil for all of them.
func (l *Layout[E]) columnsFilter(fetch []bool) bigtable.Filter {
	if fetch == nil || l.Kind == BucketColumns {
		return nil
	}
	var names []string
	for i, c := range l.Columns {
		if fetch[i] {
			names = append(names, quoteKey(c.Name))
		}
	}
	if names == nil {
		return bigtable.BlockAllFilter()
	}
	return bigtable.ColumnFilter(strings.Join(names, "|"))
}

// partFilter returns the filter of a part; false if no cell can be alive.
func (r *Reader[E]) partFilter(q *Query[E], p part, now time.Time, o ReadOptions) (bigtable.Filter, bool) {
	from, to := p.from, p.to
	switch {
	case r.layout.Kind == SingleRows && !q.Untimed:
		from, to = time.Time{}, farFuture // the range of rows is as good
	case r.layout.Kind == SingleRows, r.layout.Kind == BucketOffsets:
		// A cell's timestamp is its event's time rounded down.
		from = codec.Truncate(from, time.Millisecond)
	}
	perColumn := 0
	if o.LatestOnly && r.layout.Kind == BucketCells && !r.layout.ranked() {
		perColumn = 1
	}
	filter, alive := r.filter(now, from, to, perColumn)
	if alive && (p.begin != "" || p.end != "") {
		filter = bigtable.ChainFilters(filter, bigtable.ColumnRangeFilter(r.layout.Table.Families[0].Name, p.begin, p.end))
	}
	return filter, alive
}

// filter returns the filter of a read of [from, to): of each family the cells
// that garbage collection would have left. The time range comes first and a
// limit to the newest cells last, since the other way round loses cells. It
// reports false if no cell can be alive.
func (r *Reader[E]) filter(now, from, to time.Time, newest int) (bigtable.Filter, bool) {
	var names []string
	var windows [][]codec.Window
	for _, f := range r.layout.Table.Families {
		end := to
		if f.Life.Retention.Turns(now, from, to, longRead) {
			end = farFuture
		}
		w := f.Life.Windows(now, from, end)
		same := slices.IndexFunc(windows, func(other []codec.Window) bool { return slices.Equal(w, other) })
		switch {
		case len(w) == 0:
		case same >= 0:
			names[same] += "|" + quote(f.Name)
		default:
			names, windows = append(names, quote(f.Name)), append(windows, w)
		}
	}
	if len(names) == 0 {
		return nil, false
	}
	branches := make([]bigtable.Filter, len(names))
	for i := range names {
		branches[i] = chain(bigtable.FamilyFilter(names[i]), windowsFilter(windows[i]))
	}
	out := interleave(branches...)
	if newest > 0 {
		out = chain(out, bigtable.LatestNFilter(newest))
	}
	return out, true
}

// ranksEnd returns until when the ranks that a read of [from, to) sees are good.
// What grows too old during the read is alive by its rank, if at all: where that
// may be within an hour, the cells after the range are read too, to be counted.
func (r *Reader[E]) ranksEnd(now, from, to time.Time) time.Time {
	for _, f := range r.layout.Table.Families {
		if len(f.Life.Retention) > 1 && !f.Life.Retention.Turns(now, from, to, longRead) {
			return now.Add(longRead)
		}
	}
	return farFuture
}

// windowsFilter returns the filter for the windows of a family; nil if they do
// not limit anything.
func windowsFilter(windows []codec.Window) bigtable.Filter {
	branches := make([]bigtable.Filter, len(windows))
	for i, w := range windows {
		branch, limits := windowFilter(w)
		if !limits {
			return nil
		}
		branches[i] = branch
	}
	return interleave(branches...)
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
	if len(filters) == 1 {
		return filters[0]
	}
	return bigtable.InterleaveFilters(filters...)
}

// windowFilter returns the filter for one window, and whether it limits
// anything. The newest cells of a column are counted before the time range is
// cut out, for that is how garbage collection counts them.
func windowFilter(w codec.Window) (bigtable.Filter, bool) {
	times := bigtable.TimestampRangeFilterMicros(bigtable.Timestamp(w.From), bigtable.Timestamp(w.To))
	bounded := w.From > 0 || w.To > 0
	switch {
	case w.Versions > 0 && bounded:
		return bigtable.ChainFilters(bigtable.LatestNFilter(w.Versions), times), true
	case w.Versions > 0:
		return bigtable.LatestNFilter(w.Versions), true
	default:
		return times, bounded
	}
}

// quote escapes a family name for the filter, which is a regular expression:
// of the characters that Bigtable allows in a name only the dot means something.
func quote(family string) string {
	out := make([]byte, 0, len(family)+4)
	for i := range len(family) {
		if family[i] == '.' {
			out = append(out, '\\')
		}
		out = append(out, family[i])
	}
	return string(out)
}
