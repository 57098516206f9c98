package alltypes_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/btgen-dev/btgen/generated/alltypes"
	"github.com/btgen-dev/btgen/generated/alltypes/alltypestest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Every type of the language, in the row key and in the event.
func Example() {
	ctx := context.Background()
	bt, err := alltypestest.Start(ctx) // in memory, with the tables made
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()

	series := alltypes.SampleSeries{
		Site:   "north",
		Sensor: 3698,
		Unit:   codec.UUID{0xf8, 0x1d, 0x4f, 0xae},
		Kind:   alltypes.SampleKindOutdoor,
		Tag:    []byte{0xca, 0xfe},
		Since:  time.Date(2021, 3, 1, 0, 0, 0, 0, time.UTC),
	}
	noon := time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)
	event := alltypes.SampleEvent{
		SampleSeries:    series,
		Time:            noon,
		Text:            "first",
		At:              noon.Add(-time.Nanosecond),
		Took:            90 * time.Millisecond,
		State:           alltypes.SampleStateBusy,
		Document:        json.RawMessage(`{"a": 1}`),
		DefaultAt:       noon,
		DefaultState:    alltypes.SampleDefaultStateKnown,
		DefaultDocument: json.RawMessage("null"),
	}
	w := alltypes.NewSampleWriter(bt.Client, writing)
	if err := w.Write(ctx, event); err != nil {
		log.Fatal(err)
	}
	event.Time, event.Text, event.MaybeCount = noon.Add(time.Minute), "second", new(int64(0))
	if err := w.Write(ctx, event); err != nil {
		log.Fatal(err)
	}

	r := alltypes.NewSampleReader(bt.Client, options)
	for e, err := range r.Read(ctx, series, noon, noon.Add(time.Hour)) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.Time.Format(time.TimeOnly), e.Text, e.State, e.Took, e.MaybeCount != nil)
	}

	// Output:
	// 12:00:00 first busy 90ms false
	// 12:01:00 second busy 90ms true
}

// options set a clock at which the examples are new.
var options = store.ReaderOptions{Now: func() time.Time { return time.Date(2021, 3, 6, 0, 0, 0, 0, time.UTC) }}

// writing are the options of writers.
var writing = store.WriterOptions{Now: options.Now}

// The row key of a table has a type, whose documentation shows it.
func ExampleParseSparseCellsKey() {
	key := alltypes.SparseCellsKey{Sensor: "north", Bucket: time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)}
	row, err := key.Append(nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", row)
	key, err = alltypes.ParseSparseCellsKey(string(row))
	fmt.Println(key.Sensor, key.Bucket, err)

	// Output:
	// north#2021-03-05
	// north 2021-03-05 00:00:00 +0000 UTC <nil>
}

// Absent fields are nil. A series that was never written is ErrNotFound.
func ExampleSparseReader_Latest() {
	ctx := context.Background()
	bt, err := alltypestest.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer bt.Close()

	north := alltypes.SparseSeries{Sensor: "north"}
	err = alltypes.NewSparseWriter(bt.Client).Write(ctx, alltypes.SparseEvent{
		SparseSeries: north,
		Time:         time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC),
		Note:         new("door checked"),
		Opened:       new(false),
	})
	if err != nil {
		log.Fatal(err)
	}

	r := alltypes.NewSparseReader(bt.Client)
	latest, err := r.Latest(ctx, north)
	fmt.Println(*latest.Note, *latest.Opened, latest.Level == nil, err)
	_, err = r.Latest(ctx, alltypes.SparseSeries{Sensor: "south"})
	fmt.Println(errors.Is(err, store.ErrNotFound), err)

	// Output:
	// door checked false true <nil>
	// true no event found: table sparse_cells has none with the keys "south#…"
}
