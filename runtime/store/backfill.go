package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/job"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// BackfillOptions configure [Backfill]. The zero value copies all events to the table with
// `serves: false`.
type BackfillOptions struct {
	// TablePrefix precedes every table ID, for example "staging_".
	TablePrefix string
	// Source is the ID of the table to read, without TablePrefix. If it is empty, it is the
	// table that serves reads, holds what the target needs, and keeps events longest.
	Source string
	// Target is the ID of the table to fill. If it is empty, it is the table with `serves:
	// false`, of which there must be one.
	Target string
	// From and To limit the times of the events; To is excluded. A zero From precedes all
	// events. A zero To follows all events or, with Verify, is the time of the call.
	From, To time.Time
	// Workers is the number of ranges of row keys that are copied concurrently. 0 means
	// DefaultWorkers; a negative value means 1.
	Workers int
	// Rate is the maximum number of events per second that all workers write; 0 means no
	// limit.
	Rate float64
	// Checkpoint is a file that records the progress, so that a call that ended, or whose
	// process was killed, can be continued. It is created if it does not exist. If it
	// belongs to another call, the error is a *CheckpointError. Empty means no file.
	Checkpoint string
	// Instance identifies the Bigtable instance in the checkpoint, for example
	// "projects/p/instances/i". It may be empty.
	Instance string
	// SkipUndecodable counts rows and events that cannot be decoded instead of failing with
	// the first *DecodeError.
	SkipUndecodable bool
	// RenewAges allows targets in which the age of an event counts from its write, so
	// that copies live as long as events that are written now.
	RenewAges bool
	// Repair compares every event with the target, writes only what is missing there or differs,
	// and deletes what the source lacks but would still have by its time to live, even from a
	// table that serves reads; see [Backfill]. Use it only if the source never lacked events
	// of the time range.
	Repair bool
	// DryRun counts the events and writes nothing.
	DryRun bool
	// Verify compares the tables and writes nothing; see [Backfill].
	Verify bool
	// Timeout limits the time for which a read waits for its next row, and each write,
	// including its retries. 0 means DefaultTimeout, as does a negative value for writes. A
	// call that continues with a checkpoint waits for twice the Timeout of the stopped one.
	Timeout time.Duration
	// Now is the clock for times to live; time.Now if nil.
	Now func() time.Time
	// Sleep waits; nil for a wait in fact. A test need not wait if no request can still arrive.
	Sleep func(ctx context.Context, d time.Duration) error
	// Hooks trace every operation.
	Hooks Hooks
	// Progress is called from time to time and at the end, never concurrently; nil for no
	// calls.
	Progress func(BackfillProgress)

	test *backfillTest // of tests
}

// backfillTest replaces what a test controls.
type backfillTest struct {
	clock job.Clock
	// save, unless it is nil, is called instead of writing the checkpoint with its contents.
	save func(write func(text []byte) error, text []byte) error
}

// DefaultWorkers is the default of BackfillOptions.Workers.
const DefaultWorkers = 4

// BackfillReport is the result of a call of [Backfill]. After a call that continued with a
// checkpoint, it includes what earlier calls did.
type BackfillReport struct {
	Source, Target string // with their prefix
	// TargetFirst reports whether programs write to the target before the source, so that
	// the copy cannot follow all changes; see [Backfill].
	TargetFirst bool
	BackfillCounts
	// Differences are the time ranges in which the tables differ, with Verify; at most
	// 100, in order.
	Differences []Difference
	// Compared is the digest of the events of the target that were compared, with Verify.
	Compared Digest
}

// BackfillCounts counts what [Backfill] does.
type BackfillCounts struct {
	Rows        int64 // rows of the source
	Events      int64 // events that were copied, or are in the source and were compared or, with DryRun, counted
	Expired     int64 // events that have expired in the target or that newer ones replace there, and were not copied
	Undecodable int64 // rows and events of the source; see BackfillOptions.SkipUndecodable
	// Changed is the number of events that changed in the source during the copy, and were copied again; with Repair,
	// of those that were missing in the target or differed. In a
	// table of codec.Latest, it is the number of rows that a repair changed: those that differed or had marks.
	Changed int64
	Deleted int64 // events that were deleted from the source during the copy, and from the target
	// Unsettled is the number of events that kept changing. Verify finds those that differ.
	Unsettled int64
	// Merged is the number of events of the source that the target cannot store, because others
	// have the same series, time and sequence number: the source is codec.BucketNewColumns, and
	// the target is not. The target gets the last of them in the order of readers.
	Merged int64
	// OnlyTarget is the number of events that the target has and the source lacks, and that were
	// kept, because the source may never have had them; see BackfillOptions.Repair.
	OnlyTarget int64
}

func (c *BackfillCounts) add(o BackfillCounts) {
	c.Rows, c.Events, c.Expired, c.Undecodable = c.Rows+o.Rows, c.Events+o.Events, c.Expired+o.Expired, c.Undecodable+o.Undecodable
	c.Changed, c.Deleted, c.Unsettled = c.Changed+o.Changed, c.Deleted+o.Deleted, c.Unsettled+o.Unsettled
	c.Merged, c.OnlyTarget = c.Merged+o.Merged, c.OnlyTarget+o.OnlyTarget
}

// BackfillProgress is the progress of a call of [Backfill].
type BackfillProgress struct {
	BackfillCounts
	Share float64       // of the row keys of the source, from 0 to 1
	Rate  float64       // events per second in this call
	Left  time.Duration // estimated time until the end; 0 if it is unknown
	// Waiting is how long the call waits until no request of the stopped call that it continues
	// can arrive anymore; 0 if it does not wait.
	Waiting time.Duration
}

// BackfillError reports that a table cannot be filled from another one.
type BackfillError struct {
	Source, Target string // without prefix; empty if there is none
	Reasons        []string
}

// Error lists the reasons.
func (e *BackfillError) Error() string {
	s := "no backfill"
	if e.Source != "" {
		s += " from table " + e.Source
	}
	if e.Target != "" {
		s += " to table " + e.Target
	}
	return s + ": " + strings.Join(e.Reasons, "; ")
}

// Backfill copies the events of one table of a schema to another one of the same schema.
// First start the programs that write to both tables and delete from them. They may keep running.
//
// It reads the source in ranges of row keys, with all layouts by time, and writes to the
// target alone, as writers do: with the same cell timestamps, and without events that have
// expired in the target. An event whose time is finer than the precision, so that the target would
// store it at another time, is a *BackfillError. Copying again changes nothing, so a failed call can be repeated.
//
// It then compares what it has written: it reads the target, then the source, and writes or
// deletes in the target until both are equal. A call that continues with a checkpoint does the
// same with what the stopped call was writing, once that can no longer arrive. Therefore no copy
// of a deleted or replaced event remains, provided that
//
//   - programs change the source before the target, that is, the source comes first in the schema;
//   - a call that has stopped is repeated until it succeeds, with its checkpoint;
//   - no request that the client repeats is executed again after the call has compared what it has written, which Verify
//     would find;
//   - the source would still have the event: what it loses by its time to live or because of
//     max_versions cannot be told from what was deleted, and remains in a target that keeps it longer.
//
// Without a checkpoint, a call does not know what a stopped one was writing. If the target has
// `serves: false`, it deletes the events that the source lacks, unless they are older than all
// events of the source or another table that serves reads has them. With Repair, it does so in
// any table and without exceptions. It cannot know of requests that are still in flight: wait for
// twice the Timeout before the call. Verify finds what differs.
//
// Several calls may copy to the same table at the same time: all changes are settled if all of them
// succeed. Only one at a time can use a checkpoint.
//
// A target of codec.Latest gets the newest event of each series: what a search of the source finds
// there, also if other programs write and delete events meanwhile. It needs no checkpoint, and a call
// can be repeated at any time, also if requests of a killed one may still arrive. With Repair, rows that
// differ from a search are repaired, and those of series without events are deleted, too; Verify compares each row
// with a search. A row that cannot be decoded differs. Events counts series, each once; with DryRun, and
// more than 100,000 of them, some may be counted several times.
//
// With Verify, it compares the events before BackfillOptions.To that neither table loses within
// the next hour: by count and digest for each time range. Ranges that differ
// are compared again, because writers may be running. The tables agree if the report has no
// Differences.
func Backfill(ctx context.Context, client Client, mappings []*Mapping, opts ...BackfillOptions) (BackfillReport, error) {
	b, err := newBackfill(client, mappings, call.Last(opts))
	if b == nil {
		return BackfillReport{}, err
	}
	if err == nil {
		err = b.run(ctx, completeAll(mappings))
	}
	return b.report, err
}

// check returns an *[OptionsError] for options that exclude each other.
func (o *BackfillOptions) check() error {
	return refuse("BackfillOptions", badRate(o.Rate),
		misuse{o.Verify && (o.Repair || o.DryRun || o.Checkpoint != ""), "Verify only compares the tables: leave out Repair, DryRun and Checkpoint"},
		misuse{o.DryRun && (o.Repair || o.Checkpoint != ""), "DryRun only counts the events: leave out Repair and Checkpoint"})
}

// newBackfill returns a call of Backfill, and an error if it cannot be made. It is nil if there are no
// tables for it.
func newBackfill(client Client, mappings []*Mapping, o BackfillOptions) (*backfill, error) {
	o.Now, o.Workers = call.Clock(o.Now), max(1, cmp.Or(o.Workers, DefaultWorkers))
	all := completeAll(mappings)
	target, err := targetOf(all, o.Target)
	if err != nil {
		return nil, err
	}
	source, err := sourceOf(all, target, &o)
	if err != nil {
		return nil, err
	}
	b := &backfill{BackfillOptions: o, client: client, source: source, target: target, began: o.Now()}
	b.Local = job.NewLocal(o.Workers, o.Rate)
	b.Cancels, b.Saves = o.Verify || o.DryRun, func() any { return &b.progress }
	b.progress.Wait = 2 * b.requestTime()
	b.clock = &b.Limit.Clock
	if o.Sleep != nil {
		b.clock.Sleep = o.Sleep
	}
	if o.Progress != nil {
		b.Show = func() { o.Progress(b.progress.shown(&b.Local)) }
	}
	b.untold.source, b.untold.target = source.untold(target), target.untold(source)
	var ofSource, ofTarget bool
	b.partial, ofSource = source.losesParts()
	_, ofTarget = target.losesParts()
	b.untold.parts = ofSource || ofTarget
	if o.test != nil {
		b.test, *b.clock = *o.test, o.test.clock
	}
	for _, l := range all {
		if l != source && l != target && !l.Table.WriteOnly && !l.Pattern.NewestOnly() {
			b.others = append(b.others, l)
		}
	}
	b.report = BackfillReport{Source: o.TablePrefix + source.Table.ID, Target: o.TablePrefix + target.Table.ID}
	b.report.TargetFirst = slices.Index(all, target) < slices.Index(all, source) && !target.Pattern.NewestOnly()
	if o.To.IsZero() {
		if b.To = scan.MaxTime; o.Verify && !target.Pattern.NewestOnly() {
			b.To = b.began
		}
	}
	if err := o.check(); err != nil {
		return b, err
	}
	if b.From.After(b.To) {
		return b, &RangeError{From: b.From, To: b.To}
	}
	return b, nil
}

// run executes the call.
func (b *backfill) run(ctx context.Context, all []*mapping) error {
	if err := b.missingClient(); err != nil {
		return err
	}
	work := b.copy
	switch {
	case b.target.Pattern.NewestOnly():
		if err := b.refusesStates(); err != nil {
			return err
		}
		work = b.newStates(all).fillAll
	case b.Verify:
		work = b.verify
	default:
		b.Path = b.Checkpoint
	}
	err := b.Run(ctx, b.call(), b.test.save, b.split, work)
	b.report.BackfillCounts = b.progress.Counts
	return err
}

func targetOf(mappings []*mapping, table string) (*mapping, error) {
	if table != "" {
		found, err := selected(mappings, []string{table})
		return found[0], err
	}
	var idle []*mapping
	var names []string
	for _, l := range mappings {
		if l.Table.WriteOnly {
			idle, names = append(idle, l), append(names, l.Table.ID)
		}
	}
	switch len(idle) {
	case 0:
		if len(mappings) == 1 {
			return nil, &BackfillError{Reasons: []string{"the schema has one table, and a backfill copies the events of one table to another"}}
		}
		return nil, &BackfillError{Reasons: []string{"no table has `serves: false`: name the target"}}
	case 1:
		return idle[0], nil
	}
	return nil, &BackfillError{Reasons: []string{"several tables have `serves: false`: name one of them as the target: " + strings.Join(names, ", ")}}
}

func sourceOf(mappings []*mapping, target *mapping, o *BackfillOptions) (*mapping, error) {
	if o.Source != "" {
		found, err := selected(mappings, []string{o.Source})
		if err != nil {
			return nil, err
		}
		if reasons := lacks(found[0], target, o); reasons != nil {
			return nil, &BackfillError{o.Source, target.Table.ID, reasons}
		}
		return found[0], nil
	}
	var best *mapping
	var reasons []string
	for _, l := range mappings {
		if l == target || l.Table.WriteOnly || l.Pattern.NewestOnly() {
			continue
		}
		why := lacks(l, target, o)
		reasons = append(reasons, why...)
		if why == nil && (best == nil || l.keeps(best) && !best.keeps(l)) {
			best = l
		}
	}
	if best == nil {
		if reasons == nil {
			reasons = []string{"no other table serves reads"}
		}
		return nil, &BackfillError{"", target.Table.ID, reasons}
	}
	return best, nil
}

// keeps reports whether a table keeps every event at least as long as another one.
func (l *mapping) keeps(o *mapping) bool {
	for i := range l.Table.Families {
		for k := range o.Table.Families {
			if !l.Table.Families[i].Life.Outlives(o.Table.Families[k].Life) {
				return false
			}
		}
	}
	return true
}

// lacks returns why a target cannot be filled from a source; nil if it can.
func lacks(source, target *mapping, o *BackfillOptions) []string {
	if source == target {
		return []string{"source and target are the same table"}
	}
	if source.Pattern.NewestOnly() {
		return []string{fmt.Sprintf("table %s has only the newest event of each series", source.Table.ID)}
	}
	var reasons []string
	add := func(format string, args ...any) {
		if reason := fmt.Sprintf(format, args...); !slices.Contains(reasons, reason) {
			reasons = append(reasons, reason)
		}
	}
	for _, t := range target.Periods() {
		for _, s := range source.Periods() {
			if !s.meets(t) {
				continue
			}
			switch {
			case t.Sequence != nil && s.Sequence == nil:
				add("table %s does not store the sequence numbers of events, which table %s needs", s.Table.ID, t.Table.ID)
			case t.Sequence == nil && s.Sequence != nil:
				add("table %s cannot store the sequence numbers of events, which table %s has", t.Table.ID, s.Table.ID)
			}
			if t.Table.hasClasses() && !s.Table.hasClasses() {
				add("table %s does not store the classes of events, which table %s needs", s.Table.ID, t.Table.ID)
			}
			if t.expires() && !s.expires() {
				add("table %s does not store when events expire, which table %s needs", s.Table.ID, t.Table.ID)
			}
		}
		for _, f := range t.Table.Families {
			if f.Life.Timestamp == codec.TimestampWrite && !o.RenewAges && !o.Verify {
				add("family %s of table %s counts ages from the write, so that copies would live longer than the events: allow it by name (RenewAges, --renew-ages)", f.Name, t.Table.ID)
			}
		}
	}
	return reasons
}

// meets reports whether there are times at which both mappings store events.
func (l *mapping) meets(o *mapping) bool {
	return (l.until.IsZero() || o.Since.Before(l.until)) && (o.until.IsZero() || l.Since.Before(o.until))
}

// expires reports whether cells have the expiry of their events.
func (l *mapping) expires() bool {
	return slices.ContainsFunc(l.Table.Families, func(f Family) bool {
		_, expires := f.Life.Expires()
		return expires
	})
}

// untold reports whether the table loses events at times that another table does not tell: because of their own expiry
// or class, of when they were written, or of newer ones.
func (l *mapping) untold(o *mapping) bool {
	for _, p := range l.Periods() {
		for _, q := range o.Periods() {
			if p.meets(q) && (p.expires() && !q.expires() || p.Table.hasClasses() && !q.Table.hasClasses()) {
				return true
			}
		}
		if slices.ContainsFunc(p.Table.Families, func(f Family) bool { return f.Life.Timestamp == codec.TimestampWrite && !f.Life.Forever() }) {
			return true
		}
	}
	return l.ranked()
}

// ranked reports whether newer events may replace older ones in the table.
func (l *mapping) ranked() bool {
	return slices.ContainsFunc(l.Periods(), func(p *mapping) bool {
		return slices.ContainsFunc(p.Table.Families, func(f Family) bool { return f.ranked() })
	})
}

// ranked reports whether newer cells of a column may replace older ones in the family.
func (f *Family) ranked() bool {
	return slices.ContainsFunc(f.Life.Retention, func(t codec.Term) bool { return t.Versions > 0 })
}

// backfill is one call of Backfill.
type backfill struct {
	BackfillOptions
	job.Local
	test           backfillTest
	client         Client
	source, target *mapping
	others         []*mapping                           // the other tables that serve reads
	untold         struct{ source, target, parts bool } // whether a table loses events, or parts of them, at times that the other one does not tell
	partial        bool                                 // the source may lose some fields of an event before others
	began          time.Time                            // the clock of reads
	clock          *job.Clock                           // of the limit
	report         BackfillReport
	progress       progress // guarded by Mu while workers run
}

// missingClient returns a *[NoClientError] without a client.
func (b *backfill) missingClient() error {
	if noClient(b.client) {
		return &NoClientError{b.report.Source}
	}
	return nil
}

// scanner returns a scanner for a table of a mapping. Without that, its scans fail.
func (b *backfill) scanner(l *mapping, table string) *scanner {
	s, err := newScanner(b.client, []*mapping{l}, table, ReaderOptions{
		TablePrefix: b.TablePrefix, Now: func() time.Time { return b.began }, Timeout: b.Timeout, Hooks: b.Hooks,
	})
	if err != nil {
		return &scanner{api: noTable{err}}
	}
	return s
}

// splits returns ranges of row keys of a table.
func (b *backfill) splits(ctx context.Context, t JobTable) ([]KeyRange, error) {
	id := b.TablePrefix + t.Table
	return splits(ctx, OpenTable(b.client, id), id, b.Timeout)
}

// rangesOf returns the ranges of row keys of all tables of a mapping.
func (b *backfill) rangesOf(ctx context.Context, l *mapping) ([]jobRange, error) {
	return jobRanges(ctx, tablesOf(l, JobTable{}), b.splits)
}

// split splits the source into ranges, or takes those of the checkpoint.
func (b *backfill) split(ctx context.Context) error {
	found, err := b.resume()
	b.progress.before, b.progress.beganAt = b.progress.Counts.Events, share(b.progress.Ranges)
	if found || err != nil {
		return err
	}
	b.progress.Ranges, err = b.rangesOf(ctx, b.source)
	return err
}

// rows calls f for the rows of a range of a table that can be claimed. It counts them, and those that cannot be decoded.
func (b *backfill) rows(ctx context.Context, l *mapping, r jobRange, claims RowClaims, counts *BackfillCounts, f func(row untypedRow) error) error {
	for row, err := range b.scanner(l, r.Table).each(ctx, r.Range, b.From, b.To) {
		switch {
		case err != nil && isDecodeError(err) && r.Range.Contains(row.Key) && !claims.Contains(row.Key):
			continue // the next row ends the scan
		case err != nil:
			if err := b.undecodable(err, counts); err != nil {
				return err
			}
			continue
		case !claims.Claim(row.Key):
			return nil
		}
		counts.Rows++
		if err := f(row); err != nil {
			return err
		}
	}
	return nil
}

// allClaims claims all rows.
type allClaims struct{}

func (allClaims) Contains(string) bool { return true }
func (allClaims) Claim(string) bool    { return true }

// rowChunk are the events of adjacent rows. They are valid until the next chunk.
type rowChunk struct {
	within KeyRange // up to the last row or, at the end, that of the range
	last   string   // key of the last row; empty if there is none
	events []event
	end    bool // there are no more
}

// chunks calls f for the events of the rows of a range that can be claimed, of the source those that the target can store. The
// last row of a chunk may exceed the limit of events.
func (b *backfill) chunks(
	ctx context.Context, l *mapping, r jobRange, limit int, claims RowClaims, counts *BackfillCounts, f func(c *rowChunk) error,
) error {
	sums := newDigester(b.target, b.began)
	c, rows := &rowChunk{within: r.Range}, 0
	err := b.rows(ctx, l, r, claims, counts, func(row untypedRow) error {
		if l == b.source {
			if err := b.fits(row.Key, row.Events, sums); err != nil {
				return err
			}
			row.Events = distinct(b.source, b.target, row.Events, &counts.Merged)
		}
		c.last, c.events = row.Key, append(c.events, row.Events...)
		if rows++; len(c.events) < limit && rows < maxCopied {
			return nil
		}
		c.within.End, rows = row.Key+"\x00", 0
		err := f(c)
		clear(c.events)
		c.within, c.events = KeyRange{c.within.End, r.Range.End}, c.events[:0]
		return err
	})
	if err != nil {
		return err
	}
	c.end = true
	return f(c)
}

// undecodable counts an error of a scan, or returns it.
func (b *backfill) undecodable(err error, counts *BackfillCounts) error {
	if !b.SkipUndecodable || !isDecodeError(err) {
		return err
	}
	counts.Undecodable++
	return nil
}
