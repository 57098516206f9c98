package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/window"
)

// WindowOptions specify which windows to read, and of which fields. If several are passed, the last
// one replaces the others.
type WindowOptions struct {
	// Fields are the fields to summarize; nil for all, and an empty slice for only the number of
	// events. The others are not read, and their statistics are zero.
	Fields []Field
	// Fill says which windows without events are yielded, and what they contain. A series without
	// any event has none, unless it is read by itself. If it is none of the constants, the error
	// wraps [window.ErrFill].
	Fill window.Fill
	// NewestFirst yields the windows of each series in reverse order. A read of one series then
	// reads its time range in parts, from the newest one, with a request for up to 64 windows, and at most
	// four for a window after a gap, and so does one of all series combined (see By) with a Limit, if the row
	// keys have the time before the values that the query does not give. A window is yielded once the last value
	// before it of each number has been read, or nothing is left. With FillPrevious and FillLinear, and otherwise
	// for several series, it holds the windows with events of one series in memory.
	NewestFirst bool
	// Parallelism is the maximum number of goroutines that read several series, if there are more
	// than 16,384 events. 0 means DefaultParallelism; a negative value means 1. The windows and
	// their order do not depend on it. Each goroutine holds up to 4,096 windows more.
	Parallelism int
	// Before is how long before the range the last value of each number is read that precedes it, for the
	// increase into the first window of a series; 0 for not at all, and an *OptionsError below that. A read of one series searches it from the
	// newest event before the range, and one of several reads all events of that time.
	Before time.Duration
	// Limit is the largest number of windows; 0 for no limit, and an *OptionsError below that.
	Limit int
	// By are the series values by which series are grouped: their windows are combined, and the other
	// values are zero. Of values at the same instant, the least is First and the greatest Last. Sums
	// of floating-point numbers are added in the order in which reads return the series, which can
	// depend on the range, and so can their last bits. If By is nil, each series has windows of its
	// own; an empty slice combines all series. Grouping holds the windows of all groups in memory. One that the schema does not have causes ErrNoSeriesValue.
	By []SeriesValue
}

// SeriesValue is a series value of a schema, identified by its name. Generated code has constants.
type SeriesValue string

// maxFolded is the largest number of events that are decoded before they are folded.
const maxFolded = 512

// Windows returns the results of a read, for [ResultsOf] with the type of windows. It summarizes the events of a selection with from <= time < to by windows of time: for each
// series, in order of time. Series come in the order of row keys or, if the events of a series do
// not follow each other in the table, after all events have been read, which holds all windows in
// memory; else, it holds one window and one bucket. If the labels of buckets do not sort, or the rows of
// fields cannot be joined (see [ErrFieldRows]), it lists the series and reads each by itself. A zero from precedes all events; width and fill
// are those of package window.
//
// Windows count exactly the events that [Reader.Read] yields. For an event that cannot be decoded,
// it yields a *DecodeError, and the loop may continue; the window of that event counts it as
// Undecodable, or that of its row if its cell is not in the bucket of the row. Any other error is the last value yielded, and the window that was being read is
// not: windows that are yielded without an error are complete.
func (r *Reader) Windows(ctx context.Context, columns *Columns, spec *window.Spec, of Selection, from, to time.Time, width window.Width, opts ...WindowOptions) Results {
	return Results{func(yield yielder) {
		r.windows(ctx, columns, spec, of, from, to, width, call.Last(opts))(func(w *window.Summary, err error) bool {
			if err != nil {
				return yield(event{}, err)
			}
			return yield(event{w.Window}, nil)
		})
	}}
}

// windows is [Reader.Windows] of references to windows.
func (r *Reader) windows(ctx context.Context, columns *Columns, spec *window.Spec, of Selection, from, to time.Time, width window.Width, o WindowOptions) func(func(*window.Summary, error) bool) {
	return func(yield func(w *window.Summary, err error) bool) {
		if err := r.missingClient(); err != nil {
			yield(nil, err)
			return
		}
		if unknown := spec.Unknown(names(o.Fields)); unknown != "" {
			yield(nil, noField(r.mapping, Field(unknown)))
			return
		}
		kind := kindOf(r.mapping, columns, spec)
		if o.Fields != nil {
			kind.spec = kind.spec.Of(names(o.Fields))
		}
		kind.from, kind.to, kind.width, kind.WindowOptions = from, to, width, o
		kind.read(ctx, r, of.resolve(), yield)
	}
}

// kindOf returns what a read of windows knows of a schema.
func kindOf(l *mapping, columns *Columns, spec *window.Spec) windowsKind {
	return windowsKind{layout: columns, spec: spec, mapping: l}
}

// newSlices returns an empty columnar form of events.
func (k *windowsKind) newSlices() window.Slices { return k.layout.slices(k.layout.empty()) }

// seriesOf returns a pointer to the series of an event.
func (k *windowsKind) seriesOf(e event) any { return k.mapping.series(e) }

// setSeries sets a series, a pointer, to that of an event.
func (k *windowsKind) setSeries(series any, e event) { k.spec.SetSeries(series, k.seriesOf(e)) }

// AppendWindows appends all windows of a read, such as that of a generated method, to slices, without an
// allocation for each. It returns the first *DecodeError after it has read all windows; any other error
// ends the read.
func AppendWindows[W any](columns interface{ Append(w *W) }, windows iter.Seq2[W, error]) (first error) {
	var last W // it escapes once
	for w, err := range windows {
		switch {
		case err == nil:
			last = w
			columns.Append(&last)
		case first == nil || !isDecodeError(err):
			first = err
		}
	}
	return first
}

// Charts returns the results of a read, for [ResultsOf] with [window.Chart]. It reduces the values of a number in a selection, with from <= time < to, to what charts of n
// pixels show: it yields one chart for each series with events, in the order and with the errors of
// [Reader.Windows]. If the field is no number, or the table does not have it, the error is ErrNoField; if
// from is zero, a *RangeError; if n is not positive, it wraps [window.ErrPixels].
func (r *Reader) Charts(ctx context.Context, columns *Columns, spec *window.Spec, of Selection, from, to time.Time, field Field, n int) Results {
	charts, err := r.chartsOf(spec, from, to, field, n)
	if err != nil {
		return refused(err)
	}
	return r.Windows(ctx, columns, charts, of, from, to, window.Whole(), WindowOptions{Fields: []Field{field}})
}

// chartsOf returns the description of charts of a field.
func (r *Reader) chartsOf(spec *window.Spec, from, to time.Time, field Field, n int) (*window.Spec, error) {
	if err := r.missingClient(); err != nil {
		return nil, err
	}
	charts, ok := window.Charts(spec, string(field), from, to, n)
	switch {
	case !ok:
		return nil, fmt.Errorf("table %s has no number %q: %w", r.mapping.Table.ID, field, ErrNoField)
	case from.IsZero():
		return nil, &RangeError{From: from, To: to, chart: true}
	case n < 1:
		return nil, fmt.Errorf("%w: %d", window.ErrPixels, n)
	}
	return charts, nil
}

// Points returns the only chart of [Reader.Charts] for one series. It leaves out undecodable events and returns
// the first *DecodeError after it has read all others; any other error ends the read.
func (r *Reader) Points(ctx context.Context, columns *Columns, spec *window.Spec, of Selection, from, to time.Time, field Field, n int) (points []window.Point, first error) {
	charts, err := r.chartsOf(spec, from, to, field, n)
	if err != nil {
		return nil, err
	}
	r.windows(ctx, columns, charts, of, from, to, window.Whole(), WindowOptions{Fields: []Field{field}})(func(c *window.Summary, err error) bool {
		switch {
		case err == nil:
			points = window.PointsOf(c)
		case first == nil || !isDecodeError(err):
			first = err
		}
		return true
	})
	return points, first
}

func names(fields []Field) []string {
	out := make([]string, len(fields))
	for i, f := range fields {
		out[i] = string(f)
	}
	return out
}

// windowsKind is what a read of windows knows of the types of a schema, and of its caller.
type windowsKind struct {
	layout    *Columns
	spec      *window.Spec
	mapping   *mapping // the newest one
	from, to  time.Time
	since     time.Time // of the first event that is read before from; zero without Before
	width     window.Width
	scattered bool  // the events of a series do not follow each other
	by        []int // numbers of the values of By
	WindowOptions
}

// windowsReading is a read that folds events. It decodes them into slices, a part of a row at a
// time.
type windowsReading struct {
	*windowsKind
	columnsReading
	fold    *window.Fold
	fail    func(err error) bool
	base    event // with the series of the events in the slices, if there are any
	baseOf  *mapping
	baseID  string // seriesID of base in baseOf; see ofBase
	flagged any    // the series of the event that fail is told of, if its window is flagged
	stopped bool   // the caller wants no more
	content keyContent
	of      *selection
	alone   int          // the number of events after which the read is split; 0 for never
	parts   *windowParts // what follows, once it is split
	rows    runsReading
}

func (k *windowsKind) start(o window.Options, yield func(w *window.Summary) bool) (*window.Fold, error) {
	return k.spec.Start(k.width, k.from, k.to, o, yield)
}

// emptyReading returns a read that has nothing to read yet.
func (k *windowsKind) emptyReading() *windowsReading {
	return &windowsReading{windowsKind: k, columnsReading: columnsReading{into: k.layout, columns: k.newSlices()}}
}

// newReading returns a read of a selection.
func (k *windowsKind) newReading(ctx context.Context, reader *Reader, s *selection, q *query) *windowsReading {
	r := k.emptyReading()
	r.of = s
	from := k.from
	if !k.since.IsZero() {
		from = k.since
	}
	r.reading = reader.beginSelected(ctx, s, q, from, k.to, []ReadOptions{{Fields: k.Fields}})
	r.reading.op.Name = s.name + "Windows"
	r.reading.assembler.into, r.reading.assembler.runs = r, r
	r.rows.gaps = r.gapsOf(reader)
	return r
}

// give remembers whether the caller wants more.
func (r *windowsReading) give(more bool) bool {
	r.stopped = r.stopped || !more
	return more
}

// deliver yields a window, or the error of the context if it has ended: a gap may have more windows than
// anybody waits for.
func (r *windowsReading) deliver(w *window.Summary, yield func(w *window.Summary, err error) bool) bool {
	if ended := r.reading.ctx.Err(); ended != nil {
		return r.failWith(call.Explain(r.reading.ctx, ended))
	}
	if c := w.Common(); c.Events > 0 && r.expiredIn(c.Start) {
		c.Inexact = true
	}
	return r.give(yield(w, nil))
}

// end ends the read, not only the request.
func (r *windowsReading) end() bool {
	r.reading.ended = true
	return false
}

func (k *windowsKind) read(ctx context.Context, reader *Reader, s *selection, yield func(w *window.Summary, err error) bool) {
	err := k.invalid()
	if err != nil {
		yield(nil, err)
		return
	}
	q := reader.query(s)
	r := k.newReading(ctx, reader, s, q)
	r.fail = func(err error) bool { return r.give(yield(nil, err)) }
	several := r.several()
	ascends := !q.MultiSeries || reader.ascends() && q.joins()
	o := r.options()
	o.Fill, o.Limit, o.Steps = k.Fill, k.Limit, true
	o.Descending = k.NewestFirst && (k.Fill == window.FillNone || k.Fill == window.FillNull) &&
		(!several && k.By == nil || several && k.last() && ascends && !q.AllTimes)
	o.NewestFirst = k.NewestFirst && !o.Descending
	k.scattered = several && ascends && (len(reader.older) > 0 || reader.scatters(q))
	o.Scattered = k.scattered && !o.Descending // else, parts of the time range are
	if k.By != nil {
		o.Group = r.group
	}
	if r.fold, err = k.start(o, func(w *window.Summary) bool { return r.deliver(w, yield) }); err != nil {
		r.fail(err)
		return
	}
	run := r.run
	switch {
	case !ascends:
		run = r.bySeries
	case o.Descending:
		run = r.descending
	case several && !k.scattered && k.parallelism() > 1:
		r.alone = reader.alone
	}
	if !run() {
		return
	}
	if r.fold.End(); !several && !r.fold.Seen() {
		r.fold.Empty(r.seriesOf(s.values[0].low))
	}
}

// ErrNoSeriesValue is the error for a value in WindowOptions.By that is not one of the schema.
var ErrNoSeriesValue = errors.New("no such series value")

// invalid returns the error of the width, and of options that a fold does not check. It sets by and since.
func (k *windowsKind) invalid() error {
	if err := k.width.Check(); err != nil {
		return err
	}
	if err := refuse("WindowOptions", negative("Limit", k.Limit, "for all windows"), negative("Before", k.Before, "for no time")); err != nil {
		return err
	}
	if _, all := k.spec.Counted(nil, nil); k.Before > 0 && !k.from.IsZero() && !all {
		k.since = k.from.Add(-k.Before)
	}
	k.by = make([]int, len(k.By))
	for i, v := range k.By {
		if k.by[i] = k.mapping.Key.SeriesNamed(string(v)); k.by[i] < 0 {
			return fmt.Errorf("table %s, series value %q of By: %w", k.mapping.Table.ID, v, ErrNoSeriesValue)
		}
	}
	return nil
}

// last reports whether the read ends after the last windows of all series combined.
func (k *windowsKind) last() bool { return k.By != nil && len(k.By) == 0 && k.Limit > 0 }

// several reports whether the read may have several series.
func (r *windowsReading) several() bool { return r.reading.q.MultiSeries || r.of.many }

// run folds the events of a selection. It reports whether they were read to their end.
func (r *windowsReading) run() (complete bool) {
	r.reading.runOf(func() {
		defer func() {
			if r.parts != nil {
				r.parts.close()
			}
		}()
		complete = r.approach() && r.events() && (r.parts == nil || r.parts.drain())
	}, r.one)
	return complete
}

// bySeries folds the events of a query whose rows are not in order of time, or are those of fields that
// are apart: it lists the series and reads each by itself. It reports whether they were read to their end.
func (r *windowsReading) bySeries() (complete bool) {
	reader, each := r.reading.reader, *r.of
	each.many, each.given = false, nil
	if len(each.conditions) > 0 {
		every := reader.mapping.Key.Every()
		each.given = &every
	}
	complete = true
	runs := scan.NoRuns
	if slices.ContainsFunc(append([]*mapping{reader.mapping}, reader.mapping.Older...), r.uses) {
		runs = scan.BesideRuns
	}
	reader.series(r.reading.ctx, r.of, r.reading.q, r.from, r.to, runs, nil)(func(e event, err error) bool {
		if err != nil {
			complete = isDecodeError(err)
			return r.fail(err) && complete
		}
		each.values = []bound{{low: reader.mapping.clone(e)}}
		one := r.newReading(r.reading.ctx, reader, &each, reader.query(&each))
		one.fold, one.fail = r.fold, r.fail
		complete = one.run()
		return complete && !one.reading.ended
	})
	return complete && !r.stopped
}

// consume adds a window to the fold, or yields an error. It reports whether the caller wants more.
func (r *windowsReading) consume(item windowItem) bool {
	ended := r.reading.ctx.Err()
	if ended != nil && (item.err == nil || isDecodeError(item.err)) {
		item.err = call.Explain(r.reading.ctx, ended)
	}
	if item.err == nil {
		return r.fold.AddWindow(item.window) && !r.stopped
	}
	if item.series != nil && isDecodeError(item.err) && (!r.fold.Enter(item.series) || r.stopped) {
		return false
	}
	r.reading.failed = item.err
	if !isDecodeError(item.err) {
		return r.failWith(item.err)
	}
	return r.fail(item.err)
}

// options returns the options of a fold of the events of a read.
func (r *windowsReading) options() window.Options {
	memory := r.mapping.new()
	eventOf := func(series any) event {
		r.spec.SetSeries(r.seriesOf(memory), series)
		return memory
	}
	return window.Options{
		Cells: r.cells(r.reading.reader.mapping), Since: r.since,
		ID: func(dst []byte, series any) []byte {
			for _, v := range r.mapping.fill(&r.content, eventOf(series)).Series {
				dst = codec.AppendSeriesValue(dst, v)
			}
			return dst
		},
		Clone: func(series any) any { return r.seriesOf(r.mapping.clone(eventOf(series))) },
	}
}

// group clears the values of a series by which series are not grouped.
func (r *windowsReading) group(series any) {
	e := r.mapping.new()
	r.spec.SetSeries(r.seriesOf(e), series)
	clearOthers(r.seriesOf(e), r.mapping.fill(&r.content, e).Series, r.by)
	r.setSeries(series, e)
}

// events folds all events. It reports whether they were read to their end.
func (r *windowsReading) events() bool {
	r.reading.ordered()(r.reading.count)
	if r.failed == nil && !r.stopped {
		r.flush() // nothing, if a part reads it
	}
	return r.failed == nil && !r.stopped
}

// scatters reports whether the events of several series come by other values than the series: by
// bucket, or by parts of the time range.
func (r *Reader) scatters(q *query) bool {
	key := &r.mapping.Key
	return key.Path(key.Every()).After > 0 || q.MultiSeries && !q.Contiguous || !q.AllTimes && r.shape.Cuts()
}

// ascends reports whether the events of each of several series arrive in order of time.
func (r *Reader) ascends() bool {
	return r.shape.InOrder() && !slices.ContainsFunc(r.older, func(o *Reader) bool { return !o.shape.InOrder() })
}

// clearOthers clears the values of a series by whose numbers series are not grouped. values are pointers
// to them or, if the series is a list of values of any types, to copies.
func clearOthers(series any, values []any, by []int) {
	list, isList := series.(*[]any)
	if isList {
		*list = slices.Clone(*list)
	}
	for i, v := range values {
		switch {
		case slices.Contains(by, i):
		case isList:
			(*list)[i] = nil
		default:
			reflect.ValueOf(v).Elem().SetZero()
		}
	}
}

// failWith yields the error that ends the read.
func (r *windowsReading) failWith(err error) bool {
	r.failed, r.reading.failed = err, err
	r.fail(err)
	return r.end()
}

// one consumes an event that is made by itself, or the error of one.
func (r *windowsReading) one(e event, err error) bool {
	if err != nil {
		return r.undecodable(e, err)
	}
	if r.base.exists() && (r.into.length(r.columns) >= maxFolded || !r.ofBase(e)) && !r.flush() {
		return false
	}
	if !r.base.exists() {
		r.base, r.baseOf = r.reading.reader.mapping.clone(e), nil
	}
	r.into.add(r.columns, e)
	return true
}

// ofBase reports whether an event has the series of base, whose ID it computes once for each mapping.
func (r *windowsReading) ofBase(e event) bool {
	l := r.reading.reader.mapping
	if r.baseOf != l {
		r.baseOf, r.baseID = l, l.seriesID(r.base)
	}
	return l.seriesID(e) == r.baseID
}

// undecodable yields an error. It flags the window of an event that cannot be decoded.
func (r *windowsReading) undecodable(e event, err error) bool {
	if !isDecodeError(err) {
		return r.failWith(err)
	}
	failed, _ := errors.AsType[*DecodeError](err)
	if r.parts != nil && failed.Row != "" && !r.parts.owns(failed.Row) {
		return r.end() // a part yields it
	}
	from := r.reading.assembler.from
	at := failed.place(from)
	if !failed.Time.IsZero() && !at.Before(from) && at.Before(r.reading.assembler.to) {
		if !r.flush() {
			return false
		}
		if err := r.fold.Flag(r.seriesOf(e), at); err != nil {
			return r.failWith(err)
		}
		r.flagged = r.seriesOf(r.mapping.clone(e))
		defer func() { r.flagged = nil }()
	}
	return r.fail(err)
}

// most bounds the memory for decoded events.
func (r *windowsReading) most() int { return maxFolded }

// take consumes events, unless one lacks data or may have expired.
func (r *windowsReading) take(a *assembler, begin, end int) (taken, more bool) {
	if !r.flush() {
		return true, false
	}
	if taken, more = r.columnsReading.take(a, begin, end); !taken || !more {
		return taken, more
	}
	return true, r.foldOf(a.base)
}

// flush folds the events in the slices that were made one by one.
func (r *windowsReading) flush() bool {
	if !r.base.exists() {
		return true
	}
	more := r.foldOf(r.base)
	r.base = event{}
	return more
}

// foldOf folds the events in the slices, which are those of one series.
func (r *windowsReading) foldOf(base event) bool {
	defer r.into.truncate(r.columns, 0)
	if !r.begins(base) {
		return false
	}
	more, err := r.fold.Add(r.seriesOf(base), r.columns)
	return r.goesOn(base, more, err)
}

// begins reports whether the read folds what comes next, of a series.
func (r *windowsReading) begins(base event) bool {
	if r.parts != nil && !r.parts.leads(base) {
		return r.end() // a part reads it
	}
	if r.reading.ctx.Err() != nil {
		return r.reading.count(base, nil) // yields the error
	}
	return true
}

// goesOn reports whether the read goes on, given what the fold has returned.
func (r *windowsReading) goesOn(base event, more bool, err error) bool {
	if err != nil {
		return r.failWith(err)
	}
	if !more || r.stopped {
		return r.end()
	}
	if r.alone > 0 && r.reading.op.Events+eventsOfRun*r.reading.op.Runs >= r.alone {
		r.alone, r.parts = 0, r.split(base)
	}
	return true
}
