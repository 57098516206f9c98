package report

import (
	"fmt"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/words"
)

// Markdown returns the findings as a table, for a pull request comment. Each is
// followed by its note and its hint in a collapsible block. title precedes
// them.
func Markdown(title string, found diag.List) []byte {
	var b strings.Builder
	b.WriteString("### " + title + "\n")
	if len(found) == 0 {
		return []byte(b.String())
	}
	b.WriteString("\n| class | rule | place | change |\n|---|---|---|---|\n")
	for _, d := range found {
		class := d.Class
		if class == "" {
			class = d.Severity.String()
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", class, d.Rule, markdownCode(d.Pos.String()), markdownText(d.Message))
	}
	for _, d := range found {
		if d.Note == "" && d.Hint == "" {
			continue
		}
		fmt.Fprintf(&b, "\n<details><summary>%s %s</summary>\n\n", d.Rule, htmlText(d.Pos.String()))
		var lines []string
		for _, text := range []string{d.Note, d.Hint} {
			for line := range strings.SplitSeq(text, "\n") {
				if line != "" {
					lines = append(lines, "    "+words.Printable(line))
				}
			}
		}
		b.WriteString(strings.Join(lines, "\n") + "\n\n</details>\n")
	}
	return []byte(b.String())
}

var (
	markdownEscapes = strings.NewReplacer(`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;", "#", `\#`)
	htmlEscapes     = strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;")
)

// markdownText returns a text of one line without markup.
func markdownText(s string) string { return markdownEscapes.Replace(words.Printable(s)) }

func htmlText(s string) string { return htmlEscapes.Replace(words.Printable(s)) }

// markdownCode returns a text as code in a table.
func markdownCode(s string) string {
	if s == "" {
		return ""
	}
	return "`" + strings.NewReplacer("`", "'", "|", `\|`).Replace(words.Printable(s)) + "`"
}
