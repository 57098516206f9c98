package storetest

import (
	"regexp"
	"strings"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
)

// withoutPatterns returns a filter that selects the same cells, with ranges of columns in place of patterns that are plain names:
// the in-memory server compiles patterns again for each cell, which takes most of the time of a read.
func withoutPatterns(f *bigtablepb.RowFilter) *bigtablepb.RowFilter {
	switch of := f.GetFilter().(type) {
	case *bigtablepb.RowFilter_FamilyNameRegexFilter:
		if name := of.FamilyNameRegexFilter; isName(name) {
			return columnsOf(&bigtablepb.ColumnRange{FamilyName: name})
		}
	case *bigtablepb.RowFilter_Chain_:
		return chained(of.Chain.GetFilters())
	}
	return f
}

// chained is withoutPatterns for the filters of a chain. If one of them selects a family, others may select its columns.
func chained(filters []*bigtablepb.RowFilter) *bigtablepb.RowFilter {
	out := &bigtablepb.RowFilter_Chain{}
	family := ""
	for _, f := range filters {
		if name := f.GetFamilyNameRegexFilter(); isName(name) {
			family = name
		}
	}
	for _, f := range filters {
		if names := f.GetColumnQualifierRegexFilter(); family != "" && names != nil {
			f = named(f, family, strings.Split(string(names), "|"))
		}
		out.Filters = append(out.Filters, withoutPatterns(f))
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Chain_{Chain: out}}
}

// named returns a filter of the columns of a family with given names, or f if they are no names.
func named(f *bigtablepb.RowFilter, family string, names []string) *bigtablepb.RowFilter {
	out := &bigtablepb.RowFilter_Interleave{}
	seen := map[string]bool{} // each column once
	for _, name := range names {
		if !isName(name) {
			return f
		}
		if !seen[name] {
			seen[name] = true
			out.Filters = append(out.Filters, columnsOf(&bigtablepb.ColumnRange{
				FamilyName:     family,
				StartQualifier: &bigtablepb.ColumnRange_StartQualifierClosed{StartQualifierClosed: []byte(name)},
				EndQualifier:   &bigtablepb.ColumnRange_EndQualifierClosed{EndQualifierClosed: []byte(name)},
			}))
		}
	}
	if len(out.Filters) == 1 {
		return out.Filters[0]
	}
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_Interleave_{Interleave: out}}
}

// columnsOf returns the filter of a range of columns.
func columnsOf(r *bigtablepb.ColumnRange) *bigtablepb.RowFilter {
	return &bigtablepb.RowFilter{Filter: &bigtablepb.RowFilter_ColumnRangeFilter{ColumnRangeFilter: r}}
}

// isName reports whether a pattern matches only itself.
func isName(pattern string) bool {
	return pattern != "" && regexp.QuoteMeta(pattern) == pattern && !strings.ContainsFunc(pattern, func(r rune) bool { return r < ' ' || r > '~' })
}
