package explain

import (
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// events writes the example events, with as many of their fields as fit.
func (w *textWriter) events(t *Table) {
	w.heading("example events")
	for fields := shownFields; fields > 0; fields-- {
		g := w.grid()
		var head []cell
		for _, name := range eventHead(t, fields) {
			head = append(head, cell{text: name, paint: dim})
		}
		g.add(head...)
		for i := range t.Events {
			var row []cell
			for _, text := range eventRow(t, &t.Events[i], fields) {
				row = append(row, cell{text: elide(text, longKey)})
			}
			g.add(row...)
		}
		if fields == 1 || g.fits("    ") {
			g.write(&w.b, "    ")
			return
		}
	}
}

// rows writes the example rows: the cells next to the keys or, if they do not fit, below them.
func (w *textWriter) rows(t *Table) {
	if len(t.Rows) == 0 {
		w.heading("example rows")
		w.line("    none: the table cannot store the time of the example")
		return
	}
	w.events(t)
	w.heading("example rows")
	g := w.rowGrid(t, true, true)
	if !g.fits("    ") {
		g = w.rowGrid(t, false, true)
	}
	if !g.fits("    ") {
		g = w.rowGrid(t, false, false)
	}
	g.write(&w.b, "    ")
	if t.Rollup != nil {
		w.wrapped("    ", plain, t.Rollup.Names)
	}
}

// rowGrid contains the example rows: the cells next to the keys or below them, and the meaning
// of each next to its value or below it.
func (w *textWriter) rowGrid(t *Table, beside, oneLine bool) *grid {
	g := w.grid()
	if beside {
		g.add(cell{text: "row key", paint: dim}, cell{text: "column", paint: dim}, cell{text: "timestamp", paint: dim}, cell{text: "value", paint: dim})
	}
	for i := range min(len(t.Rows), shownRows) {
		row := &t.Rows[i]
		if !beside {
			g.add(cell{text: row.Key.Show, spans: true})
		}
		g.cells(row, beside, oneLine)
	}
	if n := len(t.Rows) - shownRows; n > 0 {
		g.add(cell{text: furtherRows(n), paint: dim, spans: true})
	}
	return &g
}

// cells adds the cells of a row.
func (g *grid) cells(row *Row, beside, oneLine bool) {
	key, column := "", ""
	if beside {
		key = row.Key.Show
	}
	for i := range row.Cells {
		c := &row.Cells[i]
		name := c.Family + ":" + c.Qualifier.Show
		shown := name
		if name == column {
			shown = "" // one more cell of the column
		}
		column = name
		value, means := cellTexts(c)
		line := []cell{{text: key}, {text: shown}, {text: c.Timestamp, paint: dim}, {text: value}}
		switch {
		case means == "":
			g.add(line...)
		case oneLine:
			g.add(append(line, cell{text: means, paint: dim})...)
		default:
			g.add(line...)
			g.add(cell{}, cell{}, cell{}, cell{text: means, paint: dim})
		}
		key = ""
	}
}

// How many columns of a key are shown where it is one of several things in a line, and
// how many bytes of a value.
const (
	longKey   = 48
	longValue = 32
)

// cellTexts returns the value of a cell and what it means, where that says more.
func cellTexts(c *Stored) (value, means string) {
	value, means = c.Value.Show, c.Means
	switch {
	case c.Value.Hex == "":
		return "(empty)", means
	case strings.HasSuffix(means, " "+value):
		return value, ""
	case words.Width(value) > 2*longValue:
		value = string([]rune(value)[:2*longValue]) + "…"
	}
	return value, means
}

// families writes what the timestamps of cells are, and below each other which cells
// are garbage-collected and which are read.
func (w *textWriter) families(t *Table) {
	w.heading("time to live")
	g := w.grid()
	for _, f := range t.Families {
		name := "family " + f.Name
		if f.Class != "" {
			name += ", class " + f.Class
		}
		g.add(cell{text: name}, cell{text: "cell timestamp", paint: dim}, cell{text: f.Timestamp})
		g.add(cell{}, cell{text: "garbage-collected", paint: dim}, cell{text: f.Collected + ": " + f.GC})
		g.add(cell{}, cell{text: "reads request", paint: dim}, cell{text: f.Read})
	}
	g.write(&w.b, "    ")
	w.wrapped("    ", plain, collectionNote)
}

// collectionNote says when garbage collection happens.
const collectionNote = "Garbage collection can take up to a week. Until then, reads filter expired cells out."
