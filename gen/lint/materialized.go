package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/estimate"
	"github.com/btgen-dev/btgen/gen/googlesql"
	"github.com/btgen-dev/btgen/gen/layout"
)

// viewChecks are about materialized views.
var viewChecks = checks{
	// What a view cannot read, which is an error, and earlier events that no view has.
	"C10": func(r reporter) {
		for _, v := range r.t.Views {
			if why, hint := googlesql.Unreadable(r.t, r.t.Bundle); why != "" {
				r.at(v.Pos, "unreadable", v.ID, why, hint)
				continue
			}
			advice := r
			advice.severity = diag.Advice
			for _, older := range r.t.Older {
				if why := googlesql.Missing(r.t, older); why != "" {
					advice.at(v.Pos, "missing", v.ID, why)
				}
			}
		}
	},
	"L17": func(r reporter) { // rows that views leave out
		for _, v := range r.t.Views {
			when, args := leftOut(r.t, &v, r.size())
			if why, _ := googlesql.Unreadable(r.t, r.t.Bundle); when == "" || why != "" {
				continue
			}
			fits := func(other *layout.Table, e estimate.Estimate) bool {
				when, _ := leftOut(other, &v, e)
				return when == ""
			}
			var hints []string
			if !r.t.Serialized() && !r.t.Pattern.Versioned() {
				hints = append(hints, "list fewer fields in the view")
			}
			if narrower := r.bucketThat(fits); narrower != "" || hints == nil {
				hints = append(hints, cmp.Or(narrower, rowPerEvent))
			}
			r.at(v.Pos, when, append(args, r.declared(strings.Join(hints, ", or ")))...)
		}
	},
	"T22": func(r reporter) { // windows that are never complete
		for _, v := range r.t.Views {
			i, age := firstToExpire(r.t, &v)
			if age == 0 || v.Widest() <= max(age, time.Minute) {
				continue
			}
			what := "events"
			switch {
			case r.t.HasClasses():
				what = fmt.Sprintf("events of class %q", r.l.Classes[i])
			case len(r.t.Families) > 1:
				what = fmt.Sprintf("values in family %q", r.t.Families[i].Name)
			}
			r.at(v.Pos, "incomplete", v.Every, v.ID, what, age)
		}
	},
}

// Limits of continuous materialized views, from the sources of the rules, read on 2026-11-25.
const (
	maxViews    = 5       // of a table
	maxSelected = 1 << 20 // bytes of a row, in the columns of the query, and in its output
	maxGrowth   = 10      // output of a row, as a multiple of what the query selects of it
)

// leftOut returns the case of L17 in which a view leaves out full rows of a layout; empty if it does not.
func leftOut(t *layout.Table, v *layout.MaterializedView, e estimate.Estimate) (when string, args []any) {
	selected, output := selectedBytes(t, v, e), outputBytes(t, v, e)
	switch {
	case selected > maxSelected:
		return "selected", []any{size(selected), v.ID}
	case output > maxSelected:
		return "output", []any{v.ID, size(output)}
	case output > maxGrowth*(selected+float64(e.KeyBytes)):
		return "growth", []any{v.ID, size(output), size(selected)}
	}
	return "", nil
}

// outputBytes returns the typical size of what a view outputs for a full row, before it groups the rows: for each event if they
// are versions of cells, the series values, which the row key has, the window, the number of events, and four statistics of each field.
func outputBytes(t *layout.Table, v *layout.MaterializedView, e estimate.Estimate) float64 {
	const number = 8
	out := float64(number * (2 + 4*len(v.Fields)))
	if len(v.By) > 0 {
		out += float64(e.KeyBytes)
	}
	if t.Pattern.Versioned() {
		out *= e.EventsPerRow
	}
	return out
}

// selectedBytes returns the typical size of what a view selects of a full row.
func selectedBytes(t *layout.Table, v *layout.MaterializedView, e estimate.Estimate) float64 {
	total := 0.0
	selected := googlesql.Selected(t, v)
	for i, c := range t.Columns {
		is := func(o layout.Column) bool { return o.Qualifier == c.Qualifier && o.Family == c.Family }
		if i < len(e.Cells) && slices.ContainsFunc(selected, is) {
			total += e.Cells[i].Value.Typical + 8 // the timestamp
		}
	}
	return total * e.EventsPerRow
}

// firstToExpire returns the family whose data expire first of those that a view has statistics of, and
// their maximum age; 0 if none expire by age.
func firstToExpire(t *layout.Table, v *layout.MaterializedView) (family int, age time.Duration) {
	all := t.HasClasses() || len(t.Families) == 1
	for i := range t.Families {
		counts := all || slices.ContainsFunc(t.Columns, func(c layout.Column) bool {
			return c.Family == i && slices.Contains(v.Fields, c.Field)
		})
		if own := t.Families[i].Age(); counts && own > 0 && (age == 0 || own < age) {
			family, age = i, own
		}
	}
	return family, age
}
