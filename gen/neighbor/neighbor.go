// Package neighbor renders definitions of tables for tools that use them beside generated code:
// Terraform, BigQuery and GoogleSQL for Bigtable. It knows what the tools can represent; what a
// table contains is decided by package layout.
package neighbor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
)

// Wanted reports whether a btgen.yaml or a schema requests files.
func Wanted(layouts []*layout.Layout, config *schema.Config) bool {
	views := func(t *layout.Table) bool { return len(t.Views) > 0 }
	return config.Terraform.V || config.BigQuery != nil || config.LogicalViews.V ||
		slices.ContainsFunc(layouts, func(l *layout.Layout) bool { return slices.ContainsFunc(l.Tables, views) })
}

// Files returns the files that a btgen.yaml and the schemas of its project request, sorted by
// path. The layouts must be all of the project, without errors. The findings are what the tools
// cannot represent; there are no files if one is an error.
func Files(layouts []*layout.Layout, config *schema.Config) ([]output.File, diag.List) {
	r := &renderer{tables: layout.StoredTables(layouts), config: config}
	if config.Terraform.V {
		r.terraform()
	}
	if config.BigQuery != nil {
		r.bigQuery()
	}
	if config.LogicalViews.V {
		r.logicalViews()
	}
	r.materializedViews()
	if r.found.HasErrors() {
		return nil, r.found
	}
	slices.SortFunc(r.files, func(a, b output.File) int { return cmp.Compare(a.Path, b.Path) })
	return r.files, r.found
}

// renderer collects files and findings.
type renderer struct {
	tables []layout.StoredTable
	config *schema.Config
	files  []output.File
	found  diag.List
}

// add adds a file.
func (r *renderer) add(path, head, text string) {
	r.files = append(r.files, output.File{Path: path, Content: []byte(head + "\n" + text)})
}

// recordOf returns the record of a file about tables.
func recordOf(tables ...layout.StoredTable) output.Record {
	var record output.Record
	for _, t := range tables {
		for _, l := range t.Layouts {
			record.Sources = append(record.Sources, cmp.Or(l.Schema.Source, l.Schema.File))
			record.Project = cmp.Or(record.Project, l.Schema.Project)
		}
	}
	slices.Sort(record.Sources)
	record.Sources = slices.Compact(record.Sources)
	return record
}

// live returns the tables that are not drafts, which only an emulator may have.
func (r *renderer) live() []layout.StoredTable {
	return slices.DeleteFunc(slices.Clone(r.tables), func(t layout.StoredTable) bool { return t.Draft })
}

// bundle returns the ID of the schema bundle with the messages of a table; empty for none.
func (r *renderer) bundle(table string) string {
	i := slices.IndexFunc(r.tables, func(t layout.StoredTable) bool { return t.ID == table && !t.Bundle.Drop })
	if i < 0 {
		return ""
	}
	return r.tables[i].Bundle.ID
}

// unique returns the names that a tool has for tables, by ID, and reports those that two tables
// would share.
func (r *renderer) unique(tables []layout.StoredTable, tool string, name func(id string) string) map[string]string {
	names, taken := map[string]string{}, map[string]string{}
	for _, t := range tables {
		own := name(t.ID)
		if other, is := taken[strings.ToLower(own)]; is && !r.found.HasErrors() { // other tools would report the same
			r.found.Errorf(t.Layouts[0].Table.Pos, "in %s, tables %q and %q would both have the name %s", tool, other, t.ID, own).Hint = "rename one of the tables"
		}
		names[t.ID], taken[strings.ToLower(own)] = own, t.ID
	}
	return names
}

// comment returns text as comment lines of at most 100 columns.
func comment(mark, format string, args ...any) string {
	var b strings.Builder
	line := mark
	for _, word := range strings.Fields(words.Printable(fmt.Sprintf(format, args...))) {
		if line != mark && len(line)+1+len(word) > 100 {
			b.WriteString(line + "\n")
			line = mark
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
	return b.String()
}
