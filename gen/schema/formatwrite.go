package schema

import (
	"strings"
	"unicode/utf8"
)

// sourceWriter formats pieces.
type sourceWriter struct {
	strings.Builder
	line int // offset of the current line
}

// write returns the formatted file.
func (p *piece) write() []byte {
	var w sourceWriter
	w.parts(p, 0, false)
	return []byte(w.String())
}

// indent writes spaces.
func (w *sourceWriter) indent(indent int) { w.WriteString(strings.Repeat(" ", indent)) }

// end ends the line with an optional comment, in the given column if that is free.
func (w *sourceWriter) end(note string, column int) {
	if note != "" {
		width := utf8.RuneCountInString(w.String()[w.line:])
		w.indent(max(column-1-width, 1))
		w.WriteString(note)
	}
	w.WriteString("\n")
	w.line = w.Len()
}

// comments writes lines of comments.
func (w *sourceWriter) comments(lines []string, indent int) {
	for _, line := range lines {
		if line != "" {
			w.indent(indent)
			w.WriteString(line)
		}
		w.end("", 0)
	}
}

// parts writes a block. begun says that its first line already has a hyphen.
func (w *sourceWriter) parts(p *piece, indent int, begun bool) {
	if len(p.parts) == 0 {
		w.WriteString(p.flow())
		w.end("", 0)
	}
	widths := p.widths()
	for i, part := range p.parts {
		head := part.head
		if i == 0 {
			head = trimBlank(head)
		}
		w.comments(head, indent)
		if !begun || i > 0 {
			w.indent(indent)
		}
		w.part(part, indent, widths[i])
	}
	w.comments(p.foot, indent)
}

// part writes an entry. width is that of the key with its colon and padding.
func (w *sourceWriter) part(p *part, indent, width int) {
	value := p.value
	isBlock := value.node.kind != scalar && !value.inline && len(value.parts) > 0
	switch {
	case p.key == "" && isBlock:
		w.WriteString("- ")
		w.parts(value, indent+2, true)
		return
	case p.key == "":
		w.WriteString("- ")
	case isBlock:
		w.WriteString(p.key + ":")
		w.end(p.note, p.column)
		w.parts(value, indent+2, false)
		return
	default:
		w.WriteString(p.key + ":")
		w.indent(1 + width - utf8.RuneCountInString(p.key) - 1)
	}
	if value.node.kind != scalar {
		w.WriteString(value.flow())
		w.end(p.note, p.column)
		return
	}
	w.scalar(p, indent)
}

// scalar writes the value of a part, and ends the line. The comment is on the first line of
// a block scalar, and on the last line of any other.
func (w *sourceWriter) scalar(p *part, indent int) {
	noted := len(p.value.text) - 1
	if p.value.block {
		noted = 0
	}
	for i, line := range p.value.text {
		if i > 0 && line != "" {
			w.indent(indent + 2)
		}
		w.WriteString(line)
		if i == noted {
			w.end(p.note, p.column)
		} else {
			w.end("", 0)
		}
	}
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
