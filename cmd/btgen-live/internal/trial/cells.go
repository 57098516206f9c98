package trial

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

// cell is a cell of a row.
type cell struct {
	row, family, qualifier, value string
	micros                        int64
}

// Cells are written as
//
//	a f:x@2=new f:x@1=old | b f:x@1=other
//
// which is the row a with two cells of column f:x, then the row b. A timestamp is a number of milliseconds after the start of the
// trial, with a fraction if it is finer; one after an exclamation mark is in microseconds since 1970. Bytes that would be
// ambiguous are escaped as in Go.

// parseCells parses cells.
func parseCells(text string, base int64) (out []cell, err error) {
	for row := range strings.SplitSeq(text, "|") {
		words := strings.Fields(row)
		if len(words) == 0 {
			continue
		}
		key, err := unescape(words[0])
		if err != nil {
			return nil, err
		}
		for _, word := range words[1:] {
			c, err := parseCell(word, base)
			if err != nil {
				return nil, fmt.Errorf("cell %s: %w", word, err)
			}
			c.row = key
			out = append(out, c)
		}
	}
	return out, nil
}

// parseCell parses a cell without its row.
func parseCell(word string, base int64) (c cell, err error) {
	var rest, qualifier, at, value string
	c.family, rest, _ = strings.Cut(word, ":")
	qualifier, rest, _ = strings.Cut(rest, "@")
	at, value, _ = strings.Cut(rest, "=")
	if c.qualifier, err = unescape(qualifier); err != nil {
		return c, err
	}
	if c.value, err = unescape(value); err != nil {
		return c, err
	}
	if micros, absolute := strings.CutPrefix(at, "!"); absolute {
		c.micros, err = strconv.ParseInt(micros, 10, 64)
		return c, err
	}
	millis, err := strconv.ParseInt(at, 10, 64)
	c.micros = base + 1000*millis
	return c, err
}

// text returns the cell with its timestamp relative to base.
func (c cell) text(base int64) string {
	const near = int64(time.Hour / time.Microsecond)
	at := "!" + strconv.FormatInt(c.micros, 10)
	switch after := c.micros - base; {
	case after >= near/2 && after < 2*near:
		at = "now"
	case after > -near && after < near && after%1000 == 0:
		at = strconv.FormatInt(after/1000, 10)
	case after > -near && after < near:
		at = strconv.FormatFloat(float64(after)/1000, 'f', 3, 64)
	}
	return c.family + ":" + escape(c.qualifier) + "@" + at + "=" + escape(c.value)
}

// showCells prints cells in the order in which they came.
func showCells(cells []cell, base int64) string {
	var b strings.Builder
	for i, c := range cells {
		switch {
		case i == 0:
			b.WriteString(escape(c.row))
		case c.row != cells[i-1].row:
			b.WriteString(" | " + escape(c.row))
		}
		b.WriteString(" " + c.text(base))
		if i == maxCells {
			fmt.Fprintf(&b, " and %d more", len(cells)-i-1)
			break
		}
	}
	return cmp.Or(b.String(), "nothing")
}

// maxCells is the maximum number of cells that are printed, but for one.
const maxCells = 20

// maxShown is the maximum number of bytes that are printed of a key, a qualifier or a value.
const maxShown = 40

// escape returns bytes as Go quotes them, without what separates them from others.
func escape(s string) string {
	more := ""
	if len(s) > maxShown {
		s, more = s[:8], fmt.Sprintf("...(%d bytes)", len(s))
	}
	s = strconv.QuoteToASCII(s)
	return strings.NewReplacer(" ", `\x20`, ":", `\x3a`, "@", `\x40`, "=", `\x3d`, "|", `\x7c`).Replace(s[1:len(s)-1]) + more
}

// unescape returns the bytes of escaped text.
func unescape(s string) (string, error) { return strconv.Unquote(`"` + s + `"`) }

// rowsOf groups the cells by row, in their order.
func rowsOf(cells []cell) (out [][]cell) {
	for _, c := range cells {
		i := slices.IndexFunc(out, func(row []cell) bool { return row[0].row == c.row })
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], c)
	}
	return out
}

// assembler joins the chunks of a read to cells.
type assembler struct {
	cells  []cell
	row    []cell // not committed yet
	now    cell
	broken string // what no client could assemble; empty for nothing
}

// add adds a chunk.
func (a *assembler) add(c *bigtablepb.ReadRowsResponse_CellChunk) {
	if c.GetResetRow() {
		a.row, a.now = nil, cell{}
		return
	}
	if c.GetRowKey() != nil {
		a.now.row = string(c.GetRowKey())
	}
	if c.GetFamilyName() != nil {
		a.now.family = c.GetFamilyName().GetValue()
	}
	if c.GetQualifier() != nil {
		a.now.qualifier = string(c.GetQualifier().GetValue())
	}
	if a.now.value == "" {
		a.now.micros = c.GetTimestampMicros()
	}
	a.now.value += string(c.GetValue())
	if c.GetValueSize() > 0 { // more chunks of the cell follow
		return
	}
	if n := len(a.row); n > 0 && a.row[n-1].family != a.now.family && slices.ContainsFunc(a.row, func(c cell) bool { return c.family == a.now.family }) {
		a.broken = "the cells of family " + a.now.family + " came apart"
	}
	a.row = append(a.row, a.now)
	a.now.value = ""
	if c.GetCommitRow() {
		if len(a.cells) > 0 && a.cells[len(a.cells)-1].row == a.now.row {
			a.broken = "row " + escape(a.now.row) + " came twice"
		}
		a.cells = append(a.cells, a.row...)
		a.row, a.now = nil, cell{}
	}
}
