package meter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/generated/meter"
	"github.com/btgen-dev/btgen/generated/meter/metertest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// The times at which layouts begin.
var (
	polled = time.Date(2025, 1, 6, 0, 0, 0, 0, time.UTC)
	daily  = time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	now    = time.Date(2026, 6, 20, 0, 0, 0, 0, time.UTC)
)

var home = meter.ReadingSeries{Region: "north", Meter: 42}

// clock returns reader options with a fixed clock.
func clock(now time.Time) store.ReaderOptions {
	return store.ReaderOptions{Now: func() time.Time { return now }}
}

// writing returns writer options with a fixed clock.
var writing = store.WriterOptions{Now: func() time.Time { return now }}

// reading is an event of the series home.
func reading(at time.Time, power int64) meter.ReadingEvent {
	return meter.ReadingEvent{ReadingSeries: home, Time: at, Power: power, Voltage: 230}
}

// around returns events on both sides of both boundaries, a second and a day away.
func around() []meter.ReadingEvent {
	var out []meter.ReadingEvent
	for i, edge := range []time.Time{polled, daily} {
		for j, d := range []time.Duration{-24 * time.Hour, -time.Second, 0, time.Second, 24 * time.Hour} {
			out = append(out, reading(edge.Add(d), int64(10*i+j)))
		}
	}
	return out
}

// write writes events, and fails the test on an error.
func write(t *testing.T, b *storetest.Bigtable, events ...meter.ReadingEvent) {
	t.Helper()
	if err := meter.NewReadingWriter(b.Client, writing).WriteAll(t.Context(), events); err != nil {
		t.Fatal(err)
	}
}

// powers reads the power of each event of home.
func powers(t *testing.T, r *meter.ReadingReader, from, to time.Time, opts ...store.ReadOptions) []int64 {
	t.Helper()
	out := []int64{}
	for e, err := range r.Read(t.Context(), home, from, to, opts...) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, e.Power)
	}
	return out
}

// keys returns the keys of the rows of a table.
func keys(t *testing.T, b *storetest.Bigtable, table string) []string {
	t.Helper()
	var out []string
	err := b.Client.Open(table).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		out = append(out, row.Key())
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func compare(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: (-want +got)\n%s", what, diff)
	}
}

// The time of each event determines its layout, no matter when it is written.
func TestEventsAreRoutedByTheirTime(t *testing.T) {
	b := metertest.New(t)
	write(t, b, around()...)
	compare(t, "meter_polls", []string{"42#north#1736035200000", "42#north#1736121599000"}, keys(t, b, "meter_polls"))
	compare(t, "meter_readings", []string{"north#42#2025-W02", "north#42#2026-06-01", "north#42#2026-06-02", "north#42#2026-W22"}, keys(t, b, "meter_readings"))
}

// A range across a boundary also returns the older data, in every order and up to every limit.
func TestRangeAcrossLayoutsReturnsAllData(t *testing.T) {
	b := metertest.New(t)
	write(t, b, around()...)
	r := meter.NewReadingReader(b.Client, clock(now))
	all := []int64{0, 1, 2, 3, 4, 10, 11, 12, 13, 14}
	compare(t, "all", all, powers(t, r, time.Time{}, now))
	reversed := slices.Clone(all)
	slices.Reverse(reversed)
	compare(t, "newest first", reversed, powers(t, r, time.Time{}, now, store.ReadOptions{NewestFirst: true}))
	for n := 1; n <= len(all); n++ {
		compare(t, fmt.Sprint("the first ", n), all[:n], powers(t, r, time.Time{}, now, store.ReadOptions{Limit: n}))
		compare(t, fmt.Sprint("the last ", n), reversed[:n], powers(t, r, time.Time{}, now, store.ReadOptions{Limit: n, NewestFirst: true}))
	}
	compare(t, "over one edge", []int64{11, 12}, powers(t, r, daily.Add(-time.Second), daily.Add(time.Second)))
	compare(t, "up to an edge", []int64{11}, powers(t, r, daily.Add(-time.Second), daily))
	compare(t, "from an edge", []int64{12}, powers(t, r, daily, daily.Add(time.Second)))

	var columns meter.ReadingColumns
	if err := r.ReadColumns(t.Context(), home, time.Time{}, now, &columns); err != nil {
		t.Fatal(err)
	}
	compare(t, "columns", all, columns.Power)
	var region []int64
	for e, err := range r.ByRegion(t.Context(), "north", time.Time{}, now) {
		if err != nil {
			t.Fatal(err)
		}
		region = append(region, e.Power)
	}
	slices.Sort(region)
	compare(t, "by region", all, region)
}

// Every layout has its own pattern, encoding, family and table: those of the newest do not
// apply to older data, and each family keeps its maximum age.
func TestEachLayoutKeepsItsSettings(t *testing.T) {
	b := metertest.New(t)
	write(t, b, around()...)
	values := map[string]string{}
	for _, table := range []string{"meter_polls", "meter_readings"} {
		err := b.Client.Open(table).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
			for family, items := range row {
				values[row.Key()] = fmt.Sprintf("%s:%s %q", family, strings.TrimPrefix(items[0].Column, family+":"), items[0].Value)
			}
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	compare(t, "text", `m:power "0"`, values["42#north#1736035200000"])
	compare(t, "binary", `m:power "\x00\x00\x00\x00\x00\x00\x00\x04"`, values["north#42#2025-W02"])
	compare(t, "protobuf", `e:event "\b\r\x11\x00\x00\x00\x00\x00\xc0l@"`, values["north#42#2026-06-01"])

	expired := polled.Add(1095 * 24 * time.Hour)
	r := meter.NewReadingReader(b.Client, clock(expired))
	compare(t, "alive three years after the first edge", []int64{2, 3, 4, 10, 11, 12, 13, 14}, powers(t, r, time.Time{}, expired))
}

// A layout applies neither before its time nor after the next one begins: late events are
// written in the layout of their time.
func TestLayoutsBeginAndEndOnTime(t *testing.T) {
	b := metertest.New(t)
	write(t, b, reading(daily.Add(-time.Second), 1), reading(daily, 2))
	compare(t, "rows", []string{"north#42#2026-06-01", "north#42#2026-W22"}, keys(t, b, "meter_readings"))
	write(t, b, reading(daily.Add(-2*time.Second), 0)) // late
	compare(t, "rows with a late event", []string{"north#42#2026-06-01", "north#42#2026-W22"}, keys(t, b, "meter_readings"))
	compare(t, "events", []int64{0, 1, 2}, powers(t, meter.NewReadingReader(b.Client, clock(now)), time.Time{}, now))
}

// Latest searches the newest layout first, and then older ones until it finds an event.
func TestLatestSearchesEarlierLayouts(t *testing.T) {
	b := metertest.New(t)
	var requests []int
	opts := clock(now)
	opts.Hooks.End = func(_ context.Context, op store.Operation, _ error) { requests = append(requests, op.Requests) }
	r := meter.NewReadingReader(b.Client, opts)
	if _, err := r.Latest(t.Context(), home); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Latest of an empty series: %v", err)
	}
	for i, at := range []time.Time{polled.Add(-time.Hour), daily.Add(-time.Hour), daily.Add(time.Hour)} {
		write(t, b, reading(at, int64(i)))
		e, err := r.Latest(t.Context(), home)
		if err != nil || e.Power != int64(i) {
			t.Errorf("Latest after %s: %v, %v", at, e, err)
		}
	}
	compare(t, "requests", []int{3, 3, 2, 1}, requests)
}

// A read sends requests only for the layouts in its range, and receives no cell that it does
// not return.
func TestReadsRequestOnlyLayoutsInRange(t *testing.T) {
	b := metertest.New(t)
	write(t, b, around()...)
	for _, tt := range []struct {
		name     string
		from, to time.Time
		requests int
		rows     int
	}{
		{"the newest", daily, now, 1, 2},
		{"over an edge", daily.Add(-time.Hour), now, 2, 3},
		{"all", time.Time{}, now, 3, 6},
		{"the oldest", time.Time{}, polled, 1, 2},
	} {
		var got store.Operation
		opts := clock(now)
		opts.Hooks.End = func(_ context.Context, op store.Operation, _ error) { got = op }
		powers(t, meter.NewReadingReader(b.Client, opts), tt.from, tt.to)
		compare(t, tt.name, []int{tt.requests, tt.rows}, []int{got.Requests, got.Rows})
	}
}

// A batcher routes events like a writer, and if a layout refuses an event, only that event is
// refused.
func TestBatcherRoutesEvents(t *testing.T) {
	b := metertest.New(t)
	var failures []string
	batcher := meter.NewReadingBatcher(meter.NewReadingWriter(b.Client, writing), func(e meter.ReadingEvent, err error) {
		failures = append(failures, err.Error())
	})
	for _, e := range around() {
		if err := batcher.Add(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	bad := reading(polled.Add(-time.Hour), 1)
	bad.Region = "no#rth"
	if err := batcher.Add(t.Context(), bad); err == nil {
		t.Error("a region with the delimiter was accepted")
	}
	if err := batcher.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	compare(t, "failures", []string(nil), failures)
	compare(t, "events", 10, len(powers(t, meter.NewReadingReader(b.Client, clock(now)), time.Time{}, now)))
}

// Setup creates the tables and families of all layouts, and a second call creates nothing.
func TestSetupCreatesTablesOfAllLayouts(t *testing.T) {
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	plan, err := meter.SetupReading(t.Context(), b.Admin, b.Client)
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "changes of an empty instance", 7, len(plan.Changes)) // three tables and four families, of which btgen_layouts is one each
	for table, families := range map[string][]string{"meter_readings": {"e", "m"}, "meter_polls": {"m"}} {
		info, err := b.Admin.TableInfo(t.Context(), table)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(info.Families)
		compare(t, table, families, info.Families)
	}
	if again, err := meter.SetupReading(t.Context(), b.Admin, b.Client); err != nil || len(again.Changes) > 0 {
		t.Errorf("again: %v, %v", again, err)
	}
}
