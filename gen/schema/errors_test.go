package schema

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/btgen-dev/btgen/gen/internal/frame"
	"github.com/btgen-dev/btgen/golden/assert"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestErrors runs the cases in testdata/errors: pairs of a schema and its errors. It
// frames all schemas except those in raw.txtar. Every sentence of the catalog has a case.
func TestErrors(t *testing.T) {
	paths, err := filepath.Glob("testdata/errors/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	said := ""
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		assert.Must(t, err)
		for i := 0; i < len(archive.Files); i += 2 {
			in, want := archive.Files[i], &archive.Files[i+1]
			name := strings.TrimSuffix(in.Name, ".yaml")
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+name, func(t *testing.T) {
				text := string(in.Data)
				if filepath.Base(path) != "raw.txtar" {
					text = frame.Schema(text)
				}
				got := explain(text)
				if got == "" {
					t.Errorf("no error in\n%s", text)
				}
				if *update {
					want.Data = []byte(got)
				}
				assert.Same(t, string(want.Data), got)
				said += got
			})
		}
		if *update {
			assert.Must(t, os.WriteFile(path, txtar.Format(archive), 0o644))
		}
	}
	elsewhere := []string{ // in other tests
		"large-file", "not-utf8", "too-many-queries", "too-many-tables", "vendored-beam",
		"indentation-number", "moved-comment", "question-mark", "unformattable", // of Format
	}
	for name, sentence := range messages() {
		if !slices.Contains(elsewhere, name) && !regexp.MustCompile(": "+strings.Trim(sentence.Pattern(), "^$")).MatchString(said) {
			t.Errorf("no case says %q", name)
		}
	}
}

// explain returns the errors of a schema with their hints.
func explain(text string) string {
	_, list := Parse("x.yaml", []byte(text))
	var b strings.Builder
	for _, d := range list {
		b.WriteString(d.Error() + "\n")
		if d.Hint != "" {
			b.WriteString("  " + strings.ReplaceAll(d.Hint, "\n", "\n  ") + "\n")
		}
	}
	return b.String()
}
