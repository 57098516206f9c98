package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrClosed says that an event was added to a Batcher that is closed.
var ErrClosed = errors.New("the batcher is closed")

// BatcherOptions say when a Batcher sends the events that it has gathered. What is
// zero has its default.
type BatcherOptions struct {
	// MaxEvents is how many events are gathered at most.
	MaxEvents int
	// MaxBytes is how many bytes they take at most, but for the last one.
	MaxBytes int
	// MaxAge is how long an event waits at most until it is sent, if not all
	// Flights are under way.
	MaxAge time.Duration
	// Flights is how many batches may be under way at once. With more than one,
	// events of one series and one time may be stored in another order than they
	// were added in.
	Flights int
	// LastWins is WriteOptions.LastWins, for the events of each batch. Events of one
	// series and time that are in different batches are not compared: the batch that is
	// written last wins.
	LastWins bool
}

// What BatcherOptions mean where they say nothing.
const (
	DefaultMaxEvents = 10_000
	DefaultMaxBytes  = 2 << 20
	DefaultMaxAge    = 100 * time.Millisecond
	DefaultFlights   = 4
)

// Batcher gathers events from any number of goroutines and writes them together,
// when there are enough of them or they have waited long enough. Its memory is
// bounded, but for batches whose failures are being reported: where events come
// faster than they can be written, Add waits. Every event that Add takes is written,
// or reported as one that is not.
type Batcher[E any] struct {
	writer  *Writer[E]
	options BatcherOptions
	failed  func(event E, err error)

	lock    chan struct{} // holds one while what follows is in use; a mutex that can be waited for with a context
	open    *load[E]      // what is being gathered; nil if nothing is
	flights map[*load[E]]bool
	closed  bool
	report  BatchError
	spare   [][]E

	slots chan struct{} // holds one for each batch under way
}

// load is what a Batcher writes together.
type load[E any] struct {
	stage  *stage[E]
	events []E
	timer  *time.Timer
	due    bool          // it is to be sent as soon as there is a slot
	done   chan struct{} // closed when all failures are reported
}

// NewBatcher returns a Batcher that writes through w. With each event that is not
// written failed is called, once, from a goroutine of the Batcher, with the
// *WriteError that Write would return. It may add the event again, but not call Flush
// or Close, which wait for it, and should be quick: others are written meanwhile, and
// their failures wait in memory. It may be nil.
func NewBatcher[E any](w EventWriter[E], failed func(event E, err error), opts ...BatcherOptions) *Batcher[E] {
	o := BatcherOptions{MaxEvents: DefaultMaxEvents, MaxBytes: DefaultMaxBytes, MaxAge: DefaultMaxAge, Flights: DefaultFlights}
	for _, given := range opts {
		o.MaxEvents = or(given.MaxEvents, o.MaxEvents)
		o.MaxBytes = or(given.MaxBytes, o.MaxBytes)
		o.MaxAge = or(given.MaxAge, o.MaxAge)
		o.Flights = or(given.Flights, o.Flights)
		o.LastWins = o.LastWins || given.LastWins
	}
	if failed == nil {
		failed = func(E, error) {}
	}
	return &Batcher[E]{
		writer: w.(*Writer[E]), options: o, failed: failed,
		lock: make(chan struct{}, 1), slots: make(chan struct{}, o.Flights), flights: map[*load[E]]bool{},
	}
}

// or returns given if it is positive, and otherwise what holds without it.
func or[T int | time.Duration](given, without T) T {
	if given > 0 {
		return given
	}
	return without
}

// Add takes a copy of an event, to be written soon, also of what its pointers and slices
// refer to: the caller may use them again. It waits while all is full, until ctx ends.
// An event that is refused for one of its values, or for its age by a table, gives
// the *WriteError that Write would return: it is in no table, or, for its age alone,
// in those that keep it longer. After Close the error is
// ErrClosed. After any other error than a *WriteError the event is in no table.
func (b *Batcher[E]) Add(ctx context.Context, event E) error {
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
	err := b.gather(event)
	b.tryLaunch()
	return err
}

// Flush sends what was gathered and waits until all that was added before is written
// or reported. It returns a *BatchError if there were failures since it was last
// called, or why ctx ended: then the events are on their way, and reported later.
func (b *Batcher[E]) Flush(ctx context.Context) error { return b.flush(ctx, false) }

// Close is Flush, and lets no events in any more. It may be called again.
func (b *Batcher[E]) Close(ctx context.Context) error { return b.flush(ctx, true) }

// flush is Flush or Close.
func (b *Batcher[E]) flush(ctx context.Context, closing bool) error {
	if err := b.acquire(ctx); err != nil {
		return err
	}
	b.closed = b.closed || closing
	err := b.launchOpen(ctx)
	var waits []chan struct{}
	for l := range b.flights {
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

// acquire takes the lock.
func (b *Batcher[E]) acquire(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case b.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release gives the lock back.
func (b *Batcher[E]) release() { <-b.lock }

// full reports whether no more can be gathered.
func (b *Batcher[E]) full() bool {
	return b.open != nil && (len(b.open.events) >= b.options.MaxEvents || b.open.stage.size() >= b.options.MaxBytes)
}

// gather lays an event out.
func (b *Batcher[E]) gather(event E) error {
	l := b.open
	if l == nil {
		l = b.newLoad()
	}
	l.events = append(l.events, event)
	added := &l.events[len(l.events)-1]
	if own := b.writer.tables[0].layout.Own; own != nil {
		own(added) // the caller may use its memory again
	}
	l.stage.all = l.events
	taken, refused := l.stage.addOne(added)
	switch {
	case !taken && b.open == nil:
		b.drop(l)
	case !taken:
		l.events = l.events[:len(l.events)-1]
	case b.open == nil:
		b.open = l
		l.timer = time.AfterFunc(b.options.MaxAge, func() { b.age(l) })
	}
	if len(refused) == 0 {
		return nil
	}
	return &WriteError{Events: 1, Failures: refused}
}

// newLoad returns an empty load.
func (b *Batcher[E]) newLoad() *load[E] {
	l := &load[E]{stage: b.writer.stages.Get().(*stage[E]), done: make(chan struct{})}
	l.stage.batched, l.stage.lastWins = true, b.options.LastWins
	if n := len(b.spare); n > 0 {
		l.events, b.spare = b.spare[n-1], b.spare[:n-1]
	}
	return l
}

// drop gives the memory of a load back.
func (b *Batcher[E]) drop(l *load[E]) {
	l.stage.release()
	clear(l.events)
	if len(b.spare) <= b.options.Flights {
		b.spare = append(b.spare, l.events[:0])
	}
}

// age sends a load that has waited long enough.
func (b *Batcher[E]) age(l *load[E]) {
	b.lock <- struct{}{}
	defer b.release()
	if b.open == l {
		l.due = true
		b.tryLaunch()
	}
}

// launchOpen sends what was gathered, if there is any. If ctx ends before there is a
// slot, it is sent by the next flight that ends.
func (b *Batcher[E]) launchOpen(ctx context.Context) error {
	if b.open == nil {
		return nil
	}
	b.open.due = true
	return b.launch(ctx)
}

// launch sends what was gathered, as soon as there is a slot.
func (b *Batcher[E]) launch(ctx context.Context) error {
	select {
	case b.slots <- struct{}{}:
		b.start()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// tryLaunch sends what was gathered if it is full or due and there is a slot.
func (b *Batcher[E]) tryLaunch() {
	if b.open == nil || !b.open.due && !b.full() {
		return
	}
	select {
	case b.slots <- struct{}{}:
		b.start()
	default:
	}
}

// start sends what was gathered, which has a slot.
func (b *Batcher[E]) start() {
	l := b.open
	b.open = nil
	l.timer.Stop()
	b.flights[l] = true
	go b.fly(l)
}

// fly writes a load and reports what failed. Its slot is given back before that, so
// that events may be added again then.
func (b *Batcher[E]) fly(l *load[E]) {
	err := l.stage.send(context.Background(), "Batch")
	<-b.slots
	b.lock <- struct{}{}
	b.tryLaunch()
	b.release()
	var failed *WriteError
	errors.As(err, &failed)
	events := b.tell(l, failed)

	b.lock <- struct{}{}
	b.report.add(len(l.events), events, failed)
	b.drop(l)
	delete(b.flights, l)
	b.release()
	close(l.done)
}

// tell calls failed with each event that was not written, and counts them.
func (b *Batcher[E]) tell(l *load[E], failed *WriteError) (events int) {
	if failed == nil {
		return 0
	}
	failures := slices.Clone(failed.Failures)
	slices.SortStableFunc(failures, func(a, b Failure) int { return a.Event - b.Event })
	for len(failures) > 0 {
		event := failures[0].Event
		n := 0
		for ; n < len(failures) && failures[n].Event == event; n++ {
			failures[n].Event = 0
		}
		b.failed(l.events[event], &WriteError{Events: 1, Failures: slices.Clip(failures[:n])})
		events++
		failures = failures[n:]
	}
	return events
}

// maxNamed is how many failures a BatchError names.
const maxNamed = 100

// BatchError says what a Batcher has not written since it last said so. The events
// themselves were handed to the function that NewBatcher was given.
type BatchError struct {
	Events   int       // how many events were written or failed
	Failed   int       // how many of them failed
	Failures []Failure // the first of them, up to 100; Event is without meaning
}

// add adds what came of a batch.
func (e *BatchError) add(events, failed int, err *WriteError) {
	e.Events += events
	e.Failed += failed
	if err != nil {
		room := maxNamed - len(e.Failures)
		e.Failures = append(e.Failures, err.Failures[:min(room, len(err.Failures))]...)
	}
}

// Error counts the events and describes the first failure.
func (e *BatchError) Error() string {
	f := e.Failures[0]
	return fmt.Sprintf("%d of %d events not written; the first: table %s, row %q (%s): %v", e.Failed, e.Events, f.Table, f.Row, f.Outcome, f.Err)
}

// Unwrap returns the reasons, for errors.Is and errors.As.
func (e *BatchError) Unwrap() []error { return (&WriteError{Failures: e.Failures}).Unwrap() }
