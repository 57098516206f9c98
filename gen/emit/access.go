package emit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/prose"
)

// writer declares the writer, its constructor, and the methods that every writer has.
func (s *schemaFile) writer() jen.Code {
	return s.code(`
		// $Writer writes $Name events to $1. $2
		type $Writer struct {
			writer *store.Writer
		}

		// $NewWriter returns a writer; client is usually a *bigtable.Client.
		func $NewWriter(client store.Client, opts ...store.WriterOptions) *$Writer {
			return &$Writer{store.NewWriter(client, $Mappings, opts...)}
		}

		// Write stores one event; the error is a *store.WriteError; see store.Writer.WriteAll.
		func (w *$Writer) Write(ctx context.Context, event $Event, opts ...store.WriteOptions) error {
			return w.writer.Write(ctx, &event, opts...)
		}

		// WriteAll stores events in any order; a *store.WriteError names each one that is not stored; see
		// store.Writer.WriteAll.
		func (w *$Writer) WriteAll(ctx context.Context, events []$Event, opts ...store.WriteOptions) error {
			return w.writer.WriteAll(ctx, store.ListOf(events), opts...)
		}

		// Delete deletes events from all tables, by their $3; see store.Writer.Delete.
		func (w *$Writer) Delete(ctx context.Context, events []$Event, opts ...store.DeleteOptions) (store.Deletion, error) {
			return w.writer.Delete(ctx, store.ListOf(events), opts...)
		}

		// DeleteRange deletes the events of a series with from <= time < to from all tables; see store.Writer.DeleteRange.
		func (w *$Writer) DeleteRange(ctx context.Context, series $Series, from, to time.Time, \
			opts ...store.DeleteOptions) (store.Deletion, error) {
			return w.writer.DeleteRange(ctx, store.SeriesOf($Base(series)), from, to, opts...)
		}

		// DeleteSeries deletes all events of a series from all tables; see store.Writer.DeleteAll.
		func (w *$Writer) DeleteSeries(ctx context.Context, series $Series, opts ...store.DeleteOptions) (store.Deletion, error) {
			return w.writer.DeleteAll(ctx, store.SeriesOf($Base(series)), opts...)
		}

		// Replace stores an event in place of another one; see store.Writer.Replace.
		func (w *$Writer) Replace(ctx context.Context, old $Event, updated $Event, opts ...store.WriteOptions) error {
			return w.writer.Replace(ctx, &old, &updated, opts...)
		}`, s.destinations(), s.replaces(), s.place())
}

// replaces describes the effect of writing an event again, and why WriteOptions.IfAbsent does not work, if it does not.
func (s *schemaFile) replaces() string {
	var appendOnly []string
	ifAbsent := ""
	for _, t := range s.layout.AllPeriods() {
		if t.Metrics() {
			appendOnly = append(appendOnly, t.ID)
		}
		if t.RowsPerEvent() > 1 && ifAbsent == "" {
			ifAbsent = fmt.Sprintf(" WriteOptions.IfAbsent is refused with store.ErrSeveralRows: in table %s, %s, an event has one row per field, and Bigtable cannot check and write several rows atomically.", t.ID, t.Pattern)
		}
	}
	if appendOnly == nil {
		return "Writing an event again replaces it, so a failed call is safe to repeat."
	}
	return fmt.Sprintf("Writing the same event again changes nothing, so a failed call is safe to repeat. Table %s is append-only: an event with the same %s but other values does not replace the first one; reads return both.%s",
		strings.Join(appendOnly, ", "), s.place(), ifAbsent)
}

// place describes what identifies an event of the schema.
func (s *schemaFile) place() string {
	if s.layout.Sequence {
		return "series, time and sequence"
	}
	return "series and time"
}

// batcher declares the batcher, its constructor and its methods.
func (s *schemaFile) batcher() jen.Code {
	return s.code(`
		// $Batcher gathers $Name events from any number of goroutines and writes them in batches; see store.Batcher.
		type $Batcher struct {
			batcher *store.Batcher
		}

		// $NewBatcher returns a batcher that writes through w; see store.NewBatcher.
		func $NewBatcher(w *$Writer, failed func(event $Event, err error), opts ...store.BatcherOptions) *$Batcher {
			if w == nil {
				w = new($Writer)
			}
			return &$Batcher{store.NewBatcher(w.writer, store.FailedOf(failed), opts...)}
		}

		// Add queues a copy of an event, and blocks while the batcher is full; see store.Batcher.Add.
		func (b *$Batcher) Add(ctx context.Context, event $Event) error { return store.AddTo(ctx, b.batcher, event) }

		// Flush sends the queued events and waits for them; the error is a *store.BatchError; see store.Batcher.Flush.
		func (b *$Batcher) Flush(ctx context.Context) error { return b.batcher.Flush(ctx) }

		// Close flushes, then rejects further events; see store.Batcher.Close.
		func (b *$Batcher) Close(ctx context.Context) error { return b.batcher.Close(ctx) }

		// Stats returns the number and the age of the events that are not yet written; see store.Batcher.Stats.
		func (b *$Batcher) Stats() store.BatcherStats { return b.batcher.Stats() }`)
}

// destinations lists the tables that events are written to.
func (s *schemaFile) destinations() string {
	text := tableList(s.layout.Tables)
	for _, t := range s.layout.Tables {
		text += olderTables(t, "to")
	}
	return text
}

// olderTables describes the other tables with events of earlier layouts, which are written
// to them or read from them.
func olderTables(t *layout.Table, preposition string) string {
	text := ""
	for _, older := range t.Older {
		if older.ID != t.ID {
			text += fmt.Sprintf(", and %s %s table %s", prose.Period(older), preposition, older.ID)
		}
	}
	return text
}

// reader declares the reader, its constructor, and the methods that every reader has.
func (s *schemaFile) reader() jen.Code {
	read := s.layout.Read
	appendOnly, points, state := "", "", ""
	var made *jen.Statement
	if read.Metrics() {
		appendOnly = "The table is append-only: if a field has several values at the same time, Read yields that many events, ordered by their stored values."
	}
	if read.Rolled() {
		points = " A rollup has no points: draw windows where events have expired."
	}
	if s.layout.StateServes(nil) {
		state = ", from table " + s.layout.State.ID
	}
	var declared, readers []jen.Code
	for _, t := range s.readTables() {
		n := s.names.Table(t)
		declared = append(declared, s.code("$1 *store.Reader", n.Reader))
		reader := s.code("store.NewReader(client, $1, opts...)", n.Mapping)
		readers, made = append(readers, set(n.Reader, reader)), jen.Values(reader)
	}
	if len(readers) > 1 {
		made = lines(readers...)
	}
	one := selection{s.code("series $Series,"), s.code("store.SeriesOf($Base(series))")}
	const windows = "Windows summarizes the events of a series with from <= time < to by windows of time, in order of time; see store.Reader.Windows.\n\n"
	return s.code(`
		// $Reader reads $Name events from table $1. Read holds $2 in memory at a time. $3
		type $Reader struct {
			$4
		}

		// $NewReader returns a reader; client is usually a *bigtable.Client.
		func $NewReader(client store.Client, opts ...store.ReaderOptions) *$Reader {
			return &$Reader$5
		}

		// Read yields the events of a series with from <= time < to, in order of time; see store.Reader.Read.
		func (r *$Reader) Read(ctx context.Context, series $Series, from, to time.Time, \
			opts ...store.ReadOptions) iter.Seq2[$Event, error] {
			return store.ResultsOf[$Event](r.reader.Read(ctx, store.SeriesOf($Base(series)), from, to, opts...))
		}

		// ReadMany yields the events of several series with from <= time < to, by series; see store.Query.Many.
		func (r *$Reader) ReadMany(ctx context.Context, series []$Series, from, to time.Time, \
			opts ...store.ReadOptions) iter.Seq2[$Event, error] {
			return store.ResultsOf[$Event](\
				r.reader.Read(ctx, store.ManySeriesOf(store.Each(series, $Base)), from, to, opts...))
		}

		// Latest returns the newest event of a series$6, or store.ErrNotFound; see store.Reader.Latest.
		func (r *$Reader) Latest(ctx context.Context, series $Series) ($Event, error) {
			return store.ResultOf[$Event](r.reader.Latest(ctx, $Base(series)))
		}

		// LatestMany yields the newest event of each of several series that has any$6; see store.Reader.LatestMany.
		func (r *$Reader) LatestMany(ctx context.Context, series []$Series) iter.Seq2[$Event, error] {
			return store.ResultsOf[$Event](r.reader.LatestMany(ctx, store.Each(series, $Base)))
		}

		$7

		$8

		// Points returns the values of a number that a chart of n pixels shows, of the events of a series with
		// from <= time < to; see store.Reader.Points.$9
		func (r *$Reader) Points(ctx context.Context, series $Series, from, to time.Time, \
			field store.Field, n int) ([]window.Point, error) {
			return r.reader.Points(ctx, $10, $Windows, store.SeriesOf($Base(series)), from, to, field, n)
		}`, read.ID+olderTables(read, "from"), holds(read), appendOnly, declared, made, state,
		s.columnsMethod("ReadColumns", "ReadColumns appends the events of Read to columns; see store.Reader.ReadColumns.", read, one),
		s.windowsMethod("Windows", windows+prose.Windows(read), read, one), points, s.names.Table(read).Columns)
}

// readTables returns the tables that readers read: that of Read first, then those of queries.
func (s *schemaFile) readTables() []*layout.Table {
	others := slices.DeleteFunc(s.layout.QueriedTables(), func(t *layout.Table) bool { return t == s.layout.Read })
	return append([]*layout.Table{s.layout.Read}, others...)
}

// holds describes how much of a table a reader has in memory.
func holds(t *layout.Table) string {
	if t.Endless() {
		return "one row"
	}
	if t.Pattern.Bucketed() {
		return "one bucket"
	}
	return "one event"
}

// selection is what selects the events of a method: the parameters, each with a comma, and what is passed on for them.
type selection struct{ params, passed *jen.Statement }

// columnsMethod declares the reader's method that appends events to columns.
func (s *schemaFile) columnsMethod(name, doc string, t *layout.Table, of selection) jen.Code {
	n := s.names.Table(t)
	return s.code(`
		// $1
		func (r *$Reader) $2(ctx context.Context, $3 from, to time.Time, columns *$Columns, opts ...store.ReadOptions) error {
			return r.$4.ReadColumns(ctx, $5, columns, $6, from, to, opts...)
		}`, doc, name, of.params, n.Reader, n.Columns, of.passed)
}

// windowsMethod declares the reader's method that summarizes events by windows of time.
func (s *schemaFile) windowsMethod(name, doc string, t *layout.Table, of selection) jen.Code {
	n := s.names.Table(t)
	return s.code(`
		// $1
		func (r *$Reader) $2(ctx context.Context, $3 from, to time.Time, width window.Width, \
			opts ...store.WindowOptions) iter.Seq2[$Window, error] {
			return store.ResultsOf[$Window](r.$4.Windows(ctx, $5, $Windows, $6, from, to, width, opts...))
		}`, doc, name, of.params, n.Reader, n.Columns, of.passed)
}

// setup declares the setup function, and those that copy data, if the schema needs them.
func (s *schemaFile) setup() jen.Code {
	var rollup, backfill *jen.Statement
	if rollups := s.layout.Rollups(); s.names.Rollup != "" {
		rollup = s.code(`
			// $Rollup summarizes the buckets of $1 that have ended and have changed; see store.Rollup.
			func $Rollup(ctx context.Context, client store.Client, opts ...store.RollupOptions) (store.RollupReport, error) {
				return store.Rollup(ctx, client, $Mappings, $2, $Windows, opts...)
			}`, tableList(rollups), s.names.Table(rollups[0]).Columns)
	}
	if s.names.Backfill != "" {
		backfill = s.code(`
			// $Backfill copies events from one table to another, by default to the one with serves: false, or compares
			// them; see store.Backfill.
			func $Backfill(ctx context.Context, client store.Client, opts ...store.BackfillOptions) (store.BackfillReport, error) {
				return store.Backfill(ctx, client, $Mappings, opts...)
			}`)
	}
	return s.code(`
		// $Setup reconciles $1 with the schema; see setup.Setup.
		func $Setup(ctx context.Context, admin setup.Admin, client store.Client, opts ...setup.Options) (setup.Plan, error) {
			return setup.Setup(ctx, admin, client, store.Tables($Mappings), opts...)
		}

		$2

		$3`, tableList(s.layout.AllPeriods()), rollup, backfill)
}

// mappings declares the list of the mappings to all tables.
func (s *schemaFile) mappings() jen.Code {
	return s.code("var $Mappings = $1", s.mappingsOf(s.layout.Tables))
}

// mappingsOf renders the mappings to tables.
func (s *schemaFile) mappingsOf(tables []*layout.Table) *jen.Statement {
	mappings := each(tables, func(_ int, t **layout.Table) jen.Code { return jen.Id(s.names.Table(*t).Mapping) })
	return s.code("[]*store.Mapping$1", jen.Values(mappings...))
}

// base declares the function that returns an event of a series, without any fields, as package store takes it.
func (s *schemaFile) base() jen.Code {
	return s.code("func $Base(series $Series) any { return &$Event{$Series: series} }")
}
