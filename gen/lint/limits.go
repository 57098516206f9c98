package lint

import (
	"regexp"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/sample"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// Bigtable's limits, from its pages on quotas and schema design.
const (
	maxRowBytes       = 256_000_000
	maxRowAdvised     = 100_000_000
	maxRowCells       = 100_000 // our judgement
	maxCellBytes      = 100 << 20
	maxCellAdvised    = 10_000_000
	maxFilterBytes    = 20_480
	maxQualifierBytes = 16 << 10
	maxFamilyName     = 64
	maxGCRuleBytes    = 500
)

// keySize is L01 for the fixed parts of a key; the writer checks each key.
func keySize(l *layout.Layout, t *layout.Table, report reporter) {
	size := 0
	for _, g := range t.Segments {
		size += l.FixedSize(g)
	}
	size += max(0, len(t.Segments)-1) * len(t.Delimiter)
	if size > codec.MaxKey {
		report.at(t.KeyPos, "shorten it", "the fixed parts of the row key alone have %d bytes; Bigtable takes at most %d", size, codec.MaxKey)
	}
}

// cellSize is L02 for what is declared; the writer checks each cell.
func cellSize(l *layout.Layout, t *layout.Table, report reporter) {
	switch n := sample.EstimateOf(l, t).Cell; {
	case n > maxCellBytes:
		report.at(t.Pos, "store large values elsewhere, and here where they are", "a cell would have %s by the declared value_bytes; Bigtable takes at most 100 MiB", size(n))
	case n > maxCellAdvised:
		report.as(diag.Warning).at(t.Pos, "store large values elsewhere, and here where they are", "a cell would have %s by the declared value_bytes; Bigtable advises at most 10 MB", size(n))
	}
}

// rowSize is L03. What is over by the lower bound, at a rate that is known, cannot
// be read. By an assumed rate it is a warning.
func rowSize(l *layout.Layout, t *layout.Table, report reporter) {
	e := sample.EstimateOf(l, t)
	known := !e.Load.AssumedRate || !t.Pattern.Bucketed() && !e.Load.AssumedValueBytes
	rule := ""
	switch {
	case e.Row.Lower > maxRowBytes && known:
		rule = "Bigtable cannot read one over 256 MB"
	case e.Row.Lower > maxRowBytes:
		rule, report = "Bigtable cannot read one over 256 MB", report.as(diag.Warning)
	case e.Row.Upper > maxRowAdvised:
		rule, report = "Bigtable advises at most 100 MB", report.as(diag.Warning)
	case e.Row.Upper > maxRowAdvised/2:
		rule, report = "Bigtable advises at most 100 MB: leave room to grow", report.as(diag.Advice)
	default:
		return
	}
	if !t.Pattern.Bucketed() {
		report.at(t.Pos, "store large values elsewhere, and here where they are", "%s to %s a row by value_bytes; %s", size(e.Row.Lower), size(e.Row.Upper), rule)
		return
	}
	report.at(t.WidthPos, report.narrower(l, t), "%s to %s a row, of %s events (%s); %s", size(e.Row.Lower), size(e.Row.Upper), number(e.EventsPerRow), basis(e.Load), rule)
}

// rowCells is L15.
func rowCells(l *layout.Layout, t *layout.Table, report reporter) {
	if !t.Pattern.Bucketed() {
		return
	}
	if e := sample.EstimateOf(l, t); e.CellsPerRow > maxRowCells {
		report.at(t.WidthPos, report.narrower(l, t), "%s cells a row (%s): Bigtable reads and compacts a row as a whole; at most %s are advised", number(e.CellsPerRow), basis(e.Load), number(maxRowCells))
	}
}

// filterSize is L13: the reader names the columns that it wants.
func filterSize(_ *layout.Layout, t *layout.Table, report reporter) {
	bytes := 0
	for _, c := range t.Columns {
		bytes += len(regexp.QuoteMeta(c.Qualifier) + "|")
	}
	if bytes > maxFilterBytes && len(t.Columns) > 1 {
		report.at(t.Pos, "shorten the column names, or store the events as one value", "a read of most of the fields names columns of %d bytes; Bigtable takes a filter of at most %d", bytes, maxFilterBytes)
	}
}

// qualifierSize is L04 for column names, and for data that become qualifiers as far
// as their size is declared; the writer checks each.
func qualifierSize(l *layout.Layout, t *layout.Table, report reporter) {
	for _, c := range t.Columns {
		if len(c.Qualifier) > maxQualifierBytes {
			report.at(c.Pos, "shorten it", "a column name of %d bytes; Bigtable takes at most %d", len(c.Qualifier), maxQualifierBytes)
		}
	}
	if e := sample.EstimateOf(l, t); t.Metrics() && !e.Load.AssumedValueBytes && e.Datum > maxQualifierBytes {
		report.at(t.PatternPos, "use bucket_new_cells", "values of %s by value_bytes become column names; Bigtable takes at most %s", size(e.Datum), size(maxQualifierBytes))
	}
}

var familyPattern = regexp.MustCompile(`^[-_.a-zA-Z0-9]+$`)

// familyName is L05.
func familyName(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		switch {
		case f.Name == "": // reported with the table
		case !familyPattern.MatchString(f.Name):
			report.at(f.Pos, "use letters, digits, '-', '_' and '.'"+legalFamily(t, f.Name), "%q cannot name a column family", f.Name)
		case len(f.Name) > maxFamilyName:
			report.at(f.Pos, "shorten it: the name is stored with every cell", "the name of the column family has %d characters; Bigtable takes at most %d", len(f.Name), maxFamilyName)
		}
	}
}

var notInFamily = regexp.MustCompile(`[^-_.a-zA-Z0-9]+`)

// legalFamily proposes a name without what it cannot have, where a table has one family.
func legalFamily(t *layout.Table, name string) string {
	legal := strings.Trim(notInFamily.ReplaceAllString(name, "_"), "_")
	if len(t.Families) > 1 || legal == "" {
		return ""
	}
	return ": " + code("family: %s", schema.Quoted(legal))
}

// tableID is L07.
func tableID(_ *layout.Layout, t *layout.Table, report reporter) {
	switch {
	case !codec.ValidTableID(t.ID):
		report.at(t.Pos, "use letters, digits, '-', '_' and '.', and begin with a letter, a digit or '_'", "%q cannot name a table", t.ID)
	case len(t.ID) > codec.MaxTableID:
		report.at(t.Pos, "shorten it", "the table id has %d characters; Bigtable takes at most %d", len(t.ID), codec.MaxTableID)
	}
}

// gcRuleSize is L09.
func gcRuleSize(_ *layout.Layout, t *layout.Table, report reporter) {
	for _, f := range t.Families {
		if n := f.GC.WireSize(); n > maxGCRuleBytes {
			report.at(f.GCPos, "use fewer rules", "the garbage collection rule has %d bytes; Bigtable takes at most %d", n, maxGCRuleBytes)
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
				report.at(f.GCPos, wholeSeconds(f), "an age of %s: Bigtable takes at least one second", schema.FormatDuration(rule.MaxAge))
			case rule.MaxAge%time.Second != 0:
				report.at(f.GCPos, wholeSeconds(f), "an age of %s: the fraction of a second is lost when the rule is read back", schema.FormatDuration(rule.MaxAge))
			}
		}
	}
}

// wholeSeconds proposes the next whole number of seconds for a family of one age.
func wholeSeconds(f layout.Family) string {
	up := (f.GC.MaxAge + time.Second - 1).Truncate(time.Second)
	switch f.Strategy {
	case layout.MaxAge:
		return "use whole seconds: " + code("ttl: {max_age: %s}", schema.FormatDuration(up))
	case layout.MaxAgeFromWrite:
		return "use whole seconds: " + code("ttl: {max_age: %s, from: write}", schema.FormatDuration(up))
	}
	return "use whole seconds, and 1s or more"
}

// splitCount is L12.
func splitCount(_ *layout.Layout, t *layout.Table, report reporter) {
	if n := len(t.Splits); n > codec.MaxSplits {
		report.at(report.written(t).Splits[codec.MaxSplits].Pos, "leave some out from here on: Bigtable splits a table by itself as it grows", "table %q has %d initial splits; Bigtable takes at most %d", t.ID, n, codec.MaxSplits)
	}
}
