package beamstore_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/btgen-dev/btgen/runtime/beamstore/example/kinds"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/kinds/kindsbeam"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// kind returns the n-th event with values of all types.
func kind(n int) kinds.KindEvent {
	series := kinds.KindSeries{Kinds: storetest.String(n), E: kinds.KindEGreen, Raw: storetest.Bytes(n), Since: storetest.Timestamp(n)}
	return kinds.KindEvent{
		KindSeries: series, Time: storetest.Timestamp(n), Sequence: storetest.Uint32(n), Class: kinds.KindClassLong,
		Text: storetest.String(n), Bytes: storetest.Bytes(n), Flag: storetest.Bool(n),
		Small: storetest.Int32(n), Number: storetest.Int64(n), Unsigned: storetest.Uint32(n), Large: storetest.Uint64(n),
		Single: storetest.Float32(n), Double: storetest.Float64(n), At: storetest.Timestamp(n), Span: storetest.Duration(n),
		ID: storetest.UUID(n), Color: storetest.Pick(n, kinds.KindColorNone, kinds.KindColorBlue), JSON: storetest.JSON(n),
		TextOr: storetest.Optional(n, storetest.String(n)), BytesOr: storetest.OptionalSlice(n, storetest.Bytes(n)),
		FlagOr: storetest.Optional(n, false), NumberOr: storetest.Optional(n, int64(0)), DoubleOr: storetest.Optional(n, 0.0),
		AtOr: storetest.Optional(n, storetest.Timestamp(n)), SpanOr: storetest.Optional(n, storetest.Duration(n)),
		IDOr: storetest.Optional(n, storetest.UUID(n)), ColorOr: storetest.Optional(n, kinds.KindColorOrBlue),
		JSONOr: storetest.OptionalSlice(n, storetest.JSON(n)),
	}
}

// Events of all types survive the transport between workers, and equal events have equal
// bytes, so that they can be keys.
func TestCoder(t *testing.T) {
	seen := map[string]bool{}
	for n := range 20 {
		encoded := kindsbeam.Kind.Encode(kind(n))
		if string(encoded) != string(kindsbeam.Kind.Encode(kind(n))) || seen[string(encoded)] {
			t.Errorf("event %d has several encodings, or that of another", n)
		}
		seen[string(encoded)] = true
		decoded, err := kindsbeam.Kind.Decode(encoded)
		if diff := cmp.Diff(kind(n), decoded); err != nil || diff != "" {
			t.Errorf("event %d: error %v (-want +got)\n%s", n, err, diff)
		}
		series, err := kindsbeam.Kind.Decode(kindsbeam.Kind.Encode(kindsbeam.Kind.Series(&decoded)))
		if diff := cmp.Diff(kinds.KindEvent{KindSeries: kind(n).KindSeries}, series); err != nil || diff != "" {
			t.Errorf("series %d: error %v (-want +got)\n%s", n, err, diff)
		}
	}
	if _, err := kindsbeam.Kind.Decode([]byte{0xff}); err == nil {
		t.Error("what is no event was decoded")
	}
}

// Windows of events of all types survive the transport between workers.
func TestWindowCoder(t *testing.T) {
	mappings, _ := kinds.BeamKind()
	var c kinds.KindColumns
	for n := range 4 {
		e := kind(n)
		e.Time = begin.Add(time.Duration(n) * time.Minute)
		store.ColumnsOf[kinds.KindColumns](mappings[0]).Append(&c, &e)
	}
	options := window.Options{ID: func(any) string { return "" }, Clone: func(series any) any { return series }}
	n := 0
	fold, err := kinds.BeamKindWindows().Any().Start(window.Every(2*time.Minute), begin, begin.Add(time.Hour), options, func(of *window.Summary) bool {
		n++
		w := *of.Window.(*kinds.KindWindow)
		encoded := kindsbeam.KindWindows.Encode(w)
		got, err := kindsbeam.KindWindows.Decode(encoded)
		if diff := cmp.Diff(w, got, cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.EquateNaNs()); err != nil || diff != "" {
			t.Errorf("window %d: error %v (-want +got)\n%s", n, err, diff)
		}
		for size := range encoded {
			if _, err := kindsbeam.KindWindows.Decode(encoded[:size]); err == nil {
				t.Fatalf("%d of %d bytes were decoded", size, len(encoded))
			}
		}
		return true
	})
	check(t, err)
	series := kind(0).KindSeries
	if _, err := fold.Add(&series, window.SlicesOf(&c)); err != nil {
		t.Fatal(err)
	}
	fold.End()
	if n != 2 {
		t.Errorf("%d windows", n)
	}
}

// A line of an export is one JSON object, whatever the event.
func TestLines(t *testing.T) {
	e := kind(0)
	e.JSON = json.RawMessage("{\n \"a\": [1,\n2]}")
	e.Double, e.Single = math.NaN(), float32(math.Inf(-1))
	line := string(kindsbeam.Kind.AppendJSON(nil, &e))
	if strings.Contains(line, "\n") {
		t.Errorf("several lines: %s", line)
	}
	var got map[string]any
	check(t, json.Unmarshal([]byte(line), &got))
	want := map[string]any{
		"kinds": storetest.String(0), "e": "green", "raw": "/wAA", "since": "2021-03-05T12:00:00.000000001Z",
		"time": "2021-03-05T12:00:00.000000001Z", "sequence": float64(storetest.Uint32(0)), "class": "long",
		"text": storetest.String(0), "bytes": "/wAA", "flag": true,
		"small": 1000.0, "number": float64(1 << 33), "unsigned": float64(storetest.Uint32(0)), "large": float64(math.MaxUint64),
		"single": "-Infinity", "double": "NaN", "at": "2021-03-05T12:00:00.000000001Z", "span": "1h0m0.000000001s",
		"id": storetest.UUID(0).String(), "color": "none", "json": map[string]any{"a": []any{1.0, 2.0}},
		"text_or": storetest.String(0), "bytes_or": "/wAA", "flag_or": false, "number_or": 0.0, "double_or": 0.0,
		"at_or": "2021-03-05T12:00:00.000000001Z", "span_or": "1h0m0.000000001s", "id_or": storetest.UUID(0).String(),
		"color_or": "blue", "json_or": map[string]any{"n": 0.0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	absent := kind(1)
	if line := string(kindsbeam.Kind.AppendJSON(nil, &absent)); strings.Contains(line, "_or") {
		t.Errorf("absent fields: %s", line)
	}
}
