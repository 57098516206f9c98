package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"testing"
)

// TestFirstPullRequest checks that a reviewer can read what btgen init and generate add to a repository.
func TestFirstPullRequest(t *testing.T) {
	const most = 570 // lines
	t.Chdir(t.TempDir())
	must(t, os.WriteFile("go.mod", []byte("module example.com/app\n\ngo 1.26\n\nrequire github.com/btgen-dev/btgen v1.0.0\n"), 0o666))
	for _, command := range []string{"init", "generate"} {
		var stderr bytes.Buffer
		if run([]string{command}, io.Discard, &stderr) != 0 {
			t.Fatal(command, ": ", stderr.String())
		}
	}
	lines := 0
	must(t, fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == "go.mod" || name == "schemas/"+editorSchema { // ignored by Git
			return err
		}
		text, err := os.ReadFile(name)
		lines += bytes.Count(text, []byte("\n"))
		return err
	}))
	if lines < 100 || lines > most {
		t.Errorf("%d lines, of at most %d", lines, most)
	}
}
