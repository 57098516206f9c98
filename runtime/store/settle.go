package store

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// settler repairs rows of a table of states during a deletion, in these steps, which TestStateOrders
// explores:
//
//  1. The rows of all series that the deletion may concern get a mark: a cell in a column of this call
//     alone, at the time of the newest event that may be deleted. From now on, readers search the
//     events of the series, unless the row has a newer event.
//  2. The events are deleted from the other tables.
//  3. Each marked row is repaired: the newest event that is left is searched, and one request deletes all
//     cells up to the time of the mark, since an older version may have been deleted before, or lack what a
//     newer one hides, and writes the event with its own time, so that it replaces no newer one. It is
//     executed only if the row has the mark, and replaces the mark by another one. If the row has a newer
//     event than the mark, it only deletes. The sums of versions up to the time of the mark are deleted, too, and a request of its
//     own adds that of the event: writes that arrive later thus show.
//  4. The search is repeated. If it finds something else, another program has changed or deleted what
//     was written, and step 3 is repeated. Otherwise, the mark is removed.
//
// So each request of step 3 is executed at most once, and only while its call has not ended, however often
// and late it arrives: the row then lacks its mark. The other requests may arrive late without harm: a
// mark lets readers search, and no other call sets the one whose removal arrives. (Only if three requests
// of one call were executed again after its end, and in their order, they would repeat the repair: the
// first mark, the change, and the removal of the second mark.)
//
// A call that stops between two steps leaves its mark. Readers then search until an event arrives that
// is newer than the mark, the mark expires, or a deletion or a back-fill with Repair removes it: these remove the marks of
// other calls if they are older than a day, since younger calls may still be running. The mark of no call,
// which writers with IfAbsent set, is removed by each of them: the second search finds what it stands for.
type settler struct {
	writer *Writer
	state  int     // index of the table in writer.tables
	column string  // what the columns of the marks begin with
	search *Reader // of the events; nil if the writer does not know them
	strict *Reader // of the events, with an error for what is not known whole; nil if none are serialized
	alone  *Writer // of the table of states
	repair bool    // step 3
}

// maxMark is the maximum size of the family and the value of a mark.
const maxMark = 64 + 8

// maxMarkAge is the age from which a mark is that of a call that was killed.
const maxMarkAge = 24 * time.Hour

// newSettler returns a settler for the table of states of a writer.
func (w *Writer) newSettler(state int) *settler {
	s := &settler{writer: w, state: state, column: newMark()}
	o := w.options
	o.SkipExpired, o.KeepWrittenAt = true, true
	s.alone = &Writer{options: o, tables: w.tables[state : state+1], perRequest: w.perRequest}
	s.alone.stages.New = func() any { return newStage(s.alone) }
	if w.events != nil {
		of := ReaderOptions{TablePrefix: o.TablePrefix, Now: o.Now, Timeout: o.Timeout}
		if s.search = newReader(w.client, w.events, of); w.events.serializes() {
			s.strict = newReader(w.client, w.events.strict(), of)
		}
	}
	return s
}

// eraseMarked is eraseIn for a writer with a table of states.
func (w *Writer) eraseMarked(ctx context.Context, name string, o DeleteOptions, order []int, state int, d Deletion, of func(t *eraser) error) (Deletion, error) {
	s := w.newSettler(state)
	ofState := func(d *Deletion) error {
		t := w.eraser(state, name, o, d)
		t.settler = s
		return w.eraseWith(ctx, t, of)
	}
	if err := ofState(&d); err != nil {
		return d, err
	}
	d, undeleted := w.eraseIn(ctx, name, o, order, d, of)
	if o.DryRun || undeleted != nil && !isUndeleted(undeleted) {
		return d, undeleted
	}
	s.repair = true
	return d, cmp.Or(ofState(&d), undeleted)
}

// isUndeleted reports whether an error is that of an event that stays, and not one that ends a deletion.
func isUndeleted(err error) bool {
	_, micros := err.(*MicrosError)
	return micros || isDecodeError(err)
}

// events marks or repairs the rows of the series that a query selects.
func (s *settler) events(t *eraser, q *query, v bound, from, to time.Time, of map[exactInstant]bool) error {
	if of == nil {
		return s.rows(t, q, v, from, to)
	}
	gone := func(micros int64) bool {
		_, is := of[exactly(time.UnixMicro(micros), 0)]
		return is && micros >= 0
	}
	key, err := t.mapping.rowKey(v.low, "")
	switch {
	case err != nil:
		return t.skipSeries(err)
	case t.options.DryRun:
		found, err := s.show(t, string(key))
		if gone(found.newest) {
			t.deletedNewest()
		}
		return err
	case s.repair:
		return s.settle(t, string(key), gone)
	}
	last := int64(0)
	for at := range of {
		last = max(last, at.Micros)
	}
	return s.mark(t, string(key), last)
}

// skipSeries ignores a series that the table cannot store.
func (t *eraser) skipSeries(err error) error {
	if _, refused := errors.AsType[*codec.FieldError](err); refused {
		return nil
	}
	return err
}

// mark marks a row.
func (s *settler) mark(t *eraser, key string, micros int64) error {
	r := &erasing{eraser: t, key: key}
	now := s.writer.options.Now()
	return r.mutate(1, len(s.column)+maxMark, func(m *bigtable.Mutation) { t.mapping.mark(m, s.column, micros, now) })
}

// maxSettled is the number of rows that are repaired concurrently.
const maxSettled = 64

// rows marks or repairs the rows that a query selects.
func (s *settler) rows(t *eraser, q *query, v bound, from, to time.Time) error {
	var keys []string
	gone := func(micros int64) bool { return wholeMillis(from) <= micros && micros < wholeMillis(to) }
	flush := func() error {
		errs := make([]error, len(keys))
		s.writer.atOnce(len(keys), func(i int) { errs[i] = s.settle(t, keys[i], gone) })
		keys = keys[:0]
		return errors.Join(errs...)
	}
	err := t.eachRow(q, v, func(a *assembler, row wire.Row) error {
		found := a.stateRow(row, s.column)
		switch {
		case t.options.DryRun:
			if gone(found.newest) {
				t.deletedNewest()
			}
			return nil
		case s.repair && found.own < 0, !s.repair && found.last < wholeMillis(from):
			return nil
		case !s.repair:
			return s.mark(t, row.Key(), min(found.last, wholeMillis(to)-1))
		}
		if keys = append(keys, row.Key()); len(keys) < maxSettled {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// eachRow calls f for each row that a query selects, with one cell of each column.
func (t *eraser) eachRow(q *query, v bound, f func(a *assembler, row wire.Row) error) error {
	e := t.erasing(q, v, time.Time{}, scan.MaxTime)
	return e.each(func(p request.Part) error {
		return e.rows(p, func(row wire.Row, span int) error {
			_, ours, err := e.begin(row, span)
			if err == nil && ours {
				err = f(&e.reading.assembler, row)
			}
			return err
		})
	})
}

// stateRow is what a row of a table of states shows. Times are in microseconds, and -1 if there is none.
type stateRow struct {
	newest  int64    // of the columns of events
	last    int64    // of all columns
	own     int64    // the last mark of a call, or one in past; -1 if the call has none
	mark    string   // its column
	marked  int64    // the last mark of others
	columns []string // apart from marks
	past    []string // the columns of marks that a change removes: of the call, of none, and of calls that were killed
	strange int      // the number of those of others
	mixed   bool     // the newest event may have had other versions
}

// noState is a row that shows nothing.
func noState() stateRow { return stateRow{newest: -1, last: -1, own: -1, marked: -1} }

// stateRow returns what a row shows. own is what the columns of the marks of a call begin with. The values
// of marks must have been read to know which calls were killed.
func (a *rowAssembler) stateRow(row wire.Row, own string) stateRow {
	s, replaced := noState(), int64(-1)
	for family, c := range a.columnsOf(row) {
		name, newest := string(row.Bytes(c.Qualifier)), row.Cells(c)[0]
		s.last = max(s.last, newest.Micros)
		switch {
		case strings.HasPrefix(name, own):
			if s.own = max(s.own, newest.Micros); len(name) > len(s.mark) { // the first one may have arrived again
				s.mark = name
			}
			s.past = append(s.past, name)
		case isMark(row, c):
			s.marked = max(s.marked, newest.Micros)
			if at := markedAt(row.Bytes(newest.Value)); name == markOfNone || !at.IsZero() && a.now().Sub(at) > maxMarkAge {
				s.past, s.strange, replaced = append(s.past, name), s.strange+1, max(replaced, newest.Micros)
			}
		default:
			s.columns = append(s.columns, name)
			if a.column(family, 0, row.Bytes(c.Qualifier)) >= 0 {
				s.newest = max(s.newest, newest.Micros)
			}
		}
	}
	if s.own >= 0 {
		s.own = max(s.own, replaced)
	}
	return s
}

// settle repairs a marked row. If its events keep changing, or if one of them cannot be decoded or
// stored in the row, or may have fields that are unknown, the mark stays, and readers search. The row counts if it showed one of the
// events that are gone, as it does in a dry run.
func (s *settler) settle(t *eraser, key string, gone func(micros int64) bool) error {
	before, cleared := int64(-1), "" // the newest event at first, and the mark with which old cells were deleted
	for range maxRounds {
		found, err := s.show(t, key)
		before = max(before, found.newest)
		switch {
		case err != nil || found.own < 0:
			return err
		case found.newest <= found.own:
			if done, err := s.round(t, key, &found, gone(before)); done || err != nil {
				return err
			}
		case found.mark == cleared:
			return s.unmark(t, key, cleared)
		default: // another deletion may remove the newer event meanwhile
			if cleared, err = s.change(t, key, &found, found.own, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// change deletes the cells of a row up to a time and writes those of an event, which may be nil, if the row
// has the mark that was found. It returns the mark that is there then; empty if the row was not changed,
// or if this is unknown. Repeating the request changes nothing if it was executed before.
func (s *settler) change(t *eraser, key string, found *stateRow, up int64, cells *stateCells) (mark string, err error) {
	family, m := t.mapping.Table.Families[0].Name, bigtable.NewMutation()
	for _, name := range found.columns {
		m.DeleteTimestampRange(family, name, 0, bigtable.Timestamp(up+1000))
	}
	t.mapping.forgetVersions(m, up)
	for _, name := range append(found.past, s.column) {
		m.DeleteCellsInColumn(family, name)
	}
	if cells != nil {
		new(wire.Converter).AddTo(m, cells.mutations)
	}
	mark = s.column + newMark()[len(markPrefix):]
	t.mapping.mark(m, mark, up, s.writer.options.Now())
	marked := bigtable.ColumnRangeFilter(family, found.mark, found.mark+"\x00")
	matched := false
	if err := s.apply(t, key, bigtable.NewCondMutation(marked, m, nil), bigtable.GetCondMutationResult(&matched)); err != nil || !matched {
		return "", err
	}
	if cells == nil {
		return mark, nil
	}
	m = bigtable.NewMutation() // conditional requests cannot add
	new(wire.Converter).AddTo(m, t.mapping.appendVersion(nil, cells.mutations))
	return mark, s.apply(t, key, m)
}

// unmark removes a mark of this call, and the first one, which may have arrived again.
func (s *settler) unmark(t *eraser, key, mark string) error {
	m := bigtable.NewMutation()
	for _, name := range []string{s.column, mark} {
		m.DeleteCellsInColumn(t.mapping.Table.Families[0].Name, name)
	}
	return s.apply(t, key, m)
}

// show reads a row.
func (s *settler) show(t *eraser, key string) (stateRow, error) {
	op := request.Operation{}
	rows := codec.Rows{Keys: []string{key}}
	families := []string{t.mapping.Table.Families[0].Name, t.mapping.sumFamily()}
	filter := t.reader.table.Filters.Of(scan.Chain{scan.Cells{Families: families}, scan.CellsPerColumn(1)})
	row, err := t.reader.table.One(t.ctx, &op, rows, filter, 0)
	t.counted(op)
	if err != nil || !row.Exists() {
		return noState(), err
	}
	defer row.Release()
	a := t.reader.rowAssembler()
	found := a.stateRow(row, s.column)
	found.mixed = !a.oneVersion(row, found.newest)
	return found, nil
}

// counted adds to the operation.
func (t *eraser) counted(op request.Operation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.op.Add(&op)
}

// round is a round of steps 3 and 4 in a row; counts is whether it showed an event that is deleted. It reports whether the row is
// repaired, or cannot be.
func (s *settler) round(t *eraser, key string, found *stateRow, counts bool) (done bool, err error) {
	newest, cells, err := s.newest(t, key)
	if err != nil || newest.exists() && cells == nil {
		return true, err
	}
	up := found.own
	if newest.exists() {
		if knows, err := s.knows(t, newest); err != nil || !knows {
			return true, err // the mark stays
		}
		up = max(up, cells.micros)
	}
	mark, err := s.change(t, key, found, up, cells)
	if err != nil || mark == "" {
		return false, err
	}
	other, again, err := s.newest(t, key)
	if err != nil || newest.exists() != other.exists() || !cells.equal(again) {
		return false, err
	}
	if counts {
		t.deletedNewest()
	}
	return true, s.unmark(t, key, mark)
}

// deletedNewest counts a row whose newest event is deleted.
func (t *eraser) deletedNewest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sum.Events++
	t.sum.Rows++
}

// apply sends mutations of a row. The client does not repeat conditional ones.
func (s *settler) apply(t *eraser, key string, m *bigtable.Mutation, opts ...bigtable.ApplyOption) error {
	ctx, cancel := call.Within(t.ctx, t.timeout)
	defer cancel()
	unavailable := func(err error) bool { return status.Code(err) == codes.Unavailable }
	err := call.Again(ctx, 20*time.Millisecond, unavailable, func() error {
		t.counted(request.Operation{Requests: 1, OrdinaryRequests: 1})
		return t.reader.table.API.Apply(ctx, key, m, opts...)
	})
	if err != nil {
		return &DeleteError{Table: t.reader.table.ID, Row: key, Err: missing(t.reader.table.ID, call.Explain(ctx, err))}
	}
	return nil
}

// stateCells are the cells of an event in the table of states.
type stateCells struct {
	micros    int64 // the time of the event
	mutations []byte
}

// equal reports whether two events have the same cells; nil stands for no event.
func (c *stateCells) equal(o *stateCells) bool {
	return c == nil && o == nil || c != nil && o != nil && c.micros == o.micros && bytes.Equal(c.mutations, o.mutations)
}

// newest searches the newest event of the series of a row, and encodes its cells; nil if the row cannot
// have them. The event is zero if there is none that lives.
func (s *settler) newest(t *eraser, key string) (newest event, cells *stateCells, err error) {
	base, err := t.mapping.ofKey(key)
	if s.search == nil || err != nil {
		return base, nil, nil // the mark stays
	}
	op := request.Operation{}
	defer func() { t.counted(op) }()
	spans, err := s.search.whole.find(bound{low: base})
	if err != nil {
		return event{}, nil, t.skipSeries(err)
	}
	newest, err = s.search.latestOrOlder(t.ctx, &op, base, spans)
	switch l := t.mapping; {
	case errors.Is(err, ErrNotFound):
		return event{}, nil, nil
	case isDecodeError(err):
		return base, nil, nil
	case err != nil:
		return event{}, nil, err
	case !l.timeFits(newest):
		return newest, nil, nil
	}
	cells, err = s.cellsOf(newest)
	if isExpired(err) {
		return event{}, nil, nil
	}
	if err != nil {
		return newest, nil, nil // the table of states cannot store it
	}
	return newest, cells, nil
}

// cellsOf encodes an event.
func (s *settler) cellsOf(e event) (*stateCells, error) {
	stage := s.alone.stages.Get().(*stage)
	defer stage.release()
	stage.at(s.writer.options.Now())
	stage.layOut(0, e)
	of := &stage.tables[0]
	return &stateCells{of.instant.Micros, slices.Clone(of.cells.mutations)}, of.err
}

// raise makes a row have the newest event of its series, and deletes what else it has up to a time, in
// microseconds; 0 for a row that has nothing newer than the event.
func (s *settler) raise(t *eraser, key string, up int64) error {
	_, cells, err := s.newest(t, key)
	if err != nil {
		return err
	}
	if cells != nil {
		up = max(up, cells.micros)
	}
	if cells == nil && up <= 0 {
		return nil
	}
	if err := s.mark(t, key, up); err != nil {
		return err
	}
	if err := t.flush(); err != nil {
		return err
	}
	return s.settle(t, key, func(int64) bool { return false })
}

// While programs are replaced, some of them know fewer fields than others. Such a program repairs no row
// with an event of which it may not know all fields: its copy would lack them. The mark stays, and
// readers search.

// errPartly is the error for a serialized event that the program would serialize to other bytes.
var errPartly = errors.New("serialized with fields that are unknown, or in another way")

// knows reports whether the stored newest event of a series has nothing but what the program knows of it.
func (s *settler) knows(t *eraser, newest event) (bool, error) {
	op := request.Operation{}
	defer func() { t.counted(op) }()
	if s.strict != nil {
		base := t.mapping.clone(newest)
		spans, err := s.strict.whole.find(bound{low: base})
		if err != nil {
			return false, t.skipSeries(err)
		}
		switch _, err := s.strict.latestOrOlder(t.ctx, &op, base, spans); {
		case isDecodeError(err):
			return false, nil
		case err != nil && !errors.Is(err, ErrNotFound): // else, it was deleted: the search is repeated
			return false, err
		}
	}
	r := s.search
	at := *r.mapping.Time(newest)
	for i := 0; i < len(s.search.older) && at.Before(r.mapping.Since); i++ {
		r = s.search.older[i]
	}
	if !r.mapping.Pattern.FieldColumns() {
		return true, nil
	}
	key, err := r.mapping.rowKey(newest, "")
	if err != nil {
		return false, t.skipSeries(err)
	}
	filter := bigtable.ChainFilters(bigtable.LatestNFilter(1), bigtable.StripValueFilter())
	if r.mapping.Pattern.Bucketed() {
		ms := at.Truncate(time.Millisecond)
		filter = bigtable.ChainFilters(bigtable.TimestampRangeFilter(ms, ms.Add(time.Millisecond)), filter)
	}
	row, err := r.table.One(t.ctx, &op, codec.Rows{Keys: []string{string(key)}}, filter, 0)
	if err != nil || !row.Exists() {
		return err == nil, err
	}
	defer row.Release()
	a := r.rowAssembler()
	return !slices.ContainsFunc(row.Columns(), func(c wire.Column) bool {
		family, qualifier := row.Bytes(c.Family), row.Bytes(c.Qualifier)
		n := slices.IndexFunc(a.families, func(f Family) bool { return f.Name == string(family) })
		return n < 0 || a.column(n, a.families[n].Class, qualifier) < 0
	}), nil
}

// serializes reports whether the mapping, or an earlier one, stores an event as one value.
func (l *mapping) serializes() bool {
	return !l.Pattern.FieldColumns() || slices.ContainsFunc(l.Older, (*mapping).serializes)
}

// strict returns the mapping with an error for each serialized event that it would serialize to other
// bytes.
func (l *mapping) strict() *mapping {
	out := *l
	out.Set = func(e event, column int, datum []byte) error {
		err := l.Set(e, column, datum)
		if err == nil && l.Columns[column].Whole && !bytes.Equal(l.columns.datum(e, column), datum) {
			return errPartly
		}
		return err
	}
	out.Older = nil
	for _, o := range l.Older {
		out.Older = append(out.Older, o.strict())
	}
	return &out
}
