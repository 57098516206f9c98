package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/window"
)

// RollupOptions specify how to summarize events. If several are passed, the last one replaces the others.
type RollupOptions struct {
	// TablePrefix precedes every table ID, for example "staging_".
	TablePrefix string
	// All also summarizes buckets without marks: those that have no summary, or one that differs from their events, as
	// long as all their events are there. So it includes what programs without the rollup have written, whenever
	// others were summarized, and mends summaries that are damaged or lack a field. It reads all events.
	All bool
	// DryRun counts the buckets that have changed, and changes nothing. It does not wait.
	DryRun bool
	// Workers is the number of ranges of row keys that are searched, and of buckets that are summarized, concurrently.
	// 0 means DefaultWorkers; a negative value means 1.
	Workers int
	// Rate is the maximum number of buckets per second that all workers summarize; 0 means no limit.
	Rate float64
	// Checkpoint is a file that records the progress, so that a call that ended, or whose process was killed, can be
	// continued without another search for what it has done. It is created if it does not exist. If it belongs to another
	// call, the error is a *CheckpointError. Empty means no file.
	Checkpoint string
	// Instance identifies the Bigtable instance in the checkpoint, for example "projects/p/instances/i". It may be empty.
	Instance string
	// Consistent waits until all clusters have what was written to a table before the call, for example with
	// WaitForReplication of an admin client. It is nil if the instance has one cluster.
	Consistent func(ctx context.Context, table string) error
	// Sleep waits; nil for a wait in fact. A test need not wait if nothing is written meanwhile.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now is the clock for times to live; time.Now if nil.
	Now func() time.Time
	// Timeout limits each request; see ReaderOptions.Timeout.
	Timeout time.Duration
	// Hooks trace every operation.
	Hooks Hooks
	// Progress is called from time to time and at the end, never concurrently; nil for no calls.
	Progress func(RollupProgress)

	test *rollupTest // of tests
}

// rollupTest replaces what a test controls.
type rollupTest struct {
	random func() uint64
	most   int // buckets that a round notes; 0 for maxNoted
	// replication limits the wait for replication; 0 for Grace.
	replication time.Duration
	save        func(write func(text []byte) error, text []byte) error
}

// RollupReport says what was done with the buckets that had changed. After a call that continued with a checkpoint, it
// includes what earlier calls did.
type RollupReport struct {
	Tables []string // with their prefix
	RollupCounts
}

// RollupCounts count buckets of series, each of which is a row.
type RollupCounts struct {
	Noted       int64 // had changed
	Sealed      int64 // have a new run, or nothing any more because they have no windows
	Inexact     int64 // of these, had events that may have expired, so that some of their windows are inexact
	Clean       int64 // had been sealed by another process
	Busy        int64 // changed again, or were sealed by another process that may not know all, and are left for the next call
	Undecodable int64 // have events, or a run without its events, that cannot be decoded, and are left
	Unknown     int64 // have cells of a later version, and are left
	Failed      int64 // had requests that failed, and are left for the next call; see LeftError
	Windows     int64 // windows of the new runs
}

func (c *RollupCounts) add(o RollupCounts) {
	c.Noted, c.Sealed, c.Inexact, c.Clean = c.Noted+o.Noted, c.Sealed+o.Sealed, c.Inexact+o.Inexact, c.Clean+o.Clean
	c.Busy, c.Undecodable, c.Unknown, c.Windows = c.Busy+o.Busy, c.Undecodable+o.Undecodable, c.Unknown+o.Unknown, c.Windows+o.Windows
	c.Failed += o.Failed
}

// RollupProgress is the state of a call.
type RollupProgress struct {
	RollupCounts
	Share float64 // of the row keys of all tables that were searched, from 0 to 1
	Rate  float64 // buckets per second that were summarized in this call
	// Waiting is how long the buckets that are next have to wait, until the marks that were noted are not used any
	// more; 0 if none has to.
	Waiting time.Duration
	// Replicating is the table for whose clusters the call waits, and empty if it does not.
	Replicating string
}

// LeftError reports buckets that were left because requests about them failed, or ranges of row keys that were not searched to their
// end. Everything else is done; the next call tries again.
type LeftError struct {
	Buckets int64 // 0 if only searches failed
	Err     error // the first, a *RollupError or that of a search
}

// Error describes the first error.
func (e *LeftError) Error() string {
	return fmt.Sprintf("%d buckets are left for the next call, because requests failed, the first with: %v", e.Buckets, e.Err)
}

func (e *LeftError) Unwrap() error { return e.Err }

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
// they were summarized. It searches the tables for them, in ranges of row keys, waits for [codec.Rollup.Grace] after it
// has found each, and replaces its marks by its windows. It can be stopped and repeated at any time, and by several
// processes at once, if the client uses an app profile that routes to a single cluster and allows single-row
// transactions, which Bigtable checks, and all of them use the same cluster.
//
// Buckets that change meanwhile are left for the next call, as are those with events that cannot be decoded, of which
// it returns the first as a *DecodeError after everything else is done, and those of which the service refuses a request: a
// *LeftError. Requests are repeated first if their error may pass. Any other error ends the call.
func Rollup(ctx context.Context, client Client, mappings []*Mapping, columns *Columns, spec *window.Spec, opts ...RollupOptions) (RollupReport, error) {
	o := call.Last(opts)
	if err := refuse("RollupOptions", badRate(o.Rate), misuse{o.DryRun && o.Checkpoint != "", "DryRun only counts the buckets: leave out Checkpoint"}); err != nil {
		return RollupReport{}, err
	}
	s := newSealing(sealersOf(client, mappings, columns, spec, &o), o)
	err := s.run(ctx)
	return s.report(), cmp.Or(err, s.remaining())
}

// sealersOf returns the sealers of the tables with a rollup: one for each mapping. It sets defaults of the options.
func sealersOf(client Client, mappings []*Mapping, columns *Columns, spec *window.Spec, o *RollupOptions) (all []*sealer) {
	o.Now, o.Timeout, o.Workers = call.Clock(o.Now), cmp.Or(o.Timeout, DefaultTimeout), max(1, cmp.Or(o.Workers, DefaultWorkers))
	for _, l := range completeAll(mappings) {
		for _, p := range l.Periods() {
			if p.Rollup == nil {
				continue
			}
			kind := kindOf(p, columns, spec)
			if p.Rollup.Fields != nil {
				kind.spec = kind.spec.Of(p.Rollup.Fields)
			}
			if p.columns != nil {
				kind.layout = p.columns
			}
			all = append(all, newSealer(client, p, kind, o))
		}
	}
	return all
}

// sealer seals the rows of a table that have one mapping; see package rollup. It is safe for concurrent use.
type sealer struct {
	id      string // of the table, with its prefix
	all     bool   // RollupOptions.All
	now     func() time.Time
	kind    windowsKind
	reader  *Reader
	mapping *mapping
	times   rollup.Times
	random  func() uint64
	failing atomic.Int64 // buckets whose requests have failed since the last that was summarized
}

// newSealer returns a sealer for the rows of a mapping.
func newSealer(client Client, l *mapping, kind windowsKind, o *RollupOptions) *sealer {
	s := &sealer{id: o.TablePrefix + l.Table.ID, all: o.All, now: o.Now, kind: kind, mapping: l, times: l.times(), random: randomID}
	s.kind.width = window.Every(l.Rollup.Every)
	if o.test != nil {
		s.random = o.test.random
	}
	alone := *l
	alone.Older = nil
	s.reader = newReader(client, &alone, ReaderOptions{TablePrefix: o.TablePrefix, Now: o.Now, Timeout: o.Timeout, Hooks: o.Hooks})
	s.reader.mapping = l
	return s
}

// changedRow is a row that has changed, as it was seen.
type changedRow struct {
	key   string
	marks uint64 // rollup.Row.Note
}

// note finds the rows in a range that have changed and whose buckets have ended. It calls claim for each row that it
// receives, and found for each of these, and whether its marks may still be set, until one of them returns false.
// scanned, which may be nil, is told up to which key there are no more such rows.
func (s *sealer) note(ctx context.Context, op *request.Operation, within KeyRange, claim func(key string) bool, scanned func(key string), found func(n changedRow, waits bool) bool) error {
	now := s.now()
	a := s.reader.newAssembler(s.mapping.new())
	var cells rollup.Row
	table := s.reader.table
	for row, err := range table.Scan(ctx, op, []codec.Rows{{Start: within.Start, End: within.End}}, table.Filters.Of(s.reader.shape.Changes(now, s.times.After, s.all)), 0, scanned) {
		if err != nil {
			return ofTable(s.id, err)
		}
		key := row.Key()
		if !claim(key) {
			row.Release()
			return nil
		}
		start, failed := a.timeOf(row)
		if failed != nil || !s.times.Ended(start, now) {
			row.Release()
			continue // rows of other mappings have their own sealers, and those of nobody no events
		}
		rollupOf(&cells, row, s.mapping.Rollup.Family)
		waits := cells.Changed()
		changed, err := waits, error(nil)
		if s.all && !waits {
			var b *bucketRow
			if b, err = s.bucket(ctx, row); err == nil {
				changed, err = s.outdated(b, s.now(), new(decision))
			}
		}
		row.Release()
		if err != nil {
			return &RollupError{s.id, key, err}
		}
		if changed && !found(changedRow{key, cells.Note()}, waits) {
			return nil
		}
	}
	return nil
}

// sealed is what was done with some rows.
type sealed struct {
	RollupCounts
	undecodable error // the first *DecodeError
	failed      error // the first *RollupError of a row that is left
}

// add adds what was done with other rows.
func (d *sealed) add(o *sealed) {
	d.RollupCounts.add(o.RollupCounts)
	d.undecodable, d.failed = cmp.Or(d.undecodable, o.undecodable), cmp.Or(d.failed, o.failed)
}

// maxFailing is the number of buckets in a row whose requests fail, after which a sealer ends: it is not about the buckets.
const maxFailing = 20

// general reports whether an error is not about the rows of a request.
func general(err error) bool {
	return slices.Contains([]codes.Code{codes.PermissionDenied, codes.Unauthenticated, codes.NotFound, codes.Unimplemented, codes.Canceled}, status.Code(err)) ||
		errors.Is(err, context.Canceled)
}

// seal seals rows that were noted, which have no marks that may still be set, and tells what became of each. It reads them together; if
// that breaks off, it reads the others by themselves. It leaves a row of which a request fails, unless others would have the error, too.
func (s *sealer) seal(ctx context.Context, op *request.Operation, notes []changedRow, tell func(i int, done sealed) error) error {
	open, keys := make(map[string]int, len(notes)), make([]string, len(notes))
	for i, n := range notes {
		open[n.key], keys[i] = i, n.key
	}
	var failed error
	table := s.reader.table
	for row, err := range table.Rows(ctx, op, []codec.Rows{{Keys: keys}}, table.Filters.Of(s.reader.shape.Everything()), 0) {
		if failed = err; err != nil {
			break
		}
		i := open[row.Key()]
		delete(open, row.Key())
		done, err := s.sealRow(ctx, op, row, notes[i])
		if row.Release(); err == nil {
			err = tell(i, done)
		}
		if err != nil {
			return err
		}
	}
	for i, n := range notes {
		if _, is := open[n.key]; !is {
			continue
		}
		done, err := sealed{}, error(nil) // without a row, there is nothing to seal
		switch {
		case failed != nil && len(notes) > 1:
			err = s.seal(ctx, op, notes[i:i+1], func(_ int, of sealed) error { done = of; return nil })
		case failed != nil:
			done, err = s.leave(ctx, n, failed)
		}
		if err == nil {
			err = tell(i, done)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sealRow seals a row.
func (s *sealer) sealRow(ctx context.Context, op *request.Operation, row wire.Row, n changedRow) (done sealed, err error) {
	d, err := s.decide(ctx, row, n.marks)
	if err == nil {
		err = s.apply(ctx, op, &d, &done)
	}
	if err != nil {
		return s.leave(ctx, n, err)
	}
	s.failing.Store(0)
	return done, nil
}

// leave leaves a row of which a request failed. It returns the error if others would have it, too.
func (s *sealer) leave(ctx context.Context, n changedRow, err error) (sealed, error) {
	of := &RollupError{s.id, n.key, err}
	if ctx.Err() != nil || general(err) || s.failing.Add(1) >= maxFailing {
		return sealed{}, of
	}
	return sealed{RollupCounts: RollupCounts{Failed: 1}, failed: of}, nil
}

// decision is what a sealer does with a row.
type decision struct {
	key     string
	verdict rollup.Verdict
	windows []*window.Summary
	inexact bool
	change  *bigtable.Mutation // nil if nothing is changed

	undecodable error // the first *DecodeError
}

// bucket returns a row, with what the cells of the rollup in it say. The error is that of its key.
func (s *sealer) bucket(ctx context.Context, row wire.Row) (*bucketRow, error) {
	k := s.kind
	r := k.emptyReading()
	r.reading = s.reader.begin(ctx, &s.reader.whole, s.mapping.new(), time.Time{}, scan.MaxTime, nil)
	a := &r.reading.assembler
	start, err := a.timeOf(row)
	if err != nil {
		return nil, err
	}
	rollupOf(&r.rows.found, row, s.mapping.Rollup.Family)
	return &bucketRow{windowsReading: r, a: a, row: row, start: start, stop: s.times.Bucket.End(start), events: true, yield: r.reading.count}, nil
}

// decide decides what to do with a row that was noted.
func (s *sealer) decide(ctx context.Context, row wire.Row, noted uint64) (d decision, err error) {
	d.key = row.Key()
	b, err := s.bucket(ctx, row)
	if err != nil {
		return d, err
	}
	found, now := &b.rows.found, s.now()
	if s.all && !found.Changed() {
		outdated, err := s.outdated(b, now, &d)
		if err != nil {
			return d, err
		}
		if outdated {
			found.Reject()
			noted = 0 // another sealer may have replaced the marks that were noted
		}
	}
	folded := d.verdict == rollup.Compute
	if d.verdict = found.Verdict(&s.times, b.start, now, noted); d.verdict < rollup.Compute {
		return d, nil
	}
	if !folded && d.verdict != rollup.Erase {
		if err := s.fold(b, &d); err != nil {
			return d, err
		}
	}
	if d.undecodable == nil || d.verdict == rollup.Salvage {
		d.change, err = s.change(b, d.windows)
	}
	return d, err
}

// fold sets the windows of the run of a row.
func (s *sealer) fold(b *bucketRow, d *decision) (failed error) {
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
		d.undecodable = cmp.Or(d.undecodable, err)
		return true
	}
	r.reading.yield = r.one
	r.fold, failed = r.start(r.options(), func(w *window.Summary) bool {
		c := w.Common()
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

// change returns the mutation that replaces exactly the marks and runs that were read by a run, or only removes them if
// nothing else is left in the row, so that its key is gone. It changes nothing if another sealer has changed the row.
func (s *sealer) change(b *bucketRow, windows []*window.Summary) (*bigtable.Mutation, error) {
	m, family, found := bigtable.NewMutation(), s.mapping.Rollup.Family, &b.rows.found
	for _, name := range found.Changes() {
		m.DeleteCellsInColumn(family, name)
	}
	if len(windows) > 0 || found.Others {
		value, err := s.kind.spec.AppendRun(nil, &window.Run{Start: b.start, Every: s.mapping.Rollup.Every, Windows: windows})
		if err != nil {
			return nil, err
		}
		m.Set(family, rollup.RunName(found.Next(), s.random()), bigtable.Timestamp(codec.Micros(b.stop)), value)
	}
	return bigtable.NewCondMutation(s.reader.table.Filters.Of(s.reader.shape.Replaceable(found)), m, nil), nil
}

// maxTries is the number of times that a change is sent while its error may pass: that of an unavailable server is repeated longer.
const maxTries = 6

// apply does what was decided, and counts it.
func (s *sealer) apply(ctx context.Context, op *request.Operation, d *decision, done *sealed) error {
	if d.change != nil {
		applied, err := s.send(ctx, d)
		if err != nil {
			return err
		}
		if !applied {
			d.verdict = rollup.Clean
			if s.all { // the other sealer may have read the row before a program wrote without a mark
				d.verdict = rollup.Busy
			}
		}
	}
	switch {
	case d.verdict == rollup.Clean:
		done.Clean++
	case d.verdict == rollup.Open || d.verdict == rollup.Busy:
		done.Busy++
	case d.verdict == rollup.Unknown:
		done.Unknown++
	case d.change == nil:
		done.Undecodable, done.undecodable = 1, d.undecodable
	default:
		done.Sealed, done.Windows = 1, int64(len(d.windows))
		op.Requests, op.OrdinaryRequests = op.Requests+1, op.OrdinaryRequests+1
		if d.inexact {
			done.Inexact++
		}
	}
	return nil
}

// send sends a change. The client does not repeat conditional requests; this one changes nothing if it was executed
// before. It reports whether the change was applied, as far as it knows: false if another sealer was faster.
func (s *sealer) send(ctx context.Context, d *decision) (applied bool, err error) {
	ctx, cancel := call.Within(ctx, s.mapping.Rollup.Deadline(s.times.Bucket))
	defer cancel()
	tries, matched := 0, false
	passing := func(err error) bool {
		return status.Code(err) == codes.Unavailable || tries < maxTries && call.Passing(err)
	}
	err = call.Again(ctx, 20*time.Millisecond, passing, func() error {
		tries++
		return s.reader.table.API.Apply(ctx, d.key, d.change, bigtable.GetCondMutationResult(&matched))
	})
	if err != nil {
		return false, missing(s.id, call.Explain(ctx, err))
	}
	return matched || tries > 1, nil
}

// ErrNoRollup is the error for a schema without a rollup.
var ErrNoRollup = errors.New("no table of the schema has a rollup")
