package store

import (
	"errors"
	"slices"
	"testing"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// pair is an event of two fields in one column. The second may be absent.
type pair struct{ first, second byte }

// pairs is the columnar form of pair.
type pairs struct{ first, second []byte }

// TestEventsInOneColumn decodes many events into slices. None may have a field of the
// previous one, or allocate.
func TestEventsInOneColumn(t *testing.T) {
	parse := func(e *pair, blob []byte) error {
		switch len(blob) {
		case 0:
			return errors.New("empty")
		case 2:
			e.second = blob[1]
		}
		e.first = blob[0]
		return nil
	}
	serialize := func(dst []byte, e *pair) []byte { return append(dst, e.first, e.second) }
	part := EventColumn("blob", serialize, parse,
		FieldPart(func(e *pair) *byte { return &e.first }, func(c *pairs) *[]byte { return &c.first }),
		FieldPart(func(e *pair) *byte { return &e.second }, func(c *pairs) *[]byte { return &c.second }))

	sink := new(wire.Sink)
	var items []bigtable.ReadItem
	for i := range 1000 {
		items = append(items, bigtable.ReadItem{Row: "r", Column: "f:blob", Value: []byte{byte(i), byte(i)}[:2-i%2]})
	}
	rows, err := sink.Rows(bigtable.Row{"f": items})
	must(t, err)
	row := rows.At(0)
	column := &frameColumn{row: row, cells: row.Cells(&row.Columns()[0])}
	data := eventData{frame: &frame{}, column: column, end: len(column.cells)}
	var got pairs
	allocations := testing.AllocsPerRun(10, func() {
		got = pairs{got.first[:0], got.second[:0]}
		must(t, part.decode(&got, data))
	})
	if allocations > 10 {
		t.Errorf("%.0f allocations for %d events", allocations, data.Len())
	}
	for i := range 1000 {
		want := pair{byte(i), byte(i)}
		if i%2 == 1 {
			want.second = 0
		}
		if got.first[i] != want.first || got.second[i] != want.second {
			t.Fatalf("event %d: %d and %d, want %v", i, got.first[i], got.second[i], want)
		}
	}
	column.cells = slices.Clone(column.cells)
	column.cells[500].Value = wire.Text{}
	if err := part.decode(&got, data); err == nil {
		t.Error("an empty message was taken")
	}
}
