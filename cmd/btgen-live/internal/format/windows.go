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
	options WindowOptions
	columns []Column
	values  []func(of *dynamic.Window) any // of the columns after the series values
	row     dynamic.Event
}

// NewWindows returns a Windows for a schema.
func NewWindows(l *layout.Layout, o WindowOptions) *Windows {
	w := &Windows{options: o}
	for _, i := range o.By {
		w.columns = append(w.columns, seriesColumn(l.Series[i], i))
	}
	begins := layout.Field{Name: "start", Type: schema.Timestamp, Options: schema.Options{Optional: !o.Micros}}
	ends := layout.Field{Name: "end", Type: schema.Timestamp, Options: schema.Options{Optional: !o.Micros}}
	w.add(begins, o.Micros, func(of *dynamic.Window) any { return w.at(of.Start) })
	w.add(ends, o.Micros, func(of *dynamic.Window) any { return w.at(of.End) })
	w.add(layout.Field{Name: "events", Type: schema.Int64}, false, func(of *dynamic.Window) any { return of.Events })
	w.add(layout.Field{Name: "undecodable", Type: schema.Int64}, false, func(of *dynamic.Window) any { return of.Undecodable })
	if len(l.Rollups()) > 0 {
		w.add(layout.Field{Name: "inexact", Type: schema.Bool}, false, func(of *dynamic.Window) any { return of.Inexact })
	}
	if o.Filled {
		w.add(layout.Field{Name: "filled", Type: schema.Bool}, false, func(of *dynamic.Window) any { return of.Filled })
	}
	for _, s := range o.Statistics {
		w.addStatistic(l, s)
	}
	return w
}

// addStatistic adds the column of a statistic.
func (w *Windows) addStatistic(l *layout.Layout, s Statistic) {
	f := &l.Fields[s.Field]
	t, _ := s.Type(f)
	ofTime := s.Statistic == dynamic.FirstTime || s.Statistic == dynamic.LastTime
	column := layout.Field{Name: f.Name + "_" + s.String(), Type: t, Enum: f.Enum}
	column.Optional = s.Statistic != dynamic.Count
	w.add(column, ofTime && l.Precision%time.Microsecond == 0, func(of *dynamic.Window) any {
		v := s.Of(of, f, s.Field)
		if at, _ := v.(time.Time); ofTime {
			return w.at(at)
		}
		return v
	})
}

// add adds a column, whose name it changes if another column has it.
func (w *Windows) add(f layout.Field, micros bool, value func(of *dynamic.Window) any) {
	for slices.ContainsFunc(w.columns, func(other Column) bool { return other.Name == f.Name }) {
		f.Name = "window_" + f.Name
	}
	c := fieldColumn(f, len(w.values))
	c.micros = micros
	w.columns, w.values = append(w.columns, c), append(w.values, value)
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
	w.row.Series, w.row.Values = of.Series, w.row.Values[:0]
	for _, value := range w.values {
		w.row.Values = append(w.row.Values, value(of))
	}
	return &w.row
}

// at returns a time in the time zone; nil for none.
func (w *Windows) at(t time.Time) any {
	if t.IsZero() || t.Equal(scan.MaxTime) {
		return nil
	}
	return t.In(w.options.Zone)
}
