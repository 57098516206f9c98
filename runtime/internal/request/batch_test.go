package request_test

import (
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/internal/batch"
	"github.com/btgen-dev/btgen/runtime/internal/frame"
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
