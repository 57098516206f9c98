package store

import (
	"errors"
	"testing"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/internal/frame"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// pair is an event of two fields in one column. The second may be absent.
type pair struct{ First, Second byte }

// pairs is the columnar form of pair.
type pairs struct{ First, Second []byte }

// TestEventsInOneColumn decodes many events into slices. None may have a field of the
// previous one, or allocate.
func TestEventsInOneColumn(t *testing.T) {
	parse := func(e *pair, blob []byte) error {
		switch len(blob) {
		case 0:
			return errors.New("empty")
		case 2:
			e.Second = blob[1]
		}
		e.First = blob[0]
		return nil
	}
	serialize := func(dst []byte, e *pair) []byte { return append(dst, e.First, e.Second) }
	part := EventColumn("blob", serialize, parse,
		FieldPart[byte](0), FieldPart[byte](1))
	columns := columnsByName[pair, pairs](part)

	sink := new(wire.Sink)
	var items []bigtable.ReadItem
	for i := range 1000 {
		items = append(items, bigtable.ReadItem{Row: "r", Column: "f:blob", Value: []byte{byte(i), byte(i)}[:2-i%2]})
	}
	rows, err := sink.Rows(bigtable.Row{"f": items})
	must(t, err)
	row := rows.At(0)
	column := &frame.FrameColumn{Row: row, Cells: row.Cells(&row.Columns()[0])}
	data := eventData{frame: &frame.Frame{}, column: column, end: len(column.Cells)}
	var got pairs
	slices := columns.columns.slices(&got)
	allocations := testing.AllocsPerRun(10, func() {
		got = pairs{got.First[:0], got.Second[:0]}
		must(t, columns.columns.parts[0].decode(slices, data))
	})
	if allocations > 10 {
		t.Errorf("%.0f allocations for %d events", allocations, data.Len())
	}
	for i := range 1000 {
		want := pair{byte(i), byte(i)}
		if i%2 == 1 {
			want.Second = 0
		}
		if got.First[i] != want.First || got.Second[i] != want.Second {
			t.Fatalf("event %d: %d and %d, want %v", i, got.First[i], got.Second[i], want)
		}
	}
	column.Cells = append([]wire.Cell(nil), column.Cells...)
	column.Cells[500].Value = wire.Text{}
	if err := columns.columns.parts[0].decode(slices, data); err == nil {
		t.Error("an empty message was taken")
	}
}
