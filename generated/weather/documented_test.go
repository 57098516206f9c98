package weather_test

import (
	"fmt"
	"iter"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/store"
)

// clock is a time at which the documented data is a day old, and has not expired.
func clock() time.Time { return time.Date(2021, 3, 6, 0, 0, 0, 0, time.UTC) }

// noon is the time of the first documented event.
var noon = time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)

var (
	options = store.ReaderOptions{Now: clock}
	writing = store.WriterOptions{Now: clock}
)

// cells returns every cell of a table, one per line: row, column, time, value.
func cells(t *testing.T, client *bigtable.Client, table string) []string {
	t.Helper()
	var out []string
	err := client.Open(table).ReadRows(t.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
		for _, items := range row {
			for _, item := range items {
				out = append(out, fmt.Sprintf("%s %s %s %q", item.Row, item.Column, item.Timestamp.Time().UTC().Format("2006-01-02T15:04:05.999999"), item.Value))
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// check fails the test if err is not nil.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// compare fails the test if got is not want.
func compare(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// minute returns the time n minutes after noon.
func minute(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }

func TestDocumentedNewColumns(t *testing.T) {
	bt := weathertest.New(t)
	w := weather.NewBalloonNewColumnsWriter(bt.Client, writing)
	series := weather.BalloonNewColumnsSeries{Location: "us-west2", BalloonID: 3698}
	check(t, w.WriteAll(t.Context(), []weather.BalloonNewColumnsEvent{
		{BalloonNewColumnsSeries: series, Time: minute(0), Pressure: 94558, Temperature: 9.6, Humidity: 61, Altitude: 612},
		{BalloonNewColumnsSeries: series, Time: minute(1), Pressure: 94122, Temperature: 9.7, Humidity: 62, Altitude: 611},
		{BalloonNewColumnsSeries: series, Time: minute(2), Pressure: 95992, Temperature: 9.5, Humidity: 58, Altitude: 602},
	}))
	compare(t, []string{
		`us-west2#3698#altitude#week1 measurements:602 2021-03-05T12:02:00 ""`,
		`us-west2#3698#altitude#week1 measurements:611 2021-03-05T12:01:00 ""`,
		`us-west2#3698#altitude#week1 measurements:612 2021-03-05T12:00:00 ""`,
		`us-west2#3698#humidity#week1 measurements:58 2021-03-05T12:02:00 ""`,
		`us-west2#3698#humidity#week1 measurements:61 2021-03-05T12:00:00 ""`,
		`us-west2#3698#humidity#week1 measurements:62 2021-03-05T12:01:00 ""`,
		`us-west2#3698#pressure#week1 measurements:94122 2021-03-05T12:01:00 ""`,
		`us-west2#3698#pressure#week1 measurements:94558 2021-03-05T12:00:00 ""`,
		`us-west2#3698#pressure#week1 measurements:95992 2021-03-05T12:02:00 ""`,
		`us-west2#3698#temperature#week1 measurements:9.5 2021-03-05T12:02:00 ""`,
		`us-west2#3698#temperature#week1 measurements:9.6 2021-03-05T12:00:00 ""`,
		`us-west2#3698#temperature#week1 measurements:9.7 2021-03-05T12:01:00 ""`,
	}, cells(t, bt.Client, "balloon_new_columns"))
}

func TestDocumentedNewCells(t *testing.T) {
	bt := weathertest.New(t)
	w := weather.NewBalloonNewCellsWriter(bt.Client, writing)
	series := weather.BalloonNewCellsSeries{Location: "asia-south2", BalloonID: 3698}
	check(t, w.WriteAll(t.Context(), []weather.BalloonNewCellsEvent{
		{BalloonNewCellsSeries: series, Time: minute(0), Pressure: 94558, Temperature: 9.5, Humidity: 65, Altitude: 601},
		{BalloonNewCellsSeries: series, Time: minute(1), Pressure: 94122, Temperature: 9.4, Humidity: 65, Altitude: 602},
		{BalloonNewCellsSeries: series, Time: minute(2), Pressure: 95992, Temperature: 9.2, Humidity: 65, Altitude: 603},
	}))
	compare(t, []string{
		`asia-south2#3698#week1 measurements:altitude 2021-03-05T12:02:00 "603"`,
		`asia-south2#3698#week1 measurements:altitude 2021-03-05T12:01:00 "602"`,
		`asia-south2#3698#week1 measurements:altitude 2021-03-05T12:00:00 "601"`,
		`asia-south2#3698#week1 measurements:humidity 2021-03-05T12:02:00 "65"`,
		`asia-south2#3698#week1 measurements:humidity 2021-03-05T12:01:00 "65"`,
		`asia-south2#3698#week1 measurements:humidity 2021-03-05T12:00:00 "65"`,
		`asia-south2#3698#week1 measurements:pressure 2021-03-05T12:02:00 "95992"`,
		`asia-south2#3698#week1 measurements:pressure 2021-03-05T12:01:00 "94122"`,
		`asia-south2#3698#week1 measurements:pressure 2021-03-05T12:00:00 "94558"`,
		`asia-south2#3698#week1 measurements:temperature 2021-03-05T12:02:00 "9.2"`,
		`asia-south2#3698#week1 measurements:temperature 2021-03-05T12:01:00 "9.4"`,
		`asia-south2#3698#week1 measurements:temperature 2021-03-05T12:00:00 "9.5"`,
	}, cells(t, bt.Client, "balloon_new_cells"))
}

// documented are the five events of the documented unserialized table.
var documented = []struct {
	pressure    int64
	temperature float64
	humidity    int64
	altitude    int64
}{{94558, 9.6, 61, 612}, {94122, 9.7, 62, 611}, {95992, 9.5, 58, 602}, {96025, 9.5, 66, 598}, {96021, 9.6, 63, 624}}

func TestDocumentedUnserialized(t *testing.T) {
	bt := weathertest.New(t)
	series := weather.BalloonUnserializedSeries{Location: "us-west2", BalloonID: 3698}
	var events []weather.BalloonUnserializedEvent
	for i, d := range documented {
		events = append(events, weather.BalloonUnserializedEvent{
			BalloonUnserializedSeries: series, Time: minute(i),
			Pressure: d.pressure, Temperature: d.temperature, Humidity: d.humidity, Altitude: d.altitude,
		})
	}
	check(t, weather.NewBalloonUnserializedWriter(bt.Client, writing).WriteAll(t.Context(), events))
	var want []string
	for i, d := range documented {
		row := fmt.Sprintf("us-west2#3698#2021-03-05-120%d measurements:", i)
		at := fmt.Sprintf(" 2021-03-05T12:0%d:00 ", i)
		want = append(want,
			row+"altitude"+at+fmt.Sprintf(`"%d"`, d.altitude),
			row+"humidity"+at+fmt.Sprintf(`"%d"`, d.humidity),
			row+"pressure"+at+fmt.Sprintf(`"%d"`, d.pressure),
			row+"temperature"+at+fmt.Sprintf(`"%v"`, d.temperature))
	}
	compare(t, want, cells(t, bt.Client, "balloon_unserialized"))
	r := weather.NewBalloonUnserializedReader(bt.Client, options)
	compare(t, events[1:4], all(t, r.Read(t.Context(), series, minute(1), minute(4))))
	latest, err := r.Latest(t.Context(), series)
	check(t, err)
	compare(t, events[4], latest)
}

func TestDocumentedSerialized(t *testing.T) {
	bt := weathertest.New(t)
	series := weather.BalloonSerializedSeries{Location: "us-west2", BalloonID: 3698}
	var events []weather.BalloonSerializedEvent
	for i, d := range documented[:4] {
		events = append(events, weather.BalloonSerializedEvent{
			BalloonSerializedSeries: series, Time: minute(i),
			Pressure: d.pressure, Temperature: d.temperature, Humidity: d.humidity, Altitude: d.altitude,
		})
	}
	check(t, weather.NewBalloonSerializedWriter(bt.Client, writing).WriteAll(t.Context(), events))
	// Field 1 varint, 2 double, 3 varint, 4 varint, as in balloon_serialized.proto.
	compare(t, []string{
		`us-west2#3698#2021-03-05-1200 measurements:measurements_blob 2021-03-05T12:00:00 "\b\xde\xe2\x05\x11333333#@\x18= \xe4\x04"`,
		`us-west2#3698#2021-03-05-1201 measurements:measurements_blob 2021-03-05T12:01:00 "\b\xaa\xdf\x05\x11ffffff#@\x18> \xe3\x04"`,
		`us-west2#3698#2021-03-05-1202 measurements:measurements_blob 2021-03-05T12:02:00 "\b\xf8\xed\x05\x11\x00\x00\x00\x00\x00\x00#@\x18: \xda\x04"`,
		`us-west2#3698#2021-03-05-1203 measurements:measurements_blob 2021-03-05T12:03:00 "\b\x99\xee\x05\x11\x00\x00\x00\x00\x00\x00#@\x18B \xd6\x04"`,
	}, cells(t, bt.Client, "balloon_serialized"))
	r := weather.NewBalloonSerializedReader(bt.Client, options)
	compare(t, events, all(t, r.Read(t.Context(), series, minute(0), minute(9))))
}

func TestDocumentedCombination(t *testing.T) {
	bt := weathertest.New(t)
	series := weather.BalloonCombinedSeries{Location: "us-west2", BalloonID: 3698}
	events := []weather.BalloonCombinedEvent{
		{BalloonCombinedSeries: series, Time: minute(0), Pressure: 94558, Temperature: 9.6, Humidity: 61, Altitude: 612},
		{BalloonCombinedSeries: series, Time: noon.AddDate(0, 0, 7), Pressure: 94122, Temperature: 9.7, Humidity: 62, Altitude: 611},
	}
	check(t, weather.NewBalloonCombinedWriter(bt.Client, writing).WriteAll(t.Context(), events))
	compare(t, []string{
		`us-west2#3698#week0001 measurements:measurements_blob 2021-03-05T12:00:00 "\b\xde\xe2\x05\x11333333#@\x18= \xe4\x04"`,
		`us-west2#3698#week0002 measurements:measurements_blob 2021-03-12T12:00:00 "\b\xaa\xdf\x05\x11ffffff#@\x18> \xe3\x04"`,
	}, cells(t, bt.Client, "balloon_combined"))
	r := weather.NewBalloonCombinedReader(bt.Client, options)
	compare(t, events, all(t, r.Read(t.Context(), series, minute(0), noon.AddDate(1, 0, 0))))
}

// TestBalloonWeek writes and reads the documented full week: 10,080 events in
// one row.
func TestBalloonWeek(t *testing.T) {
	testlong.Skip(t, "the in-memory server takes long over a row of that size")
	bt := weathertest.New(t)
	series := weather.BalloonNewCellsSeries{Location: "asia-southeast1", BalloonID: 3698}
	monday := time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC)
	var events []weather.BalloonNewCellsEvent
	for i := range 10080 {
		events = append(events, weather.BalloonNewCellsEvent{
			BalloonNewCellsSeries: series, Time: monday.Add(time.Duration(i) * time.Minute),
			Pressure: 94587 + int64(i), Temperature: 9.5 + float64(i)/8, Humidity: 65, Altitude: 601,
		})
	}
	check(t, weather.NewBalloonNewCellsWriter(bt.Client, store.WriterOptions{Now: clock, Timeout: 5 * time.Minute}).WriteAll(t.Context(), events))
	rows := 0
	check(t, bt.Client.Open("balloon_new_cells").ReadRows(t.Context(), bigtable.InfiniteRange(""), func(bigtable.Row) bool { rows++; return true },
		bigtable.RowFilter(bigtable.CellsPerRowLimitFilter(1))))
	if rows != 1 {
		t.Errorf("%d rows", rows)
	}
	r := weather.NewBalloonNewCellsReader(bt.Client, options)
	compare(t, events, all(t, r.Read(t.Context(), series, monday, monday.AddDate(0, 0, 7))))
	compare(t, events[1440:2880], all(t, r.Read(t.Context(), series, monday.AddDate(0, 0, 1), monday.AddDate(0, 0, 2))))
}

// all returns the events of a read without errors.
func all[E any](t *testing.T, events iter.Seq2[E, error]) []E {
	t.Helper()
	var out []E
	for e, err := range events {
		check(t, err)
		out = append(out, e)
	}
	return out
}
