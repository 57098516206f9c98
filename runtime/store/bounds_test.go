package store

import (
	"errors"
	"fmt"
	"testing"
)

// TestRangeOfValues reads ranges of series: their start is included and their end is not, no cells
// of others are received, an empty range requests nothing, and an inverted one is an error.
func TestRangeOfValues(t *testing.T) {
	l := singles()
	bt := newBigtable(t, l)
	var samples []sample
	for i := range 10 {
		samples = append(samples, sample{Series: fmt.Sprint("s", i), Time: at(i), Value: uint64(i)})
	}
	must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(100)).WriteAll(t.Context(), samples))
	c := &counts{}
	r := NewReader(counted(bt.Client, c), l, clockAt(100))
	q := all("")
	q.Spans = spansOf(l)
	for _, test := range []struct {
		low, high string
		want      string
		failed    error
	}{
		{"s3", "s6", "345", nil}, {"s3", "s35", "3", nil}, {"s9", "t", "9", nil}, {"s4", "s4", "", nil}, {"s5", "s4", "", ErrBounds},
	} {
		*c = counts{}
		for _, newestFirst := range []bool{false, true} {
			got := ""
			var failed error
			for e, err := range readOf(t.Context(), r, q, Selection[sample]{Low: []sample{sample{Series: test.low}}, High: []sample{sample{Series: test.high}}}, at(0), at(100), ReadOptions{NewestFirst: newestFirst}) {
				if failed = err; err == nil && newestFirst {
					got = fmt.Sprint(e.Value) + got
				} else if err == nil {
					got += fmt.Sprint(e.Value)
				}
			}
			if got != test.want || !errors.Is(failed, test.failed) {
				t.Errorf("[%s, %s): %s %v, want %s %v", test.low, test.high, got, failed, test.want, test.failed)
			}
		}
		if c.Cells != 2*len(test.want) || test.want == "" && c.Requests > 0 {
			t.Errorf("[%s, %s): %+v", test.low, test.high, *c)
		}
	}
}
