package beamstore

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/coder"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/graph/mtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/reflectx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

var (
	seriesRead  = beam.NewCounter("btgen", "series_read")
	windowsRead = beam.NewCounter("btgen", "windows_read")
)

// WindowOptions specify which events to summarize, and how.
type WindowOptions struct {
	// ReadOptions are those of Read. Table is the table of the query or, without a query, the one
	// that the reader of the schema uses: others cannot be read.
	ReadOptions
	// Every is the width of windows as [window.Parse] reads it, such as 15m, 1d or 3mo, and Zone the
	// name of its time zone, such as Europe/Berlin; empty for UTC.
	Every, Zone string
	// Fields, Fill, Before and By are those of [store.WindowOptions]. Windows of several series are combined by
	// the worker that has their group and start, which holds a window of each series; another one, or the
	// same, then holds all windows of a group.
	Fields []store.Field
	Fill   window.Fill
	Before time.Duration
	By     []store.SeriesValue
}

// Windows gives pipelines access to the windows of a schema. Generated code provides it.
type Windows[E, W any] struct {
	// Encode and Decode convert a window to bytes and back, for transport between workers. Equal
	// windows have equal bytes.
	Encode func(w W) []byte
	Decode func(encoded []byte) (W, error)

	schema  *Schema[E]
	start   func(of *W) time.Time
	series  func(of *W) []byte // encoded
	combine func(to, other *W)
	// fill gives the windows of a series, in order of time, with those that are filled.
	fill func(o *WindowOptions, all []*W, give func(w *W)) error
	list func(ctx context.Context, r *store.Reader, of store.Selection, from, to time.Time) iter.Seq2[E, error]
	read func(ctx context.Context, r *store.Reader, m *store.Mapping, of store.Selection, from, to time.Time, width window.Width, o store.WindowOptions) iter.Seq2[W, error]
}

// windowsOf contains the registered windows, of type *Windows[E, W], by W. It does not change after
// the initialization of packages.
var windowsOf = map[reflect.Type]any{}

// RegisterWindows makes the windows W of a schema, whose series are of type S, known to Beam. Generated code calls it during the
// initialization of packages.
func RegisterWindows[S, W, E any](s *Schema[E], spec *window.Spec) *Windows[E, W] {
	series := s.Mappings[0].SeriesIn()
	seriesOf := func(e *E) *S { return series(e).(*S) }
	w := &Windows[E, W]{
		schema: s,
		start:  func(of *W) time.Time { return spec.Refer(of).Common().Start },
		series: func(of *W) []byte {
			var e E
			*seriesOf(&e) = *spec.Refer(of).Series().(*S)
			return s.Encode(e)
		},
		combine: func(to, other *W) { spec.Combine(spec.Refer(to), spec.Refer(other)) },
		fill: func(o *WindowOptions, all []*W, give func(w *W)) error {
			width, err := o.width()
			if err != nil {
				return err
			}
			fold, err := spec.Start(width, o.From, o.To, window.Options{
				Fill: o.Fill,
				ID:   func(dst []byte, _ any) []byte { return dst },
				Clone: func(series any) any {
					out := *series.(*S)
					return &out
				},
			}, func(w *window.Summary) bool {
				give(w.Window.(*W))
				return true
			})
			if err != nil {
				return err
			}
			for _, w := range all {
				fold.AddWindow(spec.Refer(w))
			}
			fold.End()
			return nil
		},
		list: func(ctx context.Context, r *store.Reader, of store.Selection, from, to time.Time) iter.Seq2[E, error] {
			return func(yield func(E, error) bool) {
				for series, err := range store.ResultsOf[S](r.ReadSeries(ctx, of, from, to)) {
					var e E
					if *seriesOf(&e) = series; !yield(e, err) {
						return
					}
				}
			}
		},
		read: func(ctx context.Context, r *store.Reader, m *store.Mapping, of store.Selection, from, to time.Time, width window.Width, o store.WindowOptions) iter.Seq2[W, error] {
			return store.ResultsOf[W](r.Windows(ctx, m.DataColumns(), spec, of, from, to, width, o))
		},
	}
	jobSchemas[s.Name].rollup = func(client store.Client, o store.RollupOptions) (*store.RollupParts, error) {
		return store.NewRollupParts(client, s.Mappings, s.Mappings[0].DataColumns(), spec, o)
	}
	w.Encode = func(of W) []byte {
		series := w.series(&of)
		return spec.Append(append(binary.AppendUvarint(nil, uint64(len(series))), series...), spec.Refer(&of))
	}
	w.Decode = func(encoded []byte) (of W, err error) {
		size, n := binary.Uvarint(encoded)
		if n <= 0 || size > uint64(len(encoded)-n) {
			return of, window.ErrEncoding
		}
		e, err := s.Decode(encoded[n:][:size])
		to := spec.Refer(&of)
		*to.Series().(*S) = *seriesOf(&e)
		return of, errors.Join(err, spec.Parse(to, encoded[n:][size:]))
	}
	t := reflect.TypeFor[W]()
	windowsOf[t] = w
	beam.RegisterType(t)
	coder.RegisterDeterministicCoder(t, w.Encode, w.Decode)
	register.Function1x1(w.Encode)
	register.Function1x2(w.Decode)
	register.Emitter2[beam.EventTime, W]()
	registerDoFn(func(fn *listFn[W, E]) reflectx.Func { return process3x1(fn.ProcessElement) })
	registerDoFn(func(fn *windowsFn[W, E]) reflectx.Func { return process3x1(fn.ProcessElement) })
	registerDoFn(func(fn *partsFn[W, E]) reflectx.Func { return process3x1(fn.ProcessElement) })
	registerDoFn(func(fn *combineFn[W, E]) reflectx.Func { return process3x1(fn.ProcessElement) })
	beam.RegisterType(reflect.TypeFor[fillFn[W, E]]())
	return w
}

// Read returns the windows of each of the selected series, or group of series, as a PCollection of W, in no
// particular order. They are equal to those of [store.Reader.Windows], except that their times are in UTC, and have
// their starts as timestamps in Beam. One worker lists the series, of which it receives a few row keys
// each. The runner distributes the series, and the windows of a series are read by one worker.
//
// With SkipUndecodable, events that cannot be decoded are counted as Undecodable by their windows, too.
//
// The error is that of [Schema.Read] or, of the other options, that of [store.Reader.Windows] or [time.LoadLocation].
func (w *Windows[E, W]) Read(scope beam.Scope, conn Connection, o WindowOptions) (beam.PCollection, error) {
	scope = scope.Scope("btgen.Windows")
	width, err := o.width()
	if err != nil {
		return beam.PCollection{}, err
	}
	sources, err := w.schema.sources(o.ReadOptions)
	if err != nil {
		return beam.PCollection{}, err
	}
	if table := w.schema.tableOf(o.Query); o.Table != "" && o.Table != table {
		return beam.PCollection{}, &store.UnknownTableError{Table: o.Table, Tables: []string{table}}
	}
	o.To = sources[0].To
	nothing := store.ManySeriesOf(nil) // but its options are checked
	for _, err := range w.read(context.Background(), w.schema.reader(noTables{}, o.Query, conn.TablePrefix, sources[0].Now), w.schema.mapping(w.schema.tableOf(o.Query)), nothing, o.From, o.To, width, o.ofReader(o.Fill)) {
		if err != nil {
			return beam.PCollection{}, err
		}
	}
	conn = conn.resolved()
	all := beam.CreateList(scope, sources[:1]) // a reader reads all tables with earlier layouts
	series := beam.Reshuffle(scope, beam.ParDo(scope, &listFn[W, E]{opened{Conn: conn}, o.SkipUndecodable}, all))
	job := summary[W, E]{opened{Conn: conn}, o, sources[0].Now}
	if o.By == nil {
		return beam.ParDo(scope, &windowsFn[W, E]{job}, series), nil
	}
	parts := beam.GroupByKey(scope, beam.ParDo(scope, &partsFn[W, E]{job}, series))
	groups := beam.GroupByKey(scope, beam.ParDo(scope, &combineFn[W, E]{}, parts))
	return beam.ParDo(scope, &fillFn[W, E]{o}, groups), nil
}

// width returns the width of windows.
func (o *WindowOptions) width() (window.Width, error) {
	zone, err := time.LoadLocation(o.Zone)
	if err != nil {
		return window.Width{}, err
	}
	return window.Parse(o.Every, zone)
}

// ofReader returns the options of a reader that fills gaps in a way.
func (o *WindowOptions) ofReader(fill window.Fill) store.WindowOptions {
	return store.WindowOptions{Fields: o.Fields, Fill: fill, Before: o.Before, By: o.By}
}

// noTables is a client of readers that read nothing.
type noTables struct{}

// OpenTable returns no table.
func (noTables) OpenTable(string) bigtable.TableAPI { return nil }

// tableOf returns the table that a query reads.
func (s *Schema[E]) tableOf(q Query) string {
	if q.Name == "" {
		return s.Table
	}
	return s.Queries[q.Name].Table
}

// reader returns a reader of the table that a query reads.
func (s *Schema[E]) reader(client store.Client, q Query, prefix string, now time.Time) *store.Reader {
	return store.NewReader(client, s.mapping(s.tableOf(q)), store.ReaderOptions{TablePrefix: prefix, Now: func() time.Time { return now }})
}

// listFn lists the series of a source.
type listFn[W, E any] struct {
	opened
	SkipUndecodable bool
}

// ProcessElement emits the series of a source, each after its number.
func (fn *listFn[W, E]) ProcessElement(ctx context.Context, source Source, emit func([]byte)) error {
	s := schemaOf[E]()
	of := (&store.Query{Name: "All"}).Bind(new(E))
	if source.Query.Name != "" {
		var err error
		if of, err = s.selection(source.Query); err != nil {
			return err
		}
	}
	number := uint64(0)
	for e, err := range ofWindow[W, E]().list(ctx, s.reader(fn.client.Client, source.Query, fn.Conn.TablePrefix, source.Now), of, source.From, source.To) {
		switch {
		case fn.SkipUndecodable && isUndecodable(err):
			undecodable.Inc(ctx, 1)
		case err != nil:
			return err
		default:
			emit(append(binary.BigEndian.AppendUint64(nil, number), s.Encode(e)...))
			number++
		}
	}
	return nil
}

// isUndecodable reports whether an error is that of a row or an event that cannot be decoded.
func isUndecodable(err error) bool {
	_, is := errors.AsType[*store.DecodeError](err)
	return is
}

// ofWindow returns the registered windows.
func ofWindow[W, E any]() *Windows[E, W] { return windowsOf[reflect.TypeFor[W]()].(*Windows[E, W]) }

// summary reads the windows of series.
type summary[W, E any] struct {
	opened
	Options WindowOptions
	Now     time.Time
}

// numberSize is the size of the number before an encoded series.
const numberSize = 8

// read calls give with the windows of a series. fill says how.
func (r *summary[W, E]) read(ctx context.Context, numbered []byte, fill window.Fill, give func(w *W)) error {
	s, o := schemaOf[E](), &r.Options
	width, err := o.width()
	if err != nil {
		return err
	}
	of, err := s.ofSeries(numbered[numberSize:], o.Query)
	if err != nil {
		return err
	}
	windows := ofWindow[W, E]().read(ctx, s.reader(r.client.Client, o.Query, r.Conn.TablePrefix, r.Now), s.mapping(s.tableOf(o.Query)), of, o.From, o.To, width, o.ofReader(fill))
	for w, err := range windows {
		switch {
		case o.SkipUndecodable && isUndecodable(err):
			undecodable.Inc(ctx, 1)
		case err != nil:
			return err
		default:
			give(&w)
		}
	}
	seriesRead.Inc(ctx, 1)
	return nil
}

// windowsFn reads the windows of series.
type windowsFn[W, E any] struct{ summary[W, E] }

// ProcessElement emits the windows of a series.
func (fn *windowsFn[W, E]) ProcessElement(ctx context.Context, numbered []byte, emit func(beam.EventTime, W)) error {
	return fn.read(ctx, numbered, fn.Options.Fill, func(of *W) { emitWindow[W, E](ctx, of, emit) })
}

// emitWindow emits a window of the result.
func emitWindow[W any, E any](ctx context.Context, of *W, emit func(beam.EventTime, W)) {
	emit(mtime.FromTime(ofWindow[W, E]().start(of)), *of)
	windowsRead.Inc(ctx, 1)
}

// partsFn reads the windows of series as parts of the windows of their groups.
type partsFn[W, E any] struct{ summary[W, E] }

// ProcessElement emits the windows of a series, each after the number of the series, by group and start.
func (fn *partsFn[W, E]) ProcessElement(ctx context.Context, numbered []byte, emit func([]byte, []byte)) error {
	w := ofWindow[W, E]()
	return fn.read(ctx, numbered, window.FillNone, func(of *W) {
		start := w.start(of)
		emit(fmt.Appendf(w.series(of), "#%d.%d", start.Unix(), start.Nanosecond()), append(bytes.Clone(numbered[:numberSize]), w.Encode(*of)...))
	})
}

// combineFn combines the windows of the series of a group with the same start.
type combineFn[W, E any] struct{}

// ProcessElement emits the window of a group. It combines those of the series in the order of their list, on
// which the last bits of sums of floating-point numbers depend.
func (fn *combineFn[W, E]) ProcessElement(_ []byte, parts func(*[]byte) bool, emit func([]byte, []byte)) error {
	w := ofWindow[W, E]()
	var all [][]byte
	for part := []byte(nil); parts(&part); {
		all = append(all, bytes.Clone(part))
	}
	slices.SortFunc(all, bytes.Compare)
	var to W
	for i, part := range all {
		of, err := w.Decode(part[numberSize:])
		if err != nil {
			return err
		}
		if i == 0 {
			to = of
		} else {
			w.combine(&to, &of)
		}
	}
	emit(w.series(&to), w.Encode(to))
	return nil
}

// fillFn adds windows without events to those of groups.
type fillFn[W, E any] struct{ Options WindowOptions }

// ProcessElement emits the windows of a group.
func (fn *fillFn[W, E]) ProcessElement(ctx context.Context, _ []byte, windows func(*[]byte) bool, emit func(beam.EventTime, W)) error {
	w := ofWindow[W, E]()
	var all []*W
	for encoded := []byte(nil); windows(&encoded); {
		of, err := w.Decode(encoded)
		if err != nil {
			return err
		}
		all = append(all, &of)
	}
	slices.SortFunc(all, func(a, b *W) int { return w.start(a).Compare(w.start(b)) })
	return w.fill(&fn.Options, all, func(of *W) { emitWindow[W, E](ctx, of, emit) })
}
