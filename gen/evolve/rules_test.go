package evolve_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/golden/assert"
)

// TestRulesAreDeclaredOnce checks that the ID of a rule is in the source of the packages that find
// and list changes only where the rule is declared, and that it tells the class.
func TestRulesAreDeclaredOnce(t *testing.T) {
	declared := map[string]int{}
	id := regexp.MustCompile(`\b[EX][0-9]{2}\b`)
	var names []string
	for _, dir := range []string{".", "../lint", "../cli", "../lock", "../project"} {
		names = append(names, must(filepath.Glob(dir+"/*.go"))...)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(must(parser.ParseFile(token.NewFileSet(), name, nil, 0)), func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				value, ok := n.Value.(*ast.BasicLit)
				if key, _ := n.Key.(*ast.Ident); ok && key != nil && key.Name == "ID" && id.MatchString(value.Value) {
					declared[strings.Trim(value.Value, `"`)]++
					return false
				}
			case *ast.BasicLit:
				if id.MatchString(n.Value) {
					t.Errorf("%s: %s names a rule for which there is an object", name, n.Value)
				}
			}
			return true
		})
	}
	last := map[evolve.Class]string{evolve.Data: "E29", evolve.Rollout: "E49", evolve.Source: "E69", evolve.Safe: "E99"}
	for _, rule := range evolve.Rules() {
		assert.Same(t, 1, declared[rule.ID], rule.ID)
		if strings.HasPrefix(rule.ID, "X") {
			continue // it names no kind of change
		}
		if rule.ID > last[rule.Class] || rule.Class > evolve.Data && rule.ID <= last[rule.Class-1] {
			t.Errorf("%s is not an ID of class %s", rule.ID, rule.Class)
		}
	}
	if len(declared) != len(evolve.Rules()) || !slices.IsSortedFunc(evolve.Rules(), func(a, b *evolve.Rule) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("%d rules are declared, and %d listed", len(declared), len(evolve.Rules()))
	}
}

// TestRangesInManual: the manual says which rules have which class.
func TestRangesInManual(t *testing.T) {
	manual, err := os.ReadFile("../../docs/evolution.md")
	if err != nil {
		t.Fatal(err)
	}
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
