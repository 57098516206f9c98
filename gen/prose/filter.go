package prose

import (
	"fmt"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Filter says what a filter of a read returns: a line for each filter of a chain.
func Filter(f scan.Filter) []string {
	switch f := f.(type) {
	case scan.Chain:
		var out []string
		for _, f := range f {
			out = append(out, Filter(f)...)
		}
		return out
	case scan.Columns:
		return []string{"columns " + columnsWords(f)}
	case scan.ColumnRange:
		return []string{columnRange(f)}
	case scan.CellsPerColumn:
		return []string{"the newest remaining cell of each column"}
	case scan.CellsPerRow:
		return []string{"one cell per row"}
	case scan.StripValues:
		return []string{"without values"}
	case scan.ValueRanges:
		return []string{"values in the given range"}
	case scan.Condition:
		return append([]string{"rows that have " + conditionWords(f.If)}, Filter(f.Then)...)
	case scan.Interleave: // a cell is in one of them
		var out []string
		for _, f := range f {
			out = append(out, strings.Join(Filter(f), ", "))
		}
		return []string{strings.Join(out, "; or ")}
	case scan.Keys:
		var out []string
		for _, form := range f {
			out = append(out, keyWords(form))
		}
		return []string{"row keys of the form " + strings.Join(out, "; or ")}
	case scan.Cells:
		return []string{familyWords(f)}
	}
	return nil
}

// conditionWords says in words which rows meet a condition on a column.
func conditionWords(f scan.Filter) string {
	switch f := f.(type) {
	case scan.Interleave:
		var all []string
		for _, f := range f {
			all = append(all, conditionWords(f))
		}
		return strings.Join(all, ", or ")
	case scan.Condition:
		return "no cell in " + conditionWords(f.If)
	case scan.ColumnRange:
		return "column " + sample.ShowKey(f.Begin)
	case scan.Chain: // of a column or several
		text := conditionWords(f[0])
		for _, f := range f[1:] {
			if values, ok := f.(scan.ValueRanges); ok {
				text += " with " + Filter(values)[0]
			}
		}
		return text
	}
	return strings.Join(Filter(f), ", ")
}

// columnsWords lists the names of columns.
func columnsWords(columns []string) string {
	var names []string
	for _, name := range columns {
		names = append(names, sample.ShowKey(name))
	}
	return strings.Join(names, ", ")
}

// keyWords shows the form of row keys.
func keyWords(form codec.KeyPieces) string {
	text := ""
	for _, piece := range form {
		text += pieceWords(piece)
	}
	return text
}

// pieceWords shows a piece of row keys.
func pieceWords(p codec.KeyPiece) string {
	switch {
	case p.Any && p.Width == 0:
		return "{anything}"
	case p.Any:
		return "{" + words.Count(float64(p.Width), "byte", "bytes") + "}"
	case p.Number && p.High == "":
		return "{" + p.Text + " and more}"
	case p.Other:
		p.Other = false
		return "{" + strings.Trim(pieceWords(p), "{}") + ", or another length}"
	case p.High != "":
		return "{" + sample.ShowKey(p.Text) + " to " + sample.ShowKey(p.High) + "}"
	}
	return sample.ShowKey(p.Text)
}

// familyWords says which cells of some families are asked for.
func familyWords(g scan.Cells) string {
	text := "family " + g.Families[0]
	if len(g.Families) > 1 {
		text = "families " + strings.Join(g.Families, ", ")
	}
	var windows []string
	for _, w := range g.Windows {
		windows = append(windows, windowWords(w))
	}
	if windows == nil {
		return text + ", all cells"
	}
	return text + ", " + strings.Join(windows, "; and ")
}

// windowWords says which cells a window has.
func windowWords(w codec.Window) string {
	var parts []string
	if w.Versions > 0 {
		parts = append(parts, fmt.Sprintf("of the newest %d cells per column", w.Versions))
	}
	at := func(us int64) string {
		return strings.TrimSuffix(time.UnixMicro(us).UTC().Format(time.RFC3339Nano), "T00:00:00Z")
	}
	switch {
	case w.From > 0 && w.To > 0:
		parts = append(parts, "timestamps from "+at(w.From)+" to "+at(w.To))
	case w.From > 0:
		parts = append(parts, "timestamps from "+at(w.From))
	case w.To > 0:
		parts = append(parts, "timestamps to "+at(w.To))
	default:
		parts = append(parts, "any timestamp")
	}
	return strings.Join(parts, " those with ")
}

// columnRange says which columns are in a range of names.
func columnRange(r scan.ColumnRange) string {
	text := "columns"
	if r.Begin != "" {
		text += fmt.Sprintf(" from 0x%x", r.Begin)
	}
	if r.End != "" {
		text += fmt.Sprintf(" to 0x%x", r.End)
	}
	return text
}
