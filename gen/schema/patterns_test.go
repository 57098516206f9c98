package schema

import (
	"testing"

	"github.com/btgen-dev/btgen/runtime/codec"
)

// TestPatternTexts checks that there is a text about each pattern.
func TestPatternTexts(t *testing.T) {
	for _, p := range codec.Patterns() {
		if about, guidance := guideOf("a pattern").key(p.String()); about == "" || guidance == "" {
			t.Errorf("%s: %q, %q", p, about, guidance)
		}
	}
}
