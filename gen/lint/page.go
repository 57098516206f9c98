package lint

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// Markdown returns the description of the rule with a heading.
func (r Rule) Markdown() string {
	return "### " + r.ID + ": " + r.Title + "\n\n" + strings.Join(r.Description(), "\n\n") + "\n"
}

// Description returns paragraphs in Markdown: what the rule is about, why, what to do, the edits that it finds, and its source.
func (r Rule) Description() []string {
	kind := map[diag.Severity]string{diag.Error: "An error", diag.Warning: "A warning", diag.Advice: "Advice"}[r.Severity]
	if r.class != "" {
		kind = "Class " + r.class
	}
	out := []string{kind + "; " + finders[r.By].does + ".", r.Reason, "What to do: " + r.Fix}
	switch {
	case r.HowToAllow != "":
		out = append(out, "To allow it, "+r.HowToAllow+".")
	case r.Allowable():
		out = append(out, fmt.Sprintf("To allow it for a %s: `allow: {%s: \"the reason\"}`", r.kind(), r.ID))
	case r.By == BySchema || r.By == ByLanguage:
		out = append(out, "It cannot be allowed.")
	}
	return append(append(out, editsOf(r.ID)...), "Source: "+r.Source)
}

// Page returns docs/reference/rules.md, which lists all rules in Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString("# Rules\n\n`btgen explain rule K01` explains a rule. The manual explains [severities](../explain.md#btgen-lint), " +
		"[exceptions](../explain.md#allowing-a-rule),\nand the [classes](../evolution.md#what-a-change-does) of rules of changes.\n\n")
	for _, r := range Rules() {
		fmt.Fprintf(&b, "- <a id=\"%s\"></a>%s, %s: %s\n", strings.ToLower(r.ID), r.ID, r.Class(), r.Title)
	}
	return b.String()
}
