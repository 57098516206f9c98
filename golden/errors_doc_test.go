package golden

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// undocumentedErrors lists exported errors that the manual does not list, and why.
var undocumentedErrors = map[string]string{
	"codec.ErrForm": "only from calls that generated code does not make",
}

// TestErrorsAreDocumented: the manual lists every exported error of the runtime, so that
// a caller can find out when it occurs. TestAPI checks the lists of what is exported.
func TestErrorsAreDocumented(t *testing.T) {
	manual := read(t, "docs/reference/errors.md")
	for _, pkg := range []string{"codec", "setup", "store", "window"} {
		names := exportedBy(t, pkg, `^(?:var (Err\w+)|type (\w+Error)) `)
		if len(names) < 5 {
			t.Errorf("package %s: only %d errors", pkg, len(names))
		}
		for _, name := range names {
			name = pkg + "." + name
			documented := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(manual)
			if _, except := undocumentedErrors[name]; documented == except {
				t.Errorf("%s: in the manual: %t, excepted: %t", name, documented, except)
			}
		}
	}
}

// TestOptionsAreDocumented: the manual lists every option of the runtime. Those of backfills are listed with the flags of the
// command.
func TestOptionsAreDocumented(t *testing.T) {
	manual := read(t, "docs/reference/options.md") + read(t, "docs/reference/backfills.md")
	for pkg, least := range map[string]int{"setup": 8, "store": 30} {
		fields := exportedBy(t, pkg, `^type (?:\w*Options|Operation) struct, (\w+) `)
		if len(fields) < least {
			t.Errorf("package %s: only %d options", pkg, len(fields))
		}
		for _, field := range fields {
			if !strings.Contains(manual, "`"+field+"`") {
				t.Errorf("the manual does not list the option %s of package %s", field, pkg)
			}
		}
	}
}

// exportedBy returns the names that a package of the runtime exports and a pattern captures, each once.
func exportedBy(t *testing.T, pkg, pattern string) (out []string) {
	t.Helper()
	for _, m := range regexp.MustCompile("(?m)"+pattern).FindAllStringSubmatch(read(t, "golden/api/"+pkg+".txt"), -1) {
		if name := strings.Join(m[1:], ""); name != "embedded" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
