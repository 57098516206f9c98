package infer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"

	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/window"
)

// outlives reports whether cells may be older than an age.
func (d *draft) outlives(age time.Duration) bool {
	return slices.ContainsFunc(d.families(), func(f string) bool {
		alive := d.key.table.Families[f].Retention(0)
		return alive == nil || alive[len(alive)-1].MaxAge == 0 || alive[len(alive)-1].MaxAge > age
	})
}

// ttl returns the time to live of a family in the schema language. Where timestamps of cells
// are not those of events, ages count from the write.
func (d *draft) ttl(family string, o options) schema.TTL {
	rule := d.key.table.Families[family].Normalize()
	if o.worn {
		_, rule = versionsOf(rule)
	}
	return schema.TTLOf(rule, !d.timed)
}

// versionsOf returns the number of cells of a column that a rule keeps, 0 if it does not count them, and a rule that keeps the rest.
func versionsOf(r codec.GCRule) (n int, rest codec.GCRule) {
	rest = codec.GCRule{Kind: codec.GCUnion}
	for _, rule := range r.Rules {
		of, left := versionsOf(rule)
		if n = cmp.Or(n, of); left.Kind != codec.GCNone {
			rest.Rules = append(rest.Rules, left)
		}
	}
	switch {
	case r.Kind == codec.GCMaxVersions:
		return r.MaxVersions, codec.GCRule{}
	case n == 0:
		return 0, r
	case r.Kind != codec.GCUnion:
		return n, codec.GCRule{}
	}
	return n, rest.Normalize()
}

// countsVersions reports whether a family of the draft keeps a number of cells of each column.
func (d *draft) countsVersions() bool {
	return slices.ContainsFunc(d.families(), func(f string) bool {
		n, _ := versionsOf(d.key.table.Families[f])
		return n > 0
	})
}

// versionsQuestion asks about a family that keeps a number of cells of each column: where that is one in a row without
// a time, the table may have the newest event of each series; else, the schema may lack the number. It is empty if
// nothing is unclear.
func (d *draft) versionsQuestion(family string, o options) string {
	rule := d.key.table.Families[family].Normalize()
	n, _ := versionsOf(rule)
	switch {
	case n == 0:
		return ""
	case n == 1 && d.pattern == codec.BucketNewCells && d.bucket == "none":
		said := ""
		if o.worn {
			said = " The schema leaves out max_versions, which setup would remove: " + d.noVersions + "."
		}
		return fmt.Sprintf("The family keeps one cell of each column. Does a row have the newest event of its series? Then write pattern: latest and ttl: %s, without bucket, in a "+
			"schema that also has the table with all events.", schema.TTLOf(rule, false)) + said
	case o.worn:
		return fmt.Sprintf("The family has the rule ttl: %s, of which the schema leaves out max_versions: %s. Does the table need it? Setup would remove it.", schema.TTLOf(rule, false), d.noVersions)
	}
	return ""
}

// rolled is what the sample says about a rollup.
type rolled struct {
	family string
	other  bool          // whether the family has other cells
	every  time.Duration // width of the windows in the newest run; 0 if the sample has none that can be read
	fields []string      // of that run
	widths map[time.Duration]bool

	newest bigtable.Timestamp // the end of the last bucket
	at     bigtable.Timestamp // that of the newest run
	name   string             // its column
}

// rollupsOf finds the families that have only cells of rollups.
func rollupsOf(rows []bigtable.Row) []*rolled {
	found := map[string]*rolled{}
	for _, row := range rows {
		for family, items := range row {
			if found[family] == nil {
				found[family] = &rolled{family: family, widths: map[time.Duration]bool{}}
			}
			for _, item := range items {
				found[family].add(qualifierOf(family, item), item)
			}
		}
	}
	maps.DeleteFunc(found, func(_ string, r *rolled) bool { return r.other })
	return slices.SortedFunc(maps.Values(found), func(a, b *rolled) int {
		return cmp.Or(cmp.Compare(b.newest, a.newest), cmp.Compare(a.family, b.family))
	})
}

// add examines a cell. Names alone do not tell that it is one of a rollup: fields may have such ones.
func (r *rolled) add(name string, item bigtable.ReadItem) {
	if r.other = r.other || !rollup.Known(name); r.other {
		return
	}
	if rollup.IsDeletion(name) {
		_, ok := rollup.ParseRanges(item.Value)
		r.other = !ok
	} else {
		r.other = name <= rollup.FirstRun && len(item.Value) > 0
	}
	r.newest = max(r.newest, item.Timestamp)
	every, fields, err := window.DescribeRun(item.Value)
	if err != nil {
		return // a mark, or damaged
	}
	if r.widths[every] = true; r.name == "" || item.Timestamp > r.at || item.Timestamp == r.at && name > r.name {
		r.at, r.name, r.every, r.fields = item.Timestamp, name, every, fields
	}
}

// writeRollup writes the rollup of the table, or questions about it.
func (d *draft) writeRollup(p *page, o options) {
	for i, r := range d.key.table.rollups {
		switch {
		case i == 0 && o.rollup:
			d.rollup(p, r)
		case i > 0:
			p.ask("    ", fmt.Sprintf("Family %s has cells of another rollup, which the schema leaves out. Is it one that was removed?", show(r.family)))
		default:
			every, why := "WIDTH", "the sample does not tell the width of its windows"
			if r.every > 0 {
				every, why = schema.FormatDuration(r.every), cmp.Or(d.noRollup, "of the rest of the schema")
			}
			p.ask("    ", fmt.Sprintf("Family %s has cells of a rollup, which the schema leaves out: %s. A program without it changes events without marks, so that windows "+
				"are wrong until btgen-live rollup --all. Which program writes it? Its schema has a line like rollup: {%s}.", show(r.family), why, d.rollupText(r, every)))
		}
	}
}

// rollupText returns the width, the family and the time to live of a rollup in the schema language.
func (d *draft) rollupText(r *rolled, every string) string {
	return fmt.Sprintf("every: %s, family: %s, ttl: %s", every, schema.Quoted(r.family), schema.TTLOf(d.key.table.Families[r.family].Normalize(), false))
}

// rollup writes the rollup. Its windows name the fields as reads of the table do.
func (d *draft) rollup(p *page, r *rolled) {
	var has, lacks, widths []string
	unknown := slices.Clone(r.fields)
	for _, f := range d.fields {
		stored := cmp.Or(f.column, f.was, f.name)
		if slices.Contains(r.fields, stored) {
			has = append(has, f.name)
		} else {
			lacks = append(lacks, f.name)
		}
		unknown = slices.DeleteFunc(unknown, func(name string) bool { return name == stored })
	}
	for _, every := range slices.Sorted(maps.Keys(r.widths)) {
		widths = append(widths, schema.FormatDuration(every))
	}
	var asks questions
	asks.ask(len(widths) > 1, "The windows are of different widths: %s. Is the one of the last bucket that of the rollup?", words.List(widths, "and"))
	asks.ask(len(unknown) > 0, "The windows also have fields that the schema does not have: %s. Which fields are they? Those of the schema must have the same names.", listed(unknown))
	asks.ask(len(has) > 0 && len(lacks) > 0, "The windows lack %s. Does the rollup leave that out, or is it newer than the windows of the sample?", listed(lacks))
	p.ask("    ", asks...)
	text := d.rollupText(r, schema.FormatDuration(r.every))
	if len(has) > 0 && len(lacks) > 0 {
		text += ", fields: [" + strings.Join(has, ", ") + "]"
	}
	p.line("    rollup: {%s}", text)
}

// leftOut asks about the families of which the schema has nothing.
func (d *draft) leftOut() (asks questions) {
	has, cells := append(d.families(), d.classes...), d.key.table.families
	for _, family := range slices.Sorted(maps.Keys(cells)) {
		asks.ask(!slices.Contains(has, family), "The schema leaves out family %s, of which the sample has %s. What is it for?", show(family), words.Count(float64(cells[family]), "cell", "cells"))
	}
	return asks
}
