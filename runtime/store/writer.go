package store

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Writer writes events to all tables of a schema. It is safe for use by
// several goroutines.
type Writer[E any] struct {
	options Options
	tables  []writerTable[E]
	stages  sync.Pool // of *stage[E]
}

// writerTable is one table of a Writer.
type writerTable[E any] struct {
	layout *Layout[E]
	shape  scan.Table // of the layout
	id     string
	api    bigtable.TableAPI
	wire   *wirePath
	// retries says that the client sends again what failed, without saying so.
	retries bool
}

// NewWriter returns a Writer for the layouts of a schema.
func NewWriter[E any](client Client, layouts []*Layout[E], opts ...Options) *Writer[E] {
	w := &Writer[E]{options: merge(opts)}
	_, official := client.(*bigtable.Client)
	for _, l := range layouts {
		id := w.options.TablePrefix + l.Table.ID
		api := client.OpenTable(id)
		path := &wirePath{allowed: wireAllowed(client), api: api}
		w.tables = append(w.tables, writerTable[E]{layout: l, shape: l.shape(), id: id, api: api, wire: path, retries: official})
	}
	w.stages.New = func() any { return newStage(w) }
	return w
}

// WriteOptions say how events are written. Where several are given, what any of them
// says holds.
type WriteOptions struct {
	// LastWins stores the last of several events of one call that have the same series,
	// time and tie-breaker, and not the same values. Without it, all but the first of
	// them are refused with a *DuplicateError. In bucket_new_columns, which is
	// append-only, the values of all of them are stored.
	LastWins bool
	// IfAbsent stores an event only where there is none of its series, time and
	// tie-breaker that is alive; one that is there is a Failure with the outcome Exists
	// and ErrExists. Each event is a call of its own for each table, CheckAndMutateRow,
	// which Bigtable takes with an app profile that has single-cluster routing and
	// allows single-row transactions. The client sends it once: after a failure that is
	// Unknown the event may be stored, and is then found to exist by the next try. Tables
	// are written independently of each other: where two writers store different events
	// at once, each may win in one table, and both are told so by the tables of their
	// failures. Events of several rows, those of bucket_new_columns with several fields,
	// are refused with ErrSeveralRows. LastWins means nothing then.
	IfAbsent bool
}

// mergeWrites returns the options of one write.
func mergeWrites(opts []WriteOptions) (out WriteOptions) {
	for _, o := range opts {
		out.LastWins = out.LastWins || o.LastWins
		out.IfAbsent = out.IfAbsent || o.IfAbsent
	}
	return out
}

// Write stores one event, as WriteAll does.
func (w *Writer[E]) Write(ctx context.Context, event E, opts ...WriteOptions) error {
	return w.write(ctx, "Write", []E{event}, opts)
}

// WriteAll stores the events in every table, all events of a row in one atomic
// mutation. An event that any table refuses for one of its values goes into no table;
// one that is past its time to live in a table goes into those that keep it longer.
// So is one refused that differs from an earlier one of the call in whose place it
// would be stored, with a *DuplicateError, unless WriteOptions.LastWins is set.
// It returns nil when all are stored, and a *WriteError that names each event that is
// not, for each table that does not have it; the others are durable.
// Writing an event again replaces it, so it is safe to try again after any error.
func (w *Writer[E]) WriteAll(ctx context.Context, events []E, opts ...WriteOptions) error {
	return w.write(ctx, "WriteAll", events, opts)
}

// write stages the events for all tables, and then writes them table by table.
func (w *Writer[E]) write(ctx context.Context, name string, events []E, opts []WriteOptions) error {
	o := mergeWrites(opts)
	s := w.stages.Get().(*stage[E])
	defer s.release()
	s.all, s.lastWins, s.ifAbsent = events, o.LastWins && !o.IfAbsent, o.IfAbsent
	s.at(w.options.Now())
	for i := range events {
		s.add(&events[i])
	}
	return s.send(ctx, name)
}

// sendAll sends what a table gets and returns what failed.
func (w *Writer[E]) sendAll(ctx context.Context, t *writerTable[E], s *staged, op *Operation) []Failure {
	if s.ifAbsent {
		return w.sendAbsent(ctx, t, s, op)
	}
	var failures []Failure
	for _, wave := range s.batch.waves {
		op.Rows += len(wave)
		reqs := s.batch.requests(wave)
		op.Requests += len(reqs)
		for _, sent := range w.send(ctx, t, s, reqs) {
			failures = append(failures, sent.failures...)
			if sent.ordinary {
				op.OrdinaryRequests++
			}
		}
	}
	return failures
}

// sent is what came of a request.
type sent struct {
	failures []Failure
	ordinary bool // the client encoded it
}

// send sends requests, several at once.
func (w *Writer[E]) send(ctx context.Context, t *writerTable[E], s *staged, reqs [][]int) []sent {
	results := make([]sent, len(reqs))
	w.atOnce(len(reqs), func(i int) { results[i] = w.sendOne(ctx, t, s, reqs[i]) })
	return results
}

// atOnce calls f with 0 up to n, as many at once as there may be requests.
func (w *Writer[E]) atOnce(n int, f func(i int)) {
	if n == 1 {
		f(0)
		return
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, w.options.Parallelism)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	wg.Wait()
}

// sendOne sends one request.
func (w *Writer[E]) sendOne(ctx context.Context, t *writerTable[E], s *staged, req []int) sent {
	ctx, cancel := within(ctx, w.options.Timeout)
	defer cancel()
	if t.wire.usable() {
		out := s.outbox(req)
		defer out.Release()
		if out.Send(ctx, t.api) {
			return sent{s.failures(ctx, t.id, req, out.Err, outcomeOf), false}
		}
		if ctx.Err() == nil { // something is in the way
			t.wire.close()
		}
	}
	return sent{s.failures(ctx, t.id, req, t.sendOrdinary(ctx, s, req), t.outcomeOf), true}
}

// sendOrdinary sends a request as the client takes it. A row with one event is applied.
// Where the client diverts it to its session protocol, it does not try again what is
// unavailable: that goes on in bulk, which it diverts never.
func (t *writerTable[E]) sendOrdinary(ctx context.Context, s *staged, req []int) func(int) error {
	if first := &s.batch.entries[req[0]]; len(req) == 1 && first.first == first.last {
		err := s.apply(ctx, t.api, first)
		if !t.retries || !wire.Passes(err) || ctx.Err() != nil {
			return func(int) error { return err }
		}
	}
	return s.applyBulk(ctx, t.api, req)
}

// outcomeOf says what is known of an entry with the error that the client returns.
// It may have sent the entry several times, and says no more than what came of the
// last one.
func (t *writerTable[E]) outcomeOf(err error) Outcome {
	if t.retries {
		return Unknown
	}
	return outcomeOf(err)
}

// outcomeOf says what is known of an entry with the error. Only where the
// server says that it did not do it is that known: when a stream breaks or the
// context ends, the client has forgotten which entries were acknowledged.
func outcomeOf(err error) Outcome {
	var unsure *wire.UnsureError
	if errors.As(err, &unsure) {
		return Unknown
	}
	switch status.Code(err) {
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.PermissionDenied,
		codes.ResourceExhausted, codes.FailedPrecondition, codes.OutOfRange,
		codes.Unimplemented, codes.Unauthenticated:
		return Failed
	}
	return Unknown
}

// Outcome is what is known of an event that was not written.
type Outcome int

const (
	// Refused events were not sent to the table: the event itself is at fault. Only
	// one that is refused for its age, with ErrExpired, may be in other tables.
	Refused Outcome = iota
	// Failed events were refused by the server, and are not stored. Where a writer
	// has another Client than a [bigtable.Client] itself, that is its word.
	Failed
	// Unknown events may be stored or not: the call ended before the server's
	// answer, or they were refused when they were sent once more. Without the
	// ClientOptions all failures are unknown: the client sends events again, and
	// does not say what came of it the first time. Writing them again is safe.
	Unknown
	// Exists says that an event is stored already, and was not written: see
	// WriteOptions.IfAbsent.
	Exists
)

// String returns the outcome in lower case.
func (o Outcome) String() string {
	return [...]string{"refused", "failed", "unknown", "exists"}[o]
}

// Failure is an event that was not written to a table, and why.
type Failure struct {
	Event   int    // index of the event in the slice given to WriteAll; 0 for Write
	Table   string // with its prefix
	Row     string // row key; empty for a refused event
	Outcome Outcome
	Err     error
}

// String describes the failure in one line.
func (f Failure) String() string {
	if f.Outcome == Refused {
		return fmt.Sprintf("event %d, table %s: %v", f.Event, f.Table, f.Err)
	}
	return fmt.Sprintf("event %d, table %s, row %q (%s): %v", f.Event, f.Table, f.Row, f.Outcome, f.Err)
}

// WriteError names the events of one call that were not written, each once for
// every row that failed. Every other event is durable in every table.
type WriteError struct {
	Events   int // how many events the call had
	Failures []Failure
}

// Error counts the events and describes the first few failures.
func (e *WriteError) Error() string {
	const shown = 3
	events := map[int]bool{}
	for _, f := range e.Failures {
		events[f.Event] = true
	}
	s := fmt.Sprintf("%d of %d events not written", len(events), e.Events)
	if e.Events == 1 {
		s = "event not written"
	}
	for i, f := range e.Failures {
		if i == shown {
			s += fmt.Sprintf("; and %d more", len(e.Failures)-shown)
			break
		}
		s += "; " + f.String()
	}
	return s
}

// Unwrap returns the reasons, for errors.Is and errors.As.
func (e *WriteError) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, f := range e.Failures {
		errs[i] = f.Err
	}
	return errs
}
