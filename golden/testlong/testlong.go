// Package testlong says how much the tests of this repository do. A usual run tries a few
// cases of everything, in a minute or three. With BTGEN_LONG=1 in the environment it is
// many cases, and code is built and run for all of them: that is for CI.
package testlong

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "pgregory.net/rapid" // its flags must be there
)

// Variable is the environment variable that asks for a long run, if it is "1".
const Variable = "BTGEN_LONG"

// usualChecks is how many cases of a property are tried in a usual run; a long one tries
// as many as rapid does by itself. The flag -rapid.checks goes before both.
const usualChecks = "20"

// In the packages whose tests import this one, properties try fewer cases. The flag is
// set before the command line is read.
func init() {
	if Enabled() {
		return
	}
	if err := flag.Set("rapid.checks", usualChecks); err != nil {
		panic(err) // rapid has no such flag any more
	}
}

// Enabled reports whether this is a long run.
func Enabled() bool { return os.Getenv(Variable) == "1" }

// Pick returns what a usual run takes, or what a long one takes.
func Pick[T any](usual, long T) T {
	if Enabled() {
		return long
	}
	return usual
}

// Skip skips a test in a usual run, for a reason.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if !Enabled() {
		t.Skipf("%s: %s=1 runs it", reason, Variable)
	}
}

// Scratch makes a folder for code that a test builds, below the testdata of its package,
// so that no pattern of the go command matches it. It ends with the test. Its name is that
// of the test: the same code at the same path is in Go's build cache already, instead of
// another 100 MB each run.
func Scratch(t testing.TB) string {
	t.Helper()
	if err := os.MkdirAll("testdata", 0o777); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("testdata", "compile-"+strings.ToLower(t.Name()))
	if err := os.RemoveAll(dir); err != nil { // what an interrupted run left
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
		_ = os.Remove("testdata") // unless there is something else
	})
	return dir
}
