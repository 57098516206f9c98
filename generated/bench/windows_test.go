package main

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/golden/inmemory"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// eventsIn returns the number of events in windows.
func eventsIn[W any](all iter.Seq2[W, error], in func(w W) int64) (n int, err error) {
	for w, err := range all {
		if err != nil {
			return n, err
		}
		n += int(in(w))
	}
	return n, nil
}

// readHours reads the hours of a week, and returns the number of events.
func readHours(client *bigtable.Client) func(ctx context.Context) (int, error) {
	r := weather.NewBalloonNewCellsReader(client, options)
	s := weather.BalloonNewCellsSeries{Location: location, BalloonID: balloon}
	return func(ctx context.Context) (int, error) {
		return eventsIn(r.Windows(ctx, s, end.Add(-week), end, window.Every(time.Hour)), func(w weather.BalloonNewCellsWindow) int64 { return w.Events })
	}
}

// BenchmarkWindows measures what windows cost compared with columns, from which an application would compute the hours.
func BenchmarkWindows(b *testing.B) {
	on := newBed(b, startAway(b, "tables"))
	n := len(readings(end.Add(-week), end))
	columns, hours := generatedCells[0].reader(on.wire), readHours(on.wire)
	b.Run("read=columns", func(b *testing.B) {
		measure(b, size{n, 4 * n}, func(ctx context.Context) error { return columns(ctx, end.Add(-week), end, nil) })
	})
	b.Run("read=windows", func(b *testing.B) {
		measure(b, size{n, 4 * n}, func(ctx context.Context) error { _, err := hours(ctx); return err })
	})
}

// manyCities is the number of series in table daily_cells, each with a number of days.
const manyCities, cityDays = 1000, 4 * 365

// cities returns the rows of the cities, with the days of four years.
func cities() (out rows) {
	for i := range manyCities * cityDays / 365 {
		city, year := i/4, 2018+i%4
		out = append(out, row{fmt.Sprintf("city-%03d#%d", city, year), func() (out []inmemory.Cell) {
			for _, field := range []string{"precipitation", "temp_max", "temp_min", "weather", "wind"} {
				for day := 364; day >= 0; day-- {
					value := codec.Binary.Float64.Append(nil, float64((city+day)%40))
					switch field {
					case "wind":
						value = codec.Binary.Float32.Append(nil, float32(day%10))
					case "weather":
						value = codec.Binary.Int64.Append(nil, 1)
					}
					out = append(out, inmemory.Cell{Family: "m", Qualifier: field, Micros: time.Date(year, 1, 1+day, 0, 0, 0, 0, time.UTC).UnixMicro(), Value: value})
				}
			}
			return out
		}})
	}
	return out
}

// readCities reads a window of a year of each city, with a number of goroutines. It returns the number
// of days.
func readCities(client *bigtable.Client, parallelism int) func(ctx context.Context) (int, error) {
	o := options
	o.Timeout = store.NoTimeout // the first times, all responses are computed
	r := examples.NewDailyReader(client, o)
	return func(ctx context.Context) (n int, err error) {
		all := r.AllCitiesWindows(ctx, time.Time{}, end, window.Years(1, time.UTC), store.WindowOptions{Parallelism: parallelism})
		return eventsIn(all, func(w examples.DailyWindow) int64 { return w.Events })
	}
}

// BenchmarkWindowsInParts measures a query of 1,000 series with one core, with two, and two such queries
// at once, each with one core, from responses in memory: a server would share the cores. The two that have
// nothing in common show what the machine gives for a second core, which may be less than twice as much.
// Each iteration does all, so that other load on the machine affects them alike.
func BenchmarkWindowsInParts(b *testing.B) {
	client := inProcess(b, newServer(tables())).wire
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var wall [3]time.Duration
	runAll := func() {
		for i, way := range []struct{ cores, queries, parallelism int }{{1, 1, 1}, {2, 1, 2}, {2, 2, 1}} {
			runtime.GOMAXPROCS(way.cores)
			begin := time.Now()
			var all sync.WaitGroup
			for range way.queries {
				all.Go(func() {
					if n, err := readCities(client, way.parallelism)(b.Context()); n != cityDays*manyCities || err != nil {
						b.Error(n, err)
					}
				})
			}
			all.Wait()
			wall[i] += time.Since(begin)
		}
	}
	runAll()
	runAll() // now all responses are in memory
	defer debug.SetGCPercent(debug.SetGCPercent(percentOf(16 << 20)))
	wall = [3]time.Duration{}
	for b.Loop() {
		runAll()
	}
	b.ReportMetric(float64(wall[0])/float64(wall[1]), speedup)
	b.ReportMetric(2*float64(wall[0])/float64(wall[2]), speedupApart)
	b.ReportMetric(0, "ns/op")
}

// percentOf returns the percentage of the heap after which garbage is collected as often as in a program
// that holds a number of bytes. The responses in memory would make collections rare.
func percentOf(held uint64) int { return max(1, int(100*held/heap())) }

// TestWindows checks that the benchmark reads all events.
func TestWindows(t *testing.T) {
	testlong.Skip(t, "a year of readings")
	client := inProcess(t, newServer(tables())).wire
	if n, err := readHours(client)(t.Context()); err != nil || n != int(week/time.Minute) {
		t.Errorf("%d events, %v", n, err)
	}
	for _, parallelism := range []int{-1, 2} {
		if n, err := readCities(client, parallelism)(t.Context()); err != nil || n != cityDays*manyCities {
			t.Errorf("%d events, %v", n, err)
		}
	}
}
