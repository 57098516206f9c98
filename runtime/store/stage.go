package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/batch"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/frame"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// stage contains the events of a call, encoded for all tables of a writer. Its memory
// is reused.
type stage struct {
	writer  *Writer
	events  int
	skipped int   // events that no table stores, because they have expired, and that are not in all
	event   event // the current event; its time is truncated only in this copy
	none    event // a zero event
	last    event // the previous event, as given
	tables  []staged

	all      List // the given events, at least up to the current one
	batched  bool // the events are those of a Batcher
	lastWins bool // the last event of a place wins
	ifAbsent bool // write only events that are absent
}

// staged is the part of a stage that one table gets.
type staged struct {
	cells    *eventCells
	marker   *marker       // of the table
	err      error         // why the current event is not stored in this table
	instant  frame.Instant // of the current event
	batch    batch.Batch
	refused  []Failure
	ifAbsent bool    // as in the stage, but not in a table of states
	existing []int32 // in a table of states: the newest piece of each row that another table has already
	partial  []int   // the events of the batch that keep stored fields, in order
	expired  int     // number of skipped events
	from, to int64   // bucket of the previous event, in seconds
}

// newStage returns a stage for the tables of a writer.
func newStage(w *Writer) *stage {
	l := w.tables[0].mapping
	s := &stage{writer: w, event: l.new(), none: l.new(), tables: make([]staged, len(w.tables))}
	for i := range s.tables {
		s.tables[i].cells, s.tables[i].marker = newCells(w.tables[i].mapping), w.tables[i].marker
		s.tables[i].batch.Single = !w.tables[i].mapping.Pattern.Bucketed()
	}
	return s
}

// maxKept is the maximum size of a table's memory that is kept for reuse, in bytes.
const maxKept = 32 << 20

// release returns the stage to its writer.
func (s *stage) release() {
	s.writer.tables[0].mapping.assign(s.event, s.none)
	s.last, s.events, s.skipped, s.all, s.batched, s.lastWins, s.ifAbsent = event{}, 0, 0, nil, false, false, false
	for i := range s.tables {
		t := &s.tables[i]
		if cap(t.cells.mutations) > maxKept {
			return
		}
		t.cells.reset()
		t.batch.Reset()
		t.refused, t.existing, t.partial, t.expired, t.from, t.to = nil, nil, nil, 0, 0, 0
	}
	s.writer.stages.Put(s)
}

// merging sets whether the following events keep stored fields.
func (s *stage) merging(merge bool) {
	for i := range s.tables {
		s.tables[i].cells.merge = merge
	}
}

// at sets the write time of the following events.
func (s *stage) at(now time.Time) {
	for i := range s.tables {
		s.tables[i].cells.at(now)
	}
}

// addOne is add for an event that is written now, and is kept only if a table accepts
// it. It returns the failures of the other tables.
func (s *stage) addOne(e event) (taken bool, refused []Failure) {
	s.at(s.writer.options.Now())
	s.add(e)
	for i := range s.tables {
		t := &s.tables[i]
		taken = taken || t.err == nil
		refused = append(refused, t.refused...)
		t.refused = nil
	}
	for i := range refused {
		refused[i].Index = 0
	}
	if !taken {
		s.events--
		s.last = event{}
		if len(refused) == 0 {
			s.skipped++
		}
	}
	return taken, refused
}

// size returns the size in bytes for the table that gets the most.
func (s *stage) size() int {
	size := 0
	for i := range s.tables {
		size = max(size, s.tables[i].cells.taken+len(s.tables[i].batch.Keys))
	}
	return size
}

// add stages an event for all tables. If any table refuses it as invalid, none stores
// it; if it is too old for some tables, the others store it. The event must not change
// until the next one is added.
func (s *stage) add(event event) {
	refusing := -1
	for i := range s.tables {
		s.layOut(i, event)
		if s.ifAbsent {
			s.oneRow(i)
		}
		s.distinct(i, event)
		if err := s.tables[i].err; refusing < 0 && err != nil && err != request.ErrForeign && !errors.Is(err, codec.ErrExpired) {
			refusing = i
		}
	}
	for i := range s.tables {
		s.take(i, refusing)
	}
	s.last = event
	s.events++
}

// layOut encodes an event for one table.
func (s *stage) layOut(table int, event event) {
	t, l := &s.tables[table], s.writer.tables[table].mapping
	l.assign(s.event, event)
	at := l.Time(s.event)
	*at = codec.Truncate(*at, l.Precision)
	if l.others != nil && !l.covers(*at) {
		t.err = request.ErrForeign
		t.cells.forget() // the next event must not go on with the row of one before this
		return
	}
	if t.err = l.Check(event.pointer); t.err == nil {
		t.err = l.checkSequence(s.event)
	}
	if t.err != nil {
		return
	}
	fields := l.ttlFields(s.event)
	t.cells.begin(*at, fields)
	if fields.WrittenAt != nil && (!s.writer.options.KeepWrittenAt || fields.WrittenAt.IsZero()) {
		*fields.WrittenAt = t.cells.now
	}
	if l.Sequence != nil {
		t.cells.sequence = *l.Sequence(s.event)
	}
	seconds := at.Unix()
	sameBucket := t.from <= seconds && seconds < t.to
	if (l.Same != nil || t.marker != nil) && !sameBucket {
		start := l.Key.Bucket.Start(*at)
		t.from, t.to = start.Unix(), l.Key.Bucket.End(start).Unix()
		if t.marker != nil {
			t.batch.Mark = t.to * 1e6
			t.batch.MarkSize = len(t.marker.append(nil, t.batch.Mark))
		}
	}
	t.cells.again = l.Same != nil && s.last.exists() && sameBucket && l.Same(event, s.last)
	if !t.cells.again {
		t.cells.forget()
	}
	l.Put(s.event, t.cells)
	t.err = t.cells.check()
	t.instant = t.cells.instant()
	for i := range t.cells.rows {
		t.batch.Find(&t.cells.rows[i])
	}
}

// take adds the current event to a table unless that table or another one refuses it.
// refusing is the first table that does, or -1.
func (s *stage) take(table, refusing int) {
	t := &s.tables[table]
	if refusing >= 0 && (t.err == nil || errors.Is(t.err, codec.ErrExpired)) {
		t.err = fmt.Errorf("refused by table %s: %w", s.writer.tables[refusing].id, s.tables[refusing].err)
	}
	switch {
	case t.err == nil:
		t.take(s.events)
	case t.err == request.ErrForeign: // another mapping stores the event
	case (s.writer.options.SkipExpired || s.writer.tables[table].state()) && errors.Is(t.err, codec.ErrExpired): // states expire earlier
		t.expired++
		t.cells.forget()
	default:
		t.refused = append(t.refused, Failure{Index: s.events, Table: s.writer.tables[table].id, Outcome: Refused, Err: t.err})
		t.cells.forget()
	}
}

// take adds the current event to the batch.
func (t *staged) take(event int) {
	c := t.cells
	for i := range c.rows {
		row := &c.rows[i]
		if row.Count == 0 {
			continue
		}
		entry := t.batch.Add(event, t.instant, row)
		if row.Slot >= 0 {
			c.known[row.Slot] = entry
		}
	}
	c.taken = len(c.mutations)
	if c.partial {
		t.partial = append(t.partial, event)
	}
}

// send sends the staged events, table by table.
func (s *stage) send(ctx context.Context, name string) error {
	w := s.writer
	var all []Failure
	var elsewhere *others
	if w.tables[len(w.tables)-1].state() {
		elsewhere = new(others)
	}
	for i := range w.tables {
		t, staged := &w.tables[i], &s.tables[i]
		if t.mapping.others != nil && staged.idle() {
			continue // all events belong to other mappings
		}
		staged.ifAbsent = s.ifAbsent && !t.state()
		if t.state() {
			staged.onlyNewest(t, elsewhere)
		}
		op := request.Operation{Name: name, Table: t.id, Events: s.events + s.skipped, Expired: staged.expired}
		opCtx := w.options.Hooks.start(ctx, &op)
		failures := append(staged.refused, w.sendAll(opCtx, t, staged, &op)...)
		if t.state() {
			failures = append(failures, w.markExisting(opCtx, t, staged, &op)...)
		} else if elsewhere != nil {
			elsewhere.add(failures)
		}
		slices.SortStableFunc(failures, func(a, b Failure) int { return a.Index - b.Index })
		all = append(all, failures...)
		var err error
		if len(failures) > 0 {
			err = &WriteError{Events: s.events, Failures: failures}
		}
		w.options.Hooks.end(opCtx, &op, err)
	}
	if len(all) == 0 {
		return nil
	}
	return &WriteError{Events: s.events, Failures: all}
}

// ErrNotStored is the error for an event that was not sent to a table of codec.Latest, because another
// table may lack it, or lacks a newer event of the series. Write the events again.
var ErrNotStored = errors.New("not sent, because another table may lack an event of the series")

// others is what the tables of events did with the events of a stage.
type others struct {
	unstored map[int]string // the tables that may lack events
	existing map[int]bool   // whether a table had the event before
}

// add adds the events that a table did not store.
func (o *others) add(failures []Failure) {
	if o.unstored == nil && len(failures) > 0 {
		o.unstored, o.existing = map[int]string{}, map[int]bool{}
	}
	for _, f := range failures {
		switch f.Outcome {
		case Failed, Unknown:
			o.unstored[f.Index] = f.Table
		case Exists:
			o.existing[f.Index] = true
		}
	}
}

// onlyNewest leaves only the newest event of each row, to be sent to a table of states. If tables may
// lack any event of the row, nothing is sent, and all of them fail. Events that exist already, and those that keep stored fields, are
// not sent, since the stored ones may differ. The others add their version to the sum of the row.
func (t *staged) onlyNewest(table *writerTable, elsewhere *others) {
	b := &t.batch
	later := func(a, p int32) int32 {
		if a < 0 || b.Instants[p].Compare(b.Instants[a]) >= 0 {
			return p
		}
		return a
	}
	for w := range b.Waves {
		b.Waves[w] = slices.DeleteFunc(b.Waves[w], func(n int) bool {
			e := &b.Entries[n]
			newest, existing, lacking := int32(-1), int32(-1), ""
			for p := e.First; p >= 0; p = b.Pieces[p].Next {
				event := b.Pieces[p].Event
				if id, is := elsewhere.unstored[event]; is {
					lacking = id
				}
				if _, partial := slices.BinarySearch(t.partial, event); partial || elsewhere.existing[event] {
					existing = later(existing, p)
				} else {
					newest = later(newest, p)
				}
			}
			if lacking != "" {
				t.fail(table.id, e, lacking)
				return true
			}
			if existing >= 0 {
				t.existing = append(t.existing, existing)
			}
			if newest < 0 {
				return true
			}
			piece, begin := &b.Pieces[newest], len(t.cells.mutations)
			t.cells.mutations = table.mapping.appendVersion(t.cells.mutations, t.cells.mutations[piece.Begin:piece.End])
			sum := *piece
			sum.Begin, sum.End, sum.Next = begin, len(t.cells.mutations), -1
			piece.Next, e.First, e.Last = int32(len(b.Pieces)), newest, int32(len(b.Pieces))
			e.Count, e.Bytes = e.Count+1, piece.End-piece.Begin+sum.End-sum.Begin
			b.Pieces = append(b.Pieces, sum)
			return false
		})
	}
}

// fail fails the events of an entry, because another table may lack some of them.
func (t *staged) fail(table string, e *batch.Entry, lacking string) {
	err := fmt.Errorf("%w: table %s", ErrNotStored, lacking)
	for p := e.First; p >= 0; p = t.batch.Pieces[p].Next {
		t.refused = append(t.refused, Failure{Index: t.batch.Pieces[p].Event, Table: table, Row: string(e.Key), Outcome: Failed, Err: err})
	}
}

// idle reports whether the table got no event.
func (t *staged) idle() bool {
	return len(t.batch.Entries) == 0 && len(t.refused) == 0 && t.expired == 0
}

// outbox returns the entries of a request in wire form.
func (t *staged) outbox(req []int) *wire.Outbox {
	size := 0
	for _, n := range req {
		size += t.batch.Entries[n].Size()
	}
	out := wire.NewOutbox(len(req), size)
	var mark []byte
	for _, n := range req {
		e := &t.batch.Entries[n]
		out.Entry(e.Key, e.Bytes)
		t.batch.Runs(e, func(begin, end int) { out.Add(t.cells.mutations[begin:end]) })
		if t.marker != nil {
			mark = t.marker.append(mark[:0], e.Mark)
			out.Add(mark)
		}
	}
	return out
}

// encoded returns the mutations of an entry. It is valid until the next event is staged, and must not be modified.
func (t *staged) encoded(e *batch.Entry) (out []byte) {
	t.batch.Runs(e, func(begin, end int) {
		if out == nil {
			out = t.cells.mutations[begin:end:end] // appending copies it
		} else {
			out = append(out, t.cells.mutations[begin:end]...)
		}
	})
	if t.marker != nil {
		out = t.marker.append(out, e.Mark)
	}
	return out
}

// mutation converts an entry to the client's type.
func (t *staged) mutation(e *batch.Entry, c *wire.Converter) *bigtable.Mutation {
	m := bigtable.NewMutation()
	t.batch.Runs(e, func(begin, end int) { c.AddTo(m, t.cells.mutations[begin:end]) })
	if t.marker != nil {
		c.AddTo(m, t.marker.append(nil, e.Mark))
	}
	return m
}

// apply sends one entry with the client's call for single rows. It returns the number of attempts, as
// far as wire.Apply knows it. diverted is set if nothing was sent, because the client or an interceptor diverts encoded rows.
func (t *staged) apply(ctx context.Context, path *wirePath, e *batch.Entry) (sent int, diverted bool, err error) {
	key := string(e.Key)
	if path.usableForRow() {
		if sent, err = wire.ApplyEncoded(ctx, path.api, key, t.encoded(e)); sent == 0 {
			path.closeRows()
			err = cmp.Or(err, errDiverted)
		}
		return sent, sent == 0, err
	}
	c := path.converters.Get().(*wire.Converter)
	m := t.mutation(e, c)
	path.converters.Put(c)
	if path.allowed {
		sent, err = wire.Apply(ctx, path.api, key, m)
		return sent, false, err
	}
	return 0, false, path.api.Apply(ctx, key, m)
}

// errDiverted is the error of an encoded row that the client reports as stored, although it was not sent.
var errDiverted = errors.New("the row was not sent")

// applyBulk sends the entries of a request with the client's own encoding.
func (t *staged) applyBulk(ctx context.Context, path *wirePath, req []int) func(int) error {
	keys := make([]string, len(req))
	mutations := make([]*bigtable.Mutation, len(req))
	c := path.converters.Get().(*wire.Converter)
	for i, n := range req {
		e := &t.batch.Entries[n]
		keys[i], mutations[i] = string(e.Key), t.mutation(e, c)
	}
	path.converters.Put(c)
	errs, err := path.api.ApplyBulk(ctx, keys, mutations)
	return func(i int) error {
		if err != nil || len(errs) == 0 {
			return err
		}
		return errs[i]
	}
}

// failures returns a failure for each event of the entries that failed.
func (t *staged) failures(ctx context.Context, table string, req []int, errOf func(i int) error, outcomeOf func(error) Outcome) []Failure {
	var out []Failure
	for i, n := range req {
		err := errOf(i)
		if err == nil {
			continue
		}
		e := &t.batch.Entries[n]
		f := Failure{Index: -1, Table: table, Row: string(e.Key), Outcome: outcomeOf(err), Err: missing(table, call.Explain(ctx, err))}
		for p := e.First; p >= 0; p = t.batch.Pieces[p].Next {
			if event := t.batch.Pieces[p].Event; event != f.Index {
				f.Index = event
				out = append(out, f)
			}
		}
	}
	return out
}
