package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/golden/assert"
)

// latestResults returns the latest results, and what shows them.
func latestResults(t *testing.T) (printed string, pages shown) {
	t.Helper()
	for name, to := range map[string]*string{raw: &printed, readme: &pages.readme, manual: &pages.manual, picture: &pages.picture} {
		text, err := os.ReadFile(filepath.Join("../..", name))
		assert.Must(t, err)
		*to = string(text)
	}
	return printed, pages
}

// TestShown checks that the manual and the plot show the latest results.
func TestShown(t *testing.T) {
	printed, got := latestResults(t)
	want, err := render(printed, got)
	assert.Must(t, err)
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(shown{})); diff != "" {
		t.Errorf("go run %s -render would change (-want +got)\n%s", pkg, diff)
	}
}

// TestRenderRefuses checks the errors for results that lack something, and for pages without a place for them.
func TestRenderRefuses(t *testing.T) {
	printed, pages := latestResults(t)
	const scale = "BenchmarkScale/span=13w/path=best"

	for _, c := range []struct {
		printed, readme, manual string
		want                    error
	}{
		{"PASS\nBenchmarkRead", "", "", &lineError{2, "BenchmarkRead"}},
		{"BenchmarkRead 5 30", "", "", &lineError{1, "BenchmarkRead 5 30"}},
		{"BenchmarkRead 5 x ns/op", "", "", &lineError{1, "BenchmarkRead 5 x ns/op"}},
		{"BenchmarkRead 5 30 ns/op 2", "", "", &lineError{1, "BenchmarkRead 5 30 ns/op 2"}},
		{strings.ReplaceAll(printed, scale, "BenchmarkScale"), pages.readme, pages.manual, &missingError{"Scale/span=13w/path=best", perCell}},
		{strings.Replace(printed, "BenchmarkRead/case=latest/path=best", "BenchmarkRead", 1), pages.readme, pages.manual,
			&missingError{"Read/case=latest/path=common", perEvent}},
		{printed, pages.readme, tableMarks.begin, markError{manual, tableMarks}},
		{printed, "", pages.manual, markError{readme, costMarks}},
	} {
		_, err := render(c.printed, shown{readme: c.readme, manual: c.manual})
		if err == nil || err.Error() != c.want.Error() {
			t.Errorf("%v, want %v", err, c.want)
		}
	}
}
