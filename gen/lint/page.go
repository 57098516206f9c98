package lint

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// pageURL is where [Page] is published.
const pageURL = "https://github.com/btgen-dev/btgen/blob/main/docs/reference/rules.md"

// URL returns the URL of the rule's description in the manual.
func (r Rule) URL() string { return pageURL + "#" + r.anchor() }

// anchor returns the HTML id of the rule's description.
func (r Rule) anchor() string { return strings.ToLower(r.ID) }

// Markdown returns the description of the rule, followed by its URL.
func (r Rule) Markdown() string { return r.section() + "Documentation: <" + r.URL() + ">\n" }

// section returns the description of the rule as [Page] contains it.
func (r Rule) section() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n", r.ID, r.Title)
	fmt.Fprintf(&b, "*%s; %s.*\n\n", kind(r.Severity), r.by())
	fmt.Fprintf(&b, "%s\n\n**What to do:** %s\n\n", r.Reason, r.Fix)
	switch {
	case r.HowToAllow != "":
		fmt.Fprintf(&b, "To allow it, %s.\n\n", r.HowToAllow)
	case r.Allowable():
		fmt.Fprintf(&b, "To allow it for a %s: `allow: {%s: \"the reason\"}`\n\n", r.kind(), r.ID)
	case r.By == BySchema || r.By == ByLanguage:
		b.WriteString("It cannot be allowed.\n\n")
	}
	source := r.Source
	if strings.HasPrefix(source, "https:") {
		source = "<" + source + ">"
	}
	fmt.Fprintf(&b, "Source: %s\n\n", source)
	return b.String()
}

// kind returns the severity as a noun phrase.
func kind(s diag.Severity) string {
	return map[diag.Severity]string{diag.Error: "An error", diag.Warning: "A warning", diag.Advice: "Advice"}[s]
}

// by returns which part of btgen applies the rule, as a verb phrase.
func (r Rule) by() string {
	return map[Finder]string{
		BySchema: "detected in the schema", ByLanguage: "enforced by the schema language", ByWriter: "enforced by the generated writer",
		BySetup: "detected by setup in a live table", ByLock: "detected when a schema changes", ByDesign: "generated code always complies",
	}[r.By]
}

// Page returns docs/reference/rules.md, which describes all rules in Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString(`# Rules

These are the rules that btgen applies to schemas, live tables and events. Errors stop code
generation, warnings are printed during code generation, and advice is printed by ` + "`btgen lint`" + `
only. A schema can [allow a rule](../explain.md#allowing-a-rule) if it gives a reason; an unused
` + "`allow`" + ` is a warning. ` + "`btgen lint --explain K01`" + ` prints the description of a rule.

| rule | severity | about |
|---|---|---|
`)
	rules := Rules()
	for _, r := range rules {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.ID, r.anchor(), r.Severity, r.Title)
	}
	for _, r := range rules {
		fmt.Fprintf(&b, "\n<a id=\"%s\"></a>\n\n%s", r.anchor(), strings.TrimSuffix(r.section(), "\n"))
	}
	return b.String()
}
