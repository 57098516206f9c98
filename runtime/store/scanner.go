package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Scanner reads all events of one table in order of row keys: those of all series and of
// all layouts by time that the table contains. It is safe for concurrent use.
type Scanner[E any] struct{ scanner *scanner }

// scanner is a Scanner without its type parameter.
type scanner struct {
	id     string
	api    bigtable.TableAPI
	option ReaderOptions
	layers []*Reader // one for each mapping of the table, newest first
	runs   bool      // whether scans receive the cells of rollups, too
}

// UnknownTableError reports a table that the schema does not have.
type UnknownTableError struct {
	Table  string
	Tables []string // of the schema
}

// Error lists the tables of the schema.
func (e *UnknownTableError) Error() string {
	if e.Table == "" {
		return "no table is named; the schema has " + strings.Join(e.Tables, ", ")
	}
	return fmt.Sprintf("the schema has no table %q; it has %s", e.Table, strings.Join(e.Tables, ", "))
}

// NewScanner returns a Scanner for the table with the given ID, without
// ReaderOptions.TablePrefix. If no mapping, newest or earlier, stores events there, the
// error is an *UnknownTableError. ReaderOptions.Now decides which events have expired; with
// a fixed time, several scans return the same events.
func NewScanner[E any](client Client, mappings []*Mapping, table string, opts ...ReaderOptions) (*Scanner[E], error) {
	s, err := newScanner(client, completeAll(mappings), table, readerOptions(opts))
	if err != nil {
		return nil, err
	}
	return &Scanner[E]{s}, nil
}

// newScanner is NewScanner with complete options.
func newScanner(client Client, mappings []*mapping, table string, o ReaderOptions) (*scanner, error) {
	s := &scanner{id: o.TablePrefix + table, option: o}
	var known []string
	for _, l := range allPeriods(mappings) {
		if known = append(known, l.Table.ID); l.Table.ID != table {
			continue
		}
		if s.api == nil {
			s.api = OpenTable(client, s.id)
		}
		shape := l.shape()
		shape.Begin, shape.End = time.Time{}, time.Time{} // the scan selects by time itself
		s.layers = append(s.layers, l.reader(o, s.id, s.api, wireAllowed(client), shape))
	}
	if s.layers == nil {
		slices.Sort(known)
		return nil, &UnknownTableError{table, slices.Compact(known)}
	}
	return s, nil
}

// untyped returns the scanner without its type parameter. Without one, it is a scanner without a client.
func (s *Scanner[E]) untyped() *scanner {
	if s == nil || s.scanner == nil {
		return &scanner{api: noTable{&NoClientError{}}}
	}
	return s.scanner
}

// Table returns the ID of the table that is scanned, with its prefix. Earlier layouts of a
// schema may be in tables of their own.
func (s *Scanner[E]) Table() string { return s.untyped().id }

// WithRollups returns a Scanner whose scans also receive the cells of rollups, to count them; see [ScannedRow].
func (s *Scanner[E]) WithRollups() *Scanner[E] {
	with := *s.untyped()
	with.runs = true
	return &Scanner[E]{&with}
}

// Splits returns ranges of row keys that together cover the table, in order. They have
// about the same size as far as Bigtable samples row keys.
func (s *Scanner[E]) Splits(ctx context.Context) ([]KeyRange, error) { return s.untyped().splits(ctx) }

func (s *scanner) splits(ctx context.Context) ([]KeyRange, error) {
	return splits(ctx, s.api, s.id, s.option.Timeout)
}

// splits returns ranges of row keys of a table; see [Scanner.Splits].
func splits(ctx context.Context, api bigtable.TableAPI, id string, timeout time.Duration) ([]KeyRange, error) {
	ctx, cancel := call.Within(ctx, timeout)
	defer cancel()
	keys, err := api.SampleRowKeys(ctx)
	if err != nil {
		return nil, ofTable(id, missing(id, call.Explain(ctx, err)))
	}
	slices.Sort(keys)
	return rangesOf(keys), nil
}

// ScannedRow contains the events of a row.
type ScannedRow[E any] struct {
	Key    string // row key
	Events []E    // in order of time; the slice is reused for the next row
	// Marked reports whether the row is one of codec.Latest that does not tell the newest event of its
	// series: a deletion is changing that, or was stopped. Events is then empty; reads of the series
	// search its events.
	Marked bool
	// Cells is the number of cells that the scan received for the row: those that readers
	// use. Bytes is their size, each with the row key, the column name and 8 bytes for the
	// timestamp, uncompressed. Both are 0 with an error.
	Cells, Bytes int
	// Rollup has the cells of rollups, which Cells and Bytes leave out. It is zero unless the scan is one of
	// [Scanner.WithRollups], which yields rows with such cells alone, too.
	Rollup RollupCells
}

// RollupCells counts cells of rollups.
type RollupCells struct {
	Marks, Runs int // those that say that events have changed, or were deleted, and those with windows
	Bytes       int // of all, like those of a [ScannedRow]
}

// scannedOf returns a row without its events.
func (t *scanning) scannedOf(row wire.Row) untypedRow {
	out := untypedRow{Key: row.Key()}
	columns := row.Columns()
	for i := range columns {
		name := len(out.Key) + columns[i].Family.Len() + columns[i].Qualifier.Len() + 8
		of, size := &out.Cells, &out.Bytes
		if len(t.rollups) > 0 && slices.Contains(t.rollups, string(row.Bytes(columns[i].Family))) {
			of, size = &out.Rollup.Marks, &out.Rollup.Bytes
			if string(row.Bytes(columns[i].Qualifier)) >= rollup.FirstRun {
				of = &out.Rollup.Runs
			}
		}
		for _, cell := range row.Cells(&columns[i]) {
			*of++
			*size += name + cell.Value.Len()
		}
	}
	return out
}

// Rows yields the rows in a range of row keys in order, each with its events with from <=
// time < to. A zero from precedes all events. If from is after to, or to is zero, the
// error is a *RangeError. Rows may be yielded without events.
//
// Scans of disjoint ranges that together cover the table yield each stored event exactly
// once. To continue after a row, scan KeyRange.After its key. One row is in memory at a
// time.
//
// In codec.BucketNewColumns, where an event has a row for each field, it belongs to the
// row of its first field, in the order of the columns. Rows then reads the rows of the other
// fields, too, wherever they are, and up to 16 buckets are in memory.
//
// For each event or row key that cannot be decoded, Rows yields the key with a
// *DecodeError, before the row; the caller may continue. Any other error is the last value.
// If ctx ends, no further row is yielded, and the error wraps the cause of ctx.
// Rows passes over rows of other schemas, and of layouts of other tables.
func (s *Scanner[E]) Rows(ctx context.Context, within KeyRange, from, to time.Time) iter.Seq2[ScannedRow[E], error] {
	return func(yield func(ScannedRow[E], error) bool) {
		events := new(listOf[E])
		s.untyped().rows(ctx, within, from, to, events, func(row untypedRow, err error) bool {
			out := ScannedRow[E]{row.Key, events.events, row.Marked, row.Cells, row.Bytes, row.Rollup}
			if err != nil {
				out.Events = nil
			}
			return yield(out, err)
		})
	}
}

// untypedRow is a ScannedRow without its type parameter. It has its events if they may be kept; else, the list of the scan has them.
type untypedRow = ScannedRow[event]

// each is [Scanner.Rows] with events that may be kept.
func (s *scanner) each(ctx context.Context, within KeyRange, from, to time.Time) iter.Seq2[untypedRow, error] {
	return func(yield func(untypedRow, error) bool) {
		events := s.list()
		s.rows(ctx, within, from, to, events, func(row untypedRow, err error) bool {
			if err == nil {
				row.Events = s.kept(events)
			}
			return yield(row, err)
		})
	}
}

// list returns memory for the events of a row.
func (s *scanner) list() list {
	if s.layers == nil { // there are no rows
		return nil
	}
	return s.layers[0].mapping.list(0)
}

// kept returns copies of events.
func (s *scanner) kept(events list) []event {
	if events.len() == 0 {
		return nil
	}
	all, out := s.layers[0].mapping.list(events.len()), make([]event, events.len())
	for i := range out {
		all.add(events.at(i))
		out[i] = all.at(i)
	}
	return out
}

// rows is [Scanner.Rows] without its type parameter. events is memory for those of a row.
func (s *scanner) rows(ctx context.Context, within KeyRange, from, to time.Time, events list, yield func(untypedRow, error) bool) {
	var rows []codec.Rows
	if within.End == "" || within.Start < within.End {
		rows = []codec.Rows{{Start: within.Start, End: within.End}}
	}
	s.some(ctx, rows, from, to, events, yield)
}

// some is rows for parts of the table, which are in order.
func (s *scanner) some(ctx context.Context, rows []codec.Rows, from, to time.Time, events list, yield func(untypedRow, error) bool) {
	op := request.Operation{Name: "Scan", Table: s.id}
	ctx = s.option.Hooks.start(ctx, &op)
	t := &scanning{scanner: s, ctx: ctx, op: &op, yield: yield, events: events}
	defer func() { s.option.Hooks.end(ctx, &op, t.failed) }()
	if err := missingClient(s.api); err != nil {
		t.fail("", err)
		return
	}
	if to.IsZero() || from.After(to) {
		t.fail("", &RangeError{From: from, To: to})
		return
	}
	t.run(rows, from, to)
}

// scanning is one scan.
type scanning struct {
	scanner *scanner
	ctx     context.Context
	op      *request.Operation
	yield   func(untypedRow, error) bool
	layers  []*scanLayer
	filter  scan.Filter
	rollups []string      // the families of rollups whose cells are received
	runs    []scan.Filter // of these cells
	events  list          // of the current row
	errors  []error       // of the current row
	marked  bool          // the current row
	matches []scanMatch
	pending []scannedRow
	size    int   // of the pending rows, in bytes
	failed  error // the last error
}

// scanLayer makes events out of the rows with one mapping.
type scanLayer struct {
	reader *Reader
	a      assembler
}

// scannedRow is a row and its mappings.
type scannedRow struct {
	row     wire.Row
	matches []scanMatch
}

// scanMatch is a mapping of a row. Several mappings have the same row keys only if they have
// different families.
type scanMatch struct {
	layer *scanLayer
	at    time.Time // the time in the row key
	base  event     // an event with the series of the row
	keys  []string  // of the rows of all columns, if each has its own
}

// metrics reports whether the row contains only one field.
func (m scanMatch) metrics() bool { return m.layer.a.mapping.Pattern.RowPerField() }

// maxPending is the maximum number of pending rows of fields.
const maxPending = 16

// run scans parts of the table.
func (t *scanning) run(rows []codec.Rows, from, to time.Time) {
	t.plan(from, to)
	defer t.release()
	if len(t.layers) == 0 || len(rows) == 0 {
		return
	}
	table := t.layers[0].reader.table
	for row, err := range table.Rows(t.ctx, t.op, rows, table.Filters.Of(t.filter), 0) {
		if err != nil {
			if t.flush() {
				t.fail("", ofTable(t.scanner.id, err))
			}
			return
		}
		if !t.row(row) {
			return
		}
	}
	t.flush()
}

// plan determines the filter of the scan and prepares the layers. If layers need
// different filters, the scan receives all cells, and the assembler decides.
func (t *scanning) plan(from, to time.Time) {
	now := t.scanner.option.Now()
	var families []string
	same := true
	for _, reader := range t.scanner.layers {
		read := &scan.Read{Spans: []codec.Span{{}}, AllTimes: true, Contiguous: true, MultiSeries: true, From: from, To: to}
		plan := reader.shape.Plan(read, now)
		if wants := t.wantsRollup(reader, now, from, to); len(plan.Parts) == 0 && !wants {
			continue // everything has expired
		}
		l := &scanLayer{reader: reader, a: reader.newAssembler(reader.mapping.new())}
		l.a.from, l.a.to, l.a.ranksEnd, l.a.memory = plan.From, plan.To, plan.RanksEnd, reader.borrow()
		l.a.clip(reader.mapping)
		t.layers = append(t.layers, l)
		if len(plan.Parts) == 0 {
			continue
		}
		filter := reader.shape.InTimes(plan.Parts[0].Filter, from, to)
		same = same && (t.filter == nil || reflect.DeepEqual(filter, t.filter))
		t.filter = filter
		for _, f := range reader.shape.Families {
			families = append(families, f.Name)
		}
	}
	if !same {
		slices.Sort(families)
		t.filter = scan.Cells{Families: slices.Compact(families), Windows: t.stamped(from)}
		for _, l := range t.layers {
			l.a.ranksEnd = scan.MaxTime
		}
	}
	filters := t.runs
	if t.filter != nil {
		filters = append(filters, t.filter)
	}
	if t.filter = scan.Interleave(filters); len(filters) == 1 {
		t.filter = filters[0]
	}
}

// wantsRollup reports whether the scan receives cells of the rollup of a layer, and adds their filter. Layers with the same
// family have the same cells.
func (t *scanning) wantsRollup(of *Reader, now, from, to time.Time) bool {
	if !t.scanner.runs {
		return false
	}
	cells := of.shape.RollupCells(now, from, to)
	if cells == nil {
		return false
	}
	if !slices.Contains(t.rollups, of.shape.Rollup.Name) {
		t.rollups, t.runs = append(t.rollups, of.shape.Rollup.Name), append(t.runs, cells)
	}
	return true
}

// stamped returns the timestamps of the cells of events from a time on, if all layers filter by
// them; else nil, for all.
func (t *scanning) stamped(from time.Time) []codec.Window {
	w := codec.Window{}
	for _, l := range t.layers {
		since, filters := l.reader.shape.StampedSince(from)
		if !filters || since.Unix() <= 0 {
			return nil
		}
		w.From = codec.Micros(since)
	}
	return []codec.Window{w}
}

// clip restricts the time range to the events of a mapping.
func (a *assembler) clip(l *mapping) {
	if a.from.Before(l.Since) {
		a.from = l.Since
	}
	if !l.until.IsZero() && l.until.Before(a.to) {
		a.to = l.until
	}
}

// release returns the memory of the layers.
func (t *scanning) release() {
	for _, l := range t.layers {
		l.reader.release(l.a.memory)
	}
}

// fail yields the last error.
func (t *scanning) fail(key string, err error) bool {
	t.failed = err
	t.yield(untypedRow{Key: key}, err)
	return false
}

// take collects the events of the current row, and its errors.
func (t *scanning) take(e event, err error) bool {
	if err != nil {
		t.errors = append(t.errors, err)
	} else {
		t.events.add(e)
	}
	return true
}

// done yields the current row with its events. It reports whether the caller wants more.
func (t *scanning) done(row untypedRow) bool {
	defer t.events.truncate(0)
	if ended := t.ctx.Err(); ended != nil { // the row may be in memory already
		return t.fail(row.Key, call.Explain(t.ctx, ended))
	}
	failed := t.errors
	row.Marked = t.marked
	t.errors, t.marked = nil, false
	for _, err := range failed {
		if t.failed = err; !t.yield(untypedRow{Key: row.Key}, err) {
			return false
		}
	}
	t.op.Events += t.events.len()
	return t.yield(row, nil)
}

// row yields a row, or keeps it until the rows of its other fields are read.
func (t *scanning) row(row wire.Row) bool {
	matches, foreign, undecodable := t.match(row)
	if slices.ContainsFunc(matches, scanMatch.metrics) {
		matches = slices.Clone(matches)
		for i, m := range matches {
			matches[i].base = m.layer.reader.mapping.clone(m.base)
		}
		t.pending = append(t.pending, scannedRow{row, matches})
		t.size += row.Size()
		return len(t.pending) < maxPending && t.size < maxGathered || t.flush()
	}
	if !t.flush() {
		return false
	}
	for _, m := range matches {
		t.inRow(m, row)
	}
	if len(matches) == 0 && !foreign {
		t.errors = append(t.errors, undecodable)
	}
	out := t.scannedOf(row)
	row.Release()
	return t.done(out)
}

// inRow collects the events of a row with one mapping.
func (t *scanning) inRow(m scanMatch, row wire.Row) {
	a, before := &m.layer.a, t.events.len()+len(t.errors)
	marked := a.mapping.Pattern.NewestOnly() && a.marked(row) >= 0
	a.inRow(m.at, row, t.take)
	t.marked = t.marked || marked && t.events.len()+len(t.errors) == before
}

// match returns the mappings of a row. If there are none, foreign reports whether the row
// belongs to a mapping of another table; otherwise, undecodable is the reason.
func (t *scanning) match(row wire.Row) (matches []scanMatch, foreign bool, undecodable error) {
	t.matches = t.matches[:0]
	for _, l := range t.layers {
		at, err := l.a.timeOf(row)
		if err == nil {
			err = l.own(row.Key(), at)
		}
		switch {
		case err == nil:
			t.matches = append(t.matches, scanMatch{layer: l, at: at, base: l.a.base})
		case err == request.ErrForeign:
			foreign = true
		case undecodable == nil:
			undecodable = err
		}
	}
	return t.matches, foreign, undecodable
}

// ErrMisplaced is the error for a row key that the writer would not give to any event, for example
// because its salt is not that of the series: reads of the series do not find the row.
var ErrMisplaced = errors.New("reads of the series do not find the row")

// own returns an error unless the writer gives this key to events of the row of the base. Rows of a
// field are compared when all of their keys are known.
func (l *scanLayer) own(key string, at time.Time) error {
	m := l.a.mapping
	if m.Pattern.RowPerField() {
		return nil
	}
	*m.Time(l.a.base) = at
	want, err := m.rowKey(l.a.base, "")
	switch {
	case err != nil:
		return l.a.fail(key, "", time.Time{}, fmt.Errorf("%w: %w", ErrMisplaced, err))
	case string(want) != key:
		return l.a.fail(key, "", time.Time{}, fmt.Errorf("%w: its key would be %q", ErrMisplaced, want))
	}
	return nil
}

// flush yields the pending rows.
func (t *scanning) flush() bool {
	if len(t.pending) == 0 {
		return true
	}
	pending := t.pending
	t.pending, t.size = t.pending[:0], 0
	others, err := t.others(pending)
	if err != nil {
		return t.fail("", ofTable(t.scanner.id, err))
	}
	for i := range pending {
		row := &pending[i]
		for k := range row.matches {
			if m := &row.matches[k]; m.metrics() {
				t.metrics(m, row.row.Key(), others)
			} else {
				m.layer.a.mapping.assign(m.layer.a.base, m.base)
				t.inRow(*m, row.row)
			}
		}
		if !t.done(t.scannedOf(row.row)) {
			return false
		}
	}
	for i := range pending {
		pending[i].row.Release()
	}
	return true
}

// others reads the rows of the other fields of pending rows, and returns all by key.
func (t *scanning) others(pending []scannedRow) (map[string]wire.Row, error) {
	rows := map[string]wire.Row{}
	for _, p := range pending {
		rows[p.row.Key()] = p.row
	}
	missing := map[string]bool{}
	for i := range pending {
		for k := range pending[i].matches {
			m := &pending[i].matches[k]
			if !m.metrics() {
				continue
			}
			for _, key := range m.rowKeys() {
				if !rows[key].Exists() {
					missing[key] = true
				}
			}
		}
	}
	table := t.layers[0].reader.table
	for list := range codec.KeyLists(slices.Values(slices.Sorted(maps.Keys(missing))), false, codec.MaxRowSet) {
		for row, err := range table.Rows(t.ctx, t.op, []codec.Rows{list}, table.Filters.Of(t.filter), 0) {
			if err != nil {
				return nil, err
			}
			rows[row.Key()] = row
		}
	}
	return rows, nil
}

// rowKeys returns the keys of the rows of all columns, and sets the index of the column of
// the row itself. They are the same for all rows of a series and a bucket.
func (m *scanMatch) rowKeys() []string {
	l := m.layer.a.mapping
	e := l.clone(m.base)
	*l.Time(e) = m.at
	names := l.rowNames()
	m.keys = make([]string, len(names))
	for i, name := range names {
		if key, err := l.rowKey(e, name); err == nil {
			m.keys[i] = string(key)
		}
	}
	return m.keys
}

// metrics collects the events that belong to the row of a field: those that have no
// column before it.
func (t *scanning) metrics(m *scanMatch, key string, all map[string]wire.Row) {
	a := &m.layer.a
	a.mapping.assign(a.base, m.base)
	rows := make([]wire.Row, len(m.keys))
	for i, key := range m.keys {
		rows[i] = all[key]
	}
	own := slices.Index(m.keys, key)
	if own < 0 {
		return // the row of a field that the schema does not have
	}
	a.splitMetrics(rows)
	ofRow := func(e event, err error) bool {
		var failed *DecodeError
		return errors.As(err, &failed) && failed.Row != key || t.take(e, err)
	}
	if !a.inBucket(m.at, a.reporting(ofRow)) {
		return
	}
	f := &a.frame
	a.dropOlder()
	f.Fill(a.groups, nil)
	a.fresh = a.freshness()
	for k, end := f.Within(a.from, a.to); k < end; k++ {
		if first := f.First(k); first == own {
			a.yieldOne(k, t.take)
		}
	}
}
