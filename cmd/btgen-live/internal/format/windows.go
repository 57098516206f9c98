package format

import (
	"iter"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Statistic is a statistic of a field of a schema.
type Statistic struct {
	Field int // index in Layout.Fields
	dynamic.Statistic
}

// WindowOptions say what [Windows] shows.
type WindowOptions struct {
	By         []int // indexes of the series values in Layout.Series
	Filled     bool  // whether windows are filled
	Statistics []Statistic
	Zone       *time.Location // of times
	Micros     bool           // windows begin and end at whole microseconds
}

// Windows shows windows as events whose fields are the start and the end, the numbers of events, and
// statistics named field_statistic.
type Windows struct {
	layout  *layout.Layout
	options WindowOptions
	columns []Column
	row     dynamic.Event
}

// NewWindows returns a Windows for a schema.
func NewWindows(l *layout.Layout, o WindowOptions) *Windows {
	w := &Windows{layout: l, options: o}
	for _, i := range o.By {
		w.columns = append(w.columns, seriesColumn(l.Series[i], i))
	}
	w.add(layout.Field{Name: "start", Type: schema.Timestamp, Optional: !o.Micros}, o.Micros)
	w.add(layout.Field{Name: "end", Type: schema.Timestamp, Optional: !o.Micros}, o.Micros)
	w.add(layout.Field{Name: "events", Type: schema.Int64}, false)
	w.add(layout.Field{Name: "undecodable", Type: schema.Int64}, false)
	if len(l.Rollups()) > 0 {
		w.add(layout.Field{Name: "inexact", Type: schema.Bool}, false)
	}
	if o.Filled {
		w.add(layout.Field{Name: "filled", Type: schema.Bool}, false)
	}
	for _, s := range o.Statistics {
		f := &l.Fields[s.Field]
		t, _ := s.Type(f)
		of := layout.Field{Name: f.Name + "_" + s.String(), Type: t, Enum: f.Enum, Optional: s.Statistic != dynamic.Count}
		w.add(of, ofTime(s) && l.Precision%time.Microsecond == 0)
	}
	return w
}

// add adds a column, whose name it changes if another column has it.
func (w *Windows) add(f layout.Field, micros bool) {
	for slices.ContainsFunc(w.columns, func(other Column) bool { return other.Name == f.Name }) {
		f.Name = "window_" + f.Name
	}
	c := fieldColumn(f, len(w.columns)-len(w.options.By))
	c.micros = micros
	w.columns = append(w.columns, c)
}

// Columns returns the columns of windows.
func (w *Windows) Columns() []Column { return w.columns }

// Rows yields windows as events, each of which is valid until the next one.
func (w *Windows) Rows(windows iter.Seq2[dynamic.Window, error]) iter.Seq2[*dynamic.Event, error] {
	return func(yield func(*dynamic.Event, error) bool) {
		for of, err := range windows {
			if !yield(w.Row(&of), err) {
				return
			}
		}
	}
}

// Row returns a window as an event, which is valid until the next call. The window of all times has no
// start or no end.
func (w *Windows) Row(of *dynamic.Window) *dynamic.Event {
	values := append(w.row.Values[:0], w.at(of.Start), w.at(of.End), of.Events, of.Undecodable)
	if len(w.layout.Rollups()) > 0 {
		values = append(values, of.Inexact)
	}
	if w.options.Filled {
		values = append(values, of.Filled)
	}
	for _, s := range w.options.Statistics {
		v := s.Of(of, &w.layout.Fields[s.Field], s.Field)
		if ofTime(s) {
			at, _ := v.(time.Time)
			v = w.at(at)
		}
		values = append(values, v)
	}
	w.row.Series, w.row.Values = of.Series, values
	return &w.row
}

// ofTime reports whether a statistic is the time of an event.
func ofTime(s Statistic) bool {
	return s.Statistic == dynamic.FirstTime || s.Statistic == dynamic.LastTime
}

// at returns a time in the time zone; nil for none.
func (w *Windows) at(t time.Time) any {
	if t.IsZero() || t.Equal(scan.MaxTime) {
		return nil
	}
	return t.In(w.options.Zone)
}
