// Package testlong controls how much the tests of this repository do. A normal run tests a sample of
// everything. With BTGEN_LONG=1 in the environment, tests run all cases, and build and run the code of
// all of them.
package testlong

import (
	"flag"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	_ "pgregory.net/rapid" // defines its flags
)

// Variable is the environment variable that enables a long run if it is "1".
const Variable = "BTGEN_LONG"

// usualChecks is the number of cases per property in a normal run, longChecks in a long one, and
// racedChecks with the race detector, for which more of the same are no other ones. The flag
// -rapid.checks overrides them. A long run draws other cases each time, so that runs add up; a
// normal one always draws the same, so that a change fails because of what it changes.
const (
	usualChecks = "5"
	longChecks  = "50"
	racedChecks = "5"
	usualSeed   = "1"
)

// The flags are set before the command line is parsed.
func init() {
	checks, seed := usualChecks, usualSeed
	switch {
	case raced():
		checks = racedChecks
	case Enabled():
		checks, seed = longChecks, "0" // rapid takes the time for it
	}
	for name, value := range map[string]string{"rapid.checks": checks, "rapid.seed": seed} {
		if err := flag.Set(name, value); err != nil {
			panic(err) // rapid no longer has the flag
		}
	}
}

// Enabled reports whether this is a long run.
func Enabled() bool { return os.Getenv(Variable) == "1" }

// Checks has properties try n cases until the test ends.
func Checks(t testing.TB, n int) {
	t.Helper()
	f := flag.Lookup("rapid.checks")
	before := f.Value.String()
	if err := f.Value.Set(strconv.Itoa(n)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) })
}

// Pick returns usual in a normal run and long in a long one.
func Pick[T any](usual, long T) T {
	if Enabled() {
		return long
	}
	return usual
}

// Sample returns every n-th of all cases in a normal run, and all of them in a long one.
func Sample[T any](all []T, n int) []T {
	if Enabled() {
		return all
	}
	var some []T
	for i := 0; i < len(all); i += n {
		some = append(some, all[i])
	}
	return some
}

// SampleMap yields every n-th entry of a map, in the order of the keys, in a normal run, and all of them
// in a long one.
func SampleMap[V any](all map[string]V, n int) iter.Seq2[string, V] {
	return func(yield func(key string, value V) bool) {
		for _, key := range Sample(slices.Sorted(maps.Keys(all)), n) {
			if !yield(key, all[key]) {
				return
			}
		}
	}
}

// Skip skips a test in a normal run, with the given reason.
func Skip(t testing.TB, reason string) {
	t.Helper()
	if !Enabled() {
		t.Skipf("%s: %s=1 runs it", reason, Variable)
	}
}

// Condition decides conditions of scripts: [long] is true in a long run.
func Condition(name string) (bool, error) {
	if name != "long" {
		return false, fmt.Errorf("no condition %q", name)
	}
	return Enabled(), nil
}

// Scratch creates a folder for code that a test builds, below the testdata of its
// package, so that package patterns do not match it. It is removed at the end of the
// test. Its name depends only on the test, so that Go's build cache contains the same
// code at the same path, instead of another 100 MB per run.
func Scratch(t testing.TB) string {
	t.Helper()
	if err := os.MkdirAll("testdata", 0o777); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join("testdata", "compile-"+strings.ToLower(t.Name()))
	if err := os.RemoveAll(dir); err != nil { // left by an interrupted run
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
		_ = os.Remove("testdata") // unless it is not empty
	})
	return dir
}

// CompileFast returns the flag of the go command that has it compile the packages below
// an import path without inlining, which takes half the time. Test programs whose code is
// compiled to run once use it.
func CompileFast(importPath string) string { return "-gcflags=" + importPath + "/...=-l -dwarf=false" }

// raced reports whether the program has the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
