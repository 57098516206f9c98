package archive

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"pgregory.net/rapid"
)

// TestEdit makes texts of few different lines of each other, so that most lines have equal ones in wrong places.
func TestEdit(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"\n", "a\n", "b\n", " c\n", "-\n", "-- from\n", "+ to\n", "@@ -1 +1 @@\n"}), 1, 12).Draw(t, "lines"), "")
	})
	rapid.Check(t, func(t *rapid.T) {
		from, to := text.Draw(t, "from"), text.Draw(t, "to")
		change := edit([]byte(from), []byte(to))
		got, err := edited([]byte(from), change)
		if err != nil || string(got) != to {
			t.Fatalf("%v\n%s\nmakes\n%s", err, change, got)
		}
	})
}

// TestArchive reads an archive with edits of files of each kind, replaces its results, and reads these.
func TestArchive(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("base.yaml", "a: 1\nb: 1\n")
	write("base.txtar", "-- s.yaml --\nx: 1\ny: 1\n-- want/code --\n1\n2\n3\n-- want/short --\n1\n")
	path := write("a.txtar", "a comment\n-- one.yaml from base.yaml --\n-- two.yaml from one.yaml --\n-b: 1\n+b: 2\n"+
		"-- s.yaml from base.txtar --\n x: 1\n+z: 1\n-- want/code --\n1\n")
	a, err := ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "a comment\n-- one.yaml --\na: 1\nb: 1\n-- two.yaml --\na: 1\nb: 2\n-- s.yaml --\nx: 1\nz: 1\ny: 1\n-- want/code --\n1\n"
	if got := string(txtar.Format(a)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if err := Save(path, []txtar.File{
		{Name: "want/code", Data: []byte("1\n2\n3\n4\n")}, {Name: "want/other", Data: []byte("5\n")}, {Name: "want/short", Data: []byte("2\n")},
	}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, saved, _ := strings.Cut(string(text), "+z: 1\n"); saved != "-- want/code from base.txtar --\n 3\n+4\n-- want/other --\n5\n-- want/short --\n2\n" {
		t.Errorf("saved\n%s", text)
	}
	if a, err = ParseFile(path); err != nil || string(a.Files[3].Data) != "1\n2\n3\n4\n" {
		t.Error(err, a)
	}
	write("base.txtar", "-- s.yaml --\nx: 1\n-- want/code --\n4\n")
	if a, err = ParseFile(path); err == nil || string(a.Files[2].Data) != "x: 1\nz: 1\n" || a.Files[3].Data != nil {
		t.Error(err, a)
	}
}

// TestNoPlace reads archives with edits that do not apply.
func TestNoPlace(t *testing.T) {
	for _, edit := range []string{
		"-- a --\n1\n-- b from a --\n-2\n", "-- a --\n1\n2\n-- b from a --\n 2\n-1\n", "-- a --\n1\n-- b from a --\n1\n",
		"-- a --\n1\n-- b from a --\n\n", "-- b from a --\n", "-- b from a.txtar --\n", "-- b from b --\n",
	} {
		path := filepath.Join(t.TempDir(), "x.txtar")
		if err := os.WriteFile(path, []byte(edit), 0o666); err != nil {
			t.Fatal(err)
		}
		if a, err := ParseFile(path); err == nil {
			t.Errorf("%q: %q", edit, a.Files)
		}
	}
}
