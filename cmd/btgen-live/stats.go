package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/compress"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/verify"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/explain"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newStats returns the command stats.
func newStats() *cobra.Command {
	var s statistics
	cmd := command("stats", s.run)
	s.target.flags(cmd, "app `profile` of the reads")
	s.schemaFlags.flags(cmd, 1)
	cmd.Flags().StringVar(&s.table, "table", "", "only the `table` with this ID, as in the schema")
	s.rangeFlags(cmd.Flags(), "count; by default all")
	cmd.Flags().Var(number(&s.sample, 0, 0, 0), "sample", "maximum number of `rows` to read from each table; 0 for all")
	cmd.Flags().Var(number(&s.top, 10, 0, 0), "top", "number of `series` to print")
	cmd.Flags().Var(number(&s.workers, store.DefaultWorkers, 1, 0), "workers", "number of ranges of row keys to read concurrently")
	s.reporting.flags(cmd)
	return cmd
}

// statistics are the flags of the command stats.
type statistics struct {
	target
	reporting
	schemaFlags
	timeRange
	table                string
	sample, top, workers int
	since, until         time.Time
}

// run prints the statistics.
func (s *statistics) run(cmd *cobra.Command, args []string) error {
	var err error
	if s.since, s.until, err = s.times(); err != nil {
		return err
	}
	schema, of, err := s.load(args[0])
	if err != nil {
		return err
	}
	l := schema.Layout()
	var tables []string
	for _, t := range l.Tables {
		if s.table == "" || t.ID == s.table {
			tables = append(tables, t.ID)
		}
	}
	if len(tables) == 0 {
		return fmt.Errorf("--table %q: schema %s has no such table", s.table, l.Name)
	}
	progress := newMeter(cmd)
	figures := make([]*figures, len(tables))
	err = s.with(cmd, func(ctx context.Context, client *bigtable.Client) (err error) {
		defer progress.end()
		for i, table := range tables {
			if figures[i], err = s.measure(ctx, client, schema, table, progress); err != nil {
				return err
			}
			figures[i].Compression = compress.Measure(of, l, table, slices.Concat(figures[i].kept.places...))
		}
		return nil
	})
	if err != nil {
		return err
	}
	var b strings.Builder
	undecodable := false
	for _, f := range figures {
		undecodable = undecodable || f.Undecodable > 0
		f.describe(&b)
	}
	return s.report(cmd.OutOrStdout(), b.String(), figures, undecodable)
}

// sampledTable says which rows of a table were read.
type sampledTable struct {
	Table string `json:"table"` // with its prefix
	verify.Sampled
}

// figures describe a table.
type figures struct {
	Table       string         `json:"table"`             // with its prefix
	Samples     []sampledTable `json:"samples,omitempty"` // one for each table that contains a layout; nil if all rows were read
	Rows        int64          `json:"rows"`
	Cells       int64          `json:"cells"`
	Bytes       int64          `json:"bytes"`
	Rollup      *rollupFigures `json:"rollup,omitempty"` // nil for a table without one
	Events      int64          `json:"events"`
	Undecodable int64          `json:"undecodable"`      // events and rows
	Marked      int            `json:"marked,omitempty"` // rows; see markedText
	First       *time.Time     `json:"first,omitempty"`
	Last        *time.Time     `json:"last,omitempty"`
	Series      int            `json:"series"`
	// MoreSeries says that there are more than Series, which are too many to count, and
	// that the events of Top are upper bounds.
	MoreSeries bool          `json:"more_series,omitempty"`
	Top        []seriesCount `json:"top"`
	// Compression is that of the events of a sample; nil if there are none, or if rows have single
	// fields of events.
	Compression *explain.Compression `json:"compression,omitempty"`

	kept     kept
	mu       sync.Mutex // for all of it
	columns  []format.Column
	text     []byte
	counts   map[string]int64 // events by series
	left     int64            // maximum number of events of a series that is not in counts
	progress *meter
	begun    time.Time
}

// rollupFigures describe the cells of a rollup, which the other figures leave out.
type rollupFigures struct {
	Rows  int64 `json:"rows"`  // with such cells
	Marks int64 `json:"marks"` // cells
	Runs  int64 `json:"runs"`  // cells
	Bytes int64 `json:"bytes"`
}

// seriesCount is a series and the number of its events.
type seriesCount struct {
	Series string  `json:"series"` // such as "location=us-west2 balloon_id=3698"
	Events int64   `json:"events"`
	Share  float64 `json:"share"` // of all events, from 0 to 1
}

// maxSeries is the number of series that are counted exactly.
const maxSeries = 100_000

// Limits of the events that are compressed: in all, and of each place of a table.
const (
	maxKept        = 20_000
	maxKeptOfPlace = 1_000
	maxPlaceBytes  = 2 << 20
)

// kept are events to be compressed: adjacent ones of some places, which are spread over the sample.
type kept struct {
	on     bool
	places [][]sample.Event
	bytes  int // of the last place
	every  int // how many places there are for each that is kept
	seen   int // number of places
	open   bool
}

// place begins another place. If there are too many events, it forgets those of every other place.
func (k *kept) place() {
	k.every = max(k.every, 1)
	if len(slices.Concat(k.places...)) >= maxKept {
		for i := range (len(k.places) + 1) / 2 {
			k.places[i] = k.places[2*i]
		}
		k.places, k.every = k.places[:(len(k.places)+1)/2], 2*k.every
	}
	if k.open = k.on && k.seen%k.every == 0; k.open {
		k.places, k.bytes = append(k.places, nil), 0
	}
	k.seen++
}

// add keeps events of a row of the place.
func (k *kept) add(row *store.ScannedRow[dynamic.Event]) {
	if !k.open || len(row.Events) == 0 {
		return
	}
	to := &k.places[len(k.places)-1]
	for i := range row.Events {
		if len(*to) == maxKeptOfPlace || k.bytes >= maxPlaceBytes {
			return
		}
		k.bytes += row.Bytes / len(row.Events)
		*to = append(*to, sampleOf(&row.Events[i]))
	}
}

// sampleOf copies an event. Without a write time, it was written at once.
func sampleOf(e *dynamic.Event) sample.Event {
	written := e.WrittenAt
	if written.IsZero() {
		written = e.Time
	}
	return sample.Event{
		Series: slices.Clone(e.Series), Time: e.Time, Sequence: e.Sequence, Values: slices.Clone(e.Values), WrittenAt: written,
		Class: e.Class, TTL: e.TTL, ExpiresAt: e.ExpiresAt,
	}
}

// measure reads a table.
func (s *statistics) measure(ctx context.Context, client store.Client, schema *dynamic.Schema, table string, progress *meter) (*figures, error) {
	f := &figures{
		Table: s.prefix + table, counts: map[string]int64{}, progress: progress, begun: time.Now(),
		columns: format.Columns(schema.Layout())[:len(schema.Layout().Series)],
	}
	scanners, err := schema.NewScanners(client, table, s.readerOptions())
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(schema.Layout().Tables, func(t *layout.Table) bool { return t.ID == table && t.Rolled() }) {
		f.Rollup = &rollupFigures{}
	}
	f.kept.on = s.sample > 0 && !slices.ContainsFunc(schema.Layout().AllPeriods(), func(t *layout.Table) bool { return t.Metrics() && t.ID == table })
	for _, scanner := range scanners {
		if f.Rollup != nil {
			scanner = scanner.WithRollups()
		}
		if s.sample > 0 {
			err = s.measureSome(ctx, client, scanner, f)
		} else {
			err = scanner.Each(ctx, s.workers, s.since, s.until, f.add)
		}
		if err != nil {
			return nil, err
		}
	}
	f.finish(s.top)
	return f, nil
}

// measureSome measures a sample of rows that are spread over the table. Rows count for it
// whether or not they can be decoded.
func (s *statistics) measureSome(ctx context.Context, client store.Client, scanner *store.Scanner[dynamic.Event], f *figures) error {
	sampling := verify.Sampling{Rows: s.sample, Timeout: s.timeout}
	sampled, err := verify.SampleRanges(ctx, client.OpenTable(scanner.Table()), sampling, func(ctx context.Context, start, end string) error {
		f.kept.place()
		for row, err := range scanner.Rows(ctx, store.KeyRange{Start: start, End: end}, s.since, s.until) {
			if err := f.add(&row, err); err != nil {
				return err
			}
		}
		return nil
	})
	f.Samples = append(f.Samples, sampledTable{scanner.Table(), sampled})
	return err
}

// add adds a row, or an undecodable event. It returns other errors.
func (f *figures) add(row *store.ScannedRow[dynamic.Event], err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if isUndecodable(err) {
		f.Undecodable++
		return nil
	}
	if err != nil {
		return err
	}
	f.Rows++
	f.Cells += int64(row.Cells)
	f.Bytes += int64(row.Bytes)
	f.Events += int64(len(row.Events))
	if r, of := f.Rollup, row.Rollup; r != nil {
		r.Marks, r.Runs, r.Bytes = r.Marks+int64(of.Marks), r.Runs+int64(of.Runs), r.Bytes+int64(of.Bytes)
		if of.Marks+of.Runs > 0 {
			r.Rows++
		}
	}
	if row.Marked {
		f.Marked++
	}
	f.kept.add(row)
	for i := range row.Events {
		e := &row.Events[i]
		if at := e.Time; f.First == nil || at.Before(*f.First) {
			f.First = &at
		}
		if at := e.Time; f.Last == nil || at.After(*f.Last) {
			f.Last = &at
		}
		f.text = format.AppendSeries(f.text[:0], f.columns, e)
		n, known := f.counts[string(f.text)]
		if !known {
			n = f.left
		}
		f.counts[string(f.text)] = n + 1
	}
	if len(f.counts) > 2*maxSeries {
		f.forget()
	}
	f.progress.show(func() string {
		return fmt.Sprintf("table %s: %s, %s", f.Table, countOf(int(f.Rows), "row"), rateText(int(f.Events), "event", f.begun))
	})
	return nil
}

// ranked returns the series in descending order of their events.
func (f *figures) ranked() []string {
	return slices.SortedFunc(maps.Keys(f.counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.counts[b], f.counts[a]), cmp.Compare(a, b))
	})
}

// forget forgets the smallest series.
func (f *figures) forget() {
	f.MoreSeries = true
	for i, series := range f.ranked() {
		if i >= maxSeries {
			f.left = max(f.left, f.counts[series])
			delete(f.counts, series)
		}
	}
}

// finish determines the largest series.
func (f *figures) finish(top int) {
	f.Series, f.Top = len(f.counts), []seriesCount{}
	for _, series := range f.ranked()[:min(top, len(f.counts))] {
		n := f.counts[series]
		f.Top = append(f.Top, seriesCount{series, n, float64(n) / float64(f.Events)})
	}
}

// describe describes the figures as text.
func (f *figures) describe(b *strings.Builder) {
	fmt.Fprintf(b, "table %s\n", f.Table)
	line := func(name, text string) { fmt.Fprintf(b, "  %-8s%s\n", name, text) }
	number := func(n int64) string { return words.Number(float64(n)) }
	for _, of := range f.Samples {
		text := of.String()
		if of.Table != f.Table {
			text += ", of table " + of.Table
		}
		line("sample", text)
	}
	line("rows", number(f.Rows))
	line("cells", number(f.Cells))
	size := words.Size(float64(f.Bytes))
	if f.Events > 0 {
		size += fmt.Sprintf(", %s per event", words.Size(float64(f.Bytes/f.Events)))
	}
	line("size", size)
	if c := f.Compression; c != nil {
		line("", fmt.Sprintf("compressed, %s per event: between zstd and snappy, in blocks of %d KiB, of %s",
			words.Sizes(c.Designs[0].Zstd, c.Designs[0].Snappy), c.BlockBytes>>10, countOf(c.Events, "event")))
	}
	if r := f.Rollup; r != nil {
		line("rollup", fmt.Sprintf("%s: %s and %s, in %s", words.Size(float64(r.Bytes)), countOf(int(r.Runs), "run"), countOf(int(r.Marks), "mark"), countOf(int(r.Rows), "row")))
	}
	line("events", number(f.Events))
	if f.Undecodable > 0 {
		line("", number(f.Undecodable)+" could not be decoded; btgen-live verify explains why")
	}
	if f.Marked > 0 {
		line("", markedText(f.Marked))
	}
	if f.First != nil {
		line("times", f.First.Format(time.RFC3339Nano)+" to "+f.Last.Format(time.RFC3339Nano))
	}
	series := number(int64(f.Series))
	if f.MoreSeries {
		series = "more than " + series
	}
	line("series", series)
	for i := range f.Top {
		top := &f.Top[i]
		upTo := map[bool]string{true: "up to "}[f.MoreSeries]
		fmt.Fprintf(b, "    %s  %s%s, %.1f%%\n", words.Printable(top.Series), upTo, countOf(int(top.Events), "event"), 100*top.Share)
	}
}
