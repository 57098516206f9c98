package store

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/templates/codec"
	"github.com/btgen-dev/btgen/templates/wire"
)

// assembler makes events of the cells of rows.
type assembler[E any] struct {
	layout *Layout[E]
	table  string
	base   E // an event with the series of the row alone
	// newestFirst turns the order of events round.
	newestFirst bool
	prefix      string          // what the key of an event of the series begins with, if just its time follows; else empty
	known       bool            // base has the series of such a key
	latestOnly  bool            // one event of each series is enough
	fetch       []bool          // the columns to fetch; nil for all
	match       func(e *E) bool // whether a row's series is asked for; nil if all are
	from, to    time.Time
	now         func() time.Time
	ranksEnd    time.Time // until then the rank of what was read is known where it matters
	into        taker[E]  // takes events by the column; nil if they are yielded alone
	groups      *[]*group // see newGroups
	event       E         // the one that is being made
	found       bool      // some of its data are alive
	fresh       freshness // of the data that events are made of
	horizons    []int64   // of the families, at horizonsAt
	horizonsAt  time.Time
	expired     bool  // something was left out that had expired since it was asked for
	strayed     error // of a cell that is not in the bucket of its row
}

// yielder takes an event, which is good until it returns, and reports whether more
// are wanted. An event comes with an error as far as it was understood.
type yielder[E any] = func(e *E, err error) bool

// fail says where something was read that cannot be decoded.
func (a *assembler[E]) fail(row, column string, at time.Time, err error) error {
	return &DecodeError{Table: a.table, Row: row, Column: column, Time: at, Err: err}
}

// wanted reports whether an event at t is in the range.
func (a *assembler[E]) wanted(t time.Time) bool { return !t.Before(a.from) && t.Before(a.to) }

// timeOf takes the key of a row apart: it sets the series, and returns the time or
// the start of the bucket. Where the series is that of a row before it need not be
// looked at; what the caller gave may be another value with the same key.
func (a *assembler[E]) timeOf(row wire.Row) (time.Time, error) {
	text, ofSeries := strings.CutPrefix(row.Key(), a.prefix)
	if ofSeries && a.known {
		if at, err := a.layout.TimeKey.Parse(text); err == nil {
			return at, nil
		}
	}
	at, err := a.layout.Key(row.Key(), &a.base)
	a.known = err == nil && ofSeries && a.prefix != ""
	if err != nil {
		return at, a.fail(row.Key(), "", time.Time{}, err)
	}
	return at, nil
}

// position returns where a row of a span stands among those of others.
func (a *assembler[E]) position(q *Query[E], span codec.Span, row wire.Row) (position, error) {
	start, err := a.timeOf(row)
	if err != nil || !q.Several {
		return position{start: start, falling: a.newestFirst}, err
	}
	return position{rest: row.Key()[len(span.Prefix):], falling: a.newestFirst != a.layout.descending()}, nil
}

// row yields the events of a row.
func (a *assembler[E]) row(row wire.Row, yield yielder[E]) bool {
	start, err := a.timeOf(row)
	switch {
	case err != nil:
		return yield(&a.base, err)
	case a.match != nil && !a.match(&a.base):
		return true
	}
	groups := a.newGroups(row)
	switch a.layout.Kind {
	case SingleRows:
		return a.single(start, groups, row, yield)
	case BucketOffsets:
		return a.offsets(start, groups, row, yield) && a.merge(groups, yield)
	default:
		a.split(groups, row)
		return a.inBucket(start, groups, yield) && a.merge(groups, yield)
	}
}

// rows yields the events of rows that stand at one position.
func (a *assembler[E]) rows(rows []wire.Row, yield yielder[E]) bool {
	for _, row := range rows {
		switch {
		case !row.Exists():
		case a.layout.Kind == BucketColumns:
			return a.metrics(rows, row, yield)
		case !a.row(row, yield):
			return false
		}
	}
	return true
}

// single yields the event of a row of its own. Like the functions below it
// reports whether the caller wants more.
func (a *assembler[E]) single(at time.Time, groups []*group, row wire.Row, yield yielder[E]) bool {
	if !a.wanted(at) {
		return true
	}
	a.split(groups, row)
	a.fresh = freshness{}
	for _, g := range groups {
		for i := range g.columns {
			c := &g.columns[i]
			c.at, c.end = max(0, len(c.cells)-1), len(c.cells) // the newest cell counts
		}
		if !a.yield(at, g, 0, yield) {
			return false
		}
	}
	return true
}

// metrics yields the events of a bucket that has a row for each metric, whose
// column qualifiers are the data. first is one of them.
func (a *assembler[E]) metrics(rows []wire.Row, first wire.Row, yield yielder[E]) bool {
	start, err := a.timeOf(first)
	if err != nil {
		return yield(&a.base, err)
	}
	if a.match != nil && !a.match(&a.base) {
		return true
	}
	groups := a.newGroups(wire.Row{})
	for i, row := range rows {
		for _, g := range groups {
			g.columns[i].row = row
		}
		if !row.Exists() {
			continue
		}
		for family, c := range a.columnsOf(row) {
			g := a.groupOf(groups, family)
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
	return a.inBucket(start, groups, yield) && a.merge(groups, yield)
}

// errStray is why a cell is no event: other programs may have written it at the time
// of the server, which says nothing of the event's.
var errStray = fmt.Errorf("%w: the timestamp of a cell is not in the bucket of its row", codec.ErrTime)

// inBucket leaves out cells whose timestamps are not in the bucket of their row, and
// yields an error for each column that has some.
func (a *assembler[E]) inBucket(start time.Time, groups []*group, yield yielder[E]) bool {
	from, to := start.UnixMicro(), a.layout.Bucket.End(start).UnixMicro()
	for _, g := range groups {
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

// offsets takes the data of a bucket that has a column for each event. What is no
// time is yielded as an error.
func (a *assembler[E]) offsets(start time.Time, groups []*group, row wire.Row, yield yielder[E]) bool {
	times := a.layout.offset().In(start)
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
		newest := row.Cells(c)[0]
		to := &a.groupOf(groups, family).columns[0]
		to.own = append(to.own, wire.Cell{Micros: micros, Value: newest.Value})
		to.stamps = append(to.stamps, newest.Micros)
		if a.layout.Sequence != nil {
			to.sequences = append(to.sequences, sequence)
		}
	}
	for _, g := range groups {
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
func (a *assembler[E]) split(groups []*group, row wire.Row) {
	var before *wire.Column
	for family, c := range a.columnsOf(row) {
		g := a.groupOf(groups, family)
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
	for _, g := range groups {
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

// merge brings the columns of a bucket together to events, in the order of time and
// of the tie-breaker, or against it.
func (a *assembler[E]) merge(groups []*group, yield yielder[E]) bool {
	a.fresh = a.freshness(groups)
	if g := only(groups); g != nil && g.agree() {
		return a.straight(g, yield)
	}
	if a.newestFirst {
		return a.turned(groups, yield)
	}
	return a.mergeTimes(groups, yield)
}

// turned yields the events of a merge from the newest on.
func (a *assembler[E]) turned(groups []*group, yield yielder[E]) bool {
	type result struct {
		event E
		err   error
	}
	var results []result
	a.mergeTimes(groups, func(e *E, err error) bool {
		results = append(results, result{*e, err})
		return true
	})
	for _, r := range slices.Backward(results) {
		if !yield(&r.event, r.err) {
			return false
		}
		if a.latestOnly {
			break // what is older is asked for in part, and not wanted
		}
	}
	return true
}

// straight yields the events of a group whose columns agree.
func (a *assembler[E]) straight(g *group, yield yielder[E]) bool {
	lead := g.lead()
	begin, end := a.within(lead)
	if begin == end {
		return true
	}
	if a.into != nil {
		if taken, more := a.into.take(a, g, begin, end); taken {
			return more
		}
	}
	for k := begin; k < end; k++ {
		n := k
		if a.newestFirst {
			n = begin + end - 1 - k
		}
		for i := range g.columns {
			c := &g.columns[i]
			c.at = min(n, len(c.cells))
			c.end = min(n+1, len(c.cells))
		}
		if !a.yield(codec.FromMicros(lead.cells[n].Micros), g, 0, yield) {
			return false
		}
		if a.latestOnly && a.found {
			break // as in turned
		}
	}
	return true
}

// within returns which data of a column are in the range.
func (a *assembler[E]) within(c *column) (begin, end int) {
	end = len(c.cells)
	for begin < end && codec.FromMicros(c.cells[begin].Micros).Before(a.from) {
		begin++
	}
	for end > begin && !codec.FromMicros(c.cells[end-1].Micros).Before(a.to) {
		end--
	}
	return begin, end
}

// mergeTimes merges the groups time by time.
func (a *assembler[E]) mergeTimes(groups []*group, yield yielder[E]) bool {
	for {
		var next *group
		var first instant
		for _, g := range groups {
			if at, ok := g.earliest(); ok && (next == nil || at.compare(first) < 0) {
				next, first = g, at
			}
		}
		if next == nil {
			return true
		}
		if !a.mergeTime(next, first, yield) {
			return false
		}
	}
}

// mergeTime yields the events of a group at one time. Where columns have several
// data at that time there are as many events as the column with the most has,
// and the others repeat their last one.
func (a *assembler[E]) mergeTime(g *group, at instant, yield yielder[E]) bool {
	most := g.take(at)
	if t := codec.FromMicros(at.micros); a.wanted(t) {
		for n := range most {
			if !a.yield(t, g, n, yield) {
				return false
			}
		}
	}
	g.advance()
	return true
}

// yield makes an event of the n-th data that the columns have at the current
// time, or their last ones, and yields it unless nothing of it is alive by the
// clock as it is now: a long scan outlives what it reads.
func (a *assembler[E]) yield(at time.Time, g *group, n int, yield yielder[E]) bool {
	event := &a.event
	*event = a.base
	*a.layout.Time(event) = at
	choice := a.layout.choice(event)
	if choice.Class != nil {
		*choice.Class = g.class
	}
	var failed error
	a.found = false
	now, stale := a.stale()
	for i := range a.layout.Columns {
		if a.skips(i) {
			continue
		}
		column, c := &a.layout.Columns[i], &g.columns[i]
		k := min(c.at+n, c.end-1)
		var err error
		switch {
		case c.at == c.end || stale && !a.alive(now, g, i, k):
			if !column.WrittenAt {
				err = a.layout.Missing(event, i)
			}
		default:
			a.found = a.found || !column.WrittenAt
			if c.sequences != nil {
				*a.layout.Sequence(event) = c.sequences[k]
			}
			a.expires(choice, column, c.stamp(k))
			err = a.layout.Set(event, i, c.value(k))
		}
		if err != nil && failed == nil {
			failed = a.fail(g.rowOf(i), column.Name, at, err)
		}
	}
	return !a.found || yield(event, failed)
}

// skips reports whether a column is not to be fetched.
func (a *assembler[E]) skips(column int) bool { return a.fetch != nil && !a.fetch[column] }

// expires tells the event when it expires, where its cells say so.
func (a *assembler[E]) expires(choice Choice, column *Column, stamp int64) {
	if choice.ExpiresAt == nil {
		return
	}
	if expiry, ok := a.layout.Table.Families[column.Family].Life.Expiry(stamp); ok {
		*choice.ExpiresAt = expiry
	}
}

// familyOf returns the index of the family of the data of a column.
func (a *assembler[E]) familyOf(g *group, column int) int {
	if g.class > 0 {
		return g.class - 1
	}
	return a.layout.Columns[column].Family
}

// alive reports whether the k-th datum of a column is alive.
func (a *assembler[E]) alive(now time.Time, g *group, column, k int) bool {
	c, family := &g.columns[column], a.familyOf(g, column)
	var alive bool
	if a.layout.Kind == BucketCells {
		newer := len(c.cells) - 1 - k
		if now.After(a.ranksEnd) && a.layout.Bucket.End(codec.FromMicros(c.cells[k].Micros)).After(a.to) {
			newer = math.MaxInt32 // what the range left out of the bucket may be newer
		}
		alive = a.layout.Table.Families[family].Life.Alive(now, c.cells[k].Micros, newer+1)
	} else {
		alive = c.stamp(k) >= a.horizon(now, family) // it is the newest of its column
	}
	a.expired = a.expired || !alive
	return alive
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

// freshness returns the freshness of groups.
func (a *assembler[E]) freshness(groups []*group) freshness {
	f := freshness{ever: true}
	for _, g := range groups {
		for i := range g.columns {
			c, life := &g.columns[i], &a.layout.Table.Families[a.familyOf(g, i)].Life
			if len(c.cells) == 0 || life.Forever() {
				continue
			}
			until := life.Fresh(c.oldest(), a.layout.Kind != BucketCells)
			if f.ever || until.Before(f.until) {
				f = freshness{until: until}
			}
		}
	}
	return f
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
	if a.strayed != nil {
		failed = a.strayed // what is newest of its column may have hidden an event
	}
	return event, failed
}
