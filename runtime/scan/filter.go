package scan

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// Filter says which cells a request returns. It is a tree of the types below.
type Filter interface{ isFilter() }

type (
	// Chain applies filters one after the other. It has at least two.
	Chain []Filter
	// Interleave returns the cells that any of several filters returns. It has at least
	// two.
	Interleave []Filter
	// Keys returns the cells of rows whose keys match.
	Keys struct{ Form codec.KeyPieces }
	// Columns returns the cells of the columns with these names, in all families.
	Columns []string
	// ColumnRange returns the cells of the columns from Begin up to but without End in
	// some families; an empty Begin or End is no bound.
	ColumnRange struct {
		Families   []string
		Begin, End string
	}
	// Cells returns the cells of some families that are in any of the windows; all of
	// them if there are no windows.
	Cells struct {
		Families []string
		Windows  []codec.Window
	}
	// CellsPerColumn returns the newest cells of each column, that many.
	CellsPerColumn int
	// CellsPerRow returns the first cells of each row, that many.
	CellsPerRow int
	// StripValues returns all cells without their values.
	StripValues struct{}
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

// chain applies filters one after the other; a nil filter returns all cells.
func chain(filters ...Filter) Filter {
	var only Filter
	n := 0
	for _, f := range filters {
		if f != nil {
			only, n = f, n+1
		}
	}
	if n < 2 {
		return only
	}
	out := make(Chain, 0, n)
	for _, f := range filters {
		if inner, ok := f.(Chain); ok {
			out = append(out, inner...)
		} else if f != nil {
			out = append(out, f)
		}
	}
	return out
}

// interleave returns the cells that any of the filters returns; nil if there are none.
func interleave(filters []Filter) Filter {
	switch len(filters) {
	case 0:
		return nil
	case 1:
		return filters[0]
	}
	return Interleave(filters)
}

// partFilter returns the filter of a part of a read; nil if no cell can be alive.
func (t *Table) partFilter(r *Read, p codec.Part, now time.Time) Filter {
	cells := t.cellsOf(r, p, now)
	if cells == nil {
		return nil
	}
	var keys Filter
	if r.Keys != nil {
		if keys = t.keys(r, p); keys == nil {
			return nil
		}
	}
	return chain(keys, t.projected(r.Projection), cells, t.columnsOf(p))
}

// cellsOf returns the filter of the cells of a part by their timestamps; nil if none can
// be alive.
func (t *Table) cellsOf(r *Read, p codec.Part, now time.Time) Filter {
	newest := 0
	if r.LatestOnly && (t.Pattern.EventTimed()) {
		newest = 1
	}
	switch {
	case !t.ByTimestamp():
		return t.alive(now, time.Time{}, codec.Endless, newest) // rows and columns say when
	case t.Offset.Precision%time.Millisecond == 0:
		return t.alive(now, p.From, p.To, newest)
	}
	// In the first and the last millisecond, the columns say what is in the range.
	var branches []Filter
	for _, m := range t.Offset.CutMilliseconds(p.From, p.To) {
		if cells := t.alive(now, codec.Truncate(m.From, time.Millisecond), m.To, newest); cells != nil {
			branches = append(branches, chain(cells, t.columnsOf(m)))
		}
	}
	return interleave(branches)
}

// alive returns the filter of a read of the cells in [from, to): of each family those that
// garbage collection would leave; nil if none can be alive. A limit to the newest cells
// comes last, since it would lose cells in front of the windows.
func (t *Table) alive(now, from, to time.Time, newest int) Filter {
	cells := t.cellsIn(func(f *Family) []codec.Window {
		end := t.rest(f, now, from, to)
		if end.After(to) {
			newest = 0 // the newest cell may be past the range
		}
		return f.Life.Windows(now, from, end)
	})
	if cells == nil || newest == 0 {
		return cells
	}
	return chain(cells, CellsPerColumn(newest))
}

// cellsIn returns the filter of the cells of each family in its windows, with families of
// equal windows in one branch; nil if no family has windows.
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

// rest returns until when the cells of a family are read for a range up to a time: in
// buckets of cells, those count that decide the rank of others.
func (t *Table) rest(f *Family, now, from, to time.Time) time.Time {
	if !t.Pattern.Versioned() {
		return to
	}
	return f.Life.Retention.Rest(t.Offset.Bucket, now, from, to)
}

// ranksEnd returns until when the ranks that a read of [from, to) sees are valid.
func (t *Table) ranksEnd(now, from, to time.Time) time.Time {
	for i := range t.Families {
		f := &t.Families[i]
		if len(f.Life.Retention) > 1 && t.rest(f, now, from, to).Equal(to) {
			return now.Add(codec.LongRead)
		}
	}
	return MaxTime
}

// columnsOf returns the filter of the columns of a part; nil if it has all of them.
func (t *Table) columnsOf(p codec.Part) Filter {
	if p.Begin == "" && p.End == "" {
		return nil
	}
	r := ColumnRange{Begin: p.Begin, End: p.End}
	for _, f := range t.Families {
		r.Families = append(r.Families, f.Name)
	}
	return r
}

// keys returns the filter of row keys for a part; nil if no key can match. Where rows of
// all times are read and timestamps do not say when events are, the keys do and, in the
// buckets that the part cuts, the columns.
func (t *Table) keys(r *Read, p codec.Part) Filter {
	if !r.AllTimes || t.ByTimestamp() {
		return Keys{r.Keys.At(codec.AnyTime(t.keyTimes()))}
	}
	parts := []codec.Part{p}
	if t.Pattern == codec.BucketOffsets {
		parts = t.Offset.CutBuckets(p.From, p.To)
	}
	var branches []Filter
	for _, p := range parts {
		if times, some := codec.TimesIn(t.keyTimes(), p.From, p.To); some {
			branches = append(branches, chain(Keys{r.Keys.At(times)}, t.columnsOf(p)))
		}
	}
	return interleave(branches)
}

// matching adds to a filter that keys have the suffix of a span, for rows that are read
// by a range of time: among them are those of other series.
func (t *Table) matching(span codec.Span, f Filter) Filter {
	if span.Suffix == "" {
		return f
	}
	return chain(Keys{span.Pattern(codec.AnyTime(t.keyTimes()))}, f)
}

// keysOnly makes a filter return one cell of each row, without its value.
func keysOnly(f Filter) Filter { return chain(f, CellsPerRow(1), StripValues{}) }

// EventCells returns the filter of the living cells of an event in its row: those that a
// read would make an event of at that time; nil if none can be alive. sequence is the
// sequence number of the event or, for new columns, its class: an event of another class
// is another event.
func (t *Table) EventCells(now, event time.Time, sequence uint32) Filter {
	from, to := time.Time{}, codec.Endless
	if t.Pattern.EventTimed() {
		from, to = event, event.Add(time.Millisecond)
	}
	cells := t.cellsIn(func(f *Family) []codec.Window {
		if t.Pattern == codec.BucketNewColumns && f.Class != int(sequence) {
			return nil
		}
		return f.Life.Windows(now, from, to)
	})
	if cells == nil || t.Pattern == codec.BucketNewColumns {
		return cells
	}
	return chain(t.columnsOfEvent(event, sequence), cells)
}

// columnsOfEvent returns the filter of the columns that the cells of an event are in.
func (t *Table) columnsOfEvent(event time.Time, sequence uint32) Filter {
	if t.Pattern == codec.BucketOffsets {
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
