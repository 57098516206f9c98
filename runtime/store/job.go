package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/checkpoint"
)

// Long jobs (back-fills, their verification, and rollups) follow one protocol:
//
//   - split: tables are split into ranges of row keys, of about the same size;
//   - do(range, claim): a worker reads the rows of a range that it can claim, and notes what is to be done;
//   - wait: until nothing of others is in flight that could change what was noted;
//   - settle(notes): it is done, and compared with what was read. Every step can be executed again.
//
// There are two runners. JobParts are the steps for that of package beamstore, which stores notes between them, and
// lets several workers claim parts of a range. local is the other one: its workers claim whole ranges, and what they
// have done is in a checkpoint.

// JobParts are the steps of a long job for package beamstore, which distributes them over machines: those of
// [NewBackfillParts] or [NewRollupParts]. Other programs call [Backfill] or [Rollup]. Nothing but what a runner
// stores between the steps survives a kill, so they keep their promise in this order:
//
//   - Find searches ranges of the tables of First, and emits notes of what is to be done, which the runner stores.
//   - Do does it, unless that must wait.
//   - Wait later, nothing of any attempt, or of other programs, is in flight that could change what is noted. Then
//     Differs says whether anything is left to do, and writes nothing, and Find searches the tables of Left for what
//     only a stopped pipeline can have left. The runner stores these notes, too.
//   - Settle does what they say. Before, each attempt waits for Pause.
//
// Every step can be executed again, and several attempts of Do and, without Pause, of Settle may overlap.
type JobParts interface {
	First() []JobTable
	// Left returns what else to search. oldest is the earliest time that Do has returned; zero if there is none.
	Left(oldest time.Time) []JobTable
	// Splits returns ranges of row keys that together cover a table; see [Scanner.Splits].
	Splits(ctx context.Context, t JobTable) ([]KeyRange, error)
	Find(ctx context.Context, t JobTable, within KeyRange, claims RowClaims, emit func(JobNote)) (JobCounts, error)
	// Do returns the time of the oldest event that it has copied; zero if there is none.
	Do(ctx context.Context, note JobNote) (oldest time.Time, counts JobCounts, err error)
	Wait() time.Duration
	Differs(ctx context.Context, note JobNote) (bool, error)
	Pause() time.Duration
	Settle(ctx context.Context, note JobNote) (JobCounts, error)
}

// JobTable is a table to search.
type JobTable struct {
	Table  string    // without prefix
	Layout int       // index of the layout with a rollup, several of which may share a table
	Sweep  bool      // whether to look for what a stopped backfill has left
	Oldest time.Time // of the events that were copied, with Sweep; zero if there are none
}

// JobNote says what is to be done: in JSON, so that it can be stored.
type JobNote []byte

// note returns a note. What notes contain can be encoded.
func note(v any) JobNote {
	text, _ := json.Marshal(v)
	return text
}

// JobCounts are what a step has done. Only one of them has counts.
type JobCounts struct {
	Backfill BackfillCounts
	Rollup   RollupCounts
}

// RowClaims decides which rows of a range belong to a worker while others take parts of it.
type RowClaims interface {
	Contains(key string) bool
	Claim(key string) bool // in order; false if the row and all that follow belong to others
}

// local runs a job in this process.
type local struct {
	workers    int
	cancels    bool   // a failure cancels what other workers have begun
	checkpoint string // name of the file
	again      string // what to do about a damaged one
	file       *checkpoint.File
	saves      func() any // the progress that it contains
	show       func()     // the progress; nil if nobody asks
	limit      limiter

	mu          sync.Mutex // for what is below, and for what workers share
	failed      error      // the first error of a worker
	began       time.Time
	saved, told time.Time
}

// newLocal returns a runner of a job with a checkpoint.
func newLocal(workers int, rate float64) local {
	return local{workers: workers, limit: limiter{rate: rate, clock: realClock}}
}

const (
	// saveInterval is the minimum time between two writes of a checkpoint that only record what is done.
	saveInterval = time.Second
	// tellInterval is the minimum time between two reports of the progress.
	tellInterval = 200 * time.Millisecond
)

// errStopping ends the work of other workers after a failure of one of them.
var errStopping = errors.New("another range failed")

// each calls f for n ranges concurrently, until one fails. It returns the first error. Unless the failure cancels
// them, the others end what they have begun: canceling their requests would leave what these wrote unsettled.
func (l *local) each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ranges := make(chan int, n)
	for i := range n {
		ranges <- i
	}
	close(ranges)
	var all sync.WaitGroup
	for range min(l.workers, n) {
		all.Go(func() {
			for i := range ranges {
				if l.stopping() || ctx.Err() != nil {
					return
				}
				if err := f(ctx, i); err != nil && !errors.Is(err, errStopping) {
					l.fail(err)
					if l.cancels {
						cancel(err)
					}
				}
			}
		})
	}
	all.Wait()
	return cmp.Or(l.failed, context.Cause(ctx))
}

// Each calls use for the rows of the table, as [Scanner.Rows] yields them, in several ranges of row keys at a time: 0
// means DefaultWorkers, and a negative number 1. After an error, which it returns, it cancels the reads of the
// others. If ctx ends, the error is its cause.
func (s *Scanner[E]) Each(ctx context.Context, workers int, from, to time.Time, use func(row *ScannedRow[E], err error) error) error {
	ranges, err := s.Splits(ctx)
	if err != nil {
		return err
	}
	l := local{workers: max(1, cmp.Or(workers, DefaultWorkers)), cancels: true}
	err = l.each(ctx, len(ranges), func(ctx context.Context, i int) error {
		for row, err := range s.Rows(ctx, ranges[i], from, to) {
			if err := use(&row, err); err != nil {
				return err
			}
		}
		return nil
	})
	return cmp.Or(context.Cause(ctx), err)
}

// fail notes an error of a worker.
func (l *local) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = cmp.Or(l.failed, err)
}

// stopping reports whether a worker has failed.
func (l *local) stopping() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed != nil
}

// open locks the checkpoint of a call, if there is one, until closed is called. A test may replace how it is saved.
func (l *local) open(call checkpoint.Call, save func(write func(text []byte) error, text []byte) error) (closed func(), err error) {
	if l.checkpoint == "" {
		return func() {}, nil
	}
	if l.file, err = checkpoint.Open(l.checkpoint, call); err != nil {
		return nil, l.unusable(err)
	}
	if write := l.file.Write; save != nil {
		l.file.Write = func(text []byte) error { return save(write, text) }
	}
	return l.file.Close, nil
}

// load reads the checkpoint. It returns false if there is none.
func (l *local) load(progress any) (found bool, err error) {
	if l.file == nil {
		return false, nil
	}
	found, err = l.file.Load(progress)
	return found, l.unusable(err)
}

// unusable returns the *CheckpointError for an error of a checkpoint; nil for none.
func (l *local) unusable(err error) error {
	is, of := errors.AsType[*checkpoint.Error](err)
	switch {
	case err == nil:
		return nil
	case !of:
		is = &checkpoint.Error{Reason: err.Error(), Damaged: true}
	}
	if is.Damaged {
		is.Reason += l.again
	}
	return &CheckpointError{l.checkpoint, is.Reason, is.Err}
}

// save writes the checkpoint, unless it was written just now and the process will write it again. mu is locked.
func (l *local) save(always bool) error {
	if l.file == nil || !always && time.Since(l.saved) < saveInterval {
		return nil
	}
	if err := l.file.Save(l.saves()); err != nil {
		return l.unusable(err)
	}
	l.saved = time.Now()
	return nil
}

// tell reports the progress, unless it was reported just now. mu is locked.
func (l *local) tell(always bool) {
	if l.show != nil && (always || time.Since(l.told) >= tellInterval) {
		l.told = time.Now()
		l.show()
	}
}

// perSecond returns a rate in this call.
func (l *local) perSecond(n int64) float64 {
	return float64(n) / max(time.Since(l.began).Seconds(), 1e-3)
}

// jobClock is the time at which a job waits.
type jobClock struct {
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) error
}

// realClock is the clock of the machine.
var realClock = jobClock{time.Now, sleep}

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

// limiter limits the number of events or buckets per second. It is safe for concurrent use.
type limiter struct {
	rate  float64
	clock jobClock
	mu    sync.Mutex
	free  time.Time // when the events so far have taken their time
}

// chunk returns the number of events that a worker reads before it writes them: at most those of
// a second, so that progress is recorded.
func (l *limiter) chunk() int {
	if l.rate <= 0 || l.rate >= maxCopied {
		return maxCopied
	}
	return max(1, int(l.rate))
}

// piece returns the number of events that may be written at once, of at most n: those of a
// tenth of a second, and at least one.
func (l *limiter) piece(n int) int {
	if !(l.rate > 0) || l.rate/10 >= float64(n) {
		return n
	}
	return max(1, int(l.rate/10))
}

// wait waits until n more events may be written: each of them takes its time before it is
// written, the first one too.
func (l *limiter) wait(ctx context.Context, n int) error {
	if !(l.rate > 0) {
		return nil
	}
	l.mu.Lock()
	now := l.clock.now()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
	until := l.free
	l.mu.Unlock()
	return l.clock.sleep(ctx, until.Sub(now))
}
