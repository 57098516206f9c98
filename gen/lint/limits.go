package lint

import (
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// limitChecks are about the limits of Bigtable.
var limitChecks = checks{
	// For the fixed parts of a key, and for example values; the writer checks each key.
	"L01": func(r reporter) {
		size := 0
		for i, g := range r.t.Segments {
			size += r.t.Width(&g) + len(r.t.DelimiterAfter(i))
		}
		switch {
		case size > codec.MaxKey:
			r.at(r.t.KeyPos, "fixed", size, codec.MaxKey)
		case r.t.Complete() && sample.KeyTooLong(r.l, r.t):
			r.at(r.t.KeyPos, "example", codec.MaxKey)
		}
	},
	"L02": func(r reporter) { // for the declared value_bytes; the writer checks each cell
		switch n := r.size().Cell; {
		case n > maxCellBytes:
			r.at(r.t.Pos, "limit", size(n))
		case n > recommendedCell:
			r.severity = diag.Warning
			r.at(r.t.Pos, "large", size(n))
		}
	},
	// An error if the lower bound exceeds the limit at a declared rate, and a warning if it does at an assumed rate.
	"L03": func(r reporter) {
		e := r.size()
		known := !e.Load.AssumedRate || !r.t.Pattern.Bucketed() && !e.Load.AssumedValueBytes
		rule := "Bigtable cannot read rows over 256 MB"
		switch {
		case e.LeastRow > maxRowBytes && known:
		case e.LeastRow > maxRowBytes:
			r.severity = diag.Warning
		case e.Row.Typical > recommendedRowBytes:
			rule, r.severity = "Bigtable recommends at most 100 MB", diag.Warning
		case e.Row.Typical > recommendedRowBytes/2:
			rule, r.severity = "Bigtable recommends at most 100 MB, so leave room to grow", diag.Advice
		default:
			return
		}
		if !r.t.Pattern.Bucketed() {
			r.at(r.t.Pos, "event", e.Row, rule)
			return
		}
		r.at(r.t.WidthPos, "bucket", e.Row, e.EventsPerRow, basis(e.Load), rule, r.smaller(&e))
	},
	"L15": func(r reporter) { // rows with very many cells are slow
		if !r.t.Pattern.Bucketed() {
			return
		}
		when, e := "cells", r.size()
		if replaces(&e) {
			when = "replaced"
		}
		if e.CellsPerRow > maxRowCells {
			r.at(r.t.WidthPos, when, e.CellsPerRow, basis(e.Load), maxRowCells, r.smaller(&e))
		}
	},
	"L13": func(r reporter) { // a read of some fields names their columns in its filter
		bytes := 0
		for _, c := range r.t.Columns {
			bytes += len(regexp.QuoteMeta(c.Qualifier) + "|")
		}
		if bytes > maxFilterBytes && len(r.t.Columns) > 1 {
			r.at(r.t.Pos, "names", bytes, maxFilterBytes)
		}
	},
	// For column names, and for values that become qualifiers if their size is declared; the writer checks each qualifier.
	"L04": func(r reporter) {
		for _, c := range r.t.Columns {
			if len(c.Qualifier) > maxQualifierBytes {
				r.at(c.Pos, "name", len(c.Qualifier), maxQualifierBytes)
			}
		}
		if e := r.size(); r.t.Pattern.Naming() == codec.NamedByValue && !e.Load.AssumedValueBytes && e.Datum > maxQualifierBytes {
			r.at(r.t.PatternPos, "value", size(e.Datum), size(maxQualifierBytes), layout.PatternWith(layout.BucketOfColumns))
		}
	},
	"L05": ofAllFamilies(func(r reporter, f layout.Family) { // characters and length of family names
		switch {
		case f.Sums && len(f.Name) > maxFamilyName:
			r.at(f.Pos, "sums", r.t.Pattern, f.Name, len(f.Name), maxFamilyName)
		case f.Name == "", f.Sums: // reported with the table, or with the family of events
		case notInFamily.MatchString(f.Name):
			legal := strings.Trim(notInFamily.ReplaceAllString(f.Name, "_"), "_")
			if len(r.t.Families) > 1 || legal == "" {
				r.at(f.Pos, "characters", f.Name, "")
			} else {
				r.at(f.Pos, "characters", f.Name, ": "+code("family: %s", schema.Quoted(legal)))
			}
		case len(f.Name) > maxFamilyName:
			r.at(f.Pos, "long", len(f.Name), maxFamilyName)
		}
	}),
	"L07": func(r reporter) { // characters and length of table IDs
		switch {
		case !codec.ValidTableID(r.t.ID):
			r.at(r.t.Pos, "characters", r.t.ID)
		case len(r.t.ID) > codec.MaxTableID:
			r.at(r.t.Pos, "long", len(r.t.ID), codec.MaxTableID)
		}
	},
	"L09": ofAllFamilies(func(r reporter, f layout.Family) { // the size of a garbage collection rule on the wire
		if n := wireSize(f.GC); n > maxGCRuleBytes && !f.Sums {
			r.at(f.GCPos, "size", n, maxGCRuleBytes)
		}
	}),
	"L10": ofAllFamilies(wholeAges),
	"L12": func(r reporter) { // the number of initial splits
		if n := len(r.t.Splits); n > codec.MaxSplits {
			r.at(r.written(r.t).Splits[codec.MaxSplits].Pos, "many", r.t.ID, n, codec.MaxSplits)
		}
	},
}

// Bigtable's limits, inclusive, from its pages on quotas and schema design.
const (
	maxRowBytes         = 256_000_000
	recommendedRowBytes = 100_000_000
	maxRowCells         = 100_000 // our judgment
	maxCellBytes        = 100 << 20
	recommendedCell     = 10_000_000 // bytes
	maxFilterBytes      = 20_480
	maxQualifierBytes   = 16 << 10
	maxFamilyName       = 64  // bytes
	maxFamilies         = 100 // of a table, recommended
	maxGCRuleBytes      = 500
)

// replaces reports whether events replace each other in the row of a series, so that most of a
// large row awaits garbage collection.
func replaces(e *estimate.Estimate) bool {
	return e.Horizon > 0 && 2*e.LivePerRow < e.EventsPerRow && e.Horizon != e.Retention
}

// smaller proposes how to keep the rows of a table smaller.
func (r reporter) smaller(e *estimate.Estimate) string {
	switch {
	case replaces(e):
		return r.declared("write less often: a batch needs only the newest of the events that replace each other")
	case r.t.Pattern.NewestOnly():
		return r.declared("let garbage collection remove the versions that newer events replace, as in " + code("ttl: {any_of: [{max_age: 7d}, {max_versions: 1}]}"))
	}
	return r.narrower()
}

var notInFamily = regexp.MustCompile(`[^-_.a-zA-Z0-9]+`)

// wireSize returns the size in bytes of a rule as a google.bigtable.admin.v2.GcRule message, whose tags are short.
func wireSize(r codec.GCRule) int {
	switch r.Kind {
	case codec.GCMaxAge:
		return len(codec.AppendProtoDuration(nil, 2, codec.Explicit, r.MaxAge))
	case codec.GCMaxVersions:
		return 1 + protowire.SizeVarint(uint64(r.MaxVersions))
	case codec.GCNone:
		return 0
	}
	list := 0
	for _, rule := range r.Rules {
		list += 1 + protowire.SizeBytes(wireSize(rule))
	}
	return 1 + protowire.SizeBytes(list)
}

// wholeAges reports ages that are not in whole seconds, also those of nested rules.
func wholeAges(r reporter, f layout.Family) {
	if f.GC.Kind == codec.GCMaxAge && f.GC.MaxAge%time.Second != 0 && !f.Sums {
		r.at(f.GCPos, "fraction", f.GC.MaxAge, wholeSeconds(f))
	}
	for _, f.GC = range f.GC.Rules {
		wholeAges(r, f)
	}
}

// wholeSeconds proposes to round up the age of a family to whole seconds.
func wholeSeconds(f layout.Family) string {
	up := (f.GC.MaxAge + time.Second - 1).Truncate(time.Second)
	if f.Strategy != schema.MaxAge && f.Strategy != layout.MaxAgeFromWrite {
		return ", at least 1s"
	}
	from := strings.TrimPrefix(string(f.Strategy), string(schema.MaxAge))
	return ": " + code("ttl: {max_age: %s%s}", schema.FormatDuration(up), from)
}
