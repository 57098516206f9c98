package examples_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/store"
)

// An event specifies its lifetime in one of three ways, depending on the TTL
// strategy of its table. After that, no reader returns it, whether or not it
// was garbage-collected.
func Example_expiry() {
	ctx := context.Background()
	bt, err := examplestest.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()
	noon := time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)
	now := noon
	clock := func() time.Time { return now }

	// Default expiration: two days, unless the event sets a TTL.
	byDefault := examples.UsageDefaultSeries{Customer: "customer-07"}
	err1 := examples.NewUsageDefaultWriter(bt.Client, store.WriterOptions{Now: clock}).Write(ctx,
		examples.UsageDefaultEvent{UsageDefaultSeries: byDefault, Time: noon, TTL: time.Hour})
	// One-second expiration: each event specifies when it expires.
	oneSecond := examples.UsageOneSecondSeries{Customer: "customer-07"}
	err2 := examples.NewUsageOneSecondWriter(bt.Client, store.WriterOptions{Now: clock}).Write(ctx,
		examples.UsageOneSecondEvent{UsageOneSecondSeries: oneSecond, Time: noon, ExpiresAt: noon.Add(90 * time.Minute)})
	// Classes: each event has one, and its cells keep the event time.
	classes := examples.UsageClassesSeries{Customer: "customer-07"}
	err3 := examples.NewUsageClassesWriter(bt.Client, store.WriterOptions{Now: clock}).Write(ctx,
		examples.UsageClassesEvent{UsageClassesSeries: classes, Time: noon, Class: examples.UsageClassLong})
	if err := errors.Join(err1, err2, err3); err != nil {
		log.Fatal(err)
	}

	for _, now = range []time.Time{noon, noon.Add(time.Hour), noon.Add(2 * time.Hour)} {
		fmt.Println(now.Format(time.TimeOnly))
		if e, err := examples.NewUsageDefaultReader(bt.Client, store.ReaderOptions{Now: clock}).Latest(ctx, byDefault); err == nil {
			fmt.Println("  default: until", e.ExpiresAt.Format(time.TimeOnly))
		}
		if e, err := examples.NewUsageOneSecondReader(bt.Client, store.ReaderOptions{Now: clock}).Latest(ctx, oneSecond); err == nil {
			fmt.Println("  one second: until", e.ExpiresAt.Format(time.TimeOnly))
		}
		if e, err := examples.NewUsageClassesReader(bt.Client, store.ReaderOptions{Now: clock}).Latest(ctx, classes); err == nil {
			fmt.Println("  class:", e.Class)
		}
	}
	// Output:
	// 12:00:00
	//   default: until 13:00:00
	//   one second: until 13:30:00
	//   class: long
	// 13:00:00
	//   one second: until 13:30:00
	//   class: long
	// 14:00:00
	//   class: long
}

// A class is stored and shown by its name. Its number follows from the names of all classes.
func ExampleUsageClass() {
	text, err := json.Marshal(examples.UsageClassLong)
	var class examples.UsageClass
	fmt.Println(string(text), err, json.Unmarshal(text, &class), class == examples.UsageClassLong)
	// Output: "long" <nil> <nil> true
}
