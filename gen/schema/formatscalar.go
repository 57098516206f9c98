package schema

import "strings"

// scalar reads the source text of a scalar.
func (r *sourceReader) scalar(n *node) *piece {
	p := &piece{node: n}
	switch c := r.peek(); {
	case !n.plain && (c == '"' || c == '\''):
		p.text = r.quoted(c)
	case !n.plain:
		p.block = true
		indicator := r.header(p)
		p.text = append([]string{indicator}, r.blockLines(n.text, strings.Contains(indicator, "+"))...)
	default:
		p.text = r.plain(n.text)
	}
	return p
}

// quoted reads a scalar in quotes.
func (r *sourceReader) quoted(quote byte) []string {
	text := r.text[r.offset:]
	i := 1
	for ; i < len(text); i++ {
		switch {
		case quote == '"' && text[i] == '\\':
			i++
		case text[i] != quote:
		case quote == '\'' && strings.HasPrefix(text[i:], "''"):
			i++
		default:
			r.advance(i + 1)
			lines := strings.Split(text[:i+1], "\n")
			for i, line := range lines[1:] {
				lines[1+i] = strings.TrimLeft(line, " \t")
			}
			return lines
		}
	}
	r.advance(len(text)) // unreachable: the YAML library has found the closing quote
	return []string{text}
}

// plain reads a scalar without quotes. Its end depends on the context, so plain reads until
// it has found all of value.
func (r *sourceReader) plain(value string) []string {
	var lines []string
	for {
		if strings.HasPrefix(r.text[r.offset:], value) {
			r.advance(len(value))
			return append(lines, value)
		}
		line := strings.TrimRight(r.rest(), " \t")
		if !strings.HasPrefix(value, line) || r.offset+len(r.rest()) == len(r.text) {
			r.w.reject(r.pos(), "unformattable-string")
			return append(lines, value)
		}
		lines = append(lines, line)
		value = value[len(line):]
		r.advance(len(line))
		breaks := r.breaks()
		if breaks > 1 {
			lines = append(lines, make([]string, breaks-1)...)
			value = strings.TrimPrefix(value, strings.Repeat("\n", breaks-1))
		} else {
			value = strings.TrimPrefix(value, " ")
		}
	}
}

// breaks skips white space, and returns the number of line breaks in it.
func (r *sourceReader) breaks() int {
	n := 0
	for r.offset < len(r.text) && strings.IndexByte(" \t\n", r.text[r.offset]) >= 0 {
		if r.text[r.offset] == '\n' {
			n++
		}
		r.advance(1)
	}
	return n
}

// header reads the first line of a block scalar, and returns it without the comment.
func (r *sourceReader) header(p *piece) string {
	pos := r.pos()
	indicator, _, _ := strings.Cut(r.rest(), "#")
	if r.advance(len(indicator)); r.peek() == '#' {
		r.comment(&p.header, false, false)
	}
	if strings.ContainsAny(indicator, "123456789") {
		r.w.reject(pos, "indentation-number")
	}
	return strings.TrimRight(indicator, " \t")
}

// blockLines reads the lines of a block scalar, without their indentation. Trailing blank
// lines are part of it only if keep is set.
func (r *sourceReader) blockLines(value string, keep bool) []string {
	var lines, blank []string
	indent, empty := -1, strings.Trim(value, "\n") == ""
	end, blankEnd := r.offset, r.offset
	for next := r.offset; next+1 < len(r.text); {
		line, _, _ := strings.Cut(r.text[next+1:], "\n")
		next += 1 + len(line)
		width := len(line) - len(strings.TrimLeft(line, " "))
		if width == len(line) {
			blank, blankEnd = append(blank, line), next
			continue
		}
		if indent < 0 {
			indent = width
		}
		if empty || width < indent {
			break
		}
		lines, blank = append(append(lines, blank...), line), nil
		end, blankEnd = next, next
	}
	if keep {
		lines, end = append(lines, blank...), blankEnd
	}
	for i, line := range lines {
		lines[i] = line[min(max(indent, 0), len(line)):]
	}
	r.advance(end - r.offset)
	return lines
}
