package noaa

import (
	"errors"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones, wherever the tests run

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// hourly returns normals of one station for a number of hours from the given time.
func hourly(from time.Time, hours int) []NormalEvent {
	var events []NormalEvent
	for i := range hours {
		events = append(events, NormalEvent{
			NormalSeries: NormalSeries{Station: "seattle"},
			Time:         from.Add(time.Duration(i) * time.Hour),
			Temperature:  float64(i),
		})
	}
	return events
}

// rows returns the row keys of a table.
func rows(t testing.TB, client *bigtable.Client, l *store.Mapping[NormalEvent]) []string {
	t.Helper()
	var keys []string
	check(t, client.Open(l.Table.ID).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		keys = append(keys, row.Key())
		return true
	}))
	return keys
}

// The client rounds the end of a range down to the millisecond, and an end of zero
// means none: half a millisecond after the epoch would be unbounded.
func TestEndJustAfterTheEpoch(t *testing.T) {
	bt := newServer(t)
	epoch := time.Unix(0, 0).UTC()
	event := func(day int) DailyEvent {
		return DailyEvent{DailySeries: DailySeries{"Seattle"}, Time: epoch.AddDate(0, 0, day), Weather: DailyWeatherSun}
	}
	events := []DailyEvent{event(0), event(1)}
	check(t, NewDailyWriter(bt.Client).WriteAll(t.Context(), events))
	const us = time.Microsecond
	for _, tc := range []struct {
		from, to time.Duration // since the epoch
		want     []DailyEvent
	}{
		{0, 500 * us, events[:1]},
		{-time.Hour, 500 * us, events[:1]},
		{0, 1, events[:1]},
		{0, 0, nil},
		{-time.Hour, 0, nil},
		{1, 500 * us, nil},
		{400 * us, 500 * us, nil},
		{0, 24 * time.Hour, events[:1]},
		{0, 24*time.Hour + 500*us, events},
		{500 * us, 24*time.Hour + 500*us, events[1:]},
	} {
		for _, l := range dailyMappings {
			r := store.NewReader(bt.Client, l)
			t.Run(l.Table.ID+" "+tc.from.String()+" "+tc.to.String(), func(t *testing.T) {
				compare(t, tc.want, all(t, r.Read(t.Context(), store.SeriesOf(events[0]), epoch.Add(tc.from), epoch.Add(tc.to))))
			})
		}
	}
}

// A week belongs to the year that contains most of its days: the end of 2020 is in
// week 53, with the first days of 2021, and the end of 2024 is in week 1 of 2025.
func TestBucketsAroundTheEndOfAYear(t *testing.T) {
	for _, tc := range []struct {
		from          time.Time
		weeks, months []string
	}{
		{time.Date(2020, 12, 27, 20, 0, 0, 0, time.UTC), []string{"2020-W52", "2020-W53", "2021-W01"}, []string{"2020-12", "2021-01"}},
		{time.Date(2024, 12, 29, 20, 0, 0, 0, time.UTC), []string{"2024-W52", "2025-W01", "2025-W02"}, []string{"2024-12", "2025-01"}},
	} {
		t.Run(tc.weeks[1], func(t *testing.T) {
			bt := newServer(t)
			events := hourly(tc.from, 7*24+8)
			check(t, NewNormalWriter(bt.Client).WriteAll(t.Context(), events))

			var want []string
			for _, week := range tc.weeks {
				want = append(want, "seattle#"+week)
			}
			if diff := cmp.Diff(want, rows(t, bt.Client, normalCellsMapping)); diff != "" {
				t.Errorf("rows of weeks (-want +got)\n%s", diff)
			}
			want = nil
			for _, metric := range []string{"pressure", "temperature", "wind"} {
				for _, month := range tc.months {
					want = append(want, "seattle#"+metric+"#"+month)
				}
			}
			if diff := cmp.Diff(want, rows(t, bt.Client, normalColumnsMapping)); diff != "" {
				t.Errorf("rows of months (-want +got)\n%s", diff)
			}
			readBack(t, bt.Client, normalMappings, normals(events))
		})
	}
}

// Weeks begin on Mondays, and the first one with a label begins on 1970-01-05. An
// event before that has no row in the table of weeks, so no table stores it.
func TestEventBeforeTheFirstWeek(t *testing.T) {
	bt := newServer(t)
	events := hourly(time.Unix(0, 0).UTC(), 1)
	err := NewNormalWriter(bt.Client).WriteAll(t.Context(), events)
	var failed *store.WriteError
	if !errors.As(err, &failed) || len(failed.Failures) != len(normalMappings) {
		t.Fatalf("got %v", err)
	}
	for _, f := range failed.Failures {
		if f.Outcome != store.Refused || !errors.Is(f.Err, codec.ErrTimeRange) || strings.HasPrefix(f.Err.Error(), "refused by table normal_cells: ") == (f.Table == "normal_cells") {
			t.Errorf("%s", f)
		}
	}
	for _, l := range normalMappings {
		if stored := rows(t, bt.Client, l); len(stored) != 0 {
			t.Errorf("%s: %q were stored", l.Table.ID, stored)
		}
	}
}

// Instants count, not local times: an hour that occurs twice is two events, an
// hour that is skipped is none, and the bounds of a range may be in any zone.
func TestTimesInAZoneWithDaylightSaving(t *testing.T) {
	zone, err := time.LoadLocation("America/Los_Angeles")
	check(t, err)
	for _, tc := range []struct {
		name      string
		from, to  time.Time // one local day
		wantHours int
	}{
		{"clocks go forward", time.Date(2021, 3, 14, 0, 0, 0, 0, zone), time.Date(2021, 3, 15, 0, 0, 0, 0, zone), 23},
		{"clocks go back", time.Date(2021, 11, 7, 0, 0, 0, 0, zone), time.Date(2021, 11, 8, 0, 0, 0, 0, zone), 25},
	} {
		t.Run(tc.name, func(t *testing.T) {
			bt := newServer(t)
			events := hourly(tc.from.Add(-5*time.Hour), 35)
			check(t, NewNormalWriter(bt.Client).WriteAll(t.Context(), events))
			for i := range events {
				events[i].Time = events[i].Time.UTC() // as it is read
			}
			readBack(t, bt.Client, normalMappings, normals(events))
			for _, l := range normalMappings {
				day := all(t, store.NewReader(bt.Client, l).Read(t.Context(), store.SeriesOf(events[0]), tc.from, tc.to))
				compare(t, events[5:5+tc.wantHours], day)
			}
		})
	}
}

// A time is truncated to the precision in UTC, not in its zone.
func TestTruncationInAHalfHourZone(t *testing.T) {
	bt := newServer(t)
	zone, err := time.LoadLocation("Asia/Kolkata") // 5:30 before UTC
	check(t, err)
	event := hourly(time.Date(2021, 3, 5, 12, 15, 0, 0, zone), 1)[0]
	check(t, NewNormalWriter(bt.Client).Write(t.Context(), event))
	event.Time = time.Date(2021, 3, 5, 6, 0, 0, 0, time.UTC)
	readBack(t, bt.Client, normalMappings, normals([]NormalEvent{event}))
}
