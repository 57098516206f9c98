package main

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/store"
)

// read reads a time range. take, unless it is nil, is called with each event, after
// the read or, if the reader yields events, during it.
type read[E any] func(ctx context.Context, from, to time.Time, take func(E)) error

// reader returns how a client reads.
type reader[E any] func(client *bigtable.Client) read[E]

// named is a reader with a name.
type named[E any] struct {
	name   string
	reader reader[E]
}

// readCase is a read to measure.
type readCase[E comparable] struct {
	name         string
	span         time.Duration // that is read by benchmarks, up to the end
	cells        int           // of an event
	want         func(from, to time.Time) []E
	common, best reader[E]
	generated    []named[E]
}

// benchmark is a case to measure and test.
type benchmark interface {
	title() string
	measure(b *testing.B, on *bed)
	test(t *testing.T, on *bed)
}

func (c readCase[E]) title() string { return c.name }

// paths yields all implementations of the read.
func (c readCase[E]) paths(on *bed) iter.Seq2[string, read[E]] {
	return func(yield func(name string, read read[E]) bool) {
		more := yield("common", c.common(on.ordinary)) && yield("best", c.best(on.ordinary))
		for _, g := range c.generated {
			more = more && yield("ordinary"+g.name, g.reader(on.ordinary)) && yield("wire"+g.name, g.reader(on.wire))
		}
	}
}

// measure measures all implementations of the read, and the transport of the same bytes.
func (c readCase[E]) measure(b *testing.B, on *bed) {
	from := end.Add(-c.span)
	n := len(c.want(from, end))
	s := size{events: n, cells: n * c.cells}
	for name, read := range c.paths(on) {
		b.Run("path="+name, func(b *testing.B) {
			got := 0
			if err := read(b.Context(), from, end, func(E) { got++ }); err != nil || got != n {
				b.Fatalf("%d events of %d: %v", got, n, err)
			}
			measure(b, s, func(ctx context.Context) error { return read(ctx, from, end, nil) })
		})
	}
	b.Run("path=transport", func(b *testing.B) {
		measure(b, s, on.transport(b, func(client *bigtable.Client) error {
			return c.best(client)(b.Context(), from, end, nil)
		}))
	})
}

// test checks that all implementations return the stored events. The time range is
// short, and cuts two rows if the case reads whole ones.
func (c readCase[E]) test(t *testing.T, on *bed) {
	edge := end.Add(-c.span)
	from, to := edge.Add(-20*time.Minute), edge.Add(15*time.Minute)
	want := c.want(from, to)
	for name, read := range c.paths(on) {
		for range 2 { // the second time with memory that was used
			var got []E
			err := read(t.Context(), from, to, func(e E) { got = append(got, e) })
			if err != nil || !slices.Equal(want, got) {
				t.Errorf("%s: %v (-stored +read)\n%s", name, err, cmp.Diff(want, got, cmp.AllowUnexported(reading{}, sample{})))
			}
		}
	}
}

// generated returns the implementations of generated code, which return the events of a time range one by one, or as
// columns, which are reused.
func generated[E, R, K, G, C any, P interface {
	*C
	Reset()
}](
	open func(client store.Client, opts ...store.ReaderOptions) R, key K,
	events func(r R, ctx context.Context, key K, from, to time.Time, opts ...store.ReadOptions) iter.Seq2[G, error],
	columns func(r R, ctx context.Context, key K, from, to time.Time, columns *C, opts ...store.ReadOptions) error,
	of func(fields) E,
) []named[E] {
	asColumns := func(client *bigtable.Client) read[E] {
		r, c := open(client, options), new(C)
		return func(ctx context.Context, from, to time.Time, take func(E)) error {
			P(c).Reset()
			err := columns(r, ctx, key, from, to, c)
			if take != nil {
				v := reflect.ValueOf(c).Elem()
				for i := range v.FieldByName("Time").Len() {
					take(of(columnFields(v, i)))
				}
			}
			return err
		}
	}
	asEvents := func(client *bigtable.Client) read[E] {
		r := open(client, options)
		return func(ctx context.Context, from, to time.Time, take func(E)) error {
			for event, err := range events(r, ctx, key, from, to) {
				if err != nil {
					return err
				}
				if take != nil {
					take(of(reflect.ValueOf(event).FieldByName))
				}
			}
			return nil
		}
	}
	return []named[E]{{"-columns", asColumns}, {"-events", asEvents}}
}

// fields returns a field of a generated event.
type fields func(name string) reflect.Value

// columnFields returns the fields of the i-th event of generated columns.
func columnFields(columns reflect.Value, i int) fields {
	return func(name string) reflect.Value {
		if column := columns.FieldByName(name); column.IsValid() {
			return column.Index(i)
		}
		return columns.FieldByName("Series").Index(i).FieldByName(name)
	}
}

// readingOf converts a generated event to a reading.
func readingOf(field fields) reading {
	return reading{
		time:        field("Time").Interface().(time.Time),
		pressure:    field("Pressure").Int(),
		temperature: field("Temperature").Float(),
		humidity:    field("Humidity").Int(),
		altitude:    field("Altitude").Int(),
	}
}

// sampleOf converts a generated event to a sample. Its host is a name or a number.
func sampleOf(field fields) sample {
	host := field("Host")
	s := sample{time: field("Time").Interface().(time.Time), value: field("Value").Float()}
	if host.CanUint() {
		s.host = int(host.Uint())
	} else if _, err := fmt.Sscanf(host.String(), "web-%d", &s.host); err != nil {
		s.host = -1
	}
	return s
}

// options set a fixed clock, so that requests repeat.
var options = store.ReaderOptions{Now: func() time.Time { return now }}

// generatedCells read weeks with a column for each field.
var generatedCells = generated(weather.NewBalloonNewCellsReader, weather.BalloonNewCellsSeries{Location: location, BalloonID: balloon},
	(*weather.BalloonNewCellsReader).Read, (*weather.BalloonNewCellsReader).ReadColumns, readingOf)

// readCases are all reads: of a week of a balloon in each pattern or, if it has no such table, of a host, of parts of a row, and
// of many series.
func readCases() []benchmark {
	commonCells := commonReads("balloon_new_cells", commonWeeks("%s#%d#week%d"), commonPoints.addCell)
	bestCells := bestReads("balloon_new_cells", bestWeeks("week%d"), (*bestColumns).addCells)
	samplesOf := func(hosts int) func(from, to time.Time) []sample {
		return func(from, to time.Time) []sample { return samples(0, hosts, from, to) }
	}
	return []benchmark{
		readCase[reading]{
			name: "bucket_new_cells", span: week, cells: 4, want: readings, common: commonCells, best: bestCells, generated: generatedCells,
		},
		readCase[reading]{
			name: "bucket_new_columns", span: week, cells: 4, want: readings,
			common: commonReads("balloon_new_columns",
				commonWeeks("%s#%d#pressure#week%d", "%s#%d#temperature#week%d", "%s#%d#humidity#week%d", "%s#%d#altitude#week%d"), commonPoints.addColumn),
			best: bestReader[reading]((*bestByMinute).newColumns),
			generated: generated(weather.NewBalloonNewColumnsReader, weather.BalloonNewColumnsSeries{Location: location, BalloonID: balloon},
				(*weather.BalloonNewColumnsReader).Read, (*weather.BalloonNewColumnsReader).ReadColumns, readingOf),
		},
		readCase[reading]{
			name: "bucket_serialized", span: week, cells: 1, want: readings,
			common: commonReads("balloon_combined", commonWeeks("%s#%d#week%04d"), commonPoints.addBlob),
			best:   bestReads("balloon_combined", bestWeeks("week%04d"), (*bestColumns).addBlobs),
			generated: generated(weather.NewBalloonCombinedReader, weather.BalloonCombinedSeries{Location: location, BalloonID: balloon},
				(*weather.BalloonCombinedReader).Read, (*weather.BalloonCombinedReader).ReadColumns, readingOf),
		},
		readCase[sample]{
			name: "bucket_offsets", span: week, cells: 1, want: samplesOf(1),
			common: commonReader(commonSeries),
			best:   bestReader[sample]((*bestSamples).series),
			generated: generated(examples.NewSampleReader, examples.SampleSeries{Metric: metric, Host: hostName(0)},
				(*examples.SampleReader).Read, (*examples.SampleReader).ReadColumns, sampleOf),
		},
		readCase[reading]{
			name: "single_unserialized", span: week, cells: 4, want: readings,
			common: commonReads("balloon_unserialized", commonMinutes, commonPoints.addCell),
			best:   bestReads("balloon_unserialized", bestMinutes, (*bestColumns).addCells),
			generated: generated(weather.NewBalloonUnserializedReader, weather.BalloonUnserializedSeries{Location: location, BalloonID: balloon},
				(*weather.BalloonUnserializedReader).Read, (*weather.BalloonUnserializedReader).ReadColumns, readingOf),
		},
		readCase[reading]{
			name: "single_serialized", span: week, cells: 1, want: readings,
			common: commonReads("balloon_serialized", commonMinutes, commonPoints.addBlob),
			best:   bestReads("balloon_serialized", bestMinutes, (*bestColumns).addBlobs),
			generated: generated(weather.NewBalloonSerializedReader, weather.BalloonSerializedSeries{Location: location, BalloonID: balloon},
				(*weather.BalloonSerializedReader).Read, (*weather.BalloonSerializedReader).ReadColumns, readingOf),
		},
		readCase[reading]{
			name: "day_of_week", span: 24 * time.Hour, cells: 4, want: readings, common: commonCells, best: bestCells, generated: generatedCells,
		},
		readCase[reading]{
			name: "latest", span: week, cells: 4,
			want:      func(time.Time, time.Time) []reading { return readings(end.Add(-time.Minute), end) },
			common:    commonReader(commonLatest),
			best:      bestReader[reading]((*bestColumns).latest),
			generated: []named[reading]{{"", latest}},
		},
		readCase[sample]{
			name: "series_1000", span: time.Hour, cells: 1, want: samplesOf(hosts),
			common:    commonReader(commonPointsOf),
			best:      bestReader[sample]((*bestSamples).points),
			generated: generated(examples.NewPointReader, metricID, (*examples.PointReader).ByMetric, (*examples.PointReader).ByMetricColumns, sampleOf),
		},
		readCase[sample]{
			name: "salts_16", span: time.Hour, cells: 1, want: samplesOf(saltedHosts),
			common:    commonReader(commonSalted),
			best:      bestReader[sample]((*bestSamples).salted),
			generated: generated(examples.NewSampleReader, metric, (*examples.SampleReader).ByMetric, (*examples.SampleReader).ByMetricColumns, sampleOf),
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

// TestRead checks that all compared implementations return the same events.
func TestRead(t *testing.T) {
	testlong.Skip(t, "reads weeks of events")
	on := inProcess(t, newServer(tables()))
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

// BenchmarkScale measures how the cost of reads grows with the time range, and how
// much memory they hold if the caller keeps nothing.
func BenchmarkScale(b *testing.B) {
	on := newBed(b, startAway(b, "tables"))
	best := bestReads("balloon_new_cells", bestWeeks("week%d"), (*bestColumns).addCells)
	for _, s := range spans {
		from, n := end.Add(-s.span), int(s.span/time.Minute)
		run := func(b *testing.B, r read[reading]) {
			measure(b, size{n, 4 * n}, func(ctx context.Context) error { return r(ctx, from, end, nil) })
		}
		b.Run("span="+s.name, func(b *testing.B) {
			b.Run("path=best", func(b *testing.B) { run(b, best(on.ordinary)) })
			b.Run("path=wire-columns", func(b *testing.B) { run(b, generatedCells[0].reader(on.wire)) })
			b.Run("path=wire-events", func(b *testing.B) {
				events := generatedCells[1].reader(on.wire)
				run(b, events)
				b.ReportMetric(float64(held(b, events, from))/1e6, heldMB)
			})
		})
	}
}

// held returns the maximum number of bytes that a read holds, sampled many times,
// beyond those held before it.
func held(b *testing.B, events read[reading], from time.Time) uint64 {
	b.Helper()
	before, most, n := heap(), uint64(0), 0
	err := events(b.Context(), from, end, func(reading) {
		if n++; n%1000 == 1 {
			most = max(most, heap())
		}
	})
	assert.Must(b, err)
	return most - min(most, before)
}

// heap returns the size of the reachable objects in bytes. Pools release their
// memory in two collections.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
