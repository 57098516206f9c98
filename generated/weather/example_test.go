package weather_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Setup, writing and reading on an in-memory Bigtable. The clock is fixed in
// 2021, so that the events have not expired.
func Example() {
	ctx := context.Background()
	bt, err := weathertest.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()
	clock := func() time.Time { return time.Date(2021, 3, 6, 0, 0, 0, 0, time.UTC) }

	series := weather.BalloonCombinedSeries{Location: "us-west2", BalloonID: 3698}
	noon := time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)
	err = weather.NewBalloonCombinedWriter(bt.Client, store.WriterOptions{Now: clock}).WriteAll(ctx, []weather.BalloonCombinedEvent{
		{BalloonCombinedSeries: series, Time: noon, Pressure: 94558, Temperature: 9.6, Humidity: 61, Altitude: 612},
		{BalloonCombinedSeries: series, Time: noon.Add(time.Minute), Pressure: 94122, Temperature: 9.7, Humidity: 62, Altitude: 611},
	})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range weather.NewBalloonCombinedReader(bt.Client, store.ReaderOptions{Now: clock}).Read(ctx, series, noon, noon.Add(time.Hour)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Time.Format(time.TimeOnly), event.Pressure, event.Temperature)
	}
	// Output:
	// 12:00:00 94558 9.6
	// 12:01:00 94122 9.7
}
