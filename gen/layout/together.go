package layout

import (
	"cmp"
	"slices"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// StoredTable is a table in Bigtable with everything that schemas store in it. Setup creates
// it, with all families.
type StoredTable struct {
	ID        string
	Families  []Family         // each once, also those of rollups; those of the newest layouts first
	Splits    []string         // sorted
	Delimiter string           // of KeyFields; empty for ordered code
	KeyFields []codec.KeyField // as in Table
	Protected *bool            // as in Table
	Tier      codec.Tier       // as in Table
	Bundle    schema.Bundle    // as in Table
	// Layouts are what schemas store in the table: in the order of the schemas, and for each
	// the newest layout by time first.
	Layouts []StoredLayout
	// Draft reports that some schema marks the table as a draft, which only an emulator may have.
	Draft bool
}

// StoredLayout is a layout of a table, and the schema that has it.
type StoredLayout struct {
	Schema *Layout
	Table  *Table
}

// Shared reports whether several schemas share the table.
func (s *StoredTable) Shared() bool {
	return s.Layouts[0].Schema != s.Layouts[len(s.Layouts)-1].Schema
}

// StoredTables returns the tables of all schemas, those of earlier layouts included, sorted by
// ID. The layouts must agree, as package lint checks.
func StoredTables(layouts []*Layout) []StoredTable {
	byID := map[string]*StoredTable{}
	for _, l := range layouts {
		for _, newest := range l.Tables {
			for _, t := range newest.Periods() {
				stored := byID[t.ID]
				if stored == nil {
					stored = &StoredTable{ID: t.ID}
					byID[t.ID] = stored
				}
				stored.add(l, t)
				stored.Draft = stored.Draft || newest.Draft
			}
		}
	}
	out := make([]StoredTable, 0, len(byID))
	for _, t := range byID {
		slices.Sort(t.Splits)
		t.Splits = slices.Compact(t.Splits)
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b StoredTable) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// add adds what a layout stores. Of the layouts of a schema, splits, row key schema, tier,
// schema bundle and protection are those of the newest in the table.
func (s *StoredTable) add(l *Layout, t *Table) {
	older := slices.ContainsFunc(s.Layouts, func(have StoredLayout) bool { return have.Schema == l })
	s.Layouts = append(s.Layouts, StoredLayout{l, t})
	for _, f := range t.AllFamilies() {
		if !slices.ContainsFunc(s.Families, func(have Family) bool { return have.Name == f.Name }) {
			s.Families = append(s.Families, f)
		}
	}
	if older {
		return
	}
	s.Splits = append(s.Splits, t.Splits...)
	if s.KeyFields == nil {
		s.Delimiter, s.KeyFields = t.Delimiter, t.KeyFields
	}
	if s.Tier == 0 {
		s.Tier = t.Tier
	}
	if s.Bundle.ID == "" {
		s.Bundle = t.Bundle
	}
	if s.Protected == nil {
		s.Protected = t.Protected
	}
}
