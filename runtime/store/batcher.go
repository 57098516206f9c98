package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is the error of adding an event to a closed Batcher.
var ErrClosed = errors.New("the batcher is closed")

// Batcher gathers events and writes them together once there are enough of them or they
// have waited long enough. Its memory is bounded, except for failures that are being
// reported: if events arrive faster than they can be written, Add blocks. Every event
// that Add accepts is either written or reported as a failure. A Batcher is safe for
// concurrent use.
type Batcher struct {
	writer  *Writer
	options BatcherOptions
	failed  func(event event, err error)

	lock     chan struct{} // a mutex for the fields below that can be acquired with a context
	open     *load         // the events gathered so far; nil if there are none
	inFlight map[*load]bool
	closed   bool
	report   BatchError
	spare    []list

	slots chan struct{} // one element per batch in progress

	// The fields below are for Stats, which must not wait while Add blocks.
	queued  atomic.Int64 // number of events in loads
	begunMu sync.Mutex
	begun   map[*load]time.Time // when the first event was added to a load
}

// load is a batch of events that a Batcher writes together.
type load struct {
	stage  *stage
	events list
	timer  *time.Timer
	due    bool          // send it as soon as a slot is free
	done   chan struct{} // closed once all failures are reported
}

// NewBatcher returns a Batcher that writes with w. It calls failed once for each event that is not written, a pointer, with the
// *WriteError that Write would return, from a goroutine of the Batcher. failed may call Add,
// but not Flush or Close, which wait for it. It should return quickly: in the meantime, the
// Batcher writes other events, and their failures accumulate in memory. failed may be nil. If w is nil, Add returns a
// *[NoClientError].
func NewBatcher(w *Writer, failed func(event any, err error), opts ...BatcherOptions) *Batcher {
	if failed == nil {
		failed = func(any, error) {}
	}
	o := batcherOptions(opts)
	return &Batcher{
		writer: w.made(), options: o, failed: func(event event, err error) { failed(event.pointer, err) },
		lock: make(chan struct{}, 1), slots: make(chan struct{}, o.MaxConcurrentBatches), inFlight: map[*load]bool{},
		begun: map[*load]time.Time{},
	}
}

// made returns the batcher or, if NewBatcher did not make it, one that refuses all events.
func (b *Batcher) made() *Batcher {
	if b == nil || b.lock == nil {
		return NewBatcher(nil, nil)
	}
	return b
}

// Add adds a copy of an event, given a pointer to it, including everything that its pointers and slices refer
// to. It blocks while the Batcher is full, until ctx ends. If a table refuses the event
// for one of its values or its age, Add returns the *WriteError that Write would
// return; the event is then in no table or, if refused only for its age, in the tables
// that keep it longer. After Close it returns ErrClosed. After any error other than a
// *WriteError the event is in no table.
func (b *Batcher) Add(ctx context.Context, e any) error {
	return b.add(ctx, func(to list) { to.add(event{e}) })
}

// AddTo is [Batcher.Add] for an event of the type of b, which stays out of the heap: what Add gets is on it.
func AddTo[E any](ctx context.Context, b *Batcher, e E) error {
	return b.add(ctx, func(to list) { of := to.(*listOf[E]); of.events = append(of.events, e) })
}

// add is [Batcher.Add] of the event that put appends to a list.
func (b *Batcher) add(ctx context.Context, put func(to list)) error {
	b = b.made()
	if err := b.acquire(ctx); err != nil {
		return err
	}
	defer b.release()
	if b.closed {
		return ErrClosed
	}
	if b.full() {
		if err := b.launch(ctx); err != nil {
			return err
		}
	}
	err := b.gather(put)
	b.tryLaunch()
	return err
}

// Flush sends the gathered events and waits until all events added before are written
// or reported. It returns a *BatchError if events failed since the last call, or the
// cause if ctx ends first; the events are then sent and reported later.
func (b *Batcher) Flush(ctx context.Context) error { return b.made().flush(ctx, false) }

// Close flushes, then rejects further events. It may be called again.
func (b *Batcher) Close(ctx context.Context) error { return b.made().flush(ctx, true) }

// flush implements Flush and Close.
func (b *Batcher) flush(ctx context.Context, closing bool) error {
	if err := b.acquire(ctx); err != nil {
		return err
	}
	b.closed = b.closed || closing
	err := b.launchOpen(ctx)
	var waits []chan struct{}
	for l := range b.inFlight {
		waits = append(waits, l.done)
	}
	b.release()
	if err != nil {
		return err
	}
	for _, done := range waits {
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	b.lock <- struct{}{}
	defer b.release()
	report := b.report
	b.report = BatchError{}
	if report.Failed == 0 {
		return nil
	}
	return &report
}

// BatcherStats describes the events that a batcher has accepted and not yet written or
// reported as failed.
type BatcherStats struct {
	// Events is the number of these events.
	Events int
	// Batches is the number of batches in progress, at most
	// BatcherOptions.MaxConcurrentBatches.
	Batches int
	// Oldest is the time since the oldest of these events was added; 0 if there is none.
	Oldest time.Duration
}

// Stats returns what the batcher has to write at the moment. It never blocks, also while
// Add does.
func (b *Batcher) Stats() BatcherStats {
	b = b.made()
	s := BatcherStats{Events: int(b.queued.Load()), Batches: len(b.slots)}
	b.begunMu.Lock()
	defer b.begunMu.Unlock()
	for _, at := range b.begun {
		s.Oldest = max(s.Oldest, time.Since(at))
	}
	return s
}

// begins records when a load got its first event.
func (b *Batcher) begins(l *load) {
	b.begunMu.Lock()
	defer b.begunMu.Unlock()
	b.begun[l] = time.Now()
}

// ends forgets a load whose events are written or reported.
func (b *Batcher) ends(l *load) {
	b.queued.Add(int64(-l.events.len()))
	b.begunMu.Lock()
	defer b.begunMu.Unlock()
	delete(b.begun, l)
}

// acquire acquires the lock.
func (b *Batcher) acquire(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select { // mostly, nobody has it
	case b.lock <- struct{}{}:
		return nil
	default:
	}
	select {
	case b.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release releases the lock.
func (b *Batcher) release() { <-b.lock }

// full reports whether the current load is full.
func (b *Batcher) full() bool {
	return b.open != nil && (b.open.events.len() >= b.options.MaxEvents || b.open.stage.size() >= b.options.MaxBytes)
}

// gather adds the event that put appends to a list to the current load.
func (b *Batcher) gather(put func(to list)) error {
	if b.writer.unwritable != nil {
		return b.writer.unwritable
	}
	if b.options.Merge && b.writer.unmergeable != nil {
		return b.writer.unmergeable
	}
	l := b.open
	if l == nil {
		l = b.newLoad()
	}
	put(l.events)
	added := l.events.at(l.events.len() - 1)
	if own := b.writer.tables[0].mapping.Own; own != nil {
		own(added) // the caller may reuse its memory
	}
	taken, refused := l.stage.addOne(added)
	if !taken {
		l.events.truncate(l.events.len() - 1)
	}
	switch {
	case b.open == nil && !taken && l.stage.skipped == 0:
		b.drop(l)
	case b.open == nil: // also for a skipped event, which is counted when the load is sent
		b.open = l
		if b.options.MaxAge > 0 {
			l.timer = time.AfterFunc(b.options.MaxAge, func() { b.age(l) })
		}
	}
	if taken {
		b.queued.Add(1)
		if l.events.len() == 1 {
			b.begins(l)
		}
	}
	if len(refused) == 0 {
		return nil
	}
	return &WriteError{Events: 1, Failures: refused}
}

// newLoad returns an empty load.
func (b *Batcher) newLoad() *load {
	l := &load{stage: b.writer.stages.Get().(*stage), done: make(chan struct{})}
	l.stage.batched, l.stage.lastWins = true, b.options.LastWins || b.options.Merge
	l.stage.merging(b.options.Merge)
	if n := len(b.spare); n > 0 {
		l.events, b.spare = b.spare[n-1], b.spare[:n-1]
	} else {
		l.events = b.writer.tables[0].mapping.list(0)
	}
	l.stage.all = l.events
	return l
}

// drop makes the memory of a load available for reuse.
func (b *Batcher) drop(l *load) {
	l.stage.release()
	l.events.truncate(0)
	if len(b.spare) <= b.options.MaxConcurrentBatches {
		b.spare = append(b.spare, l.events)
	}
}

// age sends a load once it has waited long enough.
func (b *Batcher) age(l *load) {
	b.lock <- struct{}{}
	defer b.release()
	if b.open == l {
		l.due = true
		b.tryLaunch()
	}
}

// launchOpen sends the gathered events, if there are any. If ctx ends before a slot is
// free, they are sent when the next batch completes.
func (b *Batcher) launchOpen(ctx context.Context) error {
	if b.open == nil {
		return nil
	}
	b.open.due = true
	return b.launch(ctx)
}

// launch sends the gathered events as soon as a slot is free.
func (b *Batcher) launch(ctx context.Context) error {
	select {
	case b.slots <- struct{}{}:
		b.start()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tryLaunch sends the gathered events if they are full or due and a slot is free.
func (b *Batcher) tryLaunch() {
	if b.open == nil || !b.open.due && !b.full() {
		return
	}
	select {
	case b.slots <- struct{}{}:
		b.start()
	default:
	}
}

// start sends the gathered events. It owns a slot.
func (b *Batcher) start() {
	l := b.open
	b.open = nil
	if l.timer != nil {
		l.timer.Stop()
	}
	b.inFlight[l] = true
	go b.fly(l)
}

// fly writes a load and reports failures. It releases the slot first, so that failed
// may call Add.
func (b *Batcher) fly(l *load) {
	err := l.stage.send(context.Background(), "Batch")
	<-b.slots
	b.lock <- struct{}{}
	b.tryLaunch()
	b.release()
	var failed *WriteError
	errors.As(err, &failed)
	events := b.tell(l, failed)

	b.lock <- struct{}{}
	b.report.add(l.events.len(), events, failed)
	b.ends(l)
	b.drop(l)
	delete(b.inFlight, l)
	b.release()
	close(l.done)
}

// tell calls failed for each event that was not written and returns their number.
func (b *Batcher) tell(l *load, failed *WriteError) (events int) {
	if failed == nil {
		return 0
	}
	failures := slices.Clone(failed.Failures)
	slices.SortStableFunc(failures, func(a, b Failure) int { return a.Index - b.Index })
	for len(failures) > 0 {
		event := failures[0].Index
		n := 0
		for ; n < len(failures) && failures[n].Index == event; n++ {
			failures[n].Index = 0
		}
		b.failed(l.events.at(event), &WriteError{Events: 1, Failures: slices.Clip(failures[:n])})
		events++
		failures = failures[n:]
	}
	return events
}

// maxNamed is the maximum number of failures that a BatchError contains.
const maxNamed = 100

// BatchError reports the events that a Batcher has not written since the last Flush.
// The function passed to NewBatcher received the events themselves.
type BatchError struct {
	Events   int       // number of events written or failed
	Failed   int       // number of events that failed
	Failures []Failure // the first failures, up to 100; Event is not set
}

// add adds the result of a batch.
func (e *BatchError) add(events, failed int, err *WriteError) {
	e.Events += events
	e.Failed += failed
	if err != nil {
		room := maxNamed - len(e.Failures)
		e.Failures = append(e.Failures, err.Failures[:min(room, len(err.Failures))]...)
	}
}

// Error returns the numbers of events and failures and describes the first failure.
func (e *BatchError) Error() string {
	s := fmt.Sprintf("%d of %d events not written", e.Failed, e.Events)
	for _, f := range e.Failures[:min(1, len(e.Failures))] {
		s += fmt.Sprintf("; the first: table %s, row %q (%s): %v", f.Table, f.Row, f.Outcome, f.Err)
	}
	return s
}

// Unwrap returns the errors of the failures, for errors.Is and errors.As.
func (e *BatchError) Unwrap() []error { return (&WriteError{Failures: e.Failures}).Unwrap() }
