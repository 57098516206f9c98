package beamstore

import (
	"cmp"
	"context"
	"errors"
	"hash/fnv"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"github.com/btgen-dev/btgen/runtime/store"
)

// job is a backfill or a rollup: the steps of [store.JobParts], each of which is a stage. All of its DoFns know it.
type job struct {
	opened
	Schema string
	Refill *refill        // nil for a rollup
	Rollup *RollupOptions // nil for a backfill

	parts store.JobParts
}

// jobSchema is what jobs need of a schema, whatever its events are.
type jobSchema struct {
	mappings []*store.Mapping
	rollup   func(client store.Client, o store.RollupOptions) (*store.RollupParts, error) // nil before RegisterWindows
}

// jobSchemas contains the registered schemas by their names.
var jobSchemas = map[string]*jobSchema{}

// open sets the parts, with a client unless it is nil.
func (j *job) open(client store.Client) (err error) {
	s := jobSchemas[j.Schema]
	switch {
	case j.Refill != nil:
		j.parts, err = j.Refill.parts(client, s, j.Conn)
	case s.rollup == nil:
		err = store.ErrNoRollup
	default:
		j.parts, err = s.rollup(client, store.RollupOptions{TablePrefix: j.Conn.TablePrefix, All: j.Rollup.All})
	}
	return err
}

// Setup opens the client and the parts.
func (j *job) Setup() error {
	err := j.opened.Setup()
	if err == nil {
		err = j.open(j.client.Client)
	}
	return err
}

// build adds the stages.
func (j job) build(scope beam.Scope) {
	sources := beam.CreateList(scope, sourcesOf(j.parts.First()))
	notes := beam.GroupByKey(scope, beam.ParDo(scope.Scope("Find"), &findFn{job: j, Shards: 1 << 16}, sources))
	done := beam.ParDo(scope.Scope("Do"), &doFn{j}, notes)
	times := beam.Flatten(scope, done, beam.Create(scope, encodedTime(time.Time{}))) // there is one without notes, too
	waited := beam.ParDo(scope.Scope("Wait"), &waitFn{j}, beam.GroupByKey(scope, beam.AddFixedKey(scope, times)))
	wrong := beam.ParDo(scope.Scope("Check"), &checkFn{j}, notes, beam.SideInput{Input: waited})
	left := beam.ParDo(scope.Scope("Sweep"), &findFn{job: j, Shards: settleShards}, waited)
	end(scope.Scope("Settle"), &settleFn{job: j}, beam.GroupByKey(scope, beam.Flatten(scope, wrong, left)))
}

// settleShards is the number of parts in which notes are settled, each of which may have to pause.
const settleShards = 64

// shardOf returns the key of a note.
func shardOf(note []byte, shards uint32) []byte {
	h := fnv.New32a()
	h.Write(note)
	n := h.Sum32() % shards
	return []byte{byte(n >> 8), byte(n)}
}

// sourcesOf returns tables to search.
func sourcesOf(tables []store.JobTable) (all []Source) {
	for _, t := range tables {
		all = append(all, Source{Job: t})
	}
	return all
}

// findFn emits notes of what is to be done in ranges of rows.
type findFn struct {
	ranged
	job
	Shards uint32
}

// SplitRestriction returns ranges of about equal size. The runner calls it without Setup.
func (fn *findFn) SplitRestriction(ctx context.Context, source Source, _ store.KeyRange) ([]store.KeyRange, error) {
	j := fn.job
	return j.split(func(client store.Client) ([]store.KeyRange, error) {
		if err := j.open(client); err != nil {
			return nil, err
		}
		return j.parts.Splits(ctx, source.Job)
	})
}

// ProcessElement emits the notes of a range of rows, or of as much of it as the runner wants.
func (fn *findFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, source Source, emit func([]byte, []byte)) error {
	counts, err := fn.parts.Find(ctx, source.Job, rt.GetRestriction().(store.KeyRange), claims{rt}, func(note store.JobNote) {
		emit(shardOf(note, fn.Shards), note)
	})
	if err != nil {
		return err
	}
	count(ctx, eventsRead, counts)
	rt.TryClaim(rangeEnd{})
	return nil
}

// claims are the rows of a restriction.
type claims struct{ rt *sdf.LockRTracker }

func (c claims) Contains(key string) bool {
	return c.rt.GetRestriction().(store.KeyRange).Contains(key)
}
func (c claims) Claim(key string) bool { return c.rt.TryClaim(key) }

// doFn does what notes say. It emits the times of the oldest events.
type doFn struct{ job }

// ProcessElement does what notes say.
func (fn *doFn) ProcessElement(ctx context.Context, _ []byte, notes func(*[]byte) bool, emit func([]byte)) error {
	for note := []byte(nil); notes(&note); {
		oldest, counts, err := fn.parts.Do(ctx, note)
		if err != nil {
			return err
		}
		count(ctx, eventsWritten, counts)
		emit(encodedTime(oldest))
	}
	return nil
}

// encodedTime returns a time for transport between workers.
func encodedTime(t time.Time) []byte {
	text, _ := t.UTC().MarshalBinary() // never fails for UTC
	return text
}

// waitFn waits, when all notes are done, and emits what else to search.
type waitFn struct{ job }

// ProcessElement waits.
func (fn *waitFn) ProcessElement(ctx context.Context, _ int, times func(*[]byte) bool, emit func(Source)) error {
	wait := fn.parts.Wait()
	if fn.Rollup != nil && fn.Rollup.Wait > 0 {
		wait = fn.Rollup.Wait
	}
	if err := sleep(ctx, wait); err != nil {
		return err
	}
	if fn.Rollup != nil && fn.Rollup.Replicated {
		if err := fn.replicated(ctx); err != nil {
			return err
		}
	}
	var oldest time.Time
	for text := []byte(nil); times(&text); {
		var at time.Time
		if err := at.UnmarshalBinary(text); err != nil {
			return err
		}
		if !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
			oldest = at
		}
	}
	for _, source := range sourcesOf(fn.parts.Left(oldest)) {
		emit(source)
	}
	return nil
}

// sleep waits, or returns the cause of the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// maxReplication is how long a worker waits for replication of a table, after which the runner tries again.
const maxReplication = 10 * time.Minute

// replicated waits for replication of the tables.
func (j *job) replicated(ctx context.Context) (err error) {
	admin, err := bigtable.NewAdminClient(ctx, j.Conn.Project, j.Conn.Instance)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, admin.Close()) }()
	for _, t := range j.parts.First() {
		table := j.Conn.TablePrefix + t.Table
		waiting, cancel := context.WithTimeoutCause(ctx, maxReplication, &store.ReplicationError{Table: table, After: maxReplication})
		err := admin.WaitForReplication(waiting, table)
		if err != nil {
			err = cmp.Or(context.Cause(waiting), err)
		}
		if cancel(); err != nil {
			return err
		}
	}
	return nil
}

// checkFn emits notes that are not done. It writes nothing, so that nothing is in flight when it is executed again.
type checkFn struct{ job }

// ProcessElement emits notes that are not done. The side input is there when waitFn has waited.
func (fn *checkFn) ProcessElement(ctx context.Context, _ []byte, notes func(*[]byte) bool, _ func(*Source) bool, emit func([]byte, []byte)) error {
	for note := []byte(nil); notes(&note); {
		differs, err := fn.parts.Differs(ctx, note)
		if err != nil {
			return err
		}
		if differs {
			emit(shardOf(note, settleShards), note)
		}
	}
	return nil
}

// settleFn does what notes say.
type settleFn struct {
	job

	until time.Time // when no request of an earlier attempt can arrive any more
}

// StartBundle begins to wait for requests of earlier attempts.
func (fn *settleFn) StartBundle(context.Context, func(bool)) {
	fn.until = time.Now().Add(fn.parts.Pause())
}

// ProcessElement does what notes say.
func (fn *settleFn) ProcessElement(ctx context.Context, _ []byte, notes func(*[]byte) bool, _ func(bool)) error {
	if err := sleep(ctx, time.Until(fn.until)); err != nil {
		return err
	}
	for note := []byte(nil); notes(&note); {
		counts, err := fn.parts.Settle(ctx, note)
		if left, is := errors.AsType[*store.LeftError](err); is {
			log.Error(ctx, left) // the next run tries again
		} else if err != nil && !(fn.Rollup != nil && fn.Rollup.SkipUndecodable && isUndecodable(err)) {
			return err
		}
		count(ctx, eventsWritten, counts)
	}
	return nil
}

// Metrics of pipelines, in the namespace btgen. A runner counts those of a bundle once, even
// if it executes the bundle several times.
var (
	eventsRead    = beam.NewCounter("btgen", "events_read")
	undecodable   = beam.NewCounter("btgen", "undecodable")
	eventsWritten = beam.NewCounter("btgen", "events_written")
	eventsExpired = beam.NewCounter("btgen", "events_expired")
	eventsDeleted = beam.NewCounter("btgen", "events_deleted")
	seriesDeleted = beam.NewCounter("btgen", "series_deleted")

	eventsMerged     = beam.NewCounter("btgen", "events_merged")
	eventsChanged    = beam.NewCounter("btgen", "events_changed")
	eventsUnsettled  = beam.NewCounter("btgen", "events_unsettled")
	eventsOnlyTarget = beam.NewCounter("btgen", "events_only_target")

	bucketsNoted   = beam.NewCounter("btgen", "buckets_noted")
	bucketsSealed  = beam.NewCounter("btgen", "buckets_sealed")
	bucketsLeft    = beam.NewCounter("btgen", "buckets_left")
	bucketsInexact = beam.NewCounter("btgen", "buckets_inexact")
)

// count adds counts to the metrics. events is that of their events.
func count(ctx context.Context, events beam.Counter, counts store.JobCounts) {
	b, r := &counts.Backfill, &counts.Rollup
	for _, c := range []struct {
		beam.Counter
		n int64
	}{
		{events, b.Events}, {undecodable, b.Undecodable + r.Undecodable},
		{eventsExpired, b.Expired}, {eventsMerged, b.Merged}, {eventsChanged, b.Changed}, {eventsDeleted, b.Deleted},
		{eventsUnsettled, b.Unsettled}, {eventsOnlyTarget, b.OnlyTarget},
		{bucketsNoted, r.Noted}, {bucketsSealed, r.Sealed}, {bucketsInexact, r.Inexact},
		{bucketsLeft, r.Busy + r.Unknown + r.Undecodable + r.Failed},
	} {
		if c.n != 0 {
			c.Inc(ctx, c.n)
		}
	}
}
