package explain

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/words"
)

// TextOptions say how [Text] renders. The zero value is for files: plain and 100
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

// Text renders a document in aligned lines. No line is wider than the width, except for
// addresses of web pages.
func Text(doc Document, o TextOptions) string {
	if o.Width == 0 {
		o.Width = defaultWidth
	}
	w := textWriter{style: style{o.Color}, width: max(o.Width, leastWidth)}
	for i, s := range doc.Schemas {
		if i > 0 {
			w.line("")
		}
		w.schema(&s)
	}
	return w.b.String()
}

// textWriter writes text.
type textWriter struct {
	style
	width int // of a line, in columns
	b     strings.Builder
}

// line writes a line.
func (w *textWriter) line(format string, args ...any) {
	w.b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
}

// wrapped writes a paragraph with an indent.
func (w *textWriter) wrapped(indent string, p paint, text string) {
	for _, line := range wrap(text, w.width-words.Width(indent)) {
		w.line("%s", indent+w.in(p, strings.TrimRight(line, " ")))
	}
}

// grid returns an empty grid as wide as the text.
func (w *textWriter) grid() grid { return grid{style: w.style, width: w.width} }

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

// elide shortens a text in the middle to some columns.
func elide(text string, to int) string {
	if words.Width(text) <= to {
		return text
	}
	head := fitting(text, to/2)
	tail := []rune(text[len(head):])
	tail = tail[max(0, len(tail)-to):]
	for len(tail) > 1 && words.Width(head+"…"+string(tail)) > to {
		tail = tail[1:]
	}
	return head + "…" + string(tail)
}

// heading begins a section.
func (w *textWriter) heading(text string) {
	w.line("")
	w.wrapped("  ", bold, text)
}

// schema writes a schema.
func (w *textWriter) schema(s *Schema) {
	if file := " (" + s.File + ")"; words.Width(s.Name+file) <= w.width {
		w.line("%s%s", w.in(bold, s.Name), w.in(dim, file))
	} else {
		w.wrapped("", bold, s.Name)
		w.wrapped("  ", dim, s.File)
	}
	if s.Doc != "" {
		w.wrapped("  ", plain, s.Doc)
	}
	for i := range s.Tables {
		w.table(s, &s.Tables[i])
	}
	w.line("")
	w.line("%s", w.in(bold, "reads of "+s.Name))
	for i := range s.Reads {
		w.read(&s.Reads[i])
	}
	w.capacity(s)
}

// table writes a table.
func (w *textWriter) table(s *Schema, t *Table) {
	w.line("")
	w.line("%s: %s", w.in(bold, "table "+t.ID), t.Pattern)
	if t.Doc != "" {
		w.wrapped("  ", plain, t.Doc)
	}
	w.wrapped("  ", plain, t.Holds)
	if t.WriteOnly {
		w.wrapped("  ", plain, writeOnlyNote)
	}
	if t.Tier != nil {
		w.wrapped("  ", plain, t.Tier.Means)
	}
	if t.Bundle != nil {
		w.wrapped("  ", plain, t.Bundle.Means)
	}
	if t.Rollup != nil {
		w.wrapped("  ", plain, t.Rollup.Means)
	}
	w.key(t)
	w.periods(t)
	w.rows(t)
	w.families(t)
	w.size(s, t)
	w.heat(t)
	w.choices(t)
	w.year(s, t)
	w.excused(t)
}

// writeOnlyNote explains serves: false.
const writeOnlyNote = "Events are written to this table but not read from it, because it has serves: false."

// key draws the row key, with a line for each of its segments.
func (w *textWriter) key(t *Table) {
	w.heading("row key")
	w.wrapped("    ", plain, t.Key.Form)
	if t.Key.Example.Hex != "" {
		w.example(t)
	}
	if text := splitWords(t.Key.Splits); text != "" {
		w.wrapped("    ", dim, text)
	}
	if t.Key.SQL != nil {
		w.wrapped("    ", dim, "columns in GoogleSQL: "+strings.Join(t.Key.SQL, ", "))
	}
}

// splitWords says at which keys a new table is split; nothing if it is not.
func splitWords(splits []Bytes) string {
	switch n := len(splits); {
	case n == 0:
		return ""
	case n > 5:
		return fmt.Sprintf("a new table is split at %d keys, from %s to %s", n, elide(splits[0].Show, longKey/2), elide(splits[n-1].Show, longKey/2))
	}
	var keys []string
	for _, s := range splits {
		keys = append(keys, elide(s.Show, longKey))
	}
	return "a new table is split at " + strings.Join(keys, ", ")
}

// example draws an example key: its bytes, which segment they belong to, and what each
// segment means. Where that does not fit, the segments are listed.
func (w *textWriter) example(t *Table) {
	parts, delimiter, quote := shownParts(t)
	size := "  " + words.Count(float64(len(t.Key.Example.Hex)/2), "byte", "bytes")
	shorten(parts, w.width-6-words.Width(size)-words.Width(delimiter)*len(parts))
	key, braces := quote, strings.Repeat(" ", len(quote))
	var at []int // the column at which each segment begins
	for i, part := range parts {
		if i > 0 && !t.Key.Segments[i-1].Joined {
			key += w.in(dim, delimiter)
			braces = pad(braces, words.Width(braces)+words.Width(delimiter))
		}
		at = append(at, words.Width(braces))
		key += w.in(segmentPaint(i), part)
		braces += brace(words.Width(part))
	}
	if words.Width(braces)+words.Width(quote)+words.Width(size)+4 > w.width {
		w.wrapped("    ", plain, t.Key.Example.Show+size)
		w.segments(t)
		return
	}
	w.line("    %s%s%s", key, quote, w.in(dim, size))
	w.line("    %s", w.braces(braces, at))
	if !w.ladder(t, at) {
		w.segments(t)
	}
}

// braces paints the braces of the segments, which begin at some columns.
func (w *textWriter) braces(text string, at []int) string {
	runes, out := []rune(text), ""
	for i, begin := range at {
		end := len(runes)
		if i+1 < len(at) {
			end = at[i+1]
		}
		if i == 0 {
			out = string(runes[:begin])
		}
		out += w.in(segmentPaint(i), string(runes[begin:end]))
	}
	return out
}

// ladder writes what each segment means on a line below its beginning, the last segment
// first; false and nothing if that does not fit.
func (w *textWriter) ladder(t *Table, at []int) bool {
	for i, begin := range at {
		if 4+begin+words.Width(segmentText(t.Key.Segments[i])) > w.width {
			return false
		}
	}
	for i := len(at) - 1; i >= 0; i-- {
		rung := ""
		for _, begin := range at[:i] {
			rung = pad(rung, begin) + "│"
		}
		w.line("    %s%s", w.in(dim, pad(rung, at[i])), w.in(segmentPaint(i), segmentText(t.Key.Segments[i])))
	}
	return true
}

// segments lists what each segment means.
func (w *textWriter) segments(t *Table) {
	for i, s := range t.Key.Segments {
		w.wrapped("    ", segmentPaint(i), segmentText(s))
	}
}

// shorten elides the longest of the segments of a key until all of them fit in some
// columns, or are as short as they can be.
func shorten(parts []string, width int) {
	for most := width; most > 8 && words.Width(strings.Join(parts, "")) > width; most-- {
		for i, part := range parts {
			parts[i] = elide(part, most)
		}
	}
}

// segmentText says what a segment is.
func segmentText(s Segment) string {
	text := s.Means
	if s.Kind == "series" || s.Kind == "const" || s.Kind == "metric" {
		text = s.Name + ": " + s.Means
	}
	if s.Doc != "" {
		text += " (" + s.Doc + ")"
	}
	return text
}

// brace marks some columns.
func brace(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return "┴"
	}
	return "└" + strings.Repeat("─", n-2) + "┘"
}

// shownParts returns the segments of the example key and the delimiter as they are
// shown: quoted, where one of them must be.
func shownParts(t *Table) (parts []string, delimiter, quote string) {
	inner := func(s string) string { return s }
	if strings.HasPrefix(t.Key.Example.Show, `"`) {
		quote = `"`
		inner = func(s string) string { return strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(s), `"`), `"`) }
	}
	for _, s := range t.Key.Segments {
		parts = append(parts, inner(s.Example.raw()))
	}
	return parts, inner(t.Key.Delimiter), quote
}

// raw returns the bytes.
func (b Bytes) raw() string {
	out, _ := hex.DecodeString(b.Hex) // of bytesOf
	return string(out)
}

// excused lists the findings that the schema allows.
func (w *textWriter) excused(t *Table) {
	if len(t.Excused) == 0 {
		return
	}
	w.heading("allowed findings")
	g := w.grid()
	for _, e := range t.Excused {
		g.add(cell{text: e.Rule, paint: warned}, cell{text: e.Title}, cell{text: "reason: " + e.Reason, paint: dim})
	}
	g.write(&w.b, "    ")
}
