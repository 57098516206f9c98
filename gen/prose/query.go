package prose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/scan"
)

// Order describes the order of the query's events.
func Order(l *layout.Layout, q *layout.Query) string {
	switch {
	case q.Several() != nil:
		return orderOfMany(l, q)
	case len(q.By) == len(l.Series):
		return "in time order"
	case !q.Timed, q.Table.Endless():
		return "by series in row key order, then by time"
	case q.Table.Pattern.Bucketed():
		return "by bucket, then by series in row key order, then by time"
	}
	return "in time order"
}

// orderOfMany describes the order of the events of a query of several values.
func orderOfMany(l *layout.Layout, q *layout.Query) string {
	several := q.Several()
	switch {
	case !q.Listed(l):
		one := *q
		one.Inputs = nil
		return fmt.Sprintf("by %s in row key order, then %s", several.Of(l).Name, Order(l, &one))
	case q.Timed && q.Salts == 1 && !knows(q, several.Index) && !q.Table.Pattern.Bucketed():
		return "in time order"
	case q.Timed && q.Salts == 1 && !knows(q, several.Index):
		return "by bucket, then by series in row key order, then by time"
	}
	return "in row key order, those of a row by time"
}

// knows reports whether the known segments before the time contain a series value.
func knows(q *layout.Query, series int) bool { return q.Table.SegmentOf(series) < q.Before }

// Listing describes how the series of a query are listed.
func Listing(l *layout.Layout, q *layout.Query) string {
	skips := !slices.ContainsFunc(q.Periods(), func(q *layout.Query) bool { return !q.Contiguous() })
	if skips {
		return "It receives a few row keys per series, and skips the other rows."
	}
	return "It receives the keys of all rows in the range, and keeps one per series in memory, because segments of the series follow the time in row keys."
}

// Together says how a query of several values reads them; empty for other queries.
func Together(l *layout.Layout, q *layout.Query) string {
	several := q.Several()
	if several == nil {
		return ""
	}
	each := strings.TrimPrefix((&layout.Input{Index: several.Index, Form: several.Form}).Words(l), "a ")
	if q.Listed(l) {
		return fmt.Sprintf(", for each %s, in one request", each)
	}
	return fmt.Sprintf(", for each %s, one after the other", each)
}

// Selects describes which events a query selects, as in "of the series with the given region, whose
// level is in the given range, whose end is excluded".
func Selects(l *layout.Layout, q *layout.Query) string {
	forms := map[codec.GivenPart][2]string{
		codec.GivenValue: {"%s", "any of several values of %s"}, codec.GivenPrefix: {"prefix of %s", "any of several prefixes of %s"},
		codec.GivenRange: {"range of %s, whose end is excluded", "any of several ranges of %s, whose ends are excluded"},
	}
	var series, fields []string
	for _, in := range q.Inputs {
		form := forms[in.Form][0]
		switch {
		case in.Where && in.Form == codec.GivenRange:
			fields = append(fields, fmt.Sprintf("whose %s is in the given range, whose end is excluded", in.Of(l).Name))
			continue
		case in.Where:
			fields = append(fields, fmt.Sprintf("whose %s has the given value", in.Of(l).Name))
			continue
		case in.Many:
			form = forms[in.Form][1]
		}
		series = append(series, fmt.Sprintf(form, in.Of(l).Name))
	}
	text := "of the series with the given " + words.List(series, "and")
	switch {
	case len(series) == 0:
		text = "of all series"
	case len(series) == 1 && q.Several() != nil:
		text = "of the series with " + series[0]
	}
	if fields != nil {
		text += ", " + strings.Join(fields, " and ")
	}
	return text
}

// Ranges describes the rows that the query reads.
func Ranges(q *layout.Query) string {
	merged := ", read in parallel and merged"
	if n := q.Salts; n > scan.MaxStreams {
		merged = fmt.Sprintf(", paginated, %d in parallel, and merged", scan.MaxStreams)
	}
	return ranges(q, merged)
}

// ranges is Ranges, with a text about how the ranges of salt buckets are merged.
func ranges(q *layout.Query, merged string) string {
	text := "one range of rows"
	switch {
	case q.Timed && q.Table.Endless():
		text = "one row"
	case q.Unbounded():
		text = Extent(q)
	case q.Timed && q.Table.Pattern.Bucketed() && q.Whole && (q.After > 0 || !q.Table.Bucket.Sorted()):
		text = "the rows of the buckets, by their keys"
	case q.Timed && q.Table.Pattern.Bucketed() && q.After > 0:
		text = "a range of rows for each bucket"
	}
	switch n := q.Salts; {
	case n > 1:
		text += fmt.Sprintf(" for each of %d salt buckets%s", n, merged)
	case q.Table.Metrics():
		text += " for each field"
	}
	if len(q.FilteredBy) > 0 {
		text += ", skipping rows with another " + strings.Join(q.FilteredBy, " or ")
	}
	return text
}

// AllRanges describes the rows that the query reads in all layouts of its table: those of
// the newest, and of earlier ones where it reads other rows.
func AllRanges(q *layout.Query) string { return allRanges(q, Ranges) }

// Deletes describes the rows that deletions by the query read in each table, as a list of
// sentences without a period.
func Deletes(q *layout.Query) []string {
	var out []string
	for i := range q.Deletes {
		d := &q.Deletes[i]
		from := "from"
		if len(q.Where()) > 0 {
			from = "from all tables what it finds in"
		}
		out = append(out, fmt.Sprintf("%s table %s: %s", from, d.Table.ID, allRanges(d, func(q *layout.Query) string { return ranges(q, "") })))
	}
	return out
}

// allRanges is AllRanges with the descriptions of one layout.
func allRanges(q *layout.Query, ranges func(q *layout.Query) string) string {
	text := ranges(q)
	for i := range q.Older {
		o := &q.Older[i]
		if o.Table.ID != q.Table.ID || ranges(o) != ranges(q) {
			text += fmt.Sprintf("; for %s, from table %s: %s", Period(o.Table), o.Table.ID, ranges(o))
		}
	}
	return text
}

// Period describes the events with a layout of a table, as in "events before 2026-06-01";
// empty for a table with a single layout.
func Period(t *layout.Table) string {
	switch {
	case t.Since.IsZero() && t.Until.IsZero():
		return ""
	case t.Since.IsZero():
		return "events before " + schema.FormatInstant(t.Until)
	case t.Until.IsZero():
		return "events since " + schema.FormatInstant(t.Since)
	}
	return fmt.Sprintf("events from %s until %s", schema.FormatInstant(t.Since), schema.FormatInstant(t.Until))
}

// Extent describes the rows of a query whose values do not restrict them.
func Extent(q *layout.Query) string {
	before, _ := q.Known()
	i := slices.IndexFunc(before, func(g codec.Segment) bool { return g.Kind == codec.SaltSegment })
	switch salted := i >= 0 && q.Salts == 1; {
	case salted && q.Timed:
		return fmt.Sprintf("the rows of all series in one of %d salt buckets within the time range", before[i].Buckets)
	case salted:
		return fmt.Sprintf("the rows of one of %d salt buckets", before[i].Buckets)
	case q.Timed:
		return "the rows of all series within the time range"
	}
	return "the whole table"
}

// Notes returns sentences with other information about the query.
func Notes(l *layout.Layout, q *layout.Query) []string {
	var out []string
	if !q.Timed {
		note := "The server scans rows of all times and drops those outside the range."
		if q.Table.Endless() {
			note = "Rows contain events of all times: the server drops the cells outside the range."
		}
		out = append(out, note)
	}
	if q.MultiSeries() && l.StateServes(q) {
		out = append(out, fmt.Sprintf("With ReadOptions.LatestOnly, a time range that ends at most a minute ago takes one row per series from table %s.", l.State.ID))
	}
	if len(q.Where()) > 0 {
		out = append(out, "The server reads the other events of the range, too, and does not return them. An event without the field, or with one that cannot be decoded, is not returned either.")
	}
	if q.Table != l.Read && !q.Table.Outlives(l.Read) {
		out = append(out, fmt.Sprintf("Events may expire earlier in table %s than in table %s, which Read reads.", q.Table.ID, l.Read.ID))
	}
	return out
}

// State says from where the newest event of each series of a query is read, if it is one row per series.
func State(l *layout.Layout, q *layout.Query) string {
	if !q.MultiSeries() || !l.StateServes(q) {
		return ""
	}
	return "; with LatestOnly until now or later, a row per series of table " + l.State.ID
}

// LatestFinds describes the rows that a search for the newest event requests.
func LatestFinds(l *layout.Layout) string {
	if l.StateServes(nil) {
		return "the row of the series; if it does not tell, a search of table " + l.Read.ID
	}
	shape := l.Read.Shape(l)
	text := "the last row of the series"
	if l.Read.Endless() {
		text = "the row of the series"
	}
	if shape.Descending() {
		text = "the first row of the series"
	}
	if shape.Ties {
		text = "the first two rows of the series and, if they have the same time, the last one"
	}
	if !shape.InOrder() {
		text = "the keys of the series' rows, then the newest row"
	}
	if l.Read.Metrics() {
		text += ", for each field"
	}
	if _, recent := sample.LatestRecent(l, sample.Time(l.Read)); recent {
		return "the rows from the current bucket on; if there are none, " + text
	}
	return text
}
