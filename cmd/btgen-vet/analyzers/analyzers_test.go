package analyzers

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
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
