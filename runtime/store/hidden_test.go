package store

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestHidden finds the events that a later layout hides, and nothing else. Other rows stay on the server.
func TestHidden(t *testing.T) {
	family := days()
	family.Table.ID, family.Table.Families = "family", []Family{{Name: "g"}}
	for _, old := range append(partedMappings(), offsetBlobs(), unsorted(days()), family) {
		salted := slices.ContainsFunc(old.Key.Segments, func(s codec.Segment) bool { return s.Kind == codec.SaltSegment })
		if old.Pattern == codec.BucketNewColumns || old.Table.hasClasses() || salted {
			continue
		}
		t.Run(old.Table.ID, func(t *testing.T) {
			newest := singles() // rows of seconds, whose keys no other kind has
			newest.Key.Time.Kind = codec.UnixSeconds
			newest = withKey(newest, old.Table.ID, newest.Key)
			newest.Since, newest.Older = edge, []*mappingOf[sample]{old}
			bt := newBigtable(t, newest)
			now := WriterOptions{Now: func() time.Time { return edge.Add(-day) }}
			events := []sample{{Series: "a", Time: edge.Add(2 * day)}}
			for i := range 10 {
				events = append(events, sample{Series: "a", Time: edge.AddDate(0, 0, -i).Add(-time.Second)})
			}
			must(t, newWriterOf(bt.Client, []*mappingOf[sample]{newest}, now).WriteAll(t.Context(), events))
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
			must(t, newWriterOf(bt.Client, []*mappingOf[sample]{old}, now).WriteAll(t.Context(),
				[]sample{{Series: "a", Time: edge}, {Series: "b", Time: edge.Add(day)}, {Series: "b", Time: edge.Add(-day)}}))
			got := find(edge)
			if got.Events != 2 || !got.Last.Equal(edge.Add(day)) || got.Row == "" {
				t.Errorf("found %+v", got)
			}
			same(t, HiddenEvents{}, find(edge.Add(day)))
		})
	}
}
