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
	"github.com/btgen-dev/btgen/golden/cputime"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// vehicles are the tables of schema vehicles_now: a number of vehicles in 100 lines of a region, with an
// event every quarter of an hour for a week.
func vehicles(lines, perLine int) map[string]table {
	at := func(begin time.Time, n int) func() []cell {
		return func() []cell {
			var out []cell
			for _, field := range []string{"latitude", "longitude"} {
				for i := n - 1; i >= 0; i-- {
					out = append(out, cell{field, begin.Add(time.Duration(i) * 15 * time.Minute).UnixMicro(), codec.Binary.Float64.Append(nil, float64(i)), ""})
				}
			}
			return out
		}
	}
	tables := map[string]rows{}
	for line := range lines {
		id := func(n int) int { return 10_000 + line*perLine + n } // numbers of one length sort as text
		for hour := range weekHours {
			begin := end.Add(time.Duration(hour-weekHours) * time.Hour)
			for n := range perLine {
				key := fmt.Sprintf("nyc/m%03d/%s/%d", line, begin.Format("2006-01-02T15"), id(n))
				tables["vehicle_events"] = append(tables["vehicle_events"], row{key, "m", at(begin, 4)})
			}
		}
		for n := range perLine {
			newest := row{fmt.Sprintf("nyc/m%03d/%d", line, id(n)), "n", func() []cell {
				cells := at(end.Add(-time.Hour), 4)()
				return []cell{cells[0], cells[4], {"sum", cells[0].micros, binary.BigEndian.AppendUint64(nil, newestVersion), "n-versions"}}
			}}
			tables["vehicle_now"] = append(tables["vehicle_now"], newest)
		}
	}
	return inMemory(tables)
}

// newestVersion is what a write of these newest events adds to the sum of their versions. TestNewest fails for any other number.
const newestVersion = 17339766408763

const weekHours = int(week / time.Hour)

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
			s := newAnswers(vehicles(100, 100))
			client := newReplayed(b, s)
			var wall, cpu, cells [2]float64
			ways := []func(ctx context.Context, since time.Duration) (int, int, error){newestVehicles(client, false), newestVehicles(client, true)}
			run := func(i int) {
				begin, spent, before := time.Now(), cputime.Spent(), s.cells.Load()
				n, requests, err := ways[i](b.Context(), since)
				if n != 10_000 || err != nil {
					b.Fatal(n, err)
				}
				wall[i] += float64(time.Since(begin))
				cpu[i] += float64(cputime.Spent() - spent)
				if more := s.cells.Load() - before; more > 0 {
					cells[i] = float64(more)
					b.Logf("%d requests, %d cells", requests, more)
				}
			}
			run(0)
			run(1)
			runtime.GC()
			defer debug.SetGCPercent(debug.SetGCPercent(10)) // the responses would make collections rare
			wall, cpu = [2]float64{}, [2]float64{}
			for b.Loop() {
				run(0)
				run(1)
			}
			b.ReportMetric(wall[1]/wall[0], "time-ratio")
			b.ReportMetric(cpu[1]/cpu[0], "cpu-ratio")
			b.ReportMetric(cells[1]/cells[0], "cells-ratio")
			b.ReportMetric(wall[0]/float64(b.N)/1e6, "ms/rows")
			b.ReportMetric(wall[1]/float64(b.N)/1e6, "ms/search")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// TestNewest checks that rows and searches agree, and what both request.
func TestNewest(t *testing.T) {
	s := newAnswers(vehicles(3, 4))
	client := newReplayed(t, s)
	for _, test := range []struct {
		search bool
		cells  int64
	}{{false, 3 * 12}, {true, 2 * 12 * int64(weekHours)}} {
		before := s.cells.Load()
		n, requests, err := newestVehicles(client, test.search)(t.Context(), week)
		if got := s.cells.Load() - before; n != 12 || err != nil || got != test.cells || requests == 0 {
			t.Errorf("search %t: %d events in %d requests with %d cells, %v", test.search, n, requests, got, err)
		}
	}
}
