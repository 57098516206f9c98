package sample

import (
	"cmp"
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Row is a row of a table with example events.
type Row struct {
	Key   string
	Parts []KeyPart
	Cells []Cell
}

// Cell is a cell as the generated writer stores it.
type Cell struct {
	Event     int // index of its event; -1 for a cell of a rollup
	Column    int // index into Table.Columns; -1 for a cell of a rollup
	Family    int // index into Table.AllFamilies
	Qualifier string
	Micros    int64 // timestamp in microseconds
	Value     []byte
}

// Rows returns the rows in which events are stored, in key order, and their cells by
// family and column, newest first. Columns are in the order of the schema or, if they
// are named after data, sorted by name.
func Rows(l *layout.Layout, t *layout.Table, events []Event) []Row {
	var rows []Row
	known := map[string]int{}
	for n := range events {
		for _, row := range store(l, t, n, &events[n]) {
			i, is := known[row.Key]
			if !is {
				known[row.Key] = len(rows)
				rows = append(rows, row)
				continue
			}
			rows[i].Cells = append(rows[i].Cells, row.Cells...)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Key, b.Key) })
	for i := range rows {
		rows[i].Cells = sorted(t, rows[i].Cells)
	}
	return rows
}

// sorted sorts the cells of a row. Of several in the same place, it keeps the last.
func sorted(t *layout.Table, cells []Cell) []Cell {
	named := t.Pattern.Naming() == codec.NamedByField
	slices.Reverse(cells)
	slices.SortStableFunc(cells, func(a, b Cell) int {
		byName := cmp.Compare(a.Qualifier, b.Qualifier)
		if named {
			byName = cmp.Compare(a.Column, b.Column)
		}
		return cmp.Or(cmp.Compare(a.Family, b.Family), byName, cmp.Compare(b.Micros, a.Micros))
	})
	return slices.CompactFunc(cells, func(a, b Cell) bool {
		return a.Family == b.Family && a.Qualifier == b.Qualifier && a.Micros == b.Micros
	})
}

// store encodes an event like the generated writer.
func store(l *layout.Layout, t *layout.Table, n int, e *Event) []Row {
	if !t.Metrics() {
		row := rowOf(l, t, e, "")
		for i := range t.Columns {
			put(l, t, &row, n, e, i)
		}
		return []Row{row}
	}
	var rows []Row
	for i, c := range t.Columns {
		row := rowOf(l, t, e, c.Qualifier)
		if put(l, t, &row, n, e, i); len(row.Cells) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

// rowOf returns the row of an event without cells.
func rowOf(l *layout.Layout, t *layout.Table, e *Event, metric string) Row {
	k := exampleKey(l, t)
	if e.Series != nil {
		k.Series = value.Pointers(l, e.Series, nil)
	}
	k.Metric, k.At, k.Sequence = &metric, &e.Time, &e.Sequence
	key, _ := t.Append(nil, k) // no error: the table can store the event
	return Row{Key: string(key), Parts: keyParts(t, k)}
}

// put adds an event's cell of a column to the row, if it has one.
func put(l *layout.Layout, t *layout.Table, row *Row, n int, e *Event, column int) {
	c := t.Columns[column]
	cell := Cell{Event: n, Column: column, Family: c.Family, Qualifier: c.Qualifier}
	if i := slices.IndexFunc(t.Families, func(f layout.Family) bool { return f.Class == e.Class }); e.Class > 0 && i >= 0 {
		cell.Family = i
	}
	micros, err := t.Families[cell.Family].Life.Micros(e.WrittenAt, e.Time, e.ExpiresAt, e.TTL)
	if err != nil {
		return // expired
	}
	cell.Micros = micros
	switch {
	case c.Field == layout.WrittenAt:
		if !slices.ContainsFunc(row.Cells, func(other Cell) bool { return other.Family == cell.Family }) {
			return // the family has no other data of the event
		}
		cell.Value = writtenAt(e, c.Values.Text())
	case c.Field == layout.WholeEvent:
		cell.Value = value.NewBlob(l.Fields, t.Blob).Append(nil, e.Values)
	case e.Values[c.Field] == nil:
		return
	default:
		cell.Value = value.Append(nil, &l.Fields[c.Field], c.Values, e.Values[c.Field])
	}
	switch {
	case t.Pattern.Naming() == codec.NamedByValue:
		cell.Qualifier, cell.Value = string(cell.Value), nil
	case t.Pattern.Naming() == codec.NamedByTime:
		cell.Qualifier = string(t.Offset(l).Append(nil, e.Time, e.Sequence))
	}
	row.Cells = append(row.Cells, cell)
}

// writtenAt returns the cell value of the write time.
func writtenAt(e *Event, text bool) []byte {
	if text {
		return codec.Text.Timestamp.Append(nil, e.WrittenAt)
	}
	return codec.Binary.Timestamp.Append(nil, e.WrittenAt)
}

// Readable reports whether the data of a column is text.
func Readable(l *layout.Layout, t *layout.Table, column int) bool {
	c := t.Columns[column]
	switch {
	case c.Values.Text():
		return true
	case c.Field == layout.WholeEvent:
		return t.Blob == layout.JSONText
	case c.Field < 0:
		return false
	}
	return l.Fields[c.Field].Type == schema.String || l.Fields[c.Field].Type == schema.JSON
}
