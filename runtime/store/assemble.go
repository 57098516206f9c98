package store

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/frame"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// assembler makes events out of the cells of rows.
//
// Bigtable sends a row as its cells, by family, column and time. An event is one datum of each
// column, whose time is in the row key, in timestamps or in qualifiers, depending on the pattern.
// The way from one to the other has four steps:
//
//  1. timeOf parses the key. It puts the series into base, and returns the time of the event or
//     the start of the bucket. Most rows have the series of the row before: their keys differ only
//     in what is between prefix and suffix, and the rest is not parsed again.
//  2. The cells of a bucket go to groups, one for each TTL class, because an event and all its data
//     have one class. In a group, the data of each column are in ascending order of time, whatever
//     the order of the read is. Rows with a single event skip this step.
//  3. The frame aligns the columns: its k-th event has the k-th cell of each column, or a hole.
//     Mostly, all columns have data at the same instants, and are taken as they are. Otherwise,
//     they are merged by time and sequence number.
//  4. yield passes the events on: column by column to a taker, if nothing is left out and nothing
//     has a default, and one by one otherwise.
//
// These hold between the steps:
//
//   - Columns are known by their index in Mapping.Columns, in groups, frames and projections.
//     The older columns of a field follow all others, and dropOlder removes their data where a
//     newer column of the field has any, so that an event has one datum for each field.
//   - The events of a bucket are in ascending order in the frame. Only yield turns the order.
//   - Groups and frame are memory of the reader, which the next row overwrites, and cells refer to
//     the memory of their row. An event is thus valid until the yielder returns, and a row is
//     released after its last event was yielded. Rows with a single event wait in the frame for
//     those that arrived in the same response, so that a taker gets many events at once; flush
//     ends that.
//   - What is live is decided twice: by the filter, when the server reads a row, and again when an
//     event is yielded, because a caller may take longer than the data live. The freshness of a
//     frame is the time until which this check is not needed. A rank among newer cells is known
//     only in buckets that were read to their end; in others it holds until ranksEnd, and what
//     depends on it is an error from then on.
//   - An event is yielded if any of its data is live, apart from its write time. What it lacks
//     then gets its default, or is an error.
//   - A cell or key that cannot be decoded is yielded as an error of its event, and the read goes
//     on. A cell outside the bucket of its row is such an error, too: a read of its time would not
//     look into this row. A row of another mapping is none: the reader of that one yields it.
type assembler struct {
	rowAssembler
	delivery
	mapping *mapping
	base    event                               // an event with only the series of the row
	parse   func(row string) (time.Time, error) // sets the series of base; see mapping.parser
	prefix  string                              // what precedes the time in the keys of the series; empty for several series
	suffix  string                              // what follows the time in these keys
	known   bool                                // base has the series of these keys
	times   codec.TimeReader                    // parses the times of these keys, for single-event rows
	labels  codec.LabelReader                   // parses the labels of these keys, for other rows
	match   func(e event) bool                  // whether the read includes a row's series; nil if it includes all
	event   event                               // the event that is being made
	found   bool                                // some of its data is live
	mark    mark                                // of the event, if marks are wanted
	one     [1]wire.Row                         // see inRow
}

// delivery is how the caller of a read gets its events. It is the same for all mappings of a
// read, whose assemblers are made one after the other.
type delivery struct {
	latestOnly bool  // one event per series suffices
	marks      bool  // the marks of events are wanted
	into       taker // takes events in columnar form; nil if they are yielded one by one
	// runs decides what a read takes of rows with cells of a rollup; nil if it takes the events.
	runs rowSource
}

// rowSource takes rows that have cells of a rollup.
type rowSource interface {
	// uses reports whether rows of a mapping are passed to row.
	uses(l *mapping) bool
	// ask sets which cells of the rollup to read of a mapping that it uses.
	ask(l *mapping, of *scan.Read)
	// row is assembler.inRow.
	row(a *assembler, at time.Time, row wire.Row, yield yielder) bool
}

// rowAssembler assigns the cells of rows to events, and says which are live.
type rowAssembler struct {
	shape    *scan.Table
	table    string
	columns  []Column // of the mapping
	families []Family // of the mapping
	// newestFirst yields events in descending order of time.
	newestFirst bool
	fetched     scan.Projection // per column; nil for everything
	conditions  scan.Conditions // on the fields of an event
	from, to    time.Time
	now         func() time.Time
	ranksEnd    time.Time // ranks that the read determined are valid until then
	unranked    bool      // after ranksEnd, whether an event is live depends on cells that were not read
	*memory
	fresh      freshness // of the data of the current events
	horizons   []int64   // of the families at horizonsAt
	horizonsAt time.Time
	expired    bool  // the assembler left out data that expired after it was requested
	strayed    error // error for a cell outside the bucket of its row
}

// rowAssembler returns a rowAssembler without a time range and memory.
func (l *mapping) rowAssembler(table string, shape *scan.Table, now func() time.Time) rowAssembler {
	return rowAssembler{shape: shape, table: table, columns: l.Columns, families: l.Table.Families, now: now}
}

// newAssembler returns an assembler for events of the reader, whose series base has.
func (r *Reader) newAssembler(base event) assembler {
	l := r.mapping
	base = l.clone(base)
	return assembler{mapping: l, rowAssembler: r.rowAssembler(), base: base, parse: l.parser(base), event: l.new()}
}

// rowAssembler returns a rowAssembler for the rows of the reader.
func (r *Reader) rowAssembler() rowAssembler {
	return r.mapping.rowAssembler(r.table.ID, &r.shape, r.options.Now)
}

// memory is reused by successive reads.
type memory struct {
	groups []*frame.Group
	frame  frame.Frame
	oldest []int64  // lowest timestamps per family; see findOldest
	placed []placed // of the columns of the row before; see placeOf
}

// yielder consumes an event, which is valid until it returns, and reports whether the
// caller wants more. An event that comes with an error contains what could be decoded.
type yielder = func(e event, err error) bool

// reporting returns a function that yields an error.
func (a *assembler) reporting(yield yielder) func(error) bool {
	return func(err error) bool { return yield(a.base, err) }
}

// newMemory returns memory for reads with this mapping.
func (l *mapping) newMemory() *memory {
	m := &memory{oldest: make([]int64, len(l.Table.Families))}
	n := 1
	if l.Table.hasClasses() {
		n = len(l.Table.Families)
	}
	for i := range n {
		m.groups = append(m.groups, &frame.Group{Class: l.Table.Families[i].Class, Columns: make([]frame.Column, len(l.Columns))})
	}
	m.frame.Reset(len(l.Columns))
	return m
}

// empty returns empty groups for the cells of a row: one per class, or a single one.
func (m *memory) empty(row wire.Row) []*frame.Group {
	for _, g := range m.groups {
		for i := range g.Columns {
			g.Columns[i].Reset(row)
		}
	}
	return m.groups
}

// groupOf returns the group for the cells of a family.
func (m *memory) groupOf(family int) *frame.Group {
	if len(m.groups) == 1 {
		return m.groups[0]
	}
	return m.groups[family]
}

// fail returns the error for a cell or row key that cannot be decoded.
func (a *rowAssembler) fail(row, column string, at time.Time, err error) error {
	return &DecodeError{Table: a.table, Row: row, Column: column, Time: at, Err: err}
}

// wanted reports whether t is in the time range of the read.
func (a *rowAssembler) wanted(t time.Time) bool { return !t.Before(a.from) && t.Before(a.to) }

// timeOf parses the key of a row. It sets the series of base and returns the time or
// the start of the bucket.
func (a *assembler) timeOf(row wire.Row) (time.Time, error) {
	label, ofSeries := a.label(row)
	if a.known && ofSeries && a.mapping.Pattern.Bucketed() {
		if start, ok := a.labels.Parse(label); ok && a.mapping.covers(start) {
			return start, nil
		}
	}
	at, err := a.parse(row.Key())
	a.known = err == nil && ofSeries
	switch {
	case errors.Is(err, codec.ErrKind):
		return at, request.ErrForeign
	case len(a.mapping.others) > 0 && (err == nil && !a.mapping.covers(at) || err != nil && a.mapping.foreign(row.Key())):
		return at, request.ErrForeign
	case err != nil:
		return at, a.fail(row.Key(), "", time.Time{}, err)
	}
	return at, nil
}

// expect says that the following rows are those of a span, and whether of several series.
func (a *assembler) expect(span *codec.Span, multiSeries bool) {
	a.prefix, a.suffix, a.known = "", "", false
	bucketed := a.mapping.Pattern.Bucketed()
	if multiSeries || !span.Whole || !bucketed && span.Suffix != "" {
		return
	}
	if a.prefix = span.Prefix; span.Suffix != "" {
		a.suffix = span.Delimiter + span.Suffix
	}
	if bucketed {
		a.labels = codec.NewLabelReader(a.mapping.Key.Bucket)
	} else {
		a.times = codec.NewTimeReader(a.mapping.Key.Time)
	}
}

// label returns the time or bucket label in the key of a row of the series; false if the
// key is that of another series or that is not known.
func (a *assembler) label(row wire.Row) ([]byte, bool) {
	key := row.KeyBytes()
	begin, end := len(a.prefix), len(key)-len(a.suffix)
	if begin == 0 || begin > end || string(key[:begin]) != a.prefix || string(key[end:]) != a.suffix {
		return nil, false
	}
	return key[begin:end], true
}

// undecodable yields the error of a row whose key cannot be decoded, unless the row
// belongs to another mapping.
func (a *assembler) undecodable(err error, yield yielder) bool {
	return err == request.ErrForeign || yield(a.base, err)
}

// position returns the position of a row among the rows of all spans.
func (a *assembler) position(q *query, span codec.Span, row wire.Row) (request.Position, error) {
	if !q.MultiSeries {
		start, err := a.timeOf(row)
		return request.Position{Start: start, Falling: a.newestFirst}, err
	}
	return request.Position{Rest: row.Key()[len(span.Prefix):], Falling: a.newestFirst != a.shape.Descending()}, nil
}

// row yields the events of a row and releases it. It may retain a row with a single
// event until all rows that arrived with it are complete; see flush.
func (a *assembler) row(row wire.Row, yield yielder) bool {
	if !a.mapping.Pattern.Bucketed() {
		return a.single(row, yield)
	}
	defer row.Release()
	start, err := a.timeOf(row)
	switch {
	case err != nil:
		return a.undecodable(err, yield)
	case a.match != nil && !a.match(a.base):
		return true
	}
	return a.inRow(start, row, yield)
}

// inRow yields the events of a row that contains all their data, in order of time, given
// the time in its key. It does not release the row.
func (a *assembler) inRow(at time.Time, row wire.Row, yield yielder) bool {
	if a.runs != nil && a.runs.uses(a.mapping) {
		return a.runs.row(a, at, row, yield)
	}
	return a.eventsOf(at, row, yield)
}

// eventsOf is inRow for the events of the row.
func (a *assembler) eventsOf(at time.Time, row wire.Row, yield yielder) bool {
	a.one[0] = row
	return a.mapping.form().events(a, at, a.one[:], yield)
}

// rows yields the events of rows at the same position and releases the rows.
func (a *assembler) rows(rows []wire.Row, yield yielder) bool {
	for _, row := range rows {
		switch {
		case !row.Exists():
		case a.mapping.Pattern.RowPerField():
			return a.metrics(rows, row, yield)
		case !a.row(row, yield):
			return false
		}
	}
	return true
}

// maxTogether is how many rows with a single event wait for others. More would leave the fast memory of
// the processor before they are yielded.
const maxTogether = 256

// single processes a row with a single event. Like the functions below, it reports
// whether the caller wants more. If the keys of a series end with the time, single
// collects the rows that arrived together and yields their events together.
func (a *assembler) single(row wire.Row, yield yielder) bool {
	at, joins := a.joins(row)
	if !joins {
		if !a.flush(yield) {
			return false
		}
		var err error
		if at, err = a.timeOf(row); err != nil {
			row.Release()
			return a.undecodable(err, yield)
		}
		if a.match != nil && !a.match(a.base) {
			row.Release()
			return true
		}
	}
	waits := a.known && !row.Last() && len(a.frame.Times) < maxTogether
	if !a.wanted(at) || !a.place(at, row) {
		row.Release()
	}
	return waits || a.flush(yield)
}

// joins reports whether a row arrived with the collected rows and belongs to their
// series, and returns its time.
func (a *assembler) joins(row wire.Row) (time.Time, bool) {
	waiting := a.frame.Rows
	text, ofSeries := a.label(row)
	if !a.known || !ofSeries || len(waiting) > 0 && !row.With(waiting[0]) {
		return time.Time{}, false
	}
	return a.times.Parse(text)
}

// place adds the event of a row to the frame, or one event per class that has cells in
// the row. It returns false if there is none.
func (a *rowAssembler) place(at time.Time, row wire.Row) bool {
	f := &a.frame
	before, class := len(f.Times), 0
	columns := row.Columns()
	for n := range columns {
		c := &columns[n]
		to := a.placeOf(n, row, c)
		cells := row.Cells(c)
		if to.column < 0 || len(cells) == 0 {
			continue
		}
		of := a.families[to.family].Class
		if len(f.Times) == before || of != class {
			f.Begin(row, at, of, to.column, &cells[0])
			class, cells = of, cells[1:]
		}
		for i := range cells {
			f.Put(to.column, &cells[i]) // the newest wins
		}
	}
	f.SortClasses(before, a.newestFirst)
	return len(f.Times) > before
}

// placed are the indexes of the family and the column of a stored column; column is -1 if the mapping
// has none.
type placed struct{ family, column int }

// maxPlaced is the largest number of columns of a row whose indexes are remembered.
const maxPlaced = 256

// placeOf returns the indexes of the n-th column of a row. Mostly, they are those of the row before.
func (a *rowAssembler) placeOf(n int, row wire.Row, c *wire.Column) placed {
	family, qualifier := row.Bytes(c.Family), row.Bytes(c.Qualifier)
	if n < len(a.placed) {
		p := a.placed[n]
		if p.column >= 0 && a.columns[p.column].Name == string(qualifier) && a.families[p.family].Name == string(family) {
			return p
		}
	}
	p := placed{family: slices.IndexFunc(a.families, func(f Family) bool { return f.Name == string(family) }), column: -1}
	if p.family >= 0 {
		p.column = a.column(p.family, a.families[p.family].Class, qualifier)
	}
	for len(a.placed) <= n && n < maxPlaced {
		a.placed = append(a.placed, placed{column: -1})
	}
	if n < maxPlaced {
		a.placed[n] = p
	}
	return p
}

// flush yields the events of the collected rows and releases the rows.
func (a *assembler) flush(yield yielder) bool {
	f := &a.frame
	if len(f.Rows) == 0 {
		return true
	}
	if !a.yield(0, len(f.Times), yield) {
		return false
	}
	for k, row := range f.Rows {
		if k+1 == len(f.Rows) || f.Rows[k+1] != row {
			row.Release()
		}
	}
	f.Reset(len(f.Columns))
	return true
}

// bucket yields the events of the groups.
func (a *assembler) bucket(yield yielder) bool {
	f := &a.frame
	a.dropOlder()
	f.Fill(a.groups, a.fetched)
	f.Turned = a.newestFirst
	begin, end := f.Within(a.from, a.to)
	return begin == end || a.yield(begin, end, yield)
}

// metrics yields the events of a bucket with one row per metric, whose column
// qualifiers are the data. first is one of the rows.
func (a *assembler) metrics(rows []wire.Row, first wire.Row, yield yielder) bool {
	defer release(rows)
	start, err := a.timeOf(first)
	if err != nil {
		return a.undecodable(err, yield)
	}
	if a.match != nil && !a.match(a.base) {
		return true
	}
	return a.mapping.form().events(a, start, rows, yield)
}

// splitMetrics assigns the qualifiers of a bucket's rows, one for each column, to the
// columns of the groups. Rows that do not exist are zero.
func (a *rowAssembler) splitMetrics(rows []wire.Row) {
	groups := a.empty(wire.Row{})
	for i, row := range rows {
		for _, g := range groups {
			g.Columns[i].Row = row
		}
		if !row.Exists() {
			continue
		}
		for family, c := range a.columnsOf(row) {
			g := a.groupOf(family)
			if g.Class == 0 && a.columns[i].Family != family {
				continue
			}
			for _, cell := range row.Cells(c) {
				g.Columns[i].Own = append(g.Columns[i].Own, wire.Cell{Micros: cell.Micros, Value: c.Qualifier})
			}
		}
		for _, g := range groups {
			// Cells are sorted by qualifier, which is the datum, not by time.
			g.Columns[i].Sort()
		}
	}
}

// errStray is the error for a cell whose timestamp is not in the bucket of its row.
// Another program may have written it with the server's time.
var errStray = fmt.Errorf("%w: the timestamp of a cell is not in the bucket of its row, which may have been wider with the same label", codec.ErrTimeRange)

// inBucket removes cells whose timestamps are not in the bucket of their row. It yields
// an error for each column that has any.
func (a *rowAssembler) inBucket(start time.Time, report func(error) bool) bool {
	from, to := start.UnixMicro(), a.shape.Offset.Bucket.End(start).UnixMicro()
	for _, g := range a.groups {
		for i := range g.Columns {
			c := &g.Columns[i]
			if n := len(c.Cells); n == 0 || from <= c.Cells[0].Micros && c.Cells[n-1].Micros < to {
				continue
			}
			stray := c.Cells[0].Micros
			if stray >= from {
				stray = c.Cells[len(c.Cells)-1].Micros
			}
			c.Cells = slices.DeleteFunc(c.Cells, func(cell wire.Cell) bool { return cell.Micros < from || cell.Micros >= to })
			a.strayed = &DecodeError{Table: a.table, Row: c.Row.Key(), Column: a.columns[i].Name, Time: codec.FromMicros(stray), Err: errStray, bucket: start}
			if !report(a.strayed) {
				return false
			}
		}
	}
	return true
}

// release releases rows. Nothing may refer to their cells any more.
func release(rows []wire.Row) {
	for _, row := range rows {
		if row.Exists() {
			row.Release()
		}
	}
}

// offsets collects the data of a bucket with one column per event. It yields an error
// for each qualifier that is not a time.
func (a *rowAssembler) offsets(start time.Time, row wire.Row, report func(error) bool) bool {
	times := a.shape.Offset.In(start)
	for family, columns := range a.familiesOf(row) {
		to := &a.groupOf(family).Columns[0]
		for {
			bad := to.AddOffsets(row, columns, &times, a.shape.Offset.Sequence)
			if bad == len(columns) {
				break
			}
			qualifier := row.Bytes(columns[bad].Qualifier)
			if !report(a.fail(row.Key(), string(qualifier), time.Time{}, times.Refuse(qualifier))) {
				return false
			}
			for again := &columns[bad]; bad < len(columns) && row.Same(again, &columns[bad]); bad++ {
			}
			columns = columns[bad:]
		}
	}
	for _, g := range a.groups {
		g.Columns[0].Cells = g.Columns[0].Own
	}
	return true
}

// familiesOf yields the columns of each family of the table that a row has, with the
// index of the family.
func (a *rowAssembler) familiesOf(row wire.Row) iter.Seq2[int, []wire.Column] {
	families := a.families
	return func(yield func(int, []wire.Column) bool) {
		for columns := row.Columns(); len(columns) > 0; {
			n := len(columns)
			if !row.SameFamily(&columns[0], &columns[n-1]) { // several, since the columns of a family are adjacent
				n = slices.IndexFunc(columns, func(c wire.Column) bool { return !row.SameFamily(&columns[0], &c) })
			}
			family := slices.IndexFunc(families, func(f Family) bool { return f.Name == string(row.Bytes(columns[0].Family)) })
			if family >= 0 && !yield(family, columns[:n]) {
				return
			}
			columns = columns[n:]
		}
	}
}

// columnsOf yields the columns of a row that belong to families of the table, with the
// index of the family.
func (a *rowAssembler) columnsOf(row wire.Row) iter.Seq2[int, *wire.Column] {
	return func(yield func(int, *wire.Column) bool) {
		for family, columns := range a.familiesOf(row) {
			for i := range columns {
				if !yield(family, &columns[i]) {
					return
				}
			}
		}
	}
}

// split assigns the cells of a row to the columns of the groups. It ignores columns
// that are not in the mapping.
func (a *rowAssembler) split(row wire.Row) {
	var before *wire.Column
	for family, c := range a.columnsOf(row) {
		g := a.groupOf(family)
		i := a.column(family, g.Class, row.Bytes(c.Qualifier))
		again := before != nil && row.Same(before, c)
		before = c
		if i < 0 {
			continue
		}
		cells := row.Cells(c)
		if again {
			cells = slices.Concat(g.Columns[i].Cells, cells)
		}
		g.Columns[i].Cells = cells
	}
	for _, g := range a.groups {
		for i := range g.Columns {
			g.Columns[i].Ascend()
		}
	}
}

// onlyNewest removes the data of all times but the newest one, and that, too, unless it comes after a time
// in microseconds.
func (a *rowAssembler) onlyNewest(after int64) {
	newest := after
	for _, g := range a.groups {
		for i := range g.Columns {
			if cells := g.Columns[i].Cells; len(cells) > 0 {
				newest = max(newest, cells[len(cells)-1].Micros)
			}
		}
	}
	for _, g := range a.groups {
		for i := range g.Columns {
			c := &g.Columns[i]
			older := len(c.Cells)
			if older > 0 && newest > after && c.Cells[older-1].Micros == newest {
				older--
			}
			c.Cells = c.Cells[older:]
		}
	}
}

// column returns the index of a column, or -1 if it is not in the mapping.
func (a *rowAssembler) column(family, class int, qualifier []byte) int {
	columns := a.columns
	for i := range columns {
		if columns[i].Name == string(qualifier) && (class > 0 || columns[i].Family == family) {
			return i
		}
	}
	return -1
}

// yield yields events [begin, end) of the frame, in columnar form if the caller wants
// that and the events are valid.
func (a *assembler) yield(begin, end int, yield yielder) bool {
	a.fresh = a.freshness()
	if a.into == nil {
		return a.yieldEach(begin, end, yield)
	}
	for next := begin; begin < end; begin = next {
		next = begin + min(a.into.most(), end-begin)
		taken, more := false, true
		if a.allMeet(begin, next) {
			taken, more = a.into.take(a, begin, next)
		}
		if !taken {
			more = a.yieldEach(begin, next, yield)
		}
		if !more {
			return false
		}
	}
	return true
}

// yieldEach yields the events [begin, end) of the frame, made one by one.
func (a *assembler) yieldEach(begin, end int, yield yielder) bool {
	for k := begin; k < end; k++ {
		n := k
		next := n + 1
		if a.frame.Turned {
			n = begin + end - 1 - k
			next = n - 1
		}
		if a.marks {
			a.mark = a.markOf(n, next, begin, end)
		}
		if !a.yieldOne(n, yield) {
			return false
		}
		if a.latestOnly && a.found && a.mapping.Pattern.Bucketed() {
			break // older events were read only in part
		}
	}
	return true
}

// markOf returns the mark of the k-th event of the frame, whose events [begin, end) are yielded, and
// which is followed by the next one, if there is one.
func (a *rowAssembler) markOf(k, next, begin, end int) (m mark) {
	f := &a.frame
	m.open = begin <= next && next < end && f.Together(k, next)
	if !a.shape.Pattern.Appends() {
		return m
	}
	for i := range a.columns {
		if !a.fetched.HasValues(i) || a.columns[i].replaced {
			continue
		}
		from, datum := a.source(i, k), ""
		if cell := f.Cell(from, k); cell != nil {
			datum = string(f.Columns[from].Row.Bytes(cell.Value))
		}
		m.data = append(m.data, datum)
	}
	return m
}

// ErrLongRead is the error of a read that takes over an hour, at an event that has become too old meanwhile, and is only kept if newer
// ones do not replace it, in a bucket that the read does not read to its end (all_of with max_age and max_versions). Read what
// is left again, from the time of the last event on. The error ends the read.
var ErrLongRead = errors.New("the read takes over an hour, and whether the event is still kept depends on newer ones that it does not read; read again from the last event on")

// endLong ends a read with [ErrLongRead].
func (a *assembler) endLong(e event, yield yielder) (more bool) {
	yield(e, ErrLongRead)
	return false
}

// yieldOne makes the k-th event of the frame and yields it unless all of its data has
// expired by now: a scan may take longer than the data lives.
func (a *assembler) yieldOne(k int, yield yielder) bool {
	f, event := &a.frame, a.event
	a.mapping.assignAt(event, a.base, f.Times[k])
	fields := a.mapping.ttlFields(event)
	if fields.Class != nil {
		*fields.Class = f.ClassOf(k)
	}
	if len(f.Sequences) > 0 {
		*a.mapping.Sequence(event) = f.Sequences[k]
	}
	var failed error
	a.found, a.unranked = false, false
	var now time.Time
	stale := false
	if !a.fresh.ever {
		now, stale = a.stale()
	}
	if len(a.conditions) > 0 && !a.meets(now, stale, k) {
		return !a.unranked || a.endLong(event, yield)
	}
	for i := range a.mapping.Columns {
		if a.fetched.Omits(i) || a.mapping.Columns[i].replaced {
			continue
		}
		from := a.source(i, k)
		column, cell := &a.mapping.Columns[from], f.Cell(from, k)
		var err error
		switch {
		case cell == nil || stale && !a.alive(now, from, k):
			if !column.WrittenAt && a.fetched.HasValues(i) {
				err = a.mapping.Missing(event, i)
			}
		default:
			a.found = a.found || !column.WrittenAt
			if fields.ExpiresAt != nil {
				a.expires(fields, column, cell.Micros)
			}
			if a.fetched.HasValues(i) {
				err = a.mapping.take(event, from, f.Columns[from].Row.Bytes(cell.Value))
			}
		}
		if err != nil && failed == nil {
			failed = a.fail(f.RowOf(from, k), column.Name, f.Times[k], err)
		}
	}
	if a.unranked {
		return a.endLong(event, yield)
	}
	return !a.found || yield(event, failed)
}

// take stores the datum of a column in an event.
func (l *mapping) take(e event, column int, datum []byte) error {
	return l.Set(e, column, datum)
}

// expires sets the expiry of the event if its cells determine it.
func (a *rowAssembler) expires(fields TTLFields, column *Column, stamp int64) {
	if expiry, ok := a.families[column.Family].Life.Expiry(stamp); ok {
		*fields.ExpiresAt = expiry
	}
}

// familyOf returns the index of the family with the datum of a column of the k-th
// event.
func (a *rowAssembler) familyOf(column, k int) int {
	if class := a.frame.ClassOf(k); class > 0 {
		return class - 1
	}
	return a.columns[column].Family
}

// alive reports whether the datum of a column of the k-th event is live.
func (a *rowAssembler) alive(now time.Time, column, k int) bool {
	f, family := &a.frame, a.familyOf(column, k)
	stamp := f.Cell(column, k).Micros
	alive := false
	if a.shape.Pattern.Versioned() {
		life := &a.families[family].Life
		alive = life.Alive(now, stamp, f.Rank(column, k)+1)
		if alive && now.After(a.ranksEnd) && a.shape.Offset.Bucket.End(f.Times[k]).After(a.to) && !life.Alive(now, stamp, math.MaxInt32) {
			alive, a.unranked = false, true // cells after the range, which were not read, may be newer
		}
	} else {
		alive = stamp >= a.horizon(now, family) // the cell is the newest of its column
	}
	a.expired = a.expired || !alive
	return alive
}

// allAlive reports whether all data of events [begin, end) is live.
func (a *rowAssembler) allAlive(now time.Time, begin, end int) bool {
	for i := range a.frame.Columns {
		for k := begin; k < end; k++ {
			if a.frame.Cell(i, k) != nil && !a.alive(now, i, k) {
				return false
			}
		}
	}
	return true
}

// horizon returns the lowest timestamp at which the newest cell of a column in the
// family is live.
func (a *rowAssembler) horizon(now time.Time, family int) int64 {
	if families := a.families; !now.Equal(a.horizonsAt) || len(a.horizons) == 0 {
		a.horizonsAt, a.horizons = now, a.horizons[:0]
		for i := range families {
			a.horizons = append(a.horizons, families[i].Life.Horizon(now))
		}
	}
	return a.horizons[family]
}

// freshness is the time until which all data of a bucket is live, or ever. Until then,
// cells need not be checked one by one. The zero freshness guarantees nothing.
type freshness struct {
	ever  bool
	until time.Time
}

// freshness returns the freshness of the frame.
func (a *rowAssembler) freshness() freshness {
	f := freshness{ever: true}
	a.findOldest()
	for i, us := range a.oldest {
		life := &a.families[i].Life
		if us == math.MaxInt64 || life.Forever() {
			continue
		}
		until := life.Fresh(us, !a.shape.Pattern.Versioned())
		if f.ever || until.Before(f.until) {
			f = freshness{until: until}
		}
	}
	return f
}

// findOldest determines the lowest timestamp in each family.
func (a *rowAssembler) findOldest() {
	f := &a.frame
	for i := range a.oldest {
		a.oldest[i] = math.MaxInt64
	}
	rising := !f.Mixed && a.shape.Pattern.EventTimed()
	for i := range f.Columns {
		for cells, k := f.Columns[i].Cells, 0; k < len(cells); {
			n := len(cells) // whose cells are in the same family
			if f.Mixed {
				n = k + 1
			}
			oldest := &a.oldest[a.familyOf(i, k)]
			*oldest = min(*oldest, lowest(cells[k:n], rising))
			k = n
		}
	}
}

// lowest returns the lowest timestamp of cells, whose timestamps may be rising.
func lowest(cells []wire.Cell, rising bool) int64 {
	var micros int64 = math.MaxInt64
	for i := range cells {
		if cells[i].Micros < micros && !frame.IsHole(&cells[i]) {
			micros = cells[i].Micros
			if rising {
				break
			}
		}
	}
	return micros
}

// stale reports whether data may have expired by now.
func (a *rowAssembler) stale() (now time.Time, stale bool) {
	if a.fresh.ever {
		return now, false
	}
	now = a.now()
	return now, !now.Before(a.fresh.until)
}

// last returns the newest event in the rows of one bucket, or in one row.
func (a *assembler) last(rows []wire.Row) (newest event, failed error) {
	newest, failed = a.base, ErrNotFound
	keep := func(e event, err error) bool {
		newest, failed = a.mapping.clone(e), err
		return true
	}
	a.rows(rows, keep)
	a.flush(keep)
	if a.strayed != nil {
		failed = a.strayed // the stray cell may have hidden an event
	}
	return newest, failed
}
