package store

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// points are the data points of a row of OpenTSDB. They are reused by successive rows.
type points struct {
	found   []codec.Point // of one cell
	stored  []storedPoint
	decoded wire.Made // contains their values
	others  bool      // the row has columns without data points that can be decoded
}

// storedPoint is a data point of a cell.
type storedPoint struct {
	codec.Point
	stamp int64 // timestamp of the cell
}

// of finds the data points in the cells of a row, in order of time: of those of one time, the
// one in the newest cell, as in OpenTSDB, and the last one in that cell. It calls cell for
// each column that should have data points, with these or an error. cell reports whether to
// go on.
func (p *points) of(a *rowAssembler, start time.Time, row wire.Row, cell func(family int, column []byte, points []codec.Point, err error) bool) bool {
	in := a.shape.Offset.PointsIn(start)
	p.stored, p.others = p.stored[:0], false
	var before *wire.Column
	for family, c := range a.columnsOf(row) {
		again := before != nil && row.Same(before, c)
		before = c
		column := row.Bytes(c.Qualifier)
		if again {
			continue // an older cell of the same points
		}
		if !in.HasPoints(column) {
			p.others = true
			continue
		}
		newest := &row.Cells(c)[0]
		var err error
		p.found, err = in.Append(p.found[:0], column, row.Bytes(newest.Value))
		p.others = p.others || err != nil
		for _, point := range p.found {
			p.stored = append(p.stored, storedPoint{point, newest.Micros})
		}
		if !cell(family, column, p.found, err) {
			return false
		}
	}
	p.sort()
	return true
}

// sort sorts the data points by time, and keeps one of each time.
func (p *points) sort() {
	byTime := func(a, b storedPoint) int { return cmp.Compare(a.Micros, b.Micros) }
	if !slices.IsSortedFunc(p.stored, byTime) {
		slices.SortStableFunc(p.stored, byTime)
	}
	last := 0
	for i := range p.stored {
		point := &p.stored[i]
		switch kept := &p.stored[last]; {
		case point.Micros != kept.Micros:
			last++
			p.stored[last] = *point
		case point.stamp >= kept.stamp:
			*kept = *point
		}
	}
	p.stored = p.stored[:min(len(p.stored), last+1)]
}

// dataPoints collects the data of a bucket with the columns of OpenTSDB. It yields an error for
// each cell that cannot be split, and for each data point in the range that cannot be decoded.
func (a *rowAssembler) dataPoints(start time.Time, row wire.Row, report func(error) bool) bool {
	p, c := &a.points, &a.groups[0].columns[0]
	c.row = p.decoded.Reset(row.Key())
	more := p.of(a, start, row, func(_ int, column []byte, _ []codec.Point, err error) bool {
		if err == nil {
			return true
		}
		a.strayed = a.fail(row.Key(), string(column), time.Time{}, err)
		return report(a.strayed)
	})
	if !more {
		return false
	}
	for i := range p.stored {
		point := &p.stored[i]
		if point.Err != nil {
			if !a.badPoint(row, point, i == len(p.stored)-1, report) {
				return false
			}
			continue
		}
		var value [8]byte
		binary.BigEndian.PutUint64(value[:], point.Bits)
		c.times = append(c.times, point.Micros)
		c.own = append(c.own, wire.Cell{Micros: point.stamp, Value: p.decoded.Keep(value[:])})
	}
	c.cells = c.own
	return true
}

// badPoint yields the error of a data point that cannot be decoded, if it is in the range or not
// in the hour of its row. newest says that it is the newest of the row.
func (a *rowAssembler) badPoint(row wire.Row, p *storedPoint, newest bool, report func(error) bool) bool {
	at := codec.FromMicros(p.Micros)
	if !a.wanted(at) && !errors.Is(p.Err, codec.ErrTimeRange) {
		return true
	}
	err := a.fail(row.Key(), a.columns[0].Name, at, p.Err)
	if newest {
		a.strayed = err // the newest of the row is not an event
	}
	return report(err)
}

// erasedColumn is a column to delete.
type erasedColumn struct {
	family    int
	qualifier string
}
