package beamstore

import (
	"context"
	"encoding/json"
	"hash/fnv"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/sdf"

	"github.com/btgen-dev/btgen/runtime/store"
)

// job is a backfill or a rollup, and what all of its DoFns know. Its stages are steps of package store:
//
//   - Find searches ranges of rows, and emits notes of what is to be done, which the runner stores.
//   - Do does it, in a backfill.
//   - Wait waits, when all notes are stored and done, until nothing that the next steps must see is in flight.
//   - Later does, in a rollup, or checks what the notes say.
//   - Sweep, in a backfill, finds what earlier pipelines have left, and Settle repairs that and what is wrong.
type job struct {
	Schema string
	Conn   Connection
	Refill *refill        // nil for a rollup
	Rollup *RollupOptions // nil for a backfill
}

// steps are those of a job.
type steps interface {
	// split returns ranges of rows of about equal size.
	split(ctx context.Context, source Source) ([]store.KeyRange, error)
	// find emits notes with their keys.
	find(ctx context.Context, source Source, within store.KeyRange, claims store.RowClaims, emit func(key, note []byte)) error
	// do, later and settle do what a note says. What do emits is for wait, and what later emits for settle.
	do(ctx context.Context, note []byte, emit func(key, note []byte)) error
	later(ctx context.Context, note []byte, emit func(key, note []byte)) error
	settle(ctx context.Context, note []byte) error
	// wait waits, given what do has emitted, and returns what to sweep.
	wait(ctx context.Context, done func(*[]byte) bool) ([]Source, error)
	// late is how long after the beginning of an attempt to settle another one begins.
	late() time.Duration
}

// jobSchema is what jobs need of a schema, whatever its events are.
type jobSchema struct {
	mappings []*store.Mapping
	rollup   func(client store.Client, o store.RollupOptions) (*store.RollupParts, error) // nil before RegisterWindows
}

// jobSchemas contains the registered schemas by their names.
var jobSchemas = map[string]*jobSchema{}

// open returns the steps, with a client unless it is nil.
func (j *job) open(client store.Client) (steps, error) {
	s := jobSchemas[j.Schema]
	if j.Refill != nil {
		return j.Refill.open(client, s, j.Conn)
	}
	return j.Rollup.open(client, s, j.Conn)
}

// build adds the stages of a job that searches sources.
func (j job) build(scope beam.Scope, sources []Source) {
	step := stepFn{opened: opened{Conn: j.Conn}, Job: j}
	find := &findFn{ranged{step.opened}, j}
	notes := beam.GroupByKey(scope, beam.ParDo(scope.Scope("Find"), find, beam.CreateList(scope, sources)))
	done := beam.ParDo(scope.Scope("Do"), &doFn{step}, notes)
	always := beam.ParDo(scope, &markFn{}, beam.Impulse(scope))
	waited := beam.ParDo(scope.Scope("Wait"), &waitFn{j}, beam.GroupByKey(scope, beam.Flatten(scope, done, always)))
	if j.Rollup != nil {
		end(scope.Scope("Later"), &laterFn{step}, notes, beam.SideInput{Input: waited})
		return
	}
	wrong := beam.ParDo(scope.Scope("Later"), &laterFn{step}, notes, beam.SideInput{Input: waited})
	left := beam.ParDo(scope.Scope("Sweep"), find, waited)
	end(scope.Scope("Settle"), &settleFn{step}, beam.GroupByKey(scope, beam.Flatten(scope, wrong, left)))
}

// encoded returns a note.
func encoded(note any) []byte {
	text, _ := json.Marshal(note) // never fails for what notes contain
	return text
}

// shardOf returns one of 64 keys for what a note is about.
func shardOf(subject []byte) []byte {
	h := fnv.New32a()
	h.Write(subject)
	return []byte{byte(h.Sum32() % 64)}
}

// findFn emits notes of what is to be done in ranges of rows.
type findFn struct {
	ranged
	Job job
}

// SplitRestriction returns ranges of about equal size. The runner calls it without Setup.
func (fn *findFn) SplitRestriction(ctx context.Context, source Source, _ store.KeyRange) (ranges []store.KeyRange, err error) {
	return fn.split(func(client store.Client) ([]store.KeyRange, error) {
		s, err := fn.Job.open(client)
		if err != nil {
			return nil, err
		}
		return s.split(ctx, source)
	})
}

// ProcessElement emits the notes of a range of rows, or of as much of it as the runner wants.
func (fn *findFn) ProcessElement(ctx context.Context, rt *sdf.LockRTracker, source Source, emit func([]byte, []byte)) error {
	s, err := fn.Job.open(fn.client.Client)
	if err != nil {
		return err
	}
	if err := s.find(ctx, source, rt.GetRestriction().(store.KeyRange), claims{rt}, emit); err != nil {
		return err
	}
	rt.TryClaim(rangeEnd{})
	return nil
}

// claims are the rows of a restriction.
type claims struct{ rt *sdf.LockRTracker }

func (c claims) Contains(key string) bool {
	return c.rt.GetRestriction().(store.KeyRange).Contains(key)
}
func (c claims) Claim(key string) bool { return c.rt.TryClaim(key) }

// stepFn takes a step for notes.
type stepFn struct {
	opened
	Job job

	steps steps
	begun time.Time // the bundle
}

// Setup opens the client.
func (fn *stepFn) Setup() error {
	err := fn.opened.Setup()
	if err == nil {
		fn.steps, err = fn.Job.open(fn.client.Client)
	}
	return err
}

// eachNote calls f for notes, until it fails.
func eachNote(notes func(*[]byte) bool, f func(note []byte) error) error {
	for note := []byte(nil); notes(&note); {
		if err := f(note); err != nil {
			return err
		}
	}
	return nil
}

// doFn does what notes say.
type doFn struct{ stepFn }

// ProcessElement does what notes say.
func (fn *doFn) ProcessElement(ctx context.Context, _ []byte, notes func(*[]byte) bool, emit func([]byte, []byte)) error {
	return eachNote(notes, func(note []byte) error { return fn.steps.do(ctx, note, emit) })
}

// markFn emits an empty result, so that there is one without notes.
type markFn struct{}

// ProcessElement emits an empty result.
func (*markFn) ProcessElement(_ []byte, emit func([]byte, []byte)) { emit(nil, nil) }

// waitFn waits when all notes are done.
type waitFn struct{ Job job }

// ProcessElement waits.
func (fn *waitFn) ProcessElement(ctx context.Context, _ []byte, done func(*[]byte) bool, emit func(Source)) error {
	s, err := fn.Job.open(nil)
	if err != nil {
		return err
	}
	left, err := s.wait(ctx, done)
	for _, source := range left {
		emit(source)
	}
	return err
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

// laterFn does what notes say after the wait.
type laterFn struct{ stepFn }

// ProcessElement does what notes say. The side input is there when waitFn has waited.
func (fn *laterFn) ProcessElement(ctx context.Context, _ []byte, notes func(*[]byte) bool, _ func(*Source) bool, emit func([]byte, []byte)) error {
	return eachNote(notes, func(note []byte) error { return fn.steps.later(ctx, note, emit) })
}

// settleFn repairs what notes say.
type settleFn struct{ stepFn }

// StartBundle begins to wait for requests of earlier attempts.
func (fn *settleFn) StartBundle(context.Context, func(bool)) { fn.begun = time.Now() }

// ProcessElement repairs what notes say.
func (fn *settleFn) ProcessElement(ctx context.Context, _ []byte, notes func(*[]byte) bool, _ func(bool)) error {
	if err := sleep(ctx, time.Until(fn.begun.Add(fn.steps.late()))); err != nil {
		return err
	}
	return eachNote(notes, func(note []byte) error { return fn.steps.settle(ctx, note) })
}
