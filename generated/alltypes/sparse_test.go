package alltypes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// newSparseServer starts an in-memory Bigtable with the tables of Sparse.
func newSparseServer(t testing.TB) *storetest.Bigtable {
	t.Helper()
	return storetest.New(t, func(ctx context.Context, b *storetest.Bigtable) error {
		_, err := SetupSparse(ctx, b.Admin, b.Client)
		return err
	})
}

// sparseEvent draws an event within a few days. Any of its fields may be absent, but not all.
func sparseEvent(series SparseSeries) *rapid.Generator[SparseEvent] {
	maybe := func(t *rapid.T, label string) bool { return rapid.Bool().Draw(t, label) }
	return rapid.Custom(func(t *rapid.T) SparseEvent {
		hours := rapid.IntRange(0, 72).Draw(t, "hour")
		e := SparseEvent{SparseSeries: series, Time: start.Add(time.Duration(hours) * time.Hour)}
		if maybe(t, "has level") {
			e.Level = new(rapid.Int64Range(-2, 2).Draw(t, "level"))
		}
		if maybe(t, "has note") {
			e.Note = new(rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "note"))
		}
		if e.Level == nil && e.Note == nil || maybe(t, "has opened") {
			e.Opened = new(rapid.Bool().Draw(t, "opened"))
		}
		return e
	})
}

// sparseEvents draws events, some of the same time unless the table is
// append-only.
func sparseEvents(t *rapid.T, l *store.Mapping[SparseEvent], series SparseSeries) []SparseEvent {
	if l.Pattern == codec.BucketNewColumns {
		return rapid.SliceOfNDistinct(sparseEvent(series), 1, 8, func(e SparseEvent) time.Time { return e.Time }).Draw(t, "events")
	}
	return rapid.SliceOfN(sparseEvent(series), 1, 8).Draw(t, "events")
}

// newest returns the last event of each time, in time order.
func newest(events []SparseEvent) []SparseEvent {
	events = slices.Clone(events)
	slices.Reverse(events)
	slices.SortStableFunc(events, func(a, b SparseEvent) int { return a.Time.Compare(b.Time) })
	return slices.CompactFunc(events, func(a, b SparseEvent) bool { return a.Time.Equal(b.Time) })
}

func TestEventsWithAbsentFields(t *testing.T) {
	bt := newSparseServer(t)
	for _, l := range sparseMappings {
		t.Run(l.Table.ID, func(t *testing.T) {
			w := store.NewWriter(bt.Client, []*store.Mapping[SparseEvent]{l})
			r := store.NewReader(bt.Client, l)
			rapid.Check(t, func(t *rapid.T) {
				series := SparseSeries{Sensor: fmt.Sprint(sites.Add(1))}
				events := sparseEvents(t, l, series)
				cut := rapid.IntRange(0, len(events)).Draw(t, "cut")
				check(t, w.WriteAll(t.Context(), events[:cut], store.WriteOptions{LastWins: true}))
				check(t, w.WriteAll(t.Context(), events[cut:], store.WriteOptions{LastWins: true}))

				want := newest(events)
				var got []SparseEvent
				for e, err := range r.Read(t.Context(), store.SeriesOf(SparseEvent{SparseSeries: series}), start, end) {
					check(t, err)
					got = append(got, e)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("(-want +got)\n%s", diff)
				}
				latest, err := r.Latest(t.Context(), SparseEvent{SparseSeries: series})
				check(t, err)
				if diff := cmp.Diff(want[len(want)-1], latest); diff != "" {
					t.Fatalf("latest (-want +got)\n%s", diff)
				}
			})
		})
	}
}

// An event without any value would leave no trace. It is refused, and the others are written.
func TestEventWithoutAnyValue(t *testing.T) {
	bt := newSparseServer(t)
	series := SparseSeries{Sensor: "north"}
	level := SparseEvent{SparseSeries: series, Time: start, Level: new(int64(7))}
	nothing := SparseEvent{SparseSeries: series, Time: start.Add(time.Second)}
	err := NewSparseWriter(bt.Client).WriteAll(t.Context(), []SparseEvent{nothing, level})
	var failed *store.WriteError
	if !errors.As(err, &failed) || len(failed.Failures) != len(sparseMappings) {
		t.Fatalf("got %v, want a failure for each table", err)
	}
	for _, f := range failed.Failures {
		if f.Index != 0 || f.Outcome != store.Refused || !errors.Is(f.Err, codec.ErrNoValue) {
			t.Errorf("got %v, want event 0 refused for having no value", f)
		}
	}
	for _, l := range sparseMappings {
		got, err := store.NewReader(bt.Client, l).Latest(t.Context(), SparseEvent{SparseSeries: series})
		check(t, err)
		if diff := cmp.Diff(level, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", l.Table.ID, diff)
		}
	}
}

// New columns are append-only: if a field is written twice at the same time, both values are
// read, and fields with fewer values repeat their last value.
func TestRewritingNewColumns(t *testing.T) {
	bt := newSparseServer(t)
	w := NewSparseWriter(bt.Client)
	series := SparseSeries{Sensor: "north"}
	first := SparseEvent{SparseSeries: series, Time: start, Level: new(int64(7)), Note: new("a")}
	second := SparseEvent{SparseSeries: series, Time: start, Level: new(int64(5)), Note: new("a")}
	for _, e := range []SparseEvent{first, first, second} {
		check(t, w.Write(t.Context(), e))
	}
	var got []SparseEvent
	for e, err := range store.NewReader(bt.Client, sparseColumnsMapping).Read(t.Context(), store.SeriesOf(first), start, end) {
		check(t, err)
		got = append(got, e)
	}
	if diff := cmp.Diff([]SparseEvent{second, first}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
