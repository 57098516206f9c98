package schema

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// outLine is a line of a formatted file. A comment after it keeps its column, if that is free.
type outLine struct {
	text, note string
	column     int
}

// write returns the formatted file.
func (p *piece) write() []byte {
	var out strings.Builder
	for _, l := range p.lines() {
		if l.note != "" {
			l.text += strings.Repeat(" ", max(l.column-1-utf8.RuneCountInString(l.text), 1)) + l.note
		}
		out.WriteString(l.text + "\n")
	}
	return []byte(out.String())
}

// comments returns lines of comments.
func comments(texts []string) []outLine {
	var out []outLine
	for _, text := range texts {
		out = append(out, outLine{text: text})
	}
	return out
}

// below returns lines that are indented by two spaces.
func below(lines []outLine) []outLine {
	for i := range lines {
		if lines[i].text != "" {
			lines[i].text = "  " + lines[i].text
		}
	}
	return lines
}

// lines returns the lines of a block.
func (p *piece) lines() []outLine {
	if len(p.parts) == 0 {
		return append([]outLine{{text: p.flow()}}, comments(p.foot)...)
	}
	var out []outLine
	for i, width := range p.widths() {
		head := p.parts[i].head
		if i == 0 {
			head = trimBlank(head)
		}
		out = append(append(out, comments(head)...), p.parts[i].lines(width)...)
	}
	return append(out, comments(p.foot)...)
}

// lines returns the lines of an entry. width is that of the key with its colon and padding.
func (p *part) lines(width int) []outLine {
	v, begin := p.value, "- "
	if p.key != "" {
		begin = fmt.Sprintf("%-*s ", width, p.key+":")
	}
	var out []outLine
	switch isBlock := v.node.kind != scalar && !v.inline && len(v.parts) > 0; {
	case isBlock && p.key == "":
		out = below(v.lines())
		out[0].text = begin + out[0].text[len(begin):]
		return out
	case isBlock:
		return append([]outLine{{p.key + ":", p.note, p.column}}, below(v.lines())...)
	case v.node.kind == scalar:
		out = append([]outLine{{text: begin + v.text[0]}}, below(comments(v.text[1:]))...)
	default:
		out = []outLine{{text: begin + v.flow()}}
	}
	noted := &out[len(out)-1]
	if v.block {
		noted = &out[0]
	}
	noted.note, noted.column = p.note, p.column
	return out
}

// flow returns p in flow style, which has brackets.
func (p *piece) flow() string {
	if p.node.kind == scalar {
		return strings.Join(p.text, "\n")
	}
	var parts []string
	for _, part := range p.parts {
		text := part.value.flow()
		if part.key != "" {
			text = part.key + ": " + text
		}
		parts = append(parts, text)
	}
	if p.node.kind == list {
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// isLine reports whether the part takes a single line.
func (p *part) isLine() bool {
	if p.value.node.kind == scalar {
		return len(p.value.text) == 1 && !p.value.block
	}
	return p.value.inline || len(p.value.parts) == 0
}

// widths returns the width of each key with its colon and padding, in characters.
// Consecutive parts of a single line have the same width if p is aligned.
func (p *piece) widths() []int {
	widths := make([]int, len(p.parts))
	begin := 0
	for i, part := range p.parts {
		widths[i] = utf8.RuneCountInString(part.key) + 1
		if !p.aligned || !part.isLine() || len(part.head) > 0 || i > 0 && !p.parts[i-1].isLine() {
			begin = i
		}
		widest := max(widths[begin], widths[i])
		for j := begin; j <= i && widths[j] != widest; j++ {
			widths[j] = widest
		}
		widths[i] = widest
	}
	return widths
}
