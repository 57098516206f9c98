package store

import (
	"sync"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"

	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/window"
)

// filtersSent records the filters of the reads of a client.
type filtersSent struct {
	mu  sync.Mutex
	all []*bigtablepb.RowFilter
}

func (s *filtersSent) record(m any) {
	if r, ok := m.(*bigtablepb.ReadRowsRequest); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = append(s.all, r.GetFilter())
	}
}

// onSSD counts the filters since the last call, and those that select timestamps from a time on.
func (s *filtersSent) onSSD(since time.Time) (ssd, all int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.all {
		if stampedFrom(f) >= codec.CeilMicros(since) {
			ssd++
		}
	}
	all, s.all = len(s.all), nil
	return ssd, all
}

// stampedFrom returns the earliest timestamp of the cells that a filter inspects; 0 for any.
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

// TestTier checks, on both paths, that reads of recent events, of windows and of newest events do not touch the tier.
func TestTier(t *testing.T) {
	const day, now = 86400, 43 * 86400
	for _, l := range testlong.Sample(strategies(), 2) {
		if shape := l.untyped().shape(); !shape.EventTimed() {
			continue
		}
		t.Run(l.Table.ID, func(t *testing.T) {
			t.Parallel()
			var samples []sample
			for i, at0 := range []int{0, 3600, 41 * day, 42*day + 60, 42*day + 120} {
				samples = append(samples, sample{Series: "s0", Time: at(at0), Value: uint64(i), Class: 1})
			}
			bt := holding(t, l, day, samples)
			tiered, of := *l, seriesOf(samples[0])
			tiered.Table.Tier = codec.Tier(codec.MinTier)
			for _, connect := range paths {
				filters := new(filtersSent)
				client := opened(t)(connect(t.Context(), bt.Addr, outside(hooked(readRows, filters.record, ignored))))
				r := newReaderOf(client, &tiered, clockAt(now))
				for what, read := range map[string]func() []string{
					"events": func() []string { return made(t, r.Read(t.Context(), of, at(41*day+1), at(now)), rowText) },
					"windows": func() []string {
						return made(t, readWindows(t.Context(), r, intoColumns(l.untyped()), sampleWindows, of, at(41*day), at(now), window.Every(time.Hour)), windowText)
					},
					"newest": func() []string {
						e, err := r.Latest(t.Context(), samples[0])
						must(t, err)
						return []string{rowText(e)}
					},
				} {
					got := read()
					if ssd, all := filters.onSSD(at(now).Add(-codec.MinTier)); ssd < all || all == 0 || len(got) == 0 {
						t.Errorf("%s: %d of %d requests touch only SSD; %v", what, ssd, all, got)
					}
				}
			}
		})
	}
}
