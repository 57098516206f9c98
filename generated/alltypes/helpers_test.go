package alltypes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// start and end are the time range of the events; end is exclusive. A year, a
// month and ISO week 2020-W53 end in between.
var (
	start = time.Date(2020, 12, 28, 0, 0, 0, 0, time.UTC)
	end   = time.Date(2021, 1, 12, 0, 0, 0, 0, time.UTC)
)

// options set a clock at which nothing has expired.
var options = store.ReaderOptions{Now: func() time.Time { return start }}

// writing are the options of writers.
var writing = store.WriterOptions{Now: options.Now}

// newServer starts an in-memory Bigtable with the tables of this package.
func newServer(t testing.TB) *storetest.Bigtable {
	t.Helper()
	return storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		_, err := SetupSample(ctx, b.Admin, b.Client)
		return err
	})
}

// layoutWriter returns a writer to a single table.
func layoutWriter(client store.Client, l *store.Mapping) *SampleWriter {
	return &SampleWriter{store.NewWriter(client, []*store.Mapping{l}, writing)}
}

// tb is a test, or one of the checks of a property.
type tb interface {
	rapid.TB
	Context() context.Context
}

// check fails the test if err is not nil.
func check(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// all returns the events of seq, and fails the test on an error.
func all(t rapid.TB, seq iter.Seq2[SampleEvent, error]) []SampleEvent {
	t.Helper()
	var out []SampleEvent
	for e, err := range seq {
		check(t, err)
		out = append(out, e)
	}
	return out
}

// compare fails the test if got is not want.
func compare(t rapid.TB, l *store.Mapping, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got, equality()); diff != "" {
		t.Fatalf("%s (-want +got)\n%s", l.Table.ID, diff)
	}
}

// equality compares floats bit by bit, nil and empty required bytes as equal,
// and everything else exactly.
func equality() cmp.Options {
	required := func(p cmp.Path) bool { return p.Last().String() == ".Raw" || p.Last().String() == ".DefaultRaw" }
	return cmp.Options{
		cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }),
		cmp.Comparer(func(a, b float32) bool { return math.Float32bits(a) == math.Float32bits(b) }),
		cmp.FilterPath(required, cmpopts.EquateEmpty()),
	}
}

// sites counts series, so that each check has a separate one.
var sites atomic.Int64

// newSeries draws a series that no other check uses.
func newSeries(t *rapid.T) SampleSeries {
	s := SampleSeries{Tag: []byte{}}
	fill(t, reflect.ValueOf(&s).Elem())
	s.Site = fmt.Sprintf("%d%s", sites.Add(1), strings.ReplaceAll(s.Site, "#", ""))
	s.Tag = append([]byte{7}, s.Tag...)
	s.Since = time.Unix(0, rapid.Int64Min(0).Draw(t, "since"))
	return s
}

// newEvent draws an event of the series.
func newEvent(t *rapid.T, series SampleSeries) SampleEvent {
	var e SampleEvent
	fill(t, reflect.ValueOf(&e).Elem())
	e.SampleSeries = series
	e.Time = newTime(t)
	return e
}

// newTime draws an instant from start to end: often one of a few, so that
// events meet, and often at the edge of a bucket.
func newTime(t *rapid.T) time.Time {
	at := start.Add(time.Duration(rapid.Int64Range(0, int64(end.Sub(start))/1e6-1).Draw(t, "ms")) * time.Millisecond)
	switch rapid.IntRange(0, 3).Draw(t, "edge") {
	case 0:
		return start.AddDate(0, 0, at.Day()%4)
	case 1:
		return at.Truncate(time.Hour)
	case 2:
		return at.Truncate(24 * time.Hour).Add(24*time.Hour - time.Millisecond)
	}
	return at
}

// sample draws one of a few values that are likely to break something, or any value.
func sample[V any](any *rapid.Generator[V], edges ...V) *rapid.Generator[V] {
	return rapid.OneOf(rapid.SampledFrom(edges), any)
}

// times are values that a field can have, in several zones. The last one has an
// offset that RFC 3339 cannot express: that of Amsterdam until 1937.
var times = rapid.Custom(func(t *rapid.T) time.Time {
	ns := sample(rapid.Int64(), 0, 1, -1, math.MinInt64, math.MaxInt64).Draw(t, "ns")
	zone := rapid.SampledFrom([]*time.Location{time.UTC, time.FixedZone("", -3600), time.FixedZone("LMT", 1172)}).Draw(t, "zone")
	return time.Unix(0, ns).In(zone)
})

// floats are finite; other tests cover NaN and infinities.
var floats = sample(rapid.Float64(), 0, math.Copysign(0, -1), 9.5, 1e21, math.MaxFloat64, math.SmallestNonzeroFloat64)

// values draws a value of each type.
var values = map[reflect.Type]*rapid.Generator[any]{
	reflect.TypeFor[string]():        sample(rapid.String(), "", "#", "a\x00b\n", "<&>\u2028", "null").AsAny(),
	reflect.TypeFor[[]byte]():        rapid.SliceOfN(rapid.Byte(), 0, 20).AsAny(),
	reflect.TypeFor[bool]():          rapid.Bool().AsAny(),
	reflect.TypeFor[int32]():         sample(rapid.Int32(), 0, math.MinInt32, math.MaxInt32).AsAny(),
	reflect.TypeFor[int64]():         sample(rapid.Int64(), 0, math.MinInt64, math.MaxInt64, 1<<53+1).AsAny(),
	reflect.TypeFor[uint32]():        sample(rapid.Uint32(), 0, math.MaxUint32).AsAny(),
	reflect.TypeFor[uint64]():        sample(rapid.Uint64(), 0, math.MaxUint64).AsAny(),
	reflect.TypeFor[float32]():       sample(rapid.Float32(), 0, float32(math.Copysign(0, -1)), 0.1, math.MaxFloat32, math.SmallestNonzeroFloat32).AsAny(),
	reflect.TypeFor[float64]():       floats.AsAny(),
	reflect.TypeFor[time.Time]():     times.AsAny(),
	reflect.TypeFor[time.Duration](): sample(rapid.Map(rapid.Int64(), func(n int64) time.Duration { return time.Duration(n) }), 0, -1, math.MinInt64, math.MaxInt64).AsAny(),
	reflect.TypeFor[codec.UUID]():    rapid.Custom(func(t *rapid.T) codec.UUID { return codec.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")) }).AsAny(),
	reflect.TypeFor[json.RawMessage](): rapid.Map(rapid.SampledFrom([]string{
		"null", `""`, ` {"a": [1, 2.50, "<é>"] } `, "-0", "[]", "1e400", "\t{ }\r\n", `{"a":1,"a":2, "text": "}", "document": "\""}`, "[{}, [\"],\", {\"\":{}}] ]", "\"<&>\u2028\\u003c\\/\x7f\"",
	}), func(s string) json.RawMessage { return json.RawMessage(s) }).AsAny(),
	reflect.TypeFor[SampleKind]():         rapid.SampledFrom([]SampleKind{SampleKindIndoor, SampleKindOutdoor}).AsAny(),
	reflect.TypeFor[SampleState]():        rapid.SampledFrom([]SampleState{SampleStateIdle, SampleStateBusy, SampleStateDown}).AsAny(),
	reflect.TypeFor[SampleLevel]():        rapid.SampledFrom([]SampleLevel{SampleLevelLow, SampleLevelHigh}).AsAny(),
	reflect.TypeFor[SampleMaybeState]():   rapid.SampledFrom([]SampleMaybeState{SampleMaybeStateRed, SampleMaybeStateGreen}).AsAny(),
	reflect.TypeFor[SampleDefaultState](): rapid.SampledFrom([]SampleDefaultState{SampleDefaultStateUnknown, SampleDefaultStateKnown}).AsAny(),
}

// fill draws the fields of a struct. Optional ones, whose names begin with
// Maybe, are nil half of the time.
func fill(t *rapid.T, v reflect.Value) {
	for i := range v.NumField() {
		field, name := v.Field(i), v.Type().Field(i).Name
		if v.Type().Field(i).Anonymous {
			continue
		}
		if strings.HasPrefix(name, "Maybe") && rapid.Bool().Draw(t, name+" absent") {
			continue
		}
		if field.Kind() == reflect.Pointer {
			field.Set(reflect.New(field.Type().Elem()))
			field = field.Elem()
		}
		field.Set(reflect.ValueOf(values[field.Type()].Draw(t, name)))
	}
}

// plain returns an event with a value in every required field.
func plain() SampleEvent {
	return SampleEvent{
		SampleSeries: SampleSeries{Site: "north", Kind: SampleKindIndoor, Tag: []byte{1}, Since: start},
		Time:         start.Add(12 * time.Hour),
		At:           start, State: SampleStateBusy, Document: json.RawMessage("{}"),
		DefaultAt: start, DefaultState: SampleDefaultStateKnown, DefaultDocument: json.RawMessage("[]"),
	}
}

// seriesOf returns an event with only the series, for a reader.
func seriesOf(e SampleEvent) SampleEvent { return SampleEvent{SampleSeries: e.SampleSeries} }

// errorsOf returns the errors that seq yields, and the number of events without an error.
func errorsOf(seq iter.Seq2[SampleEvent, error]) (errs []error, events int) {
	for _, err := range seq {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		events++
	}
	return errs, events
}

// decodeError returns the DecodeError that err wraps.
func decodeError(t testing.TB, err error) *store.DecodeError {
	t.Helper()
	var decode *store.DecodeError
	if !errors.As(err, &decode) {
		t.Fatalf("got %v, want a store.DecodeError", err)
	}
	return decode
}

// readTable reads the events of the series of an event from one table.
func readTable(t testing.TB, client store.Client, l *store.Mapping, of SampleEvent) iter.Seq2[SampleEvent, error] {
	return store.ResultsOf[SampleEvent](store.NewReader(client, l, options).Read(t.Context(), store.SeriesOf(&of), start, end))
}

// readLatest reads the newest event of the series of an event from one table.
func readLatest(client store.Client, l *store.Mapping, of SampleEvent) (SampleEvent, error) {
	base := seriesOf(of)
	return store.ResultOf[SampleEvent](store.NewReader(client, l, options).Latest(context.Background(), &base))
}
