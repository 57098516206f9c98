package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// benchCase describes how a case of the benchmarks is shown.
type benchCase struct {
	benchmark string // without its path
	title     string
	lines     []tableLine
	// sampled is the factor by which fewer events are written by hand; 0 for the same number.
	sampled int
}

// tableLine is one implementation of a case by generated code.
type tableLine struct {
	call   string // of the generated code
	suffix string // of its paths
	target string // of the ratio
}

// bothWays returns the lines of a case that is read as columns and as events.
func bothWays(columns, events, columnsTarget, eventsTarget string) []tableLine {
	return []tableLine{{columns, "-columns", columnsTarget}, {events, "-events", eventsTarget}}
}

// patternCases are the same week in each pattern.
var patternCases = []benchCase{
	{benchmark: "Read/case=bucket_new_cells", title: "`bucket_new_cells`", lines: bothWays("ReadColumns", "Read", "≥ 18; ≤ 200 allocations, ≤ 4.5 × transport", "≥ 8")},
	{benchmark: "Read/case=bucket_new_columns", title: "`bucket_new_columns`", lines: bothWays("ReadColumns", "Read", "", "")},
	{benchmark: "Read/case=bucket_serialized", title: "`bucket_serialized`", lines: bothWays("ReadColumns", "Read", "", "")},
	{benchmark: "Read/case=bucket_offsets", title: "`bucket_offsets`, 168 rows", lines: bothWays("ReadColumns", "Read", "", "")},
	{benchmark: "Read/case=single_unserialized", title: "`single_unserialized`, 10,080 rows", lines: bothWays("ReadColumns", "Read", "≥ 2.5", "≥ 2.5")},
	{benchmark: "Read/case=single_serialized", title: "`single_serialized`, 10,080 rows", lines: bothWays("ReadColumns", "Read", "≥ 2.5", "≥ 2.5")},
}

// otherReads are parts of a row, and many series.
var otherReads = []benchCase{
	{benchmark: "Read/case=day_of_week", title: "one day of that week, `bucket_new_cells`", lines: bothWays("ReadColumns", "Read", "", "")},
	{benchmark: "Read/case=latest", title: "the newest event, `bucket_new_cells`", lines: []tableLine{{"Latest", "", ""}}},
	{benchmark: "Read/case=series_1000", title: "an hour of 1,000 series, `bucket_offsets`", lines: bothWays("ByMetricColumns", "ByMetric", "", "")},
	{benchmark: "Read/case=salts_16", title: "an hour of 160 series, 16 salts, `bucket_offsets`", lines: bothWays("ByMetricColumns", "ByMetric", "", "")},
}

// batcherSample is the factor by which fewer events are written one by one than through a
// Batcher, because all of them would take a minute.
const batcherSample = 100

// writesShown are the writes.
var writesShown = []benchCase{
	{benchmark: "Write/case=one_event", title: "one event", lines: []tableLine{{"Write", "", ""}}},
	{benchmark: "Write/case=one_row", title: "1,000 events in one row", lines: []tableLine{{"WriteAll", "", "≥ 12"}}},
	{benchmark: "Write/case=rows_1000", title: "1,000 rows with one event each", lines: []tableLine{{"WriteAll", "", "≥ 4"}}},
	{benchmark: "Write/case=batcher", title: "1,000,000 events; by hand, one at a time", lines: []tableLine{{"Batcher", "", "≥ 15"}}, sampled: batcherSample},
}

// costs are the cases in the README.
var costs = []struct{ title, benchmark, suffix string }{
	{"read a week of one-minute events", "Read/case=bucket_new_cells", "-events"},
	{"write 1,000 events to one row", "Write/case=one_row", ""},
	{"write one event", "Write/case=one_event", ""},
}

// costsOf returns the table of the README: the CPU time of generated code relative to the
// best handwritten code.
func costsOf(m *medians) string {
	var b strings.Builder
	b.WriteString("| client CPU time, `bucket_new_cells` | best by hand | generated | generated, with `ClientOptions` |\n|---|---|---|---|\n")
	for _, c := range costs {
		percent := func(path string) string {
			return count(100*m.ratio(c.benchmark+"/path="+path+c.suffix, c.benchmark+"/path=best", perEvent)) + "%"
		}
		fmt.Fprintf(&b, "| %s | 100%% | %s | **%s** |\n", c.title, percent("ordinary"), percent("wire"))
	}
	return b.String()
}

// tablesOf returns the tables of the manual.
func tablesOf(m *medians) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Medians of %d runs (%s); ratios are within a run.\n\n", m.results.runs, m.results.machine)
	ratios(&b, m, "reading a week of one-minute events", patternCases)
	ratios(&b, m, "other reads", otherReads)
	ratios(&b, m, "writing, `bucket_new_cells`", writesShown)
	windows(&b, m)
	scale(&b, m)
	return b.String()
}

// The benchmarks of windows.
const (
	windowColumns = "Windows/read=columns"
	windowHours   = "Windows/read=windows"
	windowParts   = "WindowsInParts"
	speedup       = "speedup"
	speedupApart  = "speedup-apart"
)

// windows writes what windows cost.
func windows(b *strings.Builder, m *medians) {
	b.WriteString("| windows | ratio |\n|---|---|\n")
	fmt.Fprintf(b, "| hours of a week of one-minute events, CPU time to that of `ReadColumns` | %.2f |\n", m.ratio(windowHours, windowColumns, perEvent))
	fmt.Fprintf(b, "| 1,000 series, speed on two cores to one; two separate queries | %.1f; %.1f |\n\n", m.get(windowParts, speedup), m.get(windowParts, speedupApart))
}

// ratios writes how much less CPU time cases take than the best by hand, their allocations,
// and their ratio to the transport of the bytes.
func ratios(b *strings.Builder, m *medians, title string, cases []benchCase) {
	fmt.Fprintf(b, "| %s | call | common | generated | with `ClientOptions` | target | allocations by hand | with `ClientOptions` | × transport |\n", title)
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range cases {
		best := c.benchmark + "/path=best"
		name, common := c.title, ratio(m.ratio(best, c.benchmark+"/path=common", perEvent))
		for _, l := range c.lines {
			wire := c.benchmark + "/path=wire" + l.suffix
			fmt.Fprintf(b, "| %s | `%s` | %s | %s | **%s** | %s | %s | %s | %s |\n",
				name, l.call, common,
				ratio(m.ratio(best, c.benchmark+"/path=ordinary"+l.suffix, perEvent)), ratio(m.ratio(best, wire, perEvent)), l.target,
				count(m.get(best, allocs)*float64(max(1, c.sampled))), count(m.get(wire, allocs)),
				ratio(m.ratio(wire, c.benchmark+"/path=transport", perEvent)))
			name, common = "", ""
		}
	}
	b.WriteString("\n")
}

// week is the time that a row of a balloon holds.
const week = 7 * 24 * time.Hour

// spans are the time ranges whose cost is compared, from part of a row to a row for each week of a year: their names in the
// benchmark and for people.
var spans = []struct {
	name, title string
	span        time.Duration
}{
	{"1d", "1 day", 24 * time.Hour}, {"1w", "1 week", week}, {"4w", "4 weeks", 4 * week}, {"13w", "13 weeks", 13 * week}, {"52w", "52 weeks", 52 * week},
}

// scale writes how the cost of a cell depends on the time range.
func scale(b *strings.Builder, m *medians) {
	b.WriteString("| ns per cell, `bucket_new_cells` | best by hand | `ReadColumns` | `Read` | memory held by `Read` |\n|---|---|---|---|---|\n")
	for _, s := range spans {
		name := "Scale/span=" + s.name + "/path="
		fmt.Fprintf(b, "| %s | %s | %s | %s | %.1f MB |\n", s.title,
			count(m.get(name+"best", perCell)), count(m.get(name+"wire-columns", perCell)), count(m.get(name+"wire-events", perCell)),
			m.get(name+"wire-events", heldMB))
	}
}

// ratio writes a ratio with two digits.
func ratio(r float64) string {
	if r < 9.95 {
		return strconv.FormatFloat(r, 'f', 1, 64)
	}
	return count(r)
}

// count writes a number without a fraction, with commas between thousands.
func count(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
