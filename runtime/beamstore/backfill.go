package beamstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"github.com/btgen-dev/btgen/runtime/store"
)

// BackfillOptions specify which events to copy, from where and to where.
type BackfillOptions struct {
	// From and To are the time range: From <= time < To. A zero From precedes all events, and
	// a zero To is the time at which the pipeline is built.
	From, To time.Time
	// Source is the ID of the table to read, without a prefix; empty for the one that the
	// reader of the schema uses.
	Source string
	// Targets are the IDs of the tables to fill; nil for all tables but the source, and but one of
	// codec.Latest, which only store.Backfill can fill.
	Targets []string
	// SkipUndecodable is that of ReadOptions.
	SkipUndecodable bool
	// RenewAges and Repair are those of store.BackfillOptions.
	RenewAges, Repair bool
	// Timeout limits the time for which a read waits for its next row, and each write, including its
	// retries. 0 means store.DefaultTimeout. After all copies, the pipeline waits three times as
	// long, until no request of a killed worker can arrive any more.
	Timeout time.Duration
}

// Backfill copies events of one table to other tables of the schema, for example to one with
// another row key, by the rules of [store.Backfill]. The source does not change. Programs that write to
// all tables and delete from them may go on; start them before.
//
// The pipeline first stores the places of all events. It copies the events in chunks, and compares
// each with the source until both are equal. When all are copied, and no request of a killed
// worker can arrive any more, it compares all of them once more, and repairs those that differ. So a
// bundle that is executed again, and a worker that is killed, leave no copy of a deleted or replaced
// event, provided that
//
//   - programs change the source before the targets, that is, the source comes first in the schema;
//   - the runner ends an attempt of the last repair before it starts the next one;
//   - the source would still have the event: see store.Backfill.
//
// A pipeline that failed is started again. It cannot know what the failed one was writing: in a target
// with `serves: false`, and with Repair in any target, it deletes what the source lacks, as
// store.Backfill does without a checkpoint. In other targets, such events stay. End all workers of
// the failed pipeline before.
//
// The error is a *BackfillError or that of store.Backfill for such tables and times.
func (s *Schema[E]) Backfill(scope beam.Scope, conn Connection, o BackfillOptions) error {
	scope = scope.Scope("btgen.Backfill")
	at := now().UTC()
	if o.To.IsZero() {
		o.To = at
	}
	o.Source = cmp.Or(o.Source, s.Table)
	targets := o.Targets
	if targets == nil {
		for _, m := range s.Mappings {
			if m.Table.ID != o.Source && !m.Pattern.NewestOnly() {
				targets = append(targets, m.Table.ID)
			}
		}
	}
	if len(targets) == 0 || slices.Contains(targets, o.Source) {
		return &BackfillError{Source: o.Source, Targets: targets}
	}
	var jobs []refill[E]
	for _, target := range targets {
		job := refill[E]{Conn: conn.resolved(), Options: o, Target: target, Began: at}
		if _, err := job.parts(nil); err != nil {
			return err
		}
		jobs = append(jobs, job)
	}
	for _, job := range jobs {
		if err := job.build(scope.Scope(job.Target)); err != nil {
			return err
		}
	}
	return nil
}

// BackfillError reports a backfill without a table to fill, or of a table from itself.
type BackfillError struct {
	Source  string
	Targets []string
}

// Error names the tables.
func (e *BackfillError) Error() string {
	if len(e.Targets) == 0 {
		return fmt.Sprintf("there is no table to fill from table %s, because the schema has no other table with all events", e.Source)
	}
	return fmt.Sprintf("table %s cannot be filled from itself: remove it from Targets", e.Source)
}

// refill is a backfill of one table, and what all of its DoFns know.
type refill[E any] struct {
	Conn    Connection
	Options BackfillOptions
	Target  string
	Began   time.Time

	client *sharedClient
	steps  *store.BackfillParts
}

// parts returns the steps, with a client unless it is nil.
func (r *refill[E]) parts(client *sharedClient) (*store.BackfillParts, error) {
	var c store.Client
	if client != nil {
		c = client.Client
	}
	o := r.Options
	return store.NewBackfillParts(c, schemaOf[E]().Mappings, r.Began, store.BackfillOptions{
		TablePrefix: r.Conn.TablePrefix, Source: o.Source, Target: r.Target, From: o.From, To: o.To,
		SkipUndecodable: o.SkipUndecodable, RenewAges: o.RenewAges, Repair: o.Repair, Timeout: o.Timeout,
	})
}

// open opens the client.
func (r *refill[E]) open() (err error) {
	if r.client, err = r.Conn.acquire(); err != nil {
		return err
	}
	r.steps, err = r.parts(r.client)
	return err
}

// build adds the stages of a backfill: see store.BackfillParts.
func (r refill[E]) build(scope beam.Scope) error {
	steps, err := r.parts(nil)
	if err != nil {
		return err
	}
	if steps.TargetFirst() {
		log.Warnf(context.Background(), "programs write to table %s before table %s, so that the copy cannot follow all changes", r.Target, r.Options.Source)
	}
	var sources []Source
	for _, table := range steps.Sources() {
		sources = append(sources, Source{Table: table, Now: r.Began})
	}
	chunks := beam.GroupByKey(scope, beam.ParDo(scope.Scope("Record"), &recordFn[E]{Job: r}, beam.CreateList(scope, sources)))
	copied := beam.ParDo(scope.Scope("Copy"), &copyFn[E]{Job: r}, chunks)
	always := beam.ParDo(scope, &markFn{}, beam.Impulse(scope))
	waited := beam.ParDo(scope.Scope("Wait"), &waitFn[E]{Job: r}, beam.GroupByKey(scope, beam.Flatten(scope, copied, always)))
	differing := beam.ParDo(scope.Scope("Check"), &checkFn[E]{Job: r}, chunks, beam.SideInput{Input: waited})
	left := beam.ParDo(scope.Scope("Sweep"), &recordFn[E]{Job: r, Sweep: true}, waited)
	end(scope.Scope("Settle"), &settleFn[E]{Job: r}, beam.GroupByKey(scope, beam.Flatten(scope, differing, left)))
	return nil
}

// repairs is the number of parts of the last repair.
const repairs = 64

// emitRepair emits a chunk for the last repair.
func emitRepair(chunk store.BackfillChunk, emit func([]byte, []byte)) error {
	text, err := json.Marshal(chunk)
	if err != nil {
		return err
	}
	h := fnv.New32a()
	h.Write(chunk.Places)
	emit([]byte{byte(h.Sum32() % repairs)}, text)
	return nil
}

// eachChunk calls f for chunks.
func eachChunk(chunks func(*[]byte) bool, f func(chunk store.BackfillChunk) error) error {
	var text []byte
	for chunks(&text) {
		var chunk store.BackfillChunk
		if err := json.Unmarshal(text, &chunk); err != nil {
			return err
		}
		if err := f(chunk); err != nil {
			return err
		}
	}
	return nil
}

// recordFn reads the source and emits the places of its events, or reads the target and emits those
// that the source lacks.
type recordFn[E any] struct {
	Job   refill[E]
	Sweep bool
}

// CreateInitialRestriction returns the range of all rows.
func (fn *recordFn[E]) CreateInitialRestriction(Source) store.KeyRange { return store.KeyRange{} }

// SplitRestriction returns ranges of about equal size. The runner calls it without Setup.
func (fn *recordFn[E]) SplitRestriction(ctx context.Context, source Source, _ store.KeyRange) (ranges []store.KeyRange, err error) {
	client, err := fn.Job.Conn.acquire()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, client.release()) }()
	scanner, err := store.NewScanner[E](client.Client, schemaOf[E]().Mappings, source.Table, store.ReaderOptions{TablePrefix: fn.Job.Conn.TablePrefix})
	if err != nil {
		return nil, err
	}
	return scanner.Splits(ctx)
}

// RestrictionSize returns the size of a range relative to other ranges.
func (fn *recordFn[E]) RestrictionSize(Source, store.KeyRange) float64 { return 1 }

// CreateTracker returns a tracker of a range.
func (fn *recordFn[E]) CreateTracker(within store.KeyRange) *sdf.LockRTracker {
	return sdf.NewLockRTracker(&tracker{within: within})
}

// Setup opens the client.
func (fn *recordFn[E]) Setup() error { return fn.Job.open() }

// Teardown closes the client.
func (fn *recordFn[E]) Teardown() error { return fn.Job.client.release() }

// claims are the rows of a restriction.
type claims struct{ rt *sdf.LockRTracker }

func (c claims) Contains(key string) bool {
	return c.rt.GetRestriction().(store.KeyRange).Contains(key)
}
func (c claims) Claim(key string) bool { return c.rt.TryClaim(key) }

// ProcessElement emits the chunks of a range of rows, or of as much of it as the runner wants.
func (fn *recordFn[E]) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, source Source, emit func([]byte, []byte)) (err error) {
	within := rt.GetRestriction().(store.KeyRange)
	var failed error
	var counts store.BackfillCounts
	if fn.Sweep {
		counts, err = fn.Job.steps.Sweep(ctx, source.Table, within, claims{rt}, source.Oldest, func(chunk store.BackfillChunk) {
			failed = cmp.Or(failed, emitRepair(chunk, emit))
		})
	} else {
		counts, err = fn.Job.steps.Record(ctx, source.Table, within, claims{rt}, func(chunk store.BackfillChunk) {
			text, err := json.Marshal(chunk)
			if err != nil {
				failed = cmp.Or(failed, err)
				return
			}
			emit([]byte(chunk.Table+"\x00"+chunk.Rows.Start), text)
		})
		eventsRead.Inc(ctx, counts.Events)
	}
	if err := cmp.Or(err, failed); err != nil {
		return err
	}
	undecodable.Inc(ctx, counts.Undecodable)
	eventsMerged.Inc(ctx, counts.Merged)
	eventsOnlyTarget.Inc(ctx, counts.OnlyTarget)
	rt.TryClaim(rangeEnd{})
	return nil
}

// count adds counts of events to the metrics.
func count(ctx context.Context, c store.BackfillCounts) {
	eventsWritten.Inc(ctx, c.Events)
	eventsExpired.Inc(ctx, c.Expired)
	eventsChanged.Inc(ctx, c.Changed)
	eventsDeleted.Inc(ctx, c.Deleted)
	eventsUnsettled.Inc(ctx, c.Unsettled)
}

// copyFn copies and settles chunks. It emits the time of the oldest event of each.
type copyFn[E any] struct{ Job refill[E] }

// Setup opens the client.
func (fn *copyFn[E]) Setup() error { return fn.Job.open() }

// Teardown closes the client.
func (fn *copyFn[E]) Teardown() error { return fn.Job.client.release() }

// ProcessElement copies chunks.
func (fn *copyFn[E]) ProcessElement(ctx context.Context, _ []byte, chunks func(*[]byte) bool, emit func([]byte, []byte)) error {
	return eachChunk(chunks, func(chunk store.BackfillChunk) error {
		counts, oldest, err := fn.Job.steps.Copy(ctx, chunk)
		if err != nil {
			return err
		}
		count(ctx, counts)
		text, err := oldest.MarshalBinary()
		emit(nil, text)
		return err
	})
}

// markFn emits a zero time, so that there is one without events.
type markFn struct{}

// ProcessElement emits a zero time.
func (*markFn) ProcessElement(_ []byte, emit func([]byte, []byte)) {
	text, _ := time.Time{}.MarshalBinary() // never fails
	emit(nil, text)
}

// waitFn waits, when all chunks are copied, until no request of any attempt can arrive any more. It
// emits the tables in which to look for what earlier pipelines have left.
type waitFn[E any] struct{ Job refill[E] }

// ProcessElement waits.
func (fn *waitFn[E]) ProcessElement(ctx context.Context, _ []byte, times func(*[]byte) bool, emit func(Source)) error {
	steps, err := fn.Job.parts(nil)
	if err != nil {
		return err
	}
	if err := sleep(ctx, steps.WaitTime()); err != nil {
		return err
	}
	var oldest time.Time
	var text []byte
	for times(&text) {
		var at time.Time
		if err := at.UnmarshalBinary(text); err != nil {
			return err
		}
		if !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	for _, table := range steps.Targets() {
		emit(Source{Table: table, Now: fn.Job.Began, Oldest: oldest})
	}
	return nil
}

// sleep waits, or returns the cause of the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// checkFn emits the chunks at which the tables differ. It writes nothing, so that nothing is in
// flight when it is executed again.
type checkFn[E any] struct{ Job refill[E] }

// Setup opens the client.
func (fn *checkFn[E]) Setup() error { return fn.Job.open() }

// Teardown closes the client.
func (fn *checkFn[E]) Teardown() error { return fn.Job.client.release() }

// ProcessElement compares chunks. The side input is there when waitFn has waited.
func (fn *checkFn[E]) ProcessElement(ctx context.Context, _ []byte, chunks func(*[]byte) bool, _ func(*Source) bool, emit func([]byte, []byte)) error {
	return eachChunk(chunks, func(chunk store.BackfillChunk) error {
		if differs, err := fn.Job.steps.Check(ctx, chunk); err != nil || !differs {
			return err
		}
		return emitRepair(chunk, emit)
	})
}

// settleFn makes the target equal to the source.
type settleFn[E any] struct {
	Job refill[E]

	until time.Time // when no request of an earlier attempt can arrive any more
}

// Setup opens the client.
func (fn *settleFn[E]) Setup() error { return fn.Job.open() }

// Teardown closes the client.
func (fn *settleFn[E]) Teardown() error { return fn.Job.client.release() }

// StartBundle begins to wait for requests of earlier attempts.
func (fn *settleFn[E]) StartBundle(context.Context, func(bool)) error {
	fn.until = time.Now().Add(fn.Job.steps.WaitTime())
	return nil
}

// ProcessElement settles chunks.
func (fn *settleFn[E]) ProcessElement(ctx context.Context, _ []byte, chunks func(*[]byte) bool, _ func(bool)) error {
	if err := sleep(ctx, time.Until(fn.until)); err != nil {
		return err
	}
	return eachChunk(chunks, func(chunk store.BackfillChunk) error {
		counts, err := fn.Job.steps.Settle(ctx, chunk)
		if err != nil {
			return err
		}
		counts.Events = 0 // they are counted by copyFn
		count(ctx, counts)
		return nil
	})
}
