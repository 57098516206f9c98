package scan

import (
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// # Milliseconds that a time range cuts
//
// Tables of other programs may have timestamps in microseconds, and reads do not know whether a
// table has. Requests, however, can select only whole milliseconds; see [codec.Retention.Windows].
// If only timestamps tell the times of events, a request therefore also returns the cells in the rest of
// the first and of the last millisecond of its range, and whoever reads them selects by time. What
// follows for plans is all in this file: a filter that leaves out cells in favor of others would
// prefer those that are not in the range, and a row may have no other cells than these.

// cuts reports whether the range [from, to) begins or ends within a millisecond, of whose cells only
// the reader can tell which are in the range.
func (t *Table) cuts(from, to time.Time) bool {
	within := func(at time.Time) bool { return !codec.Truncate(at, time.Millisecond).Equal(at) }
	return t.Pattern.EventTimed() && (within(from) || within(to))
}

// limited restricts the cells of f, whose timestamps are those of events in [from, to), to those that a limit leaves
// of the whole milliseconds of the range, and all in the others.
func (t *Table) limited(f Filter, from, to time.Time, limit Filter) Filter {
	if !t.cuts(from, to) {
		return chain(f, limit)
	}
	whole := codec.Window{From: max(0, codec.CeilMicros(from)), To: codec.Micros(to)}
	if whole.From >= whole.To {
		return f
	}
	families := t.ofEvents().Families
	stamped := func(window codec.Window) Filter { return Cells{Families: families, Windows: []codec.Window{window}} }
	branches := []Filter{chain(stamped(whole), limit), stamped(codec.Window{From: whole.To})}
	if whole.From > 0 {
		branches = append(branches, stamped(codec.Window{To: whole.From}))
	}
	return chain(f, interleave(branches))
}

// KeysOnly restricts f to one cell per row, without its value.
func KeysOnly(f Filter) Filter { return chain(f, CellsPerRow(1), StripValues{}) }

// RowsOnly restricts a filter of the part like [KeysOnly] if any cell of a row says that it has events of
// the part, and otherwise to the cells without values by which a reader can tell.
func (p *Part) RowsOnly(f Filter) Filter {
	switch t := p.table; {
	case !t.cuts(p.From, p.To):
		return KeysOnly(f)
	case p.read.Runs != NoRuns: // cells of a rollup are timed by the ends of buckets
		return chain(f, StripValues{})
	default:
		return chain(t.limited(f, p.From, p.To, CellsPerRow(1)), StripValues{})
	}
}
