package schema

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/diag"
)

// source is a parsed file that preserves comments, blank lines, and the style of scalars.
type source struct {
	root     *piece
	comments []string
}

// piece is a node with its source text.
type piece struct {
	node    *node
	text    []string // lines of a scalar; those after the first without their indentation
	block   bool     // a block scalar, which begins with | or >
	header  gap      // the comment in the first line of a block scalar
	inline  bool     // a list or mapping in brackets on one line
	column  int      // of the entries of a block; 0 in brackets
	parts   []*part
	foot    []string // comments below the last part; "" is a blank line
	aligned bool     // the values of a mapping are aligned
}

// part is an entry of a mapping or an item of a list.
type part struct {
	head   []string // comments above; "" is a blank line
	name   string   // the key; empty for an item
	key    string   // source text of the key
	value  *piece
	note   string // the comment after it, on the same line
	column int    // of the note
}

// documentStart is the marker that may precede the first key.
const documentStart = "---"

// sourceReader walks a text and its nodes in parallel: between two nodes, there are only
// punctuation and comments.
type sourceReader struct {
	w        *walker
	text     string
	offset   int
	line     int   // of offset, from 1
	column   int   // of offset, in runes, from 1
	last     *part // the part that a comment on the same line is about; may be nil
	comments []string
}

// readSource parses a file. It returns nil if there are errors.
func readSource(w *walker, text []byte) *source {
	text = bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\uFEFF")), []byte("\r\n"), []byte("\n"))
	root := readYAML(w, text)
	if len(w.diags) > 0 {
		return nil
	}
	r := &sourceReader{w: w, text: string(text), line: 1, column: 1}
	above := r.gap(root.pos, "")
	p := r.piece(root, false)
	p.inline = false
	if len(p.parts) > 0 {
		p.parts[0].head = append(texts(above.lines), p.parts[0].head...)
	}
	below := r.gap(diag.Pos{}, "")
	r.note(below)
	p.foot = append(p.foot, footOf(p.settle(below.lines, 0))...)
	if len(w.diags) > 0 {
		return nil
	}
	return &source{p, r.comments}
}

// pos returns the position of the reader.
func (r *sourceReader) pos() diag.Pos {
	return diag.Pos{File: r.w.file, Line: r.line, Column: r.column}
}

// peek returns the next byte, or 0 at the end.
func (r *sourceReader) peek() byte {
	if r.offset == len(r.text) {
		return 0
	}
	return r.text[r.offset]
}

// rest returns the rest of the line.
func (r *sourceReader) rest() string {
	line, _, _ := strings.Cut(r.text[r.offset:], "\n")
	return line
}

// advance skips n bytes.
func (r *sourceReader) advance(n int) {
	for i := range n {
		c := r.text[r.offset+i]
		if utf8.RuneStart(c) {
			r.column++
		}
		if c == '\n' {
			r.line, r.column = r.line+1, 1
		}
	}
	r.offset += n
}

// gap contains the comments and blank lines between two nodes.
type gap struct {
	note   string // the comment on the line where the gap begins
	column int    // of the note
	lines  []gapLine
	first  diag.Pos // of the first comment; zero if there is none
}

// gapLine is a comment on a separate line, or a blank line, which has no text.
type gapLine struct {
	text   string
	column int
}

// texts returns the text of lines, with at most one blank line in a row.
func texts(lines []gapLine) []string {
	var out []string
	for _, l := range lines {
		if l.text != "" || len(out) == 0 || out[len(out)-1] != "" {
			out = append(out, l.text)
		}
	}
	return out
}

// footOf returns the text of lines without a trailing blank line.
func footOf(lines []gapLine) []string {
	out := texts(lines)
	if n := len(out); n > 0 && out[n-1] == "" {
		out = out[:n-1]
	}
	return out
}

// gap reads up to a position, or up to any of the bytes in until; if both are empty, to
// the end of the text.
func (r *sourceReader) gap(to diag.Pos, until string) gap {
	var g gap
	begun, bare := r.offset == 0, true // whether the line begins in the gap, and has been blank so far
	for r.offset < len(r.text) && !(r.line == to.Line && r.column == to.Column) {
		c := r.text[r.offset]
		switch {
		case strings.IndexByte(until, c) >= 0:
			return g
		case c == '\n':
			if begun && bare {
				g.lines = append(g.lines, gapLine{})
			}
			begun, bare = true, true
		case c == '#':
			r.comment(&g, begun, bare)
			bare = false
			continue
		case r.column == 1 && isMarker(r.rest(), documentStart):
			g.lines = append(g.lines, gapLine{documentStart, 1})
			bare = false
			r.advance(len(documentStart))
			continue
		case r.column == 1 && isMarker(r.rest(), "..."):
			bare = false
			r.advance(len("..."))
			continue
		case c != ' ' && c != '\t':
			r.punctuation(to.IsValid() || until != "")
			bare = false
		}
		r.advance(1)
	}
	return g
}

// punctuation reports characters that are not punctuation, or that are outside of the
// top-level mapping (within is false there).
func (r *sourceReader) punctuation(within bool) {
	switch c := r.text[r.offset]; {
	case c == '?':
		r.w.reject(r.pos(), "question-mark")
	case !within || strings.IndexByte("-:,[]{}", c) < 0:
		r.w.reject(r.pos(), "unexpected-text")
	}
}

// comment reads a comment.
func (r *sourceReader) comment(g *gap, begun, bare bool) {
	line := r.rest()
	text := strings.TrimRight(line, " \t")
	pos := r.pos()
	if !g.first.IsValid() {
		g.first = pos
	}
	switch {
	case !begun:
		g.note, g.column = text, r.column
	case bare:
		g.lines = append(g.lines, gapLine{text, r.column})
	default:
		r.w.reject(pos, "moved-comment")
	}
	r.comments = append(r.comments, text)
	r.advance(len(line))
}

// note attaches the comment at the beginning of a gap to the preceding part.
func (r *sourceReader) note(g gap) {
	switch {
	case g.note == "":
	case r.last == nil || r.last.note != "":
		r.w.reject(g.first, "moved-comment")
	default:
		r.last.note, r.last.column = g.note, g.column
	}
}

// piece reads a node, which begins at the position of the reader.
func (r *sourceReader) piece(n *node, brackets bool) *piece {
	if n.kind == scalar {
		return r.scalar(n)
	}
	p := &piece{node: n}
	begin := r.line
	open := r.peek() == '[' || r.peek() == '{'
	switch {
	case open:
		r.advance(1)
	case !brackets:
		p.column = n.pos.Column
		r.last = nil // a comment after the first hyphen would move
	}
	for _, item := range n.items {
		r.part(p, item.pos, nil, item, open || brackets)
	}
	for _, e := range n.entries {
		r.part(p, e.key.pos, e.key, e.value, open || brackets)
	}
	if open {
		r.close(p)
	}
	p.inline = p.column == 0 && r.line == begin
	return p
}

// close reads up to the closing bracket.
func (r *sourceReader) close(p *piece) {
	end := r.gap(diag.Pos{}, "]}")
	r.note(end)
	p.foot = footOf(end.lines)
	if len(p.parts) == 0 && len(p.foot) > 0 {
		r.w.reject(end.first, "moved-comment")
	}
	if r.offset < len(r.text) {
		r.advance(1)
	}
}

// part reads an item, or a key and its value, and adds it to p.
func (r *sourceReader) part(p *piece, begin diag.Pos, key, value *node, brackets bool) {
	above := r.gap(begin, "")
	r.note(above)
	if len(p.parts) > 0 && p.column > 0 {
		above.lines = p.parts[len(p.parts)-1].value.settle(above.lines, p.column)
	}
	entry := &part{head: texts(above.lines)}
	p.parts = append(p.parts, entry)
	var between gap
	if key != nil {
		entry.name, entry.key = key.text, strings.Join(r.scalar(key).text, "\n")
		r.last = entry
		between = r.gap(value.pos, "")
		r.note(between)
	} else {
		r.last = nil
	}
	entry.value = r.piece(value, brackets)
	r.finish(entry, between)
}

// finish attaches the comments between key and value to a part.
func (r *sourceReader) finish(entry *part, between gap) {
	value := entry.value
	switch {
	case value.node.kind == scalar && value.block:
		r.last = entry
		r.note(value.header)
	case value.node.kind == scalar || value.inline:
		r.last = entry
	case value.column == 0:
		r.last = nil // a comment after the last bracket would move
	}
	switch {
	case !between.first.IsValid():
	case value.node.kind == scalar || value.inline || len(value.parts) == 0:
		r.w.reject(between.first, "moved-comment")
	default:
		value.parts[0].head = append(texts(between.lines), value.parts[0].head...)
	}
}

// settle attaches comments that are indented deeper than column to the blocks within p
// that have their indentation, and returns the others.
func (p *piece) settle(lines []gapLine, column int) []gapLine {
	deepest := MaxFile
	for i := 0; i < len(lines); {
		if lines[i].text == "" {
			i++
			continue
		}
		deepest = min(deepest, lines[i].column)
		block := p.blockAt(column+1, deepest)
		if block == nil {
			break
		}
		block.foot = append(block.foot, texts(lines[:i+1])...)
		lines, i = lines[i+1:], 0
	}
	return lines
}

// blockAt returns the innermost block at the end of p whose column is from from to to,
// inclusive, or nil.
func (p *piece) blockAt(from, to int) *piece {
	var found *piece
	for q := p; len(q.parts) > 0 && q.column > 0 && q.column <= to; q = q.parts[len(q.parts)-1].value {
		if q.column >= from {
			found = q
		}
	}
	return found
}
