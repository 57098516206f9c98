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
		report.at(t.KeyPos, "fixed", size, codec.MaxKey)
	case t.Complete() && sample.KeyTooLong(l, t):
		report.at(t.KeyPos, "example", codec.MaxKey)
	}
}

// cellSize is L02 for the declared value_bytes; the writer checks each cell.
func cellSize(l *layout.Layout, t *layout.Table, report reporter) {
	switch n := report.size().Cell; {
	case n > maxCellBytes:
		report.at(t.Pos, "limit", size(n))
	case n > recommendedCell:
		report.as(diag.Warning).at(t.Pos, "large", size(n))
	}
}

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
		report.at(t.Pos, "event", e.Row, rule)
		return
	}
	report.at(t.WidthPos, "bucket", e.Row, e.EventsPerRow, basis(e.Load), rule, report.smaller(l, t, &e))
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
		report.at(t.WidthPos, "replaced", e.CellsPerRow, basis(e.Load), maxRowCells, report.smaller(l, t, &e))
	default:
		report.at(t.WidthPos, "cells", e.CellsPerRow, basis(e.Load), maxRowCells, report.smaller(l, t, &e))
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
		report.at(t.Pos, "names", bytes, maxFilterBytes)
	}
}

// qualifierSize is L04 for column names, and for values that become qualifiers if their
// size is declared; the writer checks each qualifier.
func qualifierSize(l *layout.Layout, t *layout.Table, report reporter) {
	for _, c := range t.Columns {
		if len(c.Qualifier) > maxQualifierBytes {
			report.at(c.Pos, "name", len(c.Qualifier), maxQualifierBytes)
		}
	}
	if e := report.size(); t.Pattern.Naming() == codec.NamedByValue && !e.Load.AssumedValueBytes && e.Datum > maxQualifierBytes {
		report.at(t.PatternPos, "value", size(e.Datum), size(maxQualifierBytes), layout.PatternWith(layout.BucketOfColumns))
	}
}

var familyPattern = regexp.MustCompile(`^[-_.a-zA-Z0-9]+$`)

// familyName is L05: characters and length of family names.
func familyName(_ *layout.Layout, t *layout.Table, f layout.Family, report reporter) {
	switch {
	case f.Sums && len(f.Name) > maxFamilyName:
		report.at(f.Pos, "sums", t.Pattern, f.Name, len(f.Name), maxFamilyName)
	case f.Name == "", f.Sums: // reported with the table, or with the family of events
	case !familyPattern.MatchString(f.Name):
		report.at(f.Pos, "characters", f.Name, legalFamily(t, f.Name))
	case len(f.Name) > maxFamilyName:
		report.at(f.Pos, "long", len(f.Name), maxFamilyName)
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
		report.at(t.Pos, "characters", t.ID)
	case len(t.ID) > codec.MaxTableID:
		report.at(t.Pos, "long", len(t.ID), codec.MaxTableID)
	}
}

// gcRuleSize is L09: the size of a garbage collection rule on the wire.
func gcRuleSize(_ *layout.Layout, _ *layout.Table, f layout.Family, report reporter) {
	if n := f.GC.WireSize(); n > maxGCRuleBytes && !f.Sums {
		report.at(f.GCPos, "size", n, maxGCRuleBytes)
	}
}

// gcRuleAge is L10: ages in whole seconds.
func gcRuleAge(l *layout.Layout, t *layout.Table, f layout.Family, report reporter) {
	if f.GC.Kind == codec.GCMaxAge && f.GC.MaxAge%time.Second != 0 && !f.Sums {
		report.at(f.GCPos, "fraction", f.GC.MaxAge, wholeSeconds(f))
	}
	for _, nested := range f.GC.Rules {
		of := f
		of.GC = nested
		gcRuleAge(l, t, of, report)
	}
}

// wholeSeconds proposes to round up the age of a family to whole seconds.
func wholeSeconds(f layout.Family) string {
	up := (f.GC.MaxAge + time.Second - 1).Truncate(time.Second)
	switch f.Strategy {
	case layout.MaxAge:
		return ": " + code("ttl: {max_age: %s}", schema.FormatDuration(up))
	case layout.MaxAgeFromWrite:
		return ": " + code("ttl: {max_age: %s, from: write}", schema.FormatDuration(up))
	}
	return ", at least 1s"
}

// splitCount is L12: the number of initial splits.
func splitCount(_ *layout.Layout, t *layout.Table, report reporter) {
	if n := len(t.Splits); n > codec.MaxSplits {
		report.at(report.written(t).Splits[codec.MaxSplits].Pos, "many", t.ID, n, codec.MaxSplits)
	}
}
