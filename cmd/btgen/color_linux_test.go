package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/termtest"
)

// TestColor checks that findings are in color only on a terminal and without NO_COLOR.
func TestColor(t *testing.T) {
	schema := filepath.Join(t.TempDir(), "event.yaml")
	must(t, os.WriteFile(schema, []byte("btgen: v2\n"), 0o666))
	for _, command := range []string{"lint", "explain"} {
		for noColor, want := range map[string]bool{"": true, "1": false} {
			t.Setenv("NO_COLOR", noColor)
			terminal, end := termtest.Open(t)
			assert.Same(t, 1, run([]string{command, schema}, terminal, io.Discard), command)
			text := end()
			if colored := strings.Contains(text, "\x1b["); colored != want || !strings.Contains(text, "unknown language version") {
				t.Errorf("%s, NO_COLOR=%q: %q", command, noColor, text)
			}
		}
		var text strings.Builder
		run([]string{command, schema}, &text, io.Discard)
		if strings.Contains(text.String(), "\x1b[") || !strings.Contains(text.String(), "unknown language version") {
			t.Errorf("%s, not to a terminal: %q", command, text.String())
		}
	}
}
