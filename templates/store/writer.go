package store

import (
	"cmp"
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

// WriteAll stores the events in every table, all events of a row in one atomic
// mutation. An event that is refused for what it is goes into no table; one that
// a single table cannot hold, into the others. It returns nil when all are stored,
// and a *WriteError that names each event that is not; the others are durable.
// Writing an event again replaces it, so it is safe to try again after any error.
func (w *Writer[E]) WriteAll(ctx context.Context, events []E) error {
	return w.write(ctx, "WriteAll", events)
}

// write stages the events for all tables, and then writes them table by table.
func (w *Writer[E]) write(ctx context.Context, name string, events []E) error {
	staged := w.stage(events)
	failed := &WriteError{Events: len(events)}
	for i := range w.tables {
		t, s := &w.tables[i], &staged[i]
		op := Operation{Name: name, Table: t.id, Events: len(events), Expired: s.expired}
		opCtx := w.options.Hooks.start(ctx, &op)
		failures := append(s.refused, w.sendAll(opCtx, t, s.batch, &op)...)
		slices.SortStableFunc(failures, func(a, b Failure) int { return a.Event - b.Event })
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

// staged is what one table gets of the events of a call.
type staged struct {
	cells   *Cells // of the event that is being staged
	err     error  // why it does not go into this table
	batch   *batch
	refused []Failure
	expired int // events that were skipped
}

// stage lays out the events for all tables. An event that is at fault itself goes
// into none of them; one that a single table cannot hold goes into the others.
func (w *Writer[E]) stage(events []E) []staged {
	out := make([]staged, len(w.tables))
	for i := range out {
		out[i].cells, out[i].batch = newCells(w.tables[i].layout), newBatch()
	}
	now := w.options.Now()
	for n := range events {
		var fault error
		for i := range out {
			if err := w.stageOne(&out[i], w.tables[i].layout, now, events[n]); fault == nil {
				fault = err
			}
		}
		for i := range out {
			w.take(&out[i], n, w.tables[i].id, fault)
		}
	}
	return out
}

// stageOne lays out an event for one table. It returns why the event can go into
// no table at all; what is the matter with this table alone stays in s. The event
// is a copy: truncating its time does not show outside.
func (w *Writer[E]) stageOne(s *staged, l *Layout[E], now time.Time, event E) error {
	if s.err = l.Check(&event); s.err != nil {
		return s.err
	}
	at := l.Time(&event)
	*at = codec.Truncate(*at, l.Precision)
	choice := l.choice(&event)
	late, err := s.cells.begin(now, *at, choice)
	if s.err = cmp.Or(late, err); s.err != nil {
		return err
	}
	if choice.WrittenAt != nil {
		*choice.WrittenAt = now
	}
	if l.Sequence != nil {
		s.cells.sequence = *l.Sequence(&event)
	}
	l.Put(&event, s.cells)
	s.err = s.cells.check()
	return nil
}

// take takes the staged event into its table's batch, unless it is refused.
func (w *Writer[E]) take(s *staged, event int, table string, fault error) {
	if fault != nil {
		s.err = fault
	}
	switch {
	case s.err == nil:
		s.batch.add(event, s.cells)
	case w.options.SkipExpired && errors.Is(s.err, codec.ErrExpired):
		s.expired++
	default:
		s.refused = append(s.refused, Failure{Event: event, Table: table, Outcome: Refused, Err: s.err})
	}
}

// sendAll sends what a table gets and returns what failed.
func (w *Writer[E]) sendAll(ctx context.Context, t *writerTable[E], b *batch, op *Operation) []Failure {
	var failures []Failure
	for _, wave := range b.waves {
		op.Rows += len(wave)
		reqs := requests(wave)
		op.Requests += len(reqs)
		failures = append(failures, w.send(ctx, t, reqs)...)
	}
	return failures
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
