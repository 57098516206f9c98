package gen_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

const rollupSchema = `{btgen: v1, package: app, name: Kind, series: {host: string}, fields: {
  text: string, raw: bytes, flag: bool, small: int32, count: uint64, real: float64, single: {type: float32, optional: true},
  at: timestamp, took: duration, id: uuid, state: {type: enum, of: {on: 1, off: 7}}, extra: json}, tables: {
  kinds: {pattern: bucket_new_cells, key: {delimiter: "#", segments: [host, bucket]}, bucket: 1d, family: m, ttl: {max_age: 30d},
    rollup: {every: 1h, family: h, ttl: {max_age: 52w}}}}}`

// kindWindow has the statistics of the fields as generated code has them.
type kindWindow struct {
	window.Window
	Host   string
	Text   window.Values[string]
	Raw    window.Values[[]byte]
	Flag   window.Values[bool]
	Small  window.Int[int32]
	Count  window.Int[uint64]
	Real   window.Float64[float64]
	Single window.Float64[float32]
	At     window.Values[time.Time]
	Took   window.Int[time.Duration]
	ID     window.Values[codec.UUID]
	State  window.Values[int32]
	Extra  window.Values[json.RawMessage]
}

// start returns a schema and a server with its tables.
func start(t *testing.T, text string) (*dynamic.Schema, *storetest.Bigtable) {
	t.Helper()
	s := dynamic.New(testschema.Layout(t, text))
	return s, dynamictest.Start(t, s)
}

// TestRollupOfAnySchema summarizes events of all types without generated code, which reads and encodes the same runs.
func TestRollupOfAnySchema(t *testing.T) {
	s, b := start(t, rollupSchema)
	day := time.Date(2021, 3, 5, 0, 0, 0, 0, time.UTC)
	clock := func(days int) func() time.Time { return func() time.Time { return day.AddDate(0, 0, days) } }
	var events []dynamic.Event
	for i := range 40 {
		e := dynamic.Event{Series: []any{"a"}, Time: day.Add(time.Duration(i) * 17 * time.Minute), Values: []any{
			fmt.Sprint("t", i), []byte{byte(i)}, i%2 == 0, int64(-i), uint64(i) << 60, 0.1 * float64(i), float64(float32(0.3)), day.Add(time.Duration(i)), time.Duration(-i),
			fmt.Sprintf("00000000-0000-0000-0000-0000000000%02d", i), []string{"on", "off"}[i%2], fmt.Sprintf(`{"n":%d}`, i),
		}}
		if i%3 == 0 {
			e.Values[6] = nil
		}
		events = append(events, e)
	}
	must(t, s.NewWriter(b.Client, store.WriterOptions{Now: clock(1)}).WriteAll(t.Context(), events))
	report, err := s.Rollup(t.Context(), b.Client, store.RollupOptions{Now: clock(2), Sleep: func(context.Context, time.Duration) error { return nil }})
	if err != nil || report.Sealed != 1 || report.Windows != 12 {
		t.Fatal(report, err)
	}
	row, err := b.Client.Open("kinds").ReadRow(t.Context(), "a#2021-03-05", bigtable.RowFilter(bigtable.FamilyFilter("h")))
	if err != nil || len(row["h"]) != 1 {
		t.Fatal(row, err)
	}
	var run window.Run
	if err := kindSpec.ParseRun(&run, row["h"][0].Value); err != nil || run.Lacks {
		t.Fatal(run.Lacks, err)
	}
	w := run.Windows[0].Window.(*kindWindow)
	got := fmt.Sprintln(w.Events, w.Text.Last, w.Raw.Last, w.Flag.Last, w.Small.Min, w.Count.BigSum(), w.Real.Sum(), w.Single.Last, w.Single.Count, w.At.Last, w.Took.Min, w.ID.Last, w.State.Last, string(w.Extra.Last))
	want := `4 t3 [3] false -3 6917529027641081856 0.6000000000000001 0.3 2 2021-03-05 00:00:00.000000003 +0000 UTC -3ns 00000000-0000-0000-0000-000000000003 7 {"n":3}`
	assert.Same(t, want+"\n", got)
	again, err := kindSpec.AppendRun(nil, &run)
	if err != nil || string(again) != string(row["h"][0].Value) {
		t.Error("generated code encodes the run differently", err)
	}
}

// kindSpec describes windows of generated code, of which the test has no events.
var kindSpec = window.NewSpec[string, kindWindow](
	window.ValuesPart[string]("text", 0),
	window.ValuesPart[[]byte]("raw", 0),
	window.ValuesPart[bool]("flag", 0),
	window.IntPart[int32]("small", 0),
	window.IntPart[uint64]("count", 0),
	window.FloatPart[float64]("real", 0),
	window.FloatPart[float32]("single", 0),
	window.ValuesPart[time.Time]("at", 0),
	window.IntPart[time.Duration]("took", 0),
	window.ValuesPart[codec.UUID]("id", 0),
	window.ValuesPart[int32]("state", 0),
	window.ValuesPart[json.RawMessage]("extra", 0),
)

// TestRollupNames checks that runs have the names that reads have for fields, which are those of the last table whose columns
// can be read one by one.
func TestRollupNames(t *testing.T) {
	const table = `bucket: 1d, key: {delimiter: "#", segments: [host, bucket]}, family: m, ttl: {max_age: 30d},
    rollup: {every: 1h, family: h, ttl: {max_age: 52w}, fields: `
	l := testschema.Layout(t, `{btgen: v1, package: app, name: Kind, series: {host: string},
 fields: {one: {type: int64, column: o}, two: {type: int64, column: t}}, tables: {
  blobs: {pattern: bucket_serialized, blob: {column: e, format: json}, `+table+`[two]}},
  cells: {pattern: bucket_new_cells, `+table+`[one]}}}}`)
	for i, want := range []string{"t", "o"} {
		assert.Same(t, []string{want}, l.Tables[i].Rollup.Fields)
	}
}
