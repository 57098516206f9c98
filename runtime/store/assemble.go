package store

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// assembler makes events of the cells of rows.
type assembler[E any] struct {
	layout *Layout[E]
	shape  *scan.Table
	table  string
	base   E // an event with the series of the row alone
	// newestFirst turns the order of events round.
	newestFirst bool
	prefix      string           // what the key of an event of the series begins with, if just its time follows; else empty
	known       bool             // base has the series of such a key
	times       codec.TimeReader // of such keys
	latestOnly  bool             // one event of each series is enough
	fetched     scan.Projection  // of each column; nil for all
	match       func(e *E) bool  // whether a row's series is asked for; nil if all are
	from, to    time.Time
	now         func() time.Time
	ranksEnd    time.Time // until then the rank of what was read is known where it matters
	into        taker[E]  // takes events by the column; nil if they are yielded alone
	*memory
	event      E         // the one that is being made
	found      bool      // some of its data are alive
	fresh      freshness // of the data that events are made of
	horizons   []int64   // of the families, at horizonsAt
	horizonsAt time.Time
	expired    bool  // something was left out that had expired since it was asked for
	strayed    error // of a cell that is not in the bucket of its row
}

// memory is what can be used again for the next read.
type memory struct {
	groups []*group
	frame  frame
	oldest []int64 // timestamps of the families, see findOldest
}

// yielder takes an event, which is good until it returns, and reports whether more
// are wanted. An event comes with an error as far as it was understood.
type yielder[E any] = func(e *E, err error) bool

// newMemory returns memory for a layout.
func (l *Layout[E]) newMemory() *memory {
	m := &memory{oldest: make([]int64, len(l.Table.Families))}
	n := 1
	if l.Table.hasClasses() {
		n = len(l.Table.Families)
	}
	for i := range n {
		m.groups = append(m.groups, &group{class: l.Table.Families[i].Class, columns: make([]column, len(l.Columns))})
	}
	m.frame.reset(len(l.Columns))
	return m
}

// empty returns the groups without data, for those of a row: one for each class, or
// just one.
func (m *memory) empty(row wire.Row) []*group {
	for _, g := range m.groups {
		for i := range g.columns {
			g.columns[i].reset(row)
		}
	}
	return m.groups
}

// groupOf returns the group that the cells of a family are in.
func (m *memory) groupOf(family int) *group {
	if len(m.groups) == 1 {
		return m.groups[0]
	}
	return m.groups[family]
}

// fail says where something was read that cannot be decoded.
func (a *assembler[E]) fail(row, column string, at time.Time, err error) error {
	return &DecodeError{Table: a.table, Row: row, Column: column, Time: at, Err: err}
}

// wanted reports whether an event at t is in the range.
func (a *assembler[E]) wanted(t time.Time) bool { return !t.Before(a.from) && t.Before(a.to) }

// timeOf takes the key of a row apart: it sets the series, and returns the time or
// the start of the bucket.
func (a *assembler[E]) timeOf(row wire.Row) (time.Time, error) {
	at, err := a.layout.Key(row.Key(), &a.base)
	a.known = err == nil && a.prefix != "" && strings.HasPrefix(row.Key(), a.prefix)
	if err != nil {
		return at, a.fail(row.Key(), "", time.Time{}, err)
	}
	return at, nil
}

// position returns where a row of a span stands among those of others.
func (a *assembler[E]) position(q *Query[E], span codec.Span, row wire.Row) (position, error) {
	if !q.MultiSeries {
		start, err := a.timeOf(row)
		return position{start: start, falling: a.newestFirst}, err
	}
	return position{rest: row.Key()[len(span.Prefix):], falling: a.newestFirst != a.shape.Descending()}, nil
}

// row yields the events of a row, and releases it. The event of a row of its own may
// have to wait for those that came with it, see flush.
func (a *assembler[E]) row(row wire.Row, yield yielder[E]) bool {
	if !a.layout.Pattern.Bucketed() {
		return a.single(row, yield)
	}
	defer row.Release()
	start, err := a.timeOf(row)
	switch {
	case err != nil:
		return yield(&a.base, err)
	case a.match != nil && !a.match(&a.base):
		return true
	}
	a.empty(row)
	if a.layout.Pattern == codec.BucketOffsets {
		return a.offsets(start, row, yield) && a.bucket(yield)
	}
	a.split(row)
	return a.inBucket(start, yield) && a.bucket(yield)
}

// rows yields the events of rows that stand at one position, and releases them.
func (a *assembler[E]) rows(rows []wire.Row, yield yielder[E]) bool {
	for _, row := range rows {
		switch {
		case !row.Exists():
		case a.layout.Pattern == codec.BucketNewColumns:
			return a.metrics(rows, row, yield)
		case !a.row(row, yield):
			return false
		}
	}
	return true
}

// single takes the event of a row of its own. Like the functions below it reports
// whether the caller wants more. Where the keys of a series end with the time, its
// rows that came together are yielded together.
func (a *assembler[E]) single(row wire.Row, yield yielder[E]) bool {
	at, joins := a.joins(row)
	if !joins {
		if !a.flush(yield) {
			return false
		}
		var err error
		if at, err = a.timeOf(row); err != nil {
			row.Release()
			return yield(&a.base, err)
		}
		if a.match != nil && !a.match(&a.base) {
			row.Release()
			return true
		}
	}
	waits := a.known && !row.Last()
	if !a.wanted(at) || !a.place(at, row) {
		row.Release()
	}
	return waits || a.flush(yield)
}

// joins reports whether a row is of the series of those before it, and came with them,
// and returns its time.
func (a *assembler[E]) joins(row wire.Row) (time.Time, bool) {
	waiting := a.frame.rows
	text, ofSeries := strings.CutPrefix(row.Key(), a.prefix)
	if !a.known || !ofSeries || len(waiting) > 0 && !row.With(waiting[0]) {
		return time.Time{}, false
	}
	return a.times.Parse(text)
}

// place adds the event of a row of its own to those that wait, one for each class
// that it has cells of. It returns false if there is none.
func (a *assembler[E]) place(at time.Time, row wire.Row) bool {
	f := &a.frame
	before, class := len(f.times), 0
	for family, c := range a.columnsOf(row) {
		of := a.layout.Table.Families[family].Class
		i := a.column(family, of, row.Bytes(c.Qualifier))
		if i < 0 {
			continue
		}
		if len(f.times) == before || of != class {
			f.begin(row, at, of)
			class = of
		}
		for _, cell := range row.Cells(c) {
			f.put(i, &cell) // the newest counts
		}
	}
	return len(f.times) > before
}

// flush yields the events of rows of their own that wait, and releases the rows.
func (a *assembler[E]) flush(yield yielder[E]) bool {
	f := &a.frame
	if len(f.rows) == 0 {
		return true
	}
	if !a.yield(0, len(f.times), yield) {
		return false
	}
	for k, row := range f.rows {
		if k+1 == len(f.rows) || f.rows[k+1] != row {
			row.Release()
		}
	}
	f.reset(len(f.columns))
	return true
}

// bucket yields the events of the groups.
func (a *assembler[E]) bucket(yield yielder[E]) bool {
	f := &a.frame
	f.fill(a.groups, a.fetched)
	f.turned = a.newestFirst
	begin, end := f.within(a.from, a.to)
	return begin == end || a.yield(begin, end, yield)
}

// metrics yields the events of a bucket that has a row for each metric, whose
// column qualifiers are the data. first is one of them.
func (a *assembler[E]) metrics(rows []wire.Row, first wire.Row, yield yielder[E]) bool {
	defer release(rows)
	start, err := a.timeOf(first)
	if err != nil {
		return yield(&a.base, err)
	}
	if a.match != nil && !a.match(&a.base) {
		return true
	}
	groups := a.empty(wire.Row{})
	for i, row := range rows {
		for _, g := range groups {
			g.columns[i].row = row
		}
		if !row.Exists() {
			continue
		}
		for family, c := range a.columnsOf(row) {
			g := a.groupOf(family)
			if g.class == 0 && a.layout.Columns[i].Family != family {
				continue
			}
			for _, cell := range row.Cells(c) {
				g.columns[i].own = append(g.columns[i].own, wire.Cell{Micros: cell.Micros, Value: c.Qualifier})
			}
		}
		for _, g := range groups {
			// Cells come in the order of their columns: of the data, not of time.
			g.columns[i].sort()
		}
	}
	return a.inBucket(start, yield) && a.bucket(yield)
}

// errStray is why a cell is no event: other programs may have written it at the time
// of the server, which says nothing of the event's.
var errStray = fmt.Errorf("%w: the timestamp of a cell is not in the bucket of its row", codec.ErrTimeRange)

// inBucket leaves out cells whose timestamps are not in the bucket of their row, and
// yields an error for each column that has some.
func (a *assembler[E]) inBucket(start time.Time, yield yielder[E]) bool {
	from, to := start.UnixMicro(), a.layout.Bucket.End(start).UnixMicro()
	for _, g := range a.groups {
		for i := range g.columns {
			c := &g.columns[i]
			if n := len(c.cells); n == 0 || from <= c.cells[0].Micros && c.cells[n-1].Micros < to {
				continue
			}
			stray := c.cells[0].Micros
			if stray >= from {
				stray = c.cells[len(c.cells)-1].Micros
			}
			c.cells = slices.DeleteFunc(c.cells, func(cell wire.Cell) bool { return cell.Micros < from || cell.Micros >= to })
			a.strayed = a.fail(c.row.Key(), a.layout.Columns[i].Name, codec.FromMicros(stray), errStray)
			if !yield(&a.base, a.strayed) {
				return false
			}
		}
	}
	return true
}

// release gives the memory of rows back. Nothing may hold on to their cells.
func release(rows []wire.Row) {
	for _, row := range rows {
		if row.Exists() {
			row.Release()
		}
	}
}

// offsets takes the data of a bucket that has a column for each event. What is no
// time is yielded as an error.
func (a *assembler[E]) offsets(start time.Time, row wire.Row, yield yielder[E]) bool {
	times := a.shape.Offset.In(start)
	var before *wire.Column
	for family, c := range a.columnsOf(row) {
		again := before != nil && row.Same(before, c)
		before = c
		if again {
			continue // older cells of the same event
		}
		micros, sequence, err := times.Parse(row.Bytes(c.Qualifier))
		if err != nil {
			if !yield(&a.base, a.fail(row.Key(), string(row.Bytes(c.Qualifier)), time.Time{}, err)) {
				return false
			}
			continue
		}
		to := &a.groupOf(family).columns[0]
		to.times = append(to.times, micros)
		to.own = append(to.own, row.Cells(c)[0]) // the newest
		if a.layout.Sequence != nil {
			to.sequences = append(to.sequences, sequence)
		}
	}
	for _, g := range a.groups {
		g.columns[0].cells = g.columns[0].own
	}
	return true
}

// columnsOf yields the columns of a row that are of the table's families, which it
// gives by their index.
func (a *assembler[E]) columnsOf(row wire.Row) iter.Seq2[int, *wire.Column] {
	families := a.layout.Table.Families
	return func(yield func(int, *wire.Column) bool) {
		columns := row.Columns()
		family := -1
		for i := range columns {
			if i == 0 || columns[i].Family != columns[i-1].Family {
				name := row.Bytes(columns[i].Family)
				family = slices.IndexFunc(families, func(f Family) bool { return f.Name == string(name) })
			}
			if family >= 0 && !yield(family, &columns[i]) {
				return
			}
		}
	}
}

// split sorts the cells of a row into the columns of the groups. Columns that the
// layout does not know are left out.
func (a *assembler[E]) split(row wire.Row) {
	var before *wire.Column
	for family, c := range a.columnsOf(row) {
		g := a.groupOf(family)
		i := a.column(family, g.class, row.Bytes(c.Qualifier))
		again := before != nil && row.Same(before, c)
		before = c
		if i < 0 {
			continue
		}
		cells := row.Cells(c)
		if again {
			cells = slices.Concat(g.columns[i].cells, cells)
		}
		g.columns[i].cells = cells
	}
	for _, g := range a.groups {
		for i := range g.columns {
			g.columns[i].ascend()
		}
	}
}

// column returns the index of a column; -1 if the layout does not know it.
func (a *assembler[E]) column(family, class int, qualifier []byte) int {
	columns := a.layout.Columns
	for i := range columns {
		if columns[i].Name == string(qualifier) && (class > 0 || columns[i].Family == family) {
			return i
		}
	}
	return -1
}

// yield yields some events of the frame, by the column if that is wanted and they are
// as they should be.
func (a *assembler[E]) yield(begin, end int, yield yielder[E]) bool {
	a.fresh = a.freshness()
	if a.into != nil {
		if taken, more := a.into.take(a, begin, end); taken {
			return more
		}
	}
	for k := begin; k < end; k++ {
		n := k
		if a.frame.turned {
			n = begin + end - 1 - k
		}
		if !a.yieldOne(n, yield) {
			return false
		}
		if a.latestOnly && a.found && a.layout.Pattern.Bucketed() {
			break // what is older is asked for in part, and not wanted
		}
	}
	return true
}

// yieldOne makes the k-th event of the frame, and yields it unless nothing of it is
// alive by the clock as it is now: a long scan outlives what it reads.
func (a *assembler[E]) yieldOne(k int, yield yielder[E]) bool {
	f, event := &a.frame, &a.event
	*event = a.base
	*a.layout.Time(event) = f.times[k]
	choice := a.layout.choice(event)
	if choice.Class != nil {
		*choice.Class = f.classOf(k)
	}
	if len(f.sequences) > 0 {
		*a.layout.Sequence(event) = f.sequences[k]
	}
	var failed error
	a.found = false
	now, stale := a.stale()
	for i := range a.layout.Columns {
		if a.fetched.Omits(i) {
			continue
		}
		column, cell := &a.layout.Columns[i], f.cell(i, k)
		var err error
		switch {
		case cell == nil || stale && !a.alive(now, i, k):
			if !column.WrittenAt && a.fetched.HasValues(i) {
				err = a.layout.Missing(event, i)
			}
		default:
			a.found = a.found || !column.WrittenAt
			if choice.ExpiresAt != nil {
				a.expires(choice, column, cell.Micros)
			}
			if a.fetched.HasValues(i) {
				err = a.layout.take(event, i, f.columns[i].row.Bytes(cell.Value))
			}
		}
		if err != nil && failed == nil {
			failed = a.fail(f.rowOf(i, k), column.Name, f.times[k], err)
		}
	}
	return !a.found || yield(event, failed)
}

// take takes the datum of a column into an event.
func (l *Layout[E]) take(e *E, column int, datum []byte) error {
	if l.set != nil {
		return l.set[column](e, datum)
	}
	return l.Set(e, column, datum)
}

// expires tells the event when it expires, where its cells say so.
func (a *assembler[E]) expires(choice Choice, column *Column, stamp int64) {
	if expiry, ok := a.layout.Table.Families[column.Family].Life.Expiry(stamp); ok {
		*choice.ExpiresAt = expiry
	}
}

// familyOf returns the index of the family of the datum of a column of the k-th event.
func (a *assembler[E]) familyOf(column, k int) int {
	if class := a.frame.classOf(k); class > 0 {
		return class - 1
	}
	return a.layout.Columns[column].Family
}

// alive reports whether the datum of a column of the k-th event is alive.
func (a *assembler[E]) alive(now time.Time, column, k int) bool {
	f, family := &a.frame, a.familyOf(column, k)
	stamp := f.cell(column, k).Micros
	alive := false
	if a.layout.Pattern.Versioned() {
		newer := f.rank(column, k)
		if now.After(a.ranksEnd) && a.layout.Bucket.End(f.times[k]).After(a.to) {
			newer = math.MaxInt32 // what the range left out of the bucket may be newer
		}
		alive = a.layout.Table.Families[family].Life.Alive(now, stamp, newer+1)
	} else {
		alive = stamp >= a.horizon(now, family) // it is the newest of its column
	}
	a.expired = a.expired || !alive
	return alive
}

// allAlive reports whether all data of the events from begin up to end are alive.
func (a *assembler[E]) allAlive(now time.Time, begin, end int) bool {
	for i := range a.frame.columns {
		for k := begin; k < end; k++ {
			if a.frame.cell(i, k) != nil && !a.alive(now, i, k) {
				return false
			}
		}
	}
	return true
}

// horizon returns the timestamp from which on the newest cell of a column is alive.
func (a *assembler[E]) horizon(now time.Time, family int) int64 {
	if families := a.layout.Table.Families; !now.Equal(a.horizonsAt) || len(a.horizons) == 0 {
		a.horizonsAt, a.horizons = now, a.horizons[:0]
		for i := range families {
			a.horizons = append(a.horizons, families[i].Life.Horizon(now))
		}
	}
	return a.horizons[family]
}

// freshness is until when all data of a bucket are alive, so that they need not be
// looked at one by one. The zero freshness says nothing.
type freshness struct {
	ever  bool
	until time.Time
}

// freshness returns the freshness of the frame.
func (a *assembler[E]) freshness() freshness {
	f := freshness{ever: true}
	a.findOldest()
	for i, us := range a.oldest {
		life := &a.layout.Table.Families[i].Life
		if us == math.MaxInt64 || life.Forever() {
			continue
		}
		until := life.Fresh(us, !a.layout.Pattern.Versioned())
		if f.ever || until.Before(f.until) {
			f = freshness{until: until}
		}
	}
	return f
}

// findOldest finds the lowest timestamp of the data of each family.
func (a *assembler[E]) findOldest() {
	f := &a.frame
	for i := range a.oldest {
		a.oldest[i] = math.MaxInt64
	}
	rising := !f.mixed && (a.layout.Pattern.EventTimed())
	for i := range f.columns {
		for k := range f.columns[i].cells {
			if cell := &f.columns[i].cells[k]; !isHole(cell) {
				oldest := &a.oldest[a.familyOf(i, k)]
				*oldest = min(*oldest, cell.Micros)
				if rising {
					break
				}
			}
		}
	}
}

// stale reports whether data may have expired by now.
func (a *assembler[E]) stale() (now time.Time, stale bool) {
	if a.fresh.ever {
		return now, false
	}
	now = a.now()
	return now, !now.Before(a.fresh.until)
}

// last returns the newest event of the rows of one bucket, or of one row.
func (a *assembler[E]) last(rows []wire.Row) (E, error) {
	event, failed := a.base, error(ErrNotFound)
	keep := func(e *E, err error) bool {
		event, failed = *e, err
		return true
	}
	a.rows(rows, keep)
	a.flush(keep)
	if a.strayed != nil {
		failed = a.strayed // what is newest of its column may have hidden an event
	}
	return event, failed
}
