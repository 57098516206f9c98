package world_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/btgen-dev/btgen/golden/corpus"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestLeftOut leaves out each part of each example, one at a time. Class of faults: rules that ask for what a schema with errors lacks, and panic.
func TestLeftOut(t *testing.T) {
	c, err := corpus.Load("../../schemas")
	must(t, err)
	paths, err := filepath.Glob("../../schemas/*.yaml")
	must(t, err)
	refused := 0
	for i, path := range testlong.Sample(paths, 4) {
		text, err := os.ReadFile(path)
		must(t, err)
		all := c.Without(text)
		for _, less := range testlong.Sample(all[min(i%16, len(all)):], 16) {
			if corpus.Layout(less) == nil {
				refused++
			}
		}
	}
	if refused < testlong.Pick(10, 100) {
		t.Errorf("only %d have errors", refused)
	}
}
