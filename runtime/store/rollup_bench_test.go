package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/window"
)

// BenchmarkMarks stages 10,000 events of rows of some length, with and without marks, up to the request in wire form.
func BenchmarkMarks(b *testing.B) {
	for _, perRow := range []int{1, 10, 100} {
		for _, marks := range []bool{false, true} {
			b.Run(fmt.Sprintf("%d/%v", perRow, marks), func(b *testing.B) {
				l := days()
				if marks {
					l = rolled(l, 0)
				}
				w := NewWriter(noTables{}, []*Mapping[sample]{l})
				var events []sample
				for i := range 10_000 {
					events = append(events, sample{Series: fmt.Sprintf("series-%06d", i/perRow), Time: at(i % perRow * 60), Value: uint64(i), Note: []byte("12345678")})
				}
				b.ResetTimer()
				for range b.N {
					s := w.writer.stages.Get().(*stage)
					s.all = &listOf[sample]{events}
					s.at(time.Now())
					for i := range events {
						s.add(event{&events[i]})
					}
					t := &s.tables[0]
					for _, wave := range t.batch.waves {
						for _, req := range t.batch.requests(wave) {
							_ = t.outbox(req)
						}
					}
					s.release()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(events)), "ns/event")
			})
		}
	}
}

// BenchmarkParseRun parses a run of a day by hours, and adds it to windows of a day.
func BenchmarkParseRun(b *testing.B) {
	var windows []any
	for h := range 24 {
		w := &sampleWindow{Window: window.Window{Start: at(h * 3600), End: at(h*3600 + 3600), Events: 60}}
		w.Value.Count, w.Value.FirstTime, w.Value.LastTime = 60, at(h*3600), at(h*3600+3540)
		windows = append(windows, w)
	}
	run, err := sampleWindows.AppendRun(nil, &window.Run{Start: day0, Every: time.Hour, Windows: windows})
	if err != nil {
		b.Fatal(err)
	}
	var r window.Run
	series := "s"
	fold, err := sampleWindows.Start(window.Every(24*time.Hour), day0, at(86400), window.Options{
		Cells: time.Hour, ID: func(any) string { return "" }, Clone: func(s any) any { return s },
	}, func(any) bool { return true })
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := sampleWindows.ParseRun(&r, run); err != nil {
			b.Fatal(err)
		}
		for _, w := range r.Windows {
			if _, err := fold.AddCell(&series, w); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/24, "ns/window")
	b.ReportMetric(float64(len(run)), "bytes")
}
