package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// windowReads are reads of a week: by hour, and as columns, from which an application would compute the
// hours. They return the number of events.
func windowReads(client *bigtable.Client) map[string]func(ctx context.Context, from, to time.Time) (int, error) {
	r := weather.NewBalloonNewCellsReader(client, options)
	s := weather.BalloonNewCellsSeries{Location: location, BalloonID: balloon}
	columns := new(weather.BalloonNewCellsColumns)
	return map[string]func(ctx context.Context, from, to time.Time) (int, error){
		"read=columns": func(ctx context.Context, from, to time.Time) (int, error) {
			columns.Reset()
			err := r.ReadColumns(ctx, s, from, to, columns)
			return len(columns.Time), err
		},
		"read=windows": func(ctx context.Context, from, to time.Time) (n int, err error) {
			for w, err := range r.Windows(ctx, s, from, to, window.Every(time.Hour)) {
				if err != nil {
					return n, err
				}
				n += int(w.Events)
			}
			return n, nil
		},
	}
}

// BenchmarkWindows measures what windows cost compared with columns.
func BenchmarkWindows(b *testing.B) {
	on := newBed(b, startAway(b, "tables"))
	from := end.Add(-week)
	n := len(readings(from, end))
	reads := windowReads(on.wire)
	for _, name := range []string{"read=columns", "read=windows"} {
		b.Run(name, func(b *testing.B) {
			measure(b, on, size{n, 4 * n}, func(ctx context.Context) error {
				_, err := reads[name](ctx, from, end)
				return err
			})
		})
	}
}

// cities returns the rows of 1,000 cities, with the days of four years.
func cities() []row {
	var out []row
	for i := range manyCities * cityDays / 365 {
		city, year := i/4, 2018+i%4
		start := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		out = append(out, row{fmt.Sprintf("city-%03d#%d", city, year), "m", func() []cell { return daysOf(city, start) }})
	}
	return out
}

// daysOf returns the cells of a year of a city.
func daysOf(city int, start time.Time) []cell {
	var out []cell
	for _, field := range []string{"precipitation", "temp_max", "temp_min", "weather", "wind"} {
		for day := 364; day >= 0; day-- {
			value := codec.Binary.Float64.Append(nil, float64((city+day)%40))
			switch field {
			case "wind":
				value = codec.Binary.Float32.Append(nil, float32(day%10))
			case "weather":
				value = []byte{0, 0, 0, 0, 0, 0, 0, 1}
			}
			out = append(out, cell{field, start.AddDate(0, 0, day).UnixMicro(), value, ""})
		}
	}
	return out
}

// manyCities is the number of series in table daily_cells, each with a number of days.
const manyCities, cityDays = 1000, 4 * 365

// readCities reads a window of a year of each city, with a number of goroutines. It returns the number
// of days.
func readCities(client *bigtable.Client, parallelism int) func(ctx context.Context) (int, error) {
	o := options
	o.Timeout = store.NoTimeout // the first time, all responses are computed
	r := examples.NewDailyReader(client, o)
	return func(ctx context.Context) (n int, err error) {
		for w, err := range r.AllCitiesWindows(ctx, time.Time{}, end, window.Years(1, time.UTC), store.WindowOptions{Parallelism: parallelism}) {
			if err != nil {
				return n, err
			}
			n += int(w.Events)
		}
		return n, nil
	}
}

// BenchmarkWindowsInParts measures a query of 1,000 series with one core, with two, and two such queries
// at once, each with one core, from responses in memory: a server would share the cores. The two that have
// nothing in common show what the machine gives for a second core, which may be less than twice as much.
// Each iteration does all, so that other load on the machine affects them alike.
func BenchmarkWindowsInParts(b *testing.B) {
	client := newReplayed(b, newAnswers(tables()))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	const one, two, apart = 0, 1, 2
	var wall, cpu [3]time.Duration
	run := func(way, cores, queries, parallelism int) {
		runtime.GOMAXPROCS(cores)
		begin, spent := time.Now(), cputime.Spent()
		var all sync.WaitGroup
		for range queries {
			all.Go(func() {
				if n, err := readCities(client, parallelism)(b.Context()); n != cityDays*manyCities || err != nil {
					b.Error(n, err)
				}
			})
		}
		all.Wait()
		wall[way] += time.Since(begin)
		cpu[way] += cputime.Spent() - spent
	}
	runAll := func() {
		run(one, 1, 1, 1)
		run(two, 2, 1, 2)
		run(apart, 2, 2, 1)
	}
	runAll()
	defer debug.SetGCPercent(debug.SetGCPercent(percentOf(16 << 20)))
	wall, cpu = [3]time.Duration{}, [3]time.Duration{}
	for b.Loop() {
		runAll()
	}
	b.ReportMetric(float64(wall[one])/float64(wall[two]), "speedup")
	b.ReportMetric(2*float64(wall[one])/float64(wall[apart]), "speedup-apart")
	b.ReportMetric(float64(cpu[two])/float64(cpu[one]), "cpu-ratio")
	b.ReportMetric(float64(cpu[one])/float64(b.N)/(cityDays*manyCities), "cpu-ns/event")
	b.ReportMetric(0, "ns/op")
}

// percentOf returns the percentage of the heap after which garbage is collected as often as in a program
// that holds a number of bytes. The responses in memory would make collections rare.
func percentOf(held int) int {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return max(1, int(100*uint64(held)/m.HeapAlloc))
}

// TestWindows checks that the benchmark reads all events.
func TestWindows(t *testing.T) {
	testlong.Skip(t, "a year of readings")
	on := newBed(t, startHere(t, tables()))
	from := end.Add(-week)
	for name, read := range windowReads(on.wire) {
		if n, err := read(t.Context(), from, end); err != nil || n != len(readings(from, end)) {
			t.Errorf("%s: %d events, %v", name, n, err)
		}
	}
	for _, parallelism := range []int{-1, 2} {
		if n, err := readCities(on.wire, parallelism)(t.Context()); err != nil || n != cityDays*manyCities {
			t.Errorf("%d events, %v", n, err)
		}
	}
}
