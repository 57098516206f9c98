package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// report is a reading of a balloon.
type report struct {
	balloon int64
	reading
}

// reportsOf returns the last n reports of a number of balloons, minute by minute.
func reportsOf(n, balloons int) []report {
	out := make([]report, n)
	start := end.Add(-time.Duration((n+balloons-1)/balloons) * time.Minute)
	for i := range out {
		out[i] = report{int64(i % balloons), readingAt(start.Add(time.Duration(i/balloons) * time.Minute))}
	}
	return out
}

// write writes the reports of its case.
type write func(ctx context.Context) error

// writeCase is a write to measure, into the rows of weeks.
type writeCase struct {
	name              string
	reports, balloons int
	paths             []writePath
}

// writePath is one implementation of a write.
type writePath struct {
	name string
	wire bool // with the ClientOptions
	open func(client *bigtable.Client, reports []report) write
	// sample is the factor by which fewer reports are written, if all of them would take too long; 0 for all.
	sample int
}

// writeCases are all writes. Events that a Batcher writes are written one by one by hand.
func writeCases() []writeCase {
	const events = 1_000_000
	paths := []writePath{
		{name: "common", open: commonWrite},
		{name: "best", open: bestWrite},
		{name: "ordinary", open: generatedWrite},
		{name: "wire", wire: true, open: generatedWrite},
	}
	each := []writePath{
		{name: "common", open: commonEach, sample: batcherSample},
		{name: "best", open: bestEach, sample: batcherSample},
		{name: "ordinary", open: batcherWrite},
		{name: "wire", wire: true, open: batcherWrite},
	}
	return []writeCase{
		{"one_event", 1, 1, paths}, {"one_row", 1000, 1, paths}, {"rows_1000", 1000, 1000, paths}, {"batcher", events, 1000, each},
	}
}

// commonWrite is the usual implementation: a mutation for each event, all of them in one call.
func commonWrite(client *bigtable.Client, reports []report) write {
	table := client.Open("balloon_new_cells")
	return func(ctx context.Context) error {
		var keys []string
		var mutations []*bigtable.Mutation
		for _, r := range reports {
			key, m := commonMutation(r)
			keys, mutations = append(keys, key), append(mutations, m)
		}
		if len(keys) == 1 {
			return table.Apply(ctx, keys[0], mutations[0])
		}
		errs, err := table.ApplyBulk(ctx, keys, mutations)
		return errors.Join(append(errs, err)...)
	}
}

// commonEach writes events one by one.
func commonEach(client *bigtable.Client, reports []report) write {
	table := client.Open("balloon_new_cells")
	return func(ctx context.Context) error {
		for _, r := range reports {
			key, m := commonMutation(r)
			if err := table.Apply(ctx, key, m); err != nil {
				return err
			}
		}
		return nil
	}
}

// commonMutation returns the row key and the mutation of a report.
func commonMutation(r report) (string, *bigtable.Mutation) {
	t := bigtable.Time(r.time)
	m := bigtable.NewMutation()
	m.Set(family, "pressure", t, []byte(fmt.Sprintf("%d", r.pressure)))
	m.Set(family, "temperature", t, []byte(fmt.Sprintf("%g", r.temperature)))
	m.Set(family, "humidity", t, []byte(fmt.Sprintf("%d", r.humidity)))
	m.Set(family, "altitude", t, []byte(fmt.Sprintf("%d", r.altitude)))
	return fmt.Sprintf("%s#%d#week%d", location, r.balloon, int(r.time.Sub(origin)/week)+1), m
}

// bestWriter is the best that a good engineer would write on the official client: one mutation
// for each row, with keys and values in reused memory. It assumes at most 25,000 events per
// row, the limit of a mutation. Like generated code, it sets a deadline.
type bestWriter struct {
	keys        []string
	mutations   []*bigtable.Mutation
	rows        map[string]*bigtable.Mutation
	key, values []byte
}

// bestWrite writes with a bestWriter.
func bestWrite(client *bigtable.Client, reports []report) write {
	table, w := client.Open("balloon_new_cells"), &bestWriter{rows: map[string]*bigtable.Mutation{}}
	return func(ctx context.Context) error { return w.write(ctx, table, reports) }
}

// bestEach writes events one by one from 16 goroutines: concurrent requests share network
// packets, which takes less CPU time than sequential ones.
func bestEach(client *bigtable.Client, reports []report) write {
	const writers = 16
	table := client.Open("balloon_new_cells")
	return func(ctx context.Context) error {
		errs := make([]error, writers)
		var wg sync.WaitGroup
		for n := range writers {
			wg.Go(func() {
				w := &bestWriter{rows: map[string]*bigtable.Mutation{}}
				for i := n; i < len(reports) && errs[n] == nil; i += writers {
					errs[n] = w.write(ctx, table, reports[i:i+1])
				}
			})
		}
		wg.Wait()
		return errors.Join(errs...)
	}
}

// write writes reports. Values are reused only after the call.
func (w *bestWriter) write(ctx context.Context, table *bigtable.Table, reports []report) error {
	w.keys, w.mutations = w.keys[:0], w.mutations[:0]
	clear(w.rows)
	w.values = slices.Grow(w.values[:0], 32*len(reports))
	for i := range reports {
		r := &reports[i]
		m, t := w.row(r), bigtable.Timestamp(r.time.UnixMicro())
		w.setInt(m, "pressure", t, r.pressure)
		begin := len(w.values)
		w.values = strconv.AppendFloat(w.values, r.temperature, 'g', -1, 64)
		m.Set(family, "temperature", t, w.values[begin:])
		w.setInt(m, "humidity", t, r.humidity)
		w.setInt(m, "altitude", t, r.altitude)
	}
	ctx, cancel := context.WithTimeout(ctx, store.DefaultTimeout)
	defer cancel()
	if len(w.keys) == 1 {
		return table.Apply(ctx, w.keys[0], w.mutations[0])
	}
	errs, err := table.ApplyBulk(ctx, w.keys, w.mutations)
	if err != nil {
		return err
	}
	return errors.Join(errs...)
}

// row returns the mutation of a report's row.
func (w *bestWriter) row(r *report) *bigtable.Mutation {
	w.key = append(w.key[:0], location...)
	w.key = append(w.key, '#')
	w.key = strconv.AppendInt(w.key, r.balloon, 10)
	w.key = append(w.key, "#week"...)
	w.key = strconv.AppendInt(w.key, int64(r.time.Sub(origin)/week)+1, 10)
	m := w.rows[string(w.key)]
	if m == nil {
		m = bigtable.NewMutation()
		key := string(w.key)
		w.rows[key] = m
		w.keys, w.mutations = append(w.keys, key), append(w.mutations, m)
	}
	return m
}

// setInt sets a cell to the text of a number.
func (w *bestWriter) setInt(m *bigtable.Mutation, column string, t bigtable.Timestamp, v int64) {
	begin := len(w.values)
	w.values = strconv.AppendInt(w.values, v, 10)
	m.Set(family, column, t, w.values[begin:])
}

// event converts a report to a generated event.
func (r *report) event() weather.BalloonNewCellsEvent {
	return weather.BalloonNewCellsEvent{
		BalloonNewCellsSeries: weather.BalloonNewCellsSeries{Location: location, BalloonID: r.balloon},
		Time:                  r.time, Pressure: r.pressure, Temperature: r.temperature, Humidity: r.humidity, Altitude: r.altitude,
	}
}

// writing are the options of writers.
var writing = store.WriterOptions{Now: options.Now}

// generatedWrite writes with generated code.
func generatedWrite(client *bigtable.Client, reports []report) write {
	w := weather.NewBalloonNewCellsWriter(client, writing)
	var events []weather.BalloonNewCellsEvent
	for _, r := range reports {
		events = append(events, r.event())
	}
	if len(events) == 1 {
		return func(ctx context.Context) error { return w.Write(ctx, events[0]) }
	}
	return func(ctx context.Context) error { return w.WriteAll(ctx, events) }
}

// batcherWrite writes with a generated Batcher.
func batcherWrite(client *bigtable.Client, reports []report) write {
	b := weather.NewBalloonNewCellsBatcher(weather.NewBalloonNewCellsWriter(client, writing), nil)
	return func(ctx context.Context) error {
		for i := range reports {
			if err := b.Add(ctx, reports[i].event()); err != nil {
				return err
			}
		}
		return b.Flush(ctx)
	}
}

// TestWrite checks that all compared implementations store the same cells.
func TestWrite(t *testing.T) {
	for _, c := range writeCases() {
		t.Run(c.name, func(t *testing.T) {
			reports := reportsOf(min(c.reports, 20), c.balloons)
			var want map[string][]string // what the first one stores
			for _, p := range c.paths {
				bt := weathertest.New(t)
				client := bt.Client
				if !p.wire {
					client = connected(t)(storetest.ConnectPlain(t.Context(), bt.Addr))
				}
				run := p.open(client, reports)
				for range 2 { // the second time with memory that was used
					assert.Must(t, run(t.Context()))
				}
				got, cells := dynamictest.Rows(t.Context(), client, "balloon_new_cells"), 0
				if want == nil {
					want = got
				}
				for _, row := range got {
					cells += len(row)
				}
				if diff := cmp.Diff(want, got); diff != "" || cells != 4*len(reports) {
					t.Errorf("%s: %d cells (-%s +%s)\n%s", p.name, cells, c.paths[0].name, p.name, diff)
				}
			}
		})
	}
}

// BenchmarkWrite measures writes.
func BenchmarkWrite(b *testing.B) {
	on := newBed(b, startAway(b, "tables"))
	for _, c := range writeCases() {
		b.Run("case="+c.name, func(b *testing.B) { c.measure(b, on) })
	}
}

// measure measures all implementations of the write, and the transport of the bytes of one request.
func (c writeCase) measure(b *testing.B, on *bed) {
	all := reportsOf(c.reports, c.balloons)
	for _, p := range c.paths {
		client, reports := on.ordinary, all[:len(all)/max(1, p.sample)]
		if p.wire {
			client = on.wire
		}
		b.Run("path="+p.name, func(b *testing.B) {
			measure(b, size{len(reports), 4 * len(reports)}, p.open(client, reports))
		})
	}
	b.Run("path=transport", func(b *testing.B) {
		reports := all[:min(len(all), 1000)]
		measure(b, size{len(reports), 4 * len(reports)}, on.transport(b, func(client *bigtable.Client) error {
			return bestWrite(client, reports)(b.Context())
		}))
	})
}
