package weather_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
)

// clock is a moment at which the documented data is a day old: garbage
// collection is not due.
func clock() time.Time { return time.Date(2021, 3, 6, 0, 0, 0, 0, time.UTC) }

// noon is the time of the first documented event.
var noon = time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)

var options = weather.Options{Now: clock}

// cells returns every cell of a table, one a line: row, column, time, value.
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
	w := weather.NewBalloonNewColumnsWriter(bt.Client, options)
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
	w := weather.NewBalloonNewCellsWriter(bt.Client, options)
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
	r := weather.NewBalloonNewCellsReader(bt.Client, options)
	n := 0
	for e, err := range r.Read(context.Background(), series, minute(0), minute(2)) {
		check(t, err)
		n++
		t.Log(e)
	}
	if n != 2 {
		t.Error(n)
	}
	e, err := r.Latest(t.Context(), series)
	t.Log(e, err)
}
