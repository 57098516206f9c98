package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/templates/codec"
)

// keyBeginsWithTime is K01: all writers would be on the last tablet.
func keyBeginsWithTime(l *layout.Layout, t *layout.Table, report reporter) {
	first, ok := firstSegment(t)
	if !ok || t.Unknown {
		return
	}
	isTime := first.Kind == layout.BucketSegment || first.Kind == layout.TimeSegment ||
		first.Kind == layout.SeriesSegment && l.Series[first.Series].Type == schema.Timestamp
	if isTime {
		report.at(first.Pos, "begin with a series value of many values, and put the time last",
			"the row key begins with time: every event of every series is written to the same end of the table, to one node")
	}
}

// unpaddedLabel is K04: week10 sorts before week2.
func unpaddedLabel(_ *layout.Layout, t *layout.Table, report reporter) {
	if t.Pattern.Bucketed() && !t.Bucket.Sorted() {
		l := t.Bucket.Label
		report.at(t.BucketPos, "write "+l.Prefix+"%04d"+l.Suffix+`, or allow it with a reason: allow: {K04: "…"}; buckets are then read key by key, never as a range`,
			"the bucket label %s%%d%s is not padded: as bytes %s10%[2]s sorts before %[1]s2%[2]s, so that buckets are not in order of time", l.Prefix, l.Suffix, l.Prefix)
	}
}

// delimiterInSegment is K05 for what is known before there is a value. The
// writer refuses a string that contains the delimiter.
func delimiterInSegment(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Delimiter == "" {
		return
	}
	for _, g := range t.Segments {
		if text, what := delimited(l, t, g); text != "" {
			report.at(g.Pos, "use a delimiter that no segment can contain, such as \"#\"",
				"%s can contain the delimiter %q, as in %q: a key could not be told from another", what, t.Delimiter, text)
		}
	}
}

// delimited returns a text of the segment that contains the delimiter, and
// what the segment is; nothing where there is none.
func delimited(l *layout.Layout, t *layout.Table, g layout.Segment) (text, what string) {
	samples, what := t.Samples(l, g)
	for _, s := range samples {
		if strings.Index(s+t.Delimiter, t.Delimiter) != len(s) {
			return s, what
		}
	}
	return "", ""
}

// fullScan is K06: no part of the key is known. The query itself says why it may.
func fullScan(l *layout.Layout, q *layout.Query, report reporter) {
	if !q.Scans() || q.Scan != "" {
		return
	}
	why, hint := fmt.Sprintf("no row key of table %q begins with what it gives", q.Table.ID), fmt.Sprintf("add a table with the key %s, or ", q.Table.WantedKey(l, q.By))
	if len(q.By) == 0 {
		why, hint = "it gives no series value", ""
	}
	report.at(q.Pos, hint+`say why it may read all: scan: "a nightly export"`, "query %s reads %s: %s", q.Name, q.Extent(), why)
}

// walksTimes is K18: the range of time is a filter of cells, not of rows.
func walksTimes(l *layout.Layout, q *layout.Query, report reporter) {
	series, found := q.Plan.Unbound(q.Table)
	if !found || q.Scans() {
		return
	}
	report.at(q.Pos, fmt.Sprintf("add a table with the key %s, or allow it with a reason: allow: {K18: \"…\"}", q.Table.WantedKey(l, q.By)),
		"query %s does not give %s, which stands before the time in the keys of table %q: the server walks the rows of all times, and only then drops cells", q.Name, l.Series[series].Name, q.Table.ID)
}

// firstSegment returns the first segment that is not fixed text, which changes
// nothing; false if there is none.
func firstSegment(t *layout.Table) (layout.Segment, bool) {
	i := slices.IndexFunc(t.Segments, func(g layout.Segment) bool { return g.Kind != layout.ConstSegment })
	if i < 0 {
		return layout.Segment{}, false
	}
	return t.Segments[i], true
}

// sequentialID is K02: ids that are counted up are all made at one end.
func sequentialID(l *layout.Layout, t *layout.Table, report reporter) {
	first, ok := firstSegment(t)
	if !ok || t.Unknown || first.Kind != layout.SeriesSegment {
		return
	}
	switch f := l.Series[first.Series]; f.Type {
	case schema.Int32, schema.Int64, schema.Uint32, schema.Uint64:
		report.at(first.Pos, fmt.Sprintf("put another value first, or a salt: {hash: [%s], buckets: 16}; if the numbers are not counted up, allow it: allow: {K02: \"slots are hashed upstream\"}", f.Name),
			"the row key begins with the number %q: if such numbers are counted up, all new series are written to one end of the table, to one node", f.Name)
	}
}

// How many places to write at are few, and how many events a second go to them
// without harm: a tenth of what Google states for a node. Our judgement.
const (
	fewPlaces = 10
	fewWrites = 1_400
)

// hotTail is K03: with few values before the time, all writing goes to as many
// places of the table.
func hotTail(l *layout.Layout, t *layout.Table, report reporter) {
	first, ok := firstSegment(t)
	if !ok || t.Unknown || first.Kind == layout.TimeSegment || first.Kind == layout.BucketSegment {
		return // K01
	}
	load, places, what := l.Load(), places(l, t), "values"
	if declared := l.Expect.Series; declared > 0 && declared < places {
		places, what = declared, "series"
	}
	light := !load.AssumedRate && !load.AssumedSeries && load.Rate*float64(load.Series) <= fewWrites
	if places > fewPlaces || light {
		return
	}
	report.at(first.Pos, "put a value with many values before the time, or a salt: {hash: [...], buckets: 16}",
		"before the time the key has %s: so many places of the table take all that is written, %s, however many nodes there are", fewNames(places, what), writes(load))
}

// fewNames writes how many values or series there are.
func fewNames(n int64, what string) string {
	switch {
	case n == 1 && what == "values":
		return "one value"
	case n == 1:
		return "one series"
	}
	return number(float64(n)) + " " + what
}

// places returns how many different beginnings before the time the keys can have;
// a very large number where that is not known.
func places(l *layout.Layout, t *layout.Table) int64 {
	const many = 1 << 40
	n := int64(1)
	for _, g := range t.BeforeTime() {
		values := int64(1)
		switch g.Kind {
		case layout.SaltSegment:
			values = saltValues(l, t, g)
		case layout.MetricSegment:
			values = int64(len(t.Columns))
		case layout.SeriesSegment:
			values = fieldValues(&l.Series[g.Series])
		}
		if values == 0 || n > many/values {
			return many
		}
		n *= values
	}
	return n
}

// saltValues returns how many salts there are besides the values that stand before
// the time and make them.
func saltValues(l *layout.Layout, t *layout.Table, salt layout.Segment) int64 {
	n := int64(1)
	for _, i := range salt.Salted {
		if slices.ContainsFunc(t.BeforeTime(), func(g layout.Segment) bool { return g.Kind == layout.SeriesSegment && g.Series == i }) {
			continue
		}
		values := fieldValues(&l.Series[i])
		if values == 0 || n*values >= int64(salt.Buckets) {
			return int64(salt.Buckets)
		}
		n *= values
	}
	return n
}

// fieldValues returns how many values there are of a series value; 0 for many.
func fieldValues(f *layout.Field) int64 {
	switch f.Type {
	case schema.Bool:
		return 2
	case schema.Enum:
		return int64(len(f.Enum))
	}
	return 0
}

// wideSalt is from when on a salt is as good as a hash of the key: our judgement.
const wideSalt = 100

// hashedKey is K08: what is next to each other in order is nowhere near.
func hashedKey(_ *layout.Layout, q *layout.Query, report reporter) {
	if q.Plan.Salts > wideSalt {
		report.at(q.Pos, "salt with fewer buckets, 16 for instance, or from fewer values",
			"query %s reads %d ranges, one for each salt: with so many the key is a hash, and has no order left that a query could use", q.Name, q.Plan.Salts)
	}
}

// saltedQuery is K09: a query that reads all salts.
func saltedQuery(l *layout.Layout, q *layout.Query, report reporter) {
	if 1 < q.Plan.Salts && q.Plan.Salts <= wideSalt && len(q.By) > 0 {
		report.at(q.Pos, fmt.Sprintf("if its values are many, they spread the load without a salt: %s; or allow it with a reason: allow: {K09: \"…\"}", q.Table.WantedKey(l, q.By)),
			"query %s does not give all that the salt is made from: each call reads %d ranges", q.Name, q.Plan.Salts)
	}
}

// newestFirst is K10.
func newestFirst(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, g := range t.Segments {
		if g.Kind == layout.TimeSegment && t.TimeKey.Reverse || g.Kind == layout.BucketSegment && t.Bucket.Label.Format.Reverse {
			report.at(g.Pos, "leave reverse out and read with ReadOptions{NewestFirst: true}, unless other programs want the newest rows first",
				"the newest come first in the table: Bigtable scans backwards too, at some cost, so that a time that runs forwards serves both orders")
		}
	}
}

// rateAbovePrecision is K13 for a declared rate. It is the same for all tables, and
// said of the first.
func rateAbovePrecision(l *layout.Layout, t *layout.Table, report reporter) {
	if l.Expect.Rate <= 1/l.Precision.Seconds() || l.Sequence || t != l.Tables[0] {
		return
	}
	lost := "only the last of them stays"
	if t.Metrics() {
		lost = "those of equal values are one"
	}
	report.at(t.Pos, "use a finer time: {precision: …}, or a tie-breaker at the end of the key: {sequence: true}",
		"%s of a series at a precision of %s: events of the same %[2]s have the same key and time, and %s", rate(l.Expect.Rate), schema.FormatDuration(l.Precision), lost)
}

// opaqueBytes is K16: nobody can read such keys in cbt or in the console.
func opaqueBytes(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Delimiter == "" {
		report.at(t.KeyPos, `give the key a delimiter: key: {delimiter: "#", segments: […]}; or allow it: allow: {K16: "a third of the size"}`,
			"the row key has no delimiter and is binary: people cannot read it in cbt, in the console or in Key Visualizer")
		return
	}
	for _, g := range t.Segments {
		if what := opaque(l, t, g); what != "" {
			report.at(g.Pos, "leave the encoding out, so that it is text", "%s is written as bytes that people cannot read in cbt, in the console or in Key Visualizer", what)
		}
	}
}

// opaque names a segment that could be text and is not; empty if it is text, or
// bytes by themselves.
func opaque(l *layout.Layout, t *layout.Table, g layout.Segment) string {
	switch g.Kind {
	case layout.SeriesSegment:
		f := l.Series[g.Series]
		binary := g.Form.Encoding == codec.KeyBinary || g.Form.Encoding == codec.KeyRaw
		if binary && f.Type != schema.Bytes || g.Form.Encoding == codec.KeyHex && f.Type == schema.String {
			return fmt.Sprintf("series value %q", f.Name)
		}
	case layout.BucketSegment:
		if t.Bucket.Label.Format.Kind == codec.BinaryTime {
			return "the bucket"
		}
	case layout.TimeSegment:
		if t.TimeKey.Kind == codec.BinaryTime {
			return "the time"
		}
	}
	return ""
}

// unsortedTies is K17: after the time, segments put events of one time in order.
func unsortedTies(l *layout.Layout, t *layout.Table, report reporter) {
	if t.Pattern.Bucketed() || t.Delimiter == "" {
		return
	}
	for _, g := range t.AfterTime() {
		if g.Kind != layout.SeriesSegment || t.Sorted(l, g) {
			continue
		}
		switch f := l.Series[g.Series]; f.Type {
		case schema.Int32, schema.Int64, schema.Uint32, schema.Uint64, schema.Duration:
			report.at(g.Pos, fmt.Sprintf("pad it, if it is never negative: {name: %s, encoding: decimal, pad: %d}", f.Name, digitsOf(f.Type)),
				"%q follows the time as text: events of one time come as 10, 9, and negative numbers the wrong way round", f.Name)
		}
	}
}

// digitsOf returns how many decimal digits the largest number of a type has.
func digitsOf(t schema.Type) int {
	switch t {
	case schema.Int32, schema.Uint32:
		return 10
	case schema.Uint64:
		return 20
	}
	return 19
}
