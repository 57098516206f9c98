package beamstore

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
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
	for _, target := range targets {
		j := job{Schema: s.Name, Conn: conn.resolved(), Refill: &refill{o, target, at}}
		opened, err := j.open(nil)
		if err != nil {
			return err
		}
		parts := opened.(*refillSteps)
		if parts.TargetFirst() {
			log.Warnf(context.Background(), "programs write to table %s before table %s, so that the copy cannot follow all changes", target, o.Source)
		}
		j.build(scope.Scope(target), parts.sources(parts.Sources(), time.Time{}, false))
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

// refill is a backfill of one table.
type refill struct {
	Options BackfillOptions
	Target  string
	Began   time.Time
}

// refillSteps are the steps of a backfill: see store.BackfillParts.
type refillSteps struct {
	*store.BackfillParts
	began time.Time
}

// open returns the steps.
func (r *refill) open(client store.Client, s *jobSchema, conn Connection) (steps, error) {
	o := r.Options
	parts, err := store.NewBackfillParts(client, s.mappings, r.Began, store.BackfillOptions{
		TablePrefix: conn.TablePrefix, Source: o.Source, Target: r.Target, From: o.From, To: o.To,
		SkipUndecodable: o.SkipUndecodable, RenewAges: o.RenewAges, Repair: o.Repair, Timeout: o.Timeout,
	})
	return &refillSteps{parts, r.Began}, err
}

// sources returns tables to search.
func (r *refillSteps) sources(tables []string, oldest time.Time, sweep bool) (all []Source) {
	for _, table := range tables {
		all = append(all, Source{Table: table, Now: r.began, Oldest: oldest, Sweep: sweep})
	}
	return all
}

func (r *refillSteps) split(ctx context.Context, source Source) ([]store.KeyRange, error) {
	return r.Splits(ctx, source.Table)
}

// find emits the places of the events of the source, or those of the target that the source lacks.
func (r *refillSteps) find(ctx context.Context, source Source, within store.KeyRange, claims store.RowClaims, emit func(key, note []byte)) (err error) {
	var counts store.BackfillCounts
	if source.Sweep {
		counts, err = r.Sweep(ctx, source.Table, within, claims, source.Oldest, func(c store.BackfillChunk) { emit(shardOf(c.Places), encoded(c)) })
	} else {
		counts, err = r.Record(ctx, source.Table, within, claims, func(c store.BackfillChunk) { emit([]byte(c.Table+"\x00"+c.Rows.Start), encoded(c)) })
	}
	if err == nil {
		eventsRead.Inc(ctx, counts.Events)
		undecodable.Inc(ctx, counts.Undecodable)
		eventsMerged.Inc(ctx, counts.Merged)
		eventsOnlyTarget.Inc(ctx, counts.OnlyTarget)
	}
	return err
}

// do copies and settles a chunk. It emits the time of its oldest event.
func (r *refillSteps) do(ctx context.Context, note []byte, emit func(key, note []byte)) error {
	var chunk store.BackfillChunk
	if err := json.Unmarshal(note, &chunk); err != nil {
		return err
	}
	counts, oldest, err := r.Copy(ctx, chunk)
	if err == nil {
		count(ctx, counts)
		emit(nil, encoded(oldest))
	}
	return err
}

// wait waits until no request of any attempt to copy can arrive any more.
func (r *refillSteps) wait(ctx context.Context, done func(*[]byte) bool) ([]Source, error) {
	if err := sleep(ctx, r.WaitTime()); err != nil {
		return nil, err
	}
	var oldest time.Time
	err := eachNote(done, func(text []byte) error {
		var at time.Time
		if len(text) == 0 {
			return nil
		}
		err := json.Unmarshal(text, &at)
		if !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
		return err
	})
	return r.sources(r.Targets(), oldest, true), err
}

// later emits a chunk at which the tables differ. It writes nothing, so that nothing is in flight when it is executed again.
func (r *refillSteps) later(ctx context.Context, note []byte, emit func(key, note []byte)) error {
	var chunk store.BackfillChunk
	if err := json.Unmarshal(note, &chunk); err != nil {
		return err
	}
	differs, err := r.Check(ctx, chunk)
	if err == nil && differs {
		emit(shardOf(chunk.Places), note)
	}
	return err
}

// settle makes the target equal to the source at the places of a chunk.
func (r *refillSteps) settle(ctx context.Context, note []byte) error {
	var chunk store.BackfillChunk
	if err := json.Unmarshal(note, &chunk); err != nil {
		return err
	}
	counts, err := r.Settle(ctx, chunk)
	if err == nil {
		counts.Events = 0 // they are counted by do
		count(ctx, counts)
	}
	return err
}

func (r *refillSteps) late() time.Duration { return r.WaitTime() }

// count adds counts of events to the metrics.
func count(ctx context.Context, c store.BackfillCounts) {
	eventsWritten.Inc(ctx, c.Events)
	eventsExpired.Inc(ctx, c.Expired)
	eventsChanged.Inc(ctx, c.Changed)
	eventsDeleted.Inc(ctx, c.Deleted)
	eventsUnsettled.Inc(ctx, c.Unsettled)
}
