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

// count prints the number of events. For a series or a query, it reads no values where the number of events does not depend on them:
// values that cannot be decoded are then no errors.
func count(ctx context.Context, r *request) (err error) {
	progress, begun, events := newMeter(r.cmd), time.Now(), 0
	add := func(n int, err error) error {
		if isUndecodable(err) {
			progress.undecodable++
			return nil
		}
		events += n
		progress.show(func() string { return rateText(events, begun) })
		return err
	}
	if r.whole != "" {
		var scanners []*store.Scanner[dynamic.Event]
		scanners, err = r.schema.NewScanners(r.client, r.whole, r.options)
		for i := 0; i < len(scanners) && err == nil; i++ {
			err = r.scan(ctx, scanners[i], func(row *store.ScannedRow[dynamic.Event], err error) error {
				if row.Marked {
					r.marked++
				}
				return add(len(row.Events), err)
			})
		}
	} else {
		var o store.ReadOptions
		if !r.reads.Metrics() {
			o.Fields = []store.Field{}
		}
		for _, failed := range r.events(ctx, o) {
			if err = add(1, failed); err != nil {
				break
			}
		}
	}
	progress.end()
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("interrupted after %s", countOf(events, "event"))
	case err != nil:
		return err
	}
	if err := r.say(fmt.Sprintln(events), false); err != nil {
		return err
	}
	if r.marked > 0 {
		progress.line("%s", markedText(r.marked))
	}
	return progress.done()
}

// scan calls use for the rows of a table, or with the errors of undecodable events. It reads several ranges of row keys at a time.
func (r *request) scan(ctx context.Context, s *store.Scanner[dynamic.Event], use func(*store.ScannedRow[dynamic.Event], error) error) error {
	var one sync.Mutex
	return s.Each(ctx, r.workers, r.from, r.to, func(row *store.ScannedRow[dynamic.Event], err error) error {
		one.Lock()
		defer one.Unlock()
		return use(row, err)
	})
}

// measure prints the figures of tables.
func measure(ctx context.Context, r *request) error {
	l := r.schema.Layout()
	tables := slices.DeleteFunc(slices.Clone(l.Tables), func(t *layout.Table) bool { return r.tableID != "" && t.ID != r.tableID })
	if len(tables) == 0 {
		return fmt.Errorf("--table %q: schema %s has no such table", r.tableID, l.Name)
	}
	progress := newMeter(r.cmd)
	defer progress.end()
	all, text, undecodable := make([]*figures, len(tables)), "", false
	for i, table := range tables {
		f := &figures{
			Table: r.prefix + table.ID, counts: map[string]int64{}, progress: progress, begun: time.Now(),
			columns: format.Columns(l)[:len(l.Series)],
		}
		if err := r.measureTable(ctx, table, f); err != nil {
			return err
		}
		f.Compression = compress.Measure(r.file, l, table.ID, slices.Concat(f.kept.places...))
		all[i], text, undecodable = f, text+f.describe(), undecodable || f.Undecodable > 0
	}
	progress.end()
	return r.report(text, all, undecodable)
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

// Limits of the events that are compressed: in all, and of each place of a table. Those of the first round of a sample, which are spread
// over the table, are all kept.
const (
	maxKept        = 32 * maxKeptOfPlace
	maxKeptOfPlace = 1_000
	maxPlaceBytes  = 2 << 20
)

// kept are events to be compressed: adjacent ones of some places.
type kept struct {
	on       bool
	places   [][]sample.Event
	n, bytes int // events in all, and bytes of the last place
}

// place begins another place.
func (k *kept) place() {
	if k.on && k.n < maxKept {
		k.places, k.bytes = append(k.places, nil), 0
	}
}

// add keeps events of a row of the place.
func (k *kept) add(row *store.ScannedRow[dynamic.Event]) {
	if !k.on || len(row.Events) == 0 {
		return
	}
	to := &k.places[len(k.places)-1]
	for i := range row.Events {
		if len(*to) == maxKeptOfPlace || k.bytes >= maxPlaceBytes || k.n == maxKept {
			return
		}
		k.n, k.bytes = k.n+1, k.bytes+row.Bytes/len(row.Events)
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

// measureTable reads a table.
func (r *request) measureTable(ctx context.Context, table *layout.Table, f *figures) error {
	scanners, err := r.schema.NewScanners(r.client, table.ID, r.options)
	if err != nil {
		return err
	}
	if table.Rolled() {
		f.Rollup = &rollupFigures{}
	}
	f.kept.on = r.sample > 0 && !slices.ContainsFunc(table.Periods(), (*layout.Table).Metrics)
	for _, scanner := range scanners {
		if scanner = scanner.WithRollups(); r.sample > 0 {
			err = r.measureSome(ctx, scanner, f)
		} else {
			err = r.scan(ctx, scanner, f.add)
		}
		if err != nil {
			return err
		}
	}
	f.finish(r.top)
	return nil
}

// measureSome measures a sample of rows that are spread over the table. Rows count for it
// whether or not they can be decoded.
func (r *request) measureSome(ctx context.Context, scanner *store.Scanner[dynamic.Event], f *figures) error {
	read := func(start, end string) error {
		f.kept.place()
		for row, err := range scanner.Rows(ctx, store.KeyRange{Start: start, End: end}, r.from, r.to) {
			if err := f.add(&row, err); err != nil {
				return err
			}
		}
		return nil
	}
	sampling := verify.Sampling{Rows: r.sample, Filter: verify.KeysOnly, Timeout: r.timeout, Read: read}
	sampled, err := verify.Sample(ctx, r.client.OpenTable(scanner.Table()), sampling, func(bigtable.Row) bool { return true })
	f.Samples = append(f.Samples, sampledTable{scanner.Table(), sampled})
	return err
}

// add adds a row, or an undecodable event. It returns other errors.
func (f *figures) add(row *store.ScannedRow[dynamic.Event], err error) error {
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
		return fmt.Sprintf("table %s: %s, %s", f.Table, countOf(f.Rows, "row"), rateText(int(f.Events), f.begun))
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
func (f *figures) describe() string {
	var b strings.Builder
	fmt.Fprintf(&b, "table %s\n", f.Table)
	line := func(name, text string) { fmt.Fprintf(&b, "  %-8s%s\n", name, text) }
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
		line("rollup", fmt.Sprintf("%s: %s and %s, in %s",
			words.Size(float64(r.Bytes)), countOf(r.Runs, "run"), countOf(r.Marks, "mark"), countOf(r.Rows, "row")))
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
		fmt.Fprintf(&b, "    %s  %s%s, %.1f%%\n", words.Printable(top.Series), upTo, countOf(top.Events, "event"), 100*top.Share)
	}
	return b.String()
}
