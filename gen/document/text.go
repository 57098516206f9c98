package document

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/words"
)

// TextOptions say how [Document.Text] renders. The zero value is for files: plain and 100
// columns wide.
type TextOptions struct {
	Color bool // whether to color the text, for a terminal
	// Width is the number of columns, such as those of the terminal. 0 means 100;
	// widths below 60 count as 60.
	Width int
}

// The default and the least number of columns.
const (
	defaultWidth = 100
	leastWidth   = 60
)

// Text renders a document in aligned lines, without pictures. No line is wider than the width, except for
// addresses of web pages and lines to paste.
func (d *Document) Text(o TextOptions) string {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	w := textWriter{colored: o.Color, width: max(o.Width, leastWidth)}
	d.walk(&w)
	return w.b.String()
}

// textWriter writes text.
type textWriter struct {
	colored bool
	width   int // of a line, in columns
	b       strings.Builder
	indent  string
	tabled  bool // the last part was a table
}

// paints are the colors and weights of styles, as ANSI escape codes.
var paints = map[Style]string{
	"title": "1", Muted: "2", Time: "2", Chosen: "1;32", Refused: "31", Warning: "33",
	"segment0": "36", "segment1": "32", "segment2": "33", "segment3": "35", "segment4": "34",
}

// paint writes a text in a style.
func (w *textWriter) paint(style Style, text string) string {
	if paint := paints[style]; w.colored && paint != "" && text != "" {
		return "\x1b[" + paint + "m" + text + "\x1b[0m"
	}
	return text
}

// line writes a line.
func (w *textWriter) line(text string) { w.b.WriteString(strings.TrimRight(w.indent+text, " ") + "\n") }

// wrapped writes a text in lines.
func (w *textWriter) wrapped(style Style, text string) {
	for _, line := range wrap(text, w.width-words.Width(w.indent)) {
		w.line(w.paint(style, strings.TrimRight(line, " ")))
	}
}

func (w *textWriter) begin(s *Section, level int) {
	if w.b.Len() > 0 {
		w.b.WriteString("\n")
	}
	w.indent = []string{"", "", "  "}[level-1]
	w.wrapped("title", s.Title)
	w.indent, w.tabled = []string{"  ", "  ", "    "}[level-1], false
}

func (w *textWriter) paragraph(p *Paragraph) {
	w.tabled = false
	w.wrapped(p.Style, p.Text)
	if p.Source != "" {
		w.line(w.paint(Muted, p.Source))
	}
}

func (w *textWriter) table(t *Table) {
	if w.tabled {
		w.line("")
	}
	w.tabled = true
	g := w.gridOf(t)
	g.write(w)
}

func (w *textWriter) key(k *Key) {
	for _, spans := range k.draw(w.width - words.Width(w.indent)) {
		line := ""
		for _, s := range spans {
			line += w.paint(s.style, s.text)
		}
		w.line(line)
	}
}

func (w *textWriter) code(lines []string) {
	for _, line := range lines {
		w.line("  " + line)
	}
}

func (*textWriter) pictures(*Section, *Pictures) {}
func (*textWriter) end(*Section)                 {}

// wrap breaks a text into lines between words. A word that is wider than a line, such as a row
// key, is broken after punctuation and, if a part is still too wide, anywhere; all spaces are
// kept.
func wrap(text string, width int) []string {
	var out []string
	line := ""
	add := func(part string) {
		if line != "" && words.Width(strings.TrimRight(line+part, " ")) > width {
			if strings.TrimLeft(line, " ") != "" {
				out = append(out, line)
			}
			line = ""
		}
		for words.Width(strings.TrimRight(part, " ")) > width {
			head := fitting(part, width)
			out = append(out, head)
			part = part[len(head):]
		}
		line += part
	}
	for _, word := range strings.SplitAfter(text, " ") {
		if words.Width(strings.TrimRight(word, " ")) <= width {
			add(word)
			continue
		}
		for _, part := range parts(word) {
			add(part)
		}
	}
	return append(out, line)
}

// parts splits a word after punctuation.
func parts(word string) []string {
	var out []string
	begin := 0
	for i, r := range word {
		if strings.ContainsRune("_-/.,:;#|~+", r) {
			out = append(out, word[begin:i+1])
			begin = i + 1
		}
	}
	return append(out, word[begin:])
}

// widestPart returns the width of the widest part of a text that wrap does not need to break.
func widestPart(text string) int {
	widest := 0
	for _, word := range strings.Fields(text) {
		for _, part := range parts(word) {
			widest = max(widest, words.Width(part))
		}
	}
	return widest
}

// fitting returns as much of the beginning of a text as fits, and at least one
// character.
func fitting(text string, width int) string {
	end := 0
	for i, r := range text {
		if end = i + utf8.RuneLen(r); i > 0 && words.Width(text[:end]) > width {
			return text[:i]
		}
	}
	return text
}

// pad adds spaces to a text, up to some columns.
func pad(text string, to int) string {
	return fmt.Sprintf("%s%*s", text, max(0, to-words.Width(text)), "")
}
