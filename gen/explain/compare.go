package explain

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/document"
)

// Compare returns a document with two schemas side by side: first the properties that differ, then those that are the
// same in both. Each explanation is of one schema. Tables are matched by ID or, if each schema has one table, with each
// other; reads are matched by method.
func Compare(a, b *Explanation) *document.Document {
	single := a.single() && b.single()
	var names []string
	texts := map[string]*[2]string{}
	for side, d := range []*Explanation{a, b} {
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
	same := &document.Table{Columns: []document.Column{{Style: document.Muted}, {}}}
	different := &document.Table{Columns: []document.Column{{Style: document.Muted}, {Name: a.file}, {Name: b.file}}}
	for _, name := range names {
		if text := texts[name]; text[0] == text[1] {
			same.Row(nil, name, text[0])
		} else {
			different.Row(nil, name, text[0], text[1])
		}
	}
	out := document.New()
	out.Title = a.file + " and " + b.file
	differences := count(len(different.Rows), "difference")
	out.Sections = []*document.Section{
		{ID: "differences", Title: differences, Parts: []document.Part{{Table: different}}},
		{ID: "same", Title: "the same in both", Parts: []document.Part{{Table: same}}},
	}
	return &out
}

// single reports whether all facts of tables are of the same one.
func (e *Explanation) single() bool {
	table := ""
	return !slices.ContainsFunc(e.facts, func(f fact) bool {
		if f.table == "" {
			return false
		}
		other := table != "" && table != f.table
		table = f.table
		return other
	})
}
