package scan

import (
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// stamped returns the earliest timestamp of the cells of events from a time on, for reads whose
// time range is selected by row keys or columns. In a table with an infrequent access tier, they
// filter by it nevertheless, since Bigtable then reads only SSD. It is the zero time in other
// tables. There is no latest timestamp: cells that were written with the time of the write, by other
// programs or before timestamps were those of events, have a later one than their event.
func (t *Table) stamped(from time.Time) time.Time {
	if _, moves := t.Tier.After(); !moves {
		return time.Time{}
	}
	return codec.Truncate(from, time.Millisecond)
}

// StampedSince returns the earliest timestamp of the cells of events from a time on; false if
// reads of the table do not filter by it.
func (t *Table) StampedSince(from time.Time) (time.Time, bool) {
	since := t.stamped(from)
	return since, !since.IsZero() && t.EventTimed()
}

// EventTimed reports whether all cell timestamps are event times.
func (t *Table) EventTimed() bool {
	return !slices.ContainsFunc(t.Families, func(f Family) bool { return !f.Life.EventTimed() })
}

// OnSSD returns the table as if older events than those on SSD did not exist, to search for the newest event there
// first; false if the table has no infrequent access tier, or its timestamps do not tell which events are there.
func (t *Table) OnSSD(now time.Time) (Table, bool) {
	after, moves := t.Tier.After()
	if !moves || !t.EventTimed() {
		return Table{}, false
	}
	out := *t
	out.ssd = codec.Ceil(now.Add(-after), time.Millisecond)
	return out, true
}

// Reaches returns the earliest timestamp of the cells that a filter inspects the values of, in
// microseconds; false if it inspects cells of any age.
func Reaches(f Filter) (since int64, bounded bool) {
	switch f := f.(type) {
	case Cells:
		for i, w := range f.Windows {
			if i == 0 || w.From < since {
				since = w.From
			}
		}
		return since, since > 0
	case Chain:
		for _, f := range f {
			if of, ok := Reaches(f); ok {
				since, bounded = max(since, of), true
			}
		}
		return since, bounded
	case Interleave:
		return reachesAll(f)
	case Condition:
		return reachesAll(slices.DeleteFunc([]Filter{f.If, f.Then, f.Else}, func(f Filter) bool { return f == nil }))
	}
	return 0, false
}

// reachesAll is Reaches for several filters, all of which are applied to the same rows.
func reachesAll(filters []Filter) (since int64, bounded bool) {
	for i, f := range filters {
		of, ok := Reaches(f)
		if !ok {
			return 0, false
		}
		if i == 0 || of < since {
			since = of
		}
	}
	return since, len(filters) > 0
}
