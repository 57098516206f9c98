package main_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/compress"
)

// The tests of package compress stand here: a test program of their own would link the client.

// TestBlocks checks that blocks are compressed one by one, and count what estimates count.
func TestBlocks(t *testing.T) {
	equal := compress.NewBlocks()
	const cells, cell = 10_000, len("key") + len("f") + len("column") + 8 + len("value")
	for range cells {
		equal.Add("key", "f", "column", 1000, []byte("value"))
	}
	s := equal.Sizes()
	blocks := math.Ceil(float64(cells*cell) / compress.BlockBytes)
	if s.Stored != cells*cell || float64(s.Zstd) < 10*blocks || s.Zstd >= s.Snappy || s.Snappy > s.Stored/15 {
		t.Errorf("equal cells in %v blocks: %+v", blocks, s)
	}
	random := compress.NewBlocks()
	source := rand.NewChaCha8([32]byte{})
	for range 100 {
		value := make([]byte, 10_000)
		_, _ = source.Read(value)
		random.Add("", "", "", 0, value)
	}
	if s := random.Sizes(); s.Stored != 100*10_008 || s.Zstd < 100*10_000 || s.Snappy < 100*10_000 || s.Snappy > s.Stored+s.Stored/100 {
		t.Errorf("random cells: %+v", s)
	}
	if s := compress.NewBlocks().Sizes(); s != (compress.Sizes{}) {
		t.Errorf("no cells: %+v", s)
	}
}

// TestApart checks that what repeats only beyond a block is not found: rows that are far apart do
// not compress each other.
func TestApart(t *testing.T) {
	source := rand.NewChaCha8([32]byte{1})
	value := make([]byte, compress.BlockBytes)
	_, _ = source.Read(value)
	b := compress.NewBlocks()
	for i := range 4 {
		b.Add(fmt.Sprint(i), "", "", 0, value)
	}
	if s := b.Sizes(); s.Zstd < 4*len(value) {
		t.Errorf("%+v", s)
	}
}
