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
	"github.com/btgen-dev/btgen/runtime/rollup"
	"github.com/btgen-dev/btgen/runtime/window"
)

// rolled is what the sample says about a rollup.
type rolled struct {
	family string
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
			r, seen := found[family]
			if seen && r == nil {
				continue
			}
			if slices.ContainsFunc(items, func(item bigtable.ReadItem) bool { return !ofRollup(columnOf(family, item), item.Value) }) {
				found[family] = nil
				continue
			}
			if r == nil {
				r = &rolled{family: family, widths: map[time.Duration]bool{}}
				found[family] = r
			}
			for _, item := range items {
				r.add(columnOf(family, item), item)
			}
		}
	}
	maps.DeleteFunc(found, func(_ string, r *rolled) bool { return r == nil })
	return slices.SortedFunc(maps.Values(found), func(a, b *rolled) int {
		return cmp.Or(cmp.Compare(b.newest, a.newest), cmp.Compare(a.family, b.family))
	})
}

// ofRollup reports whether a cell looks like one of a rollup. Names alone do not tell: fields may have such ones.
func ofRollup(name string, value []byte) bool {
	switch {
	case !rollup.Known(name):
		return false
	case rollup.IsDeletion(name):
		_, ok := rollup.ParseRanges(value)
		return ok
	}
	return name > rollup.FirstRun || len(value) == 0
}

// columnOf returns the qualifier of a cell.
func columnOf(family string, item bigtable.ReadItem) string {
	return strings.TrimPrefix(item.Column, family+":")
}

// add examines a cell.
func (r *rolled) add(name string, item bigtable.ReadItem) {
	r.newest = max(r.newest, item.Timestamp)
	every, fields, err := window.DescribeRun(item.Value)
	if err != nil {
		return // a mark, or damaged
	}
	if r.widths[every] = true; r.name == "" || item.Timestamp > r.at || item.Timestamp == r.at && name > r.name {
		r.at, r.name, r.every, r.fields = item.Timestamp, name, every, fields
	}
}

// isRollup reports whether a family has only cells of a rollup.
func (t *table) isRollup(family string) bool {
	return slices.ContainsFunc(t.rollups, func(r *rolled) bool { return r.family == family })
}

// summarizes reports whether the sample tells what the rollup of the table is.
func (t *table) summarizes() bool { return len(t.rollups) > 0 && t.rollups[0].every > 0 }

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
	return fmt.Sprintf("every: %s, family: %s, ttl: %s", every, schema.Quoted(r.family), ruleText(d.key.table.Families[r.family].Normalize(), false))
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
	if len(widths) > 1 {
		p.ask("    ", fmt.Sprintf("The windows are of different widths: %s. Is the one of the last bucket that of the rollup?", words.List(widths, "and")))
	}
	if len(unknown) > 0 {
		p.ask("    ", fmt.Sprintf("The windows also have fields that the schema does not have: %s. Which fields are they? Those of the schema must have the same names.", listed(unknown)))
	}
	text := d.rollupText(r, schema.FormatDuration(r.every))
	if len(has) > 0 && len(lacks) > 0 {
		p.ask("    ", fmt.Sprintf("The windows lack %s. Does the rollup leave that out, or is it newer than the windows of the sample?", listed(lacks)))
		text += ", fields: [" + strings.Join(has, ", ") + "]"
	}
	p.line("    rollup: {%s}", text)
}

// leftOut asks about the families of which the schema has nothing.
func (d *draft) leftOut() (asks []string) {
	cells := map[string]int{}
	for family := range d.key.table.Families {
		cells[family] = 0
	}
	for i := range d.key.table.rows {
		for _, c := range d.key.table.rows[i].cells {
			cells[c.family]++
		}
	}
	has := append(d.families(), d.classes...)
	for _, family := range slices.Sorted(maps.Keys(cells)) {
		if !slices.Contains(has, family) && !d.key.table.isRollup(family) {
			asks = append(asks, fmt.Sprintf("The schema leaves out family %s, of which the sample has %s. What is it for?", show(family), words.Count(float64(cells[family]), "cell", "cells")))
		}
	}
	return asks
}
