package store

import (
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// No event of a row is deleted if that would delete others, which are in the same cell.
func (pointRows) erase(e *erasing, start time.Time, row wire.Row) (events int, err error) {
	whole := e.whole(start)
	includes := func(micros int64) bool { return whole || e.includes(codec.FromMicros(micros), 0) }
	var columns []erasedColumn
	var shared *SharedCellError
	e.points.of(e.a, start, row, func(family int, column []byte, points []codec.Point, bad error) bool {
		n := 0
		for _, p := range points {
			if includes(p.Micros) {
				n++
			}
		}
		switch {
		case bad != nil:
			err = e.skip(e.a.fail(e.key, string(column), time.Time{}, bad))
		case n == len(points) && (n > 0 || whole):
			columns = append(columns, erasedColumn{family, string(column)})
		case n > 0 && shared == nil:
			shared = &SharedCellError{Table: e.rows.id, Row: e.key, Column: string(column)}
		}
		return err == nil
	})
	if err != nil {
		return 0, err
	}
	for _, p := range e.points.stored {
		if includes(p.Micros) {
			events++
		}
	}
	switch {
	case shared != nil:
		shared.Events = events
		e.unfinished(shared)
		return 0, nil
	case whole && !e.points.others:
		return events, e.eraseFamilies(row)
	}
	for _, c := range columns {
		name := e.a.families[c.family].Name
		if err := e.mutate(1, len(name)+len(c.qualifier), func(m *bigtable.Mutation) { m.DeleteCellsInColumn(name, c.qualifier) }); err != nil {
			return events, err
		}
	}
	return events, nil
}
