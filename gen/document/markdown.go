package document

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// Markdown renders a document as GitHub Flavored Markdown. It refers to the files of [Document.Pictures], whose names
// begin with prefix; without one, there are no pictures.
func (d *Document) Markdown(prefix string) string {
	w := markdownWriter{anchors: map[string]string{}, taken: map[string]bool{}, prefix: prefix}
	d.walk(&w)
	body := w.b.String()
	if d.contents() {
		w.b.Reset()
		w.line("**Contents**\n")
		w.contents(d.Sections, "")
		w.line("")
		return w.b.String() + body
	}
	return body
}

// markdownWriter writes Markdown.
type markdownWriter struct {
	b       strings.Builder
	anchors map[string]string // of the headings, by the IDs of sections
	taken   map[string]bool   // anchors of all headings
	prefix  string            // of the names of pictures
}

// line writes a line.
func (w *markdownWriter) line(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }

func (w *markdownWriter) begin(s *Section, level int) {
	text := markdown(title(s.Title))
	anchor := slug(text)
	for n, first := 1, anchor; w.taken[anchor]; n++ {
		anchor = fmt.Sprintf("%s-%d", first, n)
	}
	w.taken[anchor], w.anchors[s.ID] = true, anchor
	if w.b.Len() > 0 {
		w.line("")
	}
	w.line("%s %s", strings.Repeat("#", level), text)
}

// slug returns the anchor that GitHub gives a heading: lowercase letters, digits, hyphens
// and underscores, with hyphens for spaces.
func slug(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// contents lists sections with links.
func (w *markdownWriter) contents(all []*Section, indent string) {
	for _, s := range all {
		if s.Name != "" {
			w.line("%s- [%s](#%s)", indent, markdown(s.Name), w.anchors[s.ID])
			w.contents(s.Sections, indent+"  ")
		}
	}
}

func (w *markdownWriter) paragraph(p *Paragraph) {
	text := opening(markdown(p.Text))
	if p.Source != "" {
		text += fmt.Sprintf(" ([%s](%s))", sourceName, p.Source)
	}
	w.line("\n%s", text)
}

// sourceName is the name of a source.
const sourceName = "Bigtable documentation"

func (w *markdownWriter) table(t *Table) {
	var head, rule []string
	for _, c := range t.Columns {
		head = append(head, markdown(c.Name))
		rule = append(rule, map[bool]string{false: "---", true: "--:"}[c.Style == Number])
	}
	w.line("\n| %s |\n|%s|", strings.Join(head, " | "), strings.Join(rule, "|"))
	for _, r := range t.shown() {
		cells := make([]string, len(t.Columns))
		for i, text := range r.Cells {
			var lines []string
			for line := range strings.SplitSeq(text, "\n") {
				if t.Columns[i].Style == Code {
					lines = append(lines, code(line))
				} else {
					lines = append(lines, markdown(line))
				}
			}
			cells[i] = strings.Join(lines, "<br>")
		}
		if r.Style == Chosen {
			cells[0] = "**" + cells[0] + "** (chosen)"
		}
		w.line("| %s |", strings.Join(cells, " | "))
	}
}

func (w *markdownWriter) key(k *Key) {
	lines := make([]string, 0, 8)
	for _, spans := range k.draw(defaultWidth) {
		line := ""
		for _, s := range spans {
			line += s.text
		}
		lines = append(lines, line)
	}
	w.block("", lines)
}

func (w *markdownWriter) code(lines []string) { w.block("yaml", lines) }

// block writes lines as a code block in a language.
func (w *markdownWriter) block(language string, lines []string) {
	text, fence := strings.Join(lines, "\n"), "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	w.line("\n%s%s\n%s\n%s", fence, language, text, fence)
}

func (w *markdownWriter) pictures(s *Section, p *Pictures) {
	if w.prefix != "" {
		of := url.URL{Path: pictureName(w.prefix, s)}
		link := strings.NewReplacer("(", "%28", ")", "%29").Replace(of.EscapedPath())
		w.line("\n![%s](%s)\n\n%s", markdown(title(s.Title)), link, markdown(p.Note))
	}
}

func (*markdownWriter) end(*Section) {}

// special are the characters that may have a meaning within a line of Markdown.
const special = "\\`*[]<>|&~$!"

// markdown escapes a text.
func markdown(text string) string {
	var b strings.Builder
	runes := []rune(text)
	inWord := func(i int) bool {
		return i >= 0 && i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))
	}
	for i, r := range runes {
		// An underscore within a word has no meaning.
		if strings.ContainsRune(special, r) || r == '_' && !(inWord(i-1) && inWord(i+1)) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// openings have a meaning at the start of a paragraph.
var openings = regexp.MustCompile(`^([#+=:-]|[0-9]+[.)])`)

// opening escapes the start of a paragraph.
func opening(text string) string {
	return openings.ReplaceAllStringFunc(text, func(s string) string { return s[:len(s)-1] + `\` + s[len(s)-1:] })
}

// code writes a text as code, in a table too.
func code(text string) string {
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || strings.Trim(text, " ") == "" {
		text = " " + text + " "
	}
	return fence + strings.ReplaceAll(text, "|", `\|`) + fence
}
