package layout

import (
	"cmp"
	"slices"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// ExampleRow is a row of a table with example events in it.
type ExampleRow struct {
	Key   string
	Parts []KeyPart
	Cells []ExampleCell
}

// ExampleCell is a cell as the generated writer stores it.
type ExampleCell struct {
	Event     int // the index of the event that it is of
	Column    int // index into Table.Columns
	Family    int // index into Table.Families
	Qualifier string
	Micros    int64 // the timestamp
	Value     []byte
}

// ExampleRows returns the rows that events are stored in, in the order of their
// keys: of each the cells by family, by column, the newest first. Columns are in
// the order of the schema or, where they are named by data, in that of their names.
func (t *Table) ExampleRows(l *Layout, events []ExampleEvent) []ExampleRow {
	var rows []ExampleRow
	for n := range events {
		for _, row := range t.store(l, n, &events[n]) {
			i := slices.IndexFunc(rows, func(r ExampleRow) bool { return r.Key == row.Key })
			if i < 0 {
				rows = append(rows, row)
				continue
			}
			rows[i].Cells = append(rows[i].Cells, row.Cells...)
		}
	}
	slices.SortFunc(rows, func(a, b ExampleRow) int { return cmp.Compare(a.Key, b.Key) })
	for i := range rows {
		rows[i].Cells = t.sorted(rows[i].Cells)
	}
	return rows
}

// sorted sorts the cells of a row. Of two in one place the later one stays.
func (t *Table) sorted(cells []ExampleCell) []ExampleCell {
	named := !t.Metrics() && t.Pattern != BucketOffsets
	slices.Reverse(cells)
	slices.SortStableFunc(cells, func(a, b ExampleCell) int {
		byName := cmp.Compare(a.Qualifier, b.Qualifier)
		if named {
			byName = cmp.Compare(a.Column, b.Column)
		}
		return cmp.Or(cmp.Compare(a.Family, b.Family), byName, cmp.Compare(b.Micros, a.Micros))
	})
	return slices.CompactFunc(cells, func(a, b ExampleCell) bool {
		return a.Family == b.Family && a.Qualifier == b.Qualifier && a.Micros == b.Micros
	})
}

// store lays out an event as the generated writer does.
func (t *Table) store(l *Layout, n int, e *ExampleEvent) []ExampleRow {
	if !t.Metrics() {
		row := t.exampleRow(l, e, "")
		for i := range t.Columns {
			t.put(l, &row, n, e, i)
		}
		return []ExampleRow{row}
	}
	var rows []ExampleRow
	for i, c := range t.Columns {
		row := t.exampleRow(l, e, c.Qualifier)
		if t.put(l, &row, n, e, i); len(row.Cells) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// exampleRow returns the row of an event, still without its cells.
func (t *Table) exampleRow(l *Layout, e *ExampleEvent, metric string) ExampleRow {
	k := exampleKey{salt: ownSalt, metric: metric, at: e.Time, sequence: e.Sequence}
	key, _ := t.writeKey(l, k) // the table holds the event
	return ExampleRow{Key: string(key), Parts: t.keyParts(l, k)}
}

// put adds the cell of a column to the row of an event, if it has one.
func (t *Table) put(l *Layout, row *ExampleRow, n int, e *ExampleEvent, column int) {
	c := t.Columns[column]
	cell := ExampleCell{Event: n, Column: column, Family: c.Family, Qualifier: c.Qualifier}
	if e.Class > 0 && t.hasClasses() {
		cell.Family = e.Class - 1
	}
	micros, err := t.Families[cell.Family].Life.Micros(e.WrittenAt, e.Time, e.ExpiresAt, e.TTL)
	if err != nil {
		return // past its time
	}
	cell.Micros = micros
	switch {
	case c.Field == WrittenAt:
		if !slices.ContainsFunc(row.Cells, func(other ExampleCell) bool { return other.Family == cell.Family }) {
			return // nothing of the event is in the family
		}
		cell.Value = writtenAt(e, c.Text)
	case c.Field == WholeEvent:
		cell.Value = l.blobOf(t.Blob, e.Values)
	case e.Values[c.Field] == nil:
		return
	default:
		cell.Value = l.Fields[c.Field].encode(c.Text, e.Values[c.Field])
	}
	switch {
	case t.Metrics():
		cell.Qualifier, cell.Value = string(cell.Value), nil
	case t.Pattern == BucketOffsets:
		cell.Qualifier = string(t.Offset(l).Append(nil, e.Time, e.Sequence))
	}
	row.Cells = append(row.Cells, cell)
}

// writtenAt returns the true write time of an event as its column holds it.
func writtenAt(e *ExampleEvent, text bool) []byte {
	if text {
		return codec.AppendTextTimestamp(nil, e.WrittenAt)
	}
	return codec.AppendBinaryTimestamp(nil, e.WrittenAt)
}

// Readable reports whether what a column holds is text.
func (t *Table) Readable(l *Layout, column int) bool {
	c := t.Columns[column]
	switch {
	case c.Text:
		return true
	case c.Field == WholeEvent:
		return t.Blob == JSONText
	case c.Field < 0:
		return false
	}
	return l.Fields[c.Field].Type == schema.String || l.Fields[c.Field].Type == schema.JSON
}
