package format

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// tableFormat is for people.
var tableFormat = Format{
	Name: "table", Title: "aligned columns", Extensions: []string{".txt"},
	NewWriter: func(out io.Writer, _ *layout.Layout, columns []Column, o WriterOptions) Writer {
		return newTextWriter(out, NewTable(columns, o), o)
	},
}

const (
	measured  = 500 // maximum number of events that determine how wide columns are
	narrowest = 8   // width to which columns of strings are reduced, if necessary
	gap       = 2   // between two columns
)

// Table is an encoder for people: it aligns the values of the columns. It shortens long
// strings if the terminal is too narrow, and leaves out the last columns if that does not
// suffice. It keeps the first 500 events until End, or until more follow.
type Table struct {
	columns []Column
	options WriterOptions
	kept    [][]string // the names of the columns, and rows
	widths  []int      // of the columns that are shown; nil until they are known
	scratch []byte
}

// NewTable returns an encoder for people.
func NewTable(columns []Column, o WriterOptions) *Table {
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].Name
	}
	return &Table{columns: columns, options: o, kept: [][]string{names}}
}

// Hidden returns the names of the columns for which the terminal is too narrow, after the
// first events were written.
func (t *Table) Hidden() []string {
	var names []string
	for i := len(t.widths); i < len(t.columns); i++ {
		names = append(names, t.columns[i].Name)
	}
	return names
}

// Begin implements [Encoder].
func (t *Table) Begin(dst []byte) []byte { return dst }

// Append implements [Encoder].
func (t *Table) Append(dst []byte, e *dynamic.Event) []byte {
	row := make([]string, len(t.columns))
	for i := range t.columns {
		c := &t.columns[i]
		t.scratch = appendText(t.scratch[:0], c.Type, c.Value(e))
		row[i] = words.Printable(string(t.scratch))
	}
	if t.widths != nil {
		return t.row(dst, row)
	}
	if t.kept = append(t.kept, row); len(t.kept) <= measured {
		return dst
	}
	return t.release(dst)
}

// End implements [Encoder].
func (t *Table) End(dst []byte) []byte {
	if t.widths != nil {
		return dst
	}
	return t.release(dst)
}

// release decides how wide columns are, and appends the header and the first events.
func (t *Table) release(dst []byte) []byte {
	var widths []int
	for i := range t.columns {
		width := 0
		for _, row := range t.kept {
			width = max(width, words.Width(row[i]))
		}
		widths = append(widths, width)
	}
	t.widths = t.fit(widths)
	for n, row := range t.kept {
		text := t.row(nil, row)
		if n == 0 && t.options.Color {
			text = slices.Concat([]byte("\x1b[1m"), text[:len(text)-1], []byte("\x1b[0m\n"))
		}
		dst = append(dst, text...)
	}
	t.kept = nil
	return dst
}

// fit reduces widths to the width of the terminal.
func (t *Table) fit(widths []int) []int {
	total := -gap
	for _, width := range widths {
		total += width + gap
	}
	over := total - t.options.Width
	for t.options.Width > 0 && over > 0 {
		widest := -1
		for i, width := range widths {
			if t.shortens(i) && width > narrowest && (widest < 0 || width > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
		over--
	}
	for t.options.Width > 0 && over > 0 && len(widths) > 1 {
		over -= widths[len(widths)-1] + gap
		widths = widths[:len(widths)-1]
	}
	return widths
}

// shortens reports whether the values of a column may be shortened: not numbers and times,
// which would be wrong.
func (t *Table) shortens(i int) bool {
	c := &t.columns[i]
	return !numeric(c.Type) && c.Type != schema.Timestamp && c.Type != schema.Duration && c.Type != schema.Bool
}

// row appends the cells of a line.
func (t *Table) row(dst []byte, cells []string) []byte {
	for i, width := range t.widths {
		text := cells[i]
		if t.options.Width > 0 && t.shortens(i) {
			text = shorten(text, width)
		}
		pad := strings.Repeat(" ", max(0, width-words.Width(text)))
		last := i+1 == len(t.widths)
		switch {
		case numeric(t.columns[i].Type):
			dst = append(append(dst, pad...), text...)
		case last:
			dst = append(dst, text...)
		default:
			dst = append(append(dst, text...), pad...)
		}
		if !last {
			dst = append(dst, strings.Repeat(" ", gap)...)
		}
	}
	return append(bytes.TrimRight(dst, " "), '\n')
}

// shorten shortens a text to a width.
func shorten(text string, width int) string {
	if words.Width(text) <= width {
		return text
	}
	runes := []rune(text)
	for len(runes) > 0 && words.Width(string(runes))+1 > width {
		runes = runes[:len(runes)-1]
	}
	return string(runes) + "…"
}
