package main

import (
	"flag"
	"os/exec"
	"path/filepath"
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
