package beamstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
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
	job := rollupJob[E]{Conn: conn.resolved(), Options: o}
	steps, err := job.parts(nil)
	if err != nil {
		return err
	}
	layouts := make([]int, len(steps.Tables()))
	for i := range layouts {
		layouts[i] = i
	}
	chunks := beam.GroupByKey(scope, beam.ParDo(scope.Scope("Note"), &noteFn[E]{Job: job}, beam.CreateList(scope, layouts)))
	noted := beam.ParDo(scope, &notedFn{}, chunks)
	always := beam.ParDo(scope, &markFn{}, beam.Impulse(scope))
	waited := beam.ParDo(scope.Scope("Wait"), &graceFn[E]{Job: job}, beam.GroupByKey(scope, beam.Flatten(scope, noted, always)))
	end(scope.Scope("Seal"), &sealFn[E]{Job: job}, chunks, beam.SideInput{Input: waited})
	return nil
}

// rollupJob is what all DoFns of a rollup know.
type rollupJob[E any] struct {
	Conn    Connection
	Options RollupOptions

	client *sharedClient
	steps  *store.RollupParts
}

// parts returns the steps, with a client unless it is nil.
func (r *rollupJob[E]) parts(client *sharedClient) (*store.RollupParts, error) {
	var c store.Client
	if client != nil {
		c = client.Client
	}
	s := schemaOf[E]()
	if s.rollup == nil {
		return nil, store.ErrNoRollup
	}
	return s.rollup(c, store.RollupOptions{TablePrefix: r.Conn.TablePrefix, All: r.Options.All})
}

// open opens the client.
func (r *rollupJob[E]) open() (err error) {
	if r.client, err = r.Conn.acquire(); err != nil {
		return err
	}
	r.steps, err = r.parts(r.client)
	return err
}

// sealParts is the number of parts in which buckets are summarized.
const sealParts = 64

// noteFn emits the buckets that have changed, in chunks.
type noteFn[E any] struct{ Job rollupJob[E] }

// CreateInitialRestriction returns the range of all rows.
func (fn *noteFn[E]) CreateInitialRestriction(int) store.KeyRange { return store.KeyRange{} }

// SplitRestriction returns ranges of about equal size. The runner calls it without Setup.
func (fn *noteFn[E]) SplitRestriction(ctx context.Context, layout int, _ store.KeyRange) (ranges []store.KeyRange, err error) {
	job := fn.Job
	if err := job.open(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, job.client.release()) }()
	return job.steps.Splits(ctx, layout)
}

// RestrictionSize returns the size of a range relative to other ranges.
func (fn *noteFn[E]) RestrictionSize(int, store.KeyRange) float64 { return 1 }

// CreateTracker returns a tracker of a range.
func (fn *noteFn[E]) CreateTracker(within store.KeyRange) *sdf.LockRTracker {
	return sdf.NewLockRTracker(&tracker{within: within})
}

// Setup opens the client.
func (fn *noteFn[E]) Setup() error { return fn.Job.open() }

// Teardown closes the client.
func (fn *noteFn[E]) Teardown() error { return fn.Job.client.release() }

// ProcessElement emits the chunks of a range of rows, or of as much of it as the runner wants.
func (fn *noteFn[E]) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, layout int, emit func([]byte, []byte)) error {
	var failed error
	counts, err := fn.Job.steps.Note(ctx, layout, rt.GetRestriction().(store.KeyRange), claims{rt}, func(chunk store.RollupChunk) {
		text, err := json.Marshal(chunk)
		if err != nil {
			failed = err
			return
		}
		h := fnv.New32a()
		h.Write(chunk.Keys[0])
		emit([]byte{byte(h.Sum32() % sealParts)}, text)
	})
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	bucketsNoted.Inc(ctx, counts.Noted)
	rt.TryClaim(rangeEnd{})
	return nil
}

// notedFn emits that chunks are stored.
type notedFn struct{}

// ProcessElement emits a constant.
func (*notedFn) ProcessElement(_ []byte, _ func(*[]byte) bool, emit func([]byte, []byte)) {
	emit(nil, nil)
}

// graceFn waits, when all chunks are stored, until no mark that they have noted can be set any more.
type graceFn[E any] struct{ Job rollupJob[E] }

// ProcessElement waits. What it emits has no meaning.
func (fn *graceFn[E]) ProcessElement(ctx context.Context, _ []byte, _ func(*[]byte) bool, emit func(int)) error {
	steps, err := fn.Job.parts(nil)
	if err != nil {
		return err
	}
	wait := steps.Grace()
	if fn.Job.Options.Wait > 0 {
		wait = fn.Job.Options.Wait
	}
	if err := sleep(ctx, wait); err != nil {
		return err
	}
	if fn.Job.Options.Replicated {
		if err := fn.consistent(ctx, steps.Tables()); err != nil {
			return err
		}
	}
	emit(0)
	return nil
}

// consistent waits for replication of tables.
func (fn *graceFn[E]) consistent(ctx context.Context, tables []string) (err error) {
	admin, err := bigtable.NewAdminClient(ctx, fn.Job.Conn.Project, fn.Job.Conn.Instance)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	for _, table := range tables {
		if err := fn.waits(ctx, table, admin.WaitForReplication); err != nil {
			return err
		}
	}
	return nil
}

// maxReplication is how long a worker waits for replication, after which the runner tries again.
const maxReplication = 10 * time.Minute

// waits waits for replication of a table.
func (fn *graceFn[E]) waits(ctx context.Context, table string, wait func(ctx context.Context, table string) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, maxReplication, &store.ReplicationError{Table: table, After: maxReplication})
	defer cancel()
	if err := wait(ctx, table); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// sealFn summarizes the buckets of chunks.
type sealFn[E any] struct{ Job rollupJob[E] }

// Setup opens the client.
func (fn *sealFn[E]) Setup() error { return fn.Job.open() }

// Teardown closes the client.
func (fn *sealFn[E]) Teardown() error { return fn.Job.client.release() }

// ProcessElement summarizes the buckets of chunks. The side input is there when graceFn has waited.
func (fn *sealFn[E]) ProcessElement(ctx context.Context, _ []byte, chunks func(*[]byte) bool, _ func(*int) bool, _ func(bool)) error {
	var text []byte
	for chunks(&text) {
		var chunk store.RollupChunk
		if err := json.Unmarshal(text, &chunk); err != nil {
			return err
		}
		counts, err := fn.Job.steps.Seal(ctx, chunk)
		if left, is := errors.AsType[*store.LeftError](err); is {
			log.Error(ctx, left) // the next run tries again
			err = nil
		}
		if err != nil && !(fn.Job.Options.SkipUndecodable && isUndecodable(err)) {
			return err
		}
		bucketsSealed.Inc(ctx, counts.Sealed)
		bucketsInexact.Inc(ctx, counts.Inexact)
		bucketsLeft.Inc(ctx, counts.Busy+counts.Unknown+counts.Undecodable+counts.Failed)
		undecodable.Inc(ctx, counts.Undecodable)
	}
	return nil
}
