package explain

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/words"
)

// Compare returns a document with two schemas side by side: first the properties that differ, then those that are the same in
// both. Each document explains one schema. Tables are matched by ID or, if each schema has one table, with each other; reads
// are matched by method.
func Compare(a, b *Document, nameOfA, nameOfB string) *Document {
	single := a.single() && b.single()
	var names []string
	texts := map[string]*[2]string{}
	for side, d := range []*Document{a, b} {
		for _, f := range d.facts {
			name := f.name
			if f.table != "" && !single {
				name += " of " + f.table
			}
			if texts[name] == nil {
				texts[name] = &[2]string{none, none}
				names = append(names, name)
			}
			texts[name][side] = f.text
		}
	}
	same := &Table{Columns: []Column{{Style: Muted}, {}}}
	different := &Table{Columns: []Column{{Style: Muted}, {Name: nameOfA}, {Name: nameOfB}}}
	for _, name := range names {
		if text := texts[name]; text[0] == text[1] {
			same.row(nil, name, text[0])
		} else {
			different.row(nil, name, text[0], text[1])
		}
	}
	return &Document{Version: Version, Title: nameOfA + " and " + nameOfB, Sections: []*Section{
		{ID: "differences", Title: words.Count(float64(len(different.Rows)), "difference", "differences"), Parts: []Part{{Table: different}}},
		{ID: "same", Title: "the same in both", Parts: []Part{{Table: same}}},
	}}
}

// single reports whether all facts of tables are of the same one.
func (d *Document) single() bool {
	table := ""
	return !slices.ContainsFunc(d.facts, func(f fact) bool {
		if f.table == "" {
			return false
		}
		other := table != "" && table != f.table
		table = f.table
		return other
	})
}
