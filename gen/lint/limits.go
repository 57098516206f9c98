package lint

import (
	"regexp"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/sample"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Bigtable's limits, inclusive, from its pages on quotas and schema design.
const (
	maxRowBytes         = 256_000_000
	recommendedRowBytes = 100_000_000
	maxRowCells         = 100_000 // our judgment
	maxCellBytes        = 100 << 20
	recommendedCell     = 10_000_000 // bytes
	maxFilterBytes      = 20_480
	maxQualifierBytes   = 16 << 10
	maxFamilyName       = 64 // bytes
	maxGCRuleBytes      = 500
)

// keySize is L01 for the fixed parts of a key, and for example values; the writer checks each key.
func keySize(l *layout.Layout, t *layout.Table, report reporter) {
	size := 0
	for i, g := range t.Segments {
		size += t.Width(&g) + len(t.DelimiterAfter(i))
	}
	switch {
	case size > codec.MaxKey:
		report.at(t.KeyPos, "shorten it", "the fixed parts of the row key alone take %s bytes; Bigtable allows at most %s", number(float64(size)), number(codec.MaxKey))
	case t.Complete() && sample.KeyTooLong(l, t):
		report.at(t.KeyPos, "shorten it, or the names of columns that are in it", "a row key of the example values takes over %s bytes, the most that Bigtable allows", number(codec.MaxKey))
	}
}

// cellSize is L02 for the declared value_bytes; the writer checks each cell.
func cellSize(l *layout.Layout, t *layout.Table, report reporter) {
	switch n := report.size().Cell; {
	case n > maxCellBytes:
		report.at(t.Pos, storeElsewhere, "a cell takes %s by the declared value_bytes; Bigtable allows at most 100 MiB", size(n))
	case n > recommendedCell:
		report.as(diag.Warning).at(t.Pos, storeElsewhere, "a cell takes %s by the declared value_bytes; Bigtable recommends at most 10 MB", size(n))
	}
}

// storeElsewhere is the hint for values that are too large.
const storeElsewhere = "store large values elsewhere, and only their locations in Bigtable"

// rowSize is L03: an error if the lower bound exceeds the limit at a declared rate, and
// a warning if it does at an assumed rate.
func rowSize(l *layout.Layout, t *layout.Table, report reporter) {
	e := report.size()
	known := !e.Load.AssumedRate || !t.Pattern.Bucketed() && !e.Load.AssumedValueBytes
	rule := ""
	switch {
	case e.LeastRow > maxRowBytes && known:
		rule = "Bigtable cannot read rows over 256 MB"
	case e.LeastRow > maxRowBytes:
		rule, report = "Bigtable cannot read rows over 256 MB", report.as(diag.Warning)
	case e.Row.Typical > recommendedRowBytes:
		rule, report = "Bigtable recommends at most 100 MB", report.as(diag.Warning)
	case e.Row.Typical > recommendedRowBytes/2:
		rule, report = "Bigtable recommends at most 100 MB, so leave room to grow", report.as(diag.Advice)
	default:
		return
	}
	if !t.Pattern.Bucketed() {
		report.at(t.Pos, storeElsewhere, "a row takes %s by value_bytes; %s", sizes(e.Row), rule)
		return
	}
	report.at(t.WidthPos, report.smaller(l, t, &e), "a row takes %s, with %s events (%s); %s", sizes(e.Row), number(e.EventsPerRow), basis(e.Load), rule)
}

// rowCells is L15: rows with very many cells are slow.
func rowCells(l *layout.Layout, t *layout.Table, report reporter) {
	if !t.Pattern.Bucketed() {
		return
	}
	e := report.size()
	switch {
	case e.CellsPerRow <= maxRowCells:
	case replaces(&e):
		report.at(t.WidthPos, report.smaller(l, t, &e), "a row collects %s cells (%s) in the week that garbage collection can take: it is slow to read over %s cells", number(e.CellsPerRow), basis(e.Load), number(maxRowCells))
	default:
		report.at(t.WidthPos, report.smaller(l, t, &e), "a row has %s cells (%s): Bigtable reads and compacts it as a whole, which is slow over %s cells", number(e.CellsPerRow), basis(e.Load), number(maxRowCells))
	}
}

// replaces reports whether events replace each other in the row of a series, so that most of a
// large row awaits garbage collection.
func replaces(e *estimate.Estimate) bool {
	return e.Horizon > 0 && 2*e.LivePerRow < e.EventsPerRow && e.Horizon != e.Retention
}

// smaller proposes how to keep the rows of a table smaller.
func (r reporter) smaller(l *layout.Layout, t *layout.Table, e *estimate.Estimate) string {
	if replaces(e) {
		return declared(l, "write less often: a batch needs only the newest of the events that replace each other")
	}
	if t.Pattern.NewestOnly() {
		return declared(l, "let garbage collection remove the versions that newer events replace, as in "+code("ttl: {any_of: [{max_age: 7d}, {max_versions: 1}]}"))
	}
	return r.narrower(l, t)
}

// filterSize is L13: a read of some fields names their columns in its filter.
func filterSize(_ *layout.Layout, t *layout.Table, report reporter) {
	bytes := 0
	for _, c := range t.Columns {
		bytes += len(regexp.QuoteMeta(c.Qualifier) + "|")
	}
	if bytes > maxFilterBytes && len(t.Columns) > 1 {
		report.at(t.Pos, "shorten the column names, or store each event as one value", "a read of most fields has a filter of %s bytes of column names; Bigtable allows at most %s", number(float64(bytes)), number(maxFilterBytes))
	}
}

// qualifierSize is L04 for column names, and for values that become qualifiers if their
// size is declared; the writer checks each qualifier.
func qualifierSize(l *layout.Layout, t *layout.Table, report reporter) {
	for _, c := range t.Columns {
		if len(c.Qualifier) > maxQualifierBytes {
			report.at(c.Pos, "shorten it", "the column name has %s bytes; Bigtable allows at most %s", number(float64(len(c.Qualifier))), number(maxQualifierBytes))
		}
	}
	if e := report.size(); t.Pattern.Naming() == codec.NamedByValue && !e.Load.AssumedValueBytes && e.Datum > maxQualifierBytes {
		report.at(t.PatternPos, "use "+layout.PatternWith(layout.BucketOfColumns).String(), "values of %s by value_bytes become column names; Bigtable allows at most %s", size(e.Datum), size(maxQualifierBytes))
	}
}

var familyPattern = regexp.MustCompile(`^[-_.a-zA-Z0-9]+$`)

// familyName is L05: characters and length of family names.
func familyName(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.AllFamilies() {
		switch {
		case f.Sums && len(f.Name) > maxFamilyName:
			report.at(f.Pos, "shorten it", "pattern %s adds the column family %q, whose name has %d characters; Bigtable allows at most %d", t.Pattern, f.Name, len(f.Name), maxFamilyName)
		case f.Name == "", f.Sums: // reported with the table, or with the family of events
		case !familyPattern.MatchString(f.Name):
			report.at(f.Pos, "use letters, digits, '-', '_' and '.'"+legalFamily(t, f.Name), "%q is not a valid column family name", f.Name)
		case len(f.Name) > maxFamilyName:
			report.at(f.Pos, "shorten it: the name is stored with every cell", "the column family name has %d characters; Bigtable allows at most %d", len(f.Name), maxFamilyName)
		}
	}
}

var notInFamily = regexp.MustCompile(`[^-_.a-zA-Z0-9]+`)

// legalFamily proposes the name with invalid characters replaced, if the table has only
// one family.
func legalFamily(t *layout.Table, name string) string {
	legal := strings.Trim(notInFamily.ReplaceAllString(name, "_"), "_")
	if len(t.Families) > 1 || legal == "" {
		return ""
	}
	return ": " + code("family: %s", schema.Quoted(legal))
}

// tableID is L07: characters and length of table IDs.
func tableID(_ *layout.Layout, t *layout.Table, report reporter) {
	switch {
	case !codec.ValidTableID(t.ID):
		report.at(t.Pos, "use letters, digits, '-', '_' and '.', and begin with a letter, a digit or '_'", "%q is not a valid table ID", t.ID)
	case len(t.ID) > codec.MaxTableID:
		report.at(t.Pos, "shorten it", "the table ID has %d characters; Bigtable allows at most %d", len(t.ID), codec.MaxTableID)
	}
}

// gcRuleSize is L09: the size of a garbage collection rule on the wire.
func gcRuleSize(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.AllFamilies() {
		if n := f.GC.WireSize(); n > maxGCRuleBytes && !f.Sums {
			report.at(f.GCPos, "use fewer rules", "the garbage collection rule has %d bytes; Bigtable allows at most %d", n, maxGCRuleBytes)
		}
	}
}

// gcRuleAge is L10: ages in whole seconds.
func gcRuleAge(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.AllFamilies() {
		for rule := range allRules(f.GC) {
			if rule.Kind == codec.GCMaxAge && rule.MaxAge%time.Second != 0 && !f.Sums {
				report.at(f.GCPos, wholeSeconds(f), "the age is %s; Bigtable's Go client reads it back without the fraction of a second", schema.FormatDuration(rule.MaxAge))
			}
		}
	}
}

// wholeSeconds proposes to round up the age of a family to whole seconds.
func wholeSeconds(f layout.Family) string {
	up := (f.GC.MaxAge + time.Second - 1).Truncate(time.Second)
	switch f.Strategy {
	case layout.MaxAge:
		return "use whole seconds: " + code("ttl: {max_age: %s}", schema.FormatDuration(up))
	case layout.MaxAgeFromWrite:
		return "use whole seconds: " + code("ttl: {max_age: %s, from: write}", schema.FormatDuration(up))
	}
	return "use whole seconds, at least 1s"
}

// splitCount is L12: the number of initial splits.
func splitCount(_ *layout.Layout, t *layout.Table, report reporter) {
	if n := len(t.Splits); n > codec.MaxSplits {
		report.at(report.written(t).Splits[codec.MaxSplits].Pos, "remove the splits from here on: Bigtable splits tables automatically as they grow", "table %q has %d initial splits; Bigtable allows at most %d", t.ID, n, codec.MaxSplits)
	}
}
