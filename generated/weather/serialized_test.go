package weather_test

import (
	"testing"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Serialized events are parsed a few at a time: whatever their number, in either order,
// the columns hold what Read yields.
func TestColumnsOfManySerializedEvents(t *testing.T) {
	bt := weathertest.New(t)
	series := weather.BalloonCombinedSeries{Location: "us-west2", BalloonID: 3698}
	var events []weather.BalloonCombinedEvent
	for i := range 100 {
		events = append(events, weather.BalloonCombinedEvent{
			BalloonCombinedSeries: series, Time: minute(i), Pressure: int64(i), Temperature: float64(i % 7), Humidity: int64(-i), Altitude: int64(i % 2),
		})
	}
	check(t, weather.NewBalloonCombinedWriter(bt.Client, writing(options)).WriteAll(t.Context(), events))
	r := weather.NewBalloonCombinedReader(bt.Client, options)
	var columns weather.BalloonCombinedColumns
	for _, n := range []int{0, 1, 31, 32, 33, 64, 100} {
		for _, newest := range []bool{false, true} {
			o := store.ReadOptions{NewestFirst: newest}
			var want weather.BalloonCombinedColumns
			for _, e := range all(t, r.Read(t.Context(), series, minute(0), minute(n), o)) {
				want.Append(&e)
			}
			columns.Reset()
			check(t, r.ReadColumns(t.Context(), series, minute(0), minute(n), &columns, o))
			compare(t, n, len(columns.Time))
			compare(t, want.Time, append(want.Time[:0:0], columns.Time...))
			compare(t, want.Pressure, append(want.Pressure[:0:0], columns.Pressure...))
			compare(t, want.Temperature, append(want.Temperature[:0:0], columns.Temperature...))
			compare(t, want.Humidity, append(want.Humidity[:0:0], columns.Humidity...))
			compare(t, want.Altitude, append(want.Altitude[:0:0], columns.Altitude...))
		}
	}
}
