package dynamictest

import (
	"math"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
)

// Traffic draws events of a schema that its tables can store, and some that they cannot.
type Traffic struct {
	layout *layout.Layout
	trip   *sample.RoundTrip
	// Now is the clock of writers and readers.
	Now time.Time
	// Refused is the chance that a value cannot be stored, as 1 in n; 0 for never.
	Refused int
	// Small is whether integers are at most 2^53, so that they can become float64.
	Small bool
}

// NewTraffic returns the traffic of a schema; false if there are no events that all tables
// take.
func NewTraffic(l *layout.Layout) (*Traffic, bool) {
	trip, ok := sample.NewRoundTrip(l)
	if !ok {
		return nil, false
	}
	return &Traffic{layout: l, trip: trip, Now: trip.Now}, true
}

// Series returns the values of the series that events are of.
func (g *Traffic) Series() [][]any { return g.trip.Series }

// Edges returns times at and next to events, in ascending order.
func (g *Traffic) Edges() []time.Time {
	var out []time.Time
	for _, at := range g.trip.Times {
		out = append(out, at, at.Add(1))
	}
	return out
}

// Events draws up to most events, at least one.
func (g *Traffic) Events(t *rapid.T, most int) []dynamic.Event {
	events := make([]dynamic.Event, rapid.IntRange(1, most).Draw(t, "events"))
	for i := range events {
		events[i] = g.event(t)
	}
	return events
}

// event draws an event.
func (g *Traffic) event(t *rapid.T) dynamic.Event {
	l := g.layout
	e := dynamic.Event{
		Series: rapid.SampledFrom(g.Series()).Draw(t, "series"),
		Time:   rapid.SampledFrom(g.trip.Times).Draw(t, "time"),
		Values: make([]any, len(l.Fields)),
	}
	if l.Sequence {
		e.Sequence = uint32(rapid.IntRange(0, 2).Draw(t, "sequence"))
	}
	for i := range l.Fields {
		f := &l.Fields[i]
		if f.Optional && !g.trip.Always[i] && rapid.Bool().Draw(t, "lacks") {
			continue
		}
		e.Values[i] = g.value(t, f)
	}
	if n := len(l.Classes); n > 0 {
		e.Class = rapid.IntRange(1, n).Draw(t, "class")
		if g.refused(t) {
			e.Class = 0
		}
	}
	if l.MayExpire() {
		e.TTL = rapid.SampledFrom([]time.Duration{0, time.Hour, 90 * time.Minute, 1500 * time.Microsecond}).Draw(t, "ttl")
	}
	if l.MayExpire() || l.MustExpire() {
		e.ExpiresAt = g.Now.Add(rapid.SampledFrom([]time.Duration{time.Hour, 25 * time.Hour, time.Millisecond}).Draw(t, "expiry"))
		if g.refused(t) {
			e.ExpiresAt = time.Time{}
		}
	}
	return e
}

// refused draws whether something of an event cannot be stored.
func (g *Traffic) refused(t *rapid.T) bool {
	return g.Refused > 0 && rapid.IntRange(1, g.Refused).Draw(t, "refused") == 1
}

// value draws a value of a field.
func (g *Traffic) value(t *rapid.T, f *layout.Field) any {
	if bad := unstorable[f.Type]; bad != nil && g.refused(t) {
		return bad
	}
	if f.Type == schema.Enum {
		var names []string
		for _, v := range f.Enum {
			names = append(names, v.Name)
		}
		return rapid.SampledFrom(names).Draw(t, f.Name)
	}
	all := values[f.Type]
	if g.Small && (f.Type == schema.Int64 || f.Type == schema.Uint64) {
		all = all[:3]
	}
	return rapid.SampledFrom(all).Draw(t, f.Name)
}

// At returns the same traffic for another layout of the schema.
func (g *Traffic) At(l *layout.Layout) *Traffic {
	out := *g
	out.layout = l
	return &out
}

// unstorable are values that no table stores, or only some.
var unstorable = map[schema.Type]any{
	schema.String: "\xff", schema.JSON: "{", schema.Float32: math.NaN(), schema.Float64: math.NaN(), schema.Timestamp: time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC),
}

// values are values of the types, the edges of their ranges among them.
var values = map[schema.Type][]any{
	schema.String:    {"", "a", "#", "Zürich\x00\n\"", "0"},
	schema.Bytes:     {[]byte{}, []byte{0}, []byte("#\xff")},
	schema.Bool:      {false, true},
	schema.Int32:     {int64(0), int64(1), int64(-1), int64(math.MinInt32), int64(math.MaxInt32)},
	schema.Int64:     {int64(0), int64(1), int64(-1), int64(math.MinInt64), int64(math.MaxInt64)},
	schema.Uint32:    {uint64(0), uint64(1), uint64(math.MaxUint32)},
	schema.Uint64:    {uint64(0), uint64(1), uint64(2), uint64(math.MaxUint64)},
	schema.Float32:   {float64(0), float64(float32(0.1)), -1.5, math.MaxFloat32},
	schema.Float64:   {float64(0), 0.1, -1.5, math.MaxFloat64, math.SmallestNonzeroFloat64},
	schema.Timestamp: {time.Unix(0, 0).UTC(), time.Date(2021, 3, 5, 12, 0, 0, 1, time.UTC), time.Date(1700, 1, 1, 0, 0, 0, 0, time.UTC)},
	schema.Duration:  {time.Duration(0), time.Duration(-1), 90 * time.Minute, time.Duration(math.MaxInt64)},
	schema.UUID:      {"00000000-0000-0000-0000-000000000000", "f81d4fae-7dec-41d0-a765-00a0c91e6bf6"},
	schema.JSON:      {"null", " {\"a\": [1, null]} ", "0", `"x"`},
}
