package lint

import (
	"slices"

	"github.com/btgen-dev/btgen/gen/diag"
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
			found = append(found, rule.findShared(tables)...)
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
			i, known := index[t.ID]
			if !known {
				i = len(out)
				index[t.ID], out = i, append(out, nil)
			}
			out[i] = append(out[i], t)
		}
	}
	return out
}

// findShared returns the findings of a rule in a table that some schemas share, without those
// that the schema with the finding allows.
func (r Rule) findShared(tables []*layout.Table) diag.List {
	var found diag.List
	check := sharedChecks[r.ID]
	if check == nil {
		return nil
	}
	check(tables, reporter{rule: r, severity: r.Severity, found: &found})
	return slices.DeleteFunc(found, func(d diag.Diagnostic) bool {
		return slices.ContainsFunc(tables, func(t *layout.Table) bool {
			view := func(v layout.MaterializedView) bool { return v.Pos == d.Pos }
			return t.Allows(r.ID) && (t.Pos == d.Pos || slices.ContainsFunc(t.Views, view))
		})
	})
}

// separateFamilies reports families of a table that several schemas use, or several tables of
// one, which may have been there in an earlier layout: the events of one would be read as the
// other's, unless their keys tell kinds of records apart.
func separateFamilies(layouts []*layout.Layout, found *diag.List) {
	type place struct{ table, family string }
	type user struct {
		l          *layout.Layout
		of, period *layout.Table
		family     *layout.Family
	}
	users := map[place][]user{}
	for _, l := range layouts {
		for _, t := range l.Tables {
			for _, period := range t.Periods() {
				all := period.AllFamilies()
				for i := range all {
					f := &all[i]
					at, one := place{period.ID, f.Name}, user{l, t, period, f}
					for _, first := range users[at] {
						if first.of == t {
							continue
						}
						switch {
						case f.Sums != first.family.Sums:
							found.Errorf(f.Pos, "family %q of table %q, which has the sums of pattern %s, is already used at %s", f.Name, period.ID, codec.Latest, first.family.Pos).Hint = "rename one of the families"
						case !layout.TellApart(first.period, period):
							found.Errorf(f.Pos, "family %q of table %q is already used at %s: the events of one schema would be read as the other's", f.Name, period.ID, first.family.Pos).Hint = "rename the family, or tell the keys of both schemas apart at the same segment, as in {const: click, kind: true} and {const: view, kind: true}"
						case f.GC.String() != first.family.GC.String() || f.Life.Timestamp != first.family.Life.Timestamp:
							found.Errorf(f.GCPos, "family %q of table %q has a different ttl at %s, but a family has one rule for all its data", f.Name, period.ID, first.family.GCPos).Hint = "use the same ttl in both schemas, or rename the family"
						default:
							continue
						}
						break
					}
					users[at] = append(users[at], one)
				}
			}
		}
	}
}

// agreement is a setting of a table on which all schemas must agree that have it.
type agreement struct {
	what, hint string
	pos        func(t *layout.Table) diag.Pos
	same       func(a, b *layout.Table) bool
	has        func(t *layout.Table) bool
}

func posOf(t *layout.Table) diag.Pos { return t.Pos }

// agreements are the settings on which schemas must agree.
var agreements = []agreement{
	{"row_key_schema", "use another table, or remove row_key_schema: GoogleSQL parses all keys of a table the same way", posOf,
		func(a, b *layout.Table) bool {
			return slices.Equal(a.KeyFields, b.KeyFields) && (a.KeyFields == nil || a.Delimiter == b.Delimiter)
		},
		func(*layout.Table) bool { return true }},
	{"deletion_protection", useSame, posOf,
		func(a, b *layout.Table) bool { return *a.Protected == *b.Protected },
		func(t *layout.Table) bool { return t.Protected != nil }},
	{"tier", useSame, func(t *layout.Table) diag.Pos { return t.TierPos },
		func(a, b *layout.Table) bool { return a.Tier == b.Tier },
		func(t *layout.Table) bool { return t.Tier != 0 }},
	{"schema bundle", useSame + ": a bundle has the messages of all schemas of the table", func(t *layout.Table) diag.Pos { return t.Bundle.Pos },
		func(a, b *layout.Table) bool { return a.Bundle.Same(b.Bundle) },
		func(t *layout.Table) bool { return t.Bundle.ID != "" }},
}

const useSame = "use the same value in both, or remove one"

// agree reports settings that differ from that of an earlier schema.
func (a *agreement) agree(tables []*layout.Table, found *diag.List) {
	var first *layout.Table
	for _, t := range tables {
		switch {
		case !a.has(t):
		case first != nil && !a.same(first, t):
			found.Errorf(a.pos(t), "the %s of table %q differs from that at %s", a.what, t.ID, a.pos(first)).Hint = a.hint
		default:
			first = t
		}
	}
}

// maxFamilies is the number of column families per table that Bigtable recommends at most.
const maxFamilies = 100

// manyFamilies is L06: over maxFamilies column families. It reports the schema that adds the
// first one beyond.
func manyFamilies(tables []*layout.Table, report reporter) {
	families := map[string]bool{}
	for _, t := range tables {
		for _, f := range t.AllFamilies() {
			families[f.Name] = true
		}
		if len(families) > maxFamilies {
			report.at(t.Pos, "many", t.ID, maxFamilies)
			return
		}
	}
}
