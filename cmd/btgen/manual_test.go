package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestCommandsOfTheManual checks that the commands and flags in the manual, the
// workflow for users and the pre-commit hooks exist.
func TestCommandsOfTheManual(t *testing.T) {
	command := regexp.MustCompile("(?:go tool btgen|`btgen) ([a-z][^`|>\n]*)")
	mentioned := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/reference/*.md", "docs/ci/*.yml", ".pre-commit-hooks.yaml"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal("no files ", pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			must(t, err)
			for _, m := range command.FindAllSubmatch(text, -1) {
				mentioned++
				var stderr strings.Builder
				if run(append(strings.Fields(string(m[1])), "--help"), io.Discard, &stderr) != 0 {
					t.Errorf("%s mentions %q: %s", file, m[0], stderr.String())
				}
			}
		}
	}
	if mentioned < 30 {
		t.Errorf("only %d commands", mentioned)
	}
}
