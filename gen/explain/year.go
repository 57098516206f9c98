package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
)

// This file compares what a year of the load takes in storage in each pattern.

// oneYear is the age at which the storage of designs is compared.
const oneYear = 365 * 24 * time.Hour

// Year is what a year of the load takes in storage: the data of a row. The typical values of Compressed and Month are
// between their bounds.
type Year struct {
	Stored estimate.Bounds `json:"stored"` // after a year, before compression
	// Compressed is between what Zstandard and Snappy make of it; nil if that was not measured.
	Compressed *estimate.Bounds `json:"compressed,omitempty"`
	// Month is what a month of it costs, in all clusters: of the compressed bytes if they are
	// known. It is nil without prices.
	Month *estimate.Bounds `json:"month,omitempty"`
	// LacksPrices are the names of prices that Month takes and that are unknown; nil if all are.
	LacksPrices []string `json:"lacks_prices,omitempty"`
	// Cold is the share in the infrequent access tier, from 0 to 1.
	Cold float64 `json:"infrequent_access,omitempty"`
}

// between returns bounds with their middle as the typical value.
func between(lower, upper float64) *estimate.Bounds {
	return &estimate.Bounds{Lower: lower, Typical: (lower + upper) / 2, Upper: upper}
}

// yearOf returns what a table takes.
func yearOf(t *layout.Table, e *estimate.Estimate) Year {
	out := Year{Stored: e.StoredAfter(oneYear)}
	if after, moves := t.Tier.After(); moves && out.Stored.Typical > 0 {
		out.Cold = max(0, 1-e.StoredAfter(after).Typical/out.Stored.Typical)
	}
	return out
}

// best returns the compressed bytes or, if they are unknown, those before compression.
func (y *Year) best() *estimate.Bounds {
	if y.Compressed != nil {
		return y.Compressed
	}
	return &y.Stored
}

// price sets what a month costs, if the prices are known.
func (y *Year) price(prices capacity.Prices, clusters int64) {
	of, n := y.best(), float64(clusters)
	lower, lacks := prices.StorageMonth(of.Lower*(1-y.Cold), of.Lower*y.Cold)
	upper, _ := prices.StorageMonth(of.Upper*(1-y.Cold), of.Upper*y.Cold)
	switch {
	case len(lacks) == 0:
		y.Month = between(lower*n, upper*n)
	case len(prices) > 0:
		y.LacksPrices = lacks
	}
}

// year compares what a year of the load takes in storage in the layout of a table and with other patterns, as far as
// they are possible: those with the smallest storage first.
func (b *builder) year(of *document.Section, l *layout.Layout, t *layout.Table, all []*choice) {
	m := b.measured[t]
	for _, c := range all {
		if c.table != nil {
			c.measure(m)
			c.year.price(b.Prices, max(1, l.Expect.Clusters))
		}
	}
	some := slices.DeleteFunc(slices.Clone(all), func(c *choice) bool {
		return c.table == nil || !c.chosen && c.pattern == all[0].pattern || m != nil && c.year.Compressed == nil
	})
	if len(some) == 0 {
		return
	}
	slices.SortStableFunc(some, func(a, b *choice) int {
		return cmp.Compare(a.year.best().Typical, b.year.best().Typical)
	})
	out := of.Section("storage of a year of the same load, least first")
	costs := all[0].year.Month != nil
	table := out.Table(document.Plain.Column(""), document.Number.Column("after a year"), document.Number.Column("compressed"))
	if costs {
		table.Columns = append(table.Columns, document.Number.Column("a month then costs"))
	}
	for _, c := range some {
		row := table.Row(c.year, slices.Concat([]string{c.name()}, c.year.cells(costs))...)
		if c.chosen {
			row.Style = document.Chosen
			known := slices.DeleteFunc(slices.Clone(row.Cells[1:]), func(text string) bool { return text == none })
			b.fact("stored after a year", t.ID, strings.Join(known, ", a month then costs "))
		}
	}
	out.Cite(yearNote(l.Name, &all[0].year, m), yearSource)
}

// measure sets the compressed bytes of a choice, if they were measured.
func (c *choice) measure(m *Compression) {
	if m == nil {
		return
	}
	same := func(d Compressed) bool { return d.Pattern == c.pattern && d.Bucket == c.bucket }
	if i := slices.IndexFunc(m.Designs, same); i >= 0 {
		d, event := &m.Designs[i], &c.size.Event
		stored := &c.year.Stored
		c.year.Compressed = between(stored.Lower/event.Lower*min(d.Zstd, d.Snappy), stored.Upper/event.Upper*max(d.Zstd, d.Snappy))
	}
}

// cells shows what a year takes, with its costs if they are known.
func (y *Year) cells(costs bool) []string {
	out := []string{y.Stored.String(), none}
	if y.Compressed != nil {
		out[1] = y.Compressed.String()
	}
	if costs {
		out = append(out, words.Number(y.Month.Lower)+"–"+words.Number(y.Month.Upper))
	}
	return out
}

// yearNote says what the figures of a schema mean.
func yearNote(name string, y *Year, m *Compression) string {
	note := "Bigtable bills the bytes that it stores, compressed, but its codec is not public. "
	if y.LacksPrices != nil {
		note += lacksPrices("Costs of a month", y.LacksPrices) + " "
	}
	if m == nil {
		if y.Month != nil {
			note += "Costs are for the bytes before compression. "
		}
		return note + "Events of a live table say what they take compressed: write the output of btgen-live stats " + name +
			" --sample 1000 --format json to a file, and name it with --measured."
	}
	return note + fmt.Sprintf("Compressed is a range between Zstandard and Snappy, measured in blocks of %d KiB with %s of "+
		"the table, and scaled to the expected load.", m.BlockBytes>>10, count(m.Events, "event"))
}

// yearSource is where Bigtable's documentation says what is billed, read on 2026-11-25.
const yearSource = "https://cloud.google.com/bigtable/pricing"
