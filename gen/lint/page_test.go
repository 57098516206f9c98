package lint_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/lint"
)

// The page in this folder is what the rules say:
//
//	go run ./cmd/btgen lint --explain all > gen/lint/README.md
func TestPage(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(lint.Page(), string(page)); diff != "" {
		t.Errorf("make it anew with: go run ./cmd/btgen lint --explain all > gen/lint/README.md (-want +got)\n%s", diff)
	}
}

// TestRulesAreComplete checks what every rule has to have.
func TestRulesAreComplete(t *testing.T) {
	last := ""
	sentence := regexp.MustCompile(`^[A-Z0-9].*\.$`)
	for _, rule := range lint.Rules() {
		if rule.ID <= last || !regexp.MustCompile(`^[CKLT]\d\d$`).MatchString(rule.ID) {
			t.Errorf("rule %q after %q", rule.ID, last)
		}
		last = rule.ID
		if rule.Title == "" || !sentence.MatchString(rule.Reason) || !sentence.MatchString(rule.Fix) {
			t.Errorf("rule %s: title %q, reason %q, fix %q", rule.ID, rule.Title, rule.Reason, rule.Fix)
		}
		if !strings.HasPrefix(rule.Source, "https://cloud.google.com/bigtable/") && rule.Source != "our judgement" {
			t.Errorf("rule %s has the source %q", rule.ID, rule.Source)
		}
	}
}
