package store

import (
	"context"
	"fmt"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/runtime/storetest"
)

// BenchmarkMarkBytes reports the share of marks in the bytes of rows of a day that are not summarized: keys, names, timestamps
// and values of cells, as Bigtable counts them. Events are written at once, or at equal distances of time, one by one.
func BenchmarkMarkBytes(b *testing.B) {
	for _, perRow := range []int{1, 4, 10, 60, 1440} {
		for _, steady := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/steady=%v", perRow, steady), func(b *testing.B) {
				for b.Loop() {
					l := rolled(days(), 0)
					bt := storetest.New(b, func(ctx context.Context, bt *storetest.Bigtable) error {
						return SetUp(ctx, bt, "", Tables(allGiven([]*mappingOf[sample]{l})))
					})
					w := newWriterOf(bt.Client, []*mappingOf[sample]{l})
					var now time.Time
					w.writer.tables[0].marker.alone()
					w.writer.tables[0].marker.clock = func() time.Time { return now }
					var events []sample
					for i := range perRow {
						events = append(events, sample{Series: "us-west2/3698", Time: at(i * 86400 / perRow), Value: uint64(i), Note: []byte("12345678")})
					}
					if steady {
						for i := range events {
							now = events[i].Time
							must(b, w.Write(b.Context(), events[i]))
						}
					} else {
						must(b, w.WriteAll(b.Context(), events))
					}
					size := map[string]int{}
					must(b, bt.Client.Open(l.Table.ID).ReadRows(b.Context(), bigtable.InfiniteRange(""), func(row bigtable.Row) bool {
						for family, cells := range row {
							for _, c := range cells {
								size[family] += len(row.Key()) + len(c.Column) - 1 + 8 + len(c.Value)
							}
						}
						return true
					}))
					b.ReportMetric(100*float64(size["h"])/float64(size["f.1"]), "%marks")
				}
			})
		}
	}
}
