package analyzers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/btgen-dev/btgen/golden/testlong"
)

// TestAnalyzers compares the findings in the packages of testdata with their comments, and the fixes with golden files.
func TestAnalyzers(t *testing.T) {
	for _, a := range All() {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			analysistest.RunWithSuggestedFixes(t, analysistest.TestData(), a, a.Name)
		})
	}
}

// TestRealCode finds the same if the packages of testdata import the client, the runtime and generated code instead of stand-ins.
func TestRealCode(t *testing.T) {
	testlong.Skip(t, "compiles generated code")
	for _, a := range All() {
		pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadSyntax, Dir: "testdata/src"}, "./"+a.Name)
		if err != nil {
			t.Fatal(err)
		}
		if len(pkgs[0].Errors) > 0 {
			t.Fatal(pkgs[0].Errors)
		}
		graph, err := checker.Analyze([]*analysis.Analyzer{a}, pkgs, nil)
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		for _, file := range pkgs[0].GoFiles {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range strings.Split(string(text), "\n") {
				if strings.Contains(line, "want `") {
					want = append(want, fmt.Sprint(filepath.Base(file), ":", i+1))
				}
			}
		}
		for _, d := range graph.Roots[0].Diagnostics {
			at := pkgs[0].Fset.Position(d.Pos)
			got = append(got, fmt.Sprint(filepath.Base(at.Filename), ":", at.Line))
		}
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", a.Name, diff)
		}
	}
}
