package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/frame"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// DeleteOptions specify how to delete events. If several are passed, the last one
// replaces the others.
type DeleteOptions struct {
	// DryRun counts what would be deleted and deletes nothing.
	DryRun bool
	// Progress is called with the counts so far after each request of mutations; nil for
	// no calls. It must not retain Deletion.Tables.
	Progress func(Deletion)
}

// Deletion counts what a call deleted.
type Deletion struct {
	// Tables has an entry for each table of the schema, in the order of the schema. The
	// counts of a table include those of its earlier layouts.
	Tables []TableDeletion
}

// TableDeletion counts what a call deleted from one table.
type TableDeletion struct {
	Table string // with its prefix
	// Events is the number of events that were stored, including those that are past
	// their time to live but that Bigtable has not collected. In bucket_new_columns, it
	// is the sum over all times of the largest number of values of a field. A table of
	// codec.Latest counts the series whose newest event was deleted.
	Events int
	// Rows is the number of rows that had data of the events.
	Rows int
	// Mutations is the number of mutations; see [bigtable.Mutation]. Those of codec.Latest depend on what is left, and a
	// dry run does not count them.
	Mutations int
}

// Events returns the number of events: the number in the table that had the most.
func (d Deletion) Events() int {
	n := 0
	for _, t := range d.Tables {
		n = max(n, t.Events)
	}
	return n
}

// String describes the counts on one line.
func (d Deletion) String() string {
	rows, mutations := 0, 0
	for _, t := range d.Tables {
		rows, mutations = rows+t.Rows, mutations+t.Mutations
	}
	return fmt.Sprintf("%s, %s, %s", quantity(d.Events(), "event"), quantity(rows, "row"), quantity(mutations, "mutation"))
}

// quantity formats a number of things, such as "1 row".
func quantity(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// DeleteError reports a row that could not be deleted, or of which it is unknown
// whether it was. Deleting again is safe.
type DeleteError struct {
	Table string // with its prefix
	Row   string // row key
	Err   error
}

// Error describes the row and the error of Bigtable.
func (e *DeleteError) Error() string {
	return fmt.Sprintf("deleting from table %s, row %q: %v", e.Table, e.Row, e.Err)
}

func (e *DeleteError) Unwrap() error { return e.Err }

// MicrosError reports events that were not deleted: another program has stored several in one millisecond,
// in a table with the granularity MICROS, and the Go client for Bigtable can delete these only together. Their row,
// or all rows of their bucket in codec.BucketNewColumns, are unchanged.
type MicrosError struct {
	Table string    // with its prefix
	Row   string    // row key
	Time  time.Time // of an event that deleting others would have deleted, or left
}

// Error describes the row and says what can be deleted.
func (e *MicrosError) Error() string {
	return fmt.Sprintf("table %s, row %q: events not deleted: the table has timestamps in microseconds, such as %s, and whole milliseconds are deleted: "+
		"use a time range that begins and ends with a millisecond, instead of single events or finer times",
		e.Table, e.Row, e.Time.Format(time.RFC3339Nano))
}

// Delete deletes events from all tables by their series, time and, if the schema has
// one, sequence number; the other parts of the events are not used. See
// [Writer.DeleteRange] for what it returns and for its errors.
//
// Tables may have events with finer times than the precision, which was coarser later, or which
// other programs have written. If any table has an event at exactly the given time, that is
// deleted; otherwise, the one at the truncated time, which Write would have stored. So before you
// repeat a call with such a time, read again: the event may be gone.
func (w *Writer) Delete(ctx context.Context, events List, opts ...DeleteOptions) (Deletion, error) {
	if w = w.made(); w.unknown != nil {
		return Deletion{}, w.unknown
	}
	exact, err := w.storedExactly(ctx, events)
	if err != nil {
		return Deletion{}, err
	}
	return w.deleteAt(ctx, "Delete", events, func(i int) bool { return exact[i] }, call.Last(opts), anyOrder)
}

// deleteExactly deletes events at exactly their times, which need not be multiples of the
// precision.
func (w *Writer) deleteExactly(ctx context.Context, events List) (Deletion, error) {
	return w.deleteAt(ctx, "Delete", events, func(int) bool { return true }, DeleteOptions{}, anyOrder)
}

// deleteAt deletes events: those of which exact is true at exactly their times, the others at
// the truncated ones.
func (w *Writer) deleteAt(ctx context.Context, name string, events List, exact func(i int) bool, o DeleteOptions, last int) (Deletion, error) {
	return w.erase(ctx, name, o, last, func(t *eraser) error {
		return w.eachGroup(t, t.mapping.gather(events, exact, nil))
	})
}

// eachGroup deletes the events of groups.
func (w *Writer) eachGroup(t *eraser, groups []*eventGroup) error {
	errs := make([]error, len(groups))
	w.atOnce(len(groups), func(i int) {
		g := groups[i]
		errs[i] = t.events(&t.reader.whole, bound{low: g.series}, g.from, g.to, g.instants)
	})
	return cmp.Or(errs...)
}

// storedExactly returns which of the events whose times are finer than the precision any table
// has at exactly these times. All tables decide together: where only one of them still has such
// an event, the others must not lose the event at the truncated time instead.
func (w *Writer) storedExactly(ctx context.Context, events List) (map[int]bool, error) {
	var fine map[int]bool
	for i := range events.len() {
		if slices.ContainsFunc(w.tables, func(t writerTable) bool { return !t.mapping.timeFits(events.at(i)) }) {
			if fine == nil {
				fine = map[int]bool{}
			}
			fine[i] = true
		}
	}
	if fine == nil {
		return nil, nil
	}
	found := map[int]bool{}
	_, err := w.erase(ctx, "Delete", DeleteOptions{DryRun: true}, anyOrder, func(t *eraser) error {
		groups := t.mapping.gather(events, func(int) bool { return true }, fine)
		if err := w.eachGroup(t, groups); err != nil {
			return err
		}
		t.undeleted = nil // the deletion reports it
		for _, g := range groups {
			for at, events := range g.events {
				if g.instants[at] {
					for _, i := range events {
						found[i] = true
					}
				}
			}
		}
		return nil
	})
	return found, err
}

// DeleteRange deletes the events of a selection with from <= time < to from all
// tables, including those that are past their time to live but not yet collected. A zero
// from precedes all events. If from is after to, or to is zero, the error is a
// *RangeError. Events at or after to stay, so time.Now() is not the end of everything: clocks
// that are fast write events of the future. [Writer.DeleteAll] deletes these, too.
//
// It reads the keys and timestamps of the cells, and deletes
// exactly those of the events, in order of row keys and with at most one request of
// mutations in memory. Rows and cells of other series, times and schemas stay. Deleting
// again is safe, and it is the way to complete a call that failed. Events that are
// written during the call may or may not be deleted. So may those that are written in the range less than twice
// WriterOptions.Timeout later, if the client has repeated a request: Bigtable may execute the first attempt late.
//
// A table of codec.Latest is marked before and repaired after the others, so that readers never find
// a deleted event in it, even if the call is killed: each row gets the newest event that is left. This takes
// conditional mutations, as does WriteOptions.IfAbsent.
//
// With conditions, it reads their fields in one table, see [Query], and deletes the events that a read
// of this table yields from all tables, as Delete does, up to a thousand at a time. That table is the
// last, so that a call that failed finds the rest when it is repeated. Events that are not in this
// table, or are past their time to live there, stay. An event that is written again during the call
// may be deleted although it no longer meets the conditions.
//
// After an error, the Deletion counts only what is certain to be deleted. Rows whose keys, and
// columns whose names, cannot be decoded stay: the first is returned as a *DecodeError after
// everything else is deleted, as is a *MicrosError for rows
// with timestamps in microseconds. A row that Bigtable
// rejects is a *DeleteError.
func (w *Writer) DeleteRange(ctx context.Context, of Selection, from, to time.Time, opts ...DeleteOptions) (Deletion, error) {
	name, all := "DeleteRange", deleteSeries
	if of.Query != nil {
		name, all = "Delete"+of.Query.Name, allTimesOf+of.Query.Name
	}
	if to.IsZero() || from.After(to) {
		return w.made().erase(ctx, name, call.Last(opts), anyOrder, func(*eraser) error { return &RangeError{From: from, To: to, all: all} })
	}
	return w.made().deleteSelected(ctx, name, of.resolve(), from, to, opts)
}

// DeleteAll deletes all events of a selection, whatever their times, like [Writer.DeleteRange]: also
// those with times in the future, which clocks that are fast have written.
func (w *Writer) DeleteAll(ctx context.Context, of Selection, opts ...DeleteOptions) (Deletion, error) {
	name := deleteSeries
	if of.Query != nil {
		name = allTimesOf + of.Query.Name
	}
	return w.made().deleteSelected(ctx, name, of.resolve(), time.Time{}, scan.MaxTime, opts)
}

// The calls that delete the events of all times: of a series, and of a query before its name.
const deleteSeries, allTimesOf = "DeleteSeries", "DeleteAll"

// deleteSelected deletes the events of a selection with from <= time < to.
func (w *Writer) deleteSelected(ctx context.Context, name string, s *selection, from, to time.Time, opts []DeleteOptions) (Deletion, error) {
	if len(s.conditions) > 0 {
		return w.deleteFound(ctx, name, s, from, to, call.Last(opts))
	}
	queries := w.queries(s)
	return w.erase(ctx, name, call.Last(opts), anyOrder, func(t *eraser) error {
		q := &t.reader.whole
		if queries != nil {
			q = queries[t.table]
		}
		read := t.reader.beginSelected(ctx, s, q, from, to, nil)
		values, err := read.values()
		if err != nil {
			return err
		}
		for _, v := range values {
			if err := t.events(q, v, from, to, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// queries returns how each mapping of the writer answers the query of a selection; nil for the events of
// series. Values that only other tables can store have no events in a table.
func (w *Writer) queries(s *selection) []*query {
	if s.given == nil {
		return nil
	}
	var all []*query
	for i := range w.tables {
		all = append(all, w.tables[i].mapping.queryOf(s))
	}
	joinLayouts(all)
	return all
}

// Replace replaces an event, given pointers to it and the new one: it writes updated and then, if it has a different series, time or
// sequence number, deletes old. A read that begins after the write may find both, but not neither.
// One that began before it may find neither, if it passes the row of updated before the write and
// reaches that of old after the deletion: Bigtable has no snapshots of several rows. If that must not
// happen, call Write with updated, wait for as long as reads take, and call Delete with old.
// After an error, updated may or may not be stored, and old is only deleted if updated is
// stored; calling it again is safe, but see Delete for times that are finer than the precision.
// With WriterOptions.SkipExpired, it returns an error that wraps codec.ErrExpired, and changes
// nothing, if all tables would skip updated.
//
// In bucket_new_columns, where an event does not replace one of the same time, Replace deletes
// first in that case, and readers may find neither until it returns.
func (w *Writer) Replace(ctx context.Context, old, updated any, opts ...WriteOptions) error {
	if w = w.made(); w.unwritable != nil {
		return w.unwritable
	}
	from, e := event{old}, event{updated}
	same := w.tables[0].mapping.samePlace(from, e)
	first := same && w.appends()
	if first || w.options.SkipExpired {
		if refused, skipped := w.check(e); skipped != nil || first && refused != nil {
			return cmp.Or(skipped, refused)
		}
	}
	if first {
		if _, err := w.Delete(ctx, from); err != nil {
			return err
		}
	}
	o := call.Last(opts)
	o.Merge = false
	err := w.write(ctx, "Write", e, []WriteOptions{o})
	switch {
	case err != nil || first:
		return err
	case !same:
		_, err = w.Delete(ctx, from)
	case !w.tables[0].mapping.timeFits(from):
		_, err = w.deleteExactly(ctx, from) // the event at the truncated time is now updated
	}
	return err
}

// appends reports whether a table keeps the values of events that were written before.
func (w *Writer) appends() bool {
	return slices.ContainsFunc(w.tables, func(t writerTable) bool { return t.mapping.Pattern.Appends() })
}

// check returns the *WriteError with which Write would refuse an event, and one if all tables
// would skip it because it has expired.
func (w *Writer) check(e event) (refused, skipped error) {
	s := w.stages.Get().(*stage)
	defer s.release()
	s.all = e
	s.at(w.options.Now())
	s.add(e)
	failed, expired, stored := &WriteError{Events: 1}, &WriteError{Events: 1}, false
	for i := range s.tables {
		t := &s.tables[i]
		failed.Failures = append(failed.Failures, t.refused...)
		stored = stored || len(t.batch.Entries) > 0
		if t.expired > 0 {
			expired.Failures = append(expired.Failures, Failure{Table: w.tables[i].id, Outcome: Refused, Err: t.err})
		}
	}
	if len(failed.Failures) > 0 {
		return failed, nil
	}
	if len(expired.Failures) > 0 && !stored {
		return nil, expired
	}
	return nil, nil
}

// exactInstant identifies an event of a series.
type exactInstant struct {
	frame.Instant
	nanos int // the rest of the time
}

// exactly returns the instant of an event.
func exactly(at time.Time, sequence uint32) exactInstant {
	return exactInstant{frame.Instant{Micros: at.UnixMicro(), Sequence: sequence}, at.Nanosecond() % 1000}
}

// eventGroup contains events of one series that are in the same bucket.
type eventGroup struct {
	series   event
	from, to time.Time
	instants map[exactInstant]bool  // whether the event was found
	events   map[exactInstant][]int // indexes
}

// gather returns the events that have this mapping, grouped by series and bucket, in the
// order of the first event of each group: those in only, or all if it is nil. Their times are
// truncated unless exact is true.
func (l *mapping) gather(events List, exact func(i int) bool, only map[int]bool) []*eventGroup {
	var groups []*eventGroup
	known := map[string]*eventGroup{}
	for i := range events.len() {
		if only != nil && !only[i] {
			continue
		}
		event := l.clone(events.at(i))
		at, width := l.Time(event), time.Duration(1)
		if !exact(i) {
			*at, width = codec.Truncate(*at, l.Precision), l.Precision
		}
		if !l.covers(*at) || l.checkSequence(event) != nil {
			continue // another mapping stores it, or none does
		}
		id := fmt.Sprintf("%s %s", l.start(event), l.seriesID(event))
		g := known[id]
		if g == nil {
			g = &eventGroup{series: event, from: *at, to: *at, instants: map[exactInstant]bool{}, events: map[exactInstant][]int{}}
			known[id], groups = g, append(groups, g)
		}
		if at.Before(g.from) {
			g.from = *at
		}
		if end := at.Add(width); end.After(g.to) {
			g.to = end
		}
		instant := exactly(*at, l.sequenceOf(event))
		g.instants[instant] = false
		g.events[instant] = append(g.events[instant], i)
	}
	return groups
}

// erase calls of for each mapping, which deletes what is stored with it: those of the table with
// the number last come last.
func (w *Writer) erase(ctx context.Context, name string, o DeleteOptions, last int, of func(t *eraser) error) (Deletion, error) {
	if w.unknown != nil {
		return Deletion{}, w.unknown
	}
	d := w.nothing()
	var order, end []int
	state := -1
	for i := range w.tables {
		switch {
		case w.tables[i].state():
			state = i
		case w.tables[i].number == last:
			end = append(end, i)
		default:
			order = append(order, i)
		}
	}
	order = append(order, end...)
	if state >= 0 {
		return w.eraseMarked(ctx, name, o, order, state, d, of)
	}
	return w.eraseIn(ctx, name, o, order, d, of)
}

// eraseIn calls of for some mappings, one after the other, and adds to the counts of d.
func (w *Writer) eraseIn(ctx context.Context, name string, o DeleteOptions, order []int, d Deletion, of func(t *eraser) error) (Deletion, error) {
	var undeleted error
	for _, i := range order {
		e := w.eraser(i, name, o, &d)
		err := w.eraseWith(ctx, e, of)
		if err != nil {
			return d, err
		}
		undeleted = cmp.Or(undeleted, e.undeleted)
	}
	return d, undeleted
}

// eraseWith calls of for an eraser.
func (w *Writer) eraseWith(ctx context.Context, e *eraser, of func(t *eraser) error) error {
	e.ctx = w.options.Hooks.start(ctx, &e.op)
	err := of(e)
	if err == nil {
		err = e.flush()
	}
	w.options.Hooks.end(e.ctx, &e.op, cmp.Or(err, e.undeleted))
	return err
}

// anyOrder is the last table of deletions whose order does not matter.
const anyOrder = -1

// nothing returns the counts of a deletion that has deleted nothing.
func (w *Writer) nothing() (d Deletion) {
	for i := range w.tables {
		if w.tables[i].newest {
			d.Tables = append(d.Tables, TableDeletion{})
		}
	}
	for i := range w.tables {
		if t := &w.tables[i]; t.newest {
			d.Tables[t.number].Table = t.id
		}
	}
	return d
}

// maxFound is the number of events that a deletion with conditions deletes together.
const maxFound = 1000

// finding is a deletion with conditions: of the events that a read of one table yields.
type finding struct {
	*Writer
	ctx       context.Context
	name      string
	how       DeleteOptions
	table     int  // number of the table that is read
	found     list // and not deleted yet
	total     Deletion
	undeleted error // the first error of isUndeleted
}

// deleteFound deletes the events of a selection with conditions from all tables. Each table could only
// compare values that it stores separately and has not lost to a time to live; so one decides for
// all, and comes last: as long as it has an event, repeating the call finds the event.
func (w *Writer) deleteFound(ctx context.Context, name string, s *selection, from, to time.Time, o DeleteOptions) (Deletion, error) {
	if w.unknown != nil {
		return Deletion{}, w.unknown
	}
	f := &finding{Writer: w, ctx: ctx, name: name, how: o, total: w.nothing(), table: w.tables[0].number}
	if s.table != "" {
		i := slices.IndexFunc(w.tables, func(t writerTable) bool { return t.newest && t.mapping.Table.ID == s.table })
		if i < 0 {
			_, err := selected(untables(w.tables), []string{s.table})
			return Deletion{}, err
		}
		f.table = w.tables[i].number
	}
	queries := w.queries(s)
	for i := range w.tables {
		if w.tables[i].number != f.table {
			continue
		}
		if err := f.in(i, s, queries[i], from, to); err != nil {
			return f.total, err
		}
	}
	return f.total, f.undeleted
}

// untables returns the mappings of tables.
func untables(tables []writerTable) (out []*mapping) {
	for i := range tables {
		out = append(out, tables[i].mapping)
	}
	return out
}

// in finds and deletes the events with one mapping.
func (f *finding) in(i int, s *selection, q *query, from, to time.Time) (failed error) {
	t := &f.tables[i]
	r := f.reader(i, t.shape, f.name)
	r.options.Hooks = f.options.Hooks
	f.found = t.mapping.list(0)
	read := r.beginSelected(f.ctx, s, q, from, to, []ReadOptions{{Fields: []Field{}}})
	read.run(func(e event, err error) bool {
		switch {
		case err != nil:
			failed = f.leaves(err)
			return failed == nil
		case t.mapping.Own != nil:
			e = t.mapping.clone(e)
			t.mapping.Own(e)
		}
		if f.found.add(e); f.found.len() == maxFound {
			failed = f.flush()
		}
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return f.flush()
}

// flush deletes the events that were found.
func (f *finding) flush() error {
	o, before := f.how, f.total
	if o.Progress != nil {
		o.Progress = func(d Deletion) { f.how.Progress(before.plus(d)) }
	}
	d, err := f.deleteAt(f.ctx, f.name, f.found, func(int) bool { return true }, o, f.table)
	f.found.truncate(0)
	f.total = before.plus(d)
	return f.leaves(err)
}

// leaves records an error about an event that stays. It returns any other error.
func (f *finding) leaves(err error) error {
	if err == nil || !isUndeleted(err) {
		return err
	}
	f.undeleted = cmp.Or(f.undeleted, err)
	return nil
}

// plus returns the sum of the counts of the same tables.
func (d Deletion) plus(more Deletion) Deletion {
	out := Deletion{slices.Clone(d.Tables)}
	for i, t := range more.Tables {
		sum := &out.Tables[i]
		sum.Events, sum.Rows, sum.Mutations = sum.Events+t.Events, sum.Rows+t.Rows, sum.Mutations+t.Mutations
	}
	return out
}
