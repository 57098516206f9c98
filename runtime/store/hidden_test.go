package store

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// TestHidden finds events that a later layout hides, in tables of all shapes, and nothing else: neither those before it, nor its own.
// Rows with only earlier events stay on the server.
func TestHidden(t *testing.T) {
	for i, s := range shapes {
		other := shapes[8] // rows of seconds, whose keys no other shape has
		if i == 8 {
			other = shapes[2]
		}
		t.Run(s.name, func(t *testing.T) {
			old, _ := s.mapping(time.Time{})
			newest, _ := other.mapping(edge, old)
			bt := newBigtable(t, newest)
			now := WriterOptions{Now: func() time.Time { return edge.Add(-day) }}
			early := func() (out []sample) {
				for i := range 20 {
					out = append(out, sample{Series: "a", Time: edge.AddDate(0, 0, -i).Add(-time.Second)})
				}
				return out
			}()
			must(t, newWriterOf(bt.Client, []*mappingOf[sample]{newest}, now).WriteAll(t.Context(), append(early, sample{Series: "a", Time: edge.Add(2 * day)})))
			var received atomic.Int64
			hooks := Hooks{End: func(_ context.Context, op Operation, _ error) { received.Add(int64(op.Rows)) }}
			find := func(ends ...time.Time) HiddenEvents {
				got, err := Tables([]*Mapping{newest.given()})[0].Hidden(t.Context(), bt.Client, ends, ReaderOptions{Now: now.Now, Hooks: hooks})
				must(t, err)
				return got
			}
			same(t, HiddenEvents{}, find(edge))
			if n := received.Load(); n > 1 { // that of the new layout
				t.Errorf("received %d rows", n)
			}
			alone, _ := s.mapping(time.Time{})
			must(t, newWriterOf(bt.Client, []*mappingOf[sample]{alone}, now).WriteAll(t.Context(),
				[]sample{{Series: "a", Time: edge}, {Series: "b", Time: edge.Add(day)}, {Series: "b", Time: edge.Add(-day)}}))
			got := find(edge)
			if got.Events != 2 || !got.Last.Equal(edge.Add(day)) || got.Row == "" {
				t.Errorf("found %+v", got)
			}
			same(t, HiddenEvents{}, find(edge.Add(day)))
		})
	}
}
