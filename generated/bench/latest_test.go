package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/golden/inmemory"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// vehicles are the tables of schema vehicles_now: a number of vehicles in each line of a region, with an
// event every quarter of an hour for a week.
func vehicles(lines, perLine int) map[string]table {
	hourOf := func(begin time.Time, family string) []inmemory.Cell {
		var out []inmemory.Cell
		for _, field := range []string{"latitude", "longitude"} {
			for i := 3; i >= 0; i-- {
				at := begin.Add(time.Duration(i) * 15 * time.Minute).UnixMicro()
				out = append(out, inmemory.Cell{Family: family, Qualifier: field, Micros: at, Value: codec.Binary.Float64.Append(nil, float64(i))})
			}
		}
		return out
	}
	all := map[string]rows{}
	for line := range lines {
		for n := range perLine {
			id := 10_000 + line*perLine + n // numbers of one length sort as text
			for begin := end.Add(-week); begin.Before(end); begin = begin.Add(time.Hour) {
				key := fmt.Sprintf("nyc/m%03d/%s/%d", line, begin.Format("2006-01-02T15"), id)
				all["vehicle_events"] = append(all["vehicle_events"], row{key, func() []inmemory.Cell { return hourOf(begin, "m") }})
			}
			all["vehicle_now"] = append(all["vehicle_now"], row{fmt.Sprintf("nyc/m%03d/%d", line, id), func() []inmemory.Cell {
				cells := hourOf(end.Add(-time.Hour), "n")
				version := binary.BigEndian.AppendUint64(nil, newestVersion)
				return []inmemory.Cell{cells[0], cells[4], {Family: "n-versions", Qualifier: "sum", Micros: cells[0].Micros, Value: version}}
			}})
		}
	}
	return sorted(all)
}

// newestVersion is what a write of these newest events adds to the sum of their versions. TestNewest fails for any other number.
const newestVersion = 17339766408763

// newestVehicles reads where all vehicles are, from rows or by a search, and returns their number and that
// of requests. A range that ended more than a minute ago is searched.
func newestVehicles(client *bigtable.Client, search bool) func(ctx context.Context, since time.Duration) (n, requests int, err error) {
	now, to := end, end.Add(time.Nanosecond)
	if search {
		now = end.Add(2 * time.Minute)
	}
	o := store.ReaderOptions{Now: func() time.Time { return now }, Timeout: store.NoTimeout}
	return func(ctx context.Context, since time.Duration) (n, requests int, err error) {
		o.Hooks.End = func(_ context.Context, op store.Operation, _ error) { requests = op.Requests }
		r := examples.NewVehicleReader(client, o)
		for _, err := range r.ByRegion(ctx, "nyc", end.Add(-since), to, store.ReadOptions{LatestOnly: true}) {
			if err != nil {
				return n, 0, err
			}
			n++
		}
		return n, requests, nil
	}
}

// BenchmarkNewest reads the newest event of each of 10,000 series, whose row keys have an hour before the
// vehicle: from rows of pattern latest, and by a search of the hours of a range. Responses are in memory, so that
// times are those of the client alone.
func BenchmarkNewest(b *testing.B) {
	for _, since := range []time.Duration{24 * time.Hour, week} {
		b.Run("since="+since.String(), func(b *testing.B) {
			client := inProcess(b, newServer(vehicles(100, 100))).wire
			var wall [2]time.Duration
			run := func() {
				for i, search := range []bool{false, true} {
					begin := time.Now()
					n, _, err := newestVehicles(client, search)(b.Context(), since)
					if n != 10_000 || err != nil {
						b.Fatal(n, err)
					}
					wall[i] += time.Since(begin)
				}
			}
			run()
			run() // now all responses are in memory
			runtime.GC()
			defer debug.SetGCPercent(debug.SetGCPercent(10)) // the responses would make collections rare
			wall = [2]time.Duration{}
			for b.Loop() {
				run()
			}
			b.ReportMetric(float64(wall[1])/float64(wall[0]), "time-ratio")
			b.ReportMetric(wall[0].Seconds()*1000/float64(b.N), "ms/rows")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestNewest checks that rows and searches agree, and what both request.
func TestNewest(t *testing.T) {
	s := newServer(vehicles(3, 4))
	client := inProcess(t, s).wire
	for _, test := range []struct {
		search bool
		cells  int
	}{{false, 3 * 12}, {true, 2 * 12 * int(week/time.Hour)}} {
		got := s.scannedBy(func() {
			if n, requests, err := newestVehicles(client, test.search)(t.Context(), week); n != 12 || err != nil || requests == 0 {
				t.Errorf("search %t: %d events in %d requests, %v", test.search, n, requests, err)
			}
		})
		if got.passed != test.cells {
			t.Errorf("search %t: %d cells", test.search, got.passed)
		}
	}
}
