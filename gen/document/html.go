package document

import (
	_ "embed"
	"fmt"
	"html"
	"html/template"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

//go:embed page.css
var pageStyle string

// PageStyle returns the style of [Document.HTML] and [Document.Body], as CSS.
func PageStyle() string { return pageStyle }

// HTML renders a document as a self-contained file with pictures, in the reader's light
// or dark mode.
func (d *Document) HTML() []byte {
	return words.LogHTML([]byte(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>` + html.EscapeString(d.Title) + `</title>
<style>
` + pageStyle + `</style>
</head>
<body>
` + string(d.Body()) + `</body>
</html>
`))
}

// Body renders a document as the contents of the body of [Document.HTML], for pages that show more beside it. They
// need [PageStyle].
func (d *Document) Body() template.HTML {
	var w htmlWriter
	if d.contents() {
		w.write(`<nav class="contents">`)
		w.contents(d.Sections)
		w.write("</nav>\n")
	}
	d.walk(&w)
	return template.HTML(w.b.String())
}

// htmlWriter writes HTML.
type htmlWriter struct{ b strings.Builder }

// write writes HTML; the arguments are texts and numbers.
func (w *htmlWriter) write(format string, args ...any) {
	for i, arg := range args {
		args[i] = html.EscapeString(fmt.Sprint(arg))
	}
	fmt.Fprintf(&w.b, format, args...)
}

// contents lists sections with links.
func (w *htmlWriter) contents(all []*Section) {
	w.write("<ul>")
	for _, s := range all {
		if s.Name != "" {
			w.write(`<li><a href="#%v">%v</a>`, s.ID, s.Name)
			if len(s.Sections) > 0 && s.Sections[0].Name != "" {
				w.contents(s.Sections)
			}
			w.write("</li>\n")
		}
	}
	w.write("</ul>")
}

// open begins an element in a style.
func (w *htmlWriter) open(tag string, style Style) {
	if w.b.WriteString("<" + tag); style != Plain {
		w.write(` class="%v"`, style)
	}
	w.b.WriteString(">")
}

func (w *htmlWriter) begin(s *Section, level int) {
	style := Plain
	if s.Beside {
		style = "beside"
	}
	w.open("section", style)
	w.write("\n<h%[1]v id=\"%[2]v\">%[3]v</h%[1]v>\n", level, s.ID, title(s.Title))
}

func (w *htmlWriter) end(*Section) { w.write("</section>\n") }

func (w *htmlWriter) paragraph(p *Paragraph) {
	w.open("p", p.Style)
	if w.write("%v", p.Text); p.Source != "" {
		w.write(` <a href="%v">%v</a>`, p.Source, sourceName)
	}
	w.write("</p>\n")
}

func (w *htmlWriter) table(t *Table) {
	w.write(`<div class="scroll"><table>`)
	if t.headed() {
		w.write("<thead><tr>")
		for _, c := range t.Columns {
			w.open("th", c.Style)
			w.write("%v</th>", c.Name)
		}
		w.write("</tr></thead>")
	}
	w.write("<tbody>\n")
	for _, r := range t.shown() {
		w.open("tr", r.Style)
		last := len(r.Cells) - 1
		for i, text := range r.Cells {
			if span := len(t.Columns) - last; i == last && span > 1 {
				w.write(`<td colspan="%v">`, span)
			} else {
				w.open("td", t.Columns[i].Style)
			}
			w.b.WriteString(strings.ReplaceAll(html.EscapeString(text), "\n", "<br>") + "</td>")
		}
		w.write("</tr>\n")
	}
	w.write("</tbody></table></div>\n")
}

func (w *htmlWriter) key(k *Key) {
	w.write(`<div class="scroll"><pre class="key">`)
	for _, spans := range k.draw(defaultWidth) {
		for _, s := range spans {
			w.open("span", s.style)
			w.write("%v</span>", s.text)
		}
		w.write("\n")
	}
	w.write("</pre></div>\n")
}

func (w *htmlWriter) code(lines []string) { w.write("<pre>%v\n</pre>\n", strings.Join(lines, "\n")) }

func (w *htmlWriter) pictures(_ *Section, p *Pictures) {
	w.write("<p class=\"muted\">%v</p>\n<div class=\"panels\">\n", p.Note)
	for i := range p.All {
		w.picture(&p.All[i])
	}
	w.write("</div>\n")
}

func (w *htmlWriter) picture(p *Picture) {
	w.open("figure", "panel "+p.Style)
	w.write("<figcaption><b>%v</b>", p.Title)
	for _, line := range p.Caption {
		w.write(`<br>%v`, line)
	}
	w.write("</figcaption>\n<svg width=\"%[1]v\" height=\"%[2]v\" viewBox=\"0 0 %[1]v %[2]v\" role=\"img\"><title>%[3]v</title>\n", p.Width, p.Height, p.Title)
	w.b.WriteString(p.SVG + "</svg></figure>\n")
}
