package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/btgen-dev/btgen/internal/testlong"
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

// TestGoTool uses btgen from a module of its own: a tool line in go.mod, a line
// for go generate, and a program that runs on the generated code.
func TestGoTool(t *testing.T) {
	testlong.Skip(t, "builds another module of its own, besides that of TestReadme")
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(testlong.Scratch(t))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:         "testdata/gotool",
		WorkdirRoot: dir,
		Setup: func(env *testscript.Env) error {
			newModule(t, root, env.WorkDir, "example.com/app")
			for _, v := range moduleEnv() {
				name, value, _ := strings.Cut(v, "=")
				switch name {
				case "PATH", "HOME", "WORK", "TMPDIR": // as testscript has them
				default:
					env.Setenv(name, value)
				}
			}
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOROOT"} {
				value, err := exec.Command("go", "env", name).Output()
				if err != nil {
					return err
				}
				env.Setenv(name, strings.TrimSpace(string(value)))
			}
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
