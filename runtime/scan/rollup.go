package scan

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
)

// withRuns adds the cells of the rollup to the filter of events; nil if nothing can be live. Cells that expire within
// [codec.Skew] are left out: Bigtable may have collected one cell of a row and not yet another one.
func (t *Table) withRuns(events Filter, r *Read, p timePart, now time.Time) Filter {
	if r.Runs == NoRuns || t.Rollup == nil {
		return events
	}
	cells := t.RollupCells(now, p.From, p.To)
	if cells == nil {
		return events
	}
	family := []string{t.Rollup.Name}
	if r.Runs == BesideRuns || events == nil {
		return interleave(some(cells, events))
	}
	changes := interleave(some(chain(cells, ColumnRange{Families: family, End: rollup.FirstRun}), cutCells(family, r.Cut, t.Offset.Bucket.End(p.From), t.lastEnd(p.To))))
	runs := chain(cells, ColumnRange{Families: family, Begin: rollup.FirstRun, End: rollup.AfterRuns})
	return Interleave{cells, Condition{If: changes, Then: events, Else: Condition{If: runs, Else: events}}}
}

// RollupCells returns the filter of the cells of the rollup in buckets that have times from <= time < to; nil if there is no rollup,
// or if all have expired.
func (t *Table) RollupCells(now, from, to time.Time) Filter {
	if t.Rollup == nil || !from.Before(to) {
		return nil
	}
	windows := t.Rollup.Life.Windows(now.Add(codec.Skew), t.Offset.Bucket.End(from), t.lastEnd(to))
	if len(windows) == 0 {
		return nil
	}
	return Cells{Families: []string{t.Rollup.Name}, Windows: windows}
}

// lastEnd returns the first time after the end of the last bucket before a time.
func (t *Table) lastEnd(to time.Time) time.Time {
	return t.Offset.Bucket.End(to.Add(-1)).Add(time.Millisecond)
}

// cutCells returns the filter of the cells of buckets that a read cuts, of those that end in [from, to); nil if there are none.
func cutCells(family []string, ends []time.Time, from, to time.Time) Filter {
	var windows []codec.Window
	for _, end := range ends {
		if !end.Before(from) && end.Before(to) {
			windows = append(windows, codec.Window{From: codec.Micros(end), To: codec.Micros(end.Add(time.Millisecond))})
		}
	}
	if windows == nil {
		return nil
	}
	return Cells{Families: family, Windows: windows}
}

// some returns the filters that are not nil.
func some(filters ...Filter) (out []Filter) {
	for _, f := range filters {
		if f != nil {
			out = append(out, f)
		}
	}
	return out
}

// Lost returns the range of time, from <= time < to, in which events of the layout may have expired, and have with the runs, if
// it has some; an empty one if there is none.
func (t *Table) Lost(now time.Time, runs bool) (from, to time.Time) {
	to, _ = t.Since(now.Add(codec.Skew))
	if runs {
		oldest, bounded := t.Rollup.Life.Since(now.Add(codec.Skew))
		if !bounded {
			return t.Begin, t.Begin
		}
		if last := t.Offset.Bucket.Start(oldest.Add(-1)); last.Before(to) {
			to = last
		}
	}
	if !t.End.IsZero() && t.End.Before(to) {
		to = t.End
	}
	return t.Begin, to
}

// sinceRuns returns the time of the oldest event that a run can contain; false if there is no bound.
func (t *Table) sinceRuns(now time.Time) (time.Time, bool) {
	oldest, bounded := t.Rollup.Life.Since(now.Add(codec.Skew))
	if !bounded {
		return t.Begin, !t.Begin.IsZero()
	}
	start := t.Offset.Bucket.Start(oldest.Add(-1))
	if start.Before(t.Begin) {
		start = t.Begin
	}
	return start, true
}

// Changes returns the filter of the changes in rows whose buckets ended some time before now: names of columns, without
// values. With all, rows also have their runs and their events, or the name of a cell of an event if they have no run.
func (t *Table) Changes(now time.Time, after time.Duration, all bool) Filter {
	family := []string{t.Rollup.Name}
	windows := t.Rollup.Life.Windows(now.Add(codec.Skew), time.Time{}, now.Add(-after).Add(time.Millisecond))
	cells := Cells{Families: family, Windows: windows}
	if all {
		events := t.cellsIn(func(*Family) []codec.Window { return []codec.Window{{}} })
		runs := chain(cells, ColumnRange{Families: family, Begin: rollup.FirstRun, End: rollup.AfterRuns})
		return Interleave{cells, Condition{If: runs, Then: events, Else: chain(events, CellsPerRow(1), StripValues{})}}
	}
	return chain(cells, ColumnRange{Families: family, End: rollup.FirstRun}, StripValues{})
}

// Everything returns the filter of all cells of events and of the rollup.
func (t *Table) Everything() Filter {
	cells := t.ofEvents()
	cells.Families = append(cells.Families, t.Rollup.Name)
	return cells
}

// Replaceable returns a filter that finds a cell in a row from which no sealer has removed what was read in it, and in which
// none has set a run: it has the first of the marks and runs that were read, and no other run. If none were read, it has
// events, and no cells of the rollup.
func (t *Table) Replaceable(read *rollup.Row) Filter {
	family := []string{t.Rollup.Name}
	names := read.Changes()
	if len(names) == 0 {
		return Condition{If: Cells{Families: family}, Else: chain(t.ofEvents(), CellsPerRow(1))}
	}
	var others []Filter
	begin := rollup.FirstRun
	for _, end := range append(slices.Sorted(slices.Values(read.Runs)), rollup.AfterRuns) {
		others = append(others, ColumnRange{Families: family, Begin: begin, End: end})
		begin = end + "\x00"
	}
	return Condition{If: interleave(others), Else: ColumnRange{Families: family, Begin: names[0], End: names[0] + "\x00"}}
}

// ofEvents returns the filter of all cells of events.
func (t *Table) ofEvents() (cells Cells) {
	for _, f := range t.Families {
		cells.Families = append(cells.Families, f.Name)
	}
	return cells
}
