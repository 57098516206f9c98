package golden_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNamedTests checks that there are tests of all names that the race detector and sessions leave out.
func TestNamedTests(t *testing.T) {
	var tests []string
	declared := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			tests = append(tests, string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, list := range map[string]string{"../.ci/common": `unraced='([^']*)'`, "sessiontest/overlay_test.go": `"\^\((Test[^"]*)\)\$"`} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lists := regexp.MustCompile(list).FindAllStringSubmatch(string(text), -1)
		if len(lists) == 0 {
			t.Errorf("%s: no list", file)
		}
		for _, l := range lists {
			for name := range strings.SplitSeq(l[1], "|") {
				if is := regexp.MustCompile("^" + name); !slices.ContainsFunc(tests, is.MatchString) {
					t.Errorf("%s: there is no test %s", file, name)
				}
			}
		}
	}
}
