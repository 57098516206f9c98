package examples_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Events are written to every table of the schema, and read from the one that needs the
// fewest requests.
func Example_patterns() {
	ctx := context.Background()
	bt, err := examplestest.Start(ctx) // in memory, with the tables made
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()

	seattle := examples.DailySeries{Location: "Seattle"}
	day := time.Date(2015, 12, 30, 0, 0, 0, 0, time.UTC)
	w := examples.NewDailyWriter(bt.Client)
	err = w.WriteAll(ctx, []examples.DailyEvent{
		{DailySeries: seattle, Time: day, TempMax: 5.6, TempMin: -1, Wind: 3.4, Weather: examples.DailyWeatherSun},
		{DailySeries: seattle, Time: day.AddDate(0, 0, 1), TempMax: 5.6, TempMin: -2.1, Wind: 3.5, Weather: examples.DailyWeatherSun},
		{DailySeries: seattle, Time: day.AddDate(0, 0, 2), Precipitation: 0.5, TempMax: 4.2, TempMin: -1.2, Wind: 1.9, Weather: examples.DailyWeatherRain},
	})
	if err != nil {
		log.Fatal(err)
	}

	r := examples.NewDailyReader(bt.Client)
	for e, err := range r.Read(ctx, seattle, day, day.AddDate(0, 0, 2)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Time.Format(time.DateOnly), e.Weather, e.TempMin, e.TempMax)
	}
	latest, err := r.Latest(ctx, seattle)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("latest:", latest.Time.Format(time.DateOnly), latest.Weather)

	// Output:
	// 2015-12-30 sun -1 5.6
	// 2015-12-31 sun -2.1 5.6
	// latest: 2016-01-01 rain
}

// A WriteError names each event that was not written, with the reason. All others were written.
func ExampleWriteError() {
	ctx := context.Background()
	bt, err := examplestest.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()

	hour := time.Date(2010, 1, 1, 1, 0, 0, 0, time.UTC)
	err = examples.NewNormalWriter(bt.Client).WriteAll(ctx, []examples.NormalEvent{
		{NormalSeries: examples.NormalSeries{Station: "seattle"}, Time: hour, Pressure: 1016.6},
		{NormalSeries: examples.NormalSeries{Station: "sea#tac"}, Time: hour, Pressure: 1016.6},
	})
	if failed, ok := errors.AsType[*store.WriteError](err); ok {
		fmt.Println(failed.Failures[0])
	}
	fmt.Println("the delimiter:", errors.Is(err, codec.ErrDelimiter))

	// Output:
	// event 1, table normal_columns: station "sea#tac": key segment contains the delimiter
	// the delimiter: true
}

// Setup creates what is missing, and returns what it created.
func ExampleSetupNormal() {
	ctx := context.Background()
	bt, err := examplestest.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()

	staging := setup.Options{TablePrefix: "staging_"}
	plan, err := examples.SetupNormal(ctx, bt.Admin, bt.Client, staging)
	if err != nil {
		log.Fatal(err)
	}
	for _, change := range plan.Changes[:4] {
		fmt.Println(change)
	}
	plan, err = examples.SetupNormal(ctx, bt.Admin, bt.Client, staging)
	fmt.Println("nothing left:", plan.Empty(), err)

	// Output:
	// + table staging_normal_columns
	// + family m of table staging_normal_columns: keep forever
	// + table staging_normal_cells
	// + family m of table staging_normal_cells: keep forever
	// nothing left: true <nil>
}
