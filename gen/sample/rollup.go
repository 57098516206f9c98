package sample

import (
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/window"
)

// exampleID is the random number in the names of example cells of a rollup.
const exampleID = 0x0123456789abcdef

// Mark returns the cell by which a writer of an event marks its row, in a table with a rollup.
func Mark(t *layout.Table, at time.Time) Cell {
	return rollupCell(t, at, rollup.Mark(exampleID), nil)
}

// Run returns the cell with the windows of all events of a bucket, in order of time, after it has been summarized once.
func Run(l *layout.Layout, t *layout.Table, events []Event) Cell {
	var times []time.Time
	values := make([][]any, len(l.Fields))
	for i := range events {
		times = append(times, events[i].Time)
		for field, v := range events[i].Values {
			values[field] = append(values[field], v)
		}
	}
	slices := window.Slices{nil, &times}
	for field := range values {
		slices = append(slices, &values[field])
	}
	spec := value.Windows(l, 2)
	if t.Rollup.Fields != nil {
		spec = spec.Of(t.Rollup.Fields)
	}
	at := events[0].Time
	run := window.Run{Start: t.Bucket.Start(at), Every: t.Rollup.Every}
	one := window.Options{ID: func(dst []byte, _ any) []byte { return dst }, Clone: func(series any) any { return series }}
	fold, err := spec.Start(window.Every(run.Every), run.Start, t.Bucket.End(at), one, func(w *window.Summary) bool {
		run.Windows = append(run.Windows, spec.Clone(w))
		return true
	})
	if err == nil {
		if _, err = fold.Add(new([]any), slices); err == nil {
			fold.End()
		}
	}
	encoded, _ := spec.AppendRun(nil, &run) // no error: a rollup can store fields of all types
	return rollupCell(t, at, rollup.RunName(1, exampleID), encoded)
}

// rollupCell returns a cell of the rollup in the row of the bucket of a time.
func rollupCell(t *layout.Table, at time.Time, name string, value []byte) Cell {
	return Cell{Event: -1, Column: -1, Family: len(t.Families), Qualifier: name, Micros: codec.Micros(t.Bucket.End(at)), Value: value}
}
