package store

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkStage stages events for one table without sending them: sorted by series and
// time, or with alternating series.
func BenchmarkStage(b *testing.B) {
	for _, l := range []*Mapping[sample]{singles(), days(), offsets(), metrics()} {
		for _, order := range []string{"sorted", "turns"} {
			const series, each = 10, 1000
			events := make([]sample, 0, series*each)
			for i := range series * each {
				s, n := i/each, i%each
				if order == "turns" {
					s, n = i%series, i/series
				}
				events = append(events, sample{Series: fmt.Sprint("series", s), Time: at(n), Value: uint64(n)})
			}
			b.Run("kind="+l.Table.ID+"/order="+order, func(b *testing.B) {
				w := NewWriter(faked(tableFunc{}), []*Mapping[sample]{l}, writeAt(0))
				b.ReportAllocs()
				for b.Loop() {
					s := w.writer.stages.Get().(*stage)
					s.all = &listOf[sample]{events}
					s.at(w.writer.options.Now())
					for i := range events {
						s.add(event{&events[i]})
					}
					s.release()
				}
				b.ReportMetric(float64(b.Elapsed())/float64(time.Nanosecond)/float64(b.N)/float64(len(events)), "ns/event")
			})
		}
	}
}
