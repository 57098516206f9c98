package beamstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"github.com/btgen-dev/btgen/runtime/store"
)

var (
	bucketsNoted   = beam.NewCounter("btgen", "buckets_noted")
	bucketsSealed  = beam.NewCounter("btgen", "buckets_sealed")
	bucketsLeft    = beam.NewCounter("btgen", "buckets_left")
	bucketsInexact = beam.NewCounter("btgen", "buckets_inexact")
)

// RollupOptions specify how to summarize events.
type RollupOptions struct {
	// All is that of store.RollupOptions.
	All bool
	// Replicated waits for replication, on an instance with several clusters.
	Replicated bool
	// SkipUndecodable counts buckets that cannot be decoded, in the metric undecodable, and leaves them. Otherwise, they
	// fail the pipeline.
	SkipUndecodable bool
	// Wait replaces the wait, in tests that write nothing meanwhile; 0 for all of it.
	Wait time.Duration
}

// Rollup summarizes the buckets of the tables with a rollup that have ended and have changed, by the rules of
// [store.Rollup]. It first stores which buckets have changed. When all of them are known, it waits until no program can be
// writing the changes that it has seen, and then summarizes them on all workers. The connection needs an app profile that
// routes to a single cluster, that of all other programs that summarize, and allows single-row transactions.
//
// A bundle that is executed again and a pipeline that is started again summarize only what is left.
//
// The error is store.ErrNoRollup if no table has a rollup.
func (s *Schema[E]) Rollup(scope beam.Scope, conn Connection, o RollupOptions) error {
	scope = scope.Scope("btgen.Rollup")
	j := job{Schema: s.Name, Conn: conn.resolved(), Rollup: &o}
	opened, err := j.open(nil)
	if err != nil {
		return err
	}
	var sources []Source
	for i, table := range opened.(*rollupSteps).Tables() {
		sources = append(sources, Source{Table: table, Layout: i})
	}
	j.build(scope, sources)
	return nil
}

// rollupSteps are the steps of a rollup: see store.RollupParts.
type rollupSteps struct {
	*store.RollupParts
	options *RollupOptions
	conn    Connection
}

// open returns the steps.
func (o *RollupOptions) open(client store.Client, s *jobSchema, conn Connection) (steps, error) {
	if s.rollup == nil {
		return nil, store.ErrNoRollup
	}
	parts, err := s.rollup(client, store.RollupOptions{TablePrefix: conn.TablePrefix, All: o.All})
	return &rollupSteps{parts, o, conn}, err
}

func (r *rollupSteps) split(ctx context.Context, source Source) ([]store.KeyRange, error) {
	return r.Splits(ctx, source.Layout)
}

// find emits the buckets that have changed, in chunks.
func (r *rollupSteps) find(ctx context.Context, source Source, within store.KeyRange, claims store.RowClaims, emit func(key, note []byte)) error {
	counts, err := r.Note(ctx, source.Layout, within, claims, func(c store.RollupChunk) { emit(shardOf(c.Keys[0]), encoded(c)) })
	if err == nil {
		bucketsNoted.Inc(ctx, counts.Noted)
	}
	return err
}

// do does nothing: the buckets may be changing.
func (r *rollupSteps) do(context.Context, []byte, func(key, note []byte)) error { return nil }

// wait waits until no mark that was noted can be set any more.
func (r *rollupSteps) wait(ctx context.Context, _ func(*[]byte) bool) ([]Source, error) {
	err := sleep(ctx, cmp.Or(r.options.Wait, r.Grace()))
	if err == nil && r.options.Replicated {
		err = r.consistent(ctx)
	}
	return nil, err
}

// consistent waits for replication of the tables.
func (r *rollupSteps) consistent(ctx context.Context) (err error) {
	admin, err := bigtable.NewAdminClient(ctx, r.conn.Project, r.conn.Instance)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	for _, table := range r.Tables() {
		if err := replicated(ctx, table, admin.WaitForReplication); err != nil {
			return err
		}
	}
	return nil
}

// maxReplication is how long a worker waits for replication, after which the runner tries again.
const maxReplication = 10 * time.Minute

// replicated waits for replication of a table.
func replicated(ctx context.Context, table string, wait func(ctx context.Context, table string) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxReplication, &store.ReplicationError{Table: table, After: maxReplication})
	defer cancel()
	if err := wait(ctx, table); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// later summarizes the buckets of a chunk.
func (r *rollupSteps) later(ctx context.Context, note []byte, _ func(key, note []byte)) error {
	var chunk store.RollupChunk
	if err := json.Unmarshal(note, &chunk); err != nil {
		return err
	}
	counts, err := r.Seal(ctx, chunk)
	if left, is := errors.AsType[*store.LeftError](err); is {
		log.Error(ctx, left) // the next run tries again
	} else if err != nil && !(r.options.SkipUndecodable && isUndecodable(err)) {
		return err
	}
	bucketsSealed.Inc(ctx, counts.Sealed)
	bucketsInexact.Inc(ctx, counts.Inexact)
	bucketsLeft.Inc(ctx, counts.Busy+counts.Unknown+counts.Undecodable+counts.Failed)
	undecodable.Inc(ctx, counts.Undecodable)
	return nil
}

// settle and late are of no rollup: what is left is for the next one.
func (r *rollupSteps) settle(context.Context, []byte) error { return nil }

func (r *rollupSteps) late() time.Duration { return 0 }
