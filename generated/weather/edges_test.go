package weather_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

var (
	cellSeries   = weather.BalloonNewCellsSeries{Location: "us-west1", BalloonID: 369}
	columnSeries = weather.BalloonNewColumnsSeries{Location: "us-west1", BalloonID: 369}
)

// cellEvent returns an event of the series at a time, identified by its pressure.
func cellEvent(series weather.BalloonNewCellsSeries, at time.Time, pressure int64) weather.BalloonNewCellsEvent {
	return weather.BalloonNewCellsEvent{BalloonNewCellsSeries: series, Time: at, Pressure: pressure, Temperature: 9.5}
}

func columnEvent(at time.Time, pressure int64, temperature float64) weather.BalloonNewColumnsEvent {
	return weather.BalloonNewColumnsEvent{BalloonNewColumnsSeries: columnSeries, Time: at, Pressure: pressure, Temperature: temperature, Humidity: 61, Altitude: 600}
}

func TestTimesAreTruncated(t *testing.T) {
	bt := weathertest.New(t)
	w := weather.NewBalloonNewCellsWriter(bt.Client, writing(options))
	r := weather.NewBalloonNewCellsReader(bt.Client, options)
	event := cellEvent(cellSeries, noon.Add(59*time.Second+999999999), 1)
	check(t, w.Write(t.Context(), event))
	for _, line := range cells(t, bt.Client, "balloon_new_cells") {
		if !strings.Contains(line, " 2021-03-05T12:00:00 ") {
			t.Error(line)
		}
	}
	event.Time = noon
	compare(t, []weather.BalloonNewCellsEvent{event}, all(t, r.Read(t.Context(), cellSeries, noon, noon.Add(1))))
	// An event that is truncated to the same time replaces the earlier one.
	check(t, w.Write(t.Context(), cellEvent(cellSeries, noon.Add(time.Second), 2)))
	compare(t, []weather.BalloonNewCellsEvent{cellEvent(cellSeries, noon, 2)}, all(t, r.Read(t.Context(), cellSeries, noon, minute(1))))
}

func TestTimesOutOfRangeAreRefused(t *testing.T) {
	bt := weathertest.New(t)
	w := weather.NewBalloonSerializedWriter(bt.Client, writing(options))
	for _, at := range []time.Time{{}, time.UnixMicro(-1), time.Unix(-86400, 0), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		err := w.Write(t.Context(), weather.BalloonSerializedEvent{BalloonSerializedSeries: weather.BalloonSerializedSeries{Location: "l"}, Time: at})
		if !errors.Is(err, codec.ErrTimeRange) {
			t.Errorf("%v: %v", at, err)
		}
	}
	compare(t, []string(nil), cells(t, bt.Client, "balloon_serialized"))
}

func TestEqualValuesAreKeptApart(t *testing.T) {
	bt := weathertest.New(t)
	w := weather.NewBalloonNewColumnsWriter(bt.Client, writing(options))
	r := weather.NewBalloonNewColumnsReader(bt.Client, options)
	events := []weather.BalloonNewColumnsEvent{columnEvent(minute(0), 94558, 9.5), columnEvent(minute(1), 94558, 9.5), columnEvent(minute(2), 94558, 9.5)}
	check(t, w.WriteAll(t.Context(), events))
	check(t, w.WriteAll(t.Context(), events)) // changes nothing
	compare(t, events, all(t, r.Read(t.Context(), columnSeries, minute(0), minute(9))))

	// A different value at the same time is an additional event, because the table is append-only.
	check(t, w.Write(t.Context(), columnEvent(minute(1), 94122, 9.5)))
	want := []weather.BalloonNewColumnsEvent{events[0], columnEvent(minute(1), 94122, 9.5), events[1], events[2]}
	compare(t, want, all(t, r.Read(t.Context(), columnSeries, minute(0), minute(9))))
}

func TestEventsAreInTimeOrder(t *testing.T) {
	bt := weathertest.New(t)
	var events []weather.BalloonNewColumnsEvent
	for i, pressure := range []int64{95992, 94122, 9, 100000, 94558} {
		events = append(events, columnEvent(minute(i), pressure, 9-float64(i)))
	}
	check(t, weather.NewBalloonNewColumnsWriter(bt.Client, writing(options)).WriteAll(t.Context(), events))
	r := weather.NewBalloonNewColumnsReader(bt.Client, options)
	compare(t, events, all(t, r.Read(t.Context(), columnSeries, minute(0), minute(9))))
	latest, err := r.Latest(t.Context(), columnSeries)
	check(t, err)
	compare(t, events[4], latest)
}

func TestFloatsHaveOneText(t *testing.T) {
	bt := weathertest.New(t)
	w := weather.NewBalloonNewColumnsWriter(bt.Client, writing(options))
	half := 0.5
	check(t, w.WriteAll(t.Context(), []weather.BalloonNewColumnsEvent{columnEvent(minute(0), 1, 9.50), columnEvent(minute(1), 1, 9+half)}))
	row, err := bt.Client.Open("balloon_new_columns").ReadRow(t.Context(), "us-west1#369#temperature#week1")
	check(t, err)
	for _, item := range row["measurements"] {
		if item.Column != "measurements:9.5" {
			t.Error(item.Column)
		}
	}
}

// TestEventOfSeveralRows lets one of an event's rows fail.
func TestEventOfSeveralRows(t *testing.T) {
	bt := weathertest.New(t)
	broken := true
	client := wrapped{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return bulk{api, func(ctx context.Context, rows []string, muts []*bigtable.Mutation) ([]error, error) {
			errs := make([]error, len(rows))
			for i, row := range rows {
				if broken && strings.Contains(row, "#humidity#") {
					errs[i] = status.Error(codes.ResourceExhausted, "try later")
					continue
				}
				errs[i] = api.Apply(ctx, row, muts[i])
			}
			return errs, nil
		}}
	}}
	w := weather.NewBalloonNewColumnsWriter(client, writing(options))
	r := weather.NewBalloonNewColumnsReader(bt.Client, options)
	event := columnEvent(minute(0), 94558, 9.6)
	var failed *store.WriteError
	if err := w.Write(t.Context(), event); !errors.As(err, &failed) || len(failed.Failures) != 1 ||
		failed.Failures[0].Row != "us-west1#369#humidity#week1" || failed.Failures[0].Outcome != store.Failed {
		t.Fatal(err)
	}
	for _, err := range r.Read(t.Context(), columnSeries, minute(0), minute(1)) {
		if !errors.Is(err, codec.ErrMissing) {
			t.Errorf("half an event is read as a whole one: %v", err)
		}
	}
	broken = false
	check(t, w.Write(t.Context(), event))
	compare(t, []weather.BalloonNewColumnsEvent{event}, all(t, r.Read(t.Context(), columnSeries, minute(0), minute(1))))
}

// wrapped opens tables that a test has modified.
type wrapped struct {
	client *bigtable.Client
	wrap   func(bigtable.TableAPI) bigtable.TableAPI
}

func (w wrapped) OpenTable(table string) bigtable.TableAPI { return w.wrap(w.client.OpenTable(table)) }

// bulk is a table whose bulk writes are replaced.
type bulk struct {
	bigtable.TableAPI
	apply func(ctx context.Context, rows []string, muts []*bigtable.Mutation) ([]error, error)
}

func (b bulk) ApplyBulk(ctx context.Context, rows []string, muts []*bigtable.Mutation, _ ...bigtable.ApplyOption) ([]error, error) {
	return b.apply(ctx, rows, muts)
}

func TestLateEvents(t *testing.T) {
	bt := weathertest.New(t)
	w := weather.NewBalloonNewCellsWriter(bt.Client, store.WriterOptions{Now: func() time.Time { return noon.AddDate(0, 0, 364) }})
	check(t, w.Write(t.Context(), cellEvent(cellSeries, minute(0), 1))) // just in time
	err := w.WriteAll(t.Context(), []weather.BalloonNewCellsEvent{cellEvent(cellSeries, minute(-1), 2), cellEvent(cellSeries, minute(1), 3)})
	var failed *store.WriteError
	if !errors.Is(err, codec.ErrExpired) || !errors.As(err, &failed) || len(failed.Failures) != 1 || failed.Failures[0].Outcome != store.Refused {
		t.Error(err)
	}
}

// TestExpiredIsNotRead moves the reader's clock. Garbage collection never runs on this server, so
// every cell still exists.
func TestExpiredIsNotRead(t *testing.T) {
	bt := weathertest.New(t)
	var events []weather.BalloonNewCellsEvent
	for i := range 5 {
		events = append(events, cellEvent(cellSeries, minute(i), int64(i)))
	}
	check(t, weather.NewBalloonNewCellsWriter(bt.Client, writing(options)).WriteAll(t.Context(), events))
	age := 52 * 7 * 24 * time.Hour
	for i := range 6 {
		now := minute(i).Add(age - time.Minute).Add(time.Millisecond)
		r := weather.NewBalloonNewCellsReader(bt.Client, store.ReaderOptions{Now: func() time.Time { return now }})
		compare(t, append([]weather.BalloonNewCellsEvent(nil), events[i:]...), all(t, r.Read(t.Context(), cellSeries, time.Time{}, now)))
		latest, err := r.Latest(t.Context(), cellSeries)
		if i == 5 {
			if !errors.Is(err, store.ErrNotFound) {
				t.Error(latest, err)
			}
			continue
		}
		check(t, err)
		compare(t, events[4], latest)
	}
	// Events that expire during a read are not returned either.
	ticks := 0
	r := weather.NewBalloonNewCellsReader(bt.Client, store.ReaderOptions{Now: func() time.Time {
		if ticks++; ticks > 3 { // asked once to begin with, and once for each event
			return minute(9).Add(age)
		}
		return minute(0).Add(age)
	}})
	compare(t, 2, len(all(t, r.Read(t.Context(), cellSeries, minute(0), minute(5)))))
}

func TestWeeksAreCountedFromTheOrigin(t *testing.T) {
	for at, want := range map[string]string{
		"2021-03-01T00:00:00Z": "l#1#week1", "2021-03-07T23:59:59Z": "l#1#week1", "2021-03-08T00:00:00Z": "l#1#week2",
		"2022-03-05T00:00:00Z": "l#1#week53", "2031-03-05T00:00:00Z": "l#1#week523",
	} {
		tm, err := time.Parse(time.RFC3339, at)
		check(t, err)
		key, err := weather.BalloonNewCellsKey{Location: "l", BalloonID: 1, Bucket: tm}.Append(nil)
		check(t, err)
		compare(t, want, string(key))
	}
	_, err := weather.BalloonNewCellsKey{Location: "l", BalloonID: 1, Bucket: time.Date(2021, 2, 28, 0, 0, 0, 0, time.UTC)}.Append(nil)
	if !errors.Is(err, codec.ErrTimeRange) {
		t.Error(err)
	}
}

// TestLabelsThatDoNotSort reads over week9, week10, week99 and week100.
func TestLabelsThatDoNotSort(t *testing.T) {
	bt := weathertest.New(t)
	var events []weather.BalloonNewCellsEvent
	for week := range 110 {
		events = append(events, cellEvent(cellSeries, noon.AddDate(0, 0, 7*week), int64(week)))
	}
	check(t, weather.NewBalloonNewCellsWriter(bt.Client, writing(options)).WriteAll(t.Context(), events))
	var mu sync.Mutex
	requests := 0
	client := wrapped{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return reading{api, func(bigtable.RowSet) {
			mu.Lock()
			defer mu.Unlock()
			requests++
		}}
	}}
	r := weather.NewBalloonNewCellsReader(client, options)
	compare(t, events, all(t, r.Read(t.Context(), cellSeries, noon, noon.AddDate(0, 0, 7*110))))
	if requests != 3 {
		t.Errorf("%d requests, for labels of 1, 2 and 3 digits", requests)
	}
	compare(t, events[8:10], all(t, r.Read(t.Context(), cellSeries, noon.AddDate(0, 0, 7*8), noon.AddDate(0, 0, 7*10))))
	latest, err := r.Latest(t.Context(), cellSeries)
	check(t, err)
	compare(t, events[109], latest)
}

// TestUnsortedLabelsWithoutEnd reads to the year 9999, and requests only the buckets that exist.
func TestUnsortedLabelsWithoutEnd(t *testing.T) {
	bt := weathertest.New(t)
	events := []weather.BalloonNewCellsEvent{cellEvent(cellSeries, noon, 1), cellEvent(cellSeries, noon.AddDate(0, 0, 70), 2)}
	check(t, weather.NewBalloonNewCellsWriter(bt.Client, writing(options)).WriteAll(t.Context(), events))
	keys := 0
	client := wrapped{bt.Client, func(api bigtable.TableAPI) bigtable.TableAPI {
		return reading{api, func(set bigtable.RowSet) {
			if list, ok := set.(bigtable.RowList); ok {
				keys += len(list)
			}
		}}
	}}
	r := weather.NewBalloonNewCellsReader(client, options)
	compare(t, events, all(t, r.Read(t.Context(), cellSeries, time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))))
	compare(t, 2, keys)
	compare(t, events[1:], all(t, r.Read(t.Context(), cellSeries, minute(1), time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC))))
	other := weather.BalloonNewCellsSeries{Location: "nowhere", BalloonID: 1}
	compare(t, 0, len(all(t, r.Read(t.Context(), other, time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)))))
}

// reading is a table that records the row sets that are read.
type reading struct {
	bigtable.TableAPI
	see func(bigtable.RowSet)
}

func (r reading) ReadRows(ctx context.Context, set bigtable.RowSet, f func(bigtable.Row) bool, opts ...bigtable.ReadOption) error {
	r.see(set)
	return r.TableAPI.ReadRows(ctx, set, f, opts...)
}

// TestBucketsAreUTC writes the hours around a change to or from daylight saving time in a local
// time zone.
func TestBucketsAreUTC(t *testing.T) {
	berlin := time.FixedZone("UTC+2", 7200)
	bt := weathertest.New(t)
	local := time.Date(2021, 3, 8, 1, 59, 0, 0, berlin) // Monday there, still Sunday in UTC
	check(t, weather.NewBalloonNewCellsWriter(bt.Client, writing(options)).Write(t.Context(), cellEvent(cellSeries, local, 1)))
	for _, line := range cells(t, bt.Client, "balloon_new_cells") {
		if !strings.HasPrefix(line, "us-west1#369#week1 ") || !strings.Contains(line, "2021-03-07T23:59:00") {
			t.Error(line)
		}
	}
	got := all(t, weather.NewBalloonNewCellsReader(bt.Client, options).Read(t.Context(), cellSeries, local, local.Add(1)))
	compare(t, []weather.BalloonNewCellsEvent{cellEvent(cellSeries, local.UTC(), 1)}, got)
}

func TestDelimiterInAValue(t *testing.T) {
	bt := weathertest.New(t)
	w := weather.NewBalloonNewCellsWriter(bt.Client, writing(options))
	r := weather.NewBalloonNewCellsReader(bt.Client, options)
	bad := weather.BalloonNewCellsSeries{Location: "us#west1", BalloonID: 1}
	err := w.Write(t.Context(), cellEvent(bad, noon, 1))
	var field *codec.FieldError
	if !errors.Is(err, codec.ErrDelimiter) || !errors.As(err, &field) || field.Field != "location" {
		t.Error(err)
	}
	for _, err := range r.Read(t.Context(), bad, noon, minute(1)) {
		if !errors.Is(err, codec.ErrDelimiter) {
			t.Error(err)
		}
	}
	if _, err := r.Latest(t.Context(), bad); !errors.Is(err, codec.ErrDelimiter) {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		location string
		want     error
	}{
		"empty": {"", codec.ErrEmpty}, "long": {strings.Repeat("x", 5000), codec.ErrKeyTooLong}, "not text": {"\xff", codec.ErrUTF8},
	} {
		if err := w.Write(t.Context(), cellEvent(weather.BalloonNewCellsSeries{Location: c.location}, noon, 1)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	compare(t, []string(nil), cells(t, bt.Client, "balloon_new_cells"))
}

func TestSeriesThatIsAPrefixOfAnother(t *testing.T) {
	bt := weathertest.New(t)
	w := weather.NewBalloonUnserializedWriter(bt.Client, writing(options))
	r := weather.NewBalloonUnserializedReader(bt.Client, options)
	var all4 []weather.BalloonUnserializedEvent
	for i, s := range []weather.BalloonUnserializedSeries{{"us-west1", 369}, {"us-west1", 3698}, {"us-west10", 369}, {"us-west10", 3698}} {
		all4 = append(all4, weather.BalloonUnserializedEvent{BalloonUnserializedSeries: s, Time: minute(i), Pressure: int64(i)})
	}
	check(t, w.WriteAll(t.Context(), all4))
	for _, e := range all4 {
		compare(t, []weather.BalloonUnserializedEvent{e}, all(t, r.Read(t.Context(), e.BalloonUnserializedSeries, time.Time{}, minute(99))))
		latest, err := r.Latest(t.Context(), e.BalloonUnserializedSeries)
		check(t, err)
		compare(t, e, latest)
	}
}

func TestRangesAreHalfOpen(t *testing.T) {
	bt := weathertest.New(t)
	var events []weather.BalloonNewCellsEvent
	for i := range 10 {
		events = append(events, cellEvent(cellSeries, minute(i), int64(i)))
	}
	check(t, weather.NewBalloonNewCellsWriter(bt.Client, writing(options)).WriteAll(t.Context(), events))
	r := weather.NewBalloonNewCellsReader(bt.Client, options)
	for _, c := range []struct {
		from, to time.Time
		want     []weather.BalloonNewCellsEvent
	}{
		{minute(2), minute(4), events[2:4]},
		{minute(2).Add(1), minute(4).Add(1), events[3:5]},
		{minute(2).Add(-1), minute(4).Add(-1), events[2:4]},
		{minute(4), minute(4), nil},
		{time.Time{}, minute(-1), nil},
		{time.Time{}, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), events},
		{minute(10), minute(100), nil},
	} {
		compare(t, c.want, all(t, r.Read(t.Context(), cellSeries, c.from, c.to)))
	}
	compare(t, []weather.BalloonNewCellsEvent(nil), all(t, r.Read(t.Context(), weather.BalloonNewCellsSeries{Location: "nowhere", BalloonID: 1}, minute(0), minute(9))))
}

func TestTablePrefixAndSetup(t *testing.T) {
	staging := setup.Options{TablePrefix: "staging_"}
	bt := weathertest.New(t, staging)
	plan, err := weather.SetupBalloonNewCells(t.Context(), bt.Admin, bt.Client, staging)
	check(t, err)
	compare(t, "", plan.String())
	plan, err = weather.SetupBalloonNewCells(t.Context(), bt.Admin, bt.Client)
	check(t, err)
	compare(t, "+ table balloon_new_cells\n+ family measurements of table balloon_new_cells: max_age 364d\n", plan.String())
	check(t, weather.NewBalloonNewCellsWriter(bt.Client, store.WriterOptions{Now: clock, TablePrefix: "staging_"}).Write(t.Context(), cellEvent(cellSeries, noon, 1)))
	compare(t, 4, len(cells(t, bt.Client, "staging_balloon_new_cells")))
	compare(t, 0, len(cells(t, bt.Client, "balloon_new_cells")))
}
