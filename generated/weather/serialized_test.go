package weather_test

import (
	"fmt"
	"testing"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// columnsOfEvents returns the events of Read as columns, and its first error.
func columnsOfEvents(t *testing.T, r *weather.BalloonCombinedReader, n int, o store.ReadOptions) (want weather.BalloonCombinedColumns, failed error) {
	t.Helper()
	for e, err := range r.Read(t.Context(), combined, minute(0), minute(n), o) {
		switch {
		case err == nil:
			want.Append(&e)
		case failed == nil:
			failed = err
		}
	}
	return want, failed
}

var combined = weather.BalloonCombinedSeries{Location: "us-west2", BalloonID: 3698}

// Serialized events are parsed a few at a time. For any number of events, in
// either order, the columns must contain what Read yields, even if other
// programs wrote some of the events with fields in another order, repeated or
// unknown fields, or undecodable values.
func TestColumnsOfManySerializedEvents(t *testing.T) {
	bt := weathertest.New(t)
	var events []weather.BalloonCombinedEvent
	for i := range 100 {
		events = append(events, weather.BalloonCombinedEvent{
			BalloonCombinedSeries: combined, Time: minute(i), Pressure: int64(i), Temperature: float64(i % 7), Humidity: int64(-i), Altitude: int64(i % 2),
		})
	}
	check(t, weather.NewBalloonCombinedWriter(bt.Client, writing).WriteAll(t.Context(), events))
	r := weather.NewBalloonCombinedReader(bt.Client, options)
	var columns weather.BalloonCombinedColumns
	same := func(n int) {
		for _, newest := range []bool{false, true} {
			o := store.ReadOptions{NewestFirst: newest}
			want, failed := columnsOfEvents(t, r, n, o)
			columns.Reset()
			err := r.ReadColumns(t.Context(), combined, minute(0), minute(n), &columns, o)
			compare(t, fmt.Sprint(failed), fmt.Sprint(err))
			compare(t, want.Time, append(want.Time[:0:0], columns.Time...))
			compare(t, want.Pressure, append(want.Pressure[:0:0], columns.Pressure...))
			compare(t, want.Temperature, append(want.Temperature[:0:0], columns.Temperature...))
			compare(t, want.Humidity, append(want.Humidity[:0:0], columns.Humidity...))
			compare(t, want.Altitude, append(want.Altitude[:0:0], columns.Altitude...))
		}
	}
	for _, n := range []int{0, 1, 31, 32, 33, 64, 100} {
		same(n)
		compare(t, n, len(columns.Time))
	}
	key, err := weather.BalloonCombinedKey{Location: combined.Location, BalloonID: combined.BalloonID, Bucket: minute(0)}.Append(nil)
	check(t, err)
	for i, foreign := range []string{"\x18\x05\x08\x06", "\x08\x05\x08\x06", "\x28\x05\x08\x06", "\x08\x80"} {
		m := bigtable.NewMutation()
		m.Set("measurements", "measurements_blob", bigtable.Timestamp(minute(40+i).UnixMicro()), []byte(foreign))
		check(t, bt.Client.Open("balloon_combined").Apply(t.Context(), string(key), m))
		same(100)
		compare(t, 100-i/3, len(columns.Time))
	}
}
