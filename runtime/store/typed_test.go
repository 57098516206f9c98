package store

import (
	"context"
	"iter"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/window"
)

// The tests call the package through types with the type of their events, and write functions of mappings by hand.

// seriesValues say where events have their series.
type seriesValues[E any] struct {
	of  func(e *E, to []any) []any // appends pointers to the values; see codec.KeyValues
	ptr func(e *E) any             // a pointer to the series
}

// mappingOf is a Mapping of events of type E. Its functions replace those that follow from columns.
type mappingOf[E any] struct {
	Table             Table
	Pattern           codec.Pattern
	Key               codec.Key
	Columns           []Column
	Fields            []Field
	SequenceInColumns bool
	Check             func(e *E) error
	Time              func(e *E) *time.Time
	TTLFields         func(e *E) TTLFields
	Put               func(e *E, cells *eventCells)
	Same              func(a, b *E) bool
	Sequence          func(e *E) *uint32
	Set               func(e *E, column int, datum []byte) error
	Missing           func(e *E, column int) error
	Precision         time.Duration
	MaxCells          int64
	Since             time.Time
	Older             []*mappingOf[E]
	State             *mappingOf[E]
	Rollup            *codec.Rollup

	columns *Columns
	series  seriesValues[E]
	adjust  func(m *mapping)
}

// newMappingOf returns a mapping with columns.
func newMappingOf[E, C any](columns *columnsOf[E, C], l mappingOf[E]) *mappingOf[E] {
	made := NewMapping(columns.columns, *l.given())
	l.Table, l.Columns, l.columns = made.Table, made.Columns, made.columns
	return &l
}

// given returns the mapping as a user of the package would have it.
func (l *mappingOf[E]) given() *Mapping {
	if l == nil {
		return nil
	}
	out := &Mapping{
		Table: l.Table, Pattern: l.Pattern, Key: l.Key, Columns: l.Columns, Fields: l.Fields, SequenceInColumns: l.SequenceInColumns,
		Precision: l.Precision, MaxCells: l.MaxCells, Since: l.Since, State: l.State.given(), Rollup: l.Rollup,
		columns: l.columns, replace: l.replace, adjust: l.adjust,
		Check: func(e any) error { return l.Check(e.(*E)) },
	}
	for _, older := range l.Older {
		out.Older = append(out.Older, older.given())
	}
	return out
}

// allGiven is given for all mappings of a schema.
func allGiven[E any](all []*mappingOf[E]) (out []*Mapping) {
	for _, l := range all {
		out = append(out, l.given())
	}
	return out
}

// untyped returns the complete mapping.
func (l *mappingOf[E]) untyped() *mapping { return l.given().complete() }

// replace sets the functions of a mapping.
func (l *mappingOf[E]) replace(m *mapping) {
	m.events = eventsOf[E]{}
	if l.columns == nil && l.Time != nil {
		m.Time = func(e event) *time.Time { return l.Time(e.pointer.(*E)) }
		m.values = func(e event, to []any) []any { return l.series.of(e.pointer.(*E), to) }
		m.series = func(e event) any { return l.series.ptr(e.pointer.(*E)) }
		m.Sequence, m.sequence = unlessNil(l.Sequence), unlessNil(l.Sequence)
		m.Missing = func(e event, column int) error { return l.Missing(e.pointer.(*E), column) }
	}
	if l.Put != nil {
		m.Put = func(e event, cells *eventCells) { l.Put(e.pointer.(*E), cells) }
	}
	if l.Set != nil {
		m.Set = func(e event, column int, datum []byte) error { return l.Set(e.pointer.(*E), column, datum) }
	}
	if l.Same != nil {
		m.Same = func(a, b event) bool { return l.Same(a.pointer.(*E), b.pointer.(*E)) }
	}
	if l.TTLFields != nil {
		m.TTLFields = unlessNil(l.TTLFields)
	}
}

// unlessNil returns a function of events without its type parameter; nil if it is nil.
func unlessNil[E, T any](f func(e *E) T) func(e event) T {
	if f == nil {
		return nil
	}
	return func(e event) T { return f(e.pointer.(*E)) }
}

// Periods is that of Mapping.
func (l *mappingOf[E]) Periods() []*mappingOf[E] { return append([]*mappingOf[E]{l}, l.Older...) }

// columnsOf are the Columns of events of type E, with slices in C.
type columnsOf[E, C any] struct{ columns *Columns }

// Append appends an event to the slices of c.
func (cs *columnsOf[E, C]) Append(c *C, e *E) { cs.columns.Append(c, e) }

// seriesOf is SeriesOf.
func seriesOf[E any](base E) Selection { return SeriesOf(&base) }

// manySeriesOf is ManySeriesOf.
func manySeriesOf[E any](bases []E) Selection { return ManySeriesOf(pointersTo(bases)) }

// pointersTo returns pointers to copies of events; nil if there are none.
func pointersTo[E any](all []E) []any {
	if all == nil {
		return nil
	}
	return Each(all, func(e E) any { return &e })
}

// readerOf is a Reader of events of type E.
type readerOf[E any] struct{ reader *Reader }

// newReaderOf is NewReader.
func newReaderOf[E any](client Client, mapping *mappingOf[E], opts ...ReaderOptions) *readerOf[E] {
	return &readerOf[E]{NewReader(client, mapping.given(), opts...)}
}

// Read is that of Reader.
func (r *readerOf[E]) Read(ctx context.Context, of Selection, from, to time.Time, opts ...ReadOptions) iter.Seq2[E, error] {
	return ResultsOf[E](r.reader.Read(ctx, of, from, to, opts...))
}

// Latest is that of Reader.
func (r *readerOf[E]) Latest(ctx context.Context, base E) (E, error) {
	return ResultOf[E](r.reader.Latest(ctx, &base))
}

// LatestMany is that of Reader.
func (r *readerOf[E]) LatestMany(ctx context.Context, bases []E) iter.Seq2[E, error] {
	return ResultsOf[E](r.reader.LatestMany(ctx, pointersTo(bases)))
}

// readColumns is Reader.ReadColumns.
func readColumns[E, C any](ctx context.Context, r *readerOf[E], into *columnsOf[E, C], columns *C, of Selection, from, to time.Time, opts ...ReadOptions) error {
	return r.reader.ReadColumns(ctx, into.columns, columns, of, from, to, opts...)
}

// readSeries is Reader.ReadSeries.
func readSeries[S, E any](ctx context.Context, r *readerOf[E], of Selection, from, to time.Time, opts ...SeriesOptions) iter.Seq2[S, error] {
	return ResultsOf[S](r.reader.ReadSeries(ctx, of, from, to, opts...))
}

// specOf is a window.Spec of windows of type W.
type specOf[S, W any] struct{ spec *window.Spec }

// readWindows is Reader.Windows.
func readWindows[S, E, C, W any](ctx context.Context, r *readerOf[E], columns *columnsOf[E, C], spec *specOf[S, W], of Selection, from, to time.Time, width window.Width, opts ...WindowOptions) iter.Seq2[W, error] {
	return ResultsOf[W](r.reader.Windows(ctx, columns.columns, spec.spec, of, from, to, width, opts...))
}

// writerOf is a Writer of events of type E.
type writerOf[E any] struct{ *Writer }

// newWriterOf is NewWriter.
func newWriterOf[E any](client Client, mappings []*mappingOf[E], opts ...WriterOptions) *writerOf[E] {
	return &writerOf[E]{NewWriter(client, allGiven(mappings), opts...)}
}

// Write is that of Writer.
func (w *writerOf[E]) Write(ctx context.Context, e E, opts ...WriteOptions) error {
	return w.Writer.Write(ctx, &e, opts...)
}

// WriteAll is that of Writer.
func (w *writerOf[E]) WriteAll(ctx context.Context, events []E, opts ...WriteOptions) error {
	return w.Writer.WriteAll(ctx, ListOf(events), opts...)
}

// Delete is that of Writer.
func (w *writerOf[E]) Delete(ctx context.Context, events []E, opts ...DeleteOptions) (Deletion, error) {
	return w.Writer.Delete(ctx, ListOf(events), opts...)
}

// Replace is that of Writer.
func (w *writerOf[E]) Replace(ctx context.Context, old, updated E, opts ...WriteOptions) error {
	return w.Writer.Replace(ctx, &old, &updated, opts...)
}

// batcherOf is a Batcher of events of type E.
type batcherOf[E any] struct{ *Batcher }

// newBatcherOf is NewBatcher.
func newBatcherOf[E any](w *writerOf[E], failed func(e E, err error), opts ...BatcherOptions) *batcherOf[E] {
	var report func(e any, err error)
	if failed != nil {
		report = func(e any, err error) { failed(*e.(*E), err) }
	}
	return &batcherOf[E]{NewBatcher(w.Writer, report, opts...)}
}

// Add is that of Batcher.
func (b *batcherOf[E]) Add(ctx context.Context, e E) error { return b.Batcher.Add(ctx, &e) }

// backfillOf is Backfill.
func backfillOf[E any](ctx context.Context, client Client, mappings []*mappingOf[E], opts ...BackfillOptions) (BackfillReport, error) {
	return Backfill(ctx, client, allGiven(mappings), opts...)
}

// newBackfillPartsOf is NewBackfillParts.
func newBackfillPartsOf[E any](client Client, mappings []*mappingOf[E], began time.Time, o BackfillOptions) (*BackfillParts, error) {
	return NewBackfillParts(client, allGiven(mappings), began, o)
}

// runRollup is Rollup.
func runRollup[S, E, C, W any](ctx context.Context, client Client, mappings []*mappingOf[E], columns *columnsOf[E, C], spec *specOf[S, W], opts ...RollupOptions) (RollupReport, error) {
	return Rollup(ctx, client, allGiven(mappings), columns.columns, spec.spec, call.Last(opts))
}

// newRollupPartsOf is NewRollupParts.
func newRollupPartsOf[S, E, C, W any](client Client, mappings []*mappingOf[E], columns *columnsOf[E, C], spec *specOf[S, W], o RollupOptions) (*RollupParts, error) {
	return NewRollupParts(client, allGiven(mappings), columns.columns, spec.spec, o)
}

// newScannerOf is NewScanner.
func newScannerOf[E any](client Client, mappings []*mappingOf[E], table string, opts ...ReaderOptions) (*Scanner[E], error) {
	return NewScanner[E](client, allGiven(mappings), table, opts...)
}
