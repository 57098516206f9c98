package document

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// span is a part of a line of a drawing.
type span struct {
	text  string
	style Style // Plain, Muted, or that of a segment
}

// segmentStyles is the number of styles of segments, which repeat: segment0, segment1 and so on.
const segmentStyles = 5

// segmentStyle returns the style of the i-th segment.
func segmentStyle(i int) Style { return Style(fmt.Sprintf("segment%d", i%segmentStyles)) }

// draw draws the example: its bytes, which segment they belong to, and what each segment means. Where that does
// not fit in some columns, the segments are listed.
func (k *Key) draw(width int) [][]span {
	parts, delimiter, quote := k.parts()
	size := "  " + words.Count(float64(len(k.Example.Hex)/2), "byte", "bytes")
	bytes, braces := []span{{text: quote}}, []span{{text: strings.Repeat(" ", len(quote))}}
	var at []int // the column at which each segment begins
	column := len(quote)
	for i, part := range parts {
		if i > 0 && !k.Segments[i-1].Joined {
			bytes = append(bytes, span{delimiter, Muted})
			braces = append(braces, span{text: strings.Repeat(" ", words.Width(delimiter))})
			column += words.Width(delimiter)
		}
		at = append(at, column)
		column += words.Width(part)
		bytes = append(bytes, span{part, segmentStyle(i)})
		braces = append(braces, span{brace(words.Width(part)), segmentStyle(i)})
	}
	if column+len(quote)+words.Width(size) > width {
		return append(lines(k.Example.Show+size, Plain, width), k.list(width)...)
	}
	out := [][]span{append(bytes, span{text: quote}, span{size, Muted}), braces}
	if rungs := k.rungs(at, width); rungs != nil {
		return append(out, rungs...)
	}
	return append(out, k.list(width)...)
}

// rungs returns what each segment means on a line below its beginning, the last segment first; nil if that does
// not fit.
func (k *Key) rungs(at []int, width int) [][]span {
	var out [][]span
	for i := len(at) - 1; i >= 0; i-- {
		rung := ""
		for _, begin := range at[:i] {
			rung = pad(rung, begin) + "│"
		}
		text := k.Segments[i].Means
		if at[i]+words.Width(text) > width {
			return nil
		}
		out = append(out, []span{{pad(rung, at[i]), Muted}, {text, segmentStyle(i)}})
	}
	return out
}

// list returns what each segment means.
func (k *Key) list(width int) [][]span {
	var out [][]span
	for i := range k.Segments {
		out = append(out, lines(k.Segments[i].Means, segmentStyle(i), width)...)
	}
	return out
}

// lines returns a text in lines.
func lines(text string, style Style, width int) [][]span {
	var out [][]span
	for _, line := range wrap(text, width) {
		out = append(out, []span{{strings.TrimRight(line, " "), style}})
	}
	return out
}

// parts returns the segments of the example and the delimiter as they are shown: quoted, where one of them must be.
func (k *Key) parts() (parts []string, delimiter, quote string) {
	inner := func(s string) string { return s }
	if strings.HasPrefix(k.Example.Show, `"`) {
		quote = `"`
		inner = func(s string) string { return strings.TrimSuffix(strings.TrimPrefix(strconv.Quote(s), `"`), `"`) }
	}
	for _, s := range k.Segments {
		bytes, _ := hex.DecodeString(s.Example.Hex) // of bytesOf
		parts = append(parts, inner(string(bytes)))
	}
	return parts, inner(k.Delimiter), quote
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
