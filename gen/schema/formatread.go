package schema

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/diag"
)

// source is a file with all that its nodes do not have: comments, blank lines,
// and how scalars are written.
type source struct {
	root     *piece
	comments []string
}

// piece is a node as it is written.
type piece struct {
	node    *node
	text    []string // of a scalar: its lines, without the indentation of those after the first
	block   bool     // a scalar of the kind | or >
	header  gap      // the comment in its first line
	inline  bool     // a list or mapping in brackets, on one line
	column  int      // of the entries of a block; 0 in brackets
	parts   []*part
	foot    []string // comments below the last part; an empty line is a blank one
	aligned bool     // the values of a mapping stand in a column
}

// part is an entry of a mapping or an item of a list.
type part struct {
	head   []string // comments above; an empty line is a blank one
	name   string   // the key; empty for an item
	key    string   // the same, as it is written
	value  *piece
	note   string // the comment behind it
	column int    // of the note
}

// documentStart is the marker that may stand above the first key.
const documentStart = "---"

// sourceReader walks through a text and through its nodes at the same time: what
// stands between two nodes is punctuation and comments.
type sourceReader struct {
	w        *walker
	text     string
	offset   int
	line     int   // of offset, from 1
	column   int   // of offset, in runes, from 1
	last     *part // what a comment in the same line is about; nil if there is none
	comments []string
}

// readSource reads a file, or reports why it cannot.
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

// pos returns the place where the reader is.
func (r *sourceReader) pos() diag.Pos {
	return diag.Pos{File: r.w.file, Line: r.line, Column: r.column}
}

// refuse reports what cannot be formatted.
func (r *sourceReader) refuse(pos diag.Pos, message, hint string) {
	r.w.errorf(pos, "%s", message).Hint = hint
}

// peek returns the next byte; 0 at the end.
func (r *sourceReader) peek() byte {
	if r.offset == len(r.text) {
		return 0
	}
	return r.text[r.offset]
}

// rest returns the text from here to the end of the line.
func (r *sourceReader) rest() string {
	line, _, _ := strings.Cut(r.text[r.offset:], "\n")
	return line
}

// advance goes on by n bytes.
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

// gap is what stands between two nodes.
type gap struct {
	note   string // a comment in the line where it begins
	column int    // of the note
	lines  []gapLine
	first  diag.Pos // of the first comment, if there is one
}

// gapLine is a comment in a line of its own, or a blank line.
type gapLine struct {
	text   string
	column int
}

// texts returns the lines without their columns.
func texts(lines []gapLine) []string {
	var out []string
	for _, l := range lines {
		if l.text != "" || len(out) == 0 || out[len(out)-1] != "" {
			out = append(out, l.text)
		}
	}
	return out
}

// footOf returns what stands at the end of a block, without blank lines there.
func footOf(lines []gapLine) []string {
	out := texts(lines)
	if n := len(out); n > 0 && out[n-1] == "" {
		out = out[:n-1]
	}
	return out
}

// gap reads on to a place, or to the first of some bytes; without either, to the
// end of the text.
func (r *sourceReader) gap(to diag.Pos, until string) gap {
	var g gap
	begun, bare := r.offset == 0, true // whether the line begins in the gap, and is blank so far
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

// punctuation refuses what is none, or is where there should be none any more.
func (r *sourceReader) punctuation(within bool) {
	switch c := r.text[r.offset]; {
	case c == '?':
		r.refuse(r.pos(), "keys after a question mark are not formatted", "write the key before a colon")
	case !within || strings.IndexByte("-:,[]{}", c) < 0:
		r.refuse(r.pos(), "text that belongs to nothing", "remove it")
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
		r.refuseComment(pos)
	}
	r.comments = append(r.comments, text)
	r.advance(len(line))
}

func (r *sourceReader) refuseComment(pos diag.Pos) {
	r.refuse(pos, "a comment in this place would move", "write it in a line of its own, above what it is about")
}

// note gives the comment at the beginning of a gap to the part before it.
func (r *sourceReader) note(g gap) {
	switch {
	case g.note == "":
	case r.last == nil || r.last.note != "":
		r.refuseComment(g.first)
	default:
		r.last.note, r.last.column = g.note, g.column
	}
}

// piece reads a node; the reader is where it begins.
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
		r.last = nil // a comment behind the first hyphen would move
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

// close reads what follows the last part in brackets.
func (r *sourceReader) close(p *piece) {
	end := r.gap(diag.Pos{}, "]}")
	r.note(end)
	p.foot = footOf(end.lines)
	if len(p.parts) == 0 && len(p.foot) > 0 {
		r.refuseComment(end.first)
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

// finish gives a part the comments between its key and its value.
func (r *sourceReader) finish(entry *part, between gap) {
	value := entry.value
	switch {
	case value.node.kind == scalar && value.block:
		r.last = entry
		r.note(value.header)
	case value.node.kind == scalar || value.inline:
		r.last = entry
	case value.column == 0:
		r.last = nil // a comment behind the last bracket would move
	}
	switch {
	case !between.first.IsValid():
	case value.node.kind == scalar || value.inline || len(value.parts) == 0:
		r.refuseComment(between.first)
	default:
		value.parts[0].head = append(texts(between.lines), value.parts[0].head...)
	}
}

// settle gives comments that are indented deeper than the column to the blocks
// within p that they are indented like, and returns the others.
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

// blockAt returns the innermost block at the end of p that stands between two
// columns, or nil.
func (p *piece) blockAt(from, to int) *piece {
	var found *piece
	for q := p; len(q.parts) > 0 && q.column > 0 && q.column <= to; q = q.parts[len(q.parts)-1].value {
		if q.column >= from {
			found = q
		}
	}
	return found
}
