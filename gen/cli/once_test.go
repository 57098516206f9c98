package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

// TestRecorded checks that outputs are only recorded if that is wanted, and only up to a size: commands that export tables
// print without an end.
func TestRecorded(t *testing.T) {
	line := []byte(strings.Repeat("x", 1<<16) + "\n")
	for _, wanted := range []bool{false, true} {
		g := guarded(io.Discard)
		if wanted {
			g.recorded = new(bytes.Buffer)
		}
		for n := range maxRecorded / len(line) {
			if _, err := g.Write(line); err != nil {
				t.Fatal(err)
			}
			if wanted && g.recorded.Len() != (n+1)*len(line) || !wanted && g.recorded != nil {
				t.Fatalf("after %d lines, with recording %t: %v", n, wanted, g.recorded != nil)
			}
		}
		if _, _ = g.Write(append(line, line...)); g.recorded != nil {
			t.Errorf("more than %d bytes are recorded", maxRecorded)
		}
	}
}
