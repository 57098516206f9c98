package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/window"
)

// RollupOptions specify how to summarize events. If several are passed, the last one replaces the others.
type RollupOptions struct {
	// TablePrefix precedes every table ID, for example "staging_".
	TablePrefix string
	// All also summarizes buckets without marks: those that were written before the table had a rollup.
	// It reads a cell of each bucket.
	All bool
	// DryRun changes nothing. It does not wait.
	DryRun bool
	// Workers is the maximum number of concurrent requests. 0 means DefaultWorkers; a negative value means 1.
	Workers int
	// Consistent waits until what was written to a table before the call has reached the cluster to which requests
	// of the client go, for example with WaitForReplication of an admin client. It is nil if
	// the instance has one cluster.
	Consistent func(ctx context.Context, table string) error
	// Sleep waits; nil for a wait in fact. A test need not wait if nothing is written meanwhile.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the clock for times to live; time.Now if nil.
	Now func() time.Time
	// Timeout limits each request; see ReaderOptions.Timeout.
	Timeout time.Duration
	// Hooks trace every operation.
	Hooks Hooks
	// Progress is called after each step; nil for no calls. Waiting is set before the wait.
	Progress func(RollupProgress)

	test *rollupTest // of tests
}

// rollupTest replaces what is random.
type rollupTest struct {
	random func() uint64
	most   int
}

// RollupReport says what was done with the buckets that had changed.
type RollupReport struct {
	Tables []string // with their prefix
	RollupCounts
}

// RollupCounts count buckets of series, each of which is a row.
type RollupCounts struct {
	Noted       int64 // had changed
	Sealed      int64 // have a new run
	Inexact     int64 // of these, had events that may have expired, so that some of their windows are inexact
	Clean       int64 // had been sealed by another process
	Busy        int64 // changed again, and are left for the next call
	Undecodable int64 // have events that cannot be decoded, and are left
	Unknown     int64 // have cells of a later version, and are left
	Windows     int64 // windows of the new runs
}

func (c *RollupCounts) add(o RollupCounts) {
	c.Noted, c.Sealed, c.Inexact, c.Clean = c.Noted+o.Noted, c.Sealed+o.Sealed, c.Inexact+o.Inexact, c.Clean+o.Clean
	c.Busy, c.Undecodable, c.Unknown, c.Windows = c.Busy+o.Busy, c.Undecodable+o.Undecodable, c.Unknown+o.Unknown, c.Windows+o.Windows
}

// RollupProgress is the state of a call.
type RollupProgress struct {
	RollupCounts
	Table   string
	Waiting time.Duration // until the marks that were noted are not used any more
}

// RollupError reports a bucket that was not summarized. The call can be repeated at any time.
type RollupError struct {
	Table string // with its prefix
	Row   string // row key
	Err   error
}

// Error describes the row and the error.
func (e *RollupError) Error() string {
	return fmt.Sprintf("summarizing table %s, row %q: %v", e.Table, e.Row, e.Err)
}

func (e *RollupError) Unwrap() error { return e.Err }

// Rollup summarizes the events of all buckets of the tables with a rollup that have ended and have changed since
// they were summarized. It notes these buckets, waits for [codec.Rollup.Grace], and replaces the marks of each by its
// windows. It can be stopped and repeated at any time, and by several processes at once, if the client uses an app
// profile that routes to a single cluster and allows single-row transactions, which Bigtable checks, and
// all of them use the same cluster.
//
// Buckets that change meanwhile are left for the next call, as are those with events that cannot be decoded, of which
// it returns the first as a *DecodeError after everything else is done. Any other error ends the call.
func Rollup[S, E, C, W any](ctx context.Context, client Client, mappings []*Mapping[E], columns *Columns[E, C], spec *window.Spec[S, C, W], opts ...RollupOptions) (RollupReport, error) {
	o := call.Last(opts)
	o.Now, o.Timeout, o.Workers = call.Clock(o.Now), cmp.Or(o.Timeout, DefaultTimeout), max(1, cmp.Or(o.Workers, DefaultWorkers))
	var report RollupReport
	var undecodable error
	for _, l := range untypedAll(mappings) {
		for _, p := range l.Periods() {
			if p.Rollup == nil {
				continue
			}
			kind := kindOf(p, columns, spec)
			if p.Rollup.Fields != nil {
				kind = kindOf(p, columns, spec.Of(p.Rollup.Fields))
			}
			if p.layout != nil {
				kind.layout = p.layout
			}
			s := newSealer(client, p, kind, o)
			report.Tables = append(report.Tables, s.reader.table.id)
			err := s.run(ctx)
			report.add(s.counts)
			if err != nil {
				return report, err
			}
			undecodable = cmp.Or(undecodable, s.undecodable)
		}
	}
	return report, undecodable
}

// sealer seals the rows of a table that have one mapping; see package rollup.
type sealer struct {
	RollupOptions
	kind    windowsKind
	reader  *reader
	mapping *mapping
	times   rollup.Times
	random  func() uint64

	mu          sync.Mutex
	counts      RollupCounts
	undecodable error // the first *DecodeError
}

// newSealer returns a sealer for the rows of a mapping.
func newSealer(client Client, l *mapping, kind windowsKind, o RollupOptions) *sealer {
	s := &sealer{RollupOptions: o, kind: kind, mapping: l, times: l.times(), random: randomID}
	s.kind.width = window.Every(l.Rollup.Every)
	if o.test != nil {
		s.random = o.test.random
	}
	if s.Sleep == nil {
		s.Sleep = realClock.sleep
	}
	alone := *l
	alone.Older = nil
	s.reader = newReader(client, &alone, ReaderOptions{TablePrefix: o.TablePrefix, Now: o.Now, Timeout: o.Timeout, Hooks: o.Hooks})
	s.reader.mapping = l
	return s
}

// note is a row that has changed, as it was seen.
type note struct {
	key   string
	marks uint64 // rollup.Row.Note
}

// maxNotes is the largest number of rows that are noted before they are sealed.
const maxNotes = 1_000_000

// run notes rows, waits, and seals them, until all are sealed.
func (s *sealer) run(ctx context.Context) error {
	within := KeyRange{}
	for {
		op := Operation{Name: "Rollup", Table: s.reader.table.id}
		opCtx := s.Hooks.start(ctx, &op)
		rest, notes, err := s.note(opCtx, &op, within)
		if err == nil && len(notes) > 0 && !s.DryRun {
			err = s.settle(opCtx, &op, notes)
		}
		s.Hooks.end(opCtx, &op, err)
		if err != nil || rest == nil {
			return err
		}
		within = *rest
	}
}

// settle waits until the marks of the notes are not used any more, and seals the rows.
func (s *sealer) settle(ctx context.Context, op *Operation, notes []note) error {
	s.tell(s.times.Grace)
	if err := s.Sleep(ctx, s.times.Grace); err != nil {
		return err
	}
	if s.Consistent != nil {
		if err := s.Consistent(ctx, s.reader.table.id); err != nil {
			return err
		}
	}
	return s.sealAll(ctx, op, notes)
}

// tell reports progress.
func (s *sealer) tell(waiting time.Duration) {
	if s.Progress == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Progress(RollupProgress{RollupCounts: s.counts, Table: s.reader.table.id, Waiting: waiting})
}

// note returns the rows in a range that have changed and whose buckets have ended, and what is left of the range; nil
// if nothing is.
func (s *sealer) note(ctx context.Context, op *Operation, within KeyRange) (rest *KeyRange, notes []note, err error) {
	most := maxNotes
	if s.test != nil && s.test.most > 0 {
		most = s.test.most
	}
	now := s.Now()
	a := s.reader.newAssembler(s.mapping.new())
	var found rollup.Row
	table := s.reader.table
	for row, err := range table.rows(ctx, op, []codec.Rows{{Start: within.Start, End: within.End}}, table.filters.of(s.reader.shape.Changes(now, s.times.After, s.All)), 0) {
		if err != nil {
			return nil, notes, err
		}
		key := row.Key()
		at, failed := a.timeOf(row)
		rollupOf(&found, row, s.mapping.Rollup.Family)
		row.Release()
		if failed != nil || !s.times.Ended(at, now) {
			continue // rows of other mappings have their own sealers, and those of nobody no events
		}
		if _, has := found.Best(); !found.Changed() && (has || !s.All) {
			continue
		}
		notes = append(notes, note{key, found.Note()})
		if len(notes) == most {
			left := KeyRange{key + "\x00", within.End}
			rest = &left
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Noted += int64(len(notes))
	return rest, notes, nil
}

// maxSealed is the number of rows that are read together.
const maxSealed = 100

// sealAll seals rows.
func (s *sealer) sealAll(ctx context.Context, op *Operation, notes []note) error {
	chunks := slices.Collect(slices.Chunk(notes, maxSealed))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan []note)
	var running sync.WaitGroup
	for range min(s.Workers, len(chunks)) {
		running.Go(func() {
			for chunk := range next {
				if err := s.seal(ctx, op, chunk); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, chunk := range chunks {
		if ctx.Err() != nil {
			break
		}
		next <- chunk
		s.tell(0)
	}
	close(next)
	running.Wait()
	return context.Cause(ctx)
}

// seal seals some rows.
func (s *sealer) seal(ctx context.Context, op *Operation, notes []note) error {
	marks := make(map[string]uint64, len(notes))
	keys := make([]string, len(notes))
	for i, n := range notes {
		keys[i], marks[n.key] = n.key, n.marks
	}
	slices.Sort(keys)
	table, own := s.reader.table, Operation{}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		op.add(&own)
	}()
	for row, err := range table.rows(ctx, &own, []codec.Rows{{Keys: keys}}, table.filters.of(s.reader.shape.Everything()), 0) {
		if err != nil {
			return err
		}
		d, err := s.decide(ctx, row, marks[row.Key()])
		row.Release()
		if err == nil {
			err = s.apply(ctx, &own, d)
		}
		if err != nil {
			return &RollupError{s.reader.table.id, d.key, err}
		}
	}
	return nil
}

// decision is what a sealer does with a row.
type decision struct {
	key     string
	verdict rollup.Verdict
	windows []any
	inexact bool
	change  *bigtable.Mutation // nil if nothing is changed
}

// decide decides what to do with a row that was noted.
func (s *sealer) decide(ctx context.Context, row wire.Row, noted uint64) (d decision, err error) {
	d.key = row.Key()
	k := s.kind
	r := &windowsReading{windowsKind: &k, columnsReading: columnsReading{into: k.layout, columns: k.newColumns()}}
	r.reading = s.reader.begin(ctx, &s.reader.whole, s.mapping.new(), time.Time{}, scan.MaxTime, nil)
	a := &r.reading.assembler
	start, failed := a.timeOf(row)
	if failed != nil {
		return d, failed
	}
	found := &r.rows.found
	rollupOf(found, row, s.mapping.Rollup.Family)
	if d.verdict = found.Verdict(&s.times, start, s.Now(), noted); d.verdict < rollup.Compute {
		return d, nil
	}
	var undecodable error
	b := &bucketRow{windowsReading: r, a: a, row: row, start: start, stop: s.times.Bucket.End(start), events: true, yield: r.reading.count}
	if err := s.fold(b, &d, &undecodable); err != nil {
		return d, err
	}
	if undecodable != nil && d.verdict == rollup.Compute {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.undecodable = cmp.Or(s.undecodable, undecodable)
		s.counts.Undecodable++
		return d, nil
	}
	d.change, err = s.change(found, b.start, b.stop, d.windows)
	return d, err
}

// fold sets the windows of the run of a row.
func (s *sealer) fold(b *bucketRow, d *decision, undecodable *error) (failed error) {
	r := b.windowsReading
	b.from, b.to = b.start, b.stop
	b.a.from, b.a.to, b.a.ranksEnd, b.a.into = b.start, b.stop, scan.MaxTime, r
	b.a.memory = s.reader.borrow()
	defer s.reader.release(b.a.memory)
	if b.a.fetched, failed = s.reader.project(fieldsNamed(s.mapping.Rollup.Fields)); failed != nil {
		return failed
	}
	r.fail = func(err error) bool {
		if !isDecodeError(err) {
			failed = err
			return false
		}
		*undecodable = cmp.Or(*undecodable, err)
		return true
	}
	r.reading.yield = r.one
	r.fold, failed = r.start(r.options(), func(w any) bool {
		c := r.spec.CommonOf(w)
		d.inexact = d.inexact || c.Inexact
		if c.Events > 0 || c.Inexact {
			d.windows = append(d.windows, r.spec.Clone(w))
		}
		return true
	})
	if failed != nil {
		return failed
	}
	going := false
	switch d.verdict {
	case rollup.Rewrite:
		going = b.fromRun(r.rows.found.Doubted())
	case rollup.Salvage:
		going = b.doubted()
	default:
		going = b.fromEvents() && b.flush()
	}
	if going {
		r.fold.End()
	}
	return failed
}

// fieldsNamed returns fields with the given names; nil for all.
func fieldsNamed(names []string) []Field {
	if names == nil {
		return nil
	}
	out := make([]Field, len(names))
	for i, name := range names {
		out[i] = Field(name)
	}
	return out
}

// change returns the mutation that replaces exactly the marks and runs that were read by a run. It changes nothing if
// another sealer has replaced them.
func (s *sealer) change(found *rollup.Row, start, end time.Time, windows []any) (*bigtable.Mutation, error) {
	value, err := s.kind.spec.AppendRun(nil, &window.Run{Start: start, Every: s.mapping.Rollup.Every, Windows: windows})
	if err != nil {
		return nil, err
	}
	m, family := bigtable.NewMutation(), s.mapping.Rollup.Family
	replaced := found.Changes()
	for _, name := range replaced {
		m.DeleteCellsInColumn(family, name)
	}
	m.Set(family, rollup.RunName(found.Next(), s.random()), bigtable.Timestamp(codec.Micros(end)), value)
	if !found.Changed() { // it has no run either
		return bigtable.NewCondMutation(bigtable.ColumnRangeFilter(family, rollup.FirstRun, rollup.AfterRuns), nil, m), nil
	}
	return bigtable.NewCondMutation(bigtable.ColumnRangeFilter(family, replaced[0], replaced[0]+"\x00"), m, nil), nil
}

// apply does what was decided, and counts it.
func (s *sealer) apply(ctx context.Context, op *Operation, d decision) error {
	var c RollupCounts
	switch d.verdict {
	case rollup.Clean:
		c.Clean++
	case rollup.Open, rollup.Busy:
		c.Busy++
	case rollup.Unknown:
		c.Unknown++
	}
	if d.change != nil {
		ctx, cancel := call.Within(ctx, s.mapping.Rollup.Deadline(s.times.Bucket))
		defer cancel()
		op.Requests++
		op.OrdinaryRequests++
		exists := false
		err := s.reader.table.api.Apply(ctx, d.key, d.change, bigtable.GetCondMutationResult(&exists))
		if err != nil {
			return missing(s.reader.table.id, call.Explain(ctx, err))
		}
		c.Sealed, c.Windows = 1, int64(len(d.windows))
		if d.inexact {
			c.Inexact++
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.add(c)
	return nil
}

// ErrNoRollup is the error for a schema without a rollup.
var ErrNoRollup = errors.New("no table of the schema has a rollup")
