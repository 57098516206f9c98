package weather_test

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/runtime/store"
)

// pattern is one of the example tables, each with a different pattern. Common
// properties are tested for all of them.
type pattern struct {
	table string
	rows  int // that an event is written to
	open  func(client store.Client, o store.ReaderOptions) series
}

// series writes and reads the events of one series, identified by their times.
type series struct {
	write  func(ctx context.Context, times ...time.Time) error
	read   func(ctx context.Context, from, to time.Time) iter.Seq2[time.Time, error]
	latest func(ctx context.Context) (time.Time, error)
}

func (p pattern) write(ctx context.Context, client store.Client, o store.ReaderOptions, times ...time.Time) error {
	return p.open(client, o).write(ctx, times...)
}

func (p pattern) read(ctx context.Context, client store.Client, o store.ReaderOptions, from, to time.Time) iter.Seq2[time.Time, error] {
	return p.open(client, o).read(ctx, from, to)
}

func (p pattern) latest(ctx context.Context, client store.Client, o store.ReaderOptions) (time.Time, error) {
	return p.open(client, o).latest(ctx)
}

// writer and reader are the common methods of generated writers and readers.
type (
	writer[E any] interface {
		WriteAll(context.Context, []E, ...store.WriteOptions) error
	}
	reader[S, E any] interface {
		Read(ctx context.Context, series S, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[E, error]
		Latest(ctx context.Context, series S) (E, error)
	}
)

// patternOf returns the pattern for a table's writer and reader.
func patternOf[W writer[E], R reader[S, E], S, E any](
	table string, rows int,
	newWriter func(store.Client, ...store.WriterOptions) W, newReader func(store.Client, ...store.ReaderOptions) R,
	of S, event func(S, time.Time) E, timeOf func(E) time.Time,
) pattern {
	return pattern{table, rows, func(client store.Client, o store.ReaderOptions) series {
		w, r := newWriter(client, writing(o)), newReader(client, o)
		return series{
			write: func(ctx context.Context, times ...time.Time) error {
				var events []E
				for _, at := range times {
					events = append(events, event(of, at))
				}
				return w.WriteAll(ctx, events)
			},
			read: func(ctx context.Context, from, to time.Time) iter.Seq2[time.Time, error] {
				return func(yield func(time.Time, error) bool) {
					for e, err := range r.Read(ctx, of, from, to) {
						if !yield(timeOf(e), err) {
							return
						}
					}
				}
			},
			latest: func(ctx context.Context) (time.Time, error) {
				e, err := r.Latest(ctx, of)
				return timeOf(e), err
			},
		}
	}}
}

var patterns = []pattern{
	patternOf("balloon_new_columns", 4, weather.NewBalloonNewColumnsWriter, weather.NewBalloonNewColumnsReader,
		weather.BalloonNewColumnsSeries{Location: "us-west2", BalloonID: 3698},
		func(s weather.BalloonNewColumnsSeries, at time.Time) weather.BalloonNewColumnsEvent {
			return weather.BalloonNewColumnsEvent{BalloonNewColumnsSeries: s, Time: at, Pressure: 94558}
		},
		func(e weather.BalloonNewColumnsEvent) time.Time { return e.Time }),
	patternOf("balloon_new_cells", 1, weather.NewBalloonNewCellsWriter, weather.NewBalloonNewCellsReader,
		weather.BalloonNewCellsSeries{Location: "us-west2", BalloonID: 3698},
		func(s weather.BalloonNewCellsSeries, at time.Time) weather.BalloonNewCellsEvent {
			return weather.BalloonNewCellsEvent{BalloonNewCellsSeries: s, Time: at, Pressure: 94558}
		},
		func(e weather.BalloonNewCellsEvent) time.Time { return e.Time }),
	patternOf("balloon_serialized", 1, weather.NewBalloonSerializedWriter, weather.NewBalloonSerializedReader,
		weather.BalloonSerializedSeries{Location: "us-west2", BalloonID: 3698},
		func(s weather.BalloonSerializedSeries, at time.Time) weather.BalloonSerializedEvent {
			return weather.BalloonSerializedEvent{BalloonSerializedSeries: s, Time: at, Pressure: 94558}
		},
		func(e weather.BalloonSerializedEvent) time.Time { return e.Time }),
	patternOf("balloon_unserialized", 1, weather.NewBalloonUnserializedWriter, weather.NewBalloonUnserializedReader,
		weather.BalloonUnserializedSeries{Location: "us-west2", BalloonID: 3698},
		func(s weather.BalloonUnserializedSeries, at time.Time) weather.BalloonUnserializedEvent {
			return weather.BalloonUnserializedEvent{BalloonUnserializedSeries: s, Time: at, Pressure: 94558}
		},
		func(e weather.BalloonUnserializedEvent) time.Time { return e.Time }),
	patternOf("balloon_combined", 1, weather.NewBalloonCombinedWriter, weather.NewBalloonCombinedReader,
		weather.BalloonCombinedSeries{Location: "us-west2", BalloonID: 3698},
		func(s weather.BalloonCombinedSeries, at time.Time) weather.BalloonCombinedEvent {
			return weather.BalloonCombinedEvent{BalloonCombinedSeries: s, Time: at, Pressure: 94558}
		},
		func(e weather.BalloonCombinedEvent) time.Time { return e.Time }),
}

// forEachPattern runs a test for every pattern.
func forEachPattern(t *testing.T, test func(t *testing.T, p pattern)) {
	for _, p := range patterns {
		t.Run(p.table, func(t *testing.T) { test(t, p) })
	}
}

// weeks returns n times, a week apart, each in a different bucket.
func weeks(n int) []time.Time {
	var out []time.Time
	for i := range n {
		out = append(out, noon.AddDate(0, 0, 7*i))
	}
	return out
}

// at returns options with a fixed clock.
func at(now time.Time) store.ReaderOptions {
	return store.ReaderOptions{Now: func() time.Time { return now }}
}

// writing returns the writer options that correspond to the given reader options.
func writing(o store.ReaderOptions) store.WriterOptions {
	return store.WriterOptions{TablePrefix: o.TablePrefix, Now: o.Now, Timeout: o.Timeout, Hooks: o.Hooks}
}
