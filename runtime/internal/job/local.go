// Package job runs long calls in this process: their workers, their rate, and when their progress is told and saved. It does not
// know what they do.
package job

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/checkpoint"
)

// Local runs a job in this process: workers take ranges, one after the other, until one of them fails.
type Local struct {
	Parallel int    // number of workers
	Cancels  bool   // a failure cancels what other workers have begun
	Path     string // of the checkpoint; empty for none
	File     *checkpoint.File
	Saves    func() any // returns the progress that it contains
	Show     func()     // tells the progress; nil if nobody asks
	Limit    Limiter

	Mu          sync.Mutex // for what is below, and for what workers share
	failed      error      // the first error of a worker
	Started     time.Time
	saved, told time.Time
}

// NewLocal returns a runner of a job.
func NewLocal(workers int, rate float64) Local {
	return Local{Parallel: workers, Limit: Limiter{rate: rate, Clock: RealClock}}
}

const (
	// saveInterval is the minimum time between two writes of a checkpoint that only record what is done.
	saveInterval = time.Second
	// tellInterval is the minimum time between two reports of the progress.
	tellInterval = 200 * time.Millisecond
)

// ErrStopping ends the work of other workers after a failure of one of them.
var ErrStopping = errors.New("another range failed")

// Each calls f for n ranges concurrently, until one fails. It returns the first error. Unless the failure cancels
// them, the others end what they have begun: canceling their requests would leave what these wrote unsettled.
func (l *Local) Each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ranges := make(chan int, n)
	for i := range n {
		ranges <- i
	}
	close(ranges)
	var all sync.WaitGroup
	for range min(l.Parallel, n) {
		all.Go(func() {
			for i := range ranges {
				if l.Stopping() || ctx.Err() != nil {
					return
				}
				if err := f(ctx, i); err != nil && !errors.Is(err, ErrStopping) {
					l.fail(err)
					if l.Cancels {
						cancel(err)
					}
				}
			}
		})
	}
	all.Wait()
	return cmp.Or(l.failed, context.Cause(ctx))
}

// fail notes an error of a worker.
func (l *Local) fail(err error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.failed = cmp.Or(l.failed, err)
}

// Stopping reports whether a worker has failed.
func (l *Local) Stopping() bool {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.failed != nil
}

// Run executes a job: begin takes its progress from the checkpoint, which is then locked, or makes it; work does what is left. A test may
// replace how the checkpoint is saved.
func (l *Local) Run(
	ctx context.Context, call checkpoint.Call, save func(write func(text []byte) error, text []byte) error, begin, work func(ctx context.Context) error,
) (err error) {
	if l.Path != "" {
		if l.File, err = checkpoint.Open(l.Path, call); err != nil {
			return err
		}
		defer l.File.Close()
		if write := l.File.Write; save != nil {
			l.File.Write = func(text []byte) error { return save(write, text) }
		}
	}
	l.Started = time.Now()
	if err := begin(ctx); err != nil {
		return err
	}
	err = work(ctx)
	l.Mu.Lock()
	defer l.Mu.Unlock()
	err = cmp.Or(err, l.Save(true))
	l.Tell(true)
	return err
}

// Load reads the checkpoint. It returns false if there is none.
func (l *Local) Load(progress any) (found bool, err error) {
	if l.File == nil {
		return false, nil
	}
	return l.File.Load(progress)
}

// Save writes the checkpoint, unless it was written just now and the process will write it again. Mu is locked.
func (l *Local) Save(always bool) error {
	if l.File == nil || !always && time.Since(l.saved) < saveInterval {
		return nil
	}
	err := l.File.Save(l.Saves())
	l.saved = time.Now()
	return err
}

// Tell reports the progress, unless it was reported just now. Mu is locked.
func (l *Local) Tell(always bool) {
	if l.Show != nil && (always || time.Since(l.told) >= tellInterval) {
		l.told = time.Now()
		l.Show()
	}
}

// PerSecond returns a rate in this call.
func (l *Local) PerSecond(n int64) float64 {
	return float64(n) / max(time.Since(l.Started).Seconds(), 1e-3)
}

// Clock is the time at which a job waits.
type Clock struct {
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// RealClock is the clock of the machine.
var RealClock = Clock{time.Now, sleep}

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

// Limiter limits the number of events or buckets per second. It is safe for concurrent use.
type Limiter struct {
	rate  float64
	Clock Clock
	mu    sync.Mutex
	free  time.Time // when the events so far have taken their time
}

// Chunk returns the number of events that a worker reads before it writes them: at most those of
// a second, so that progress is recorded, and a given number.
func (l *Limiter) Chunk(most int) int {
	if l.rate <= 0 || l.rate >= float64(most) {
		return most
	}
	return max(1, int(l.rate))
}

// Piece returns the number of events that may be written at once, of at most n: those of a
// tenth of a second, and at least one.
func (l *Limiter) Piece(n int) int {
	if !(l.rate > 0) || l.rate/10 >= float64(n) {
		return n
	}
	return max(1, int(l.rate/10))
}

// Wait waits until n more events may be written: each of them takes its time before it is
// written, the first one too.
func (l *Limiter) Wait(ctx context.Context, n int) error {
	if !(l.rate > 0) {
		return nil
	}
	l.mu.Lock()
	now := l.Clock.Now()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
	until := l.free
	l.mu.Unlock()
	return l.Clock.Sleep(ctx, until.Sub(now))
}
