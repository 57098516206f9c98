package infer

import (
	"slices"

	"cloud.google.com/go/bigtable"
)

// writeGranularity says what the granularity MICROS of the table means for the schema: its precision cannot say it.
func (d *draft) writeGranularity(w *writer) {
	switch table := d.key.table; {
	case !table.Micros && !slices.ContainsFunc(table.Rows, inMicros):
	case d.pattern.EventTimed():
		w.note("    ", "The table has the granularity MICROS: timestamps are in microseconds. Reads are exact, but writers store whole milliseconds, "+
			"and replace other events of theirs: do not write to this table with the schema.")
	default:
		w.note("    ", "The table has the granularity MICROS: timestamps are in microseconds. Writers store whole milliseconds.")
	}
}

// inMicros reports whether a row has timestamps that are not whole milliseconds.
func inMicros(row bigtable.Row) bool {
	for _, items := range row {
		if slices.ContainsFunc(items, func(i bigtable.ReadItem) bool { return i.Timestamp%1000 != 0 }) {
			return true
		}
	}
	return false
}
