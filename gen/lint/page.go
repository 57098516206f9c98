package lint

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
)

// Markdown returns the page of a rule.
func (r Rule) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "### %s: %s\n\n", r.ID, r.Title)
	fmt.Fprintf(&b, "*%s; %s.*\n\n", kind(r.Severity), r.by())
	fmt.Fprintf(&b, "%s\n\n**What to do:** %s\n\n", r.Reason, r.Fix)
	switch {
	case r.Instead != "":
		fmt.Fprintf(&b, "To allow it, %s.\n\n", r.Instead)
	case r.Excusable():
		fmt.Fprintf(&b, "To allow it, with the %s: `allow: {%s: \"the reason\"}`\n\n", r.kind(), r.ID)
	case r.By == BySchema || r.By == ByLanguage:
		b.WriteString("It cannot be allowed.\n\n")
	}
	source := r.Source
	if strings.HasPrefix(source, "https:") {
		source = "<" + source + ">"
	}
	fmt.Fprintf(&b, "Source: %s\n", source)
	return b.String()
}

// kind says what a rule of a severity is.
func kind(s diag.Severity) string {
	return map[diag.Severity]string{diag.Error: "An error", diag.Warning: "A warning", diag.Advice: "Advice"}[s]
}

// by says who finds it.
func (r Rule) by() string {
	return map[Finder]string{
		BySchema: "found in the schema", ByLanguage: "refused by the language", ByWriter: "refused by the generated writer",
		BySetup: "found by the set-up in a live table", ByDesign: "the generated code keeps to it",
	}[r.By]
}

// Page returns a page with all rules, in Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString(`# The rules

What btgen looks for in a schema, in a live table and in an event, and why. Errors stop
the generator; warnings are shown by it; advice is shown by ` + "`btgen lint`" + `. What a schema
excuses, it excuses with a reason, next to what it is about; an excuse that nothing needs
is a warning. ` + "`btgen lint --explain K01`" + ` prints the part about a rule.

| id | | |
|---|---|---|
`)
	rules := Rules()
	for _, r := range rules {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s |\n", r.ID, anchor(r), r.Severity, r.Title)
	}
	for _, r := range rules {
		b.WriteString("\n" + r.Markdown())
	}
	return b.String()
}

// anchor is where GitHub finds the heading of a rule.
func anchor(r Rule) string {
	keep := func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == ' ':
			return c
		}
		return -1
	}
	return strings.ReplaceAll(strings.Map(keep, strings.ToLower(r.ID+": "+r.Title)), " ", "-")
}
