package lint_test

import (
	"flag"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/gen/lint"
	"github.com/btgen-dev/btgen/golden/assert"
)

var update = flag.Bool("update", false, "rewrite docs/reference/rules.md")

// TestPage checks that the manual contains all rules. To update its page, run
//
//	go test ./gen/lint -run TestPage -update
func TestPage(t *testing.T) {
	const path = "../../docs/reference/rules.md"
	if *update {
		must(t, os.WriteFile(path, []byte(lint.Page()), 0o666))
	}
	page, err := os.ReadFile(path)
	must(t, err)
	assert.Same(t, lint.Page(), string(page), path)
}

// TestEdits checks that the list of edits names only rules of changes, and nearly all of them.
func TestEdits(t *testing.T) {
	described := 0
	for _, rule := range lint.Rules() {
		edits := strings.Contains(rule.Markdown(), "\n\nEdits: ")
		if edits && rule.By != lint.ByLock {
			t.Errorf("rule %s has edits", rule.ID)
		}
		if edits {
			described++
		}
	}
	if described < 50 {
		t.Errorf("only %d rules have edits", described)
	}
}

// ruleID matches the ID of a rule. T00:00 is a time.
var (
	ruleID = regexp.MustCompile(`\b[CEKLT][0-9]{2}\b`)
	aTime  = regexp.MustCompile(`\bT[0-9]{2}:[0-9]{2}`)
)

// TestNamedRules checks that every ID in the manual, a message, a comment of generated
// code or a schema has a page.
func TestNamedRules(t *testing.T) {
	known := map[string]bool{}
	for _, rule := range lint.Rules() {
		known[rule.ID] = true
	}
	read := 0
	err := fs.WalkDir(os.DirFS("../.."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir(), !slices.Contains([]string{".md", ".go", ".yaml", ".proto"}, path.Ext(name)), strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			return err
		}
		read++
		for i, line := range strings.Split(string(text), "\n") {
			for _, id := range ruleID.FindAllString(aTime.ReplaceAllString(line, ""), -1) {
				if !known[id] {
					t.Errorf("%s:%d names %s, which is no rule: %s", name, i+1, id, strings.TrimSpace(line))
				}
			}
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Fatalf("%d files: %v", read, err)
	}
}

// TestRulesAreComplete checks that every rule has all required parts.
func TestRulesAreComplete(t *testing.T) {
	last := ""
	sentence := regexp.MustCompile(`^[A-Z0-9].*\.$`)
	for _, rule := range lint.Rules() {
		if rule.ID <= last || !regexp.MustCompile(`^[CEKLTX]\d\d$`).MatchString(rule.ID) {
			t.Errorf("rule %q after %q", rule.ID, last)
		}
		last = rule.ID
		if rule.Title == "" || !sentence.MatchString(rule.Reason) || !sentence.MatchString(rule.Fix) {
			t.Errorf("rule %s: title %q, reason %q, fix %q", rule.ID, rule.Title, rule.Reason, rule.Fix)
		}
		if !strings.HasPrefix(rule.Source, "https://cloud.google.com/bigtable/") && rule.Source != "our judgment" {
			t.Errorf("rule %s has the source %q", rule.ID, rule.Source)
		}
	}
}
