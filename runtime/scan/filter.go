package scan

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Filter selects the cells that a request returns. It is a tree of the types below.
type Filter interface{ isFilter() }

type (
	// Chain applies at least two filters in sequence.
	Chain []Filter
	// Interleave returns the cells that at least one of two or more filters returns.
	Interleave []Filter
	// Keys returns the cells of rows whose keys match any of the patterns, of which there is at least one.
	Keys []codec.KeyPieces
	// Columns returns the cells of the columns with the given names, in all families.
	Columns []string
	// ColumnRange returns the cells of columns in [Begin, End) in the given families.
	// An empty Begin or End is unbounded.
	ColumnRange struct {
		Families   []string
		Begin, End string
	}
	// Cells returns the cells of the given families in any of the windows, or all if there are no windows.
	Cells struct {
		Families []string
		Windows  []codec.Window
	}
	// CellsPerColumn limits each column to its newest cells.
	CellsPerColumn int
	// CellsPerRow limits each row to its first cells.
	CellsPerRow int
	// StripValues replaces values by empty ones.
	StripValues struct{}
	// ValueRanges returns the cells whose values are in any of the ranges, of which there is at least one.
	ValueRanges []codec.ValueRange
	// Condition returns what Then returns of the rows in which If finds a cell, and what Else
	// returns of the others. Then or Else is nil if it returns nothing.
	Condition struct{ If, Then, Else Filter }
)

func (Chain) isFilter()          {}
func (Interleave) isFilter()     {}
func (Keys) isFilter()           {}
func (Columns) isFilter()        {}
func (ColumnRange) isFilter()    {}
func (Cells) isFilter()          {}
func (CellsPerColumn) isFilter() {}
func (CellsPerRow) isFilter()    {}
func (StripValues) isFilter()    {}
func (ValueRanges) isFilter()    {}
func (Condition) isFilter()      {}

// chain applies filters in sequence; a nil filter has no effect.
func chain(filters ...Filter) Filter {
	var only Filter
	n, size := 0, 0
	for _, f := range filters {
		if f != nil {
			only, n, size = f, n+1, size+1
		}
		if inner, ok := f.(Chain); ok {
			size += len(inner) - 1
		}
	}
	if n < 2 {
		return only
	}
	out := make(Chain, 0, size)
	for _, f := range filters {
		if inner, ok := f.(Chain); ok {
			out = append(out, inner...)
		} else if f != nil {
			out = append(out, f)
		}
	}
	return out
}

// interleave returns the cells that any of the filters returns; nil if there are no filters.
func interleave(filters []Filter) Filter {
	switch len(filters) {
	case 0:
		return nil
	case 1:
		return filters[0]
	}
	return Interleave(filters)
}

// partFilter returns the filter of a part; nil if no cell can be live.
func (t *Table) partFilter(r *Read, p timePart, now time.Time) Filter {
	cells := t.cellsOf(r, p, now)
	if cells == nil && r.Runs == NoRuns {
		return nil
	}
	var keys Filter
	if r.Keys != nil {
		if keys = t.keys(r, p); keys == nil {
			return nil
		}
	}
	if t.Pattern.Bucketed() {
		var events Filter
		if cells != nil {
			events = chain(t.projected(r.Projection), cells, t.columnsOf(p), r.Conditions.values())
		}
		if events = t.withRuns(events, r, p, now); events == nil {
			return nil
		}
		return chain(keys, events)
	}
	return chain(keys, t.meeting(r.Conditions, cells, chain(t.projected(r.Projection), cells)))
}

// cellsOf returns the filter that selects the cells of a part by timestamp; nil if none can be live.
func (t *Table) cellsOf(r *Read, p timePart, now time.Time) Filter {
	newest := 0
	if r.LatestOnly && t.Pattern.EventTimed() && r.Conditions == nil {
		newest = 1
	}
	switch {
	case !t.ByTimestamp():
		return t.alive(now, t.stamped(p.From), codec.Forever, newest) // row keys or columns select the time
	case t.Pattern.EventTimed():
		return t.alive(now, p.From, p.To, newest)
	case t.Offset.Precision%time.Millisecond == 0: // columns have no other times
		return t.alive(now, codec.Ceil(p.From, time.Millisecond), codec.Ceil(p.To, time.Millisecond), newest)
	}
	// In a partial first or last millisecond, the columns select the time.
	var branches []Filter
	for _, m := range cutMilliseconds(t.Offset, p.From, p.To) {
		if cells := t.alive(now, m.From, m.To, newest); cells != nil {
			branches = append(branches, chain(cells, t.columnsOf(m)))
		}
	}
	return interleave(branches)
}

// alive returns the filter of live cells with timestamps in [from, to); nil if none can be live. A limit to the
// newest cells comes after the windows, because before them it could drop cells in the windows.
func (t *Table) alive(now, from, to time.Time, newest int) Filter {
	cells := t.cellsIn(func(f *Family) []codec.Window {
		end := t.rest(f, now, from, to)
		if end.After(to) {
			newest = 0 // the newest cell may be after the range
		}
		return f.Life.Windows(now, from, end)
	})
	if cells == nil || newest == 0 {
		return cells
	}
	return t.limited(cells, time.Time{}, to, CellsPerColumn(newest))
}

// cellsIn returns the filter of the cells of each family in its windows; nil if no
// family has windows. Families with equal windows share a branch.
func (t *Table) cellsIn(windowsOf func(f *Family) []codec.Window) Filter {
	all := make([]Cells, 0, len(t.Families))
	for i := range t.Families {
		f := &t.Families[i]
		windows := windowsOf(f)
		if len(windows) == 0 {
			continue
		}
		if slices.Contains(windows, codec.Window{}) {
			windows = nil
		}
		same := slices.IndexFunc(all, func(c Cells) bool { return slices.Equal(c.Windows, windows) })
		if same >= 0 {
			all[same].Families = append(all[same].Families, f.Name)
			continue
		}
		all = append(all, Cells{[]string{f.Name}, windows})
	}
	if len(all) == 1 {
		return all[0]
	}
	branches := make([]Filter, len(all))
	for i, cells := range all {
		branches[i] = cells
	}
	return interleave(branches)
}

// rest returns the end of the range of cells to read in a family: in buckets of cells,
// those that determine the rank of others may follow the range. In a row with only the newest event,
// cells in the range may be what garbage collection has left of an older one.
func (t *Table) rest(f *Family, now, from, to time.Time) time.Time {
	switch {
	case t.Pattern.NewestOnly():
		return MaxTime
	case !t.Pattern.Versioned():
		return to
	}
	return f.Life.Retention.Rest(t.Offset.Bucket, now, from, to)
}

// ranksEnd returns the time until which the ranks that a read of [from, to) sees are valid.
func (t *Table) ranksEnd(now, from, to time.Time) time.Time {
	for i := range t.Families {
		f := &t.Families[i]
		if len(f.Life.Retention) > 1 && t.rest(f, now, from, to).Equal(to) {
			return now.Add(codec.LongRead)
		}
	}
	return MaxTime
}

// columnsOf returns the filter for the columns of a part; nil for all columns.
func (t *Table) columnsOf(p timePart) Filter {
	if p.Begin == "" && p.End == "" {
		return nil
	}
	r := ColumnRange{Begin: p.Begin, End: p.End}
	for _, f := range t.Families {
		r.Families = append(r.Families, f.Name)
	}
	return r
}

// keys returns the filter for the row keys of a part; nil if no key can match. If the read covers rows of all times
// and does not select by timestamp, the keys and, in partial buckets, the columns select the time.
func (t *Table) keys(r *Read, p timePart) Filter {
	if !r.AllTimes || t.ByTimestamp() {
		return Keys(r.Keys.All(codec.AnyTime(t.keyTimes())))
	}
	parts := []timePart{p}
	if t.Pattern.Naming() == codec.NamedByTime {
		parts = cutBuckets(t.Offset, p.From, p.To)
	}
	var branches []Filter
	for _, p := range parts {
		if times, some := t.keyTimes().Within(p.From, p.To); some {
			branches = append(branches, chain(Keys(r.Keys.All(times...)), t.columnsOf(p)))
		}
	}
	return interleave(branches)
}

// InTimes restricts f to rows that may have events in [from, to), for scans of rows of all
// series. It returns f if from is zero, or if f or the reader has to select by time.
func (t *Table) InTimes(f Filter, from, to time.Time) Filter {
	if from.IsZero() || t.ByTimestamp() || !t.InOrder() {
		return f
	}
	times, some := t.keyTimes().Within(from, to)
	if !some {
		return f
	}
	anything := codec.KeyPieces{{Any: true}}
	return chain(Keys{slices.Concat(anything, times, anything)}, f)
}

// matching restricts f to keys with the suffix of the span, for reads of a range that
// also contains rows of other series.
func (t *Table) matching(span codec.Span, f Filter) Filter {
	if span.Suffix == "" && span.Rest == 0 {
		return f
	}
	return chain(Keys{span.Pattern(codec.AnyTime(t.keyTimes()))}, f)
}

// EventCells returns the filter of the cells of one event in its row that a read at time now would use; nil if none
// can be live. sequence is the sequence number of the event or, if the pattern appends, its class, which is then part
// of its identity. In a table of [codec.Latest], newer events count, too.
func (t *Table) EventCells(now, event time.Time, sequence uint32) Filter {
	from, to := t.stamped(event), codec.Forever
	switch {
	case t.Pattern.NewestOnly():
		from, to = event, MaxTime
	case t.Pattern.EventTimed():
		from, to = event, event.Add(time.Millisecond)
	}
	cells := t.cellsIn(func(f *Family) []codec.Window {
		if t.Pattern.Appends() && f.Class != int(sequence) {
			return nil
		}
		return f.Life.Windows(now, from, to)
	})
	if cells == nil || t.Pattern.Naming() == codec.NamedByValue {
		return cells
	}
	return chain(t.columnsOfEvent(event, sequence), cells)
}

// columnsOfEvent returns the filter for the columns that contain an event.
func (t *Table) columnsOfEvent(event time.Time, sequence uint32) Filter {
	if t.Pattern.Naming() == codec.NamedByTime {
		return Columns{string(t.Offset.Append(nil, event, sequence))}
	}
	var names Columns
	for _, c := range t.Columns {
		if !c.WrittenAt {
			names = append(names, c.Name)
		}
	}
	if names == nil {
		return nil
	}
	return names
}
