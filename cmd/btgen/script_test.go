package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"btgen": main})
}

// TestScripts runs the command line as a user does: one archive for each thing
// that it does, in testdata/script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ODD", "a\n::error::\u202e.yaml") // the name of a file
			return nil
		},
	})
}

// TestDoesNotLinkTheClient keeps the command small: it starts in milliseconds
// and builds in seconds.
func TestDoesNotLinkTheClient(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dep := range strings.Lines(string(out)) {
		if strings.HasPrefix(dep, "cloud.google.com/") || strings.HasPrefix(dep, "google.golang.org/grpc") {
			t.Errorf("links %s", dep)
		}
	}
}
