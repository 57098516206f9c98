package noaa

import (
	"context"
	"encoding/csv"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// newServer starts an in-memory Bigtable with the tables of this package.
func newServer(t testing.TB) *storetest.Bigtable {
	t.Helper()
	return storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		if _, err := SetupDaily(ctx, b.Admin, b.Client); err != nil {
			return err
		}
		_, err := SetupNormal(ctx, b.Admin, b.Client)
		return err
	})
}

// check fails the test if err is not nil.
func check(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare fails the test if got is not want. They are usually equal, which is
// faster to detect than a difference.
func compare[E comparable](t rapid.TB, want, got []E) {
	t.Helper()
	if slices.Equal(want, got) {
		return
	}
	t.Fatalf("%d events, want %d (-want +got)\n%s", len(got), len(want), cmp.Diff(want, got))
}

// all returns the events of seq, and fails the test on an error.
func all[E any](t rapid.TB, seq iter.Seq2[E, error]) []E {
	t.Helper()
	var out []E
	for e, err := range seq {
		check(t, err)
		out = append(out, e)
	}
	return out
}

// records returns the lines of a file in testdata, without the first one.
func records(t testing.TB, name string) [][]string {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", name))
	check(t, err)
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	check(t, err)
	return lines[1:]
}

// number parses a number of a file.
func number(t testing.TB, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	check(t, err)
	return v
}

// date parses a time of a file, in UTC.
func date(t testing.TB, layout, s string) time.Time {
	t.Helper()
	at, err := time.Parse(layout, s)
	check(t, err)
	return at
}

// loadNormals returns the normals of Seattle, in time order.
func loadNormals(t testing.TB) []NormalEvent {
	t.Helper()
	var events []NormalEvent
	for _, r := range records(t, "seattle-weather-hourly-normals.csv") {
		events = append(events, NormalEvent{
			NormalSeries: NormalSeries{Station: "seattle"},
			Time:         date(t, "2006-01-02T15:04:05", r[0]),
			Pressure:     number(t, r[1]),
			Temperature:  number(t, r[2]),
			Wind:         number(t, r[3]),
		})
	}
	return events
}

// loadDaily returns the observations of both cities, each in time order.
func loadDaily(t testing.TB) []DailyEvent {
	t.Helper()
	var events []DailyEvent
	for _, r := range records(t, "weather.csv") {
		e := DailyEvent{
			DailySeries:   DailySeries{Location: r[0]},
			Time:          date(t, time.DateOnly, r[1]),
			Precipitation: number(t, r[2]),
			TempMax:       number(t, r[3]),
			TempMin:       number(t, r[4]),
			Wind:          float32(number(t, r[5])),
		}
		check(t, e.Weather.UnmarshalText([]byte(r[6])))
		events = append(events, e)
	}
	return events
}

// series contains the written events of one series, in time order.
type series[E comparable] struct {
	base   E // an event with the series alone
	events []E
	time   func(E) time.Time
}

// between returns the events with from <= time < to.
func (s series[E]) between(from, to time.Time) []E {
	before := func(e E, at time.Time) int { return s.time(e).Compare(at) }
	begin, _ := slices.BinarySearchFunc(s.events, from, before)
	end, _ := slices.BinarySearchFunc(s.events, to, before)
	return s.events[begin:max(begin, end)]
}

// bound draws a bound of a range: anywhere from two days before the first event
// to two days after the last, and often at an event or right next to it.
func (s series[E]) bound(t *rapid.T, label string) time.Time {
	const margin = 48 * time.Hour
	first, last := s.time(s.events[0]), s.time(s.events[len(s.events)-1])
	if rapid.Bool().Draw(t, label+" at an event") {
		at := s.time(rapid.SampledFrom(s.events).Draw(t, label))
		return at.Add(rapid.SampledFrom([]time.Duration{0, -1, 1, -time.Millisecond, time.Millisecond}).Draw(t, label+" shift"))
	}
	width := int64(last.Sub(first) + 2*margin)
	return first.Add(-margin + time.Duration(rapid.Int64Range(0, width).Draw(t, label)))
}

// bounds draws a range. A few are wide; most are narrow, to be fast.
func (s series[E]) bounds(t *rapid.T) (from, to time.Time) {
	if rapid.IntRange(0, 9).Draw(t, "wide") < 9 {
		begin := rapid.IntRange(0, len(s.events)-1).Draw(t, "begin")
		s.events = s.events[begin:min(len(s.events), begin+1+len(s.events)/20)]
	}
	from, to = s.bound(t, "from"), s.bound(t, "to")
	if from.After(to) {
		return to, from
	}
	return from, to
}

// readBack checks that every table returns what was written, as a whole and
// over random ranges, and the newest event.
func readBack[E comparable](t *testing.T, client store.Client, layouts []*store.Mapping[E], s series[E]) {
	for _, l := range layouts {
		t.Run(l.Table.ID, func(t *testing.T) {
			r := store.NewReader(client, l)
			compare(t, s.events, all(t, r.Read(t.Context(), store.SeriesOf(s.base), time.Time{}, time.Now())))
			rapid.Check(t, func(t *rapid.T) {
				from, to := s.bounds(t)
				compare(t, s.between(from, to), all(t, r.Read(t.Context(), store.SeriesOf(s.base), from, to)))
			})
			latest, err := r.Latest(t.Context(), s.base)
			check(t, err)
			compare(t, s.events[len(s.events)-1:], []E{latest})
		})
	}
}

func TestHourlyNormalsAreReadBack(t *testing.T) {
	bt := newServer(t)
	events := loadNormals(t)
	if len(events) != 8759 {
		t.Fatalf("%d events", len(events))
	}
	events = events[:testlong.Pick(1500, len(events))]
	check(t, NewNormalWriter(bt.Client).WriteAll(t.Context(), events))
	readBack(t, bt.Client, normalMappings, normals(events))
}

func TestDailyObservationsAreReadBack(t *testing.T) {
	bt := newServer(t)
	events := loadDaily(t)
	check(t, NewDailyWriter(bt.Client).WriteAll(t.Context(), events))
	for _, city := range []string{"Seattle", "New York"}[testlong.Pick(1, 0):] {
		t.Run(city, func(t *testing.T) {
			of := slices.DeleteFunc(slices.Clone(events), func(e DailyEvent) bool { return e.Location != city })
			if len(of) != 1461 {
				t.Fatalf("%d events", len(of))
			}
			readBack(t, bt.Client, dailyMappings, daily(of))
		})
	}
}

// normals is a series of normals.
func normals(events []NormalEvent) series[NormalEvent] {
	return series[NormalEvent]{
		base: NormalEvent{NormalSeries: events[0].NormalSeries}, events: events,
		time: func(e NormalEvent) time.Time { return e.Time },
	}
}

// daily is a series of observations.
func daily(events []DailyEvent) series[DailyEvent] {
	return series[DailyEvent]{
		base: DailyEvent{DailySeries: events[0].DailySeries}, events: events,
		time: func(e DailyEvent) time.Time { return e.Time },
	}
}
