package corpus_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/btgen-dev/btgen/gen/internal/corpus"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestLeftOut leaves out each part of each example, one at a time. Class of faults: rules that ask for what a schema with errors lacks, and panic.
func TestLeftOut(t *testing.T) {
	c, err := corpus.Load("../../../schemas")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("../../../schemas/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := c.Without(text)
		for _, less := range testlong.Sample(all[min(i%8, len(all)):], 8) {
			if corpus.Layout(less) == nil {
				refused++
			}
		}
	}
	if refused < 100 {
		t.Errorf("only %d have errors", refused)
	}
}
