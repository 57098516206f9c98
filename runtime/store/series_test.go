package store

import (
	"fmt"
	"testing"

	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestSeriesAreSkipped lists series and counts what that takes: with many rows per series about
// one request and at most eight rows for each, and with few rows per series few requests.
func TestSeriesAreSkipped(t *testing.T) {
	for _, c := range []struct {
		series, rows           int
		mostRequests, mostRows int
	}{
		{30, testlong.Pick(200, 1000), 60, 8 * 30}, {1000, 2, 40, 3000}, {3, 1, 4, 3}, {0, 0, 1, 0},
	} {
		l := singles()
		bt := newBigtable(t, l)
		var samples []sample
		var want []string
		for i := range c.series {
			want = append(want, fmt.Sprintf("s%04d", i))
			for k := range c.rows {
				samples = append(samples, sample{Series: want[i], Time: at(60 * k), Value: uint64(k), Note: make([]byte, 100)})
			}
		}
		samples = append(samples, sample{Series: "r", Time: at(0)}, sample{Series: "t", Time: at(0)})
		now := 60 * (c.rows + 1)
		must(t, NewWriter(bt.Client, []*Mapping[sample]{l}, writeAt(now)).WriteAll(t.Context(), samples))
		l.seriesOf = func(e *sample) *string { return &e.Series }
		counts := &counts{}
		r := NewReader(counted(bt.Client, counts), l, clockAt(now))
		var got []string
		for s, err := range seriesReadOf(t.Context(), r, all("s"), SeriesOf(sample{}), at(0), at(now)) {
			must(t, err)
			got = append(got, s)
		}
		same(t, want, got)
		if counts.Requests > c.mostRequests || counts.Cells > c.mostRows {
			t.Errorf("%d series of %d rows: %+v, want at most %d requests and %d rows", c.series, c.rows, *counts, c.mostRequests, c.mostRows)
		}
	}
}
