package main

import (
	"bytes"
	"flag"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/btgen-dev/btgen/golden/testlong"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"btgen": main}) }

var update = flag.Bool("update", false, "rewrite the output that scripts compare with cmp")

// TestScripts runs the scripts in testdata/script, each of which tests one feature of the
// command line. Those that try the same with many names or kinds of files run at length only.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) < 20 {
		t.Fatal(len(scripts), err)
	}
	if !*update {
		scripts = testlong.Sample(scripts, 13)
	}
	testscript.Run(t, testscript.Params{
		Files:         scripts,
		UpdateScripts: *update,
		Condition:     testlong.Condition,
		Setup: func(env *testscript.Env) error {
			env.Setenv("GOGC", "400")                    // each process is short
			env.Setenv("ODD", "a\n::error::\u202e.yaml") // a file name
			return nil
		},
	})
}

// TestDoesNotLinkTheClient checks that the command does not depend on the Bigtable
// client, so that it starts in milliseconds and builds in seconds.
func TestDoesNotLinkTheClient(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	must(t, err)
	for dep := range strings.Lines(string(out)) {
		if strings.HasPrefix(dep, "cloud.google.com/") || strings.HasPrefix(dep, "google.golang.org/grpc") {
			t.Errorf("links %s", dep)
		}
	}
}

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
