package schema

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/btgen-dev/btgen/gen/diag"
)

// source is a parsed file that preserves comments, blank lines, and the style of scalars.
type source struct {
	root     *piece
	comments []string
}

// piece is a node with its source text.
type piece struct {
	node       *node
	begin, end int      // offsets in the source
	text       []string // lines of a scalar; those after the first without their indentation
	block      bool     // a block scalar, which begins with | or >
	open       bool     // a list or mapping in brackets
	inline     bool     // in brackets on one line
	column     int      // of the entries of a block; 0 in brackets
	parts      []*part
	foot       []string // comments below the last part; "" is a blank line
	aligned    bool     // the values of a mapping are aligned
}

// part is an entry of a mapping or an item of a list.
type part struct {
	begin  int      // offset in the source
	head   []string // comments above; "" is a blank line
	name   string   // the key; empty for an item
	key    string   // source text of the key
	value  *piece
	note   string // the comment after it, on the same line
	column int    // of the note
}

// documentStart is the marker that may precede the first key.
const documentStart = "---"

// sourceReader finds the source text of scalars. Without them, a file is punctuation and comments in lines.
type sourceReader struct {
	w *walker
	places
	masked []byte       // the text with letters in place of scalars, also of their line breaks
	lines  []sourceLine // of masked
	next   int          // the first line whose comments have no place yet
}

// sourceLine is a line of a file. A scalar of several lines is within one.
type sourceLine struct {
	offset  int    // in the text
	bare    bool   // a comment or a marker alone, or a blank line
	comment string // empty if there is none
	pos     diag.Pos
	owner   *part // what a comment after something else is about; nil if formatting would move it
}

// readSource parses a file. It returns nil if there are errors.
func readSource(w *walker, text []byte) *source {
	text = bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\uFEFF")), []byte("\r\n"), []byte("\n"))
	root := readYAML(w, text)
	if len(w.diags) > 0 {
		return nil
	}
	r := &sourceReader{w: w, places: newPlaces(string(text)), masked: bytes.Clone(text)}
	p := r.piece(root, false)
	p.inline = false
	r.split()
	r.place(p)
	p.foot = append(p.foot, footOf(p.settle(r.above(len(r.lines)), 0))...)
	out := &source{root: p}
	for _, l := range r.lines {
		if l.comment != "" && l.comment != documentStart {
			out.comments = append(out.comments, l.comment)
		}
		switch {
		case l.bare || l.comment == "":
		case l.owner == nil:
			w.reject(l.pos, "moved-comment")
		default:
			l.owner.note = l.comment
			if before := r.text[l.offset:max(l.offset, l.owner.begin)]; strings.Trim(before, " \t-") == "" { // else, the part gets a line of its own
				l.owner.column = l.pos.Column
			}
		}
	}
	if len(w.diags) > 0 {
		return nil
	}
	return out
}

// upToBracket matches what is before a closing bracket.
var upToBracket = regexp.MustCompile(`^(?:[^]}#]|#[^\n]*)*`)

// piece finds a node in the text, and masks its scalars.
func (r *sourceReader) piece(n *node, brackets bool) *piece {
	p := &piece{node: n, begin: r.offset(n.pos.Line, n.pos.Column)}
	p.end = p.begin
	if n.kind == scalar {
		r.scalar(p)
		return p
	}
	if rest := r.text[p.begin:]; strings.HasPrefix(rest, "[") || strings.HasPrefix(rest, "{") {
		p.open, p.end = true, p.end+1
	} else if !brackets {
		p.column = n.pos.Column
	}
	for _, item := range n.items {
		value := r.piece(item, brackets || p.open)
		p.parts, p.end = append(p.parts, &part{begin: value.begin, value: value}), value.end
	}
	for _, e := range n.entries {
		key, value := r.piece(e.key, brackets), r.piece(e.value, brackets || p.open)
		p.parts = append(p.parts, &part{begin: key.begin, name: e.key.text, key: strings.Join(key.text, "\n"), value: value})
		p.end = value.end
	}
	if p.open {
		p.end += len(upToBracket.FindString(r.text[p.end:])) + 1
	}
	p.inline = p.column == 0 && !strings.Contains(r.text[p.begin:min(p.end, len(r.text))], "\n")
	return p
}

// quotedText matches a scalar in quotes at the beginning of a text.
var quotedText = regexp.MustCompile(`^(?s:"(?:[^"\\]|\\.)*"|'(?:[^']|'')*')`)

// scalar reads a scalar.
func (r *sourceReader) scalar(p *piece) {
	rest := r.text[p.begin:]
	switch quoted := quotedText.FindString(rest); {
	case p.node.plain:
		r.take(p, p.begin, plainWidth(rest, p.node.text))
		for i := range p.text {
			p.text[i] = strings.TrimRight(p.text[i], " \t")
		}
	case quoted != "":
		r.take(p, p.begin, len(quoted))
	default:
		r.blockScalar(p)
	}
}

// blockScalar reads a scalar that begins with | or > and has its text on the lines below.
func (r *sourceReader) blockScalar(p *piece) {
	first, rest, _ := strings.Cut(r.text[p.begin:], "\n")
	indicator, _, _ := strings.Cut(first, "#")
	indicator = strings.TrimRight(indicator, " \t")
	if strings.ContainsAny(indicator, "123456789") {
		r.w.reject(p.node.pos, "indentation-number")
	}
	lines, indent := blockLines(rest, strings.Trim(p.node.text, "\n") == "", strings.Contains(indicator, "+"))
	if len(lines) > 0 {
		r.take(p, p.begin+len(first), 1+len(strings.Join(lines, "\n")))
	}
	r.take(p, p.begin, len(indicator))
	p.block = true
	for _, line := range lines {
		p.text = append(p.text, line[min(indent, len(line)):])
	}
}

// take masks a part of the text, and makes its lines those of a scalar.
func (r *sourceReader) take(p *piece, from, width int) {
	p.end = max(p.end, from+width)
	copy(r.masked[from:], bytes.Repeat([]byte("x"), width))
	p.text = strings.Split(r.text[from:from+width], "\n")
	for i := range p.text[1:] {
		p.text[1+i] = strings.TrimLeft(p.text[1+i], " \t")
	}
}

// plainWidth returns how much of a text is a scalar without quotes: as much as has all words of its value.
func plainWidth(text, value string) int {
	rest := text
	for word := range strings.FieldsSeq(value) {
		rest = strings.TrimPrefix(strings.TrimLeftFunc(rest, unicode.IsSpace), word)
	}
	return len(text) - len(rest)
}

// blockLines returns the lines of a block scalar, with which a text begins, and the indentation of the first, which is
// the least. An empty scalar has only blank lines. Blank lines at the end are part of it only if keep is set.
func blockLines(text string, empty, keep bool) (lines []string, indent int) {
	filled := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if width := len(line) - len(strings.TrimLeft(line, " ")); width < len(line) {
			if filled == 0 {
				indent = width
			}
			if empty || width < indent {
				break
			}
			filled = len(lines) + 1
		}
		lines = append(lines, line)
	}
	if !keep {
		lines = lines[:filled]
	}
	return lines, indent
}

// split finds the comments and the blank lines.
func (r *sourceReader) split() {
	offset := 0
	for masked := range bytes.SplitSeq(r.masked, []byte("\n")) {
		code, _, commented := bytes.Cut(masked, []byte("#"))
		at := offset + len(code)
		l := sourceLine{offset: offset, bare: len(bytes.TrimSpace(code)) == 0, pos: r.pos(r.w.file, at)}
		if commented {
			text, _, _ := strings.Cut(r.text[at:offset+len(masked)], "\n")
			l.comment = strings.TrimRight(text, " \t")
		}
		if !commented && string(bytes.TrimRight(code, " \t")) == documentStart {
			l.bare, l.comment, l.pos.Column = true, documentStart, 1
		}
		if i := bytes.IndexByte(code, '?'); i >= 0 {
			r.w.reject(r.pos(r.w.file, offset+i), "question-mark")
		}
		r.lines = append(r.lines, l)
		offset += len(masked) + 1
	}
}

// lineOf returns the index of the line that has an offset.
func (r *sourceReader) lineOf(offset int) int {
	i, found := slices.BinarySearchFunc(r.lines, offset, func(l sourceLine, offset int) int { return l.offset - offset })
	if found {
		return i
	}
	return i - 1
}

// above returns the comments and blank lines before a line that have no place yet.
func (r *sourceReader) above(line int) []sourceLine {
	var out []sourceLine
	for ; r.next < line; r.next++ {
		if r.lines[r.next].bare {
			out = append(out, r.lines[r.next])
		}
	}
	return out
}

// texts returns the text of lines, with at most one blank line in a row.
func texts(lines []sourceLine) []string {
	var out []string
	for _, l := range lines {
		if l.comment != "" || len(out) == 0 || out[len(out)-1] != "" {
			out = append(out, l.comment)
		}
	}
	return out
}

// footOf returns the text of lines without a trailing blank line.
func footOf(lines []sourceLine) []string {
	out := texts(lines)
	if n := len(out); n > 0 && out[n-1] == "" {
		out = out[:n-1]
	}
	return out
}

// unmoved rejects comments.
func (r *sourceReader) unmoved(lines []sourceLine) {
	for _, l := range lines {
		if l.comment != "" {
			r.w.reject(l.pos, "moved-comment")
			return
		}
	}
}

// place attaches comments to the parts of a piece.
func (r *sourceReader) place(p *piece) {
	for i, of := range p.parts {
		line, at := r.lineOf(of.begin), r.lineOf(of.value.begin)
		above := r.above(line)
		if i > 0 && p.column > 0 {
			above = p.parts[i-1].value.settle(above, p.column)
		}
		if of.head = texts(above); of.key != "" {
			r.lines[line].owner = of
		}
		r.place(of.value)
		switch {
		case of.value.node.kind == scalar || of.value.inline:
			r.unmoved(r.lines[line:at])
			r.next = max(r.next, at)
			r.lines[at].owner = of
		case of.value.column == 0:
			r.lines[r.lineOf(of.value.end-1)].owner = nil // a comment after the last bracket would move
		}
	}
	if p.open {
		below := r.above(r.lineOf(p.end - 1))
		if p.foot = footOf(below); len(p.parts) == 0 {
			r.unmoved(below)
		}
	}
}

// settle attaches comments that are indented deeper than column to the blocks within p
// that have their indentation, and returns the others.
func (p *piece) settle(lines []sourceLine, column int) []sourceLine {
	deepest := MaxFile
	for i := 0; i < len(lines); {
		if lines[i].comment == "" {
			i++
			continue
		}
		deepest = min(deepest, lines[i].pos.Column)
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
