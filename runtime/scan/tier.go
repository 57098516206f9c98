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
