package store

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/batch"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// eraser deletes the events of one table that have one mapping. It reads their rows
// without values and deletes what belongs to the events.
type eraser struct {
	ctx     context.Context
	table   int     // index in Writer.tables
	reader  *Reader // reads everything that is stored
	mapping *mapping
	settler *settler // of a table of states; else nil
	timeout time.Duration
	marker  *marker // of the table
	now     func() time.Time
	options DeleteOptions
	total   *Deletion
	sum     *TableDeletion // of total
	limit   int            // of mutations in a request

	// The fields below are used by concurrent readings.
	mu        sync.Mutex
	op        request.Operation
	pending   []erasedRow
	size      int           // of the pending mutations, in bytes
	counts    TableDeletion // what the pending mutations delete
	undeleted error         // the first error of isUndeleted
}

// erasedRow contains pending mutations of one row.
type erasedRow struct {
	key      string
	mutation *bigtable.Mutation
	start    time.Time     // of the bucket, in a table with a rollup
	gone     rollup.Ranges // which of its times are deleted
}

// eraser returns an eraser for one table of the writer. It adds its counts to d.
func (w *Writer) eraser(table int, name string, o DeleteOptions, d *Deletion) *eraser {
	t := &w.tables[table]
	r := w.reader(table, t.shape.AllCells(), name)
	return &eraser{
		table: table, reader: r, mapping: t.mapping, timeout: t.timeout, marker: t.marker, now: w.options.Now, options: o,
		total: d, sum: &d.Tables[t.number], limit: w.perRequest, op: request.Operation{Name: name, Table: t.id},
	}
}

// reader returns a reader of one table of the writer, as if it had another shape.
func (w *Writer) reader(table int, shape scan.Table, name string) *Reader {
	t := &w.tables[table]
	r := t.mapping.reader(ReaderOptions{Now: w.options.Now, Timeout: w.options.Timeout}, t.id, t.api, t.wire.allowed, shape)
	r.whole.Name = name
	for i := range w.tables { // events that only other tables can store are not in this one
		if i != table {
			r.whole.others = append(r.whole.others, &query{Spans: w.tables[i].mapping.Spans})
		}
	}
	return r
}

// erasing is the deletion of the events that a query selects.
type erasing struct {
	*eraser
	reading reading
	a       *rowAssembler         // of the reading
	of      map[exactInstant]bool // the events to delete, and whether they were found; nil for all of the range
	key     string                // of the current row
	columns int                   // number of mutations of the row
	start   time.Time             // of the row's bucket, in a table with a rollup
	gone    rollup.Ranges         // which of its times are deleted
	most    map[stamp]int         // how many events of each stamp the rows of a bucket have shown so far
}

// events deletes the events that a query selects with from <= time < to: those in of, or all
// if it is nil.
func (t *eraser) events(q *query, v bound, from, to time.Time, of map[exactInstant]bool) error {
	if t.settler != nil {
		return t.settler.events(t, q, v, from, to, of)
	}
	return t.read(q, v, from, to, of)
}

// read reads the rows with the events that a query selects, and deletes these events.
func (t *eraser) read(q *query, v bound, from, to time.Time, of map[exactInstant]bool) error {
	e := t.erasing(q, v, from, to)
	e.of, e.most = of, map[stamp]int{}
	if t.marker != nil {
		e.reading.runs = scan.BesideRuns
	}
	return e.each(func(p request.Part) error {
		if t.mapping.Pattern.RowPerField() {
			return e.metrics(p)
		}
		return e.rows(p, e.row)
	})
}

// erasing returns the deletion of the events that a query selects with from <= time < to.
func (t *eraser) erasing(q *query, v bound, from, to time.Time) *erasing {
	e := &erasing{eraser: t, reading: t.reader.begin(t.ctx, q, v.low, from, to, nil)}
	e.reading.high, e.reading.withoutValues = v.high, true
	e.a = &e.reading.assembler.rowAssembler
	return e
}

// each calls f for the parts of the time range.
func (e *erasing) each(f func(p request.Part) error) error {
	plan, err := e.reading.plan()
	for i := 0; i < len(plan.Parts) && err == nil; i++ {
		err = f(request.Part{Part: &plan.Parts[i], Turns: make(chan struct{}, 1)})
	}
	e.eraser.counted(e.reading.op)
	return err
}

// rows calls f for the rows of each span of a part of the time range.
func (e *erasing) rows(p request.Part, f func(row wire.Row, span int) error) error {
	r := &e.reading
	for span := range r.asked.Spans {
		if !p.Reads(span) {
			continue
		}
		for row, err := range r.reader.table.SpanRows(r.ctx, &r.op, p, span, always) {
			if err == nil {
				err = f(row, span)
				row.Release()
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// metrics deletes the events of a part of the time range in a table with rows for each
// field, bucket by bucket.
func (e *erasing) metrics(p request.Part) (failed error) {
	p.Turns = nil
	e.reading.severalSpans(p).Merged(func(rows []wire.Row, err error) bool {
		if err != nil {
			failed = e.skip(err)
			return failed == nil
		}
		defer release(rows)
		clear(e.most)
		torn := e.tearsAny(rows)
		for i, row := range rows {
			if failed == nil && row.Exists() && !torn {
				failed = e.row(row, i)
			}
		}
		return failed == nil
	})
	return failed
}

// tearsAny reports whether any row of a bucket is torn; see tears. An event has a row for each field.
func (e *erasing) tearsAny(rows []wire.Row) (torn bool) {
	for i, row := range rows {
		if !row.Exists() {
			continue
		}
		if at, ours, err := e.begin(row, i); ours && err == nil {
			if err := e.tears(at, row, e.sequence()); err != nil {
				e.unfinished(err)
				torn = true
			}
		}
	}
	return torn
}

// skip records a row or column that cannot be decoded. It returns any other error.
func (t *eraser) skip(err error) error {
	switch {
	case err == request.ErrForeign:
		return nil
	case !isDecodeError(err):
		return err
	}
	t.unfinished(err)
	return nil
}

// unfinished records what is not deleted.
func (t *eraser) unfinished(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.undeleted = cmp.Or(t.undeleted, err)
}

// begin begins with a row of a span. It returns the time in its key, and false if the query
// does not select its series.
func (e *erasing) begin(row wire.Row, span int) (at time.Time, ours bool, err error) {
	if at, err = e.reading.assembler.timeOf(row); err != nil {
		return at, false, e.skip(err)
	}
	if e.reading.assembler.match != nil && !e.reading.assembler.match(e.reading.assembler.base) {
		return at, false, nil
	}
	if of := &e.reading.asked.Spans[span]; of.Suffix != "" {
		spans, err := e.reading.q.Spans(e.reading.assembler.base)
		if err != nil || spans[span].Prefix != of.Prefix || spans[span].Suffix != of.Suffix {
			return at, false, nil
		}
	}
	e.key, e.columns = row.Key(), 0
	if e.marker != nil {
		e.start, e.gone = at, e.goneIn(at)
	}
	return at, true, nil
}

// row deletes the events of a row of a span.
func (e *erasing) row(row wire.Row, span int) error {
	at, ours, err := e.begin(row, span)
	if !ours || err != nil || e.marker != nil && e.erased(row) {
		return err
	}
	if torn := e.tears(at, row, e.sequence()); torn != nil {
		e.unfinished(torn)
		return nil
	}
	events, err := e.mapping.form().erase(e, at, row)
	if err == nil && e.columns == 0 && e.marker != nil && !e.marker.table.Whole(at, e.now()) && hasFamily(row, e.marker.name) {
		err = e.mutate(0, 0, func(*bigtable.Mutation) {}) // a run may have events that have expired
	}
	if err != nil {
		return err
	}
	e.counted(events)
	return nil
}

// erased reports whether a row of a table with a rollup has only cells of deletions.
func (e *erasing) erased(row wire.Row) bool {
	return !slices.ContainsFunc(row.Columns(), func(c wire.Column) bool {
		return string(row.Bytes(c.Family)) != e.marker.name || !rollup.IsDeletion(string(row.Bytes(c.Qualifier)))
	})
}

// goneIn returns which times of a bucket are deleted.
func (e *erasing) goneIn(start time.Time) rollup.Ranges {
	end := e.marker.table.Bucket.End(start)
	if e.of == nil {
		from, to := e.a.from, e.a.to
		if from.Before(start) {
			from = start
		}
		return rollup.NewRanges([]rollup.Range{{From: from.Sub(start), To: codec.Earlier(to, end).Sub(start)}})
	}
	var all []rollup.Range
	for at := range e.of {
		if t := codec.FromMicros(at.Micros).Add(time.Duration(at.nanos)); !t.Before(start) && t.Before(end) {
			all = append(all, rollup.Range{From: t.Sub(start), To: t.Sub(start) + 1})
		}
	}
	return rollup.NewRanges(all)
}

// hasFamily reports whether a row has cells of a family.
func hasFamily(row wire.Row, family string) bool {
	return slices.ContainsFunc(row.Columns(), func(c wire.Column) bool { return string(row.Bytes(c.Family)) == family })
}

// sequence returns the sequence number in the key of the current row, if there is one.
func (e *erasing) sequence() uint32 {
	return e.mapping.sequenceOf(e.reading.assembler.base)
}

// stamp identifies the events of a row that have the same class and time.
type stamp struct {
	class  int
	micros int64
}

// includes reports whether to delete the event at a time.
func (e *erasing) includes(at time.Time, sequence uint32) bool {
	if !e.a.wanted(at) {
		return false
	}
	if e.of == nil {
		return true
	}
	instant := exactly(at, sequence)
	_, is := e.of[instant]
	if is {
		e.of[instant] = true
	}
	return is
}

// whole reports whether to delete everything in a bucket.
func (e *erasing) whole(start time.Time) bool {
	return e.of == nil && e.a.wanted(start) && !e.a.shape.Offset.Bucket.End(start).After(e.a.to)
}

// An event with a separate row may be there once for each class.
func (eventRows) erase(e *erasing, at time.Time, row wire.Row) (events int, err error) {
	if !e.includes(at, e.sequence()) {
		return 0, nil
	}
	return max(1, len(e.classes(row))), e.eraseFamilies(row)
}

// classes returns the classes of the families with cells in the row; none if the
// mapping has no classes.
func (e *erasing) classes(row wire.Row) (classes []int) {
	for family := range e.a.columnsOf(row) {
		if class := e.a.families[family].Class; class > 0 && !slices.Contains(classes, class) {
			classes = append(classes, class)
		}
	}
	return classes
}

// eraseFamilies deletes all cells of the row in the families of the mapping. In a table with a rollup, one mutation deletes
// these families, whether or not the row had them when it was read, and that of the rollup: a mark goes only with
// all events that it may be of.
func (e *erasing) eraseFamilies(row wire.Row) error {
	if e.marker != nil {
		families, names := []string{e.marker.name}, len(e.marker.name)
		for i := range e.a.families {
			families, names = append(families, e.a.families[i].Name), names+len(e.a.families[i].Name)
		}
		return e.mutate(len(families), names, func(m *bigtable.Mutation) {
			for _, name := range families {
				m.DeleteCellsInFamily(name)
			}
		})
	}
	last := -1
	for family := range e.a.columnsOf(row) {
		if family == last {
			continue
		}
		last = family
		name := e.a.families[family].Name
		if err := e.mutate(1, len(name), func(m *bigtable.Mutation) { m.DeleteCellsInFamily(name) }); err != nil {
			return err
		}
	}
	return nil
}

func (offsetRows) erase(e *erasing, start time.Time, row wire.Row) (events int, err error) {
	times, whole := e.a.shape.Offset.In(start), e.whole(start)
	var before *wire.Column
	for family, c := range e.a.columnsOf(row) {
		again := before != nil && row.Same(before, c)
		before = c
		if again {
			continue // an older cell of the same event
		}
		qualifier := string(row.Bytes(c.Qualifier))
		micros, sequence, ok := times.Parse(row.Bytes(c.Qualifier))
		switch {
		case !ok && whole: // deleted with the family
		case !ok:
			if err := e.skip(e.a.fail(e.key, qualifier, time.Time{}, times.Refuse(row.Bytes(c.Qualifier)))); err != nil {
				return events, err
			}
		case whole:
			events++
		case e.includes(codec.FromMicros(micros), sequence):
			events++
			name := e.a.families[family].Name
			if err := e.mutate(1, len(name)+len(qualifier), func(m *bigtable.Mutation) { m.DeleteCellsInColumn(name, qualifier) }); err != nil {
				return events, err
			}
		}
	}
	if whole {
		return events, e.eraseFamilies(row)
	}
	return events, nil
}

func (cellRows) erase(e *erasing, at time.Time, row wire.Row) (events int, err error) {
	found := map[stamp]bool{}
	err = e.cells(at, row, e.sequence(), func(of stamp) { found[of] = true })
	return len(found), err
}

func (metricRows) erase(e *erasing, at time.Time, row wire.Row) (events int, err error) {
	found := map[stamp]int{}
	err = e.cells(at, row, e.sequence(), func(of stamp) { found[of]++ })
	for of, n := range found {
		events += max(0, n-e.most[of])
		e.most[of] = max(n, e.most[of])
	}
	return events, err
}

// cells deletes the events of a bucket whose cells have the time as their timestamp. It
// calls found for each cell that contains data of an event. The row must not be torn.
func (e *erasing) cells(start time.Time, row wire.Row, sequence uint32, found func(stamp)) error {
	if e.whole(start) {
		for family, c := range e.a.columnsOf(row) {
			for _, cell := range row.Cells(c) {
				e.finds(row, family, c, cell, found)
			}
		}
		return e.eraseFamilies(row)
	}
	for family, c := range e.a.columnsOf(row) {
		for _, r := range e.erasable(start, row, c, sequence, func(cell wire.Cell) { e.finds(row, family, c, cell, found) }) {
			if err := e.eraseCells(row, e.a.families[family].Name, c, r.from, r.to); err != nil {
				return err
			}
		}
	}
	return nil
}

// finds calls found for a cell of an event that is to be deleted, if it contains data of the event.
func (e *erasing) finds(row wire.Row, family int, c *wire.Column, cell wire.Cell, found func(stamp)) {
	class, column := e.a.families[family].Class, 0
	if e.a.shape.Pattern.Naming() == codec.NamedByField {
		column = e.a.column(family, class, row.Bytes(c.Qualifier))
	}
	if column >= 0 && !e.a.columns[column].WrittenAt {
		found(stamp{class, cell.Micros})
	}
}

// stamps is a range of timestamps, in whole milliseconds.
type stamps struct{ from, to int64 }

// erasable returns the ranges of timestamps to delete from a column: all of the time range, or the
// milliseconds of the events; none if it has no cell of an event that is to be deleted. It calls found for each.
func (e *erasing) erasable(start time.Time, row wire.Row, c *wire.Column, sequence uint32, found func(cell wire.Cell)) (out []stamps) {
	for _, cell := range row.Cells(c) {
		if !e.includes(codec.FromMicros(cell.Micros), sequence) {
			continue
		}
		found(cell)
		ms := cell.Micros - cell.Micros%1000
		switch n := len(out); {
		case n > 0 && (e.of == nil || out[n-1].from == ms):
		case e.of == nil:
			end := e.a.shape.Offset.Bucket.End(start)
			out = append(out, stamps{max(wholeMillis(start), wholeMillis(e.a.from)), min(wholeMillis(end), wholeMillis(e.a.to))})
		default:
			out = append(out, stamps{ms, ms + 1000})
		}
	}
	return out
}

// tears returns the error for a row of which deletions, which take whole milliseconds, would take cells
// of other events, or leave some; nil if there are none. Only rows of other programs have any.
func (e *erasing) tears(start time.Time, row wire.Row, sequence uint32) (torn error) {
	if !e.a.shape.Pattern.EventTimed() || e.whole(start) {
		return nil
	}
	for _, c := range e.a.columnsOf(row) {
		cells := row.Cells(c)
		if !slices.ContainsFunc(cells, func(cell wire.Cell) bool { return cell.Micros%1000 != 0 }) {
			continue
		}
		ranges := e.erasable(start, row, c, sequence, func(wire.Cell) {})
		for _, cell := range cells {
			at := codec.FromMicros(cell.Micros)
			gone := slices.ContainsFunc(ranges, func(r stamps) bool { return r.from <= cell.Micros && cell.Micros < r.to })
			if gone != e.includes(at, sequence) {
				torn = &MicrosError{Table: e.reader.table.ID, Row: row.Key(), Time: at}
			}
		}
	}
	return torn // after all events that are there were noted
}

// eraseCells deletes the cells of a column with timestamps in [from, to), in
// microseconds.
func (e *erasing) eraseCells(row wire.Row, family string, c *wire.Column, from, to int64) error {
	qualifier := string(row.Bytes(c.Qualifier))
	return e.mutate(1, len(family)+len(qualifier), func(m *bigtable.Mutation) {
		m.DeleteTimestampRange(family, qualifier, bigtable.Timestamp(from), bigtable.Timestamp(to))
	})
}

// wholeMillis returns a time in microseconds, rounded up to a whole millisecond as
// Bigtable requires of cell timestamps; 0 for times before 1970.
func wholeMillis(t time.Time) int64 { return max(0, codec.CeilMicros(t)) }

// mutationOverhead is the maximum size of a delete mutation in a request besides the
// names of the family and the column, in bytes.
const mutationOverhead = 48

// mutate adds some mutations of the current row, with names of the given size, which are in one request.
func (e *erasing) mutate(mutations, names int, add func(m *bigtable.Mutation)) error {
	t := e.eraser
	t.mu.Lock()
	defer t.mu.Unlock()
	e.columns++
	if t.options.DryRun {
		if t.counts.Mutations += mutations; e.columns == 1 && t.marker != nil {
			t.counts.Mutations++ // the mark
		}
		return nil
	}
	size := names + mutations*mutationOverhead
	n := len(t.pending)
	if n == 0 || t.pending[n-1].key != e.key {
		size += wire.EntrySize([]byte(e.key), 0)
		if t.marker != nil {
			mutations, size = mutations+1, size+mutationOverhead+20*len(e.gone)
		}
	}
	if n > 0 && (t.counts.Mutations+mutations > t.limit || t.size+size > batch.MaxRequest) {
		if err := t.send(); err != nil {
			return err
		}
		n = 0
	}
	if n == 0 || t.pending[n-1].key != e.key {
		t.pending = append(t.pending, erasedRow{e.key, bigtable.NewMutation(), e.start, e.gone})
		n++
	}
	add(t.pending[n-1].mutation)
	t.counts.Mutations += mutations
	t.size += size
	return nil
}

// counted counts the current row, if it has mutations, and events.
func (e *erasing) counted(events int) {
	t := e.eraser
	t.mu.Lock()
	defer t.mu.Unlock()
	t.counts.Events += events
	if e.columns > 0 {
		t.counts.Rows++
		e.columns = 0
	}
}

// flush sends the pending mutations.
func (t *eraser) flush() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.send()
}

// send sends the pending mutations and then counts what they have deleted.
func (t *eraser) send() error {
	if len(t.pending) > 0 {
		keys, mutations := make([]string, len(t.pending)), make([]*bigtable.Mutation, len(t.pending))
		for i, row := range t.pending {
			if t.marker != nil {
				t.marker.deletion(row.mutation, row.start, row.gone)
			}
			keys[i], mutations[i] = row.key, row.mutation
		}
		t.op.Requests++
		t.op.OrdinaryRequests++
		if err := t.apply(keys, mutations); err != nil {
			return err
		}
	}
	sum := t.sum
	sum.Events, sum.Rows, sum.Mutations = sum.Events+t.counts.Events, sum.Rows+t.counts.Rows, sum.Mutations+t.counts.Mutations
	t.op.Events += t.counts.Events
	t.pending, t.size, t.counts = nil, 0, TableDeletion{}
	if t.options.Progress != nil {
		t.options.Progress(*t.total)
	}
	return nil
}

// apply sends mutations. It returns the error of the first row that failed.
func (t *eraser) apply(keys []string, mutations []*bigtable.Mutation) error {
	ctx, cancel := call.Within(t.ctx, t.timeout)
	defer cancel()
	errs, err := t.reader.table.API.ApplyBulk(ctx, keys, mutations)
	if err != nil {
		return &DeleteError{Table: t.reader.table.ID, Row: keys[0], Err: missing(t.reader.table.ID, call.Explain(ctx, err))}
	}
	for i, err := range errs {
		if err != nil {
			return &DeleteError{Table: t.reader.table.ID, Row: keys[i], Err: missing(t.reader.table.ID, call.Explain(ctx, err))}
		}
	}
	return nil
}

// isExpired reports whether a table does not store an event because it has expired.
func isExpired(err error) bool { return errors.Is(err, codec.ErrExpired) }
