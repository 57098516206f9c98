package beamstore

import (
	"cmp"
	"context"
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
// The error is that of store.Backfill for such tables and times: a *store.BackfillError, for example.
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
	if len(targets) == 0 {
		return &store.BackfillError{Source: o.Source, Reasons: []string{"the schema has no other table with all events"}}
	}
	var jobs []job
	for _, target := range targets {
		j := job{opened: opened{Conn: conn.resolved()}, Schema: s.Name, Refill: &refill{o, target, at}}
		if err := j.open(nil); err != nil {
			return err
		}
		if j.parts.(*store.BackfillParts).TargetFirst() {
			log.Warnf(context.Background(), "programs write to table %s before table %s, so that the copy cannot follow all changes", target, o.Source)
		}
		jobs = append(jobs, j)
	}
	for _, j := range jobs {
		j.build(scope.Scope(j.Refill.Target))
	}
	return nil
}

// refill is a backfill of one table.
type refill struct {
	Options BackfillOptions
	Target  string
	Began   time.Time
}

// parts returns the steps.
func (r *refill) parts(client store.Client, s *jobSchema, conn Connection) (*store.BackfillParts, error) {
	o := r.Options
	return store.NewBackfillParts(client, s.mappings, r.Began, store.BackfillOptions{
		TablePrefix: conn.TablePrefix, Source: o.Source, Target: r.Target, From: o.From, To: o.To,
		SkipUndecodable: o.SkipUndecodable, RenewAges: o.RenewAges, Repair: o.Repair, Timeout: o.Timeout,
	})
}
