package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/templates/codec"
)

// Writer writes events to all tables of a schema. It is safe for use by
// several goroutines.
type Writer[E any] struct {
	options Options
	tables  []writerTable[E]
}

// writerTable is one table of a Writer.
type writerTable[E any] struct {
	layout *Layout[E]
	id     string
	api    bigtable.TableAPI
}

// NewWriter returns a Writer for the layouts of a schema.
func NewWriter[E any](client Client, layouts []*Layout[E], opts ...Options) *Writer[E] {
	w := &Writer[E]{options: merge(opts)}
	for _, l := range layouts {
		id := w.options.TablePrefix + l.Table.ID
		w.tables = append(w.tables, writerTable[E]{layout: l, id: id, api: client.OpenTable(id)})
	}
	return w
}

// Write stores one event, as WriteAll does.
func (w *Writer[E]) Write(ctx context.Context, event E) error {
	return w.write(ctx, "Write", []E{event})
}

// WriteAll stores the events in every table, all events of a row in one
// atomic mutation. It returns nil when all are stored, and a *WriteError that
// names each event that is not; the others are durable. Writing an event again
// replaces it, so it is safe to try again after any error.
func (w *Writer[E]) WriteAll(ctx context.Context, events []E) error {
	return w.write(ctx, "WriteAll", events)
}

// write writes the events table by table.
func (w *Writer[E]) write(ctx context.Context, name string, events []E) error {
	failed := &WriteError{Events: len(events)}
	for i := range w.tables {
		t := &w.tables[i]
		op := Operation{Name: name, Table: t.id, Events: len(events)}
		opCtx := w.options.Hooks.start(ctx, &op)
		failures := w.writeTable(opCtx, t, events, &op)
		failed.Failures = append(failed.Failures, failures...)
		var err error
		if len(failures) > 0 {
			err = &WriteError{Events: len(events), Failures: failures}
		}
		w.options.Hooks.end(opCtx, &op, err)
	}
	if len(failed.Failures) == 0 {
		return nil
	}
	return failed
}

// writeTable writes the events to one table and returns those that failed, in
// the order of the events.
func (w *Writer[E]) writeTable(ctx context.Context, t *writerTable[E], events []E, op *Operation) []Failure {
	b := newBatch()
	var failures []Failure
	cells := newCells(t.layout)
	now := w.options.Now()
	for i := range events {
		switch err := put(t.layout, now, events[i], cells); {
		case err == nil:
			b.add(i, cells)
		case w.options.SkipExpired && errors.Is(err, codec.ErrExpired):
			op.Expired++
		default:
			failures = append(failures, Failure{Event: i, Table: t.id, Outcome: Refused, Err: err})
		}
	}
	for _, wave := range b.waves {
		op.Rows += len(wave)
		reqs := requests(wave)
		op.Requests += len(reqs)
		failures = append(failures, w.send(ctx, t, reqs)...)
	}
	slices.SortStableFunc(failures, func(a, b Failure) int { return a.Event - b.Event })
	return failures
}

// put checks an event that is written now and takes its cells. The event is a
// copy: truncating its time does not show outside.
func put[E any](l *Layout[E], now time.Time, event E, cells *Cells) error {
	if err := l.Check(&event); err != nil {
		return err
	}
	at := l.Time(&event)
	*at = codec.Truncate(*at, l.Precision)
	choice := l.choice(&event)
	if err := cells.begin(now, *at, choice); err != nil {
		return err
	}
	if choice.WrittenAt != nil {
		*choice.WrittenAt = now
	}
	l.Put(&event, cells)
	return cells.check(*at)
}

// send sends requests, several at once, and returns what failed.
func (w *Writer[E]) send(ctx context.Context, t *writerTable[E], reqs [][]*entry) []Failure {
	results := make([][]Failure, len(reqs))
	var wg sync.WaitGroup
	slots := make(chan struct{}, w.options.Parallelism)
	for i, req := range reqs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			results[i] = w.sendOne(ctx, t, req)
		})
	}
	wg.Wait()
	return slices.Concat(results...)
}

// sendOne sends one request and returns what failed.
func (w *Writer[E]) sendOne(ctx context.Context, t *writerTable[E], req []*entry) []Failure {
	ctx, cancel := within(ctx, w.options.Timeout)
	defer cancel()
	if len(req) == 1 {
		err := t.api.Apply(ctx, req[0].key, req[0].mutation)
		return failuresOf(ctx, t.id, req, func(int) error { return err })
	}
	keys := make([]string, len(req))
	mutations := make([]*bigtable.Mutation, len(req))
	for i, e := range req {
		keys[i], mutations[i] = e.key, e.mutation
	}
	errs, err := t.api.ApplyBulk(ctx, keys, mutations)
	return failuresOf(ctx, t.id, req, func(i int) error {
		if err != nil || len(errs) == 0 {
			return err
		}
		return errs[i]
	})
}

// failuresOf names the events of the entries that have an error.
func failuresOf(ctx context.Context, table string, req []*entry, errOf func(entry int) error) []Failure {
	var out []Failure
	for i, e := range req {
		err := errOf(i)
		if err == nil {
			continue
		}
		outcome := outcomeOf(err)
		err = explain(ctx, err)
		for _, event := range e.events {
			out = append(out, Failure{Event: event, Table: table, Row: e.key, Outcome: outcome, Err: err})
		}
	}
	return out
}

// outcomeOf says what is known of an entry with the error. Only where the
// server says that it did not do it is that known: when a stream breaks or the
// context ends, the client has forgotten which entries were acknowledged.
func outcomeOf(err error) Outcome {
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
	// Refused events were not sent: the event itself is at fault.
	Refused Outcome = iota
	// Failed events were refused by the server.
	Failed
	// Unknown events may be stored or not: the call ended before the server's
	// answer. Writing them again is safe.
	Unknown
)

// String returns the outcome in lower case.
func (o Outcome) String() string {
	return [...]string{"refused", "failed", "unknown"}[o]
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
