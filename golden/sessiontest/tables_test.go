package sessiontest_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// noon is the time of all reads.
var noon = time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC)

// clock always shows noon.
var clock = store.ReaderOptions{Now: func() time.Time { return noon }}

// table is a generated writer and reader, with events of one series at regular times.
type table struct {
	name  string
	setup func(ctx context.Context, admin *bigtable.AdminClient) error
	open  func(client store.Client, o store.ReaderOptions) access
}

// access writes events and reads them in several ways, as strings.
type access struct {
	writeOne func(ctx context.Context, n int) error
	writeAll func(ctx context.Context, n, end int) error
	reads    map[string]read
}

type read func(ctx context.Context) ([]string, error)

type writer[E any] interface {
	Write(ctx context.Context, event E, opts ...store.WriteOptions) error
	WriteAll(ctx context.Context, events []E, opts ...store.WriteOptions) error
}

type reader[S, E any] interface {
	Read(ctx context.Context, series S, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[E, error]
	Latest(ctx context.Context, series S) (E, error)
}

// eventsOfEach is the number of events that tests write to a table.
const eventsOfEach = 4

// tableOf returns the table of a writer and a reader. The interval of the events is
// step, and the last of them is before noon.
func tableOf[W writer[E], R reader[S, E], S, E any](
	name string, create func(context.Context, setup.Admin, store.Client, ...setup.Options) (setup.Plan, error),
	newWriter func(store.Client, ...store.WriterOptions) W, newReader func(store.Client, ...store.ReaderOptions) R,
	step time.Duration, series S, event func(series S, at time.Time, n int) E,
) table {
	times := func(n int) time.Time { return noon.Add(time.Duration(n-eventsOfEach)*step - time.Minute) }
	nth := func(n int) E { return event(series, times(n), n) }
	return table{name: name,
		setup: func(ctx context.Context, admin *bigtable.AdminClient) error {
			_, err := create(ctx, admin, nil, setup.Options{NoHistory: true})
			return err
		},
		open: func(client store.Client, o store.ReaderOptions) access {
			w, r := newWriter(client, writing(o)), newReader(client, o)
			query := func(from, to time.Time, o store.ReadOptions) read {
				return func(ctx context.Context) (out []string, err error) {
					for e, err := range r.Read(ctx, series, from, to, o) {
						if err != nil {
							return out, err
						}
						out = append(out, fmt.Sprintf("%+v", e))
					}
					return out, nil
				}
			}
			begin, one := times(0), times(1)
			return access{
				writeOne: func(ctx context.Context, n int) error { return w.Write(ctx, nth(n)) },
				writeAll: func(ctx context.Context, n, end int) error {
					var events []E
					for ; n < end; n++ {
						events = append(events, nth(n))
					}
					return w.WriteAll(ctx, events)
				},
				reads: map[string]read{
					"all":               query(begin, noon, store.ReadOptions{}),
					"one":               query(one, one.Add(time.Minute), store.ReadOptions{}),
					"newest first":      query(begin, noon, store.ReadOptions{NewestFirst: true}),
					"one, newest first": query(one, one.Add(time.Minute), store.ReadOptions{NewestFirst: true}),
					"first":             query(begin, noon, store.ReadOptions{Limit: 1}),
					"last":              query(begin, noon, store.ReadOptions{Limit: 1, NewestFirst: true}),
					"latest only":       query(begin, noon, store.ReadOptions{LatestOnly: true}),
					"latest": func(ctx context.Context) ([]string, error) {
						e, err := r.Latest(ctx, series)
						return []string{fmt.Sprintf("%+v", e)}, err
					},
				},
			}
		},
	}
}

const week = 7 * 24 * time.Hour

// tables cover each pattern, labels that sort and ones that do not, salts, text and
// binary keys, and each way to expire.
var tables = []table{
	tableOf("new columns", weather.SetupBalloonNewColumns, weather.NewBalloonNewColumnsWriter, weather.NewBalloonNewColumnsReader, week,
		weather.BalloonNewColumnsSeries{Location: "l", BalloonID: 1}, func(s weather.BalloonNewColumnsSeries, at time.Time, n int) weather.BalloonNewColumnsEvent {
			return weather.BalloonNewColumnsEvent{BalloonNewColumnsSeries: s, Time: at, Pressure: int64(n)}
		}),
	tableOf("new cells", weather.SetupBalloonNewCells, weather.NewBalloonNewCellsWriter, weather.NewBalloonNewCellsReader, week,
		weather.BalloonNewCellsSeries{Location: "l", BalloonID: 1}, func(s weather.BalloonNewCellsSeries, at time.Time, n int) weather.BalloonNewCellsEvent {
			return weather.BalloonNewCellsEvent{BalloonNewCellsSeries: s, Time: at, Pressure: int64(n)}
		}),
	tableOf("combined", weather.SetupBalloonCombined, weather.NewBalloonCombinedWriter, weather.NewBalloonCombinedReader, week,
		weather.BalloonCombinedSeries{Location: "l", BalloonID: 1}, func(s weather.BalloonCombinedSeries, at time.Time, n int) weather.BalloonCombinedEvent {
			return weather.BalloonCombinedEvent{BalloonCombinedSeries: s, Time: at, Pressure: int64(n)}
		}),
	tableOf("serialized", weather.SetupBalloonSerialized, weather.NewBalloonSerializedWriter, weather.NewBalloonSerializedReader, time.Hour,
		weather.BalloonSerializedSeries{Location: "l", BalloonID: 1}, func(s weather.BalloonSerializedSeries, at time.Time, n int) weather.BalloonSerializedEvent {
			return weather.BalloonSerializedEvent{BalloonSerializedSeries: s, Time: at, Pressure: int64(n)}
		}),
	tableOf("unserialized", weather.SetupBalloonUnserialized, weather.NewBalloonUnserializedWriter, weather.NewBalloonUnserializedReader, time.Hour,
		weather.BalloonUnserializedSeries{Location: "l", BalloonID: 1}, func(s weather.BalloonUnserializedSeries, at time.Time, n int) weather.BalloonUnserializedEvent {
			return weather.BalloonUnserializedEvent{BalloonUnserializedSeries: s, Time: at, Pressure: int64(n)}
		}),
	tableOf("salted offsets", examples.SetupSample, examples.NewSampleWriter, examples.NewSampleReader, time.Hour,
		examples.SampleSeries{Metric: "m", Host: "h"}, func(s examples.SampleSeries, at time.Time, n int) examples.SampleEvent {
			return examples.SampleEvent{SampleSeries: s, Time: at, Value: float64(n)}
		}),
	tableOf("binary offsets", examples.SetupPoint, examples.NewPointWriter, examples.NewPointReader, time.Hour,
		examples.PointSeries{Metric: 1, Host: 2}, func(s examples.PointSeries, at time.Time, n int) examples.PointEvent {
			return examples.PointEvent{PointSeries: s, Time: at, Value: float64(n)}
		}),
	tableOf("serialized offsets", examples.SetupTick, examples.NewTickWriter, examples.NewTickReader, time.Hour,
		examples.TickSeries{Exchange: "e", Symbol: "s"}, func(s examples.TickSeries, at time.Time, n int) examples.TickEvent {
			return examples.TickEvent{TickSeries: s, Time: at, Size: int64(n)}
		}),
	tableOf("two families", examples.SetupReading, examples.NewReadingWriter, examples.NewReadingReader, time.Hour,
		examples.ReadingSeries{Device: "d"}, func(s examples.ReadingSeries, at time.Time, n int) examples.ReadingEvent {
			return examples.ReadingEvent{ReadingSeries: s, Time: at}
		}),
	tableOf("bucket in the middle", examples.SetupPosition, examples.NewPositionWriter, examples.NewPositionReader, time.Hour,
		examples.PositionSeries{Region: "r", Line: "l", Vehicle: 1}, func(s examples.PositionSeries, at time.Time, n int) examples.PositionEvent {
			return examples.PositionEvent{PositionSeries: s, Time: at, Latitude: float64(n)}
		}),
	tableOf("newest first", examples.SetupActivity, examples.NewActivityWriter, examples.NewActivityReader, time.Hour,
		examples.ActivitySeries{Repository: "r", Actor: "a"}, func(s examples.ActivitySeries, at time.Time, n int) examples.ActivityEvent {
			return examples.ActivityEvent{ActivitySeries: s, Time: at, Kind: examples.ActivityKindPush}
		}),
	tableOf("one second", examples.SetupUsageOneSecond, examples.NewUsageOneSecondWriter, examples.NewUsageOneSecondReader, time.Hour,
		examples.UsageOneSecondSeries{Customer: "c"}, func(s examples.UsageOneSecondSeries, at time.Time, n int) examples.UsageOneSecondEvent {
			return examples.UsageOneSecondEvent{UsageOneSecondSeries: s, Time: at, Requests: int64(n), ExpiresAt: noon.Add(time.Hour)}
		}),
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// writing returns the options of a writer that has what those of a reader have.
func writing(o store.ReaderOptions) store.WriterOptions {
	return store.WriterOptions{TablePrefix: o.TablePrefix, Now: o.Now, Timeout: o.Timeout, Hooks: o.Hooks}
}
