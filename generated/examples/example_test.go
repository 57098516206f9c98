package examples_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// The windows of hours and days outlive the readings, and have their corrections.
func Example() {
	ctx := context.Background()
	bt, err := examplestest.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()

	now := time.Date(2100, 3, 8, 1, 0, 0, 0, time.UTC) // a Monday
	clock := func() time.Time { return now }
	// A clock that is moved replaces the wait: nothing is written meanwhile.
	summarize := store.RollupOptions{Now: clock, Sleep: func(_ context.Context, d time.Duration) error {
		now = now.Add(d)
		return nil
	}}
	home := examples.MeterSeries{Region: "north", Meter: 42}
	w := examples.NewMeterWriter(bt.Client, store.WriterOptions{Now: clock})
	r := examples.NewMeterReader(bt.Client, store.ReaderOptions{Now: clock})
	monday := time.Date(2100, 3, 1, 0, 0, 0, 0, time.UTC)
	days := func() {
		for w, err := range r.Windows(ctx, home, monday, monday.AddDate(0, 0, 2), window.Days(1, time.UTC)) {
			if err != nil {
				log.Fatal(err)
			}
			sum, _ := w.Energy.Sum()
			fmt.Println(w.Start.Format("Monday"), w.Events, "readings,", sum, "Wh")
		}
	}

	var readings []examples.MeterEvent
	for i := range 2 * 24 * 4 {
		readings = append(readings, examples.MeterEvent{MeterSeries: home, Time: monday.Add(time.Duration(i) * 15 * time.Minute), Energy: 100, Voltage: 230})
	}
	if err := w.WriteAll(ctx, readings); err != nil {
		log.Fatal(err)
	}
	report, err := examples.RollupMeter(ctx, bt.Client, summarize)
	fmt.Println(report.Sealed, "week,", report.Windows, "hours", err)

	// A month later, a reading is corrected.
	now = now.AddDate(0, 1, 0)
	readings[5].Energy = 700
	if err := w.Write(ctx, readings[5]); err != nil {
		log.Fatal(err)
	}
	days() // already right: from the readings
	if _, err := examples.RollupMeter(ctx, bt.Client, summarize); err != nil {
		log.Fatal(err)
	}

	// Four years later, the windows of five years are still there.
	now = now.AddDate(4, 0, 0)
	_, err = r.Latest(ctx, home)
	fmt.Println("no reading is left:", errors.Is(err, store.ErrNotFound))
	days()

	// Output:
	// 1 week, 48 hours <nil>
	// Monday 96 readings, 10200 Wh
	// Tuesday 96 readings, 9600 Wh
	// no reading is left: true
	// Monday 96 readings, 10200 Wh
	// Tuesday 96 readings, 9600 Wh
}
