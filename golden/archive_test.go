package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/golden/archive"
	"github.com/btgen-dev/btgen/golden/assert"
)

// TestArchiveEdits saves texts of few different lines as edits of each other: most lines have equal ones in wrong places.
func TestArchiveEdits(t *testing.T) {
	dir := t.TempDir()
	base, path := filepath.Join(dir, "base.txtar"), filepath.Join(dir, "a.txtar")
	common := strings.Repeat("a line that both have\n", 20)
	text := rapid.Custom(func(t *rapid.T) string {
		line := rapid.SampledFrom([]string{"\n", "a\n", "b\n", " c\n", "-\n", "-- from\n", "+ to\n", "@@ -1 +1 @@\n"})
		return strings.Join(rapid.SliceOfN(line, 1, 12).Draw(t, "lines"), "") + common
	})
	rapid.Check(t, func(rt *rapid.T) {
		from, to := text.Draw(rt, "from"), text.Draw(rt, "to")
		writeFile(t, base, []byte("-- s --\n-- want/x --\n"+from))
		writeFile(t, path, []byte("-- s from base.txtar --\n"))
		assert.Must(rt, archive.Save(path, []txtar.File{{Name: "want/x", Data: []byte(to)}}))
		saved, err := os.ReadFile(path)
		assert.Must(rt, err)
		a, err := archive.ParseFile(path)
		if err != nil || string(a.Files[1].Data) != to || len(saved) > len(common) {
			rt.Fatalf("%v\n%s\nmakes\n%s", err, saved, a.Files[1].Data)
		}
	})
}
