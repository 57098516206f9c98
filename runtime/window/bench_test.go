package window

import (
	"math"
	"testing"
	"time"
)

// benchColumns returns the events of a day, one each second.
func benchColumns() *everyColumns {
	var c everyColumns
	for i := range 86400 {
		n := int32(i % 1000)
		c.Times, c.Ints, c.Uints = append(c.Times, runStart.Add(time.Duration(i)*time.Second)), append(c.Ints, &n), append(c.Uints, uint64(i))
		c.Reals = append(c.Reals, 100+20*math.Sin(float64(i*i)))
	}
	return &c
}

// BenchmarkFold measures windows of an hour and their runs, with and without a sketch.
func BenchmarkFold(b *testing.B) {
	columns := benchColumns()
	for name, spec := range map[string]*Spec{"numbers": everySpec.Of([]string{"int", "uint", "real"}), "quantiles": everySpec.Of([]string{"spread", "steps"})} {
		var windows []*Summary
		fold := func(cells time.Duration) {
			windows = windows[:0]
			f, err := spec.Start(Every(time.Hour), runStart, runStart.Add(24*time.Hour), oneSeries(Options{Cells: cells}), func(w *Summary) bool {
				windows = append(windows, spec.Clone(w))
				return true
			})
			if err != nil {
				b.Fatal(err)
			}
			of := "s"
			if _, err := f.Add(&of, SlicesOf(columns)); err != nil {
				b.Fatal(err)
			}
			f.End()
		}
		b.Run("events/"+name, func(b *testing.B) {
			for b.Loop() {
				fold(0)
			}
		})
		b.Run("cells/"+name, func(b *testing.B) {
			for b.Loop() {
				fold(time.Minute)
			}
		})
		var run Run
		b.Run("runs/"+name, func(b *testing.B) {
			for b.Loop() {
				encoded, err := spec.AppendRun(nil, &Run{Start: runStart, Every: time.Hour, Windows: windows})
				if err == nil {
					err = spec.ParseRun(&run, encoded)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
