package generated_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/generated/examples"
	"github.com/btgen-dev/btgen/generated/examples/examplestest"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
)

// TestTremors selects tremors by a prefix of the station, a range of channels, and by the values of
// fields: the ends of ranges are excluded, and a field that an event lacks has its default.
func TestTremors(t *testing.T) {
	bt := examplestest.New(t)
	at := func(minute int) time.Time { return time.Date(2026, 5, 1, 12, minute, 0, 0, time.UTC) }
	clock := func() time.Time { return at(59) }
	var events []examples.TremorEvent
	for i, station := range []string{"PKD1", "PKD1", "PKD2", "QQ"} {
		for channel := range 3 {
			events = append(events, examples.TremorEvent{
				TremorSeries: examples.TremorSeries{Network: "NC", Station: station, Channel: int64(channel)}, Time: at(10*i + channel),
				Magnitude: float64(i) - 1 + float64(channel)/2, Kind: examples.TremorKind(channel + 1), Depth: codec.Pointer(1.5), Reviewed: i == 0,
			})
		}
	}
	events[0].Kind = events[1].Kind
	check(t, examples.NewTremorWriter(bt.Client, store.WriterOptions{Now: clock}).WriteAll(ctx, events))
	r := examples.NewTremorReader(bt.Client, store.ReaderOptions{Now: clock})
	from, to := at(0), at(59)
	for name, test := range map[string]struct {
		got  iter.Seq2[examples.TremorEvent, error]
		want func(e *examples.TremorEvent) bool
	}{
		"prefix":    {r.ByStations(ctx, "NC", "PKD", from, to), func(e *examples.TremorEvent) bool { return strings.HasPrefix(e.Station, "PKD") }},
		"range":     {r.ByChannels(ctx, "NC", "PKD1", 0, 2, from, to), func(e *examples.TremorEvent) bool { return e.Station == "PKD1" && e.Channel < 2 }},
		"magnitude": {r.ByMagnitude(ctx, "NC", "PKD1", 1, -0.5, 0.5, from, to), func(e *examples.TremorEvent) bool { return e.Station == "PKD1" && e.Channel == 1 && e.Magnitude < 0.5 }},
		"negative":  {r.ByMagnitude(ctx, "NC", "PKD1", 0, -1, 0, from, to), func(e *examples.TremorEvent) bool { return e.Station == "PKD1" && e.Channel == 0 && e.Magnitude < 0 }},
		"kind": {r.ByKindAndMagnitude(ctx, "NC", events[1].Kind, 0, 1.5, from, to), func(e *examples.TremorEvent) bool {
			return e.Kind == events[1].Kind && e.Magnitude >= 0 && e.Magnitude < 1.5
		}},
		"unreviewed": {r.Unreviewed(ctx, "NC", "PKD", false, from, to), func(e *examples.TremorEvent) bool { return strings.HasPrefix(e.Station, "PKD") && !e.Reviewed }},
		"reviewed":   {r.Unreviewed(ctx, "NC", "", true, from, to), func(e *examples.TremorEvent) bool { return e.Reviewed }},
	} {
		var want, got []string
		for i := range events {
			if test.want(&events[i]) {
				want = append(want, fmt.Sprint(events[i].TremorSeries, events[i].Time.Minute(), events[i].Magnitude, *events[i].Depth))
			}
		}
		for e, err := range test.got {
			check(t, err)
			got = append(got, fmt.Sprint(e.TremorSeries, e.Time.Minute(), e.Magnitude, *e.Depth))
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || len(want) == 0 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
