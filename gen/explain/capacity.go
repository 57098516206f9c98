package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/document"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// capacity shows what a schema needs.
func (b *builder) capacity(of *document.Section, l *layout.Layout) {
	plan := capacity.Of(l)
	p := &plan
	p.Price(b.Prices)
	out := of.Entry("capacity", "capacity", "capacity of "+l.Name)
	table := out.Table(document.Plain.Column(""), document.Number.Column(""), document.Muted.Column(""))
	table.Row(p.Writes, "writes", count(p.Writes.Rows, "row")+"/s", writesMeans(p))
	if len(p.Reads) == 0 {
		table.Row(nil, "reads", "none", "not declared, as in expect: {reads: {Read: 50/s}}")
	}
	for i := range p.Reads {
		r := &p.Reads[i]
		table.Row(r, "calls of "+r.Method, count(r.Rate, "call")+"/s", readMeans(r))
	}
	if s := p.Summaries; s != nil {
		table.Row(s, "summaries", count(s.Rows, "row")+"/s", fmt.Sprintf("read and written once when their buckets have ended: "+
			"up to %s/s; each search for them walks over all rows: up to %s after a year, %s of an SSD node",
			words.Size(s.Bytes), words.Size(s.Walked), searchMeans(s)))
	}
	table.Row(nil, "requests", count(p.WritesADay+p.ReadsADay, "request")+" a day", requestsMeans(p))
	for _, s := range p.Storage {
		name := "storage after " + s.After
		if s.Steady {
			name = "storage, steady state"
		}
		table.Row(s, name, s.Bytes.String(), storageMeans(&s))
	}
	b.facts("", table.Rows)
	b.nodes(out, p)
	for _, note := range capacityNotes(p) {
		out.Note(note)
	}
	last := &out.Parts[len(out.Parts)-1]
	last.Paragraph.Source = capacity.Source
}

// searchMeans says how long a search for changed rows takes.
func searchMeans(s *capacity.Summaries) string {
	took := s.Search()
	if took < time.Minute {
		return "less than a minute"
	}
	return schema.FormatDuration(took.Round(time.Minute))
}

// writesMeans says how many bytes are written, and when.
func writesMeans(p *capacity.Plan) string {
	text := "up to " + words.Size(p.Writes.Bytes) + "/s, all tables, one event at a time"
	if p.Peak > 1 {
		text += ", at the peak: " + words.Number(p.Peak) + " times the average"
	}
	if p.BusiestSeries*p.Writes.Rows >= 1 && len(p.Nodes) > 0 && p.BusiestSeries > 0.01 {
		text += fmt.Sprintf("; the busiest series has %s%%", words.Number(100*p.BusiestSeries))
	}
	return text
}

// readMeans says what a call reads.
func readMeans(r *capacity.Read) string {
	text := "the newest event"
	if r.Range != "" {
		text = r.Range
	}
	if r.RangeAssumed {
		text += " (assumed)"
	}
	text += " of " + words.Number(r.Series) + " series"
	if r.SeriesAssumed {
		text += " (assumed)"
	}
	return text + ", in " + count(r.Seeks, "row range") + ": up to " + words.Size(r.Bytes) + " a call"
}

// requestsMeans splits the requests of a day.
func requestsMeans(p *capacity.Plan) string {
	return count(p.WritesADay, "row mutation") + " and " + count(p.ReadsADay, "read") + ", on average"
}

// storageMeans says how much of what is stored is in which tier, and since when its size is steady.
func storageMeans(s *capacity.Stored) string {
	if s.Steady {
		return "from " + s.After + " on; the upper bound includes a week until garbage collection" + coldWords(s)
	}
	return strings.TrimPrefix(coldWords(s), "; ")
}

// nodes shows the nodes of each storage type.
func (b *builder) nodes(of *document.Section, p *capacity.Plan) {
	head := []document.Column{{}}
	for _, limit := range p.Nodes[0].Limits {
		head = append(head, document.Number.Column(limit.Name))
	}
	head = append(head, document.Number.Column("low latency"), document.Number.Column("throughput"),
		document.Plain.Column("bound by"))
	if priced(p) {
		head = append(head, document.Number.Column("a month"))
	}
	table := of.Table(head...)
	for i := range p.Nodes {
		c := &p.Nodes[i]
		row := table.Row(c, nodeCells(c, priced(p))...)
		var parts []string
		for i, text := range row.Cells[1:] {
			parts = append(parts, head[i+1].Name+" "+text)
		}
		b.fact(c.Type+" nodes", "", strings.Join(parts, ", "))
	}
}

// nodeCells are the cells of a storage type, with its cost if there are prices.
func nodeCells(c *capacity.Cluster, priced bool) []string {
	row := []string{c.Type}
	for _, limit := range c.Limits {
		row = append(row, words.Number(limit.Nodes))
	}
	binds := c.Binds
	if binds == "" {
		binds = "nothing"
	}
	row = append(row, count(c.LowLatency, "node"), count(c.Throughput, "node"), binds)
	switch {
	case c.MonthlyCost != nil:
		row = append(row, words.Number(*c.MonthlyCost)+savingWords(c))
	case priced:
		row = append(row, none)
	}
	return row
}

// priced reports whether a storage type has a cost.
func priced(p *capacity.Plan) bool {
	for i := range p.Nodes {
		if p.Nodes[i].MonthlyCost != nil {
			return true
		}
	}
	return false
}

// capacityNotes say what the figures assume.
func capacityNotes(p *capacity.Plan) []string {
	out := []string{
		`Bytes are before compression: each cell counts its row key, family, column name, 8-byte timestamp and value. The
		bounds differ in what expect does not declare with value_bytes.`,
		`Nodes are based on Google's figures for rows of 1 KB under optimal conditions; larger rows count as several. The
		columns writes to storage show each need alone, at 60% CPU, as low latency uses at most, and 50% storage, from which
		on autoscaling adds nodes by default; throughput uses 90%, which autoscaling does not accept (10% to 80%), and 100%.
		A node has 5 TiB of SSD, or 16 TiB of HDD. Writes, reads and scans share the CPU, so they add up. A read seeks each
		row range once, and scans the cells that it returns and the rows that it skips.`,
	}
	out = append(out, tierNotes(p)...)
	if p.Clusters > 1 {
		out = append(out, fmt.Sprintf("Each of the %d clusters needs these nodes, to serve all reads alone.", p.Clusters))
	}
	if p.LacksPrices != nil {
		out = append(out, lacksPrices("Monthly costs of "+p.Nodes[0].Type, p.LacksPrices))
	}
	if priced(p) {
		out = append(out, `Monthly costs are for low latency and the largest storage above, with the given prices of
			nodes and storage. Not included: network, backups and their copies, moving data between tiers, storage and CPU of
			views, Data Boost, and discounts of commitments.`)
	}
	return out
}

// lacksPrices says which prices some costs take that are unknown.
func lacksPrices(costs string, names []string) string {
	return costs + " take " + words.Plural(len(names), "the price ", "the prices ") + words.List(names, "and") + ", too."
}
