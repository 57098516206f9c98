package store

import (
	"context"
	"sync"
	"time"
)

// limiter limits the number of events per second. It is safe for concurrent use.
type limiter struct {
	rate  float64
	clock backfillClock
	mu    sync.Mutex
	free  time.Time // when the events so far have taken their time
}

// backfillClock is the time at which a backfill waits.
type backfillClock struct {
	now   func() time.Time
	sleep func(ctx context.Context, d time.Duration) error
}

// realClock is the clock of the machine.
var realClock = backfillClock{time.Now, sleep}

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
