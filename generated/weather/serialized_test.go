package weather_test

import (
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// Serialized events are parsed a few at a time. For any number of events, in
// either order, the columns must contain what Read yields, even if other
// programs wrote some of the events with fields in another order, repeated or
// unknown fields, or undecodable values.
func TestColumnsOfManySerializedEvents(t *testing.T) {
	bt := weathertest.New(t)
	series := weather.BalloonCombinedSeries{Location: "us-west2", BalloonID: 3698}
	minute := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Minute) }
	var events []weather.BalloonCombinedEvent
	for i := range 100 {
		events = append(events, weather.BalloonCombinedEvent{
			BalloonCombinedSeries: series, Time: minute(i),
			Pressure: int64(i), Temperature: float64(i % 7), Humidity: int64(-i), Altitude: int64(i % 2),
		})
	}
	storetest.Write(t, weather.NewBalloonCombinedWriter(bt.Client, writing).WriteAll, events)
	r := weather.NewBalloonCombinedReader(bt.Client, options)
	same := func(n, decodable int) {
		for _, newest := range []bool{false, true} {
			o := store.ReadOptions{NewestFirst: newest}
			var want []weather.BalloonCombinedEvent
			var failed error
			for e, err := range r.Read(t.Context(), series, minute(0), minute(n), o) {
				switch {
				case err == nil:
					want = append(want, e)
				case failed == nil:
					failed = err
				}
			}
			var columns weather.BalloonCombinedColumns
			err := r.ReadColumns(t.Context(), series, minute(0), minute(n), &columns, o)
			assert.Same(t, []any{decodable, fmt.Sprint(failed)}, []any{len(want), fmt.Sprint(err)}, n)
			read := func(c *weather.BalloonCombinedColumns) error { *c = columns; return nil }
			storetest.Same(t, fmt.Sprint(n, newest), storetest.Columns[weather.BalloonCombinedEvent](read), want...)
		}
	}
	for _, n := range []int{0, 1, 31, 32, 33, 64, 100} {
		same(n, n)
	}
	key, err := weather.BalloonCombinedKey{Location: series.Location, BalloonID: series.BalloonID, Bucket: noon}.Append(nil)
	assert.Must(t, err)
	for i, foreign := range []string{"\x18\x05\x08\x06", "\x08\x05\x08\x06", "\x28\x05\x08\x06", "\x08\x80"} {
		m := bigtable.NewMutation()
		m.Set("measurements", "measurements_blob", bigtable.Timestamp(minute(40+i).UnixMicro()), []byte(foreign))
		assert.Must(t, bt.Client.Open("balloon_combined").Apply(t.Context(), string(key), m))
		same(100, 100-i/3)
	}
}
