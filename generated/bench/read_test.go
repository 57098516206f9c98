package main

import (
	"context"
	"iter"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// readCases are all reads.
func readCases() []benchmark { return append(patternReads(), shortAndManyReads()...) }

// patternReads reads a week of a balloon in each pattern or, if it has no such table, of a host.
func patternReads() []benchmark {
	return []benchmark{
		readCase[reading]{
			name: "bucket_new_cells", span: week, cells: 4, want: readings,
			common:    commonReader(commonNewCells),
			best:      bestReader[reading]((*bestColumns).newCells),
			generated: generated(newCellsCalls(), readingOf),
		},
		readCase[reading]{
			name: "bucket_new_columns", span: week, cells: 4, want: readings,
			common: commonReader(commonNewColumns),
			best:   bestReader[reading]((*bestMinutes).newColumns),
			generated: generated(seriesOf(weather.NewBalloonNewColumnsReader,
				weather.BalloonNewColumnsSeries{Location: location, BalloonID: balloon}), readingOf),
		},
		readCase[reading]{
			name: "bucket_serialized", span: week, cells: 1, want: readings,
			common: commonReader(commonBlobs),
			best:   bestReader[reading]((*bestColumns).blobs),
			generated: generated(seriesOf(weather.NewBalloonCombinedReader,
				weather.BalloonCombinedSeries{Location: location, BalloonID: balloon}), readingOf),
		},
		readCase[sample]{
			name: "bucket_offsets", span: week, cells: 1,
			want:   func(from, to time.Time) []sample { return samples(0, 1, from, to) },
			common: commonReader(commonSeries),
			best:   bestReader[sample]((*bestSamples).series),
			generated: generated(seriesOf(examples.NewSampleReader,
				examples.SampleSeries{Metric: metric, Host: hostName(0)}), sampleOf),
		},
		readCase[reading]{
			name: "single_unserialized", span: week, cells: 4, want: readings,
			common: commonReader(commonUnserialized),
			best:   bestReader[reading]((*bestColumns).unserialized),
			generated: generated(seriesOf(weather.NewBalloonUnserializedReader,
				weather.BalloonUnserializedSeries{Location: location, BalloonID: balloon}), readingOf),
		},
		readCase[reading]{
			name: "single_serialized", span: week, cells: 1, want: readings,
			common: commonReader(commonSerialized),
			best:   bestReader[reading]((*bestColumns).serialized),
			generated: generated(seriesOf(weather.NewBalloonSerializedReader,
				weather.BalloonSerializedSeries{Location: location, BalloonID: balloon}), readingOf),
		},
	}
}

// shortAndManyReads reads parts of a row, and many series.
func shortAndManyReads() []benchmark {
	return []benchmark{
		readCase[reading]{
			name: "day_of_week", span: 24 * time.Hour, cells: 4, want: readings,
			common:    commonReader(commonNewCells),
			best:      bestReader[reading]((*bestColumns).newCells),
			generated: generated(newCellsCalls(), readingOf),
		},
		readCase[reading]{
			name: "latest", span: week, cells: 4,
			want:      func(time.Time, time.Time) []reading { return readings(end.Add(-time.Minute), end) },
			common:    commonReader(commonLatest),
			best:      bestReader[reading]((*bestColumns).latest),
			generated: []named[reading]{{"", latest}},
		},
		readCase[sample]{
			name: "series_1000", span: time.Hour, cells: 1,
			want:      func(from, to time.Time) []sample { return samples(0, hosts, from, to) },
			common:    commonReader(commonPointsOf),
			best:      bestReader[sample]((*bestSamples).points),
			generated: generated(byMetricID, sampleOf),
		},
		readCase[sample]{
			name: "salts_16", span: time.Hour, cells: 1,
			want:      func(from, to time.Time) []sample { return samples(0, saltedHosts, from, to) },
			common:    commonReader(commonSalted),
			best:      bestReader[sample]((*bestSalted).read),
			generated: generated(byMetric, sampleOf),
		},
	}
}

// commonReader adapts a common implementation to a reader.
func commonReader[E any](get func(ctx context.Context, client *bigtable.Client, from, to time.Time) ([]E, error)) reader[E] {
	return func(client *bigtable.Client) read[E] {
		return func(ctx context.Context, from, to time.Time, take func(E)) error {
			events, err := get(ctx, client, from, to)
			for i := 0; take != nil && i < len(events); i++ {
				take(events[i])
			}
			return err
		}
	}
}

// bestReader adapts the best implementation to a reader. Its columns are reused.
func bestReader[E, C any, P interface {
	*C
	length() int
	event(i int) E
}](get func(columns P, ctx context.Context, client *bigtable.Client, from, to time.Time) error) reader[E] {
	return func(client *bigtable.Client) read[E] {
		columns := P(new(C))
		return func(ctx context.Context, from, to time.Time, take func(E)) error {
			err := get(columns, ctx, client, from, to)
			for i := 0; take != nil && i < columns.length(); i++ {
				take(columns.event(i))
			}
			return err
		}
	}
}

// newCellsCalls returns the calls that read weeks with a column for each field.
func newCellsCalls() func(*bigtable.Client) calls[weather.BalloonNewCellsEvent, weather.BalloonNewCellsColumns] {
	return seriesOf(weather.NewBalloonNewCellsReader, weather.BalloonNewCellsSeries{Location: location, BalloonID: balloon})
}

// latest returns the case that reads the newest event.
func latest(client *bigtable.Client) read[reading] {
	r := weather.NewBalloonNewCellsReader(client, options)
	return func(ctx context.Context, _, _ time.Time, take func(reading)) error {
		e, err := r.Latest(ctx, weather.BalloonNewCellsSeries{Location: location, BalloonID: balloon})
		if take != nil {
			take(reading{e.Time, e.Pressure, e.Temperature, e.Humidity, e.Altitude})
		}
		return err
	}
}

// byMetric returns the calls that read all hosts of a metric from the salted table.
func byMetric(client *bigtable.Client) calls[examples.SampleEvent, examples.SampleColumns] {
	r := examples.NewSampleReader(client, options)
	return calls[examples.SampleEvent, examples.SampleColumns]{
		events: func(ctx context.Context, from, to time.Time) iter.Seq2[examples.SampleEvent, error] {
			return r.ByMetric(ctx, metric, from, to)
		},
		columns: func(ctx context.Context, from, to time.Time, columns *examples.SampleColumns) error {
			return r.ByMetricColumns(ctx, metric, from, to, columns)
		},
	}
}

// byMetricID is byMetric for the table with binary keys.
func byMetricID(client *bigtable.Client) calls[examples.PointEvent, examples.PointColumns] {
	r := examples.NewPointReader(client, options)
	return calls[examples.PointEvent, examples.PointColumns]{
		events: func(ctx context.Context, from, to time.Time) iter.Seq2[examples.PointEvent, error] {
			return r.ByMetric(ctx, metricID, from, to)
		},
		columns: func(ctx context.Context, from, to time.Time, columns *examples.PointColumns) error {
			return r.ByMetricColumns(ctx, metricID, from, to, columns)
		},
	}
}

// TestRead checks that all compared implementations return the same events.
func TestRead(t *testing.T) {
	testlong.Skip(t, "reads weeks of events")
	on := newBed(t, startHere(t, tables()))
	for _, c := range readCases() {
		t.Run(c.title(), func(t *testing.T) { c.test(t, on) })
	}
}

// BenchmarkRead measures reads.
func BenchmarkRead(b *testing.B) {
	on := newBed(b, startAway(b, "tables"))
	for _, c := range readCases() {
		b.Run("case="+c.title(), func(b *testing.B) { c.measure(b, on) })
	}
}
