package world

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// program writes and reads the events of a schema.
type program interface {
	write(ctx context.Context, e dynamic.Event) error
	writeAll(ctx context.Context, events []dynamic.Event, o store.WriteOptions) error
	batch(ctx context.Context, events []dynamic.Event, failed func(e dynamic.Event, err error), o store.BatcherOptions)
	remove(ctx context.Context, events []dynamic.Event, o store.DeleteOptions) (store.Deletion, error)
	removeRange(ctx context.Context, s *selection, from, to time.Time, o store.DeleteOptions) (store.Deletion, error)
	removeAll(ctx context.Context, s *selection, o store.DeleteOptions) (store.Deletion, error)
	replace(ctx context.Context, old, updated dynamic.Event) error

	read(ctx context.Context, s *selection, from, to time.Time, o store.ReadOptions) iter.Seq2[dynamic.Event, error]
	columns(ctx context.Context, s *selection, from, to time.Time, o store.ReadOptions) ([]dynamic.Event, error)
	series(ctx context.Context, s *selection, from, to time.Time, o store.SeriesOptions) iter.Seq2[[]any, error]
	windows(ctx context.Context, s *selection, from, to time.Time, width window.Width, o store.WindowOptions) iter.Seq2[summary, error]
	latest(ctx context.Context, series []any) (dynamic.Event, error)
	latestMany(ctx context.Context, series [][]any) iter.Seq2[dynamic.Event, error]
}

// summary is a window.
type summary struct {
	window.Window
	series []any
	of     func(s dynamic.Statistic, field int) any
}

// interpreter is a program without generated code.
type interpreter struct {
	*dynamic.Schema
	*dynamic.Writer
	reader *dynamic.Reader
}

func (p *interpreter) write(ctx context.Context, e dynamic.Event) error { return p.Write(ctx, e) }

func (p *interpreter) writeAll(ctx context.Context, events []dynamic.Event, o store.WriteOptions) error {
	return p.WriteAll(ctx, events, o)
}

func (p *interpreter) batch(ctx context.Context, events []dynamic.Event, failed func(e dynamic.Event, err error), o store.BatcherOptions) {
	b := store.NewBatcher(p.Writer.Writer, store.FailedOf(failed), o)
	for _, e := range events {
		if err := b.Add(ctx, &e); err != nil {
			failed(e, err)
		}
	}
	_ = b.Close(ctx)                        // failed has its failures
	_ = b.Close(context.WithoutCancel(ctx)) // batches in flight when a call ends would arrive during the next ones
}

func (p *interpreter) remove(ctx context.Context, events []dynamic.Event, o store.DeleteOptions) (store.Deletion, error) {
	return p.Writer.Delete(ctx, events, o)
}

func (p *interpreter) removeRange(ctx context.Context, s *selection, from, to time.Time, o store.DeleteOptions) (store.Deletion, error) {
	return p.Schema.Delete(ctx, p.Writer, s.of, from, to, o)
}

func (p *interpreter) removeAll(ctx context.Context, s *selection, o store.DeleteOptions) (store.Deletion, error) {
	return p.Schema.DeleteAll(ctx, p.Writer, s.of, o)
}

func (p *interpreter) replace(ctx context.Context, old, updated dynamic.Event) error {
	return p.Replace(ctx, old, updated)
}

func (p *interpreter) read(ctx context.Context, s *selection, from, to time.Time, o store.ReadOptions) iter.Seq2[dynamic.Event, error] {
	return p.reader.Read(ctx, s.of, from, to, o)
}

func (p *interpreter) columns(ctx context.Context, s *selection, from, to time.Time, o store.ReadOptions) ([]dynamic.Event, error) {
	var columns dynamic.Columns
	err := p.reader.ReadColumns(ctx, s.of, from, to, &columns, o)
	return columns.Events(), err
}

func (p *interpreter) series(ctx context.Context, s *selection, from, to time.Time, o store.SeriesOptions) iter.Seq2[[]any, error] {
	return p.reader.ReadSeries(ctx, s.of, from, to, o)
}

func (p *interpreter) windows(ctx context.Context, s *selection, from, to time.Time, width window.Width, o store.WindowOptions) iter.Seq2[summary, error] {
	return func(yield func(summary, error) bool) {
		for w, err := range p.reader.Windows(ctx, s.of, from, to, width, o) {
			if err == nil {
				err = p.moved(&w)
			}
			if !yield(summary{w.Window, w.Series, func(s dynamic.Statistic, i int) any { return s.Of(&w, &p.Layout().Fields[i], i) }}, err) {
				return
			}
		}
	}
}

// moved moves the statistics of numbers in a window to another process.
func (p *interpreter) moved(w *dynamic.Window) error {
	of := dynamic.Window{Series: w.Series, Fields: slices.Clone(w.Fields)}
	var numbers []string
	for i := range of.Fields {
		if f := &p.Layout().Fields[i]; of.Fields[i] != nil {
			if _, ok := dynamic.Mean.Type(f); ok {
				numbers, of.Fields[i] = append(numbers, p.Layout().FieldName(f)), nil
			}
		}
	}
	spec := value.Windows(p.Layout(), 0)
	some := spec.Of(numbers)
	encoded := some.Append(nil, spec.Refer(w))
	if err := some.Parse(spec.Refer(&of), encoded); err != nil {
		return err
	}
	of.Start, of.End = of.Start.In(w.Start.Location()), of.End.In(w.End.Location())
	*w = of
	return nil
}

func (p *interpreter) latest(ctx context.Context, series []any) (dynamic.Event, error) {
	return p.reader.Latest(ctx, series)
}

func (p *interpreter) latestMany(ctx context.Context, series [][]any) iter.Seq2[dynamic.Event, error] {
	return p.reader.LatestMany(ctx, series)
}

// Code is the code that was generated for a schema: the functions of its package.
type Code struct {
	NewWriter, NewReader, NewBatcher any
	Windows                          any   // a pointer to columns of windows, which are compared with all windows; may be nil
	ParseKeys                        []any // the functions that parse row keys
}

// compiled is a program with generated code. What that has no method for, it does without.
type compiled struct {
	interpreter
	writer, from reflect.Value // writer and reader
	newBatcher   reflect.Value
	columnar     any // see Code.Windows
}

// program returns a program with the code.
func (c *Code) program(p interpreter, client store.Client, w store.WriterOptions, r store.ReaderOptions) *compiled {
	of := func(f, options any) reflect.Value {
		return reflect.ValueOf(f).Call([]reflect.Value{reflect.ValueOf(client), reflect.ValueOf(options)})[0]
	}
	return &compiled{p, of(c.NewWriter, w), of(c.NewReader, r), reflect.ValueOf(c.NewBatcher), c.Windows}
}

// call calls a method. It reports whether there is one.
func call(of reflect.Value, name string, args ...any) ([]reflect.Value, bool) {
	m := of.MethodByName(name)
	if !m.IsValid() {
		return nil, false
	}
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		if v, ok := a.(reflect.Value); ok {
			in[i] = v
		} else {
			in[i] = reflect.ValueOf(a)
		}
	}
	return m.Call(in), true
}

// errorOf returns an error.
func errorOf(v reflect.Value) error {
	err, _ := v.Interface().(error)
	return err
}

// deletionOf returns what a deletion returns.
func deletionOf(out []reflect.Value) (store.Deletion, error) {
	return out[0].Interface().(store.Deletion), errorOf(out[1])
}

// event and events convert events.
func (p *compiled) event(e *dynamic.Event) reflect.Value {
	to := reflect.New(p.writer.MethodByName("Write").Type().In(1)).Elem()
	dynamictest.SetEvent(p.Layout(), to, e)
	return to
}

func (p *compiled) events(all []dynamic.Event) reflect.Value {
	out := reflect.MakeSlice(p.writer.MethodByName("WriteAll").Type().In(1), 0, len(all))
	for i := range all {
		out = reflect.Append(out, p.event(&all[i]))
	}
	return out
}

// seriesOf converts a series.
func (p *compiled) seriesOf(series []any) reflect.Value {
	to := reflect.New(p.from.MethodByName("Read").Type().In(1)).Elem()
	dynamictest.SetSeries(p.Layout(), to, series)
	return to
}

func (p *compiled) manySeries(series [][]any) reflect.Value {
	out := reflect.MakeSlice(p.from.MethodByName("ReadMany").Type().In(1), 0, len(series))
	for _, s := range series {
		out = reflect.Append(out, p.seriesOf(s))
	}
	return out
}

// on calls a method for a selection, whose name is given for a single series and for a query; of a query, %s is
// the name.
func (p *compiled) on(of reflect.Value, s *selection, single, before, after string, ctx context.Context, args ...any) ([]reflect.Value, bool) {
	switch {
	case s.query == nil && len(s.series) == 1:
		return call(of, single, append([]any{ctx, p.seriesOf(s.series[0])}, args...)...)
	case s.query == nil && single == "Read":
		return call(of, "ReadMany", append([]any{ctx, p.manySeries(s.series)}, args...)...)
	case s.query == nil:
		return nil, false
	}
	name := before + s.query.Name + after
	m := of.MethodByName(name)
	if !m.IsValid() {
		return nil, false
	}
	in := []any{ctx}
	for i := range s.query.Inputs {
		in = append(in, p.given(m.Type(), len(in), &s.query.Inputs[i], s.values[i])...)
	}
	return call(of, name, append(in, args...)...)
}

// given converts what a query takes, given the number of its parameter.
func (p *compiled) given(method reflect.Type, n int, in *layout.Input, v any) []any {
	f := in.Of(p.Layout())
	one := func(t reflect.Type, v any) reflect.Value {
		to := reflect.New(t).Elem()
		if in.Form == codec.GivenRange && t.Kind() == reflect.Array {
			for i, end := range v.([]any) {
				dynamictest.SetValue(f, to.Index(i), end)
			}
		} else {
			dynamictest.SetValue(f, to, v)
		}
		return to
	}
	t := method.In(n)
	switch {
	case in.Many:
		out := reflect.MakeSlice(t, 0, 0)
		for _, each := range v.([]any) {
			out = reflect.Append(out, one(t.Elem(), each))
		}
		return []any{out}
	case in.Form == codec.GivenRange:
		ends := v.([]any)
		return []any{one(t, ends[0]), one(t, ends[1])}
	}
	return []any{one(t, v)}
}

func (p *compiled) write(ctx context.Context, e dynamic.Event) error {
	out, _ := call(p.writer, "Write", ctx, p.event(&e))
	return errorOf(out[0])
}

func (p *compiled) writeAll(ctx context.Context, events []dynamic.Event, o store.WriteOptions) error {
	out, _ := call(p.writer, "WriteAll", ctx, p.events(events), o)
	return errorOf(out[0])
}

func (p *compiled) batch(ctx context.Context, events []dynamic.Event, failed func(e dynamic.Event, err error), o store.BatcherOptions) {
	report := reflect.MakeFunc(p.newBatcher.Type().In(1), func(in []reflect.Value) []reflect.Value {
		failed(dynamictest.EventOf(p.Layout(), in[0]), errorOf(in[1]))
		return nil
	})
	b := p.newBatcher.Call([]reflect.Value{p.writer, report, reflect.ValueOf(o)})[0]
	for _, e := range events {
		if out, _ := call(b, "Add", ctx, p.event(&e)); errorOf(out[0]) != nil {
			failed(e, errorOf(out[0]))
		}
	}
	call(b, "Close", ctx)
	call(b, "Close", context.WithoutCancel(ctx))
}

func (p *compiled) remove(ctx context.Context, events []dynamic.Event, o store.DeleteOptions) (store.Deletion, error) {
	out, _ := call(p.writer, "Delete", ctx, p.events(events), o)
	return deletionOf(out)
}

func (p *compiled) removeRange(ctx context.Context, s *selection, from, to time.Time, o store.DeleteOptions) (store.Deletion, error) {
	if out, ok := p.on(p.writer, s, "DeleteRange", "Delete", "", ctx, from, to, o); ok {
		return deletionOf(out)
	}
	return p.interpreter.removeRange(ctx, s, from, to, o)
}

func (p *compiled) removeAll(ctx context.Context, s *selection, o store.DeleteOptions) (store.Deletion, error) {
	if out, ok := p.on(p.writer, s, "DeleteSeries", "DeleteAll", "", ctx, o); ok {
		return deletionOf(out)
	}
	return p.interpreter.removeAll(ctx, s, o)
}

func (p *compiled) replace(ctx context.Context, old, updated dynamic.Event) error {
	out, _ := call(p.writer, "Replace", ctx, p.event(&old), p.event(&updated))
	return errorOf(out[0])
}

// converted yields the values of an iterator of generated code.
func converted[T any](seq reflect.Value, convert func(reflect.Value) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range seq.Seq2() {
			if !yield(convert(v), errorOf(err)) {
				return
			}
		}
	}
}

// eventOf converts an event.
func (p *compiled) eventOf(v reflect.Value) dynamic.Event { return dynamictest.EventOf(p.Layout(), v) }

func (p *compiled) read(ctx context.Context, s *selection, from, to time.Time, o store.ReadOptions) iter.Seq2[dynamic.Event, error] {
	if out, ok := p.on(p.from, s, "Read", "", "", ctx, from, to, o); ok {
		return converted(out[0], p.eventOf)
	}
	return p.interpreter.read(ctx, s, from, to, o)
}

func (p *compiled) columns(ctx context.Context, s *selection, from, to time.Time, o store.ReadOptions) ([]dynamic.Event, error) {
	columns := reflect.New(p.from.MethodByName("ReadColumns").Type().In(4).Elem())
	out, ok := p.on(p.from, s, "ReadColumns", "", "Columns", ctx, from, to, columns, o)
	if !ok {
		return p.interpreter.columns(ctx, s, from, to, o)
	}
	var events []dynamic.Event
	for i := range columns.Elem().FieldByName("Time").Len() {
		e := reflect.New(p.writer.MethodByName("Write").Type().In(1)).Elem()
		for n := range columns.Elem().NumField() {
			e.Field(n).Set(columns.Elem().Field(n).Index(i))
		}
		events = append(events, p.eventOf(e))
	}
	return events, errorOf(out[0])
}

func (p *compiled) series(ctx context.Context, s *selection, from, to time.Time, o store.SeriesOptions) iter.Seq2[[]any, error] {
	if s.query != nil && o.Page == nil {
		if out, ok := p.on(p.from, s, "", "", "Series", ctx, from, to); ok {
			return converted(out[0], func(v reflect.Value) []any { return dynamictest.SeriesOf(p.Layout(), v) })
		}
	}
	return p.interpreter.series(ctx, s, from, to, o)
}

func (p *compiled) windows(ctx context.Context, s *selection, from, to time.Time, width window.Width, o store.WindowOptions) iter.Seq2[summary, error] {
	out, ok := p.on(p.from, s, "Windows", "", "Windows", ctx, from, to, width, o)
	if !ok {
		return p.interpreter.windows(ctx, s, from, to, width, o)
	}
	return func(yield func(summary, error) bool) {
		for v, err := range out[0].Seq2() {
			own := reflect.New(v.Type()).Elem()
			own.Set(v)
			of := func(s dynamic.Statistic, i int) any { return dynamictest.StatisticOf(s, &p.Layout().Fields[i], i, own) }
			w := summary{own.Field(0).Interface().(window.Window), dynamictest.SeriesOf(p.Layout(), own.Field(1)), of}
			if !yield(w, cmp.Or(errorOf(err), p.inColumns(own))) {
				return
			}
		}
	}
}

// inColumns compares a window with what columns of windows have of it.
func (p *compiled) inColumns(w reflect.Value) error {
	if p.columnar == nil {
		return nil
	}
	call(reflect.ValueOf(p.columnar), "Reset")
	call(reflect.ValueOf(p.columnar), "Append", w.Addr())
	columns := reflect.ValueOf(p.columnar).Elem()
	for i := range columns.NumField() {
		of := w.Field(i)
		if i > 0 {
			of = w.Field(i + 1) // after the series
		}
		for _, name := range []string{"Start", "Events", "Count", "First", "Last", "FirstTime", "LastTime", "Min", "Max", "Mean", "Increase", "Rate"} {
			column := columns.Field(i).FieldByName(name)
			if !column.IsValid() {
				continue
			}
			want := of.FieldByName(name)
			if !want.IsValid() {
				out, _ := call(of.Addr(), name)
				want = out[0]
			}
			if got := fmt.Sprint(column.Index(0)); column.Len() != 1 || got != fmt.Sprint(want) {
				return fmt.Errorf("columns of windows have %s of %s = %s, want %v", name, columns.Type().Field(i).Name, got, want)
			}
		}
	}
	return nil
}

func (p *compiled) latest(ctx context.Context, series []any) (dynamic.Event, error) {
	out, _ := call(p.from, "Latest", ctx, p.seriesOf(series))
	return p.eventOf(out[0]), errorOf(out[1])
}

func (p *compiled) latestMany(ctx context.Context, series [][]any) iter.Seq2[dynamic.Event, error] {
	out, _ := call(p.from, "LatestMany", ctx, p.manySeries(series))
	return converted(out[0], p.eventOf)
}

// keys parses the row keys of events with generated code, and other ones that are like them. Each is the key that
// the parsed values have, or refused.
func (p *play) keys() error {
	if p.code == nil || p.code.ParseKeys == nil {
		return nil
	}
	all, err := p.spots(func(t *layout.Table, family string) bool {
		return slices.ContainsFunc(t.Families, func(f layout.Family) bool { return f.Name == family })
	})
	for range min(8, len(all)) {
		row := []byte(anyOf(p, all).row)
		err = errors.Join(err, p.parses(string(row), true))
		for range 4 {
			switch i := p.IntN(len(row)); p.IntN(3) {
			case 0:
				row[i] = anyOf(p, []byte("#0a-\x00\xff"))
			case 1:
				row = slices.Delete(row, i, i+1)
			case 2:
				row = slices.Insert(row, i, row[p.IntN(len(row))])
			}
			if len(row) == 0 {
				break
			}
			err = errors.Join(err, p.parses(string(row), false))
		}
	}
	return err
}

// parses checks the functions that parse row keys with a key, which one of them must parse if it is stored.
func (p *play) parses(row string, stored bool) error {
	for _, parse := range p.code.ParseKeys {
		out := reflect.ValueOf(parse).Call([]reflect.Value{reflect.ValueOf(row)})
		if err := errorOf(out[1]); err != nil {
			if of, ok := errors.AsType[*codec.FieldError](err); !ok || of.Error() == "" {
				return fmt.Errorf("row key %q: %w", row, err)
			}
			continue
		}
		stored = false
		again, _ := call(out[0], "Append", []byte(nil))
		prefix, timed := call(out[0], "Prefix")
		if got := string(again[0].Bytes()); got != row || fmt.Sprint(out[0]) == "" || timed && !strings.HasPrefix(row, string(prefix[0].Bytes())) {
			return fmt.Errorf("row key %q is parsed as %q, and shown as %v", row, got, out[0])
		}
	}
	if stored {
		return fmt.Errorf("row key %q is refused", row)
	}
	return nil
}
