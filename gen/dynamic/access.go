package dynamic

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Writer writes events. Its methods are those of [store.Writer], whose other methods it has, too.
type Writer struct{ *store.Writer }

// NewWriter returns a writer of events to all tables of the schema.
func (s *Schema) NewWriter(client store.Client, opts ...store.WriterOptions) *Writer {
	return &Writer{store.NewWriter(client, s.Mappings(), opts...)}
}

// Write stores an event; see [store.Writer.Write].
func (w *Writer) Write(ctx context.Context, e Event, opts ...store.WriteOptions) error {
	return w.Writer.Write(ctx, &e, opts...)
}

// WriteAll stores events; see [store.Writer.WriteAll].
func (w *Writer) WriteAll(ctx context.Context, events []Event, opts ...store.WriteOptions) error {
	return w.Writer.WriteAll(ctx, store.ListOf(events), opts...)
}

// Delete deletes events; see [store.Writer.Delete].
func (w *Writer) Delete(ctx context.Context, events []Event, opts ...store.DeleteOptions) (store.Deletion, error) {
	return w.Writer.Delete(ctx, store.ListOf(events), opts...)
}

// Replace replaces an event; see [store.Writer.Replace].
func (w *Writer) Replace(ctx context.Context, old, updated Event, opts ...store.WriteOptions) error {
	return w.Writer.Replace(ctx, &old, &updated, opts...)
}

// Delete deletes the events of a selection with from <= time < to from all tables, as
// [store.Writer.DeleteRange] does. If it is that of a query, the schema must allow it with delete. w is
// a writer of the schema.
func (s *Schema) Delete(ctx context.Context, w *Writer, of Selection, from, to time.Time, opts ...store.DeleteOptions) (store.Deletion, error) {
	selected, err := s.deletes(of)
	if err != nil {
		return store.Deletion{}, err
	}
	return w.DeleteRange(ctx, selected, from, to, opts...)
}

// DeleteAll deletes the events of a selection, whatever their times, as [store.Writer.DeleteAll] does.
// The other arguments are those of Delete.
func (s *Schema) DeleteAll(ctx context.Context, w *Writer, of Selection, opts ...store.DeleteOptions) (store.Deletion, error) {
	selected, err := s.deletes(of)
	if err != nil {
		return store.Deletion{}, err
	}
	return w.DeleteAll(ctx, selected, opts...)
}

// deletes returns what a selection deletes.
func (s *Schema) deletes(of Selection) (store.Selection, error) {
	_, selected, err := s.resolve(of)
	if q := selected.Query; err == nil && q != nil {
		if by := s.queries[q.Name]; by == nil || by.query != q || by.of.Deletes == nil {
			return selected, fmt.Errorf("the schema has no query %q with `delete: true`", q.Name)
		}
	}
	return selected, err
}

// NewScanners returns scanners of the events of all series in a table of the schema: one for
// each Bigtable table that contains them, the newest layout first. If the schema does not
// have the table, the error is a [*store.UnknownTableError].
func (s *Schema) NewScanners(client store.Client, table string, opts ...store.ReaderOptions) ([]*store.Scanner[Event], error) {
	var out []*store.Scanner[Event]
	var known []string
	for _, m := range s.Mappings() {
		if known = append(known, m.Table.ID); m.Table.ID != table {
			continue
		}
		seen := map[string]bool{}
		for _, period := range m.Periods() {
			if seen[period.Table.ID] {
				continue
			}
			seen[period.Table.ID] = true
			scanner, err := store.NewScanner[Event](client, []*store.Mapping{m}, period.Table.ID, opts...)
			if err != nil {
				return nil, err
			}
			out = append(out, scanner)
		}
	}
	if out == nil {
		return nil, &store.UnknownTableError{Table: table, Tables: known}
	}
	return out, nil
}

// Reader reads events. It is safe for concurrent use.
type Reader struct {
	schema  *Schema
	readers map[*table]*store.Reader
}

// NewReader returns a reader of the tables of the schema.
func (s *Schema) NewReader(client store.Client, opts ...store.ReaderOptions) *Reader {
	r := &Reader{schema: s, readers: map[*table]*store.Reader{}}
	for _, t := range s.layout.Tables {
		of := s.tables[t]
		r.readers[of] = store.NewReader(client, of.layout, opts...)
	}
	return r
}

// of returns the reader of a selection, and the columns of its table.
func (r *Reader) of(of Selection) (*table, *store.Reader, store.Selection, error) {
	t, selected, err := r.schema.resolve(of)
	return t, r.readers[t], selected, err
}

// Read yields the events of a selection with from <= time < to, as [store.Reader.Read] does.
func (r *Reader) Read(ctx context.Context, of Selection, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[Event, error] {
	_, reader, selected, err := r.of(of)
	if err != nil {
		return failed[Event](err)
	}
	return r.complete(reader.Read(ctx, selected, from, to, opts...))
}

// ReadColumns appends what Read yields to columns, as [store.Reader.ReadColumns] does.
func (r *Reader) ReadColumns(ctx context.Context, of Selection, from, to time.Time, columns *Columns, opts ...store.ReadOptions) error {
	t, reader, selected, err := r.of(of)
	if err != nil {
		return err
	}
	return reader.ReadColumns(ctx, t.columns, columns, selected, from, to, opts...)
}

// ReadSeries yields the series of the events of a selection, as [store.Reader.ReadSeries] does.
func (r *Reader) ReadSeries(ctx context.Context, of Selection, from, to time.Time, opts ...store.SeriesOptions) iter.Seq2[[]any, error] {
	_, reader, selected, err := r.of(of)
	if err != nil {
		return failed[[]any](err)
	}
	return store.ResultsOf[[]any](reader.ReadSeries(ctx, selected, from, to, opts...))
}

// Windows summarizes the events of a selection, as [store.Reader.Windows] does.
func (r *Reader) Windows(ctx context.Context, of Selection, from, to time.Time, width window.Width, opts ...store.WindowOptions) iter.Seq2[Window, error] {
	t, reader, selected, err := r.of(of)
	if err != nil {
		return failed[Window](err)
	}
	windows := store.ResultsOf[Window](reader.Windows(ctx, t.columns, r.schema.windows, selected, from, to, width, opts...))
	return func(yield func(Window, error) bool) {
		for w, err := range windows {
			w.Own()
			if !yield(w, err) {
				return
			}
		}
	}
}

// Latest returns the newest event of a series, as [store.Reader.Latest] does.
func (r *Reader) Latest(ctx context.Context, series []any) (Event, error) {
	_, reader, selected, err := r.of(Series(series))
	if err != nil {
		return Event{}, err
	}
	e, err := store.ResultOf[Event](reader.Latest(ctx, selected.Low[0]))
	return r.sized(e), err
}

// LatestMany yields the newest event of each of several series, as [store.Reader.LatestMany]
// does.
func (r *Reader) LatestMany(ctx context.Context, series [][]any) iter.Seq2[Event, error] {
	_, reader, selected, err := r.of(ManySeries(series))
	if err != nil {
		return failed[Event](err)
	}
	return r.complete(reader.LatestMany(ctx, selected.Low))
}

// complete gives all events a value for each field.
func (r *Reader) complete(events store.Results) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range store.ResultsOf[Event](events) {
			if !yield(r.sized(e), err) {
				return
			}
		}
	}
}

// sized returns an event with a value for each field.
func (r *Reader) sized(e Event) Event {
	e.Values = r.schema.sized(e.Values)
	return e
}

// failed yields an error.
func failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}
