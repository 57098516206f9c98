package lint

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/templates/codec"
)

// Bigtable's limits, from its pages on quotas and schema design.
const (
	maxRowBytes       = 256_000_000
	maxQualifierBytes = 16 << 10
	maxFamilyName     = 64
	maxGCRuleBytes    = 500
)

// keyBeginsWithTime is K01: all writers would be on the last tablet.
func keyBeginsWithTime(l *layout.Layout, t *layout.Table, report reporter) {
	// Fixed text before it changes nothing.
	i := slices.IndexFunc(t.Segments, func(g layout.Segment) bool { return g.Kind != layout.ConstSegment })
	if i < 0 {
		return
	}
	first := t.Segments[i]
	isTime := first.Kind == layout.BucketSegment || first.Kind == layout.TimeSegment ||
		first.Kind == layout.SeriesSegment && l.Series[first.Series].Type == schema.Timestamp
	if isTime {
		report(first.Pos, "begin with a series value of many values, and put the time last",
			"the row key begins with time: every event of every series is written to the same end of the table, to one node")
	}
}

// unpaddedLabel is K04: week10 sorts before week2.
func unpaddedLabel(_ *layout.Layout, t *layout.Table, report reporter) {
	if t.Pattern.Bucketed() && !t.Bucket.Sorted() {
		l := t.Bucket.Label
		report(t.BucketPos, "write "+l.Prefix+"%04d"+l.Suffix+`, or allow it with a reason: allow: {K04: "…"}; buckets are then read key by key, never as a range`,
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
			report(g.Pos, "use a delimiter that no segment can contain, such as \"#\"",
				"%s can contain the delimiter %q, as in %q: a key could not be told from another", what, t.Delimiter, text)
		}
	}
}

// delimited returns a text of the segment that contains the delimiter, and
// what the segment is; nothing where there is none.
func delimited(l *layout.Layout, t *layout.Table, g layout.Segment) (text, what string) {
	var samples []string
	switch g.Kind {
	case layout.ConstSegment:
		what, samples = "the text", []string{g.Const}
	case layout.MetricSegment:
		what = "the metric"
		for _, c := range t.Columns {
			samples = append(samples, c.Qualifier)
		}
	case layout.BucketSegment:
		what, samples = "the bucket", labelSamples(t)
	case layout.TimeSegment:
		what, samples = "the time", timeSamples(t.TimeKey)
	case layout.SaltSegment, layout.SequenceSegment:
		what, samples = "the "+map[layout.SegmentKind]string{layout.SaltSegment: "salt", layout.SequenceSegment: "sequence"}[g.Kind], digits()
	default:
		f := l.Series[g.Series]
		what, samples = "series value \""+f.Name+"\"", formSamples(f, g.Form)
	}
	for _, s := range samples {
		if strings.Index(s+t.Delimiter, t.Delimiter) != len(s) {
			return s, what
		}
	}
	return "", ""
}

// formSamples returns texts that between them have every character that a value
// can have in a key, as far as that is known; none where a reader does not look
// for the delimiter.
func formSamples(f layout.Field, form codec.KeyForm) []string {
	switch {
	case form.Escape, form.Encoding == codec.KeyRaw, form.Encoding == codec.KeyBinary:
		return nil
	case form.Encoding == codec.KeyHex:
		return strings.Split("0123456789abcdef", "")
	case form.Encoding == codec.KeyBase64URL:
		return strings.Split("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_", "")
	case form.Encoding == codec.KeyDecimal, form.Pad > 0:
		return digits()
	}
	return typeSamples(f)
}

// typeSamples returns texts that between them have every character that a
// value of the field's type can have in a key.
func typeSamples(f layout.Field) []string {
	switch f.Type {
	case schema.Int32, schema.Int64, schema.Duration:
		return append(digits(), "-1")
	case schema.Uint32, schema.Uint64, schema.Timestamp:
		return digits()
	case schema.Bool:
		return []string{"true", "false"}
	case schema.Bytes:
		return append(digits(), "a", "b", "c", "d", "e", "f")
	case schema.UUID:
		return []string{"01234567-89ab-4cde-8f01-23456789abcd"}
	case schema.Enum:
		var names []string
		for _, v := range f.Enum {
			names = append(names, v.Name)
		}
		return names
	}
	return nil // the writer checks each value
}

// digits returns the ten digits.
func digits() []string { return strings.Split("0123456789", "") }

// labelSamples returns the fixed characters and the digits of a bucket label.
func labelSamples(t *layout.Table) []string {
	label := t.Bucket.Label
	switch label.Kind {
	case codec.NumberLabel:
		return append(digits(), label.Prefix, label.Suffix)
	case codec.ISOWeekLabel:
		return append(digits(), "-W")
	default:
		return timeSamples(label.Format)
	}
}

// timeSamples returns the fixed characters and the digits of a time.
func timeSamples(f codec.TimeFormat) []string {
	if f.Kind == codec.BinaryTime {
		return nil // taken by its width
	}
	return append(digits(), strings.FieldsFunc(f.Layout, func(r rune) bool { return r >= '0' && r <= '9' })...)
}

// fullScan is K06: no part of the key is known. The query itself says why it may.
func fullScan(l *layout.Layout, t *layout.Table, report reporter) {
	for _, q := range l.Queries {
		if q.Table == t && q.Plan.Scans() && q.Scan == "" {
			report(q.Pos, fmt.Sprintf("add a table with the key %s, or say why it may read all: scan: \"a nightly export\"", q.WantedKey(l)),
				"query %s reads the whole table %q: no row key begins with what it gives", q.Name, t.ID)
		}
	}
}

// walksTimes is K18: the range of time is a filter of cells, not of rows.
func walksTimes(l *layout.Layout, t *layout.Table, report reporter) {
	for _, q := range l.Queries {
		if q.Table != t || q.Plan.Scans() {
			continue
		}
		if series, found := q.Plan.Unbound(t); found {
			report(q.Pos, fmt.Sprintf("add a table with the key %s, or allow it with a reason: allow: {K18: \"…\"}", q.WantedKey(l)),
				"query %s does not give %s, which stands before the time in the keys of table %q: the server walks the rows of all times, and only then drops cells", q.Name, l.Series[series].Name, t.ID)
		}
	}
}

// keySize is L01 for the fixed parts of a key; the writer checks each key.
func keySize(_ *layout.Layout, t *layout.Table, report reporter) {
	size := 0
	for _, g := range t.Segments {
		size += len(g.Const)
	}
	size += max(0, len(t.Segments)-1) * len(t.Delimiter)
	if size > codec.MaxKey {
		report(t.KeyPos, "shorten it", "the fixed parts of the row key alone have %d bytes; Bigtable takes at most %d", size, codec.MaxKey)
	}
}

// rowSize is L03: a row that is too large cannot be read. The bound is a lower
// one, for events that carry nothing but their cells' timestamps and values.
func rowSize(l *layout.Layout, t *layout.Table, report reporter) {
	events, basis := eventsPerRow(l, t)
	if events == 0 {
		return
	}
	if size := events * eventBytes(l, t); size > maxRowBytes {
		report(t.WidthPos, "make the bucket narrower",
			"a row would have at least %.0f MB (%.0f events, %s); Bigtable cannot read one over %d MB", size/1e6, events, basis, maxRowBytes/1_000_000)
	}
}

// eventsPerRow returns how many events a bucket is expected to hold, and why.
// A precision below a second says how events are told apart, not how many
// there are; then nothing is known without a declared rate.
func eventsPerRow(l *layout.Layout, t *layout.Table) (float64, string) {
	seconds := t.Bucket.Widest().Seconds()
	switch {
	case !t.Pattern.Bucketed():
		return 0, ""
	case l.Rate > 0:
		return min(l.Rate*seconds, float64(t.Slots)), "by the declared rate"
	case l.Precision.Seconds() >= 1:
		return float64(t.Slots), "one every " + schema.FormatDuration(l.Precision)
	}
	return 0, ""
}

// eventBytes returns the least that an event adds to one row: 8 bytes of
// timestamp for each cell, and its values.
func eventBytes(l *layout.Layout, t *layout.Table) float64 {
	if t.Serialized() {
		return 8
	}
	size := 0
	for _, c := range t.Columns {
		if c.Field < 0 || l.Fields[c.Field].Optional {
			continue
		}
		f := l.Fields[c.Field]
		size += 8
		if !c.Text {
			size += binarySize(f.Type)
		}
	}
	if t.Metrics() {
		size /= len(t.Columns) // a row for each
	}
	return float64(size)
}

// binarySize returns the least bytes of a binary value.
func binarySize(t schema.Type) int {
	switch t {
	case schema.Bool:
		return 1
	case schema.Float32:
		return 4
	case schema.UUID:
		return 16
	case schema.String, schema.Bytes, schema.JSON:
		return 0
	}
	return 8
}

// qualifierSize is L04 for column names; the writer checks data that become qualifiers.
func qualifierSize(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, c := range t.Columns {
		if len(c.Qualifier) > maxQualifierBytes {
			report(c.Pos, "shorten it", "a column name of %d bytes; Bigtable takes at most %d", len(c.Qualifier), maxQualifierBytes)
		}
	}
}

var familyPattern = regexp.MustCompile(`^[-_.a-zA-Z0-9]+$`)

// familyName is L05.
func familyName(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		switch {
		case f.Name == "": // reported with the table
		case !familyPattern.MatchString(f.Name):
			report(f.Pos, "use letters, digits, '-', '_' and '.'", "%q cannot name a column family", f.Name)
		case len(f.Name) > maxFamilyName:
			report(f.Pos, "shorten it: the name is stored with every cell", "the name of the column family has %d characters; Bigtable takes at most %d", len(f.Name), maxFamilyName)
		}
	}
}

// tableID is L07.
func tableID(_ *layout.Layout, t *layout.Table, report reporter) {
	switch {
	case !codec.ValidTableID(t.ID):
		report(t.Pos, "use letters, digits, '-', '_' and '.', and begin with a letter, a digit or '_'", "%q cannot name a table", t.ID)
	case len(t.ID) > codec.MaxTableID:
		report(t.Pos, "shorten it", "the table id has %d characters; Bigtable takes at most %d", len(t.ID), codec.MaxTableID)
	}
}

// gcRuleSize is L09.
func gcRuleSize(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		if n := f.GC.WireSize(); n > maxGCRuleBytes {
			report(f.GCPos, "use fewer rules", "the garbage collection rule has %d bytes; Bigtable takes at most %d", n, maxGCRuleBytes)
		}
	}
}

// gcRuleAge is L10.
func gcRuleAge(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		for rule := range allRules(f.GC) {
			switch {
			case rule.Kind != codec.GCMaxAge:
			case rule.MaxAge < time.Second:
				report(f.GCPos, "use 1s or more", "an age of %s: Bigtable takes at least one second", schema.FormatDuration(rule.MaxAge))
			case rule.MaxAge%time.Second != 0:
				report(f.GCPos, "use whole seconds", "an age of %s: the fraction of a second is lost when the rule is read back", schema.FormatDuration(rule.MaxAge))
			}
		}
	}
}

// splitCount is L12.
func splitCount(_ *layout.Layout, t *layout.Table, report reporter) {
	if n := len(t.Splits); n > codec.MaxSplits {
		report(t.Pos, "leave some out: Bigtable splits a table by itself as it grows", "table %q has %d initial splits; Bigtable takes at most %d", t.ID, n, codec.MaxSplits)
	}
}

// noGCRule is T01.
func noGCRule(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		switch {
		case f.HasGC:
		case len(t.Families) > 1:
			report(f.Pos, "add for instance ttl: {max_age: 30d}, or say that it is meant: ttl: {keep: forever}",
				"family %q of table %q has no ttl: Bigtable keeps every cell for ever", f.Name, t.ID)
		default:
			report(t.Pos, "add for instance ttl: {max_age: 30d}, or say that it is meant: ttl: {keep: forever}",
				"table %q has no ttl: Bigtable keeps every cell for ever", t.ID)
		}
	}
}

// fewVersions is T02: events that are alive by every age would be collected.
func fewVersions(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		verdict := layout.Fits(t.Pattern, f.Strategy)
		if most := fewestVersions(f.Life.Retention); most > 0 && verdict.Rule == "T02" {
			report(f.GCPos, verdict.Instead,
				"max_versions %d, and a bucket can hold %d events: %s", most, t.MaxCells, verdict.Reason)
		}
	}
}

// fewestVersions returns how many versions of a column are kept of those that
// are not kept for their age; 0 if that is no limit.
func fewestVersions(r codec.Retention) int {
	most := 0
	for _, term := range r {
		if term.Versions == 0 {
			return 0
		}
		most = max(most, term.Versions)
	}
	return most
}

// versionsOnNewColumns is T03: the same value again is one more version of the
// same column, and an older event is deleted for it.
func versionsOnNewColumns(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		verdict := layout.Fits(t.Pattern, f.Strategy)
		if verdict.Rule != "T03" {
			continue
		}
		for rule := range allRules(f.GC) {
			if rule.Kind == codec.GCMaxVersions {
				report(f.GCPos, verdict.Instead, "max_versions on new columns: %s", verdict.Reason)
				break
			}
		}
	}
}

// stamped is T04, T05 and T07: a strategy that would take the cells' timestamps
// from the events.
func stamped(rule string) func(l *layout.Layout, t *layout.Table, report reporter) {
	return func(_ *layout.Layout, t *layout.Table, report reporter) {
		for _, f := range t.Families {
			strategy := f.Strategy
			if f.Life.Stamp == codec.StampWrite {
				strategy = layout.MaxAgeFromWrite // also where it stands within another rule
			}
			if verdict := layout.Fits(t.Pattern, strategy); verdict.Rule == rule {
				report(f.GCPos, verdict.Instead, "ttl %s does not fit pattern %s: %s", strategy, t.Pattern, verdict.Reason)
			}
		}
	}
}

// neverCollects is T08: a limit of versions that no column ever reaches.
func neverCollects(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		collects := f.GC.Normalize().Kind != codec.GCNone
		if collects && (f.Life.EventTimed() || f.Life.Stamp == codec.StampWrite) && keepsAll(f.Life.Retention, t.MaxCells) {
			report(f.GCPos, "add an age with any_of, or say that it is meant: ttl: {keep: forever}",
				"the rule %s collects no event: a column of a row holds at most %d, and so many are kept whatever their age", f.GC, t.MaxCells)
		}
	}
}

// keepsAll reports whether a retention keeps every cell of a column that holds
// no more than so many.
func keepsAll(r codec.Retention, cells int64) bool {
	return len(r) == 0 || slices.ContainsFunc(r, func(t codec.Term) bool { return t.MaxAge == 0 && int64(t.Versions) >= cells })
}

// lateEvents is T14: what comes late is refused, for garbage collection would
// take it at once.
func lateEvents(l *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		terms := f.Life.Retention
		if !f.Life.EventTimed() || l.Lateness == 0 || len(terms) == 0 {
			continue
		}
		if age := terms[len(terms)-1].MaxAge; age > 0 && l.Lateness >= age {
			report(f.GCPos, "use a longer age, or let it run from the writing where the pattern allows: {max_age: …, from: write}",
				"events may come %s late, and live no longer than %s from their own time: the writer refuses those that are past it", schema.FormatDuration(l.Lateness), schema.FormatDuration(age))
		}
	}
}

// allRules yields a garbage collection rule and all the rules within it.
func allRules(r codec.GCRule) iter.Seq[codec.GCRule] {
	return func(yield func(codec.GCRule) bool) { visit(r, yield) }
}

// visit yields r and what is within it until yield has enough.
func visit(r codec.GCRule, yield func(codec.GCRule) bool) bool {
	if !yield(r) {
		return false
	}
	for _, sub := range r.Rules {
		if !visit(sub, yield) {
			return false
		}
	}
	return true
}
