package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/window"
)

// filtersSent records the filters of the reads of a client.
type filtersSent struct {
	grpc.ClientStream
	mu  *sync.Mutex
	all *[]*bigtablepb.RowFilter
}

func (s *filtersSent) SendMsg(m any) error {
	if r, ok := m.(*bigtablepb.ReadRowsRequest); ok {
		s.mu.Lock()
		*s.all = append(*s.all, r.GetFilter())
		s.mu.Unlock()
	}
	return s.ClientStream.SendMsg(m)
}

// onSSD counts the filters since the last call, and those of them that select timestamps from a
// time on.
func (s *filtersSent) onSSD(since time.Time) (ssd, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range *s.all {
		if stampedFrom(f) >= codec.CeilMicros(since) {
			ssd++
		}
	}
	all, *s.all = len(*s.all), nil
	return ssd, all
}

// stampedFrom returns the earliest timestamp of the cells that a filter of these tests inspects; 0
// for any.
func stampedFrom(f *bigtablepb.RowFilter) int64 {
	from := int64(0)
	switch f := f.GetFilter().(type) {
	case *bigtablepb.RowFilter_TimestampRangeFilter:
		from = f.TimestampRangeFilter.GetStartTimestampMicros()
	case *bigtablepb.RowFilter_Chain_:
		for _, f := range f.Chain.GetFilters() {
			from = max(from, stampedFrom(f))
		}
	case *bigtablepb.RowFilter_Interleave_:
		for i, f := range f.Interleave.GetFilters() {
			if of := stampedFrom(f); i == 0 || of < from {
				from = of
			}
		}
	}
	return from
}

// recorded returns a client whose filters are recorded.
func recorded(t *testing.T, addr string, connect func(context.Context, string, ...grpc.DialOption) (*bigtable.Client, error)) (*bigtable.Client, *filtersSent) {
	t.Helper()
	out := &filtersSent{mu: &sync.Mutex{}, all: new([]*bigtablepb.RowFilter)}
	client, err := connect(t.Context(), addr, grpc.WithStreamInterceptor(
		func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, streamer grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
			s, err := streamer(ctx, desc, cc, method, opts...)
			return &filtersSent{s, out.mu, out.all}, err
		}))
	must(t, err)
	t.Cleanup(func() { must(t, client.Close()) })
	return client, out
}

// TestTier checks, on both paths, that reads of a table with an infrequent access tier return what
// they return without it: those of recent events, windows among them, without touching the tier, and
// the newest event of a series wherever it is.
func TestTier(t *testing.T) {
	const day, now = 86400, 43 * 86400
	for _, l := range testlong.Sample(strategies(), 2) {
		if shape := l.untyped().shape(); !shape.EventTimed() {
			continue
		}
		t.Run(l.Table.ID, func(t *testing.T) {
			t.Parallel()
			bt := newBigtable(t, l)
			var samples []sample
			for i, at0 := range []int{0, 3600, 41 * day, 42*day + 60, 42*day + 120} {
				e := sample{Series: "s0", Time: at(at0), Value: uint64(i), Class: 1}
				samples = append(samples, e)
				if e.Series = "s1"; i < 2 {
					samples = append(samples, e)
				}
			}
			must(t, newWriterOf(bt.Client, []*mappingOf[sample]{l}, writeAt(day)).WriteAll(t.Context(), samples))
			tiered := *l
			tiered.Table.Tier = codec.Tier(codec.MinTier)
			for _, connect := range paths {
				client, filters := recorded(t, bt.Addr, connect)
				for _, read := range []struct {
					what   string
					recent bool
					of     func(l *mappingOf[sample]) []string
				}{
					{"all", false, func(l *mappingOf[sample]) []string {
						return eventTexts(t, newReaderOf(client, l, clockAt(now)), at(0), at(now))
					}},
					{"recent", true, func(l *mappingOf[sample]) []string {
						return eventTexts(t, newReaderOf(client, l, clockAt(now)), at(41*day+1), at(now))
					}},
					{"windows", true, func(l *mappingOf[sample]) []string {
						return made(t, readWindows(t.Context(), newReaderOf(client, l, clockAt(now)), intoColumns(l.untyped()), sampleWindows, seriesOf(samples[0]), at(41*day), at(now), window.Every(time.Hour)), windowText)
					}},
					{"latest", true, func(l *mappingOf[sample]) []string { return latestText(t, newReaderOf(client, l, clockAt(now)), "s0") }},
					{"cold latest", false, func(l *mappingOf[sample]) []string { return latestText(t, newReaderOf(client, l, clockAt(now)), "s1") }},
					{"no latest", false, func(l *mappingOf[sample]) []string {
						return latestText(t, newReaderOf(client, l, clockAt(now)), "none")
					}},
					{"latest of several", false, func(l *mappingOf[sample]) []string {
						return made(t, newReaderOf(client, l, clockAt(now)).LatestMany(t.Context(), named("s1", "s0", "none")), rowText)
					}},
				} {
					want := read.of(l)
					filters.onSSD(at(now))
					got := read.of(&tiered)
					same(t, want, got)
					ssd, all := filters.onSSD(at(now).Add(-codec.MinTier))
					if read.recent && (ssd < all || all == 0 || len(got) == 0) {
						t.Errorf("%s: %d of %d requests touch only SSD; %v", read.what, ssd, all, got)
					}
				}
			}
		})
	}
}

// eventTexts formats the events of series s0.
func eventTexts(t *testing.T, r *readerOf[sample], from, to time.Time) []string {
	t.Helper()
	return made(t, r.Read(t.Context(), seriesOf(sample{Series: "s0"}), from, to), rowText)
}

// latestText formats the newest event of a series.
func latestText(t *testing.T, r *readerOf[sample], series string) []string {
	t.Helper()
	e, err := r.Latest(t.Context(), sample{Series: series})
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	must(t, err)
	return []string{fmt.Sprint(e.Time, e.Value)}
}

// TestTierOfWrites checks that a table whose cells have the times of their writes, as other programs
// leave them or as the schema said before, is read as a whole: only an event's own time is a lower
// bound of its timestamps. A family whose timestamps are those of writes is not filtered at all.
func TestTierOfWrites(t *testing.T) {
	for name, life := range map[string]codec.Lifetime{"written earlier": {}, "written before": {Timestamp: codec.TimestampWrite}} {
		t.Run(name, func(t *testing.T) {
			written := singles()
			written.Table.Families = []Family{{Name: "f.1", Life: codec.Lifetime{Timestamp: codec.TimestampWrite}}}
			bt := newBigtable(t, written)
			must(t, newWriterOf(bt.Client, []*mappingOf[sample]{written}, writeAt(86400)).WriteAll(t.Context(), []sample{{Series: "s0", Time: at(60), Value: 1}}))
			if life.Timestamp == codec.TimestampWrite { // before their times
				must(t, newWriterOf(bt.Client, []*mappingOf[sample]{written}, writeAt(0)).WriteAll(t.Context(), []sample{{Series: "s0", Time: at(3600), Value: 2}}))
			}
			tiered := *written
			tiered.Table.Tier, tiered.Table.Families = codec.Tier(codec.MinTier), []Family{{Name: "f.1", Life: life}}
			for _, now := range []int{86400, 100 * 86400} {
				want := eventTexts(t, newReaderOf(bt.Client, written, clockAt(now)), at(30), at(7200))
				same(t, want, eventTexts(t, newReaderOf(bt.Client, &tiered, clockAt(now)), at(30), at(7200)))
				same(t, latestText(t, newReaderOf(bt.Client, written, clockAt(now)), "s0"), latestText(t, newReaderOf(bt.Client, &tiered, clockAt(now)), "s0"))
			}
		})
	}
}
