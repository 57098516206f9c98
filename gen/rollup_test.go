package gen_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/golden/testschema"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

const rollupSchema = `btgen: v1
package: app
name: Kind
series: {host: string}
fields:
  text: string
  raw: bytes
  flag: bool
  small: int32
  count: uint64
  real: float64
  single: {type: float32, optional: true}
  at: timestamp
  took: duration
  id: uuid
  state: {type: enum, of: {on: 1, off: 7}}
  extra: json
tables:
  kinds:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1d
    family: m
    ttl: {max_age: 30d}
    rollup: {every: 1h, family: h, ttl: {max_age: 52w}}
`

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

// TestRollupOfAnySchema summarizes events of all types without generated code, reads the windows back after the events have
// expired, and compares them with those of the events; generated code reads the same runs.
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
	read := func(days int) (out []dynamic.Window) {
		reader := s.NewReader(b.Client, store.ReaderOptions{Now: clock(days)})
		for w, err := range reader.Windows(t.Context(), dynamic.Series([]any{"a"}), day, day.AddDate(0, 0, 1), window.Every(2*time.Hour)) {
			must(t, err)
			out = append(out, w)
		}
		return out
	}
	before := read(1)
	report, err := s.Rollup(t.Context(), b.Client, store.RollupOptions{Now: clock(2), Sleep: func(context.Context, time.Duration) error { return nil }})
	if err != nil || report.Sealed != 1 || report.Windows != 12 {
		t.Fatal(report, err)
	}
	if diff := cmp.Diff(before, read(100), cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" || len(before) != 6 {
		t.Errorf("%d windows: %s", len(before), diff)
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
	got := strings.TrimSuffix(fmt.Sprintln(w.Events, w.Text.Last, w.Raw.Last, w.Flag.Last, w.Small.Min, w.Count.BigSum(), w.Real.Sum(), w.Single.Last, w.Single.Count, w.At.Last, w.Took.Min, w.ID.Last, w.State.Last, string(w.Extra.Last)), "\n")
	want := `4 t3 [3] false -3 6917529027641081856 0.6000000000000001 0.3 2 2021-03-05 00:00:00.000000003 +0000 UTC -3ns 00000000-0000-0000-0000-000000000003 7 {"n":3}`
	if got != want {
		t.Errorf("want %s\ngot  %s", want, got)
	}
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
	const text = `btgen: v1
package: app
name: Kind
series: {host: string}
fields:
  one: {type: int64, column: o}
  two: {type: int64, column: t}
tables:
  blobs:
    pattern: bucket_serialized
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1d
    blob: {column: e, format: json}
    family: m
    ttl: {max_age: 30d}
    rollup: {every: 1h, family: h, ttl: {max_age: 52w}, fields: [two]}
  cells:
    pattern: bucket_new_cells
    key: {delimiter: "#", segments: [host, bucket]}
    bucket: 1d
    family: m
    ttl: {max_age: 30d}
    rollup: {every: 1h, family: h, ttl: {max_age: 52w}, fields: [one]}
`
	for i, want := range []string{"t", "o"} {
		if r := testschema.Layout(t, text).Tables[i].Rollup; len(r.Fields) != 1 || r.Fields[0] != want {
			t.Errorf("%v, want %s", r.Fields, want)
		}
	}
}

// TestNewestWindowsOfRollups reads windows in reverse order: they are those of the other order, also where runs are cut, and
// events may have expired.
func TestNewestWindowsOfRollups(t *testing.T) {
	s, b := start(t, rollupSchema)
	begin := time.Date(2021, 3, 5, 0, 0, 0, 0, time.UTC)
	end := begin.AddDate(0, 0, 5)
	clock := func(days int) func() time.Time { return func() time.Time { return begin.AddDate(0, 0, days) } }
	var events []dynamic.Event
	for at := begin; at.Before(end); at = at.Add(5*time.Hour + 17*time.Minute) {
		values := make([]any, 12)
		copy(values, []any{"t", []byte{1}, true, int64(1), uint64(1), 0.1, nil, begin, time.Second, "00000000-0000-0000-0000-000000000001", "on", "{}"})
		events = append(events, dynamic.Event{Series: []any{"a"}, Time: at, Values: values})
	}
	must(t, s.NewWriter(b.Client, store.WriterOptions{Now: clock(5)}).WriteAll(t.Context(), events[1:]))
	if _, err := s.Rollup(t.Context(), b.Client, store.RollupOptions{Now: clock(7), Sleep: func(context.Context, time.Duration) error { return nil }}); err != nil {
		t.Fatal(err)
	}
	must(t, s.NewWriter(b.Client, store.WriterOptions{Now: clock(8)}).WriteAll(t.Context(), events[:1]))
	kolkata := time.FixedZone("", 5*3600+1800)
	for name, width := range testlong.SampleMap(map[string]window.Width{
		"days": window.Days(1, kolkata), "90m": window.Every(90 * time.Minute), "7h": window.Every(7 * time.Hour), "3h": window.Every(3 * time.Hour), "weeks": window.Weeks(1, kolkata),
	}, 2) {
		for _, days := range testlong.Sample([]int{33, 6, 37, 45}, 3) {
			for _, fill := range testlong.Sample([]window.Fill{window.FillNone, window.FillNull, window.FillPrevious}, 2) {
				for _, from := range []time.Duration{0, 25*time.Hour + time.Minute} {
					t.Run(fmt.Sprint(name, days, fill, from), func(t *testing.T) {
						read := func(o store.WindowOptions) (out []dynamic.Window) {
							reader := s.NewReader(b.Client, store.ReaderOptions{Now: clock(days)})
							o.Fill = fill
							for w, err := range reader.Windows(t.Context(), dynamic.Series([]any{"a"}), begin.Add(from), end.Add(-from/5), width, o) {
								must(t, err)
								out = append(out, w)
							}
							return out
						}
						want := read(store.WindowOptions{})
						if len(want) == 0 {
							t.Fatal("no windows")
						}
						slices.Reverse(want)
						for _, limit := range []int{0, 1, 3} {
							some := want
							if limit > 0 {
								some = want[:min(limit, len(want))]
							}
							got := read(store.WindowOptions{NewestFirst: true, Limit: limit})
							if diff := cmp.Diff(some, got, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
								t.Errorf("limit %d: %s", limit, diff)
							}
						}
					})
				}
			}
		}
	}
}
