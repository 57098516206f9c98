package lint

import (
	"fmt"
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/googlesql"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// CheckShared checks the tables of all schemas together: schemas that share a table must
// agree on it, and rules about tables with all their schemas apply. Unused allow entries for
// such rules are not findings, since the other schemas may not be at hand.
func CheckShared(layouts []*layout.Layout) diag.List {
	var found diag.List
	separateFamilies(layouts, &found)
	for _, tables := range shared(layouts) {
		for _, a := range agreements {
			a.agree(tables, &found)
		}
		for _, rule := range Rules() {
			if check := sharedChecks[rule.ID]; check != nil {
				var of diag.List
				check(reporter{rule: rule, severity: rule.Severity, found: &of, tables: tables})
				found = append(found, slices.DeleteFunc(of, func(d diag.Diagnostic) bool { return allowed(d, tables) })...)
			}
		}
	}
	return found
}

// shared groups the tables of several schemas by their IDs, in the order of the schemas.
func shared(layouts []*layout.Layout) [][]*layout.Table {
	var out [][]*layout.Table
	index := map[string]int{}
	for _, l := range layouts {
		for _, t := range l.Tables {
			if _, known := index[t.ID]; !known {
				index[t.ID], out = len(out), append(out, nil)
			}
			i := index[t.ID]
			out[i] = append(out[i], t)
		}
	}
	return out
}

// allowed reports whether the schema with a finding about tables that schemas share allows it.
func allowed(d diag.Diagnostic, tables []*layout.Table) bool {
	return slices.ContainsFunc(tables, func(t *layout.Table) bool {
		view := func(v layout.MaterializedView) bool { return v.Pos == d.Pos }
		return t.Allows(d.Rule) && (t.Pos == d.Pos || slices.ContainsFunc(t.Views, view))
	})
}

// separateFamilies reports families of a table that several schemas use, or several tables of
// one, which may have been there in an earlier layout: the events of one would be read as the
// other's, unless their keys tell kinds of records apart.
func separateFamilies(layouts []*layout.Layout, found *diag.List) {
	type place struct{ table, family string }
	type user struct {
		of, period *layout.Table
		family     layout.Family
	}
	users := map[place][]user{}
	for _, l := range layouts {
		for _, t := range l.Tables {
			for _, period := range t.Periods() {
				for _, f := range period.AllFamilies() {
					at := place{period.ID, f.Name}
					for _, first := range users[at] {
						if first.of != t && !agreeOnFamily(first.period, period, &first.family, &f, found) {
							break
						}
					}
					users[at] = append(users[at], user{t, period, f})
				}
			}
		}
	}
}

// agreeOnFamily reports what keeps two tables from using a family. It returns whether it found nothing.
func agreeOnFamily(first, period *layout.Table, was, f *layout.Family, found *diag.List) bool {
	switch id := period.ID; {
	case f.Sums != was.Sums:
		found.Errorf(f.Pos, "family %q of table %q, which has the sums of pattern %s, is already used at %s", f.Name, id, codec.Latest, was.Pos).Hint = "rename one of the families"
	case !layout.TellApart(first, period):
		found.Errorf(f.Pos, "family %q of table %q is already used at %s: the events of one schema would be read as the other's", f.Name, id, was.Pos).Hint = "rename the family, or tell the keys of both schemas apart at the same segment, as in {const: click, kind: true} and {const: view, kind: true}"
	case f.GC.String() != was.GC.String() || f.Life.Timestamp != was.Life.Timestamp:
		found.Errorf(f.GCPos, "family %q of table %q has a different ttl at %s, but a family has one rule for all its data", f.Name, id, was.GCPos).Hint = "use the same ttl in both schemas, or rename the family"
	default:
		return true
	}
	return false
}

// agreement is a setting of a table on which all schemas must agree that have it.
type agreement struct {
	what, hint string
	of         func(t *layout.Table) (pos diag.Pos, has bool)
	same       func(a, b *layout.Table) bool
}

const useSame = "use the same value in both, or remove one"

// agreements are the settings on which schemas must agree.
var agreements = []agreement{
	{"row_key_schema", "use another table, or remove row_key_schema: GoogleSQL parses all keys of a table the same way",
		func(t *layout.Table) (diag.Pos, bool) { return t.Pos, true },
		func(a, b *layout.Table) bool {
			return slices.Equal(a.KeyFields, b.KeyFields) && (a.KeyFields == nil || a.Delimiter == b.Delimiter)
		}},
	{"deletion_protection", useSame,
		func(t *layout.Table) (diag.Pos, bool) { return t.Pos, t.Protected != nil },
		func(a, b *layout.Table) bool { return *a.Protected == *b.Protected }},
	{"tier", useSame,
		func(t *layout.Table) (diag.Pos, bool) { return t.TierPos, t.Tier != 0 },
		func(a, b *layout.Table) bool { return a.Tier == b.Tier }},
	{"schema bundle", useSame + ": a bundle has the messages of all schemas of the table",
		func(t *layout.Table) (diag.Pos, bool) { return t.Bundle.Pos, t.Bundle.ID != "" },
		func(a, b *layout.Table) bool { return a.Bundle.Same(b.Bundle) }},
}

// agree reports settings that differ from that of an earlier schema.
func (a *agreement) agree(tables []*layout.Table, found *diag.List) {
	var first *layout.Table
	for _, t := range tables {
		switch pos, has := a.of(t); {
		case !has:
		case first != nil && !a.same(first, t):
			at, _ := a.of(first)
			found.Errorf(pos, "the %s of table %q differs from that at %s", a.what, t.ID, at).Hint = a.hint
		default:
			first = t
		}
	}
}

// sharedChecks are about tables with all schemas that share them.
var sharedChecks = checks{
	"L06": func(r reporter) { // it reports the schema that adds the first family beyond
		families := map[string]bool{}
		for _, t := range r.tables {
			for _, f := range t.AllFamilies() {
				families[f.Name] = true
			}
			if len(families) > maxFamilies {
				r.at(t.Pos, "many", t.ID, maxFamilies)
				return
			}
		}
	},
	"L16": func(r reporter) { // it reports the first view beyond
		n, layouts := 0, 1
		var beyond *layout.MaterializedView
		for _, t := range r.tables {
			of := len(googlesql.Layouts(t))
			layouts = max(layouts, of)
			for i := range t.Views {
				if n += of; n > maxViews && beyond == nil {
					beyond = &t.Views[i]
				}
			}
		}
		if beyond == nil {
			return
		}
		of := ""
		if layouts > 1 {
			of = fmt.Sprintf(", one for each of %d layouts by time", layouts)
		}
		if len(r.tables) > 1 {
			of += fmt.Sprintf(", of %d schemas", len(r.tables))
		}
		r.at(beyond.Pos, "many", r.tables[0].ID, n, of, maxViews)
	},
}
