package explain

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
)

// This file compares what a year of the load takes in storage in each pattern.

// oneYear is the age at which the storage of designs is compared.
const oneYear = 365 * 24 * time.Hour

// Year is what a year of the load takes in storage.
type Year struct {
	Stored Range `json:"stored"` // after a year, before compression
	// Compressed is between what Zstandard and Snappy make of it; nil if that was not measured.
	Compressed *Between `json:"compressed,omitempty"`
	// Month is what a month of it costs, in all clusters: of the compressed bytes if they are
	// known. It is nil without prices.
	Month *Between `json:"month,omitempty"`
	// LacksPrices are the names of prices that Month takes and that are unknown; nil if all are.
	LacksPrices []string `json:"lacks_prices,omitempty"`
	// Cold is the share in the infrequent access tier, from 0 to 1.
	Cold float64 `json:"infrequent_access,omitempty"`
}

// Between is the bounds of a number.
type Between struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// yearOf returns what a table takes.
func yearOf(t *layout.Table, e *estimate.Estimate) *Year {
	stored := e.StoredAfter(oneYear)
	out := &Year{Stored: Range(stored)}
	if after, moves := t.Tier.After(); moves && stored.Typical > 0 {
		warm := e.StoredAfter(after)
		out.Cold = max(0, 1-warm.Typical/stored.Typical)
	}
	return out
}

// compress sets the compressed bytes, if an event takes as much as was measured.
func (y *Year) compress(event *Range, m *Compressed) {
	y.Compressed = &Between{y.Stored.Lower / event.Lower * min(m.Zstd, m.Snappy), y.Stored.Upper / event.Upper * max(m.Zstd, m.Snappy)}
}

// price sets what a month costs, if the prices are known.
func (y *Year) price(prices capacity.Prices, clusters int64) {
	of := Between{y.Stored.Lower, y.Stored.Upper}
	if y.Compressed != nil {
		of = *y.Compressed
	}
	lower, lacks := prices.StorageMonth(of.Lower*(1-y.Cold), of.Lower*y.Cold)
	upper, _ := prices.StorageMonth(of.Upper*(1-y.Cold), of.Upper*y.Cold)
	switch {
	case len(lacks) == 0:
		y.Month = &Between{lower * float64(clusters), upper * float64(clusters)}
	case len(prices) > 0:
		y.LacksPrices = lacks
	}
}

// middle is about what a year takes, to compare designs that are all measured, or all not.
func (y *Year) middle() float64 {
	if y.Compressed != nil {
		return (y.Compressed.Lower + y.Compressed.Upper) / 2
	}
	return y.Stored.Typical
}

// yearTitle introduces the storage of a year.
const yearTitle = "storage of a year of the same load, least first"

// yearChoices returns the table and its other patterns, as far as they are possible: those with the
// smallest storage first.
func yearChoices(t *Table) []*Choice {
	var out []*Choice
	for i := range t.Choices {
		c := &t.Choices[i]
		if c.Year != nil && (c.Chosen || c.Pattern != t.Choices[0].Pattern) && (t.Compression == nil || c.Year.Compressed != nil) {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b *Choice) int { return cmp.Compare(a.Year.middle(), b.Year.middle()) })
	return out
}

// yearHead and yearRow are the table of the storage of a year.
func yearHead(t *Table) []string {
	head := []string{"", "after a year", "compressed"}
	if t.Choices[0].Year != nil && t.Choices[0].Year.Month != nil {
		head = append(head, "a month then costs")
	}
	return head
}

func yearRow(c *Choice) []string {
	y := c.Year
	row := []string{choiceName(c), words.Sizes(y.Stored.Lower, y.Stored.Upper), "–"}
	if y.Compressed != nil {
		row[2] = words.Sizes(y.Compressed.Lower, y.Compressed.Upper)
	}
	if y.Month != nil {
		row = append(row, words.Number(y.Month.Lower)+"–"+words.Number(y.Month.Upper))
	}
	return row
}

// yearNote says what the figures mean.
func yearNote(s *Schema, t *Table) string {
	note := "Bigtable bills the bytes that it stores, compressed, but its codec is not public. "
	if y := t.Choices[0].Year; y != nil && y.LacksPrices != nil {
		note += lacksPrices("Costs of a month", y.LacksPrices) + " "
	}
	if t.Compression == nil {
		if y := t.Choices[0].Year; y != nil && y.Month != nil {
			note += "Costs are for the bytes before compression. "
		}
		return note + "Events of a live table say what they take compressed: write the output of btgen-live stats " + s.Name + " --sample 1000 --format json to a file, and name it with --measured."
	}
	return note + "Compressed is a range between Zstandard and Snappy, measured in blocks of " + strconv.Itoa(t.Compression.BlockBytes>>10) + " KiB with " +
		words.Count(float64(t.Compression.Events), "event", "events") + " of the table, and scaled to the expected load."
}

// yearSource is where Bigtable's documentation says what is billed, read on 2026-11-25.
const yearSource = "https://cloud.google.com/bigtable/pricing"

// year writes what a year of the load takes in storage.
func (w *textWriter) year(s *Schema, t *Table) {
	all := yearChoices(t)
	if len(all) == 0 {
		return
	}
	w.heading(yearTitle)
	g := w.grid()
	g.right = []bool{false, true, true, true}
	var head []cell
	for _, name := range yearHead(t) {
		head = append(head, cell{text: name, paint: dim})
	}
	g.add(head...)
	for _, c := range all {
		var row []cell
		for i, text := range yearRow(c) {
			one := cell{text: text}
			if i == 0 {
				one.mark = "  "
				if c.Chosen {
					one.mark, one.paint = "► ", chosen
				}
			}
			row = append(row, one)
		}
		g.add(row...)
	}
	g.write(&w.b, "  ")
	w.wrapped("    ", plain, yearNote(s, t))
	w.line("    %s", w.in(dim, yearSource))
	w.cheaper(t)
}

// year writes what a year of the load takes in storage.
func (w *markdownWriter) year(s *Schema, t *Table) {
	all := yearChoices(t)
	if len(all) == 0 {
		return
	}
	w.section(title(yearTitle))
	var rows [][]string
	for _, c := range all {
		row := yearRow(c)
		if row[0] = code(row[0]); c.Chosen {
			row[0] = "**" + row[0] + "** (chosen)"
		}
		rows = append(rows, row)
	}
	w.table(yearHead(t), rows)
	w.line("\n%s ([Bigtable documentation](%s))", markdown(yearNote(s, t)), yearSource)
	w.cheaper(t)
}
