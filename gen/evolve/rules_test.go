package evolve_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/rehearse"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// TestRuleIDs checks that the source of the packages that find and list changes names the IDs of rules in one file, and that
// the catalog has them in order, with causes that there are.
func TestRuleIDs(t *testing.T) {
	id, comment := regexp.MustCompile(`"[EX][0-9]{2}\b`), regexp.MustCompile(`//.*`)
	for _, dir := range []string{".", "../lint", "../cli", "../lock", "../project"} {
		for _, name := range must(filepath.Glob(dir + "/*.go")) {
			if found := id.Find(comment.ReplaceAll(must(os.ReadFile(name)), nil)); found != nil && name != "rules.go" && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s: %s names a rule for which there is an object", name, found)
			}
		}
	}
	if !slices.IsSortedFunc(evolve.Rules(), func(a, b *evolve.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Error("the rules are not sorted")
	}
	known := []rehearse.Cause{
		rehearse.SchemaRemoved, rehearse.Deleted, rehearse.Foreign, rehearse.ReadMoved, rehearse.RowsChanged, rehearse.LayoutRemoved,
		rehearse.FamiliesChanged, rehearse.LifeChanged, rehearse.RollupChanged, rehearse.ColumnsChanged,
	}
	for _, e := range diag.ReadEntries(string(must(os.ReadFile("rules.txt")))) {
		for _, line := range e.Lines {
			causes, ok := strings.CutPrefix(line, "explains ")
			for cause := range strings.FieldsSeq(causes) {
				if ok && !slices.Contains(known, rehearse.Cause(cause)) {
					t.Errorf("%s explains %q", e.Head, cause)
				}
			}
		}
	}
}

// TestRangesInManual: the manual says which rules have which class.
func TestRangesInManual(t *testing.T) {
	manual, err := os.ReadFile("../../docs/evolution.md")
	assert.Must(t, err)
	text := strings.Join(strings.Fields(string(manual)), " ")
	for class, name := range evolve.Classes {
		var ids []string
		for _, rule := range evolve.Rules() {
			if rule.Class == evolve.Class(class) && !strings.HasPrefix(rule.ID, "X") {
				ids = append(ids, rule.ID)
			}
		}
		if want := ids[0] + " to " + ids[len(ids)-1]; !strings.Contains(text, want+" "+name) && !strings.Contains(text, want+" are of class "+name) {
			t.Errorf("the manual does not say %s %s", want, name)
		}
	}
}

// must returns a value without an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestTierIsNoData checks that neither btgen.lock nor the history of setups has the tier of a table:
// which storage holds a cell does not decide where readers find it.
func TestTierIsNoData(t *testing.T) {
	var locks, records []string
	for _, tier := range []string{"", ", tier: ssd", ", tier: {infrequent_access: {after: 60d}}"} {
		l := testschema.Tables(t, "1s", "  events: {pattern: single_unserialized, key: {delimiter: \"#\", segments: [host, id, {time: unix_s}]}, family: m, ttl: {keep: forever}"+tier+"}\n")
		if tier != "" && l.Tables[0].Tier == 0 {
			t.Fatal("the layout has no tier")
		}
		locks = append(locks, string(evolve.LockOf([]*layout.Layout{l}).Text()))
		records = append(records, lock.Record(l, l.Tables[0]))
	}
	for i := range locks {
		if locks[i] != locks[0] || records[i] != records[0] || !strings.Contains(locks[i], "events") {
			t.Errorf("%s\n%s", locks[i], records[i])
		}
	}
}
