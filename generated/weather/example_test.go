package weather_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/btgen-dev/btgen/generated/weather"
	"github.com/btgen-dev/btgen/generated/weather/weathertest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
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

func ExampleSetupBalloonNewCells() {
	ctx := context.Background()
	bt, err := weathertest.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()
	for range 2 { // a second call finds nothing to do
		plan, err := weather.SetupBalloonNewCells(ctx, bt.Admin, bt.Client, setup.Options{TablePrefix: "staging_"})
		fmt.Printf("%s%v\n", plan, err)
	}
	// Output:
	// + table staging_balloon_new_cells
	// + family measurements of table staging_balloon_new_cells: max_age 364d
	// <nil>
	// <nil>
}

func ExampleBalloonNewCellsWriter_WriteAll() {
	ctx := context.Background()
	bt, err := weathertest.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()
	now := time.Now()
	err = weather.NewBalloonNewCellsWriter(bt.Client).WriteAll(ctx, []weather.BalloonNewCellsEvent{
		{BalloonNewCellsSeries: weather.BalloonNewCellsSeries{Location: "us-west2", BalloonID: 3698}, Time: now},
		{BalloonNewCellsSeries: weather.BalloonNewCellsSeries{Location: "us#west2", BalloonID: 3698}, Time: now},
	})
	var failed *store.WriteError
	if errors.As(err, &failed) {
		for _, f := range failed.Failures {
			fmt.Println(f.Index, f.Outcome, f.Err)
		}
	}
	fmt.Println(errors.Is(err, codec.ErrDelimiter))
	// Output:
	// 1 refused location "us#west2": key segment contains the delimiter
	// true
}

func ExampleBalloonNewCellsReader_Latest() {
	ctx := context.Background()
	bt, err := weathertest.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()
	_, err = weather.NewBalloonNewCellsReader(bt.Client).Latest(ctx, weather.BalloonNewCellsSeries{Location: "us-west2", BalloonID: 3698})
	fmt.Println(errors.Is(err, store.ErrNotFound))
	// Output: true
}
