package beamstore_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/btgen-dev/btgen/runtime/beamstore/example/kinds"
	"github.com/btgen-dev/btgen/runtime/beamstore/example/kinds/kindsbeam"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/runtime/window"
)

// kind returns the n-th event with values of all types. Every second one lacks its optional fields.
func kind(n int) kinds.KindEvent {
	text, raw, at, span := fmt.Sprintf("%d: \"é#\\\"", n), []byte{0xff, 0, byte(n)}, time.Date(2021, time.March, 5, 12, 0, 0, n+1, time.UTC), time.Duration(n+1)*time.Hour+1
	id, object := codec.UUID{0: 0xf8, 6: 0x40, 8: 0x80, 15: byte(n)}, json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))
	e := kinds.KindEvent{
		KindSeries: kinds.KindSeries{Kinds: text, E: kinds.KindEGreen, Raw: raw, Since: at}, Time: at, Sequence: math.MaxUint32 - uint32(n), Class: kinds.KindClassLong,
		Text: text, Bytes: raw, Flag: n%2 == 0, Small: int32(n+1) * 1000, Number: int64(n+1) << 33, Unsigned: math.MaxUint32 - uint32(n), Large: math.MaxUint64 - uint64(n),
		Single: float32(n+1) / 10, Double: -float64(n+1) / 10, At: at, Span: span, ID: id, Color: kinds.KindColorNone, JSON: object,
	}
	if n%2 == 0 {
		e.TextOr, e.BytesOr, e.FlagOr, e.NumberOr, e.DoubleOr, e.AtOr, e.SpanOr = &text, raw, new(bool), new(int64), new(float64), &at, &span
		e.IDOr, e.ColorOr, e.JSONOr = &id, storetest.Present(kinds.KindColorOrBlue), object
	}
	return e
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
		mappings[0].DataColumns().Append(&c, &e)
	}
	options := window.Options{ID: func(dst []byte, _ any) []byte { return dst }, Clone: func(series any) any { return series }}
	n := 0
	fold, err := kinds.BeamKindWindows().Start(window.Every(2*time.Minute), begin, begin.Add(time.Hour), options, func(of *window.Summary) bool {
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
		"kinds": kind(0).Text, "e": "green", "raw": "/wAA", "since": "2021-03-05T12:00:00.000000001Z",
		"time": "2021-03-05T12:00:00.000000001Z", "sequence": float64(math.MaxUint32), "class": "long",
		"text": kind(0).Text, "bytes": "/wAA", "flag": true,
		"small": 1000.0, "number": float64(1 << 33), "unsigned": float64(math.MaxUint32), "large": float64(math.MaxUint64),
		"single": "-Infinity", "double": "NaN", "at": "2021-03-05T12:00:00.000000001Z", "span": "1h0m0.000000001s",
		"id": kind(0).ID.String(), "color": "none", "json": map[string]any{"a": []any{1.0, 2.0}},
		"text_or": kind(0).Text, "bytes_or": "/wAA", "flag_or": false, "number_or": 0.0, "double_or": 0.0,
		"at_or": "2021-03-05T12:00:00.000000001Z", "span_or": "1h0m0.000000001s", "id_or": kind(0).ID.String(),
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
