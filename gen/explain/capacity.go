package explain

import (
	"fmt"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/capacity"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// capacityRow is a line of what a schema needs.
type capacityRow struct{ What, Value, Means string }

// capacityRows describes the load and the storage of a schema.
func capacityRows(p *capacity.Plan) []capacityRow {
	rows := []capacityRow{{"writes", words.Count(p.Writes.Rows, "row", "rows") + "/s", writesMeans(p)}}
	if len(p.Reads) == 0 {
		rows = append(rows, capacityRow{"reads", "none", "not declared, as in expect: {reads: {Read: 50/s}}"})
	}
	for i := range p.Reads {
		r := &p.Reads[i]
		rows = append(rows, capacityRow{r.Method, words.Count(r.Rate, "call", "calls") + "/s", readMeans(r)})
	}
	if s := p.Summaries; s != nil {
		rows = append(rows, capacityRow{"summaries", words.Count(s.Rows, "row", "rows") + "/s", "read and written once when their buckets have ended: up to " + words.Size(s.Bytes) + "/s; each search for them walks over all rows: up to " + words.Size(s.Walked) + " after a year, " + searchMeans(s) + " of an SSD node"})
	}
	rows = append(rows, capacityRow{"requests", words.Count(p.WritesADay+p.ReadsADay, "request", "requests") + " a day", requestsMeans(p)})
	for _, s := range p.Storage {
		rows = append(rows, capacityRow{"storage", words.Sizes(s.Bytes.Lower, s.Bytes.Upper), storageMeans(&s)})
	}
	return rows
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
	text += " of " + words.Count(r.Series, "series", "series")
	if r.SeriesAssumed {
		text += " (assumed)"
	}
	return text + ", in " + words.Count(r.Seeks, "row range", "row ranges") + ": up to " + words.Size(r.Bytes) + " a call"
}

// requestsMeans splits the requests of a day.
func requestsMeans(p *capacity.Plan) string {
	return words.Count(p.WritesADay, "row mutation", "row mutations") + " and " + words.Count(p.ReadsADay, "read", "reads") + ", on average"
}

// storageMeans says when this much is stored.
func storageMeans(s *capacity.Stored) string {
	if s.Steady {
		return "steady state, from " + s.After + " on; the upper bound includes a week until garbage collection" + coldWords(s)
	}
	return "after " + s.After + coldWords(s)
}

// nodeHead and nodeRow are the table of the nodes of each storage type.
func nodeHead(p *capacity.Plan) []string {
	head := []string{""}
	for _, limit := range p.Nodes[0].Limits {
		head = append(head, limit.Name)
	}
	head = append(head, "low latency", "throughput", "bound by")
	if priced(p) {
		head = append(head, "a month")
	}
	return head
}

func nodeRow(p *capacity.Plan, c *capacity.Cluster) []string {
	row := []string{c.Type}
	for _, limit := range c.Limits {
		row = append(row, words.Number(limit.Nodes))
	}
	binds := c.Binds
	if binds == "" {
		binds = "nothing"
	}
	row = append(row, words.Count(float64(c.LowLatency), "node", "nodes"), words.Count(float64(c.Throughput), "node", "nodes"), binds)
	switch {
	case c.MonthlyCost != nil:
		row = append(row, words.Number(*c.MonthlyCost)+savingWords(c))
	case priced(p):
		row = append(row, "–")
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
		"Bytes are before compression: each cell counts its row key, family, column name, 8-byte timestamp and value. The bounds differ in what expect does not declare with value_bytes.",
		"Nodes are based on Google's figures for rows of 1 KB under optimal conditions; larger rows count as several. The columns writes to storage show each need alone, at 60% CPU, as low latency uses at most, and 50% storage, from which on autoscaling adds nodes by default; throughput uses 90%, which autoscaling does not accept (10% to 80%), and 100%. A node has 5 TiB of SSD, or 16 TiB of HDD. Writes, reads and scans share the CPU, so they add up. A read seeks each row range once, and scans the cells that it returns and the rows that it skips.",
	}
	out = append(out, tierNotes(p)...)
	if p.Clusters > 1 {
		out = append(out, fmt.Sprintf("Each of the %d clusters needs these nodes, to serve all reads alone.", p.Clusters))
	}
	if p.LacksPrices != nil {
		out = append(out, lacksPrices("Monthly costs of "+p.Nodes[0].Type, p.LacksPrices))
	}
	if priced(p) {
		out = append(out, "Monthly costs are for low latency and the largest storage above, with the given prices of nodes and storage. Not included: network, backups and their copies, moving data between tiers, storage and CPU of views, Data Boost, and discounts of commitments.")
	}
	return out
}

// lacksPrices says which prices some costs take that are unknown.
func lacksPrices(costs string, names []string) string {
	return costs + " take " + words.Plural(len(names), "the price ", "the prices ") + words.List(names, "and") + ", too."
}

// capacityTitle introduces the needs of a schema.
func capacityTitle(s *Schema) string { return "capacity of " + s.Name }

// capacity writes what a schema needs.
func (w *textWriter) capacity(s *Schema) {
	w.line("")
	w.line("%s", w.in(bold, capacityTitle(s)))
	g := w.grid()
	for _, row := range capacityRows(&s.Capacity) {
		g.add(cell{text: row.What}, cell{text: row.Value}, cell{text: row.Means, paint: dim})
	}
	g.write(&w.b, "    ")
	w.line("")
	g = w.grid()
	g.right = []bool{false, true, true, true, true, true, true, false, true}
	var head []cell
	for _, name := range nodeHead(&s.Capacity) {
		head = append(head, cell{text: name, paint: dim})
	}
	g.add(head...)
	for i := range s.Capacity.Nodes {
		var row []cell
		for _, text := range nodeRow(&s.Capacity, &s.Capacity.Nodes[i]) {
			row = append(row, cell{text: text})
		}
		g.add(row...)
	}
	g.write(&w.b, "    ")
	for _, note := range capacityNotes(&s.Capacity) {
		w.wrapped("    ", plain, note)
	}
	w.line("    %s", w.in(dim, capacity.Source))
}

// capacity writes what a schema needs.
func (w *markdownWriter) capacity(s *Schema) {
	w.line("")
	w.heading(2, s.anchor("capacity"), "Capacity of "+markdown(s.Name))
	var rows [][]string
	for _, row := range capacityRows(&s.Capacity) {
		rows = append(rows, []string{markdown(row.What), markdown(row.Value), markdown(row.Means)})
	}
	w.table([]string{"", "", ""}, rows)
	rows = nil
	for i := range s.Capacity.Nodes {
		row := nodeRow(&s.Capacity, &s.Capacity.Nodes[i])
		for i := range row {
			row[i] = markdown(row[i])
		}
		rows = append(rows, row)
	}
	w.table(nodeHead(&s.Capacity), rows)
	w.paragraph(strings.Join(capacityNotes(&s.Capacity), " "))
	w.line("\n[Bigtable documentation](%s)", capacity.Source)
}
