package store

import (
	"context"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

// BenchmarkNewestPeriod reads and writes events of the newest mapping of a
// table with one mapping, and of a table with three.
func BenchmarkNewestPeriod(b *testing.B) {
	oldest, _ := shapes[4].mapping(time.Time{})
	older, _ := shapes[2].mapping(edge.Add(-8*week), oldest)
	alone, columns := shapes[0].mapping(time.Time{})
	newest, _ := shapes[0].mapping(edge, older, oldest)
	now := edge.Add(week)
	var events []sample
	for at := edge; at.Before(now); at = at.Add(10 * time.Second) {
		events = append(events, sample{Series: "a1", Time: at, Value: 7})
	}
	for _, bb := range []struct {
		name    string
		mapping *Mapping[sample]
	}{{"mappings=1", alone}, {"mappings=3", newest}} {
		ctx, clock := context.Background(), func() time.Time { return now }
		server := storetest.New(b, func(ctx context.Context, b *storetest.Bigtable) error {
			return SetUp(ctx, b, "", Tables([]*Mapping[sample]{bb.mapping}))
		})
		w := NewWriter(server.Client, []*Mapping[sample]{bb.mapping}, WriterOptions{Now: clock})
		if err := w.WriteAll(ctx, events); err != nil {
			b.Fatal(err)
		}
		r := NewReader(server.Client, bb.mapping, ReaderOptions{Now: clock})
		var into periodColumns
		b.Run("ReadColumns/"+bb.name, func(b *testing.B) {
			for b.Loop() {
				columns.Reset(&into)
				if err := ReadColumns(ctx, TableReader[sample](r), &Columns[sample, periodColumns]{columns: *r.reader.mapping.layout}, &into, SeriesOf(sample{Series: "a1"}), edge, now); err != nil || len(into.Value) != len(events) {
					b.Fatal(len(into.Value), err)
				}
			}
		})
		b.Run("Latest/"+bb.name, func(b *testing.B) {
			for b.Loop() {
				if _, err := r.Latest(ctx, sample{Series: "a1"}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("WriteAll/"+bb.name, func(b *testing.B) {
			for b.Loop() {
				if err := w.WriteAll(ctx, events[:1000]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
