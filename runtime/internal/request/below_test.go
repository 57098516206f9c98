package request_test

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/internal/batch"
	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/frame"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// Packages below this one are tested here if that takes a few lines: a test program of its own links the client, for two
// seconds of CPU.
func TestBatchSplitsRowsAndRequests(t *testing.T) {
	var b batch.Batch
	for i := range 3 {
		row := &batch.Row{Entry: -1, Key: []byte("row"), Count: 60_000}
		b.Find(row)
		b.Add(i, frame.Instant{Micros: int64(i)}, row)
	}
	if len(b.Waves) != 3 {
		t.Fatalf("%d waves for three times 60,000 mutations of one row", len(b.Waves))
	}
	b = batch.Batch{Entries: []batch.Entry{{Count: 60_000}, {Count: 40_000}, {Count: 1}, {Bytes: batch.MaxRequest}, {Bytes: 1}, {Bytes: 2 * batch.MaxRequest}}}
	var got []int
	for _, req := range b.Requests([]int{0, 1, 2, 3, 4, 5}) {
		got = append(got, len(req))
	}
	assert.Same(t, []int{2, 1, 1, 1, 1}, got)
}

// TestResume checks that pauses grow only while a call gets no further.
func TestResume(t *testing.T) {
	for _, c := range []struct {
		further     bool
		least, most time.Duration
	}{
		{true, 10 * time.Second, 20 * time.Second},
		{false, 30 * time.Second, 100 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin, left := time.Now(), 20
			err := call.Resume(t.Context(), time.Second, func(error) bool { return true }, func() (bool, error) {
				if left--; left < 0 {
					return true, nil
				}
				return c.further, errors.New("it breaks off")
			})
			if took := time.Since(begin); err != nil || took < c.least || took > c.most {
				t.Errorf("further %v: %v, after %v", c.further, err, took)
			}
		})
	}
}

func TestSortByTime(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var c frame.Column
	for _, n := range []int{0, 1, 2, 255, 256, 5000} {
		for _, width := range []int64{1, 2, 1000, 1 << 22, 1 << 40, 1 << 62} {
			c.Own = make([]wire.Cell, n)
			for i := range c.Own {
				c.Own[i] = wire.Cell{Micros: random.Int64N(width) - width/3, Value: wire.Text{Begin: uint32(i)}}
			}
			want := slices.Clone(c.Own)
			slices.SortStableFunc(want, func(a, b wire.Cell) int { return cmp.Compare(a.Micros, b.Micros) })
			for range 2 { // what is sorted, too
				if c.Sort(); !slices.Equal(c.Cells, want) {
					t.Errorf("%d cells over %d", n, width)
				}
			}
		}
	}
}

// Data that do not arrive newest first are sorted, with one per time.
func TestAscend(t *testing.T) {
	c := frame.Column{Cells: []wire.Cell{{Micros: 2}, {Micros: 3}, {Micros: 3}, {Micros: 1}}}
	if c.Ascend(); !slices.Equal(c.Cells, []wire.Cell{{Micros: 1}, {Micros: 2}, {Micros: 3}}) {
		t.Errorf("%+v", c.Cells)
	}
}
