package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/frame"
	"github.com/btgen-dev/btgen/runtime/internal/request"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// ErrExists is the error for an event that was not written because it is already
// stored; see WriteOptions.IfAbsent.
var ErrExists = errors.New("the event exists")

// ErrSeveralRows is the error for an event that WriteOptions.IfAbsent does not support,
// because it takes several rows: in bucket_new_columns it has one per field, and
// Bigtable cannot check and write several rows atomically.
var ErrSeveralRows = errors.New("IfAbsent: an event of bucket_new_columns with several fields takes several rows, which Bigtable cannot check and write atomically")

// oneRow refuses an event that is to be written with IfAbsent but takes several rows, or that
// Bigtable cannot find in its row.
func (s *stage) oneRow(table int) {
	t, l := &s.tables[table], s.writer.tables[table].mapping
	if t.err == nil && l.Pattern.RowPerField() && len(l.Columns) > 1 {
		t.err = fmt.Errorf("table %s: %w", s.writer.tables[table].id, ErrSeveralRows)
	}
}

// sendAbsent sends each event in a separate request, to be written if it is absent.
func (w *Writer) sendAbsent(ctx context.Context, t *writerTable, s *staged, op *request.Operation) []Failure {
	places := s.batch.ByPlace()
	results := make([]Failure, len(places))
	w.atOnce(len(places), func(i int) {
		first := places[i][0]
		key := s.batch.Entries[s.batch.Pieces[first].Row].Key
		outcome, err := w.sendIfAbsent(ctx, t, s, key, first)
		results[i] = Failure{Table: t.id, Row: string(key), Outcome: outcome, Err: err}
	})
	op.Rows += len(places)
	op.Requests += len(places)
	op.OrdinaryRequests += len(places)
	var failures []Failure
	for i, f := range results {
		if f.Err == nil {
			continue
		}
		for _, n := range places[i] {
			f.Index = s.batch.Pieces[n].Event
			failures = append(failures, f)
		}
	}
	return failures
}

// sendIfAbsent sends an event, to be written if it is absent.
func (w *Writer) sendIfAbsent(ctx context.Context, t *writerTable, s *staged, key []byte, piece int) (Outcome, error) {
	write := bigtable.NewMutation()
	p := &s.batch.Pieces[piece]
	new(wire.Converter).AddTo(write, s.cells.mutations[p.Begin:p.End])
	if s.marker != nil {
		new(wire.Converter).AddTo(write, s.marker.append(nil, s.batch.Entries[p.Row].Mark))
	}
	return w.ifAbsent(ctx, t, s, key, piece, write)
}

// ifAbsent applies a mutation unless the row has the event of a piece.
func (w *Writer) ifAbsent(ctx context.Context, t *writerTable, s *staged, key []byte, piece int, m *bigtable.Mutation) (Outcome, error) {
	exists := false
	absent := bigtable.NewCondMutation(t.stored(s.cells.now, s.batch.Instant(piece)), nil, m)
	outcome, err := t.applyTo(ctx, key, absent, bigtable.GetCondMutationResult(&exists))
	if err == nil && exists {
		return Exists, ErrExists
	}
	return outcome, err
}

// applyTo applies a mutation to a row.
func (t *writerTable) applyTo(ctx context.Context, key []byte, m *bigtable.Mutation, opts ...bigtable.ApplyOption) (Outcome, error) {
	if ctx.Err() != nil {
		return Failed, missing(t.id, call.Explain(ctx, ctx.Err()))
	}
	ctx, cancel := call.Within(ctx, t.timeout)
	defer cancel()
	if err := t.api.Apply(ctx, string(key), m, opts...); err != nil {
		return t.outcomeOf(err), missing(t.id, call.Explain(ctx, err))
	}
	return 0, nil
}

// markExisting marks the rows of a table of states that lack events which another table had before: the
// call that wrote these was killed, perhaps, and what it wrote is unknown. Readers then search until a
// newer event arrives. The requests are conditional, so that rows with the events, or with newer ones, stay as
// they are, and a row has one such mark. They are not for events that keep stored fields, which the row may lack.
func (w *Writer) markExisting(ctx context.Context, t *writerTable, s *staged, op *request.Operation) (failures []Failure) {
	results := make([]Failure, len(s.existing))
	w.atOnce(len(s.existing), func(i int) {
		n := int(s.existing[i])
		p := &s.batch.Pieces[n]
		key := s.batch.Entries[p.Row].Key
		m, micros := bigtable.NewMutation(), s.batch.Instant(n).Micros
		m.DeleteTimestampRange(t.mapping.Table.Families[0].Name, markOfNone, 0, bigtable.Timestamp(micros))
		t.mapping.mark(m, markOfNone, micros, s.cells.now)
		var outcome Outcome
		var err error
		if len(s.partial) > 0 {
			outcome, err = t.applyTo(ctx, key, m)
		} else {
			outcome, err = w.ifAbsent(ctx, t, s, key, n, m)
		}
		results[i] = Failure{Index: p.Event, Table: t.id, Row: string(key), Outcome: outcome, Err: err}
	})
	op.Requests += len(results)
	op.OrdinaryRequests += len(results)
	return slices.DeleteFunc(results, func(f Failure) bool { return f.Err == nil || f.Outcome == Exists })
}

// stored returns the filter for the cells of an event in its row; see
// [scan.Table.EventCells]. An expired event counts as absent, whether or not it was
// garbage-collected.
func (t *writerTable) stored(now time.Time, at frame.Instant) bigtable.Filter {
	shape := t.shape
	if t.state() {
		shape.Columns = append(slices.Clone(shape.Columns), scan.Column{Name: markOfNone})
	}
	if cells := shape.EventCells(now, time.UnixMicro(at.Micros), at.Sequence); cells != nil {
		return new(request.Filters).Of(cells)
	}
	return bigtable.BlockAllFilter()
}
