package schema

import (
	"testing"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestPatternTexts checks that there is a text about each pattern.
func TestPatternTexts(t *testing.T) {
	if got, want := len(patternTexts), len(codec.Patterns())+1; got != want {
		t.Fatalf("%d texts, want %d", got, want)
	}
	for _, p := range codec.Patterns() {
		if text := TextOf(p); text.About == "" || text.Guidance == "" {
			t.Errorf("%s: %+v", p, text)
		}
	}
}
